//! Every limit: at it, one below, one above.

use mayfly_wire::{Head, Kind};

use super::*;
use crate::action::Stop;
use crate::limits::Limit;

fn framed(output_bytes: usize) -> Guest {
    let limits = Limits {
        output_bytes,
        ..Limits::default()
    };
    Guest::with(limits, OutputMode::Framed(mayfly_wire::Limits::default()))
}

#[test]
fn descriptors_end_at_the_limit() {
    let mut guest = Guest::with(
        Limits {
            descriptors: 10,
            ..Limits::default()
        },
        OutputMode::Stream,
    );
    let results: Vec<i64> = (0..8).map(|_| guest.call(number::dup, [0; 6])).collect();
    assert_eq!(results, [3, 4, 5, 6, 7, 8, 9, -24]);
    assert_eq!(guest.call(number::dup2, [0, 9, 0, 0, 0, 0]), 9);
    assert_eq!(guest.call(number::dup2, [0, 10, 0, 0, 0, 0]), -9);
    assert_eq!(guest.call(number::fcntl, [0, 0, 9, 0, 0, 0]), -24);
    assert_eq!(guest.call(number::fcntl, [0, 0, 10, 0, 0, 0]), -22);
    assert_eq!(guest.call(number::pipe, [guest.scratch, 0, 0, 0, 0, 0]), -24);
    guest.call(number::close, [9, 0, 0, 0, 0, 0]);
    assert_eq!(guest.call(number::pipe, [guest.scratch, 0, 0, 0, 0, 0]), -24);
    assert_eq!(
        guest.call(number::eventfd2, [0; 6]),
        9,
        "the pipe that found no second number left nothing"
    );
}

#[test]
fn threads_end_at_the_limit() {
    let mut guest = Guest::with(
        Limits {
            threads: 4,
            ..Limits::default()
        },
        OutputMode::Stream,
    );
    let started: Vec<bool> = (0..5).map(|_| guest.thread() > 0).collect();
    assert_eq!(started, [true, true, true, false, false]);
}

#[test]
fn system_calls_end_at_the_limit() {
    let mut guest = Guest::with(
        Limits {
            calls: 10,
            ..Limits::default()
        },
        OutputMode::Stream,
    );
    // One was made to map the scratch pages.
    for _ in 0..9 {
        assert_eq!(guest.call(number::getpid, [0; 6]), 100);
    }
    assert_eq!(
        guest.act(number::getpid, [0; 6]),
        Action::Stop(Stop::Limit(Limit::Calls))
    );
}

#[test]
fn output_ends_at_the_limit() {
    for (length, expected) in [
        (99, Action::Resume),
        (100, Action::Resume),
        (101, Action::Stop(Stop::Limit(Limit::Output))),
    ] {
        let mut guest = framed(100);
        let head = Head {
            kind: Kind::Response,
            header_bytes: 10,
            body_bytes: 5000,
        };
        guest.put(guest.scratch, &head.encode());
        assert_eq!(
            guest.act(number::write, [1, guest.scratch, length, 0, 0, 0]),
            expected,
            "{length}"
        );
    }
}

#[test]
fn a_frame_that_begins_longer_than_it_may_be_is_over_the_limit() {
    for (header_bytes, body_bytes, expected) in [
        (20, 300, Action::Resume),
        (21, 0, Action::Stop(Stop::Limit(Limit::Output))),
        (20, 301, Action::Stop(Stop::Limit(Limit::Output))),
    ] {
        let limits = mayfly_wire::Limits {
            header: 20,
            body: 300,
        };
        let mut guest = Guest::with(Limits::default(), OutputMode::Framed(limits));
        let head = Head {
            kind: Kind::Response,
            header_bytes,
            body_bytes,
        };
        guest.put(guest.scratch, &head.encode());
        let length = mayfly_wire::HEAD_BYTES as u64;
        assert_eq!(
            guest.act(number::write, [1, guest.scratch, length, 0, 0, 0]),
            expected
        );
    }
}

#[test]
fn the_log_keeps_what_the_limit_allows_and_counts_the_rest() {
    let limits = Limits {
        log_bytes: 10,
        ..Limits::default()
    };
    let mut guest = Guest::with(limits, OutputMode::Framed(mayfly_wire::Limits::default()));
    guest.put(guest.scratch, b"0123456789abc");
    for (length, dropped) in [(9, 0), (1, 0), (1, 1), (5, 5)] {
        assert_eq!(
            guest.call(number::write, [2, guest.scratch, length, 0, 0, 0]),
            length as i64
        );
        assert_eq!(guest.kernel.take_log_dropped(), dropped);
    }
    assert_eq!(guest.kernel.take_log(), b"0123456780");
}

#[test]
fn versions_of_a_mapped_file_count_against_the_limit_on_files() {
    let limits = Limits {
        file_bytes: 40_000,
        ..Limits::default()
    };
    let mut guest = Guest::with(limits, OutputMode::Stream);
    guest.put(guest.scratch, b"f\0");
    let fd = guest.call(number::memfd_create, [guest.scratch, 0, 0, 0, 0, 0]) as u64;
    assert_eq!(guest.call(number::ftruncate, [fd, 15_000, 0, 0, 0, 0]), 0);
    let mut map = || {
        let mapped = guest.call(number::mmap, [0, PAGE, 1, 2, fd, 0]);
        guest.call(number::pwrite64, [fd, guest.scratch, 1, 0, 0, 0]);
        mapped > 0
    };
    assert_eq!([map(), map(), map()], [true, true, false]);
}

