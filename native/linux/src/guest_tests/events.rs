//! Waiting for files: poll, epoll and what ends a wait.

use super::*;
use crate::errno::Errno;
use crate::fs::files::event;

fn error(errno: Errno) -> i64 {
    errno.as_result().cast_signed()
}

/// An epoll set that watches an eventfd with these flags.
fn watched(guest: &mut Guest, flags: u32) -> (u64, u64) {
    let epoll = guest.call(number::epoll_create1, [0; 6]) as u64;
    let event = guest.call(number::eventfd2, [0, 0o4000, 0, 0, 0, 0]) as u64;
    let mut bytes = flags.to_le_bytes().to_vec();
    bytes.extend(77_u64.to_le_bytes());
    guest.put(guest.scratch, &bytes);
    assert_eq!(
        guest.call(number::epoll_ctl, [epoll, 1, event, guest.scratch, 0, 0]),
        0
    );
    (epoll, event)
}

fn signal(guest: &mut Guest, event: u64) {
    guest.put(guest.scratch, &1_u64.to_le_bytes());
    assert_eq!(guest.call(number::write, [event, guest.scratch, 8, 0, 0, 0]), 8);
}

fn wait(guest: &mut Guest, epoll: u64) -> i64 {
    guest.call(number::epoll_wait, [epoll, guest.scratch + 100, 4, 0, 0, 0])
}

#[test]
fn a_level_is_reported_until_it_is_gone_and_an_edge_once() {
    for (flags, expected) in [(event::IN, [1, 1]), (event::IN | event::EDGE, [1, 0])] {
        let mut guest = Guest::new();
        let (epoll, event) = watched(&mut guest, flags);
        assert_eq!(wait(&mut guest, epoll), 0);
        signal(&mut guest, event);
        assert_eq!(
            [wait(&mut guest, epoll), wait(&mut guest, epoll)],
            expected,
            "{flags:x}"
        );
        assert_eq!(guest.get(guest.scratch + 104), 77_u64.to_le_bytes());
        signal(&mut guest, event);
        assert_eq!(wait(&mut guest, epoll), 1);
        assert_eq!(guest.call(number::read, [event, guest.scratch, 8, 0, 0, 0]), 8);
        assert_eq!(wait(&mut guest, epoll), 0);
    }
}

