//! Controls: what the flush of stale translations, the stubs and their stacks are for, shown by leaving out or breaking each.

use std::sync::Arc;

use super::*;
use crate::dirty::{PageMap, Run};
use crate::flavour::{Entry, Flavour, Flush};
use crate::layout::{GDT, SYSCALL_STUB, TSS, USER_START};
use crate::pte::Protection;
use crate::space::Backing;

pub(super) const DATA: u64 = 0x4000_0000;

pub(super) fn host() -> Option<Arc<Host>> {
    match Host::open() {
        Ok(host) => Some(Arc::new(host)),
        Err(Error::Unavailable(u)) => {
            eprintln!("SKIPPED: no /dev/kvm: {}; {}", u.reason, u.hint);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// A machine that reads DATA and asks, for ever: `1: mov (%rdi),%al; syscall; jmp 1b`.
pub(super) fn reader() -> Option<Vm> {
    Some(machine(&host()?, &[0x8a, 0x07, 0x0f, 0x05, 0xeb, 0xfa]))
}

pub(super) fn machine(host: &Arc<Host>, code: &[u8]) -> Vm {
    let mut vm = Vm::new(host, 1 << 20).unwrap();
    let space = vm.space();
    space
        .map(USER_START, 1, Backing::Bytes(code), Protection::READ_EXECUTE)
        .unwrap();
    space
        .map(DATA, 1, Backing::Bytes(b"A"), Protection::READ)
        .unwrap();
    vm.set_registers(&Registers {
        rip: USER_START,
        rdi: DATA,
        ..Default::default()
    });
    vm
}

pub(super) fn run(vm: &mut Vm) -> Result<Exit> {
    let mut alarm = Alarm::new().unwrap();
    alarm.set(Some(sys::monotonic_ns() + 60_000_000_000)).unwrap();
    vm.run(&mut alarm)
}

fn read_by_guest(vm: &mut Vm) -> u8 {
    assert_eq!(run(vm).unwrap(), Exit::Syscall);
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
    vm.flushed = vm.space.went_stale();
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

/// More runs than are flushed one by one, over more memory than one piece.
#[test]
fn many_changed_translations_are_all_seen() {
    let Some(host) = host() else { return };
    let mut vm = Vm::new(&host, 16 << 20).unwrap();
    let (pages, step) = (1600, 16);
    let (all, spare) = (DATA, DATA + pages * PAGE);
    let code = [0x8a, 0x07, 0x0f, 0x05, 0xeb, 0xfa]; // as in reader()
    let space = vm.space();
    space
        .map(USER_START, 1, Backing::Bytes(&code), Protection::READ_EXECUTE)
        .unwrap();
    let content = b"A".repeat((pages * PAGE) as usize);
    space
        .map(all, pages, Backing::Bytes(&content), Protection::READ)
        .unwrap();
    let read_at = |vm: &mut Vm, address: u64| {
        vm.set_registers(&Registers {
            rip: USER_START,
            rdi: address,
            ..Default::default()
        });
        read_by_guest(vm)
    };
    let changed = (0..pages).step_by(step).map(|page| all + page * PAGE);
    for address in changed.clone() {
        assert_eq!(read_at(&mut vm, address), b'A');
    }
    for address in changed.clone() {
        let space = vm.space();
        space.remap(address, spare + (address - all), 1).unwrap();
        space
            .map(address, 1, Backing::Bytes(b"B"), Protection::READ)
            .unwrap();
    }
    for address in changed {
        assert_eq!(read_at(&mut vm, address), b'B', "{address:#x}");
        assert_eq!(read_at(&mut vm, address + PAGE), b'A', "{address:#x}");
    }
}

#[test]
fn a_flush_that_a_kick_may_have_swallowed_is_pending_again() {
    let Some(mut vm) = reader() else { return };
    assert_eq!(read_by_guest(&mut vm), b'A');
    replace(&mut vm);
    let mut alarm = Alarm::new().unwrap();
    alarm.set(Some(1)).unwrap(); // long ago, but the signal may take its time
    while !alarm.has_fired() {
        std::thread::yield_now();
    }
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Kicked);
    assert_eq!(vm.flush_pending, vm.host.flavour().flush == Flush::ReloadCr3);
    assert_eq!(read_by_guest(&mut vm), b'B');
    assert!(!vm.flush_pending);
}

#[test]
fn a_flush_is_still_pending_after_an_entry_that_was_refused() {
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
    assert_eq!(vm.flush_pending, vm.host.flavour().flush == Flush::ReloadCr3);
    vm.set_registers(&start);
    assert_eq!(read_by_guest(&mut vm), b'B');
    assert!(!vm.flush_pending);
}

#[cfg(debug_assertions)]
#[test]
fn an_entry_without_the_flush_is_noticed() {
    let Some(mut vm) = reader() else { return };
    assert_eq!(read_by_guest(&mut vm), b'A');
    replace(&mut vm);
    vm.space.take_stale();
    let entered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_by_guest(&mut vm)));
    let words = *entered.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(words, "a present entry changed and nothing was flushed");
}

/// A return that faults in ring 0 uses the stack that the gate names, wherever the guest's RSP leads.
#[test]
fn an_exception_in_ring_0_lands_on_its_own_stack_and_ends_the_machine() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &[0x0f, 0x0b]); // ud2
    vm.set_registers(&Registers {
        rsp: TSS + 0x800,
        ..*vm.registers()
    });
    assert!(matches!(
        run(&mut vm).unwrap(),
        Exit::Exception(crate::Exception { vector: 6, .. })
    ));
    // With ring 3's code marked as not present, the way back by `iretq` faults.
    let code = vm.space.memory().word(GDT, 5);
    vm.space.memory_mut().set_word(GDT, 5, code & !(1 << 47));
    match run(&mut vm) {
        // It names a vector at all: the stub's check of RSP saw the gate's stack, and the saved CS ring 0.
        Err(Error::UnexpectedExit { what }) => {
            assert!(what.starts_with("exception 11 in ring 0 at 0x9800"), "{what}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_wrong_stub_leaves_the_program_in_ring_3() {
    let Some(host) = host() else { return };
    let right = host.flavour();
    let wrong = match right.entry {
        Entry::Ring0 => Entry::Ring3,
        Entry::Ring3 => Entry::Ring0,
    };
    let host = Arc::new(
        Host::open_as(Flavour {
            entry: wrong,
            ..right
        })
        .unwrap(),
    );
    let mut vm = machine(&host, &[0x0f, 0x05, 0xf4]); // syscall; hlt
    let exit = run(&mut vm).unwrap();
    let Exit::Exception(e) = exit else {
        // It arrived in ring 0, and goes back by `iretq`: the next instruction may not be executed in ring 3.
        assert_eq!((wrong, exit), (Entry::Ring3, Exit::Syscall));
        let refused = run(&mut vm).unwrap();
        assert!(
            matches!(refused, Exit::Exception(crate::Exception { vector: 13, .. })),
            "{refused:?}"
        );
        return;
    };
    // Ring 3 may not fetch the stub of ring 0.
    assert_eq!((wrong, e.vector, e.address), (Entry::Ring0, 14, SYSCALL_STUB));
}

#[test]
fn the_tables_addresses_are_hidden_where_the_cpu_can() {
    let Some(host) = host() else { return };
    let umip = host.leaf(7, 0)[2] >> 2 & 1 == 1;
    let mut vm = machine(&host, &[0x0f, 0x01, 0x04, 0x24, 0x0f, 0x05]); // sgdt (%rsp); syscall
    vm.space
        .map(DATA + PAGE, 1, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    vm.set_registers(&Registers {
        rsp: DATA + PAGE,
        ..*vm.registers()
    });
    let exit = run(&mut vm).unwrap();
    match host.flavour().entry {
        Entry::Ring0 if umip => assert!(
            matches!(exit, Exit::Exception(crate::Exception { vector: 13, .. })),
            "{exit:?}"
        ),
        // What it would see are the host's or our own low addresses; neither leads anywhere from ring 3.
        Entry::Ring0 | Entry::Ring3 => assert_eq!(exit, Exit::Syscall),
    }
}

#[test]
fn a_machine_is_made_though_signals_come() {
    use std::sync::atomic::{AtomicBool, Ordering};
    extern "C" fn nothing(_: i32) {}
    let Some(host) = host() else { return };
    // Further apart than one takes, however slow the machine: then each is tried without a signal sooner or later.
    let begin = std::time::Instant::now();
    drop(Vm::new(&host, 1 << 20).unwrap());
    let period = std::time::Duration::from_micros(50).max(begin.elapsed() * 2);
    // SAFETY: a handler that does nothing; no test but this one sends the signal.
    let (made, thread) = unsafe {
        libc::signal(libc::SIGUSR2, nothing as extern "C" fn(i32) as libc::sighandler_t);
        (AtomicBool::new(false), libc::pthread_self())
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !made.load(Ordering::Relaxed) {
                // SAFETY: the scope's own thread lives.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
                std::thread::sleep(period);
            }
        });
        let all: Result<Vec<Vm>> = (0..40).map(|_| Vm::new(&host, 1 << 20)).collect();
        made.store(true, Ordering::Relaxed);
        assert_eq!(all.unwrap().len(), 40);
    });
}

