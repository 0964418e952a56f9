//! Alarms while all threads wait: a SIGALRM that nobody can take must not end, lengthen or busy their waits.

use super::*;
use crate::action::Stop;
use crate::task::signal::bit;
use crate::task::signal::number::SIGALRM;

const SECOND: u64 = 1_000_000_000;

/// Sets the alarm: first after so many microseconds, and then again and again after `interval`.
fn alarm(guest: &mut Guest, interval: u64, first: u64) {
    let words = [0, interval, first / 1_000_000, first % 1_000_000].map(u64::to_le_bytes);
    guest.put(guest.scratch, words.as_flattened());
    assert_eq!(guest.call(number::setitimer, [0, guest.scratch, 0, 0, 0, 0]), 0);
}

/// Sleeps for ten seconds of the guest's time and gives how long it took.
fn sleep(guest: &mut Guest) -> u64 {
    guest.put(guest.scratch, [10_u64, 0].map(u64::to_le_bytes).as_flattened());
    let before = guest.kernel.now(&mut guest.machine);
    assert_eq!(
        guest.act(number::nanosleep, [guest.scratch, 0, 0, 0, 0, 0]),
        Action::Resume
    );
    assert_eq!(guest.result(), 0);
    guest.kernel.now(&mut guest.machine) - before
}

fn block(guest: &mut Guest) {
    guest.put(guest.scratch + 64, &bit(SIGALRM).to_le_bytes());
    assert_eq!(
        guest.call(number::rt_sigprocmask, [0, guest.scratch + 64, 0, 8, 0, 0]),
        0
    );
}

fn ignore(guest: &mut Guest) {
    guest.put(
        guest.scratch + 64,
        [1_u64, 0, 0, 0].map(u64::to_le_bytes).as_flattened(),
    );
    let signal = u64::from(SIGALRM);
    assert_eq!(
        guest.call(number::rt_sigaction, [signal, guest.scratch + 64, 0, 8, 0, 0]),
        0
    );
}

#[test]
fn an_alarm_that_is_blocked_or_ignored_lets_a_sleep_go_on() {
    for prepare in [block, ignore] {
        let mut guest = Guest::new();
        prepare(&mut guest);
        alarm(&mut guest, 1, 1);
        let took = sleep(&mut guest);
        assert!(
            (10 * SECOND..10 * SECOND + SECOND / 100).contains(&took),
            "{took}"
        );
    }
}

#[test]
fn an_alarm_that_was_blocked_comes_once_it_is_not() {
    let mut guest = Guest::new();
    block(&mut guest);
    alarm(&mut guest, 1, 1);
    sleep(&mut guest);
    let action = guest.act(number::rt_sigprocmask, [1, guest.scratch + 64, 0, 8, 0, 0]);
    assert_eq!(action, Action::Stop(Stop::Signal(SIGALRM)));
}

#[test]
fn an_alarm_ends_a_wait_for_it() {
    let mut guest = Guest::new();
    block(&mut guest);
    alarm(&mut guest, 0, 3_000_000);
    let set = guest.scratch + 64;
    assert_eq!(
        guest.act(number::rt_sigtimedwait, [set, 0, 0, 8, 0, 0]),
        Action::Resume
    );
    assert_eq!(guest.result(), i64::from(SIGALRM));
}

#[test]
fn an_alarm_without_a_handler_ends_the_guest() {
    let mut guest = Guest::new();
    alarm(&mut guest, 1, 3_000_000);
    guest.put(guest.scratch, [10_u64, 0].map(u64::to_le_bytes).as_flattened());
    let sleep = [guest.scratch, 0, 0, 0, 0, 0];
    assert_eq!(
        guest.act(number::nanosleep, sleep),
        Action::Stop(Stop::Signal(SIGALRM))
    );
}

#[test]
fn waiting_for_ever_beside_an_alarm_that_nobody_takes_is_seen_at_once() {
    for prepare in [block, ignore] {
        let mut guest = Guest::new();
        prepare(&mut guest);
        alarm(&mut guest, 1, 1);
        let before = guest.machine.ticks();
        assert_eq!(guest.act(number::pause, [0; 6]), Action::Deadlock);
        assert!(
            guest.machine.ticks() - before < 100_000,
            "the clock was looked at far too often"
        );
    }
}
