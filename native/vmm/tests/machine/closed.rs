//! Ways into ring 0, or to its tables, other than `syscall`: all of them are exceptions.

use crate::*;

/// Runs code whose RSP leads to `stack`; the exception's vector, or RAX at a system call.
fn run(host: &Arc<Host>, code: &[u8], stack: &[u8]) -> Result<u8, u64> {
    let mut vm = machine(host, &[code, &SYSCALL].concat());
    let regs = Registers {
        rsp: STACK - 64,
        ..*vm.registers()
    };
    vm.set_registers(&regs);
    vm.space().write(STACK - 64, stack).unwrap();
    let exit = vm.run(&mut patient()).unwrap();
    let mut text = vec![0; code.len()];
    vm.space().read(CODE, &mut text).unwrap();
    assert_eq!(text, code, "the text stays as it is");
    match exit {
        Exit::Exception(e) => Ok(e.vector),
        Exit::Syscall => Err(vm.registers().rax),
        Exit::Kicked => panic!("{code:x?} hangs"),
    }
}

#[test]
fn old_gates_are_closed() {
    let Some(host) = host() else { return };
    for code in [
        &[0xcd, 0x80][..],   // int $0x80
        &[0x0f, 0x34],       // sysenter
        &[0xcd, 0x0e],       // int $14: a forged page fault
        &[0x48, 0x0f, 0x07], // sysretq
    ] {
        let got = run(&host, code, &[]);
        assert!(matches!(got, Ok(6 | 13)), "{code:x?}: {got:?}");
    }
}

/// `syscall` in 32-bit code would arrive at CSTAR with half a stack pointer.
#[test]
fn there_is_no_32_bit_code_and_no_way_to_the_kernels() {
    let Some(host) = host() else { return };
    for selector in [0x1b, 0x18, 0x08, 0x0b, 0x23u16] {
        let far = [&(CODE as u32).to_le_bytes()[..], &selector.to_le_bytes()].concat();
        let got = run(&host, &[0xff, 0x2c, 0x24], &far); // ljmp *(%rsp)
        assert!(matches!(got, Ok(6 | 13)), "selector {selector:#x}: {got:x?}");
    }
}

/// KVM would patch the other vendor's instruction in the program's text; its own it refuses to ring 3.
#[test]
fn hypercalls_fault_or_are_refused_and_patch_nothing() {
    let Some(host) = host() else { return };
    for code in [&[0x0f, 0x01, 0xc1][..], &[0x0f, 0x01, 0xd9]] {
        let got = run(&host, code, &[]);
        assert!(
            matches!(got, Ok(6 | 13)) || got.is_err_and(|rax| rax as i64 == -1),
            "{code:x?}: {got:x?}"
        );
    }
}