#[test]
fn vector_units_that_are_not_restored_stay_off_where_that_is_possible() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &[0x31, 0xc9, 0x0f, 0x01, 0xd0, 0x0f, 0x05]); // xor %ecx,%ecx; xgetbv; syscall
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    let seen = vm.registers().rdx << 32 | vm.registers().rax;
    match host.flavour().entry {
        Entry::Ring0 => assert_eq!(seen, host.xcr0()),
        // The program sees the host's; what is above 0xe7 has no place in the image that is restored, nor has it been seen.
        Entry::Ring3 => assert_eq!(seen & host.xcr0(), host.xcr0()),
    }
}

#[test]
fn the_guests_counter_is_the_hosts() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &[0x0f, 0x31, 0x0f, 0x05]); // rdtsc; syscall
    // SAFETY: every CPU that this crate is built for has the instruction, and Linux leaves it to ring 3.
    let counter = || unsafe { core::arch::x86_64::_rdtsc() };
    let before = counter();
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    let after = counter();
    let seen = vm.registers().rdx << 32 | vm.registers().rax;
    assert!((before..=after).contains(&seen), "{before} {seen} {after}");
}

#[test]
fn a_trapped_counter_faults_in_forks_too_where_the_cpu_can() {
    let Some(host) = host() else { return };
    // rdtsc; syscall; jmp 1b
    let mut vm = machine(&host, &[0x0f, 0x31, 0x0f, 0x05, 0xeb, 0xfa]);
    vm.trap_counter();
    let trapped = Exit::Exception(crate::vcpu::Exception {
        vector: 13,
        error: 0,
        address: 0,
    });
    let want = match host.flavour().entry {
        Entry::Ring0 => trapped,
        // KVM answers the instruction itself there.
        Entry::Ring3 => Exit::Syscall,
    };
    assert_eq!(run(&mut vm).unwrap(), want);
    vm.set_registers(&Registers {
        rip: USER_START,
        ..Default::default()
    });
    let mut fork = Arc::new(vm.snapshot(1 << 20).unwrap()).fork().unwrap();
    for _ in 0..2 {
        assert_eq!(run(&mut fork).unwrap(), want);
        fork.reset().unwrap();
        fork.check().unwrap();
    }
}

