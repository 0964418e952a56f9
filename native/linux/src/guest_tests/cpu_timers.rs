//! Timers and clocks of processor time: they stand still while all threads wait.

use super::*;
use crate::task::signal::bit;

const SECOND: u64 = 1_000_000_000;
const SIGALRM: u32 = 14;
const SIGVTALRM: u32 = 26;
const SIGPROF: u32 = 27;

fn block_all(guest: &mut Guest) {
    let set = bit(SIGALRM) | bit(SIGVTALRM) | bit(SIGPROF);
    guest.put(guest.scratch, &set.to_le_bytes());
    let arguments = [0, guest.scratch, 0, 8, 0, 0];
    assert_eq!(guest.call(number::rt_sigprocmask, arguments), 0);
}

/// Sets an alarm, once, after so many seconds.
fn alarm(guest: &mut Guest, which: u64, seconds: u64) {
    let words = [0, 0, seconds, 0].map(u64::to_le_bytes);
    guest.put(guest.scratch, words.as_flattened());
    assert_eq!(
        guest.call(number::setitimer, [which, guest.scratch, 0, 0, 0, 0]),
        0
    );
}

/// A timer of a clock that tells the running thread by SIGPROF, armed: once, after so many seconds.
fn timer(guest: &mut Guest, clock: u64, seconds: u64) -> u64 {
    let event = [0, u64::from(SIGPROF) | 4 << 32, guest.tid() as u64, 0, 0, 0, 0, 0];
    guest.put(guest.scratch, event.map(u64::to_le_bytes).as_flattened());
    let into = guest.scratch + 128;
    assert_eq!(
        guest.call(number::timer_create, [clock, guest.scratch, into, 0, 0, 0]),
        0
    );
    let id = u64::from(guest.word(into));
    guest.put(
        guest.scratch,
        [0, 0, seconds, 0].map(u64::to_le_bytes).as_flattened(),
    );
    assert_eq!(
        guest.call(number::timer_settime, [id, 0, guest.scratch, 0, 0, 0]),
        0
    );
    id
}

fn sleep(guest: &mut Guest, seconds: u64) {
    guest.put(guest.scratch, [seconds, 0].map(u64::to_le_bytes).as_flattened());
    assert_eq!(
        guest.act(number::nanosleep, [guest.scratch, 0, 0, 0, 0, 0]),
        Action::Resume
    );
}

/// Whole seconds of a clock.
fn clock(guest: &mut Guest, id: u64) -> u64 {
    assert_eq!(
        guest.call(number::clock_gettime, [id, guest.scratch, 0, 0, 0, 0]),
        0
    );
    u64::from(guest.word(guest.scratch))
}

/// Lets the guest compute for so long; the kernel looks at its timers at the next call.
fn compute(guest: &mut Guest, seconds: u64) {
    guest.machine.pass(seconds * SECOND);
    guest.call(number::getpid, [0; 6]);
}

fn pending(guest: &mut Guest) -> u64 {
    guest.call(number::rt_sigpending, [guest.scratch, 8, 0, 0, 0, 0]);
    u64::from_le_bytes(guest.get(guest.scratch))
}

#[test]
fn clocks_of_processor_time_count_what_the_guest_ran() {
    let mut guest = Guest::new();
    sleep(&mut guest, 100);
    assert_eq!((clock(&mut guest, 2), clock(&mut guest, 3)), (0, 0));
    compute(&mut guest, 5);
    sleep(&mut guest, 100);
    assert_eq!((clock(&mut guest, 2), clock(&mut guest, 3)), (5, 5));
    assert_eq!(guest.call(number::getrusage, [0, guest.scratch, 0, 0, 0, 0]), 0);
    assert_eq!(guest.word(guest.scratch), 5);
    assert!(clock(&mut guest, 1) >= 206);
}

#[test]
fn alarms_of_processor_time_pass_while_the_guest_runs_and_have_signals_of_their_own() {
    let mut guest = Guest::new();
    block_all(&mut guest);
    alarm(&mut guest, 1, 2);
    alarm(&mut guest, 2, 4);
    sleep(&mut guest, 100);
    assert_eq!(pending(&mut guest), 0, "nothing ran");
    compute(&mut guest, 3);
    assert_eq!(pending(&mut guest), bit(SIGVTALRM));
    guest.call(number::getitimer, [2, guest.scratch, 0, 0, 0, 0]);
    assert!(
        guest.word(guest.scratch + 16) < 2,
        "the seconds that the other has left"
    );
    compute(&mut guest, 3);
    assert_eq!(pending(&mut guest), bit(SIGVTALRM) | bit(SIGPROF));
    let odd = guest.call(number::setitimer, [3, guest.scratch, 0, 0, 0, 0]);
    assert_eq!(odd, crate::errno::Errno::EINVAL.as_result().cast_signed());
}

#[test]
fn timers_of_processor_time_pass_while_the_guest_runs() {
    for clock in [2, 3] {
        let mut guest = Guest::new();
        block_all(&mut guest);
        let id = timer(&mut guest, clock, 2);
        sleep(&mut guest, 100);
        assert_eq!(pending(&mut guest), 0);
        guest.call(number::timer_gettime, [id, guest.scratch, 0, 0, 0, 0]);
        assert!((1..=2).contains(&guest.word(guest.scratch + 16)));
        compute(&mut guest, 3);
        assert_eq!(pending(&mut guest), bit(SIGPROF));
    }
}

#[test]
fn one_who_waits_for_ever_beside_a_timer_of_processor_time_is_seen_at_once() {
    let mut guest = Guest::new();
    timer(&mut guest, 2, 1);
    alarm(&mut guest, 1, 1);
    assert_eq!(guest.act(number::pause, [0; 6]), Action::Deadlock);
}

#[test]
fn a_reset_takes_processor_time_back() {
    let mut guest = Guest::new();
    compute(&mut guest, 1);
    let snapshot = guest.kernel.snapshot();
    compute(&mut guest, 5);
    sleep(&mut guest, 5);
    alarm(&mut guest, 2, 9);
    assert!(!guest.kernel.differences(&snapshot).is_empty());
    guest.kernel.restore(&snapshot);
    assert_eq!(guest.kernel.differences(&snapshot), [""; 0]);
}
