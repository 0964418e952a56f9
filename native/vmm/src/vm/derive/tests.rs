//! Programs of one base: what they share, what they must not see, and that their forks are put back like any other.

use super::super::tests::{DATA, host, machine, run};
use super::*;
use crate::layout::USER_START;
use crate::pte::Protection;
use crate::space::Backing;
use crate::vcpu::{Exit, Registers};

/// Reads a byte at RDI, stores BL at RSI, and asks, for ever: `1: mov (%rdi),%al; mov %bl,(%rsi); syscall; jmp 1b`.
const CODE: [u8; 8] = [0x8a, 0x07, 0x88, 0x1e, 0x0f, 0x05, 0xeb, 0xf8];
/// Pages of the base that a program may write.
const HEAP: u64 = 0x5000_0000;
const HEAP_PAGES: u64 = 40;
/// Pages that a program adds, in a table of their own.
const OWN: u64 = 0x7000_0000_0000;
const LIMIT: u64 = 2 << 20;

fn base() -> Option<Arc<Snapshot>> {
    let mut vm = machine(&host()?, &CODE);
    let bytes = vec![b'h'; (HEAP_PAGES * PAGE) as usize];
    vm.space()
        .map(HEAP, HEAP_PAGES, Backing::Bytes(&bytes), Protection::READ_WRITE)
        .unwrap();
    let start = *vm.registers();
    vm.set_registers(&Registers {
        rsi: HEAP,
        rbx: b'h'.into(),
        ..start
    });
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    Some(Arc::new(vm.snapshot(LIMIT).unwrap()))
}

/// A program that wrote its secret, from inside and from outside, into pages of the base and new ones.
fn program(base: &Arc<Snapshot>, secret: u8) -> Arc<Snapshot> {
    let mut vm = base.derive(LIMIT).unwrap();
    store(&mut vm, HEAP + 3 * PAGE, secret);
    let page = [secret; PAGE as usize];
    vm.space().write(HEAP + 5 * PAGE, &page).unwrap();
    vm.space().unmap(HEAP + 7 * PAGE, 1).unwrap();
    vm.space().protect(HEAP + 8 * PAGE, 1, Protection::NONE).unwrap();
    vm.space()
        .map(OWN, 2, Backing::Bytes(&page), Protection::READ_WRITE)
        .unwrap();
    store(&mut vm, OWN + PAGE, secret);
    // Freed again: what it held must be gone.
    vm.space()
        .map(OWN + 2 * PAGE, 1, Backing::Bytes(&page), Protection::READ)
        .unwrap();
    vm.space().unmap(OWN + 2 * PAGE, 1).unwrap();
    Arc::new(vm.snapshot(LIMIT).unwrap())
}

/// The guest stores a byte.
fn store(vm: &mut Vm, at: u64, byte: u8) {
    let before = *vm.registers();
    vm.set_registers(&Registers {
        rsi: at,
        rbx: byte.into(),
        ..before
    });
    assert_eq!(run(vm).unwrap(), Exit::Syscall);
    vm.set_registers(&before);
}

/// The guest loads a byte.
fn load(vm: &mut Vm, at: u64) -> u8 {
    let before = *vm.registers();
    vm.set_registers(&Registers { rdi: at, ..before });
    assert_eq!(run(vm).unwrap(), Exit::Syscall);
    vm.registers().rax as u8
}

fn content(vm: &Vm, start: u64, pages: u64) -> Vec<Option<Vec<u8>>> {
    (0..pages)
        .map(|i| {
            let mut page = vec![0; PAGE as usize];
            let read = vm.space_ref().read(start + i * PAGE, &mut page);
            read.ok().map(|()| page)
        })
        .collect()
}

