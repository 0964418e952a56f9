//! The guest's file system: a tree in memory. Host files appear where a mount named them, read-only; `/tmp` and whatever else was made
//! writable holds bytes of this guest only. A folder that the host granted is one node; paths below it
//! are the host's to resolve ([`crate::fs::granted`]). No path of the host is ever opened from here.

mod audit;
mod change;
mod content;
mod folder;
mod mounts;
mod restore;
mod stored;
mod walk;

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fs::blocks::Blocks;
use crate::fs::granted::{Below, Granted};
use crate::fs::host_file::HostFile;
use crate::state::account::{self, Account};
use crate::state::tracked::Slab;

pub use folder::{FIRST_PLACE, Folder};

/// Longest path, in bytes with its NUL.
pub const PATH_MAX: usize = 4096;
/// Longest name in a directory, in bytes.
const NAME_MAX: usize = 255;
/// Most symbolic links followed in one path.
const LINKS_MAX: u32 = 40;
/// Number of the root directory.
pub const ROOT: usize = 0;

/// A character device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Device {
    /// `/dev/null`
    Null,
    /// `/dev/zero`
    Zero,
    /// `/dev/full`
    Full,
    /// `/dev/urandom` and `/dev/random`
    Random,
}

/// A file whose text is made when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named after the files in proc(5)")]
pub enum ProcFile {
    Maps,
    Status,
    Stat,
    Statm,
    Cmdline,
    Comm,
    Auxv,
    Cgroup,
    Mountinfo,
    Limits,
    Meminfo,
    Cpuinfo,
    Uptime,
    Loadavg,
    SystemStat,
    Version,
    Osrelease,
    OvercommitMemory,
    MaxMapCount,
    ThpEnabled,
    CpuOnline,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NodeKind {
    /// Names.
    Directory {
        /// The entries, without `.` and `..`.
        entries: Folder,
        /// The directory above; the root's is itself.
        parent: usize,
        /// Whether entries may be added and removed.
        writable: bool,
    },
    /// A file of the host.
    Host(HostFile),
    /// Bytes of this guest; a clone shares them until one is written to.
    Memory(Arc<Blocks>),
    /// A symbolic link's target.
    Link(Box<[u8]>),
    /// A character device.
    Device(Device),
    /// A file made when it is opened.
    Proc(ProcFile),
    /// A folder of the host, written where it lies.
    Granted(Granted),
}

/// A file, directory, link or device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Permission bits.
    pub mode: u32,
    /// Names it has: one at most, but while it is moved.
    pub links: u32,
    /// Where its name is: the directory, and the place of the entry there.
    entry: Option<(usize, u64)>,
    /// Open descriptions and working directories that hold it.
    pub holds: u32,
    /// Time of the last change, ns since 1970.
    pub modified: u64,
}

impl Node {
    /// What one more slot for nodes takes of the host.
    pub(crate) const COST: u64 = account::slot(size_of::<Option<Node>>());
}

/// Where a path leads: the directory of its last name, that name, and the node there, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The directory that holds, or would hold, the last name.
    pub parent: usize,
    /// The last name; empty when the path leads to a directory by `/`, `.` or `..`.
    pub name: Box<[u8]>,
    /// The node, if there is one.
    pub node: Option<usize>,
    /// Whether the path ended in a slash: only a directory will do.
    pub slash: bool,
    /// Where the path leads in a folder that the host granted; then there is no name, and a node only for the folder itself.
    pub granted: Option<Below>,
}

/// The tree.
///
/// Invariants: node 0 is the root directory; a node is in the slab as long as it has a name or a hold, and knows where its name is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vfs {
    nodes: Slab<Node>,
    /// Bytes in all memory files.
    pub memory_bytes: u64,
    /// Most bytes in all memory files.
    memory_limit: u64,
    /// Most nodes.
    node_limit: usize,
    /// What names, links and the bytes of files take of the host.
    #[serde(skip)]
    pub(crate) account: Account,
}

impl Vfs {
    /// Sets other bounds. What is over them stays.
    pub fn set_limits(&mut self, bytes: u64, nodes: usize) {
        (self.memory_limit, self.node_limit) = (bytes, nodes);
    }