#[test]
fn memory_ends_with_its_own_stop() {
    let mut guest = Guest::new();
    let length = 5000 * PAGE;
    let big = guest.call(number::mmap, [0, length, 3, 0x22, u64::MAX, 0]) as u64;
    let mut last = Action::Resume;
    for page in (big..big + length).step_by(PAGE as usize) {
        if guest.machine.page_state(page) == crate::machine::PageState::Absent {
            last = guest.kernel.fault(&mut guest.machine, 14, 6, page);
            if last != Action::Resume {
                break;
            }
        }
    }
    assert_eq!(last, Action::Stop(Stop::OutOfMemory));
    // The same when the kernel itself would store there.
    let action = guest.act(number::getrandom, [big + length - PAGE, 100, 0, 0, 0, 0]);
    assert_eq!(action, Action::Stop(Stop::OutOfMemory));
}

#[test]
fn mappings_end_at_the_limit() {
    let guest = Guest::new();
    let used = guest.kernel.space.tree.len();
    let mut guest = Guest::with(
        Limits {
            mappings: used + 4,
            ..Limits::default()
        },
        OutputMode::Stream,
    );
    let map =
        |guest: &mut Guest, readable: u64| guest.call(number::mmap, [0, PAGE, readable, 0x22, u64::MAX, 0]);
    // Neighbours of other rights stay two mappings.
    let at: Vec<i64> = (0..5).map(|n| map(&mut guest, n % 2)).collect();
    assert!(at[..4].iter().all(|&at| at > 0), "{at:?}");
    assert_eq!(at[4], -12);
    // A cut needs one more too, and what was taken away may be had again.
    assert_eq!(
        guest.call(number::mprotect, [guest.scratch, PAGE, 1, 0, 0, 0]),
        -12
    );
    assert_eq!(
        guest.call(number::munmap, [at[3].cast_unsigned(), PAGE, 0, 0, 0, 0]),
        0
    );
    assert_eq!(guest.call(number::mprotect, [guest.scratch, PAGE, 1, 0, 0, 0]), 0);
    assert_eq!(map(&mut guest, 1), -12);
}

/// What the guest was refused, without the calls' numbers.
fn denied(guest: &mut Guest) -> Vec<(&'static str, u64)> {
    let denials = guest.kernel.take_denials();
    denials.iter().map(|d| (d.reason.name(), d.times)).collect()
}

#[test]
fn what_is_refused_at_a_limit_is_noted_and_common_errors_are_not() {
    let limits = Limits {
        descriptors: 4,
        threads: 2,
        file_nodes: 5,
        ..Limits::default()
    };
    let mut guest = Guest::with(limits, OutputMode::Stream);
    assert_eq!(denied(&mut guest), []);
    let common = [
        (number::close, [50, 0, 0, 0, 0, 0]),
        (number::dup2, [0, 50, 0, 0, 0, 0]),
        (number::munmap, [1, PAGE, 0, 0, 0, 0]),
        (number::mprotect, [1 << 30, PAGE, 1, 0, 0, 0]),
        (number::rseq, [0; 6]),
        (number::kill, [1, 0, 0, 0, 0, 0]),
        (number::epoll_ctl, [0, 1, 0, 0, 0, 0]),
    ];
    for (call, arguments) in common {
        assert!(guest.call(call, arguments) < 0, "{call}");
    }
    assert_eq!(denied(&mut guest), []);
    assert_eq!(guest.call(number::dup, [0; 6]), 3);
    assert_eq!(guest.call(number::dup, [0; 6]), -24);
    assert_eq!(guest.call(number::dup, [0; 6]), -24);
    assert!(guest.thread() > 0);
    assert_eq!(guest.thread(), -11);
    assert_eq!(guest.call(number::mmap, [0, 1 << 43, 0, 0x22, u64::MAX, 0]), -12);
    assert_eq!(guest.call(number::socket, [2, 1, 0, 0, 0, 0]), -97);
    assert_eq!(guest.call(number::vfork, [0; 6]), -38);
    assert_eq!(guest.call(number::seccomp, [0; 6]), -1);
    assert_eq!(guest.call(5555, [0; 6]), -38);
    let told = [
        ("files", 2),
        ("threads", 1),
        ("addressSpace", 1),
        ("network", 1),
        ("process", 1),
        ("process", 1),
        ("call", 1),
    ];
    assert_eq!(denied(&mut guest), told);
    assert_eq!(denied(&mut guest), [], "taken once");
}

#[test]
fn only_so_many_kinds_of_refusals_are_told_apart() {
    let mut guest = Guest::new();
    for n in 0..100 {
        guest.call(5000 + n % 50, [0; 6]);
    }
    let denied = denied(&mut guest);
    assert_eq!(denied.len(), crate::kernel::denials::KINDS_MAX);
    assert!(denied.iter().all(|&(_, times)| times == 2), "{denied:?}");
}

#[test]
fn the_limit_on_calls_holds_for_each_request_and_not_for_the_boot() {
    let mut guest = Guest::new();
    for _ in 0..100 {
        guest.call(number::getpid, [0; 6]);
    }
    guest.kernel.limit_calls(3);
    let snapshot = guest.kernel.snapshot();
    for _ in 0..2 {
        let request = crate::kernel::Request {
            clock: CLOCK,
            seed: [1; 32],
            input: vec![1],
            messages: false,
        };
        guest.kernel.begin_request(&mut guest.machine, request);
        for _ in 0..3 {
            assert_eq!(guest.call(number::getpid, [0; 6]), 100);
        }
        assert_eq!(
            guest.act(number::getpid, [0; 6]),
            Action::Stop(Stop::Limit(Limit::Calls))
        );
        guest.kernel.restore(&snapshot);
        assert_eq!(guest.kernel.differences(&snapshot), Vec::<&str>::new());
    }
}
