//! Tiny ring-3 programs on the real KVM. Skipped aloud where there is none.

use std::sync::Arc;

use mayfly_vmm::{
    Access, Alarm, Backing, Entry, Error, Exception, Exit, Host, HostFile, PAGE, Protection, Registers,
    Snapshot, Survival, USER_START, Vm, monotonic_ns,
};

const CODE: u64 = USER_START;
const DATA: u64 = 0x4000_0000;
const STACK: u64 = 0x7fff_0000_0000;

/// The host, or `None` with a line that says why.
fn host() -> Option<Arc<Host>> {
    match Host::open() {
        Ok(host) => Some(Arc::new(host)),
        Err(Error::Unavailable(u)) => {
            eprintln!("SKIPPED: no /dev/kvm: {}; {}", u.reason, u.mend);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn alarm(milliseconds: u64) -> Alarm {
    let mut alarm = Alarm::new().unwrap();
    alarm
        .set(Some(monotonic_ns() + milliseconds * 1_000_000))
        .unwrap();
    alarm
}

/// A machine with code, a page of data and a stack.
fn machine(host: &Arc<Host>, code: &[u8]) -> Vm {
    let mut vm = Vm::new(host, 64 << 20).unwrap();
    let space = vm.space();
    space
        .map(CODE, 1, Backing::Bytes(code), Protection::READ_EXECUTE)
        .unwrap();
    space.map(DATA, 4, Backing::Zero, Protection::READ_WRITE).unwrap();
    space
        .map(STACK - 4 * PAGE, 4, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    vm.set_registers(&Registers {
        rip: CODE,
        rsp: STACK,
        rdi: DATA,
        ..Default::default()
    });
    vm
}

fn forked(vm: Vm) -> (Arc<Snapshot>, Vm) {
    let snapshot = Arc::new(vm.snapshot(32 << 20).unwrap());
    let fork = snapshot.fork().unwrap();
    (snapshot, fork)
}

const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// `jmp .`
const SPIN: [u8; 2] = [0xeb, 0xfe];

#[test]
fn system_calls_go_out_and_come_back() {
    let Some(host) = host() else { return };
    // mov $7,%eax; syscall; inc %rax; syscall
    let mut vm = machine(
        &host,
        &[0xb8, 7, 0, 0, 0, 0x0f, 0x05, 0x48, 0xff, 0xc0, 0x0f, 0x05],
    );
    let mut alarm = alarm(5000);
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Syscall);
    assert_eq!((vm.registers().rax, vm.registers().rip), (7, CODE + 7));
    let mut regs = *vm.registers();
    regs.rax = 41;
    vm.set_registers(&regs);
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Syscall);
    assert_eq!((vm.registers().rax, vm.registers().rip), (42, CODE + 12));
    vm.space().audit().unwrap();
}

#[test]
fn page_faults_tell_address_and_kind_and_resume() {
    let Some(host) = host() else { return };
    // mov %rcx,(%rdi); syscall; call *%rdi
    let mut vm = machine(&host, &[0x48, 0x89, 0x0f, 0x0f, 0x05, 0xff, 0xd7]);
    let at = 0x5000_0123;
    let regs = Registers {
        rdi: at,
        rcx: 0x1122,
        ..*vm.registers()
    };
    vm.set_registers(&regs);
    let mut alarm = alarm(5000);
    let fault = |vector, error| {
        Exit::Exception(Exception {
            vector,
            error,
            address: at,
        })
    };
    assert_eq!(vm.run(&mut alarm).unwrap(), fault(14, 6));
    assert_eq!(
        (vm.registers().rip, vm.registers().rcx, vm.registers().rsp),
        (CODE, 0x1122, STACK)
    );
    vm.space()
        .map(0x5000_0000, 1, Backing::Zero, Protection::READ)
        .unwrap();
    assert_eq!(vm.run(&mut alarm).unwrap(), fault(14, 7));
    vm.space()
        .protect(0x5000_0000, 1, Protection::READ_WRITE)
        .unwrap();
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Syscall);
    let mut word = [0; 8];
    vm.space().read(at, &mut word).unwrap();
    assert_eq!(u64::from_le_bytes(word), 0x1122);
    assert_eq!(vm.run(&mut alarm).unwrap(), fault(14, 0x15), "a fetch from data");
}

#[test]
fn other_exceptions_tell_their_vector() {
    let Some(host) = host() else { return };
    let cases: [(&[u8], u8); 7] = [
        (&[0x0f, 0x0b], 6),             // ud2
        (&[0x31, 0xc9, 0xf7, 0xf1], 0), // xor %ecx,%ecx; div %ecx
        (&[0xf4], 13),                  // hlt
        (&[0x0f, 0x22, 0xd8], 13),      // mov %rax,%cr3
        (&[0x48, 0xcf], 13),            // iretq with a null frame
        (&[0xe6, 0x8e], 13),            // out %al,$0x8e: a forged page fault
        (&[0xe6, 0x00], 13),            // out %al,$0: a forged system call
    ];
    for (code, vector) in cases {
        let mut vm = machine(&host, &[code, &SPIN].concat());
        let mut regs = *vm.registers();
        regs.rsp = STACK - 64;
        vm.set_registers(&regs);
        match vm.run(&mut alarm(2000)).unwrap() {
            Exit::Exception(e) => assert_eq!(e.vector, vector, "{code:x?}"),
            other => panic!("{code:x?}: {other:?}"),
        }
    }
}

#[test]
fn low_memory_is_out_of_reach() {
    let Some(host) = host() else { return };
    for page in 0..16u64 {
        for code in [&[0x8a, 0x07][..], &[0x88, 0x07]] {
            // mov (%rdi),%al or mov %al,(%rdi); then syscall
            let mut vm = machine(&host, &[code, &SYSCALL].concat());
            vm.set_registers(&Registers {
                rip: CODE,
                rsp: STACK,
                rdi: page * PAGE,
                ..Default::default()
            });
            let exit = vm.run(&mut alarm(2000)).unwrap();
            let stub_read = host.flavour().entry == Entry::Ring3 && page == 8 && code[0] == 0x8a;
            assert_eq!(
                matches!(exit, Exit::Exception(Exception { vector: 14, .. })),
                !stub_read,
                "page {page}: {exit:?}"
            );
        }
    }
}

#[test]
fn registers_set_by_the_owner_arrive_whole() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &SYSCALL);
    let want = Registers {
        rax: 1,
        rbx: 2,
        rcx: 3,
        rdx: 4,
        rsi: 5,
        rdi: 6,
        rsp: STACK,
        rbp: 8,
        r8: 9,
        r9: 10,
        r10: 11,
        r11: 12,
        r12: 13,
        r13: 14,
        r14: 15,
        r15: 16,
        rip: CODE + 0x100,
        rflags: 0x3_3eff,
    };
    let mut alarm = alarm(5000);
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Syscall);
    // Now the vCPU rests in a stub where `syscall` arrives in ring 0: RCX and R11 must survive the way back.
    vm.set_registers(&want);
    // The page is zero there: `add %al,(%rax)` faults at 1 and changes nothing.
    let fault = Exit::Exception(Exception {
        vector: 14,
        error: 6,
        address: 1,
    });
    assert_eq!(vm.run(&mut alarm).unwrap(), fault);
    assert_eq!(
        *vm.registers(),
        Registers {
            rflags: 0xed7,
            ..want
        }
    );
    assert_eq!(
        vm.run(&mut alarm).unwrap(),
        fault,
        "the way back from an exception keeps them as well"
    );
    assert_eq!(
        *vm.registers(),
        Registers {
            rflags: 0xed7,
            ..want
        }
    );
}

