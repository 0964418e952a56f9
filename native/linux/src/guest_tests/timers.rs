//! POSIX timers: their bound, what they do beside waits and blocked signals, and that a reset and a file have them.

use super::*;
use crate::action::Stop;
use crate::errno::Errno;
use crate::task::signal::bit;
use crate::task::timers::{Notify, TIMERS_MAX, Timer, audit};

const SECOND: u64 = 1_000_000_000;
const USR1: u32 = 10;
const USR2: u32 = 12;
/// Ways of a `sigevent`.
const TO_PROCESS: u64 = 0;
const TO_THREAD: u64 = 4;

fn create(guest: &mut Guest, way: u64, signal: u32, tid: i32) -> i64 {
    let mut event = [0_u64; 8];
    event[..3].copy_from_slice(&[77, u64::from(signal) | way << 32, tid as u64]);
    guest.put(guest.scratch, event.map(u64::to_le_bytes).as_flattened());
    let into = guest.scratch + 128;
    let result = guest.call(number::timer_create, [1, guest.scratch, into, 0, 0, 0]);
    if result < 0 {
        result
    } else {
        i64::from(guest.word(into))
    }
}

/// Arms a timer: nanoseconds until it expires first, and then between expiries.
fn arm(guest: &mut Guest, id: i64, first: u64, interval: u64) {
    let words = [
        interval / SECOND,
        interval % SECOND,
        first / SECOND,
        first % SECOND,
    ];
    guest.put(guest.scratch, words.map(u64::to_le_bytes).as_flattened());
    let arguments = [id.cast_unsigned(), 0, guest.scratch, 0, 0, 0];
    assert_eq!(guest.call(number::timer_settime, arguments), 0);
}

fn block(guest: &mut Guest, signals: u64) {
    guest.put(guest.scratch, &signals.to_le_bytes());
    assert_eq!(
        guest.call(number::rt_sigprocmask, [0, guest.scratch, 0, 8, 0, 0]),
        0
    );
}

/// Waits for a signal of a set; its number, the timer's id and what it missed.
fn take(guest: &mut Guest, set: u64) -> (i64, u32, u32) {
    guest.put(guest.scratch, &set.to_le_bytes());
    let info = guest.scratch + 128;
    assert_eq!(
        guest.act(number::rt_sigtimedwait, [guest.scratch, info, 0, 8, 0, 0]),
        Action::Resume
    );
    (guest.result(), guest.word(info + 16), guest.word(info + 20))
}

fn sleep(guest: &mut Guest, seconds: u64) {
    guest.put(guest.scratch, [seconds, 0].map(u64::to_le_bytes).as_flattened());
    assert_eq!(
        guest.act(number::nanosleep, [guest.scratch, 0, 0, 0, 0, 0]),
        Action::Resume
    );
    assert_eq!(guest.result(), 0);
}

#[test]
fn timers_are_bounded_and_their_ids_are_free_again() {
    let mut guest = Guest::new();
    for wanted in 0..TIMERS_MAX as i64 {
        assert_eq!(create(&mut guest, TO_PROCESS, USR1, 0), wanted);
    }
    let full = Errno::EAGAIN.as_result().cast_signed();
    assert_eq!(create(&mut guest, TO_PROCESS, USR1, 0), full);
    assert_eq!(guest.call(number::timer_delete, [5, 0, 0, 0, 0, 0]), 0);
    guest.kernel.process.next_timer = i32::MAX;
    assert_eq!(create(&mut guest, TO_PROCESS, USR1, 0), i64::from(i32::MAX));
    assert_eq!(guest.call(number::timer_delete, [7, 0, 0, 0, 0, 0]), 0);
    let next = create(&mut guest, TO_PROCESS, USR1, 0);
    assert_eq!(next, 5, "the first that is free");
    let timers = &guest.kernel.process.timers;
    assert_eq!(audit(timers), Ok(()));
    assert!(audit(&[timers[0], timers[0]]).is_err(), "an id twice");
    let below = Timer { id: -1, ..timers[0] };
    let other = Timer {
        notify: Notify::Process(65),
        ..timers[0]
    };
    assert!(audit(&[below]).is_err() && audit(&[other]).is_err());
    assert!(audit(&vec![timers[0]; TIMERS_MAX + 1]).is_err());
}