    /// A tree with `/proc`, `/dev`, `/sys` and a writable `/tmp`.
    #[must_use]
    pub fn new(memory_limit: u64, node_limit: usize) -> Self {
        let mut vfs = Self {
            nodes: Slab::default(),
            memory_bytes: 0,
            memory_limit,
            node_limit,
            account: Account::default(),
        };
        let root = NodeKind::Directory {
            entries: Folder::default(),
            parent: ROOT,
            writable: false,
        };
        vfs.account.count(Self::cost(&root));
        vfs.nodes.insert(Node {
            kind: root,
            mode: 0o755,
            links: 1,
            entry: None,
            holds: 0,
            modified: 0,
        });
        for (path, device) in [
            ("/dev/null", Device::Null),
            ("/dev/zero", Device::Zero),
            ("/dev/full", Device::Full),
            ("/dev/urandom", Device::Random),
            ("/dev/random", Device::Random),
        ] {
            vfs.mount(path, NodeKind::Device(device), 0o666);
        }
        for (path, file) in [
            ("/proc/self/maps", ProcFile::Maps),
            ("/proc/self/status", ProcFile::Status),
            ("/proc/self/stat", ProcFile::Stat),
            ("/proc/self/statm", ProcFile::Statm),
            ("/proc/self/cmdline", ProcFile::Cmdline),
            ("/proc/self/comm", ProcFile::Comm),
            ("/proc/self/auxv", ProcFile::Auxv),
            ("/proc/self/cgroup", ProcFile::Cgroup),
            ("/proc/self/mountinfo", ProcFile::Mountinfo),
            ("/proc/self/limits", ProcFile::Limits),
            ("/proc/meminfo", ProcFile::Meminfo),
            ("/proc/cpuinfo", ProcFile::Cpuinfo),
            ("/proc/uptime", ProcFile::Uptime),
            ("/proc/loadavg", ProcFile::Loadavg),
            ("/proc/stat", ProcFile::SystemStat),
            ("/proc/version", ProcFile::Version),
            ("/proc/sys/kernel/osrelease", ProcFile::Osrelease),
            ("/proc/sys/vm/overcommit_memory", ProcFile::OvercommitMemory),
            ("/proc/sys/vm/max_map_count", ProcFile::MaxMapCount),
            (
                "/sys/kernel/mm/transparent_hugepage/enabled",
                ProcFile::ThpEnabled,
            ),
            ("/sys/devices/system/cpu/online", ProcFile::CpuOnline),
            ("/sys/devices/system/cpu/possible", ProcFile::CpuOnline),
        ] {
            vfs.mount(path, NodeKind::Proc(file), 0o444);
        }
        vfs.mount_link("/proc/thread-self", "self");
        vfs.mount_link(&format!("/proc/{}", crate::task::process::PID), "self");
        vfs.mount_writable("/tmp");
        vfs.mount_writable("/dev/shm");
        vfs
    }

    /// Bytes of the host that the tree takes.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.nodes.end() as u64 * Node::COST + self.account.used()
    }

    /// What a node of this kind takes beside its slot.
    pub(crate) fn cost(kind: &NodeKind) -> u64 {
        match kind {
            NodeKind::Directory { .. } => Folder::COST,
            NodeKind::Memory(blocks) => blocks.cost(),
            NodeKind::Link(target) => account::bytes(target.len()),
            NodeKind::Host(_) | NodeKind::Device(_) | NodeKind::Proc(_) | NodeKind::Granted(_) => 0,
        }
    }

    fn add(&mut self, kind: NodeKind, mode: u32) -> usize {
        self.account.count(Self::cost(&kind));
        self.nodes.insert(Node {
            kind,
            mode,
            links: 0,
            entry: None,
            holds: 0,
            modified: 0,
        })
    }

    /// The node of this number.
    #[must_use]
    pub fn node(&self, number: usize) -> Option<&Node> {
        self.nodes.get(number)
    }

    /// Whether the node is a directory.
    #[must_use]
    pub fn is_directory(&self, number: usize) -> bool {
        matches!(
            self.nodes.get(number),
            Some(Node {
                kind: NodeKind::Directory { .. },
                ..
            })
        )
    }

    /// The entry of a directory.
    #[must_use]
    pub fn entry(&self, folder: usize, name: &[u8]) -> Option<usize> {
        match &self.nodes.get(folder)?.kind {
            NodeKind::Directory { entries, .. } => entries.get(name),
            _ => None,
        }
    }

    fn attach(&mut self, folder: usize, name: &[u8], node: usize) {
        let Some(Node {
            kind: NodeKind::Directory { entries, .. },
            ..
        }) = self.nodes.get_mut(folder)
        else {
            return;
        };
        let place = entries.insert(name, node);
        self.account.count(Folder::name_cost(name.len()));
        if let Some(node) = self.nodes.get_mut(node) {
            node.links += 1;
            node.entry = Some((folder, place));
        }
    }

    fn detach(&mut self, folder: usize, name: &[u8]) {
        let Some(Node {
            kind: NodeKind::Directory { entries, .. },
            ..
        }) = self.nodes.get_mut(folder)
        else {
            return;
        };
        let Some((number, place)) = entries.remove(name) else {
            return;
        };
        self.account.give(Folder::name_cost(name.len()));
        if let Some(node) = self.nodes.get_mut(number) {
            node.links = node.links.saturating_sub(1);
            // A node that is moved has its new name already.
            node.entry = node.entry.filter(|&entry| entry != (folder, place));
        }
        self.drop_unused(number);
    }

    fn drop_unused(&mut self, number: usize) {
        if let Some(node) = self.nodes.get(number)
            && node.links == 0
            && node.holds == 0
        {
            if let NodeKind::Memory(blocks) = &node.kind {
                self.memory_bytes = self.memory_bytes.saturating_sub(blocks.length());
            }
            self.account.give(Self::cost(&node.kind));
            self.nodes.remove(number);
        }
    }

    /// Keeps a node alive while it has no name.
    pub fn hold(&mut self, number: usize) {
        if let Some(node) = self.nodes.get_mut(number) {
            node.holds += 1;
        }
    }

    /// Ends one hold.
    pub fn release(&mut self, number: usize) {
        if let Some(node) = self.nodes.get_mut(number) {
            node.holds = node.holds.saturating_sub(1);
        }
        self.drop_unused(number);
    }
}

/// What [`Vfs::create`] makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewNode {
    /// An empty file.
    File,
    /// An empty directory.
    Directory,
    /// A symbolic link to this target.
    Link(Vec<u8>),
}

#[cfg(test)]
mod tests;