#[test]
fn endless_loop_is_stopped_and_goes_on() {
    let Some(host) = host() else { return };
    // 1: inc %rax; jmp 1b
    let mut vm = machine(&host, &[0x48, 0xff, 0xc0, 0xeb, 0xfb]);
    let mut last = 0;
    for _ in 0..20 {
        assert_eq!(vm.run(&mut alarm(2)).unwrap(), Exit::Kicked);
        assert!(
            (CODE..CODE + 5).contains(&vm.registers().rip),
            "{:x?}",
            vm.registers()
        );
        assert!(vm.registers().rax > last);
        last = vm.registers().rax;
    }
}

#[test]
fn kick_between_system_calls_loses_none() {
    let Some(host) = host() else { return };
    // 1: inc %rbx; syscall; jmp 1b
    let mut vm = machine(&host, &[0x48, 0xff, 0xc3, 0x0f, 0x05, 0xeb, 0xf9]);
    let (mut calls, mut kicks) = (0u64, 0);
    let mut alarm = Alarm::new().unwrap();
    let end = monotonic_ns() + 300_000_000;
    while monotonic_ns() < end {
        alarm.set(Some(monotonic_ns() + 37_000)).unwrap();
        match vm.run(&mut alarm).unwrap() {
            Exit::Syscall => {
                calls += 1;
                assert_eq!((vm.registers().rbx, vm.registers().rip), (calls, CODE + 5));
            }
            Exit::Kicked => kicks += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(calls > 100 && kicks > 10, "{calls} calls, {kicks} kicks");
}

/// Writes to data, counts in memory, touches vector registers and FS, then asks.
const COUNTER: [u8; 25] = [
    0x48, 0xff, 0x07, // inc (%rdi)
    0xf3, 0x0f, 0x6f, 0x07, // movdqu (%rdi),%xmm0
    0xf3, 0x48, 0x0f, 0xae, 0xd7, // wrfsbase %rdi
    0xf3, 0x48, 0x0f, 0xae, 0xdf, // wrgsbase %rdi
    0x48, 0x8b, 0x07, // mov (%rdi),%rax
    0x0f, 0x05, // syscall
    0xeb, 0xf7, 0x90, // jmp to the syscall
];

#[test]
fn reset_rewinds_memory_and_every_register() {
    let Some(host) = host() else { return };
    let (snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let mut alarm = alarm(20_000);
    for round in 0..50 {
        assert_eq!(fork.run(&mut alarm).unwrap(), Exit::Syscall);
        assert_eq!(fork.registers().rax, 1, "round {round}");
        assert_eq!(fork.bases().unwrap(), (DATA, DATA));
        assert!(fork.check().is_err(), "a used fork must not pass");
        let report = fork.reset().unwrap();
        assert!(report.pages >= 1 && report.pages < 16, "{report:?}");
        fork.check().unwrap();
    }
    assert_eq!(
        fork.bases().unwrap(),
        (snapshot.state().fs_base, snapshot.state().gs_base)
    );
}

#[test]
fn forks_do_not_see_each_other() {
    let Some(host) = host() else { return };
    let (snapshot, mut a) = forked(machine(&host, &COUNTER));
    let mut b = snapshot.fork().unwrap();
    let mut alarm = alarm(5000);
    a.space().write(DATA, &[100]).unwrap();
    assert_eq!(a.run(&mut alarm).unwrap(), Exit::Syscall);
    assert_eq!(b.run(&mut alarm).unwrap(), Exit::Syscall);
    assert_eq!((a.registers().rax, b.registers().rax), (101, 1));
}

/// `mov (%rdi),%rax; syscall; jmp` to the start.
const READER: [u8; 7] = [0x48, 0x8b, 0x07, 0x0f, 0x05, 0xeb, 0xf9];

fn read_at(vm: &mut Vm, alarm: &mut Alarm, address: u64) -> Result<u64, Exit> {
    let regs = Registers {
        rip: CODE,
        rdi: address,
        ..*vm.registers()
    };
    vm.set_registers(&regs);
    match vm.run(alarm).unwrap() {
        Exit::Syscall => Ok(vm.registers().rax),
        other => Err(other),
    }
}

#[test]
fn changed_mappings_are_seen_at_once() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &READER);
    let mut alarm = alarm(20_000);
    let at = 0x6000_0000;
    for i in 0..64u64 {
        let page = at + i % 4 * PAGE;
        vm.space()
            .map(page, 1, Backing::Bytes(&(i + 1).to_le_bytes()), Protection::READ)
            .unwrap();
        assert_eq!(read_at(&mut vm, &mut alarm, page), Ok(i + 1));
        vm.space().remap(page, page + 64 * PAGE, 1).unwrap();
        assert!(read_at(&mut vm, &mut alarm, page).is_err(), "moved away");
        assert_eq!(read_at(&mut vm, &mut alarm, page + 64 * PAGE), Ok(i + 1));
        vm.space().protect(page + 64 * PAGE, 1, Protection::NONE).unwrap();
        assert!(
            read_at(&mut vm, &mut alarm, page + 64 * PAGE).is_err(),
            "no rights"
        );
        vm.space().unmap(page + 64 * PAGE, 1).unwrap();
    }
}

#[test]
fn pages_mapped_by_a_request_are_gone_after_the_reset() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &READER));
    let mut alarm = alarm(30_000);
    for round in 0..20u64 {
        for (i, address) in [0x6000_0000, DATA + 64 * PAGE, 0x7000_0000_0000]
            .into_iter()
            .enumerate()
        {
            let value = round * 10 + i as u64 + 1;
            assert!(
                read_at(&mut fork, &mut alarm, address).is_err(),
                "round {round}: a leftover at {address:#x}"
            );
            fork.space()
                .map(
                    address,
                    2,
                    Backing::Bytes(&value.to_le_bytes()),
                    Protection::READ_WRITE,
                )
                .unwrap();
            assert_eq!(read_at(&mut fork, &mut alarm, address), Ok(value));
        }
        assert_eq!(read_at(&mut fork, &mut alarm, DATA), Ok(0));
        fork.space().unmap(DATA, 1).unwrap();
        assert!(read_at(&mut fork, &mut alarm, DATA).is_err());
        fork.reset().unwrap();
        fork.check().unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, DATA), Ok(0));
        fork.reset().unwrap();
    }
}