#[test]
fn a_blocked_signal_stands_for_all_that_was_missed() {
    let mut guest = Guest::new();
    block(&mut guest, bit(USR1));
    let id = create(&mut guest, TO_PROCESS, USR1, 0);
    arm(&mut guest, id, SECOND, SECOND / 10);
    sleep(&mut guest, 3);
    assert_eq!(take(&mut guest, bit(USR1)), (10, 0, 20));
    assert_eq!(guest.call(number::timer_getoverrun, [0; 6]), 20);
    assert_eq!(take(&mut guest, bit(USR1)), (10, 0, 0));
}

#[test]
fn timers_of_one_signal_tell_one_after_the_other() {
    let mut guest = Guest::new();
    block(&mut guest, bit(USR1));
    for _ in 0..3 {
        let id = create(&mut guest, TO_PROCESS, USR1, 0);
        arm(&mut guest, id, SECOND, 0);
    }
    sleep(&mut guest, 2);
    for id in 0..3 {
        assert_eq!(take(&mut guest, bit(USR1)), (10, id, 0));
    }
}

#[test]
fn a_timer_that_is_set_anew_or_deleted_takes_its_signal_back() {
    let mut guest = Guest::new();
    block(&mut guest, bit(USR1) | bit(USR2));
    let tid = guest.tid();
    let process = create(&mut guest, TO_PROCESS, USR1, 0);
    let thread = create(&mut guest, TO_THREAD, USR2, tid);
    for id in [process, thread] {
        arm(&mut guest, id, SECOND, 0);
    }
    sleep(&mut guest, 2);
    arm(&mut guest, process, 0, 0);
    assert_eq!(
        guest.call(number::timer_delete, [thread as u64, 0, 0, 0, 0, 0]),
        0
    );
    guest.call(number::rt_sigpending, [guest.scratch, 8, 0, 0, 0, 0]);
    assert_eq!(guest.get(guest.scratch), [0_u8; 8]);
}

#[test]
fn a_timer_of_a_thread_signals_that_one_and_ends_with_it() {
    let mut guest = Guest::new();
    block(&mut guest, bit(USR1));
    let gone = create(&mut guest, TO_THREAD, USR1, 9999);
    assert_eq!(gone, Errno::EINVAL.as_result().cast_signed());
    let own = guest.tid();
    let id = create(&mut guest, TO_THREAD, USR1, own);
    arm(&mut guest, id, SECOND, SECOND);
    sleep(&mut guest, 2);
    assert_eq!(guest.kernel.process.pending.set(), 0);
    assert_eq!(take(&mut guest, bit(USR1)), (10, 0, 1));
    // Its thread is another one, which is there no more.
    guest.kernel.process.timers[0].notify = Notify::Thread(USR1, 9999);
    sleep(&mut guest, 3);
    assert_eq!(guest.kernel.process.timers[0].next, None);
}

#[test]
fn waiting_for_ever_beside_a_timer_that_nobody_takes_is_seen_at_once() {
    let mut guest = Guest::new();
    block(&mut guest, bit(USR1));
    let id = create(&mut guest, TO_PROCESS, USR1, 0);
    arm(&mut guest, id, 1, 1);
    assert_eq!(guest.act(number::pause, [0; 6]), Action::Deadlock);
}

#[test]
fn a_timer_without_a_handler_ends_the_guest() {
    let mut guest = Guest::new();
    let id = create(&mut guest, TO_PROCESS, USR2, 0);
    arm(&mut guest, id, SECOND, 0);
    assert_eq!(guest.act(number::pause, [0; 6]), Action::Stop(Stop::Signal(USR2)));
}

#[test]
fn a_reset_takes_timers_back() {
    let mut guest = Guest::new();
    let kept = create(&mut guest, TO_PROCESS, USR1, 0);
    arm(&mut guest, kept, 100 * SECOND, SECOND);
    let snapshot = guest.kernel.snapshot();
    arm(&mut guest, kept, 0, 0);
    create(&mut guest, TO_PROCESS, USR2, 0);
    assert!(!guest.kernel.differences(&snapshot).is_empty());
    guest.kernel.restore(&snapshot);
    assert_eq!(guest.kernel.differences(&snapshot), [""; 0]);
    let timers = &guest.kernel.process.timers;
    assert_eq!((timers.len(), timers[0].interval), (1, SECOND));
}
