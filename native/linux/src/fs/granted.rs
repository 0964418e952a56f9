//! Folders of the host that the guest reads and writes where they lie: what the host offers for them, and what the guest's tables keep.
//!
//! Nothing of them is the guest's state. A reset puts back which of their files are open and at which offset, never a byte or a name.
//! Paths are below the folder, without a first slash; `.` is the folder itself. The host resolves them and lets none lead out.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::state::account;

/// What the host tells of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStatus {
    /// Its number on the host.
    pub inode: u64,
    /// Type and permission bits, as `st_mode` has them.
    pub mode: u32,
    /// Names that it has.
    pub links: u32,
    /// Its length in bytes.
    pub bytes: u64,
    /// Time of the last change, ns since 1970.
    pub modified: u64,
}

impl HostStatus {
    /// Whether it is a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the flags of open(2)")]
pub struct How {
    pub read: bool,
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    /// Only a folder will do.
    pub folder: bool,
    /// A last name that is a symbolic link is refused.
    pub no_link: bool,
    /// Permission bits of a file that is made.
    pub mode: u32,
}

/// A folder of the host.
///
/// # Errors
/// Each call answers the host's error number: EACCES for what leads out of the folder, or is neither file nor folder; ENOSPC and ENFILE over
/// the bounds on the program; EIO when the host does not answer in time.
#[allow(missing_docs, reason = "named after the system calls")]
#[allow(clippy::missing_errors_doc, reason = "above")]
pub trait HostFolder: Send + Sync {
    fn open(&self, path: &[u8], how: How) -> Result<HostOpened, Errno>;
    fn status(&self, path: &[u8], follow: bool) -> Result<HostStatus, Errno>;
    /// The path of a folder without links, `.` and `..`; empty for the granted folder itself.
    fn real_path(&self, path: &[u8]) -> Result<Vec<u8>, Errno>;
    fn link_target(&self, path: &[u8]) -> Result<Vec<u8>, Errno>;
    fn make_folder(&self, path: &[u8], mode: u32) -> Result<(), Errno>;
    fn remove(&self, path: &[u8], folder: bool) -> Result<(), Errno>;
    fn rename(&self, from: &[u8], to: &[u8], replace: bool) -> Result<(), Errno>;
    fn set_mode(&self, path: &[u8], mode: u32) -> Result<(), Errno>;
}

/// A file or folder of the host that is open.
///
/// # Errors
/// As [`HostFolder`].
#[allow(missing_docs, reason = "named after the system calls")]
#[allow(clippy::missing_errors_doc, reason = "above")]
pub trait HostOpen: Send + Sync {
    fn status(&self) -> Result<HostStatus, Errno>;
    /// At most `count` bytes from `at` on; none at the end.
    fn read(&self, at: u64, count: usize) -> Result<Vec<u8>, Errno>;
    /// Writes at a place, or at the end: how many bytes, and where they end.
    fn write(&self, at: Option<u64>, bytes: Vec<u8>) -> Result<(u64, u64), Errno>;
    fn set_length(&self, bytes: u64) -> Result<(), Errno>;
    fn set_mode(&self, mode: u32) -> Result<(), Errno>;
    fn sync(&self) -> Result<(), Errno>;
    /// Entries from a place on, as getdents64(2) has them, in at most `room` bytes.
    fn list(&self, at: u64, room: usize) -> Result<Listed, Errno>;
}

/// A part of a folder's listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// `struct linux_dirent64`, back to back.
    pub entries: Vec<u8>,
    /// The place behind them.
    pub next: u64,
}

/// A reference to an open file. The host closes the file with the last one.
#[derive(Clone)]
pub struct HostOpened(pub Arc<dyn HostOpen>);

impl PartialEq for HostOpened {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HostOpened {}

impl fmt::Debug for HostOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostOpened")
    }
}

/// A granted folder, as a node of the tree has it. In a snapshot's file is only that there is one.
#[derive(Clone, Serialize, Deserialize)]
pub struct Granted {
    #[serde(skip)]
    folder: Option<Arc<dyn HostFolder>>,
}

impl Granted {
    /// One that the host offers.
    #[must_use]
    pub fn new(folder: Arc<dyn HostFolder>) -> Self {
        Self { folder: Some(folder) }
    }

    /// What the host offers for it.
    ///
    /// # Errors
    /// EIO when it was read from a file and not granted again.
    pub fn folder(&self) -> Result<&Arc<dyn HostFolder>, Errno> {
        self.folder.as_ref().ok_or(Errno::EIO)
    }
}

impl PartialEq for Granted {
    fn eq(&self, other: &Self) -> bool {
        let address = |granted: &Self| granted.folder.as_ref().map(|folder| Arc::as_ptr(folder).addr());
        address(self) == address(other)
    }
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Granted")
    }
}

/// A place below a granted folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Below {
    /// The node of the granted folder.
    pub node: usize,
    /// The path below it; empty for the folder itself.
    pub path: Vec<u8>,
}

impl Below {
    /// The path as the host takes it.
    #[must_use]
    pub fn host_path(&self) -> &[u8] {
        match self.path.is_empty() {
            true => b".",
            false => &self.path,
        }
    }

    /// Adds a name.
    pub(crate) fn push(&mut self, name: &[u8]) {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
    }

    /// How many names lie below the folder, links left aside.
    pub(crate) fn depth(&self) -> usize {
        let names = self.path.split(|&byte| byte == b'/');
        names.fold(0_usize, |depth, name| match name {
            b"" | b"." => depth,
            b".." => depth.saturating_sub(1),
            _ => depth + 1,
        })
    }
}

/// An open file of a granted folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedFile {
    /// Where it was found: calls that are told a path below it start here.
    pub below: Below,
    /// What the host has open; nothing for `O_PATH`.
    pub opened: Option<HostOpened>,
    /// Whether it is a folder.
    pub folder: bool,
    /// Where the next read or write starts; of a folder, the place in its listing.
    pub offset: u64,
}

impl GrantedFile {
    /// What it takes of the host's memory.
    #[must_use]
    pub(crate) fn cost(&self) -> usize {
        (account::bytes(size_of::<Self>()) + account::bytes(self.below.path.len())) as usize
    }

    /// What the host has open.
    ///
    /// # Errors
    /// EBADF for `O_PATH`.
    pub fn opened(&self) -> Result<&HostOpened, Errno> {
        self.opened.as_ref().ok_or(Errno::EBADF)
    }
}