fn private_runs(vm: &mut Vm) -> Vec<Run> {
    let mut runs = Vec::new();
    let private = vm.space().memory().private();
    let length = private.length() as u64;
    PageMap::open()
        .unwrap()
        .private_pages(private, length, &mut runs)
        .unwrap();
    runs
}

fn pages(runs: &[Run]) -> u64 {
    runs.iter().map(|run| run.length / PAGE).sum()
}

#[test]
fn a_fork_has_pages_that_another_wrote_to_and_equals_the_snapshot() {
    let Some(host) = host() else { return };
    // 1: incb (%rdi); add $4096, %edi; syscall; jmp 1b
    let code = [
        0xfe, 0x07, 0x81, 0xc7, 0x00, 0x10, 0x00, 0x00, 0x0f, 0x05, 0xeb, 0xf4,
    ];
    let mut vm = Vm::new(&host, 1 << 20).unwrap();
    let space = vm.space();
    space
        .map(USER_START, 1, Backing::Bytes(&code), Protection::READ_EXECUTE)
        .unwrap();
    space
        .map(
            DATA,
            64,
            Backing::Bytes(&[b'A'; 64 * PAGE as usize]),
            Protection::READ_WRITE,
        )
        .unwrap();
    vm.set_registers(&Registers {
        rip: USER_START,
        rdi: DATA,
        ..Default::default()
    });
    let snapshot = Arc::new(vm.snapshot(1 << 20).unwrap());
    let mut first = snapshot.fork().unwrap();
    let before = pages(&private_runs(&mut first));
    for _ in 0..40 {
        assert_eq!(run(&mut first).unwrap(), Exit::Syscall);
    }
    assert!(first.reset().unwrap().pages >= 40);
    let mut second = snapshot.fork().unwrap();
    assert!(pages(&private_runs(&mut second)) >= before + 40);
    // It asks for all that is private, and compares it.
    second.reset().unwrap();
    second.check().unwrap();
    assert_eq!(run(&mut second).unwrap(), Exit::Syscall);
    second.reset().unwrap();
    second.check().unwrap();
}