/// The hazard of shadow paging: a table that a request added serves another range in the next one.
#[test]
fn tables_added_by_requests_never_serve_two_places() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &READER));
    let mut alarm = alarm(60_000);
    let mut rebuilt = 0;
    for round in 0..80u64 {
        let a = 0x1000_0000_0000 + round * (1 << 30);
        let b = 0x2000_0000_0000 + round * (1 << 30);
        fork.space()
            .map(a, 1, Backing::Bytes(&[0xaa]), Protection::READ)
            .unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, a), Ok(0xaa));
        rebuilt += u32::from(fork.reset().unwrap().rebuilt);
        fork.check().unwrap();
        fork.space()
            .map(b, 1, Backing::Bytes(&[0xbb]), Protection::READ)
            .unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, b), Ok(0xbb));
        assert!(
            read_at(&mut fork, &mut alarm, a).is_err(),
            "round {round}: {a:#x} shows another range"
        );
        rebuilt += u32::from(fork.reset().unwrap().rebuilt);
        fork.check().unwrap();
    }
    assert!(rebuilt >= 2, "the slots must have been rebuilt, {rebuilt}");
}

#[test]
fn working_set_shrinks_after_a_memory_hog() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let mut alarm = alarm(20_000);
    for hog in 0..3 {
        fork.space()
            .map(
                0x6000_0000,
                5000,
                Backing::Bytes(&vec![1; 5000 * 4096]),
                Protection::READ_WRITE,
            )
            .unwrap();
        assert!(fork.reset().unwrap().trimmed, "hog {hog}");
        fork.check().unwrap();
        for _ in 0..3 {
            assert_eq!(fork.run(&mut alarm).unwrap(), Exit::Syscall);
            assert_eq!(fork.registers().rax, 1);
            assert!(fork.reset().unwrap().pages < 32);
        }
        fork.check().unwrap();
    }
}

