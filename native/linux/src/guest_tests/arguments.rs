//! Arguments at the edge of what their type holds, answered as Linux does.

use super::*;
use crate::errno::Errno;

fn error(errno: Errno) -> i64 {
    errno.as_result().cast_signed()
}

/// A descriptor of an empty file.
fn file(guest: &mut Guest) -> u64 {
    guest.put(guest.scratch, b"/tmp/file\0");
    guest
        .call(number::open, [guest.scratch, 0o102, 0o600, 0, 0, 0])
        .cast_unsigned()
}

#[test]
fn a_file_is_mapped_up_to_the_largest_offset() {
    let mut guest = Guest::new();
    let fd = file(&mut guest);
    let largest = (1 << 63) - PAGE;
    for (offset, length, good) in [
        (largest - PAGE, PAGE, true),
        (largest - 2 * PAGE, 2 * PAGE, true),
        (largest, PAGE, false),
        (largest - PAGE, PAGE + 1, false),
        (1 << 63, PAGE, false),
        (u64::MAX - PAGE + 1, 3 * PAGE, false),
    ] {
        let result = guest.call(number::mmap, [0, length, 1, 2, fd, offset]);
        let wanted = if good {
            result.max(1)
        } else {
            error(Errno::EOVERFLOW)
        };
        assert_eq!(result, wanted, "{offset:#x} {length:#x}");
        guest.kernel.audit().expect("tables that agree");
    }
    // Without a file the offset means nothing.
    let anonymous = [0, 3 * PAGE, 1, 0x22, u64::MAX, u64::MAX - PAGE + 1];
    assert!(guest.call(number::mmap, anonymous) > 0);
}

#[test]
fn a_file_is_not_allocated_beyond_the_largest_offset() {
    let mut guest = Guest::new();
    let fd = file(&mut guest);
    assert_eq!(guest.call(number::write, [fd, guest.scratch, 100, 0, 0, 0]), 100);
    let most = i64::MAX as u64;
    for (offset, length) in [(most, most), (most, 1), (1, most), (most - 1, 1), (0, most)] {
        let wanted = if offset == 0 || offset == most - 1 {
            Errno::ENOSPC
        } else {
            Errno::EFBIG
        };
        let result = guest.call(number::fallocate, [fd, 0, offset, length, 0, 0]);
        assert_eq!(result, error(wanted), "{offset:#x} {length:#x}");
    }
    assert_eq!(
        guest.call(number::ftruncate, [fd, most, 0, 0, 0, 0]),
        error(Errno::EFBIG)
    );
}

#[test]
fn what_lies_above_an_integer_does_not_count() {
    let high = 0xdead_beef_0000_0000;
    let mut guest = Guest::new();
    let fd = file(&mut guest);
    assert_eq!(guest.call(number::lseek, [fd | high, 5, high, 0, 0, 0]), 5);
    assert_eq!(guest.call(number::fcntl, [fd, high | 1, 0, 0, 0, 0]), 0);
    assert_eq!(guest.call(number::dup3, [fd, high | 9, high, 0, 0, 0]), 9);
    assert_eq!(guest.call(number::eventfd2, [high, high | 0o4000, 0, 0, 0, 0]), 4);
    assert_eq!(
        guest.call(number::read, [4, guest.scratch, 8, 0, 0, 0]),
        error(Errno::EAGAIN)
    );
    assert_eq!(guest.call(number::poll, [0, high, high, 0, 0, 0]), 0);
    assert_eq!(
        guest.call(
            number::socketpair,
            [high | 1, high | 1, high, guest.scratch, 0, 0]
        ),
        0
    );
    assert_eq!(guest.call(number::shutdown, [5, high | 2, 0, 0, 0, 0]), 0);
    assert_eq!(
        guest.call(number::setitimer, [high, 0, 0, 0, 0, 0]),
        0,
        "ITIMER_REAL"
    );
    // Nothing above 64 is looked at: the set of the scratch page would end in EBADF.
    guest.put(guest.scratch, &[[0; 8], [0xff; 8]].concat());
    guest.put(guest.scratch + 64, &[0; 16]);
    let sets = [guest.scratch, 0, 0, guest.scratch + 64, 0];
    assert_eq!(
        guest.call(number::select, [high | 64, sets[0], sets[1], sets[2], sets[3], 0]),
        0
    );
    // Lengths and offsets are whole words.
    assert_eq!(
        guest.call(number::pread64, [fd, guest.scratch, 1, 1 << 63, 0, 0]),
        error(Errno::EINVAL)
    );
    assert_eq!(
        guest.call(number::mprotect, [guest.scratch, 1 << 32 | PAGE, 3, 0, 0, 0]),
        error(Errno::ENOMEM)
    );
}

#[test]
fn select_takes_more_than_a_second_of_microseconds() {
    let mut guest = Guest::new();
    let before = guest.kernel.now(&mut guest.machine);
    for (time, wanted) in [
        ([0_i64, 1_500_000], 0),
        ([0, -1], error(Errno::EINVAL)),
        ([-1, 0], error(Errno::EINVAL)),
        ([-1, 2_000_000], 0),
        ([i64::MAX, i64::MAX], error(Errno::EINVAL)),
    ] {
        guest.put(guest.scratch, time.map(i64::to_le_bytes).as_flattened());
        let result = guest.call(number::select, [0, 0, 0, 0, guest.scratch, 0]);
        assert_eq!(result, wanted, "{time:?}");
    }
    let passed = guest.kernel.now(&mut guest.machine) - before;
    assert!((2_500_000_000..2_600_000_000).contains(&passed), "{passed}");
}

#[test]
fn msync_takes_its_own_flags_and_one_way_only() {
    let mut guest = Guest::new();
    let results =
        [0, 1, 2, 4, 6, 5, 8].map(|flags| guest.call(number::msync, [guest.scratch, PAGE, flags, 0, 0, 0]));
    let invalid = error(Errno::EINVAL);
    assert_eq!(results, [0, 0, 0, 0, 0, invalid, invalid]);
}

#[test]
fn a_call_moves_no_more_than_linux_lets_it() {
    let mut guest = Guest::new();
    guest.put(guest.scratch, b"/dev/null\0");
    let fd = guest
        .call(number::open, [guest.scratch, 2, 0, 0, 0, 0])
        .cast_unsigned();
    // Nobody reads them; but they must lie in user space.
    let words = [1 << 32, 0x7000_0000, 1 << 32, 0x7000_0000];
    guest.put(guest.scratch, words.map(u64::to_le_bytes).as_flattened());
    assert_eq!(
        guest.call(number::writev, [fd, guest.scratch, 2, 0, 0, 0]),
        0x7fff_f000
    );
    let words = [1 << 32, 0x7000_0000, guest.scratch, 0x7000_0000];
    guest.put(guest.scratch, words.map(u64::to_le_bytes).as_flattened());
    assert_eq!(guest.call(number::writev, [fd, guest.scratch, 2, 0, 0, 0]), -14);
}
