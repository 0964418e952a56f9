//! All that a machine and a snapshot hold, for the leak check and the tests to search. Nothing here is used while requests are served.

use std::os::unix::fs::FileExt;

use super::Vm;
use crate::error::{Error, Result, kvm};
use crate::layout::PAGE;
use crate::snapshot::Snapshot;

#[cfg(feature = "mutations")]
/// `MSR_KERNEL_GS_BASE`: what `swapgs`, which ring 3 may not execute, would bring.
const MSR_KERNEL_GS_BASE: u32 = 0xc000_0102;

/// What no program can write, so that no reset puts it back; the leak check writes it from the host to see itself notice.
#[cfg(feature = "mutations")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// DR0.
    DebugRegister,
    /// `MSR_KERNEL_GS_BASE`.
    Msr,
}

#[doc(hidden)]
impl Vm {
    /// Shows every page of private memory that slots reach and that is not all zeros, by frame: low pages, page tables and
    /// frames that the fork added included.
    pub fn visit_frames(&self, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        let mut page = [0; PAGE as usize];
        for frame in (0..self.covered).step_by(PAGE as usize) {
            self.space.memory().read(frame, 0, &mut page)?;
            if page != [0; PAGE as usize] {
                visit(frame, &page);
            }
        }
        Ok(())
    }

    /// Makes KVM take the registers that wait to be loaded, as the next run would.
    pub fn take_registers(&mut self) -> Result<()> {
        self.vcpu.apply(self.space.memory_mut())
    }

    /// Every register by its kind, as this crate, KVM and the page that they share have it; all MSRs that KVM lists.
    pub fn register_parts(&mut self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let list = self.host.kvm().get_msr_index_list();
        let list = list.map_err(kvm("list the MSRs"))?;
        self.vcpu.parts(list.as_slice())
    }

    #[cfg(feature = "mutations")]
    /// Writes what only a bug could. False when KVM refuses it.
    pub fn write_unreachable(&mut self, what: Unreachable, value: u64) -> Result<bool> {
        match what {
            Unreachable::DebugRegister => self.vcpu.write_debug_register(value).map(|()| true),
            Unreachable::Msr => self.vcpu.write_msr(MSR_KERNEL_GS_BASE, value),
        }
    }
}

#[doc(hidden)]
impl Snapshot {
    /// Shows every page of the snapshot's own file that is not all zeros, by its place in the file: all that it adds to its base, whether
    /// a machine can reach it or not.
    pub fn visit_own_pages(&self, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        let Some(own) = self.segments.last() else {
            return Ok(());
        };
        let failed = |source| Error::Host {
            attempt: "read a snapshot's file",
            source,
        };
        let length = own.file.metadata().map_err(failed)?.len();
        let mut page = [0; PAGE as usize];
        for at in (0..length).step_by(PAGE as usize) {
            own.file.read_exact_at(&mut page, at).map_err(failed)?;
            if page != [0; PAGE as usize] {
                visit(at, &page);
            }
        }
        Ok(())
    }
}
