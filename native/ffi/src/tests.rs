use super::*;

fn last_error() -> String {
    let mut text = [0u8; 512];
    // SAFETY: the buffer is as long as said.
    let n = unsafe { mayfly_last_error(text.as_mut_ptr(), 512) };
    String::from_utf8_lossy(&text[..n as usize]).into_owned()
}

#[test]
fn wrong_handles_and_arguments_are_statuses() {
    let mut bytes = [0u8; 64];
    let head = mayfly_wire::Head {
        kind: mayfly_wire::Kind::Request,
        header_bytes: 48,
        body_bytes: 0,
    };
    let frame = [&head.encode()[..], &[b' '; 48]].concat();
    let wrong = Status::BadHandle as i32;
    let bad = Status::BadArgument as i32;
    // SAFETY: every pointer is null with a length of 0, or to an array of at least the length.
    unsafe {
        assert_eq!(mayfly_program_wait(77_777, 0), wrong);
        assert!(last_error().contains("77777"), "{}", last_error());
        assert_eq!(mayfly_program_text(-5, bytes.as_mut_ptr(), 64), wrong);
        assert_eq!(mayfly_pool_stop(0), wrong);
        assert_eq!(mayfly_pool_free(i32::MIN), wrong);
        assert_eq!(mayfly_submit(1 << 30, 1, frame.as_ptr(), 64, 1, 0), wrong);
        assert_eq!(mayfly_submit(1, 1, frame.as_ptr(), 64, 1, 8), bad);
        assert_eq!(mayfly_submit(1, 1, frame.as_ptr(), 3, 1, 0), bad);
        assert_eq!(mayfly_program_boot(std::ptr::null(), 0, std::ptr::null(), 0), bad);
        assert_eq!(mayfly_program_boot(std::ptr::null(), 9, std::ptr::null(), 0), bad);
        assert_eq!(mayfly_wait(1, std::ptr::null_mut(), 4, 0), bad);
        let (none, nothing) = (std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(
            mayfly_ask(1, 1, frame.as_ptr(), 64, 1, 0, 0, none, nothing, 0),
            bad
        );
        assert_eq!(mayfly_pool_start(0, 0, 1, 1, 1, 1, std::ptr::null(), 0), bad);
    }
}

#[test]
fn a_pool_is_stopped_and_freed_more_than_once() {
    let mut text = [0u8; 512];
    // SAFETY: every pointer is to an array of at least the length.
    unsafe {
        let pool = mayfly_pool_start(2, 4, 1, 1, 64, 64, std::ptr::null(), 0);
        assert!(pool > 0);
        assert!(mayfly_pool_statistics(pool, text.as_mut_ptr(), 512) > 100);
        assert_eq!(
            mayfly_read(pool, 0, 0, text.as_mut_ptr(), 512),
            Status::BadTicket as i32
        );
        assert_eq!(
            mayfly_read(pool, 0, 4, text.as_mut_ptr(), 512),
            Status::BadArgument as i32
        );
        assert_eq!(
            mayfly_take(pool, 0, text.as_mut_ptr(), 512),
            Status::BadTicket as i32
        );
        let mut resets = [const { std::mem::MaybeUninit::<Reset>::uninit() }; 2];
        assert_eq!(mayfly_resets(pool, resets.as_mut_ptr().cast(), 2), 0);
        assert_eq!(
            mayfly_resets(pool, resets.as_mut_ptr().cast(), 0),
            Status::BadArgument as i32
        );
        assert_eq!((mayfly_pool_stop(pool), mayfly_pool_stop(pool)), (0, 0));
        assert_eq!((mayfly_pool_free(pool), mayfly_pool_free(pool)), (0, 0));
        assert_eq!(mayfly_pool_stop(pool), Status::BadHandle as i32);
    }
}