#[test]
fn a_large_working_set_that_stays_is_accepted() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let mut trims = 0;
    for _ in 0..20 {
        fork.space()
            .map(
                0x6000_0000,
                2000,
                Backing::Bytes(&vec![1; 2000 * 4096]),
                Protection::READ_WRITE,
            )
            .unwrap();
        trims += u32::from(fork.reset().unwrap().trimmed);
    }
    assert!((1..=4).contains(&trims), "{trims}");
    fork.check().unwrap();
}

#[test]
fn memory_over_the_limit_is_refused_and_the_next_request_runs() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &COUNTER));
    let e = fork
        .space()
        .map(0x6000_0000, 100_000, Backing::Zero, Protection::READ_WRITE)
        .unwrap_err();
    assert_eq!(e.survival(), Survival::Reset);
    fork.reset().unwrap();
    fork.check().unwrap();
    assert_eq!(fork.run(&mut alarm(5000)).unwrap(), Exit::Syscall);
    assert_eq!(fork.registers().rax, 1);
}

#[test]
fn memory_beyond_the_first_slots_can_be_used() {
    let Some(host) = host() else { return };
    let mut vm = Vm::new(&host, 256 << 20).unwrap();
    vm.space()
        .map(CODE, 1, Backing::Bytes(&READER), Protection::READ_EXECUTE)
        .unwrap();
    let mut alarm = alarm(20_000);
    let (first, pages) = (0x6000_0000u64, 20_000u64);
    vm.space()
        .map(first, pages, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    vm.space().write(first + (pages - 1) * PAGE, &[9]).unwrap();
    assert_eq!(read_at(&mut vm, &mut alarm, first + (pages - 1) * PAGE), Ok(9));
    let mut fork = Arc::new(vm.snapshot(256 << 20).unwrap()).fork().unwrap();
    let second = 0x1_0000_0000;
    fork.space()
        .map(
            second,
            pages,
            Backing::Bytes(&vec![3; (pages * PAGE) as usize]),
            Protection::READ_WRITE,
        )
        .unwrap();
    assert_eq!(
        read_at(&mut fork, &mut alarm, second + (pages - 1) * PAGE),
        Ok(0x0303_0303_0303_0303)
    );
    fork.reset().unwrap();
    fork.check().unwrap();
    assert_eq!(read_at(&mut fork, &mut alarm, first + (pages - 1) * PAGE), Ok(9));
}

#[test]
fn file_pages_run_and_are_copied_when_written() {
    let Some(host) = host() else { return };
    let path = std::env::current_exe().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut vm = machine(&host, &READER);
    let file = Arc::new(HostFile::new(std::fs::File::open(&path).unwrap()).unwrap());
    let id = vm.attach(&file).unwrap();
    let at = 0x6000_0000;
    vm.space()
        .map(at, 16, Backing::File(id, 1), Protection::READ)
        .unwrap();
    let mut alarm = alarm(10_000);
    let word = |page: usize| u64::from_le_bytes(bytes[page * 4096..page * 4096 + 8].try_into().unwrap());
    assert_eq!(read_at(&mut vm, &mut alarm, at + 3 * PAGE), Ok(word(4)));
    let (_snapshot, mut fork) = forked(vm);
    for _ in 0..10 {
        assert_eq!(read_at(&mut fork, &mut alarm, at), Ok(word(1)));
        fork.space().make_private(at, Protection::READ_WRITE).unwrap();
        fork.space().write(at, &[0xff; 8]).unwrap();
        assert_eq!(
            read_at(&mut fork, &mut alarm, at),
            Ok(u64::MAX),
            "the file's page must be reached no more"
        );
        assert_eq!(fork.space().page(at), Access::Private);
        fork.reset().unwrap();
        fork.check().unwrap();
        assert_eq!(read_at(&mut fork, &mut alarm, at), Ok(word(1)));
        fork.reset().unwrap();
    }
}

#[test]
fn kick_during_a_request_leaves_a_machine_that_resets() {
    let Some(host) = host() else { return };
    // inc (%rdi); cmp $0,%rsi; je .; syscall
    let code = [
        0x48, 0xff, 0x07, 0x48, 0x83, 0xfe, 0x00, 0x74, 0xfe, 0x48, 0x8b, 0x07, 0x0f, 0x05,
    ];
    let (_snapshot, mut fork) = forked(machine(&host, &code));
    for _ in 0..20 {
        assert_eq!(fork.run(&mut alarm(2)).unwrap(), Exit::Kicked);
        fork.reset().unwrap();
        fork.check().unwrap();
        let regs = Registers {
            rsi: 1,
            ..*fork.registers()
        };
        fork.set_registers(&regs);
        assert_eq!(fork.run(&mut alarm(2000)).unwrap(), Exit::Syscall);
        assert_eq!(fork.registers().rax, 1);
        fork.reset().unwrap();
    }
}

#[test]
fn a_program_at_the_edge_of_user_space_stays_inside() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &SYSCALL);
    let last = mayfly_vmm::USER_END - PAGE;
    vm.space()
        .map(last, 1, Backing::Bytes(&[0x90; 4096]), Protection::READ_EXECUTE)
        .unwrap();
    let regs = Registers {
        rip: last + PAGE - 8,
        rsp: 0x6800,
        ..*vm.registers()
    };
    vm.set_registers(&regs);
    let exit = vm.run(&mut alarm(2000)).unwrap();
    assert!(
        matches!(exit, Exit::Exception(Exception { vector: 14, .. })),
        "{exit:?}"
    );
    let regs = Registers {
        rip: 0x8000_0000_0000,
        ..*vm.registers()
    };
    vm.set_registers(&regs);
    assert!(matches!(
        vm.run(&mut alarm(2000)),
        Err(Error::BadInstructionPointer { .. })
    ));
}
