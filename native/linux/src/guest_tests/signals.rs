//! Signals: delivery, masks, the way back, and what kills.

use super::*;
use crate::action::Stop;
use crate::task::signal::{FIXED_FLAGS, FRAME_BYTES, bit};

const HANDLER: u64 = 0x40_0100;
const RESTORER: u64 = 0x40_0200;

fn handle(guest: &mut Guest, signal: u64, flags: u64, mask: u64) {
    let words = [HANDLER, flags | 0x0400_0000, RESTORER, mask].map(u64::to_le_bytes);
    guest.put(guest.scratch, words.as_flattened());
    assert_eq!(
        guest.call(number::rt_sigaction, [signal, guest.scratch, 0, 8, 0, 0]),
        0
    );
}

/// Returns from the handler as its `ret` and the restorer would.
fn give_back(guest: &mut Guest) {
    let registers = guest.machine.registers();
    guest.machine.set_registers(&Registers {
        rsp: registers.rsp + 8,
        ..registers
    });
    assert_eq!(guest.act(number::rt_sigreturn, [0; 6]), Action::Resume);
}

#[test]
fn a_handler_starts_with_the_frame_and_its_return_restores_everything() {
    let mut guest = Guest::new();
    handle(&mut guest, 10, 4, bit(12));
    let before = Registers {
        rbx: 5,
        r12: 6,
        rflags: FIXED_FLAGS | 0x401,
        ..guest.machine.registers()
    };
    guest.machine.set_registers(&before);
    let mut image = Vec::new();
    guest.machine.save_vector_state(&mut image);
    assert_eq!(
        guest.act(number::kill, [crate::task::process::PID as u64, 10, 0, 0, 0, 0]),
        Action::Resume
    );
    let inside = guest.machine.registers();
    assert_eq!((inside.rip, inside.rdi, inside.rsp % 16), (HANDLER, 10, 8));
    assert_eq!(inside.rflags & 0x400, 0, "the direction flag is clear");
    assert!(
        inside.rsp + FRAME_BYTES as u64 <= before.rsp - 128,
        "the red zone is kept"
    );
    assert_eq!(guest.get(inside.rsp), RESTORER.to_le_bytes());
    assert_eq!(guest.kernel.thread().expect("a thread").mask, bit(10) | bit(12));
    let mut other = image.clone();
    other[160] = 9;
    guest.machine.load_vector_state(&other).expect("an image");
    give_back(&mut guest);
    let after = guest.machine.registers();
    let syscall = Registers {
        rax: 0,
        rdi: crate::task::process::PID as u64,
        rsi: 10,
        rdx: 0,
        r10: 0,
        r8: 0,
        r9: 0,
        ..before
    };
    assert_eq!(after, syscall);
    assert_eq!(guest.kernel.thread().expect("a thread").mask, 0);
    guest.machine.save_vector_state(&mut other);
    assert_eq!(other, image);
}

#[test]
fn a_fault_raises_its_signal_with_address_and_code() {
    let mut guest = Guest::new();
    handle(&mut guest, 11, 4, 0);
    assert_eq!(
        guest.kernel.fault(&mut guest.machine, 14, 6, 0x1234_5678),
        Action::Resume
    );
    let registers = guest.machine.registers();
    let info: [u8; 32] = guest.get(registers.rsi);
    assert_eq!((info[0], info[8]), (11, 1));
    assert_eq!(info[16..24], 0x1234_5678_u64.to_le_bytes());
    // A second fault while SIGSEGV is blocked kills.
    assert_eq!(
        guest.kernel.fault(&mut guest.machine, 14, 6, 8),
        Action::Stop(Stop::Signal(11))
    );
}

