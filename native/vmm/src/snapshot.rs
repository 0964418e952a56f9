//! A machine at rest, to be forked any number of times.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use crate::ahead::Ahead;
use crate::backing::BackingSegment;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::layout::PAGE;
use crate::memory::HostFile;
use crate::space::Frozen;
use crate::sys::Mapping;
use crate::vcpu::{CpuState, VectorImage};

/// Memory in sealed memory files, registers and page-table state beside it. Immutable.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) host: Arc<Host>,
    /// Sealed files: no write, no resize. The last one is this snapshot's own.
    pub(crate) segments: Vec<BackingSegment>,
    /// Their content, read-only.
    pub(crate) image: Mapping,
    pub(crate) frozen: Frozen,
    pub(crate) files: Vec<Arc<HostFile>>,
    pub(crate) state: CpuState,
    /// The state's vector registers, as forks load them.
    pub(crate) vectors: Arc<VectorImage>,
    /// Reading the time-stamp counter faults.
    pub(crate) traps_counter: bool,
    /// What forks copy before their first request.
    pub(crate) ahead: Ahead,
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

    /// Bytes of host memory that the snapshot's own file takes; those of its base are not among them.
    pub fn own_bytes(&self) -> Result<u64> {
        let Some(own) = self.segments.last() else {
            return Ok(0);
        };
        let meta = own.file.metadata().map_err(|source| Error::Host {
            attempt: "look at a snapshot's file",
            source,
        })?;
        Ok(meta.blocks() * 512)
    }

    /// The host that it was made on.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Ring 3's registers at the snapshot.
    pub fn state(&self) -> &CpuState {
        &self.state
    }
}
