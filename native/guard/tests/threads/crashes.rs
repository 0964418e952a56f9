//! Crashes.

use std::arch::asm;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mayfly_guard::{Cause, Crash, Filter, Notifier, State, VmThread, confine};

use crate::crash_of;

#[inline(never)]
fn surely_read_from(address: usize) -> u8 {
    // SAFETY: none: this is a test of what happens without.
    unsafe { (address as *const u8).read_volatile() }
}

#[inline(never)]
fn surely_execute_nonsense() {
    // SAFETY: an undefined instruction touches nothing.
    unsafe { asm!("ud2") };
}

#[inline(never)]
fn surely_divide_by_zero() {
    // SAFETY: the division faults and writes nothing.
    unsafe { asm!("xor ecx, ecx", "div ecx", out("ecx") _, inout("eax") 1 => _, inout("edx") 0 => _) };
}

#[inline(never)]
#[expect(unconditional_recursion)]
fn surely_overflow(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 64]);
    surely_overflow(depth + 1) + room[depth as usize % 64]
}

#[inline(never)]
fn surely_panic(why: &str) {
    panic!("{why}");
}

fn crash_with(body: impl FnOnce() + Send + 'static) -> (Crash, String) {
    let crash = crash_of(body).expect("a crash");
    let text = format!("{crash:#}");
    (crash, text)
}

fn fault_of(crash: &Crash) -> (i32, usize) {
    match crash.cause {
        Cause::Fault { signal, address, .. } => (signal, address),
        _ => panic!("{crash:?}"),
    }
}

#[test]
fn a_fault_is_reported_with_registers_and_the_name_of_its_function() {
    let (crash, text) = crash_with(|| _ = surely_read_from(0x123));
    assert_eq!(fault_of(&crash), (libc::SIGSEGV, 0x123));
    let rip = crash.registers.unwrap()[0];
    assert_eq!((rip.0, rip.1 as usize), ("rip", crash.frames[0]));
    assert!(text.starts_with("watched crashed: SIGSEGV"), "{text}");
    assert!(text.contains("surely_read_from"), "{text}");
    assert!(text.contains("crashes.rs:"), "{text}");
    assert!(text.contains("  r15 "), "{text}");
    assert!(crash.frames.len() > 3, "{text}");
}

#[test]
fn every_signal_of_an_instruction_is_contained() {
    let (crash, text) = crash_with(surely_execute_nonsense);
    assert_eq!(fault_of(&crash).0, libc::SIGILL);
    assert!(text.contains("surely_execute_nonsense"), "{text}");
    let (crash, text) = crash_with(surely_divide_by_zero);
    assert_eq!(fault_of(&crash).0, libc::SIGFPE);
    assert!(text.contains("surely_divide_by_zero"), "{text}");
    // A non-canonical address: the kernel tells no address.
    let (crash, _) = crash_with(|| _ = surely_read_from(1 << 63 | 1));
    assert_eq!(fault_of(&crash), (libc::SIGSEGV, 0));
    // Behind the end of a file.
    let (crash, _) = crash_with(|| {
        // SAFETY: a new memory file of no length, mapped where the kernel likes.
        let page = unsafe {
            let file = libc::memfd_create(c"empty".as_ptr(), libc::MFD_CLOEXEC);
            let page = libc::mmap(ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file, 0);
            libc::close(file);
            page
        };
        surely_read_from(page as usize);
    });
    assert_eq!(fault_of(&crash).0, libc::SIGBUS);
}

#[test]
fn a_stack_overflow_is_contained() {
    let (crash, text) = crash_with(|| _ = std::hint::black_box(surely_overflow(1)));
    assert_eq!(fault_of(&crash).0, libc::SIGSEGV);
    assert!(text.contains("surely_overflow"), "{text}");
}

#[test]
fn a_jump_into_nowhere_is_contained() {
    let (crash, _) = crash_with(|| {
        // SAFETY: none: the test is what happens.
        let nowhere: extern "C" fn() = unsafe { mem::transmute(16usize) };
        nowhere();
    });
    assert_eq!(fault_of(&crash), (libc::SIGSEGV, 16));
    assert_eq!(crash.frames[0], 16);
}

#[test]
fn a_panic_is_reported_the_same_way_and_unwinds() {
    struct Dropped(Arc<AtomicU64>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::new(AtomicU64::new(0));
    let value = Dropped(drops.clone());
    let (crash, text) = crash_with(move || {
        let _value = value;
        surely_panic("a reason");
    });
    assert!(
        matches!(&crash.cause, Cause::Panic(why) if why.starts_with("a reason, at ")),
        "{text}"
    );
    assert!(text.contains("surely_panic"), "{text}");
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn a_crash_under_the_filter_is_contained_as_well() {
    let (crash, text) = crash_with(|| {
        let filter = Filter {
            page_map: -1,
            snapshot: false,
        };
        confine(filter).unwrap();
        surely_read_from(0x10);
    });
    assert_eq!(fault_of(&crash), (libc::SIGSEGV, 0x10));
    assert!(text.contains("surely_read_from"), "{text}");
}

#[test]
fn the_owner_is_woken_and_may_take_its_time() {
    let notifier = Arc::new(Notifier::default());
    let seen = notifier.count();
    let thread = VmThread::spawn("watched", &notifier, || _ = surely_read_from(8)).unwrap();
    notifier.wait(seen, Duration::from_secs(30));
    assert_eq!(thread.state(), State::Crashed);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(thread.state(), State::Crashed, "it waits to be reaped");
    assert!(thread.take_crash().is_some());
    thread.reap();
    let thread = VmThread::spawn("watched", &notifier, || {}).unwrap();
    thread.wait();
    assert_eq!((thread.state(), thread.take_crash()), (State::Ended, None));
}

#[test]
fn signals_for_the_process_do_not_reach_watched_threads() {
    let blocked = Arc::new(AtomicU64::new(0));
    let theirs = blocked.clone();
    let crash = crash_of(move || {
        // SAFETY: reads this thread's mask into a set of ours.
        let set = unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut set);
            set
        };
        // SAFETY: only looks at the set.
        let has = |signal: &i32| unsafe { libc::sigismember(&set, *signal) == 1 };
        let bits = (1..=64)
            .filter(has)
            .fold(0, |bits, signal| bits | 1u64 << (signal - 1));
        theirs.store(bits, Ordering::SeqCst);
    });
    assert_eq!(crash, None);
    let blocked = blocked.load(Ordering::SeqCst);
    for signal in [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGCHLD,
        libc::SIGPROF,
        libc::SIGUSR1,
    ] {
        assert_ne!(blocked & 1 << (signal - 1), 0, "signal {signal}");
    }
    for signal in [libc::SIGSEGV, libc::SIGSYS, libc::SIGABRT] {
        assert_eq!(blocked & 1 << (signal - 1), 0, "signal {signal}");
    }
}