#[test]
fn a_page_given_in_vain_again_and_again_is_a_fault_of_the_guest_at_last() {
    let mut guest = Guest::new();
    let page = guest.scratch + PAGE;
    let fault = |guest: &mut Guest| guest.kernel.fault(&mut guest.machine, 14, 6, page);
    for _ in 0..100 {
        assert_eq!(fault(&mut guest), Action::Resume);
        assert_eq!(guest.call(number::madvise, [page, PAGE, 4, 0, 0, 0]), 0);
    }
    let served = (0..100)
        .take_while(|_| fault(&mut guest) == Action::Resume)
        .count();
    assert!((1..100).contains(&served), "{served}");
}

#[test]
fn faults_without_a_handler_kill_with_their_signal() {
    for (vector, signal) in [
        (0, 8),
        (1, 5),
        (3, 5),
        (6, 4),
        (13, 11),
        (16, 8),
        (17, 7),
        (19, 8),
    ] {
        let mut guest = Guest::new();
        assert_eq!(
            guest.kernel.fault(&mut guest.machine, vector, 0, 0),
            Action::Stop(Stop::Signal(signal)),
            "{vector}"
        );
    }
    let mut guest = Guest::new();
    assert_eq!(
        guest.kernel.fault(&mut guest.machine, 18, 0, 0),
        Action::Stop(Stop::Exception { vector: 18 })
    );
}

#[test]
fn a_stack_that_cannot_hold_the_frame_kills() {
    for rsp in [
        0,
        8,
        100,
        0x1000,
        u64::MAX,
        crate::machine::USER_END,
        0x7000_0000_0000,
    ] {
        let mut guest = Guest::new();
        handle(&mut guest, 10, 0, 0);
        let registers = guest.machine.registers();
        guest.machine.set_registers(&Registers { rsp, ..registers });
        let action = guest.act(number::kill, [crate::task::process::PID as u64, 10, 0, 0, 0, 0]);
        assert_eq!(action, Action::Stop(Stop::Signal(11)), "{rsp:x}");
    }
}

#[test]
fn a_forged_frame_gives_no_more_than_user_flags_and_user_addresses() {
    let mut guest = Guest::new();
    let at = guest.scratch;
    let frame = |guest: &mut Guest, rip: u64, flags: u64, vector: u64| {
        let mut bytes = [0; FRAME_BYTES];
        for (offset, word) in [(176, rip), (184, flags), (232, vector)] {
            bytes[offset..offset + 8].copy_from_slice(&u64::to_le_bytes(word));
        }
        guest.put(at, &bytes);
        let registers = guest.machine.registers();
        guest.machine.set_registers(&Registers {
            rsp: at + 8,
            ..registers
        });
        guest.act(number::rt_sigreturn, [0; 6])
    };
    assert_eq!(frame(&mut guest, 0x40_0000, u64::MAX, 0), Action::Resume);
    assert_eq!(guest.machine.registers().rflags & 0x3000, 0, "no I/O privilege");
    for (rip, vector) in [
        (1 << 47, 0),
        (u64::MAX, 0),
        (0x40_0000, 8),
        (0x40_0000, u64::MAX - 10),
    ] {
        assert_eq!(
            frame(&mut guest.clone(), rip, 0, vector),
            Action::Stop(Stop::Signal(11)),
            "{rip:x} {vector:x}"
        );
    }
}

#[test]
fn a_blocked_signal_waits_and_an_ignored_one_is_gone() {
    let mut guest = Guest::new();
    let pid = crate::task::process::PID as u64;
    guest.put(guest.scratch, &bit(15).to_le_bytes());
    guest.call(number::rt_sigprocmask, [0, guest.scratch, 0, 8, 0, 0]);
    assert_eq!(guest.act(number::kill, [pid, 15, 0, 0, 0, 0]), Action::Resume);
    assert_eq!(guest.act(number::kill, [pid, 17, 0, 0, 0, 0]), Action::Resume);
    assert_eq!(
        guest.act(number::rt_sigprocmask, [1, guest.scratch, 0, 8, 0, 0]),
        Action::Stop(Stop::Signal(15))
    );
}
