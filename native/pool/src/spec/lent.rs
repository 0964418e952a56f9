//! The files that a host lends to a program, and where each came from.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use mayfly_linux::fs::host_file::{FileBytes, HostFile as GuestFile};
use mayfly_vmm::HostFile;
use serde::{Deserialize, Serialize};

/// A file as the guest has it, and where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Lent {
    pub file: GuestFile,
    /// `None`: its bytes were given.
    pub origin: Option<Origin>,
}

/// A file of the host's.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub path: PathBuf,
    pub identity: Identity,
    /// What its memory slot maps.
    pub window: Option<Arc<HostFile>>,
}

/// What tells that a file of the host's was not written since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// Its length.
    pub bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    pub fn of(meta: &Metadata) -> Identity {
        Identity {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// A whole file, mapped read-only.
pub(crate) struct MappedFile {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the value and is only read.
unsafe impl Send for MappedFile {}
// SAFETY: as above; reads from many threads do not disturb each other.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    pub fn new(file: &File, length: u64) -> io::Result<MappedFile> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: no fixed address, so no existing mapping is touched; the kernel checks the rest.
        let p = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(p.cast::<u8>()) {
            Some(base) if p != libc::MAP_FAILED => Ok(MappedFile { base, length }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl FileBytes for MappedFile {
    fn bytes(&self) -> &[u8] {
        // SAFETY: base and length are the mapping's, which lives as long as self. `Mount` asks that the file stays as it is.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: base and length are what mmap gave; `bytes` borrows self, so no slice is left.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
