//! Ring 3 that pretends to be a stub, and what it cannot change in ring 0.

use crate::*;

/// Runs code with these registers to its first exit.
fn first_exit(host: &Arc<Host>, code: &[u8], change: impl Fn(&mut Registers)) -> (Result<Exit, Error>, Vm) {
    let mut vm = machine(host, &[code, &SPIN].concat());
    let mut registers = *vm.registers();
    registers.rsp = STACK - 64;
    change(&mut registers);
    vm.set_registers(&registers);
    let exit = vm.run(&mut alarm(60_000));
    (exit, vm)
}

fn vector(exit: Result<Exit, Error>) -> u8 {
    match exit {
        Ok(Exit::Exception(e)) => e.vector,
        other => panic!("{other:?}"),
    }
}

/// Address of the system-call stub, and of the stub of page faults.
const SYSCALL_STUB: u64 = 0x8000;
const FAULT_STUB: u64 = 0x9000 + 14 * 16;
/// RSP that the CPU sets in the stub of page faults.
const FAULT_STACK: u64 = 0x7200 - 48;

#[test]
fn a_port_write_of_the_programs_own_is_a_fault_of_its_own() {
    let Some(host) = host() else { return };
    let writes: [&[u8]; 9] = [
        &[0xe6, 0x00],       // out %al,$0
        &[0xe7, 0x00],       // out %eax,$0
        &[0x66, 0xe7, 0x00], // out %ax,$0
        &[0xe6, 0x8e],       // out %al,$0x8e: the port of page faults
        &[0xe6, 0x80],
        &[0xe6, 0x9f],
        &[0xee], // out %al,(%dx)
        &[0xef],
        &[0x66, 0xef],
    ];
    for code in writes {
        for dx in [0, 0x80, 0x8e, 0x9f, 0x3f8, 0xffff] {
            // With the stack pointer of the stub, a return address in RCX and flags in R11 as well.
            for rsp in [STACK - 64, FAULT_STACK] {
                let (exit, vm) = first_exit(&host, code, |r| {
                    (r.rdx, r.rcx, r.r11, r.rsp) = (dx, CODE, 0x3202, rsp);
                });
                assert_eq!(vector(exit), 13, "{code:x?} with dx {dx:#x}, rsp {rsp:#x}");
                assert_eq!((vm.registers().rsp, vm.registers().rflags & 0x3000), (rsp, 0));
                assert!(
                    (CODE..CODE + 4).contains(&vm.registers().rip),
                    "{:#x}",
                    vm.registers().rip
                );
            }
        }
    }
}

#[test]
fn a_jump_into_a_stub_is_a_call_or_a_fault() {
    let Some(host) = host() else { return };
    let jump = [0xff, 0xe7]; // jmp *%rdi
    for rsp in [STACK - 64, FAULT_STACK, 0, 1 << 63, u64::MAX - 7] {
        // The stub of page faults, its second instruction, the ways back, and the middle of an instruction: the supervisor's.
        for target in [
            FAULT_STUB,
            FAULT_STUB + 2,
            0x9800,
            0x9810,
            0x9818,
            0x9001,
            0x7000,
            0x5000,
            0x1000,
        ] {
            let (exit, vm) = first_exit(&host, &jump, |r| (r.rdi, r.rsp) = (target, rsp));
            let Ok(Exit::Exception(e)) = exit else {
                panic!("{target:#x}: {exit:?}")
            };
            assert_eq!((e.vector, e.address), (14, target));
            assert_eq!((vm.registers().rip, vm.registers().rsp), (target, rsp));
        }
    }
    let call = |rcx: u64, at: u64| first_exit(&host, &jump, |r| (r.rdi, r.rcx, r.r11) = (at, rcx, 0x3_3002));
    match host.flavour().entry {
        Entry::Ring0 => {
            let (exit, _) = call(CODE, SYSCALL_STUB);
            assert_eq!(vector(exit), 14);
        }
        Entry::Ring3 => {
            // The stub is a page of ring 3: a jump there is a system call like any other, if it has where to go back to.
            let (exit, vm) = call(CODE + 2, SYSCALL_STUB);
            assert_eq!(exit.unwrap(), Exit::Syscall);
            assert_eq!(
                (vm.registers().rip, vm.registers().rflags & 0x3000),
                (CODE + 2, 0)
            );
            for rcx in [mayfly_vmm::USER_END, 1 << 47, 1 << 63, u64::MAX] {
                let (exit, _) = call(rcx, SYSCALL_STUB);
                assert_eq!(vector(exit), 13, "back to {rcx:#x}");
            }
            // Its second instruction goes where RCX says, and nowhere else.
            let (exit, vm) = call(0x5555_0000, SYSCALL_STUB + 2);
            let Ok(Exit::Exception(e)) = exit else {
                panic!("{exit:?}")
            };
            assert_eq!(
                (e.vector, e.address, vm.registers().rip),
                (14, 0x5555_0000, 0x5555_0000)
            );
        }
    }
}

