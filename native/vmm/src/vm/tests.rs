//! Controls: what the flush of stale translations is for, shown by leaving it out.

use std::sync::Arc;

use super::*;
use crate::layout::USER_START;
use crate::probe::Flush;
use crate::pte::Protection;
use crate::space::Backing;

const DATA: u64 = 0x4000_0000;

/// A machine that reads DATA and asks, for ever: `1: mov (%rdi),%al; syscall; jmp 1b`.
fn reader() -> Option<Vm> {
    let host = match Host::open() {
        Ok(host) => Arc::new(host),
        Err(Error::Unavailable(u)) => {
            eprintln!("SKIPPED: no /dev/kvm: {}; {}", u.reason, u.mend);
            return None;
        }
        Err(e) => panic!("{e}"),
    };
    let mut vm = Vm::new(&host, 1 << 20).unwrap();
    let code = [0x8a, 0x07, 0x0f, 0x05, 0xeb, 0xfa];
    let space = vm.space();
    space
        .map(USER_START, 1, Backing::Bytes(&code), Protection::READ_EXECUTE)
        .unwrap();
    space
        .map(DATA, 1, Backing::Bytes(b"A"), Protection::READ)
        .unwrap();
    vm.set_registers(&Registers {
        rip: USER_START,
        rdi: DATA,
        ..Default::default()
    });
    Some(vm)
}

fn read_by_guest(vm: &mut Vm) -> u8 {
    let mut alarm = Alarm::new().unwrap();
    alarm.set(Some(sys::monotonic_ns() + 60_000_000_000)).unwrap();
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Syscall);
    vm.registers().rax as u8
}

/// Leads DATA to another frame; the old one keeps its content elsewhere.
fn replace(vm: &mut Vm) {
    vm.space().remap(DATA, DATA + 2 * PAGE, 1).unwrap();
    vm.space()
        .map(DATA, 1, Backing::Bytes(b"B"), Protection::READ)
        .unwrap();
}

#[test]
fn a_changed_translation_is_seen_with_the_flush_and_not_without() {
    let Some(mut vm) = reader() else { return };
    assert_eq!(read_by_guest(&mut vm), b'A');
    replace(&mut vm);
    assert_eq!(read_by_guest(&mut vm), b'B');

    let Some(mut vm) = reader() else { return };
    assert_eq!(read_by_guest(&mut vm), b'A');
    replace(&mut vm);
    assert!(!vm.space.take_stale().is_empty());
    let seen = read_by_guest(&mut vm);
    match vm.host.flavour().flush {
        Flush::Notifier => assert_eq!(
            seen, b'A',
            "without a flush the shadow still leads to the old frame"
        ),
        // Emulators drop their TLB at every entry, silicon may keep it: either answer is the CPU's right.
        Flush::ReloadCr3 => assert!(matches!(seen, b'A' | b'B')),
    }
}

#[test]
fn a_flush_that_a_kick_may_have_swallowed_is_owed_again() {
    let Some(mut vm) = reader() else { return };
    assert_eq!(read_by_guest(&mut vm), b'A');
    replace(&mut vm);
    let mut alarm = Alarm::new().unwrap();
    alarm.set(Some(1)).unwrap(); // long ago, but the signal may take its time
    while !alarm.has_rung() {
        std::thread::yield_now();
    }
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Kicked);
    assert_eq!(vm.flush_owed, vm.host.flavour().flush == Flush::ReloadCr3);
    assert_eq!(read_by_guest(&mut vm), b'B');
    assert!(!vm.flush_owed);
}

#[test]
fn a_flush_is_still_owed_after_an_entry_that_was_refused() {
    let Some(mut vm) = reader() else { return };
    assert_eq!(read_by_guest(&mut vm), b'A');
    replace(&mut vm);
    let start = *vm.registers();
    vm.set_registers(&Registers {
        rip: crate::layout::USER_END,
        ..start
    });
    let mut alarm = Alarm::new().unwrap();
    assert!(matches!(
        vm.run(&mut alarm),
        Err(Error::BadInstructionPointer { .. })
    ));
    assert_eq!(vm.flush_owed, vm.host.flavour().flush == Flush::ReloadCr3);
    vm.set_registers(&start);
    assert_eq!(read_by_guest(&mut vm), b'B');
    assert!(!vm.flush_owed);
}
