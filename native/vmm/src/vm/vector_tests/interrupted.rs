//! Every way in which the stub may not come to its end, and programs that jump into it.

use super::*;

/// The alarm has rung before the entry, or rings while the stub's own jump leads to itself.
#[test]
fn a_kick_in_the_stub_leaves_all_to_be_done_again() {
    let Some(host) = host() else { return };
    let (snapshot, mut vm) = fork(&host, &ASK, &Numbers(2).image(&host));
    if !by_stub(&snapshot) {
        return;
    }
    let want = snapshot.state().xsave.clone();
    let mut alarm = Alarm::new().unwrap();
    for round in 0..12 {
        vm.set_xsave(&Numbers(3).image(&host)).unwrap();
        vm.reset().unwrap();
        let endless = round % 2 == 0;
        if endless {
            vm.set_registers(&Registers {
                rip: STUBS_JUMP,
                ..distinct()
            });
        }
        let entered = *vm.registers();
        let within = if endless { 2_000_000 } else { 0 };
        alarm.set(Some(sys::monotonic_ns() + within)).unwrap();
        while !endless && !alarm.is_due() {}
        let exit = vm.run(&mut alarm).unwrap();
        if endless {
            assert_eq!(exit, Exit::Kicked);
        } else if exit != Exit::Kicked {
            assert_eq!(exit, Exit::Syscall); // the signal took its time
            continue;
        }
        assert!(vm.vcpu.vectors_are_due());
        assert_eq!(*vm.registers(), entered);
        let mut told = Vec::new();
        vm.xsave(&mut told).unwrap();
        assert!(same(&told, &want), "not what the request before left");
        if round % 3 == 0 {
            vm.reset().unwrap();
            vm.check().unwrap();
        }
        // It goes on from there as if nothing had been.
        vm.set_registers(&distinct());
        assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
        assert_eq!(
            (vm.registers().rax, vm.registers().rdx),
            (distinct().rax, distinct().rdx)
        );
        assert!(same(&of_kvm(&mut vm), &want));
    }
}

#[test]
fn an_image_that_the_stub_cannot_load_is_loaded_by_kvm() {
    let Some(host) = host() else { return };
    let image = Numbers(4).image(&host);
    for flush in [false, true] {
        let (snapshot, mut vm) = fork(&host, &ASK, &image);
        if !by_stub(&snapshot) {
            return;
        }
        let want = snapshot.state().xsave.clone();
        vm.set_xsave(&Numbers(5).image(&host)).unwrap();
        vm.reset().unwrap();
        // A reserved byte of the header: `xrstor` raises a general protection fault.
        vm.space.memory_mut().write(VECTOR_DATA, 540, &[1]).unwrap();
        if flush {
            vm.space().unmap(DATA, 1).unwrap();
        }
        assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
        assert_eq!(vm.registers().rdx, distinct().rdx);
        assert!(same(&of_kvm(&mut vm), &want));
        assert!(!vm.flush_pending);
        // Its page is the fork's own and is copied back.
        vm.reset().unwrap();
        vm.check().unwrap();
    }
}

#[test]
fn a_step_that_the_program_asked_for_meets_the_program_and_not_the_stub() {
    let Some(host) = host() else { return };
    let image = Numbers(6).image(&host);
    let (snapshot, mut vm) = fork(&host, &[0x90, 0x90, 0x0f, 0x05], &image);
    let want = snapshot.state().xsave.clone();
    // Once without: where the step's instruction has to be fetched by an EPT violation, Bochs tells of a step before it.
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    vm.set_xsave(&Numbers(7).image(&host)).unwrap();
    vm.reset().unwrap();
    vm.set_registers(&Registers {
        rflags: 0x302,
        ..distinct()
    });
    let Exit::Exception(Exception { vector: 1, .. }) = run(&mut vm).unwrap() else {
        panic!("no step")
    };
    assert_eq!(
        (vm.registers().rip, vm.registers().rax),
        (USER_START + 1, distinct().rax)
    );
    assert!(same(&of_kvm(&mut vm), &want));
}

