//! Rights by protection keys: a register that ring 3 may write, where CR4.PKE is open to it.

use std::arch::x86_64::__cpuid_count;

use crate::*;

/// `xor %ecx,%ecx; rdpkru; syscall`
const READ: [u8; 7] = [0x31, 0xc9, 0x0f, 0x01, 0xee, 0x0f, 0x05];

/// `xor %ecx,%ecx; xor %edx,%edx; mov $0x55555554,%eax; wrpkru`: no rights by the keys 1 to 15.
const WRITE: [u8; 12] = [
    0x31, 0xc9, 0x31, 0xd2, 0xb8, 0x54, 0x55, 0x55, 0x55, 0x0f, 0x01, 0xef,
];
const WRITTEN: u64 = 0x5555_5554;
const UNDEFINED: u8 = 6;

/// The register, or the vector of the exception.
fn run_from(vm: &mut Vm, rip: u64) -> Result<u64, u8> {
    let regs = Registers {
        rip,
        ..*vm.registers()
    };
    vm.set_registers(&regs);
    match vm.run(&mut patient()).unwrap() {
        Exit::Syscall => Ok(vm.registers().rax),
        Exit::Exception(e) => Err(e.vector),
        Exit::Kicked => panic!("it hangs"),
    }
}

/// This thread's own; `None` where the host has protection keys off.
fn of_this_thread() -> Option<u32> {
    // CPUID.7: OSPKE.
    if __cpuid_count(7, 0).ecx & 1 << 4 == 0 {
        return None;
    }
    let value: u32;
    // SAFETY: reads a register that the host kernel opened.
    unsafe { std::arch::asm!("rdpkru", in("ecx") 0, out("eax") value, out("edx") _) };
    Some(value)
}

#[test]
fn protection_keys_are_closed_or_put_back_and_never_the_hosts() {
    let Some(host) = host() else { return };
    let (_snapshot, mut fork) = forked(machine(&host, &[&WRITE[..], &READ].concat()));
    let before = of_this_thread();
    let read = CODE + WRITE.len() as u64;
    let clean = run_from(&mut fork, read);
    if host.flavour().entry == Entry::Ring0 {
        assert_eq!(clean, Err(UNDEFINED), "CR4.PKE is ours and off");
    }
    fork.reset().unwrap();
    for round in 0..3 {
        let wrote = run_from(&mut fork, CODE);
        assert_eq!(of_this_thread(), before, "the host's own, round {round}");
        let want = if clean.is_ok() {
            Ok(WRITTEN)
        } else {
            Err(UNDEFINED)
        };
        assert_eq!(wrote, want, "round {round}");
        fork.reset().unwrap();
        fork.check().unwrap();
        assert_eq!(run_from(&mut fork, read), clean, "after the reset, round {round}");
        fork.reset().unwrap();
    }
}
