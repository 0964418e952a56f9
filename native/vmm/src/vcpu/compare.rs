//! The strict check of registers after a reset.

use kvm_bindings::kvm_sregs;
use kvm_ioctls::VcpuExit;

use super::setup::{MSR_CSTAR, MSR_LSTAR, MSR_SFMASK, MSR_STAR};
use super::{CpuState, Exit, Registers, Rest, Vcpu, Vectors};
use crate::error::{Error, Result, kvm};
use crate::memory::Memory;
use crate::stubs::{self, VECTOR_LANDING};

impl Vcpu {
    /// Makes KVM take the registers that wait, those that the vector stub is to load among them, without running the program.
    pub fn apply(&mut self, memory: &mut Memory) -> Result<()> {
        if self.vectors == Vectors::Due {
            self.run_stub_alone(memory)?;
        }
        self.settle_registers(memory)
    }

    /// Makes KVM take the registers that wait in the shared page.
    fn settle_registers(&mut self, memory: &mut Memory) -> Result<()> {
        let user = self.user;
        self.prepare_entry(memory, false, &user)?;
        self.fd.get_kvm_run().immediate_exit = 1;
        match self.fd.run() {
            Err(e) if matches!(e.errno(), libc::EINTR | libc::EAGAIN) => Ok(()),
            Err(e) => Err(kvm("load the vCPU")(e)),
            Ok(other) => Err(Error::UnexpectedExit {
                what: format!("while loading: {other:?}"),
            }),
        }
    }

    /// Enters by the vector stub as the next run would, but for the address behind it: a system call of the stub's own page. KVM
    /// then holds what the stub loads, or, where it is refused, what the next run would load in its place. All else is put back.
    fn run_stub_alone(&mut self, memory: &mut Memory) -> Result<()> {
        let (user, (fs, gs)) = (self.user, self.bases()?);
        self.user.rip = VECTOR_LANDING;
        let entered = self.prepare(memory, false)?;
        if entered.by_stub {
            let exit = self.leave_stub(memory)?;
            // A system call takes two registers.
            let (rip, rcx, r11) = (VECTOR_LANDING + 2, VECTOR_LANDING + 2, self.user.r11);
            let want = Registers {
                rip,
                rcx,
                r11,
                ..user
            };
            if entered.is_not_past_stub(self.user.rip) && matches!(exit, Exit::Exception(_)) {
                self.load_image_by_kvm()?;
            } else if exit != Exit::Syscall || self.user != want {
                return Err(Error::Impure {
                    what: format!(
                        "behind the vector stub {exit:?} and registers {:x?}, not {want:x?}",
                        self.user
                    ),
                });
            }
            stubs::set_vector_slots(memory, [0; 3]);
        }
        self.user = user;
        self.set_bases(fs, gs);
        self.rest = Rest::Ring3;
        Ok(())
    }

    /// Runs from the vector stub on to the next exit, without a deadline: a few instructions.
    fn leave_stub(&mut self, memory: &Memory) -> Result<Exit> {
        self.fd.get_kvm_run().immediate_exit = 0;
        loop {
            match self.fd.run() {
                Ok(VcpuExit::IoOut(port, [_])) => return self.left_by(port, memory),
                Ok(other) => {
                    return Err(Error::UnexpectedExit {
                        what: format!("in the vector stub: {other:?}"),
                    });
                }
                Err(e) if matches!(e.errno(), libc::EINTR | libc::EAGAIN) => {}
                Err(e) => return Err(kvm("run the vector stub")(e)),
            }
        }
    }

    /// The reference of a vCPU whose state was just loaded.
    pub fn settled_reference(&mut self, memory: &mut Memory) -> Result<Reference> {
        self.settle_registers(memory)?;
        self.reference()
    }

    /// Compares all that KVM holds with `state` and with the system registers, debug registers and MSRs of `reference`.
    pub fn compare(&mut self, memory: &mut Memory, state: &CpuState, reference: &Reference) -> Result<()> {
        self.apply(memory)?;
        let regs = self.fd.get_regs().map_err(kvm("read registers"))?;
        if regs != state.registers {
            return Err(Error::Impure {
                what: format!("registers are {regs:x?}, not {:x?}", state.registers),
            });
        }
        let mut xsave = Vec::new();
        self.xsave_of_kvm(&mut xsave)?;
        if let Some(at) = differing_byte(&xsave, &state.xsave) {
            return Err(Error::Impure {
                what: format!("byte {at} of the vector registers differs"),
            });
        }
        let now = self.reference()?;
        now.compare(reference)
    }

    /// Registers outside of [`CpuState`] as KVM holds them.
    fn reference(&mut self) -> Result<Reference> {
        let mut sregs = self.fd.get_sregs().map_err(kvm("read system registers"))?;
        sregs.cr2 = 0;
        let debug = self.fd.get_debug_regs().map_err(kvm("read debug registers"))?;
        let xcrs = self.fd.get_xcrs().map_err(kvm("read XCR0"))?;
        let msrs = COMPARED_MSRS
            .iter()
            .filter_map(|index| Some((*index, self.msr(*index)?)))
            .collect();
        Ok(Reference {
            sregs,
            debug: (debug.db, debug.dr7),
            xcr0: xcrs.xcrs[0].value,
            msrs,
        })
    }
}

/// System calls, segment bases, sysenter, PAT, TSC_AUX, XSS, speculation control, misc enable, power of the vector units.
const COMPARED_MSRS: [u32; 16] = [
    MSR_STAR,
    MSR_LSTAR,
    MSR_CSTAR,
    MSR_SFMASK,
    0xc000_0100,
    0xc000_0101,
    0xc000_0102,
    0xc000_0103,
    0xc000_0080,
    0x174,
    0x175,
    0x176,
    0x277,
    0xda0,
    0x48,
    0x1a0,
];

/// Registers that no program can change but by a bug: compared by the strict check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference {
    sregs: kvm_sregs,
    debug: ([u64; 4], u64),
    xcr0: u64,
    msrs: Vec<(u32, u64)>,
}

impl Reference {
    fn compare(&self, want: &Reference) -> Result<()> {
        if self.sregs != want.sregs {
            return Err(Error::Impure {
                what: format!("system registers are {:x?}, not {:x?}", self.sregs, want.sregs),
            });
        }
        if self != want {
            return Err(Error::Impure {
                what: format!("debug registers or MSRs are {self:x?}, not {want:x?}"),
            });
        }
        Ok(())
    }
}

/// The first byte in which two vector state images differ in meaning. The header's first word does not count: it says which
/// components are in their initial state, which KVM may note or spell out, and it fills in their bytes either way.
fn differing_byte(a: &[u8], b: &[u8]) -> Option<usize> {
    let component_bits = 512..520;
    let differs = |i: &usize| !component_bits.contains(i) && a.get(*i) != b.get(*i);
    (0..a.len().max(b.len())).find(differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_byte_ignores_the_component_bits_alone() {
        let a = vec![0u8; 832];
        for at in [0, 31, 511, 512, 519, 520, 831] {
            let mut b = a.clone();
            b[at] = 1;
            assert_eq!(
                differing_byte(&a, &b),
                if (512..520).contains(&at) { None } else { Some(at) }
            );
        }
        assert_eq!(differing_byte(&a, &a[..831]), Some(831));
    }
}