/// It gets its own beginning again, or what any program gets that jumps where nothing is: a fault, and a clean machine after it.
#[test]
fn a_program_that_jumps_into_the_stub_gains_nothing() {
    let Some(host) = host() else { return };
    // incq (%rdi); cmpq $3,(%rdi); jae 1f; jmp *%rsi; 1: syscall
    let again = [
        0x48, 0xff, 0x07, 0x48, 0x83, 0x3f, 0x03, 0x73, 0x02, 0xff, 0xe6, 0x0f, 0x05,
    ];
    let image = Numbers(9).image(&host);
    let (snapshot, mut vm) = fork(&host, &again, &image);
    if !by_stub(&snapshot) {
        return;
    }
    let count = |vm: &Vm| {
        let mut word = [0; 8];
        vm.space.read(DATA + PAGE, &mut word).unwrap();
        u64::from_le_bytes(word)
    };
    for target in [
        VECTOR_STUB,
        STUBS_XRSTOR,
        STUBS_LOAD,
        STUBS_SECOND_LOAD,
        STUBS_JUMP,
    ] {
        vm.set_registers(&Registers {
            rsi: target,
            ..distinct()
        });
        assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
        assert_eq!(
            (count(&vm), vm.registers().rsi, vm.registers().rip),
            (3, target, USER_START + 13)
        );
        vm.reset().unwrap();
        vm.check().unwrap();
    }
    // With the trap flag (pushfq; orl $0x100,(%rsp); popfq; jmp *%rsi): begun again once, told the second time.
    let trap = [
        0x48, 0xff, 0x07, 0x9c, 0x81, 0x0c, 0x24, 0, 1, 0, 0, 0x9d, 0xff, 0xe6,
    ];
    let (_, mut vm) = fork(&host, &trap, &image);
    for (target, told) in [
        (VECTOR_STUB, 2),
        (STUBS_LOAD, 2),
        (STUBS_JUMP, 2),
        (VECTOR_LANDING + 2, 1),
    ] {
        vm.set_registers(&Registers {
            rsi: target,
            ..distinct()
        });
        let exit = run(&mut vm).unwrap();
        assert!(
            matches!(exit, Exit::Exception(Exception { vector: 1, .. })),
            "{exit:?}"
        );
        assert_eq!((count(&vm), vm.registers().rip), (told, target));
        vm.reset().unwrap();
        vm.check().unwrap();
    }
    // The check's system call, and what is behind it.
    let (_, mut vm) = fork(&host, &[0xff, 0xe6], &image);
    vm.set_registers(&Registers {
        rsi: VECTOR_LANDING,
        ..distinct()
    });
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    assert_eq!(vm.registers().rip, VECTOR_LANDING + 2);
    assert!(matches!(
        run(&mut vm).unwrap(),
        Exit::Exception(Exception { vector: 6, .. })
    ));
    // What the stub loads is no code.
    for target in [VECTOR_DATA, VECTOR_DATA + VECTOR_SLOTS] {
        vm.reset().unwrap();
        vm.set_registers(&Registers {
            rsi: target,
            ..distinct()
        });
        assert!(matches!(run(&mut vm).unwrap(), Exit::Exception(_)), "{target:#x}");
    }
    vm.reset().unwrap();
    vm.check().unwrap();
}

/// Bit 22: with it a program could deny itself to read the image.
#[test]
fn protection_keys_are_off_wherever_the_stub_loads() {
    let Some(host) = host() else { return };
    let (snapshot, mut vm) = fork(&host, &ASK, &Numbers(11).image(&host));
    if !by_stub(&snapshot) {
        return;
    }
    // xor %ecx,%ecx; rdpkru; syscall
    let (_, mut keys) = fork(
        &host,
        &[0x31, 0xc9, 0x0f, 0x01, 0xee, 0x0f, 0x05],
        &Numbers(11).image(&host),
    );
    for vm in [&mut vm, &mut keys] {
        assert_eq!(vm.vcpu.cr4() >> 22 & 1, 0);
    }
    assert!(matches!(
        run(&mut keys).unwrap(),
        Exit::Exception(Exception { vector: 6, .. })
    ));
}
