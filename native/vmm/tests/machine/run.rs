//! Entering and leaving ring 3.

use crate::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn system_calls_go_out_and_come_back() {
    let Some(host) = host() else { return };
    // mov $7,%eax; syscall; inc %rax; syscall
    let mut vm = machine(
        &host,
        &[0xb8, 7, 0, 0, 0, 0x0f, 0x05, 0x48, 0xff, 0xc0, 0x0f, 0x05],
    );
    let mut alarm = patient();
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
    let mut alarm = patient();
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
    let cases: [(&[u8], u8); 8] = [
        (&[0xcc], 3),                   // int3
        (&[0xcd, 0x03], 3),             // int $3
        (&[0x0f, 0x0b], 6),             // ud2
        (&[0x31, 0xc9, 0xf7, 0xf1], 0), // xor %ecx,%ecx; div %ecx
        (&[0xf4], 13),                  // hlt
        (&[0x0f, 0x22, 0xd8], 13),      // mov %rax,%cr3
        (&[0xe6, 0x8e], 13),            // out %al,$0x8e: a forged page fault
        (&[0xe6, 0x00], 13),            // out %al,$0: a forged system call
    ];
    for (code, vector) in cases {
        let mut vm = machine(&host, &[code, &SPIN].concat());
        let mut regs = *vm.registers();
        regs.rsp = STACK - 64;
        vm.set_registers(&regs);
        match vm.run(&mut patient()).unwrap() {
            Exit::Exception(e) => assert_eq!(e.vector, vector, "{code:x?}: {e:x?}"),
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
            let exit = vm.run(&mut patient()).unwrap();
            // The system-call stub, the vector stub, and what that loads.
            let of_ring_3 = host.flavour().entry == Entry::Ring3 && page == 8 || [10, 11].contains(&page);
            let stub_read = of_ring_3 && code[0] == 0x8a;
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
    let mut code = [0u8; 0x102];
    code[..2].copy_from_slice(&SYSCALL);
    code[0x100..].copy_from_slice(&[0x88, 0x00]); // mov %al,(%rax)
    let mut vm = machine(&host, &code);
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
    let mut alarm = patient();
    assert_eq!(vm.run(&mut alarm).unwrap(), Exit::Syscall);
    // Now the vCPU rests in a stub where `syscall` arrives in ring 0: RCX and R11 must survive the way back.
    vm.set_registers(&want);
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
        assert!(vm.registers().rax >= last);
        last = vm.registers().rax;
    }
    assert!(last > 0);
}

#[test]
fn kick_between_system_calls_loses_none() {
    let Some(host) = host() else { return };
    // 1: inc %rbx; syscall; jmp 1b
    let mut vm = machine(&host, &[0x48, 0xff, 0xc3, 0x0f, 0x05, 0xeb, 0xf9]);
    let (mut calls, mut kicks) = (0u64, 0u64);
    let mut alarm = Alarm::new().unwrap();
    // No speed of the host is assumed: the alarm comes later until calls get through.
    let (mut after, end) = (37_000, monotonic_ns() + 180 * SECOND);
    while (calls < 300 || kicks < 10) && monotonic_ns() < end {
        alarm.set(Some(monotonic_ns() + after)).unwrap();
        match vm.run(&mut alarm).unwrap() {
            Exit::Syscall => {
                calls += 1;
                assert_eq!((vm.registers().rbx, vm.registers().rip), (calls, CODE + 5));
            }
            Exit::Kicked => {
                kicks += 1;
                after += if kicks > 4 * calls { after / 8 } else { 0 };
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(calls >= 300 && kicks >= 10, "{calls} calls, {kicks} kicks");
}

#[test]
fn kick_between_traps_loses_none() {
    let Some(host) = host() else { return };
    // 1: inc %rbx; int3; jmp 1b. Unlike a fault, the trap comes behind its instruction, which does not raise it again.
    let mut vm = machine(&host, &[0x48, 0xff, 0xc3, 0xcc, 0xeb, 0xfa]);
    let (mut traps, mut kicks) = (0u64, 0u64);
    let mut alarm = Alarm::new().unwrap();
    let (mut after, end) = (37_000, monotonic_ns() + 180 * SECOND);
    let mut due = 0;
    while (traps < 400 || kicks < 400) && monotonic_ns() < end {
        // One kick a deadline, at another point of the way each time.
        if due == 0 {
            due = monotonic_ns() + after + (traps + kicks) % 64 * 500;
            alarm.set(Some(due)).unwrap();
        }
        assert!(monotonic_ns() < due + 10 * SECOND, "lost the kick after {kicks}");
        match vm.run(&mut alarm).unwrap() {
            Exit::Exception(e) => {
                traps += 1;
                let want = Exception {
                    vector: 3,
                    error: 0,
                    address: 0,
                };
                assert_eq!(
                    (e, vm.registers().rbx, vm.registers().rip),
                    (want, traps, CODE + 4)
                );
            }
            Exit::Kicked => {
                (kicks, due) = (kicks + 1, 0);
                after += if kicks > 4 * traps { after / 8 } else { 0 };
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(traps >= 400 && kicks >= 400, "{traps} traps, {kicks} kicks");
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
    let exit = vm.run(&mut patient()).unwrap();
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
        vm.run(&mut patient()),
        Err(Error::BadInstructionPointer { .. })
    ));
}

#[test]
fn kick_between_page_faults_loses_none() {
    let Some(host) = host() else { return };
    // 1: mov (%rdi),%al; add $4096,%rdi; jmp 1b
    let mut vm = machine(
        &host,
        &[0x8a, 0x07, 0x48, 0x81, 0xc7, 0x00, 0x10, 0x00, 0x00, 0xeb, 0xf5],
    );
    let (start, pages) = (0x6000_0000, 500);
    let (mut faults, mut kicks, mut next) = (0u64, 0u64, start);
    vm.set_registers(&Registers {
        rdi: start,
        ..*vm.registers()
    });
    let mut alarm = Alarm::new().unwrap();
    let (mut after, end) = (41_000, monotonic_ns() + 180 * SECOND);
    while (faults < 1200 || kicks < 10) && monotonic_ns() < end {
        alarm.set(Some(monotonic_ns() + after)).unwrap();
        match vm.run(&mut alarm).unwrap() {
            Exit::Exception(e) => {
                faults += 1;
                let want = Exception {
                    vector: 14,
                    error: 4,
                    address: next,
                };
                assert_eq!((e, vm.registers().rip, vm.registers().rdi), (want, CODE, next));
                if next == start + pages * PAGE {
                    vm.space().unmap(start, pages).unwrap();
                    vm.set_registers(&Registers {
                        rdi: start,
                        ..*vm.registers()
                    });
                    next = start;
                } else {
                    vm.space().map(next, 1, Backing::Zero, Protection::READ).unwrap();
                    next += PAGE;
                }
            }
            Exit::Kicked => {
                kicks += 1;
                after += if kicks > 4 * faults { after / 8 } else { 0 };
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(faults >= 1200 && kicks >= 10, "{faults} faults, {kicks} kicks");
}

#[test]
fn segment_selectors_of_the_program_do_not_stay_in_the_thread() {
    let Some(host) = host() else { return };
    let selectors = || {
        let mut all = [0_u16; 4];
        // SAFETY: stores of four registers into an array of four words.
        unsafe {
            std::arch::asm!(
                "mov [{0}], ds", "mov [{0} + 2], es", "mov [{0} + 4], fs", "mov [{0} + 6], gs",
                in(reg) all.as_mut_ptr(),
            );
        }
        all
    };
    let before = selectors();
    // mov $0x2b,%eax; mov %eax,%ds; %es; %fs; %gs; syscall
    let code = [
        0xb8, 0x2b, 0, 0, 0, 0x8e, 0xd8, 0x8e, 0xc0, 0x8e, 0xe0, 0x8e, 0xe8, 0x0f, 0x05,
    ];
    let mut vm = machine(&host, &code);
    assert_eq!(vm.run(&mut patient()).unwrap(), Exit::Syscall);
    assert_eq!(selectors(), before);
}
