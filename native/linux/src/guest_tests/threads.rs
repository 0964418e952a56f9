//! Threads, their turns, and futexes.

use super::*;
use crate::errno::Errno;

const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;

#[test]
fn a_wake_lets_a_waiter_go_on_with_result_0() {
    let mut guest = Guest::new();
    let (word, main) = (guest.scratch + 512, guest.tid());
    let other = guest.thread();
    // The first thread waits; the new one runs with its own registers.
    assert_eq!(
        guest.act(number::futex, [word, FUTEX_WAIT, 0, 0, 0, 0]),
        Action::Resume
    );
    assert_eq!(
        (guest.tid(), guest.result(), guest.machine.registers().rsp),
        (other, 0, guest.scratch + 2 * PAGE - 64)
    );
    assert_eq!(guest.call(number::futex, [word, FUTEX_WAKE, 5, 0, 0, 0]), 1);
    assert_eq!(guest.tid(), other);
    assert_eq!(guest.act(number::sched_yield, [0; 6]), Action::Resume);
    assert_eq!((guest.tid(), guest.result()), (main, 0));
}

#[test]
fn a_wait_for_another_value_or_past_its_time_fails() {
    let mut guest = Guest::new();
    let word = guest.scratch + 512;
    assert_eq!(guest.call(number::futex, [word, FUTEX_WAIT, 1, 0, 0, 0]), -11);
    guest.put(guest.scratch, &[[0_u8; 8], 5_000_000_u64.to_le_bytes()].concat());
    assert_eq!(
        guest.call(number::futex, [word, FUTEX_WAIT, 0, guest.scratch, 0, 0]),
        -110
    );
    assert_eq!(
        guest.act(number::futex, [word, FUTEX_WAIT, 0, 0, 0, 0]),
        Action::Deadlock
    );
}

#[test]
fn the_end_of_a_thread_clears_its_word_and_wakes_who_joins() {
    let mut guest = Guest::new();
    let (word, main) = (guest.scratch + 512, guest.tid());
    let stack = guest.scratch + 2 * PAGE - 64;
    // CHILD_CLEARTID, CHILD_SETTID.
    let other = guest.call(number::clone, [0x0125_0f00, stack, 0, word, 0, 0]);
    assert_eq!(i64::from(guest.word(word)), other);
    assert_eq!(
        guest.act(number::futex, [word, FUTEX_WAIT, other as u64, 0, 0, 0]),
        Action::Resume
    );
    assert_eq!(i64::from(guest.tid()), other);
    assert_eq!(guest.act(number::exit, [0; 6]), Action::Resume);
    assert_eq!((guest.tid(), guest.result(), guest.word(word)), (main, 0, 0));
}

#[test]
fn pre_emption_gives_each_thread_its_turn_and_its_registers() {
    let mut guest = Guest::new();
    let main = guest.tid();
    let other = guest.thread();
    let mut order = Vec::new();
    for turn in 0..4_u64 {
        let registers = guest.machine.registers();
        guest.machine.set_registers(&Registers {
            rbx: registers.rbx + turn + 1,
            ..registers
        });
        assert_eq!(guest.kernel.preempt(&mut guest.machine), Action::Resume);
        order.push((guest.tid(), guest.machine.registers().rbx));
    }
    assert_eq!(order, [(other, 0), (main, 1), (other, 2), (main, 4)]);
}

#[test]
fn vector_state_and_bases_follow_the_thread() {
    let mut guest = Guest::new();
    guest.thread();
    guest.call(number::arch_prctl, [0x1002, 0x1234, 0, 0, 0, 0]);
    let mut image = Vec::new();
    guest.machine.save_vector_state(&mut image);
    image[100] = 42;
    guest.machine.load_vector_state(&image).expect("an image");
    guest.kernel.preempt(&mut guest.machine);
    let mut other = Vec::new();
    guest.machine.save_vector_state(&mut other);
    assert_eq!((other[100], guest.machine.fs_base()), (0, 0));
    guest.kernel.preempt(&mut guest.machine);
    guest.machine.save_vector_state(&mut other);
    assert_eq!((other[100], guest.machine.fs_base()), (42, 0x1234));
}

#[test]
fn a_blocking_write_moves_all_its_bytes_before_it_ends() {
    let mut guest = Guest::new();
    let main = guest.tid();
    assert_eq!(guest.call(number::pipe, [guest.scratch, 0, 0, 0, 0, 0]), 0);
    let ends = [guest.word(guest.scratch), guest.word(guest.scratch + 4)].map(u64::from);
    let big = guest.call(number::mmap, [0, 50 * PAGE, 3, 0x22, u64::MAX, 0]) as u64;
    guest.thread();
    assert_eq!(
        guest.act(number::write, [ends[1], big, 50 * PAGE, 0, 0, 0]),
        Action::Resume
    );
    let mut total = 0;
    while guest.tid() != main {
        let read = guest.act(number::read, [ends[0], big, 30_000, 0, 0, 0]);
        assert_eq!(read, Action::Resume);
        if guest.tid() != main {
            total += guest.result();
            guest.act(number::sched_yield, [0; 6]);
        }
    }
    assert_eq!(guest.result(), 50 * PAGE as i64);
    assert!(total >= 50 * PAGE as i64 - 65_536);
}

#[test]
fn processes_are_refused_and_counted() {
    let mut guest = Guest::new();
    for flags in [17, 0x4111] {
        assert_eq!(
            guest.call(number::clone, [flags, 0, 0, 0, 0, 0]),
            Errno::ENOSYS.as_result().cast_signed()
        );
    }
    assert_eq!(guest.kernel.statistics.unknown.get(&number::clone), Some(&2));
    assert_eq!(guest.call(999, [0; 6]), -38);
    assert_eq!(guest.kernel.statistics.unknown.get(&999), Some(&1));
}