#[test]
fn stubs_use_no_register_of_the_program() {
    let Some(host) = host() else { return };
    let wild = [0, 8, 0x7000, 0x9000, 1 << 47, 1 << 63, u64::MAX];
    for code in [&SYSCALL[..], &[0x0f, 0x0b]] {
        for value in wild {
            let (exit, mut vm) = first_exit(&host, code, |r| {
                for register in [
                    &mut r.rax, &mut r.rbx, &mut r.rcx, &mut r.rdx, &mut r.rsi, &mut r.rdi, &mut r.rbp,
                    &mut r.rsp, &mut r.r8, &mut r.r9, &mut r.r10, &mut r.r11, &mut r.r12, &mut r.r13,
                    &mut r.r14, &mut r.r15,
                ] {
                    *register = value;
                }
            });
            let syscall = code == SYSCALL;
            match exit.unwrap() {
                Exit::Syscall => assert!(syscall),
                Exit::Exception(e) => assert_eq!((e.vector, syscall), (6, false), "{value:#x}"),
                Exit::Kicked => panic!("kicked"),
            }
            let r = *vm.registers();
            assert_eq!([r.rax, r.rbx, r.rdx, r.rsp, r.rbp, r.r12], [value; 6]);
            // And back: the same exception or call comes again.
            vm.set_registers(&Registers { rip: CODE, ..r });
            vm.run(&mut alarm(60_000)).unwrap();
            assert_eq!(vm.registers().rsp, value);
            vm.space().audit().unwrap();
        }
    }
}

#[test]
fn a_program_is_in_ring_3_after_every_call_whatever_its_stack_pointer_is() {
    let Some(host) = host() else { return };
    // syscall; mov %cr0,%rax; syscall
    let code = [0x0f, 0x05, 0x0f, 0x20, 0xc0, 0x0f, 0x05];
    for rsp in [
        STACK - 64,
        0,
        1,
        0x7fff_ffff_fff8,
        1 << 47,
        1 << 63,
        u64::MAX - 7,
        u64::MAX,
    ] {
        let (exit, mut vm) = first_exit(&host, &code, |r| r.rsp = rsp);
        assert_eq!(exit.unwrap(), Exit::Syscall);
        let exit = vm.run(&mut alarm(60_000)).unwrap();
        assert!(
            matches!(exit, Exit::Exception(Exception { vector: 13, .. })),
            "rsp {rsp:#x}: {exit:?}"
        );
        assert_eq!((vm.registers().rip, vm.registers().rsp), (CODE + 2, rsp));
    }
}

#[test]
fn flags_of_ring_3_never_open_ports_or_stop_interrupts() {
    let Some(host) = host() else { return };
    // push $0x7fd5 and more; popf; out %al,$0x80
    let code = [0x68, 0xd5, 0x7e, 0x03, 0x00, 0x9d, 0xe6, 0x80];
    let (exit, vm) = first_exit(&host, &code, |_| {});
    assert_eq!(vector(exit), 13);
    assert_eq!(vm.registers().rflags & 0x3000, 0, "IOPL");
    // cli, sti, in $0x80, mov %cr0,%rax, wrmsr, hlt, lgdt (%rdi)
    let closed: [&[u8]; 7] = [
        &[0xfa],
        &[0xfb],
        &[0xe4, 0x80],
        &[0x0f, 0x20, 0xc0],
        &[0x0f, 0x30],
        &[0xf4],
        &[0x0f, 0x01, 0x17],
    ];
    for code in closed {
        let (exit, _) = first_exit(&host, code, |_| {});
        assert_eq!(vector(exit), 13, "{code:x?}");
    }
    // A trap flag meets the stub in whichever ring: it comes back as a step or a call, never as a lost machine.
    for rsp in [STACK - 64, 1 << 47] {
        let (exit, vm) = first_exit(&host, &SYSCALL, |r| (r.rflags, r.rsp) = (0x302, rsp));
        match exit.unwrap() {
            Exit::Syscall => {}
            Exit::Exception(e) => assert_eq!(e.vector, 1),
            Exit::Kicked => panic!("kicked"),
        }
        assert_eq!(vm.registers().rflags & 0x3000, 0);
    }
}
