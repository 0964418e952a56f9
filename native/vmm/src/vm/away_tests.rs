//! A program that goes on in another machine, and the machines that it leaves and comes to.

use super::tests::{DATA, host, machine, run};
use super::*;
use crate::pte::Protection;
use crate::space::Backing;

/// Counts in memory, for ever: `1: incq (%rdi); syscall; jmp 1b`.
const COUNTS: [u8; 7] = [0x48, 0xff, 0x07, 0x0f, 0x05, 0xeb, 0xf9];
const COUNTER: u64 = DATA + PAGE;

fn snapshot() -> Option<Arc<Snapshot>> {
    let mut vm = machine(&host()?, &COUNTS);
    vm.space()
        .map(COUNTER, 4, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    let mut registers = *vm.registers();
    registers.rdi = COUNTER;
    vm.set_registers(&registers);
    Some(Arc::new(vm.snapshot(1 << 20).unwrap()))
}

fn count(vm: &mut Vm) -> u64 {
    assert_eq!(run(vm).unwrap(), Exit::Syscall);
    let mut word = [0; 8];
    vm.space().read(COUNTER, &mut word).unwrap();
    u64::from_le_bytes(word)
}

fn clean(vm: &mut Vm) {
    vm.reset().unwrap();
    vm.check().unwrap();
}

#[test]
fn it_goes_on_in_another_fork_and_both_are_clean_afterwards() {
    let Some(snapshot) = snapshot() else { return };
    let (mut one, mut other) = (snapshot.fork().unwrap(), snapshot.fork().unwrap());
    // The second one has pages of its own from an earlier request.
    for vm in [&mut one, &mut other] {
        assert_eq!(count(vm), 1);
        vm.space().write(COUNTER + 3 * PAGE, b"earlier").unwrap();
        clean(vm);
    }
    assert_eq!((count(&mut one), count(&mut one)), (1, 2));
    one.space().write(COUNTER + PAGE + 100, &[7; 200]).unwrap();
    let mut registers = *one.registers();
    registers.r15 = 77;
    one.set_registers(&registers);
    one.set_bases(DATA, COUNTER);
    let mut vectors = XsaveArea::new();
    one.xsave(&mut vectors).unwrap();
    // XMM0, and the component's bit in the header.
    vectors[160..176].fill(0xab);
    vectors[512] |= 2;
    one.set_xsave(&vectors).unwrap();
    one.xsave(&mut vectors).unwrap();
    let registers = *one.registers();

    let away = one.take_out().unwrap().expect("it may leave");
    clean(&mut one);
    assert_eq!(count(&mut one), 1, "it serves the next one");
    other.put_in(&away).unwrap();
    let mut bytes = [0; 200];
    other.space().read(COUNTER + PAGE + 100, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 200]);
    let mut now = XsaveArea::new();
    other.xsave(&mut now).unwrap();
    assert_eq!((*other.registers(), &now), (registers, &vectors));
    assert_eq!(other.bases().unwrap(), (DATA, COUNTER));
    assert_eq!((count(&mut other), count(&mut other)), (3, 4));
    assert_eq!(other.registers().r15, 77);
    for vm in [&mut one, &mut other] {
        clean(vm);
        assert_eq!(count(vm), 1);
    }
}

#[test]
fn it_stays_where_it_changed_its_tables_and_leaves_again_behind_a_reset() {
    let Some(snapshot) = snapshot() else { return };
    let mut vm = snapshot.fork().unwrap();
    count(&mut vm);
    vm.space()
        .map(COUNTER + 16 * PAGE, 1, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    assert!(vm.take_out().unwrap().is_none());
    assert_eq!(count(&mut vm), 2);
    clean(&mut vm);
    count(&mut vm);
    assert!(vm.take_out().unwrap().is_some());
}

#[test]
fn what_is_known_of_frames_goes_along() {
    let Some(snapshot) = snapshot() else { return };
    let (mut one, mut other) = (snapshot.fork().unwrap(), snapshot.fork().unwrap());
    let all = one.space().free_bytes();
    one.space().charge(5 * PAGE);
    let away = one.take_out().unwrap().expect("it may leave");
    clean(&mut one);
    other.put_in(&away).unwrap();
    assert_eq!(
        (one.space().free_bytes(), other.space().free_bytes()),
        (all, all - 5 * PAGE)
    );
    clean(&mut other);
}

#[test]
fn no_other_machine_takes_it() {
    let (Some(snapshot), Some(twin)) = (snapshot(), snapshot()) else {
        return;
    };
    let away = snapshot
        .fork()
        .unwrap()
        .take_out()
        .unwrap()
        .expect("it may leave");
    assert!(matches!(
        twin.fork().unwrap().put_in(&away),
        Err(Error::WrongKind { .. })
    ));
    let mut boots = machine(&host().unwrap(), &COUNTS);
    assert!(matches!(boots.put_in(&away), Err(Error::WrongKind { .. })));
    assert!(boots.take_out().unwrap().is_none());
}
