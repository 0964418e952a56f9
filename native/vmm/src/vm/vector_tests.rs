//! The vector stub: what it loads, what it leaves alone, and every way in which it may not come to its end.

mod interrupted;
mod loading;

use std::sync::Arc;

use super::tests::{DATA, host, machine, run};
use super::*;
use crate::layout::{USER_START, VECTOR_DATA, VECTOR_SLOTS, VECTOR_STUB};
use crate::pte::Protection;
use crate::space::Backing;
use crate::step::ResetStep;
use crate::stubs::VECTOR_LANDING;
use crate::vcpu::Exception;

/// `syscall; jmp` back to it.
const ASK: [u8; 4] = [0x0f, 0x05, 0xeb, 0xfc];
/// The stub's last four instructions: `xrstor`, two loads and the jump.
const STUBS_XRSTOR: u64 = VECTOR_LANDING - 28;
const STUBS_LOAD: u64 = VECTOR_LANDING - 20;
const STUBS_SECOND_LOAD: u64 = VECTOR_LANDING - 13;
const STUBS_JUMP: u64 = VECTOR_LANDING - 6;
const LEGACY: usize = 160;
const COMPONENTS: std::ops::Range<usize> = 512..520;

/// A sequence of numbers that is the same in every run (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        for (left, by) in [(false, 12), (true, 25), (false, 27)] {
            self.0 ^= if left { self.0 << by } else { self.0 >> by };
        }
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A vector state that a program may have: any components, any control words, exceptions pending and unmasked.
    fn image(&mut self, host: &Host) -> XsaveArea {
        let mut image = vec![0; host.xsave_length()];
        for at in (0..LEGACY + 256).chain(576..image.len()) {
            image[at] = self.next() as u8;
        }
        image[4] = self.next() as u8; // which x87 registers are in use
        image[5] = 0;
        for register in 0..8 {
            image[32 + 16 * register + 10..32 + 16 * register + 16].fill(0);
        }
        // The kernel's form of 64-bit programs has no segments of the last x87 instruction; the CPU may not keep the opcode.
        image[6..24].fill(0);
        // FCW: reserved bits; FSW: ES and B say that an exception is pending and not masked.
        let control = self.next() as u16 & 0x0c3f | 0x340;
        let status = self.next() as u16 & 0x7f7f;
        let pending = status & !control & 0x3f != 0;
        image[0..2].copy_from_slice(&control.to_le_bytes());
        image[2..4].copy_from_slice(&(status | if pending { 0x8080 } else { 0 }).to_le_bytes());
        image[24..28].copy_from_slice(&(self.next() as u32 & 0xffbf).to_le_bytes());
        image[28..32].copy_from_slice(&0xffff_u32.to_le_bytes());
        let components = self.next() & host.xcr0() | 3;
        // AVX-512's three parts are used together.
        let components = if components & 0xe0 != 0xe0 {
            components & !0xe0
        } else {
            components
        };
        image[COMPONENTS].copy_from_slice(&components.to_le_bytes());
        image
    }
}

/// The image as this CPU gives it back: with its mask of MXCSR's bits.
fn by_cpu(host: &Arc<Host>, image: &[u8]) -> XsaveArea {
    let mut vm = machine(host, &ASK);
    vm.set_xsave(image).unwrap();
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    of_kvm(&mut vm)
}

/// What KVM holds of the vector registers.
fn of_kvm(vm: &mut Vm) -> XsaveArea {
    let parts = vm.register_parts().unwrap();
    parts
        .into_iter()
        .find(|(name, _)| *name == "vector registers")
        .unwrap()
        .1
}

fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (0..a.len()).all(|i| COMPONENTS.contains(&i) || a[i] == b[i])
}

/// A fork of a machine with these vector registers and a value of its own in each integer register.
fn fork(host: &Arc<Host>, code: &[u8], image: &[u8]) -> (Arc<Snapshot>, Vm) {
    let mut vm = machine(host, code);
    vm.space()
        .map(DATA + PAGE, 1, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    vm.set_registers(&distinct());
    vm.set_xsave(&by_cpu(host, image)).unwrap();
    let snapshot = Arc::new(vm.snapshot(1 << 20).unwrap());
    let fork = snapshot.fork().unwrap();
    (snapshot, fork)
}

fn distinct() -> Registers {
    Registers {
        rax: 0x1_0000_0001,
        rbx: 2 << 33,
        rcx: 3 << 34,
        rdx: u64::MAX - 4,
        rsi: 5,
        rdi: DATA + PAGE,
        rsp: DATA + 2 * PAGE - 64,
        rbp: 7 << 40,
        r8: 8,
        r9: 9,
        r10: 10,
        r11: 11,
        r12: 12,
        r13: 13,
        r14: 14,
        r15: 15,
        rip: USER_START,
        rflags: 0xad7, // CF PF AF ZF SF OF, interrupts
    }
}

/// Whether this host lets the stub load anything; said aloud if not.
fn by_stub(snapshot: &Snapshot) -> bool {
    let yes = snapshot.vectors.is_by_stub();
    if !yes {
        eprintln!("SKIPPED: protection keys keep the vector registers to KVM_SET_XSAVE");
    }
    yes
}