#[test]
fn a_program_has_its_own_bytes_and_its_bases_others() {
    let Some(base) = base() else { return };
    let untouched = content(&base.fork().unwrap(), HEAP, HEAP_PAGES);
    let programs = [program(&base, b'A'), program(&base, b'B')];
    for (snapshot, secret) in programs.iter().zip(*b"AB") {
        let mut fork = snapshot.fork().unwrap();
        fork.check().unwrap();
        for round in 0..3 {
            assert_eq!(load(&mut fork, HEAP + 3 * PAGE), secret);
            assert_eq!(load(&mut fork, HEAP + 5 * PAGE + 9), secret);
            assert_eq!(load(&mut fork, OWN + PAGE), secret);
            assert_eq!(load(&mut fork, HEAP + 4 * PAGE), b'h');
            assert_eq!(load(&mut fork, DATA), b'A', "the base's own");
            let now = content(&fork, HEAP, HEAP_PAGES);
            let differs = (0..HEAP_PAGES as usize).filter(|i| now[*i] != untouched[*i]);
            // The loads store to the first page what it holds.
            assert_eq!(differs.collect::<Vec<_>>(), [3, 5, 7, 8]);
            for page in [HEAP, HEAP + 3 * PAGE, HEAP + 20 * PAGE, OWN, OWN + PAGE] {
                store(&mut fork, page + 100, b'z');
            }
            fork.space()
                .map(OWN + 10 * PAGE, 30, Backing::Zero, Protection::READ_WRITE)
                .unwrap();
            store(&mut fork, OWN + 12 * PAGE, b'z');
            fork.reset().unwrap();
            fork.check().unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
    }
    let again = base.fork().unwrap();
    assert_eq!(
        content(&again, HEAP, HEAP_PAGES),
        untouched,
        "the base is as it was"
    );
}

#[test]
fn no_page_of_a_machine_holds_another_programs_secret() {
    let Some(base) = base() else { return };
    let pattern = |byte| [byte; 64];
    let programs = [program(&base, b'A'), program(&base, b'B')];
    for (snapshot, other) in programs.iter().zip(*b"BA") {
        let mut fork = snapshot.fork().unwrap();
        assert_eq!(load(&mut fork, HEAP), b'h');
        let (mut seen, mut own) = (0, false);
        fork.visit_frames(&mut |frame, page| {
            seen += 1;
            let found = page.windows(64).any(|w| w == pattern(other));
            assert!(!found, "frame {frame:#x} holds the secret of another program");
            own |= page
                .windows(64)
                .any(|w| w == pattern(if other == b'A' { b'B' } else { b'A' }));
        })
        .unwrap();
        assert!(seen > 40 && own, "{seen} pages, and its own secret among them");
    }
    let fork = base.fork().unwrap();
    fork.visit_frames(&mut |frame, page| {
        let found = [b'A', b'B']
            .iter()
            .any(|b| page.windows(64).any(|w| w == pattern(*b)));
        assert!(!found, "frame {frame:#x} of the base holds a secret");
    })
    .unwrap();
}

#[test]
fn a_program_takes_no_more_than_what_differs() {
    let Some(base) = base() else { return };
    let nothing = Arc::new(base.derive(LIMIT).unwrap().snapshot(LIMIT).unwrap());
    let low = nothing.own_bytes().unwrap();
    assert!(
        (PAGE..LOW_END).contains(&low),
        "{low}: of the low pages those in use"
    );
    assert_eq!(nothing.pages(), base.pages());
    let own = program(&base, b'A').own_bytes().unwrap();
    // Two written pages, two new ones, and the tables that lead to them: four of the base's, three new.
    assert!((low + 4 * PAGE..=low + 12 * PAGE).contains(&own), "{own}");
    let mut fork = nothing.fork().unwrap();
    store(&mut fork, HEAP, b'z');
    fork.reset().unwrap();
    fork.check().unwrap();
}

#[test]
fn pages_of_zeros_take_no_memory() {
    let Some(base) = base() else { return };
    let own_of = |filled: &[u8; PAGE as usize]| {
        let mut vm = base.derive(LIMIT).unwrap();
        // New pages, and pages of the base.
        vm.space()
            .map(
                OWN,
                20,
                Backing::Bytes(&[1; 20 * PAGE as usize]),
                Protection::READ_WRITE,
            )
            .unwrap();
        for start in [OWN, HEAP] {
            for i in 0..20 {
                vm.space().write(start + i * PAGE, filled).unwrap();
            }
        }
        let program = Arc::new(vm.snapshot(LIMIT).unwrap());
        // Before anybody looks at them: that gives each a page.
        let own = program.own_bytes().unwrap();
        let mut fork = program.fork().unwrap();
        for at in [OWN, OWN + 19 * PAGE, HEAP + PAGE, HEAP + 19 * PAGE] {
            assert_eq!(load(&mut fork, at), filled[0]);
        }
        store(&mut fork, OWN + PAGE, b'z');
        fork.reset().unwrap();
        fork.check().unwrap();
        own
    };
    let zeros = own_of(&[0; PAGE as usize]);
    let ones = own_of(&[1; PAGE as usize]);
    assert_eq!(zeros + 40 * PAGE, ones);
}

#[test]
fn a_program_can_be_a_base_itself() {
    let Some(base) = base() else { return };
    let middle = program(&base, b'M');
    let mut vm = middle.derive(LIMIT).unwrap();
    store(&mut vm, HEAP + 3 * PAGE, b'T');
    store(&mut vm, HEAP + 9 * PAGE, b'T');
    let top = Arc::new(vm.snapshot(LIMIT).unwrap());
    drop((middle, base));
    let mut fork = top.fork().unwrap();
    for _ in 0..2 {
        let bytes = [3, 5, 9, 10].map(|i| load(&mut fork, HEAP + i * PAGE));
        assert_eq!(&bytes, b"TMTh");
        assert_eq!(load(&mut fork, OWN + PAGE), b'M');
        store(&mut fork, HEAP + 9 * PAGE, b'z');
        fork.reset().unwrap();
        fork.check().unwrap();
    }
}

#[test]
fn a_program_may_use_what_its_own_limit_says() {
    let Some(base) = base() else { return };
    let used = base.used_bytes() / PAGE;
    let mut vm = base.derive((used + 10) * PAGE).unwrap();
    let space = vm.space();
    space.map(OWN, 10, Backing::Zero, Protection::READ).unwrap();
    let refused = space.map(OWN + 10 * PAGE, 1, Backing::Zero, Protection::READ);
    assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
    space.unmap(HEAP, 1).unwrap();
    space
        .map(OWN + 10 * PAGE, 1, Backing::Zero, Protection::READ)
        .unwrap();
    let mut byte = [1];
    space.read(OWN + 10 * PAGE, &mut byte).unwrap();
    assert_eq!(byte, [0], "a frame of the base that was used again is empty");
}

#[test]
fn code_of_a_program_may_lie_where_the_bases_lay() {
    let Some(base) = base() else { return };
    let mut vm = base.derive(LIMIT).unwrap();
    // `mov $'N',%al` in the place of the load.
    let code = [0xb0, b'N', 0x88, 0x1e, 0x0f, 0x05, 0xeb, 0xf8];
    vm.space().write_protected(USER_START, &code).unwrap();
    let program = Arc::new(vm.snapshot(LIMIT).unwrap());
    let mut fork = program.fork().unwrap();
    assert_eq!(load(&mut fork, HEAP), b'N');
    assert_eq!(load(&mut base.fork().unwrap(), HEAP), b'h');
    fork.reset().unwrap();
    fork.check().unwrap();
}
