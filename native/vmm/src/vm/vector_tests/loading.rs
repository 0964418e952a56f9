//! What the stub loads and what it leaves alone.

use super::*;

#[test]
fn the_stub_loads_what_kvm_would_over_whatever_was_left() {
    let Some(host) = host() else { return };
    let mut numbers = Numbers(0x5eed);
    for round in 0..24 {
        let (snapshot, mut vm) = fork(&host, &ASK, &numbers.image(&host));
        if !by_stub(&snapshot) {
            return;
        }
        // The oracle: the same image by the ioctl, and the same program.
        let want = by_cpu(&host, &snapshot.state().xsave);
        for _ in 0..6 {
            vm.set_xsave(&numbers.image(&host)).unwrap();
            let left = of_kvm(&mut vm);
            assert!(!same(&left, &want), "round {round}: nothing to restore");
            vm.reset().unwrap();
            assert!(vm.vcpu.vectors_are_due());
            assert!(same(&of_kvm(&mut vm), &left), "KVM holds those of before");
            assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
            assert!(!vm.vcpu.vectors_are_due());
            let now = of_kvm(&mut vm);
            assert!(
                same(&now, &want),
                "round {round}: {:?}",
                (0..now.len()).find(|i| now[*i] != want[*i])
            );
            let mut told = Vec::new();
            vm.xsave(&mut told).unwrap();
            assert!(same(&told, &want));
        }
    }
}

/// What it loads are the bytes of its page.
#[test]
fn the_stub_and_nothing_else_loads_them() {
    let Some(host) = host() else { return };
    let (snapshot, mut vm) = fork(&host, &ASK, &Numbers(12).image(&host));
    if !by_stub(&snapshot) {
        return;
    }
    const LAST_OF_XMM15: usize = 415;
    vm.space
        .memory_mut()
        .write(VECTOR_DATA, LAST_OF_XMM15 as u64, &[0x5a])
        .unwrap();
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    let mut want = snapshot.state().xsave.clone();
    want[LAST_OF_XMM15] = 0x5a;
    assert!(same(&of_kvm(&mut vm), &want));
}

#[test]
fn the_stub_leaves_every_other_register_as_it_was() {
    let Some(host) = host() else { return };
    let image = Numbers(1).image(&host);
    for wild in [
        None,
        Some(0),
        Some(VECTOR_DATA),
        Some(1 << 47),
        Some(1 << 63),
        Some(u64::MAX),
    ] {
        let (_, mut vm) = fork(&host, &ASK, &image);
        let mut registers = distinct();
        if let Some(wild) = wild {
            (registers.rsp, registers.rax, registers.rdx) = (wild, wild, wild);
        }
        for _ in 0..3 {
            vm.set_registers(&registers);
            assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
            let want = Registers {
                rip: USER_START + 2,
                rcx: USER_START + 2,
                r11: vm.registers().r11,
                ..registers
            };
            assert_eq!(*vm.registers(), want, "{wild:x?}");
            assert_eq!((vm.registers().rflags, vm.bases().unwrap()), (0xad7, (0, 0)));
            vm.reset().unwrap();
            vm.check().unwrap();
        }
    }
}

#[test]
fn registers_that_the_owner_sets_while_others_are_due_stay() {
    let Some(host) = host() else { return };
    let mut numbers = Numbers(8);
    let (snapshot, mut vm) = fork(&host, &ASK, &numbers.image(&host));
    let want = snapshot.state().xsave.clone();
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    vm.reset().unwrap();
    // A switch to another thread and back, as the kernel makes it.
    let (mut first, mut second) = (Vec::new(), Vec::new());
    vm.xsave(&mut first).unwrap();
    assert!(same(&first, &want));
    vm.set_xsave(&by_cpu(&host, &numbers.image(&host))).unwrap();
    vm.xsave(&mut second).unwrap();
    assert!(!same(&first, &second));
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    assert!(same(&of_kvm(&mut vm), &second));
    vm.set_xsave(&first).unwrap();
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    assert!(same(&of_kvm(&mut vm), &want));
    // What KVM refuses changes nothing.
    vm.reset().unwrap();
    let due = vm.vcpu.vectors_are_due();
    let mut refused = first.clone();
    refused[24..28].fill(0xff);
    assert!(vm.set_xsave(&refused).is_err());
    assert_eq!(vm.vcpu.vectors_are_due(), due);
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    assert!(same(&of_kvm(&mut vm), &want));
}

#[test]
fn a_reset_without_the_vector_registers_or_with_another_image_does_not_pass() {
    let Some(host) = host() else { return };
    let mut numbers = Numbers(10);
    let (snapshot, mut vm) = fork(&host, &ASK, &numbers.image(&host));
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    vm.set_xsave(&numbers.image(&host)).unwrap();
    vm.reset_but(Some(ResetStep::Vectors)).unwrap();
    let Err(Error::Impure { what }) = vm.check() else {
        panic!("a reset without its vector registers passed")
    };
    assert!(what.contains("vector registers"), "{what}");
    vm.reset().unwrap();
    vm.check().unwrap();
    // Twice in a row, and the request after is as ever.
    vm.check().unwrap();
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    vm.reset().unwrap();
    if !by_stub(&snapshot) {
        return;
    }
    vm.space.memory_mut().write(VECTOR_DATA, 200, &[0x55]).unwrap();
    assert!(vm.check().is_err(), "another image");
    vm.space
        .memory_mut()
        .set_word(VECTOR_DATA, VECTOR_SLOTS as usize / 8, 1);
    assert!(vm.check().is_err(), "a slot");
}

/// What is derived from a snapshot has that one's vector registers until it has its own, in the low memory of its own.
#[test]
fn each_program_of_a_base_loads_its_own() {
    let Some(host) = host() else { return };
    let mut numbers = Numbers(13);
    let (base, mut first) = fork(&host, &ASK, &numbers.image(&host));
    let own = by_cpu(&host, &numbers.image(&host));
    let heir = Arc::new(base.derive(2 << 20).unwrap().snapshot(2 << 20).unwrap());
    let mut other = base.derive(2 << 20).unwrap();
    assert_eq!(run(&mut other).unwrap(), Exit::Syscall);
    assert!(same(&of_kvm(&mut other), &base.state().xsave), "as it began");
    other.set_xsave(&own).unwrap();
    let other = Arc::new(other.snapshot(2 << 20).unwrap());
    let (mut second, mut third) = (heir.fork().unwrap(), other.fork().unwrap());
    for _ in 0..2 {
        for (vm, want) in [
            (&mut first, &base.state().xsave),
            (&mut second, &base.state().xsave),
            (&mut third, &own),
        ] {
            vm.check().unwrap();
            assert_eq!(run(vm).unwrap(), Exit::Syscall);
            assert!(same(&of_kvm(vm), want));
            vm.set_xsave(&by_cpu(&host, &numbers.image(&host))).unwrap();
            vm.reset().unwrap();
        }
    }
}
