//! A machine at rest, to be forked any number of times.

use std::fs::File;
use std::sync::Arc;

use kvm_bindings::kvm_xsave;

use crate::host::Host;
use crate::layout::PAGE;
use crate::memory::HostFile;
use crate::space::Frozen;
use crate::sys::Mapping;
use crate::vcpu::CpuState;

/// Memory in a sealed memory file, registers and page-table state beside it. Immutable.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) host: Arc<Host>,
    /// Sealed: no write, no resize.
    pub(crate) file: File,
    /// The file's content, read-only.
    pub(crate) image: Mapping,
    pub(crate) frozen: Frozen,
    pub(crate) files: Vec<Arc<HostFile>>,
    pub(crate) state: CpuState,
    /// The state's vector registers as the kernel wants them.
    pub(crate) area: Box<kvm_xsave>,
}

impl Snapshot {
    /// Guest pages that the snapshot's slot spans, holes included.
    pub fn pages(&self) -> u64 {
        self.frozen.end / PAGE
    }

    /// Bytes of guest memory in use at the snapshot.
    pub fn used_bytes(&self) -> u64 {
        self.frozen.state.frames.used_bytes()
    }

    /// Ring 3's registers at the snapshot.
    pub fn state(&self) -> &CpuState {
        &self.state
    }
}
