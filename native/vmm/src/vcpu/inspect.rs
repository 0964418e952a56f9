//! All that KVM and this crate hold of a vCPU, for the leak check to search.

use kvm_bindings::{Msrs, kvm_msr_entry};

use super::{Registers, Vcpu};
use crate::error::{Result, kvm};

/// Registers of one kind: what they are, and their bytes.
pub(crate) type RegisterPart = (&'static str, Vec<u8>);

/// Bytes of the control words in an XSAVE image: FCW, and MXCSR.
const CONTROL_WORDS: [std::ops::Range<usize>; 2] = [0..2, 24..28];

impl Vcpu {
    /// Every register, as this crate, KVM and the page that they share have it. `msrs` are the numbers of those to read.
    pub fn parts(&mut self, msrs: &[u32]) -> Result<Vec<RegisterPart>> {
        let kvm_regs = self.fd.get_regs().map_err(kvm("read registers"))?;
        let sregs = self.fd.get_sregs().map_err(kvm("read system registers"))?;
        let debug = self.fd.get_debug_regs().map_err(kvm("read debug registers"))?;
        let xcrs = self.fd.get_xcrs().map_err(kvm("read XCR0"))?;
        let shared = self.fd.sync_regs();
        let mut vectors = Vec::new();
        self.xsave_of_kvm(&mut vectors)?;
        let control: Vec<u8> = CONTROL_WORDS
            .into_iter()
            .flat_map(|range| vectors[range].to_vec())
            .collect();
        let own_sregs = [&sregs, &shared.sregs, &self.sregs];
        let integers = [&self.user, &kvm_regs, &shared.regs];
        let segments = |s: &kvm_bindings::kvm_sregs| [s.ds, s.es, s.fs, s.gs, s.cs, s.ss];
        let system = [
            sregs.cr0,
            sregs.cr3,
            sregs.cr4,
            sregs.cr8,
            sregs.efer,
            sregs.gdt.base,
            sregs.idt.base,
            sregs.tr.base,
            sregs.ldt.base,
            xcrs.xcrs[0].value,
        ];
        let [d0, d1, d2, d3] = debug.db;
        Ok(vec![
            ("integer registers", words(integers.into_iter().flat_map(general))),
            ("flags", words([self.user.rflags])),
            ("vector registers", vectors),
            ("vector control", control),
            (
                "segment bases",
                words(own_sregs.into_iter().flat_map(|s| [s.fs.base, s.gs.base])),
            ),
            (
                "segment selectors",
                words(segments(&sregs).map(|s| u64::from(s.selector))),
            ),
            ("system registers", words(system)),
            ("debug registers", words([d0, d1, d2, d3, debug.dr6, debug.dr7])),
            ("MSRs", words(msrs.iter().filter_map(|index| self.msr(*index)))),
        ])
    }

    /// An MSR, if KVM lets it be read.
    pub(super) fn msr(&self, index: u32) -> Option<u64> {
        let one = kvm_msr_entry {
            index,
            ..Default::default()
        };
        let mut list = Msrs::from_entries(&[one]).ok()?;
        let read = self.fd.get_msrs(&mut list).is_ok_and(|n| n == 1);
        read.then(|| list.as_slice()[0].data)
    }

    /// An MSR, for tests of the machine.
    #[cfg(test)]
    pub fn read_msr(&self, index: u32) -> Option<u64> {
        self.msr(index)
    }

    /// CR4, for tests of the machine.
    #[cfg(test)]
    pub fn cr4(&self) -> u64 {
        self.fd.get_sregs().unwrap().cr4
    }

    #[cfg(feature = "mutations")]
    /// Writes an MSR; false when KVM refuses it.
    pub fn write_msr(&mut self, index: u32, data: u64) -> Result<bool> {
        let one = kvm_msr_entry {
            index,
            data,
            ..Default::default()
        };
        let list = Msrs::from_entries(&[one]).map_err(|_| crate::error::Error::Broken {
            what: "an MSR list of one entry",
        })?;
        Ok(self.fd.set_msrs(&list).is_ok_and(|n| n == 1))
    }

    #[cfg(feature = "mutations")]
    /// Writes DR0.
    pub fn write_debug_register(&mut self, value: u64) -> Result<()> {
        let mut debug = self.fd.get_debug_regs().map_err(kvm("read debug registers"))?;
        debug.db[0] = value;
        self.fd.set_debug_regs(&debug).map_err(kvm("set debug registers"))
    }
}

/// The sixteen integer registers.
fn general(r: &Registers) -> [u64; 16] {
    [
        r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
        r.r14, r.r15,
    ]
}

fn words(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}
