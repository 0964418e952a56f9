//! `struct stat` and `struct statx`.

use super::granted::Target;
use crate::errno::Errno;
use crate::fs::files::FileKind;
use crate::fs::granted::HostStatus;
use crate::fs::vfs::NodeKind;
use crate::kernel::Kernel;
use crate::task::process::UID;

/// What `stat` tells of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    inode: u64,
    links: u32,
    mode: u32,
    device: u32,
    size: u64,
    modified: u64,
    owner: u32,
}

/// The type bits of `st_mode`.
pub(super) fn file_type(kind: &NodeKind) -> u32 {
    match kind {
        NodeKind::Directory { .. } | NodeKind::Granted(_) => 0o040_000,
        NodeKind::Host(_) | NodeKind::Memory(_) | NodeKind::Proc(_) => 0o100_000,
        NodeKind::Link(_) => 0o120_000,
        NodeKind::Device(_) => 0o020_000,
    }
}

/// As the host tells it, but for the owner: all files of a granted folder are the one user's.
impl From<HostStatus> for Status {
    fn from(host: HostStatus) -> Self {
        Self {
            inode: host.inode,
            links: host.links,
            mode: host.mode,
            device: 3,
            size: host.bytes,
            modified: host.modified,
            owner: UID,
        }
    }
}

impl Kernel {
    /// The working directory.
    pub(super) fn current_folder(&self) -> Target {
        let folder = self.folder();
        match self.vfs.is_granted(folder.node) {
            true => Target::Granted(folder),
            false => Target::Node(folder.node),
        }
    }

    /// What `stat` tells of what is at a path.
    pub(super) fn status_of(&self, target: &Target, follow: bool) -> Result<Status, Errno> {
        match target {
            Target::Node(node) => self.status_of_node(*node),
            Target::Granted(below) => {
                let host = self.host_folder(below)?;
                Ok(host.status(below.host_path(), follow)?.into())
            }
        }
    }

    pub(super) fn status_of_node(&self, number: usize) -> Result<Status, Errno> {
        let node = self.vfs.node(number).ok_or(Errno::ENOENT)?;
        let (size, modified, owner) = match &node.kind {
            NodeKind::Host(file) => (file.length(), file.modified.saturating_mul(1_000_000_000), 0),
            NodeKind::Memory(blocks) => (blocks.length(), node.modified, UID),
            NodeKind::Link(target) => (target.len() as u64, node.modified, UID),
            NodeKind::Directory { writable: true, .. } => (0, node.modified, UID),
            _ => (0, node.modified, 0),
        };
        let links = if self.vfs.is_directory(number) {
            2
        } else {
            node.links
        };
        let mode = file_type(&node.kind) | node.mode;
        Ok(Status {
            inode: number as u64 + 1,
            links,
            mode,
            device: 1,
            size,
            modified,
            owner,
        })
    }

    pub(super) fn status_of_file(&self, file: usize) -> Result<Status, Errno> {
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        let (mode, size) = match &open.kind {
            FileKind::Regular { node, .. } | FileKind::Directory { node, .. } => {
                return self.status_of_node(*node);
            }
            FileKind::Granted(granted) => {
                return match &granted.opened {
                    Some(opened) => Ok(opened.0.status()?.into()),
                    None => self.status_of(&Target::Granted(granted.below.clone()), false),
                };
            }
            // Linux shows 0 for what it makes when it is read.
            FileKind::Text { .. } => (0o100_444, 0),
            FileKind::Device(_) => (0o020_666, 0),
            FileKind::Socket(_) | FileKind::Netlink(_) => (0o140_777, 0),
            FileKind::Stream(stream) if stream.socket => (0o140_777, 0),
            FileKind::Input | FileKind::Output | FileKind::Log | FileKind::Stream(_) => (0o010_600, 0),
            FileKind::Event { .. } | FileKind::Timer { .. } | FileKind::Epoll { .. } => (0o600, 0),
        };
        Ok(Status {
            inode: 1_000_000 + file as u64,
            links: 1,
            mode,
            device: 2,
            size,
            modified: 0,
            owner: UID,
        })
    }
}

impl Status {
    /// `struct stat` of x86-64.
    pub(super) fn stat_bytes(&self) -> [u8; 144] {
        let times = [self.modified / 1_000_000_000, self.modified % 1_000_000_000];
        let mut words = [0_u64; 18];
        words[..3].copy_from_slice(&[self.device.into(), self.inode, self.links.into()]);
        words[3] = u64::from(self.mode) | u64::from(self.owner) << 32;
        words[4] = self.owner.into();
        words[5] = if self.mode & 0o170_000 == 0o020_000 {
            0x103
        } else {
            0
        };
        words[6..9].copy_from_slice(&[self.size, 4096, self.size.div_ceil(512)]);
        for pair in words[9..15].as_chunks_mut::<2>().0 {
            *pair = times;
        }
        let mut bytes = [0; 144];
        bytes.copy_from_slice(words.map(u64::to_le_bytes).as_flattened());
        bytes
    }

    /// `struct statx`, with the basic fields.
    pub(super) fn statx_bytes(&self) -> [u8; 256] {
        let mut bytes = [0; 256];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &0x7ff_u32.to_le_bytes());
        put(4, &4096_u32.to_le_bytes());
        put(16, &self.links.to_le_bytes());
        put(20, &self.owner.to_le_bytes());
        put(24, &self.owner.to_le_bytes());
        put(28, &(self.mode as u16).to_le_bytes());
        put(32, &self.inode.to_le_bytes());
        put(40, &self.size.to_le_bytes());
        put(48, &self.size.div_ceil(512).to_le_bytes());
        for at in [64, 96, 112] {
            put(at, &(self.modified / 1_000_000_000).to_le_bytes());
            put(at + 8, &((self.modified % 1_000_000_000) as u32).to_le_bytes());
        }
        put(140, &self.device.to_le_bytes());
        bytes
    }
}