#[test]
fn a_one_shot_is_silent_until_it_is_armed_again() {
    let mut guest = Guest::new();
    let (epoll, event) = watched(&mut guest, event::IN | event::ONESHOT);
    signal(&mut guest, event);
    assert_eq!([wait(&mut guest, epoll), wait(&mut guest, epoll)], [1, 0]);
    guest.put(guest.scratch, &[1, 0, 0, 0x40, 5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        guest.call(number::epoll_ctl, [epoll, 3, event, guest.scratch, 0, 0]),
        0
    );
    assert_eq!([wait(&mut guest, epoll), wait(&mut guest, epoll)], [1, 0]);
}

#[test]
fn closing_the_last_descriptor_takes_the_file_out_of_the_set() {
    let mut guest = Guest::new();
    let (epoll, event) = watched(&mut guest, event::IN);
    signal(&mut guest, event);
    let other = guest.call(number::dup, [event, 0, 0, 0, 0, 0]) as u64;
    guest.call(number::close, [event, 0, 0, 0, 0, 0]);
    assert_eq!(wait(&mut guest, epoll), 1);
    guest.call(number::close, [other, 0, 0, 0, 0, 0]);
    assert_eq!(wait(&mut guest, epoll), 0);
}

#[test]
fn sets_do_not_contain_each_other() {
    let mut guest = Guest::new();
    let sets: Vec<u64> = (0..3)
        .map(|_| guest.call(number::epoll_create1, [0; 6]) as u64)
        .collect();
    guest.put(guest.scratch, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut add = |outer: usize, inner: usize| {
        guest.call(
            number::epoll_ctl,
            [sets[outer], 1, sets[inner], guest.scratch, 0, 0],
        )
    };
    assert_eq!(add(0, 1), 0);
    for (outer, inner, wanted) in [
        (1, 0, Errno::ELOOP),
        (1, 2, Errno::ELOOP),
        (2, 0, Errno::ELOOP),
        (0, 0, Errno::EINVAL),
    ] {
        assert_eq!(add(outer, inner), error(wanted), "{outer} {inner}");
    }
    assert_eq!(add(2, 1), 0);
}

#[test]
fn a_wait_ends_at_its_deadline_in_virtual_time() {
    let mut guest = Guest::new();
    let (epoll, _) = watched(&mut guest, event::IN);
    let before = guest.kernel.now(&mut guest.machine);
    assert_eq!(
        guest.call(number::epoll_wait, [epoll, guest.scratch, 4, 60_000, 0, 0]),
        0
    );
    let after = guest.kernel.now(&mut guest.machine);
    assert!(
        (60_000_000_000..61_000_000_000).contains(&(after - before)),
        "{}",
        after - before
    );
}

#[test]
fn a_wait_without_a_deadline_and_without_hope_is_a_deadlock() {
    let mut guest = Guest::new();
    let (epoll, _) = watched(&mut guest, event::IN);
    assert_eq!(
        guest.act(number::epoll_wait, [epoll, guest.scratch, 4, u64::MAX, 0, 0]),
        Action::Deadlock
    );
}

#[test]
fn bytes_held_for_the_guest_are_bounded_over_all_pipes() {
    let limits = Limits {
        held_bytes: 100_000,
        ..Limits::default()
    };
    let mut guest = Guest::with(limits, OutputMode::Stream);
    let mut pipe = || {
        guest.call(number::pipe2, [guest.scratch, 0o4000, 0, 0, 0, 0]);
        let ends = [guest.word(guest.scratch), guest.word(guest.scratch + 4)].map(u64::from);
        let written = guest.call(number::write, [ends[1], 0x40_0000, 232, 0, 0, 0]);
        let mut sum = 0;
        while guest.call(number::write, [ends[1], guest.scratch, 4096, 0, 0, 0]) > 0 {
            sum += 4096;
        }
        (ends, sum + written)
    };
    let (first, filled) = pipe();
    let (_, rest) = pipe();
    assert!(
        filled > 60_000 && filled + rest <= 100_000 && filled + rest > 90_000,
        "{filled} {rest}"
    );
    guest.call(number::close, [first[0], 0, 0, 0, 0, 0]);
    let (_, third) = {
        guest.call(number::pipe2, [guest.scratch, 0o4000, 0, 0, 0, 0]);
        let end = u64::from(guest.word(guest.scratch + 4));
        (
            end,
            guest.call(number::write, [end, guest.scratch, 4096, 0, 0, 0]),
        )
    };
    assert_eq!(third, 4096, "closing the reader gives the bytes back");
}

#[test]
fn a_write_to_an_eventfd_waits_for_room_without_asking_again_and_again() {
    let mut guest = Guest::new();
    let event = guest.call(number::eventfd2, [0; 6]) as u64;
    guest.put(guest.scratch, &(u64::MAX - 3).to_le_bytes());
    guest.put(guest.scratch + 8, &8_u64.to_le_bytes());
    assert_eq!(guest.call(number::write, [event, guest.scratch, 8, 0, 0, 0]), 8);
    // Alone, it waits for ever, and the kernel sees that at once: each look at the clock is 1000 ticks here.
    let before = guest.machine.ticks();
    let write = [event, guest.scratch + 8, 8, 0, 0, 0];
    let mut alone = guest.clone();
    assert_eq!(alone.act(number::write, write), Action::Deadlock);
    assert!(alone.machine.ticks() - before < 100_000);
    // With a thread that takes the count, it goes on.
    guest.thread();
    let first = guest.tid();
    guest.act(number::write, write);
    assert_ne!(guest.tid(), first);
    assert_eq!(
        guest.call(number::read, [event, guest.scratch + 16, 8, 0, 0, 0]),
        8
    );
    assert_eq!(guest.act(number::sched_yield, [0; 6]), Action::Resume);
    assert_eq!((guest.tid(), guest.result()), (first, 8));
    assert_eq!(
        guest.call(number::read, [event, guest.scratch + 16, 8, 0, 0, 0]),
        8
    );
    assert_eq!(guest.get(guest.scratch + 16), 8_u64.to_le_bytes());
}
