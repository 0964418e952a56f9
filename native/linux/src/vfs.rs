//! The guest's file system: a tree in memory. Host files appear where a mount named them, read-only; `/tmp` and whatever else was made
//! writable holds bytes of this guest only. No path of the host is ever opened from here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::errno::Errno;
use crate::host_file::HostFile;
use crate::tracked::Slab;

/// Longest path, in bytes with its NUL.
pub const PATH_MAX: usize = 4096;
/// Longest name in a directory, in bytes.
const NAME_MAX: usize = 255;
/// Most symbolic links followed in one path.
const LINKS_MAX: u32 = 40;
/// Number of the root directory.
pub const ROOT: usize = 0;

/// A character device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Names to numbers of nodes.
    Directory {
        /// The entries, without `.` and `..`.
        entries: BTreeMap<Box<[u8]>, usize>,
        /// The directory above; the root's is itself.
        parent: usize,
        /// Whether entries may be added and removed.
        writable: bool,
    },
    /// A file of the host.
    Host(HostFile),
    /// Bytes of this guest; copied on the first write after a clone.
    Memory(Arc<Vec<u8>>),
    /// A symbolic link's target.
    Link(Box<[u8]>),
    /// A character device.
    Device(Device),
    /// A file made when it is opened.
    Proc(ProcFile),
}

/// A file, directory, link or device.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Permission bits.
    pub mode: u32,
    /// Names it has.
    pub links: u32,
    /// Open descriptions and working directories that hold it.
    pub holds: u32,
    /// Time of the last change, ns since 1970.
    pub modified: u64,
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
}

/// The tree.
///
/// Invariants: node 0 is the root directory; a node is in the slab as long as it has a name or a hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Vfs {
    nodes: Slab<Node>,
    /// Bytes in all memory files.
    pub memory_bytes: u64,
    /// Most bytes in all memory files.
    memory_limit: u64,
    /// Most nodes.
    node_limit: usize,
}

impl Vfs {
    /// A tree with `/proc`, `/dev`, `/sys` and a writable `/tmp`.
    #[must_use]
    pub fn new(memory_limit: u64, node_limit: usize) -> Self {
        let mut vfs = Self {
            nodes: Slab::default(),
            memory_bytes: 0,
            memory_limit,
            node_limit,
        };
        let root = NodeKind::Directory {
            entries: BTreeMap::new(),
            parent: ROOT,
            writable: false,
        };
        vfs.nodes.insert(Node {
            kind: root,
            mode: 0o755,
            links: 1,
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
        vfs.mount_link(&format!("/proc/{}", crate::kernel::PID), "self");
        vfs.mount_writable("/tmp");
        vfs.mount_writable("/dev/shm");
        vfs
    }

    fn add(&mut self, kind: NodeKind, mode: u32) -> usize {
        self.nodes.insert(Node {
            kind,
            mode,
            links: 0,
            holds: 0,
            modified: 0,
        })
    }

    /// The node of a mount path's directory, made where it is missing.
    fn mount_folder(&mut self, path: &str) -> usize {
        let mut at = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let existing = self
                .entry(at, name.as_bytes())
                .filter(|&node| self.is_directory(node));
            at = existing.unwrap_or_else(|| {
                let kind = NodeKind::Directory {
                    entries: BTreeMap::new(),
                    parent: at,
                    writable: false,
                };
                let node = self.add(kind, 0o755);
                self.attach(at, name.as_bytes(), node);
                node
            });
        }
        at
    }

    fn mount(&mut self, path: &str, kind: NodeKind, mode: u32) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.mount_folder(folder);
        let node = self.add(kind, mode);
        self.detach(folder, name.as_bytes());
        self.attach(folder, name.as_bytes(), node);
    }

    /// Makes a host file appear at an absolute path, with the directories above it.
    pub fn mount_file(&mut self, path: &str, file: HostFile) {
        let mode = file.mode;
        self.mount(path, NodeKind::Host(file), mode);
    }

    /// Makes a symbolic link appear at an absolute path.
    pub fn mount_link(&mut self, path: &str, target: &str) {
        self.mount(path, NodeKind::Link(target.as_bytes().into()), 0o777);
    }

    /// Makes a directory appear at an absolute path.
    pub fn mount_directory(&mut self, path: &str) {
        self.mount_folder(path);
    }

    /// Makes a directory appear in which the guest may make files.
    pub fn mount_writable(&mut self, path: &str) {
        let node = self.mount_folder(path);
        if let Some(Node {
            kind: NodeKind::Directory { writable, .. },
            mode,
            ..
        }) = self.nodes.get_mut(node)
        {
            (*writable, *mode) = (true, 0o1777);
        }
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
            NodeKind::Directory { entries, .. } => entries.get(name).copied(),
            _ => None,
        }
    }

    fn attach(&mut self, folder: usize, name: &[u8], node: usize) {
        if let Some(Node {
            kind: NodeKind::Directory { entries, .. },
            ..
        }) = self.nodes.get_mut(folder)
        {
            entries.insert(name.into(), node);
        }
        if let Some(node) = self.nodes.get_mut(node) {
            node.links += 1;
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
        let Some(number) = entries.remove(name) else {
            return;
        };
        if let Some(node) = self.nodes.get_mut(number) {
            node.links = node.links.saturating_sub(1);
        }
        self.drop_unused(number);
    }

    fn drop_unused(&mut self, number: usize) {
        if let Some(node) = self.nodes.get(number)
            && node.links == 0
            && node.holds == 0
        {
            if let NodeKind::Memory(bytes) = &node.kind {
                self.memory_bytes = self.memory_bytes.saturating_sub(bytes.len() as u64);
            }
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

    /// Walks a path from `start`, following symbolic links; the last one only if `follow`.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG as path_resolution(7) has them. A last name that does not exist is no error here.
    pub fn resolve(&self, start: usize, path: &[u8], follow: bool) -> Result<Found, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        let mut links = 0;
        self.walk(start, path, follow, &mut links)
    }

    fn walk(&self, start: usize, path: &[u8], follow: bool, links: &mut u32) -> Result<Found, Errno> {
        if path.len() >= PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let mut at = if path.first() == Some(&b'/') { ROOT } else { start };
        let slash = path.last() == Some(&b'/');
        let mut names = path
            .split(|&byte| byte == b'/')
            .filter(|name| !name.is_empty())
            .peekable();
        let mut found = Found {
            parent: at,
            name: Box::default(),
            node: Some(at),
            slash,
        };
        while let Some(name) = names.next() {
            let last = names.peek().is_none();
            let NodeKind::Directory { entries, parent, .. } = &self.nodes.get(at).ok_or(Errno::ENOENT)?.kind
            else {
                return Err(Errno::ENOTDIR);
            };
            if name.len() > NAME_MAX {
                return Err(Errno::ENAMETOOLONG);
            }
            if name == b"." || name == b".." {
                at = if name == b".." { *parent } else { at };
                found = Found {
                    parent: at,
                    name: Box::default(),
                    node: Some(at),
                    slash,
                };
                continue;
            }
            let node = entries.get(name).copied();
            found = Found {
                parent: at,
                name: name.into(),
                node,
                slash,
            };
            let Some(node) = node else {
                return if last { Ok(found) } else { Err(Errno::ENOENT) };
            };
            if let Some(Node {
                kind: NodeKind::Link(target),
                ..
            }) = self.nodes.get(node)
                && (!last || follow || slash)
            {
                *links += 1;
                if *links > LINKS_MAX {
                    return Err(Errno::ELOOP);
                }
                found = Found {
                    slash,
                    ..self.walk(at, target, true, links)?
                };
                if found.node.is_none() {
                    return if last { Ok(found) } else { Err(Errno::ENOENT) };
                }
            }
            at = found.node.unwrap_or(at);
        }
        if slash && !self.is_directory(at) {
            return Err(Errno::ENOTDIR);
        }
        Ok(found)
    }

    /// The absolute path of a directory.
    #[must_use]
    pub fn path_of(&self, mut folder: usize) -> Vec<u8> {
        let mut names: Vec<&[u8]> = Vec::new();
        while folder != ROOT {
            let Some(Node {
                kind: NodeKind::Directory { parent, .. },
                ..
            }) = self.nodes.get(folder)
            else {
                break;
            };
            let Some(Node {
                kind: NodeKind::Directory { entries, .. },
                ..
            }) = self.nodes.get(*parent)
            else {
                break;
            };
            let Some((name, _)) = entries.iter().find(|&(_, &node)| node == folder) else {
                break;
            };
            names.push(name);
            folder = *parent;
        }
        let mut path: Vec<u8> = names
            .iter()
            .rev()
            .flat_map(|name| [b"/", *name].concat())
            .collect();
        if path.is_empty() {
            path.push(b'/');
        }
        path
    }

    /// An absolute path of a node, if it has a name.
    #[must_use]
    pub fn find_path(&self, node: usize) -> Option<Vec<u8>> {
        if self.is_directory(node) {
            return Some(self.path_of(node));
        }
        self.nodes.iter().find_map(|(folder, candidate)| {
            let NodeKind::Directory { entries, .. } = &candidate.kind else {
                return None;
            };
            let (name, _) = entries.iter().find(|&(_, &entry)| entry == node)?;
            let mut path = self.path_of(folder);
            if path != b"/" {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            Some(path)
        })
    }

    fn writable_folder(&self, folder: usize) -> Result<(), Errno> {
        match self.nodes.get(folder) {
            Some(Node {
                kind: NodeKind::Directory { writable: true, .. },
                links,
                ..
            }) if *links > 0 => Ok(()),
            Some(Node {
                kind: NodeKind::Directory { writable: true, .. },
                ..
            }) => Err(Errno::ENOENT),
            _ => Err(Errno::EROFS),
        }
    }

    /// Makes a file, directory or link under a name that is free. `now` is the realtime in ns.
    ///
    /// # Errors
    /// EEXIST, EROFS, ENOSPC at the limit of nodes.
    pub fn create(&mut self, found: &Found, kind: NewNode, mode: u32, now: u64) -> Result<usize, Errno> {
        if found.node.is_some() {
            return Err(Errno::EEXIST);
        }
        self.writable_folder(found.parent)?;
        if self.nodes.count() >= self.node_limit {
            return Err(Errno::ENOSPC);
        }
        let kind = match kind {
            NewNode::File => NodeKind::Memory(Arc::default()),
            NewNode::Directory => NodeKind::Directory {
                entries: BTreeMap::new(),
                parent: found.parent,
                writable: true,
            },
            NewNode::Link(target) => NodeKind::Link(target.into()),
        };
        let node = self.nodes.insert(Node {
            kind,
            mode: mode & 0o7777,
            links: 0,
            holds: 0,
            modified: now,
        });
        self.attach(found.parent, &found.name, node);
        Ok(node)
    }

    /// Makes a file without a name (`memfd_create`); it lives as long as it is held.
    ///
    /// # Errors
    /// ENOSPC at the limit of nodes.
    pub fn create_unnamed(&mut self) -> Result<usize, Errno> {
        if self.nodes.count() >= self.node_limit {
            return Err(Errno::ENOSPC);
        }
        Ok(self.add(NodeKind::Memory(Arc::default()), 0o777))
    }

    /// Takes a name away: `directory` says which kind it must be.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, EBUSY, EROFS.
    pub fn remove(&mut self, found: &Found, directory: bool) -> Result<(), Errno> {
        let node = found.node.ok_or(Errno::ENOENT)?;
        match &self.nodes.get(node).ok_or(Errno::ENOENT)?.kind {
            _ if found.name.is_empty() => return Err(if directory { Errno::EBUSY } else { Errno::EISDIR }),
            NodeKind::Directory { .. } if !directory => {
                return Err(if self.writable_folder(found.parent).is_ok() {
                    Errno::EISDIR
                } else {
                    Errno::EROFS
                });
            }
            NodeKind::Directory { entries, .. } if !entries.is_empty() => return Err(Errno::ENOTEMPTY),
            NodeKind::Directory { .. } => {}
            _ if directory || found.slash => return Err(Errno::ENOTDIR),
            _ => {}
        }
        self.writable_folder(found.parent)?;
        self.detach(found.parent, &found.name);
        Ok(())
    }

    /// `rename`: moves a name, over an existing one if `replace`.
    ///
    /// # Errors
    /// ENOENT, EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, EROFS, and EINVAL for a directory into itself.
    pub fn rename(&mut self, from: &Found, to: &Found, replace: bool) -> Result<(), Errno> {
        let node = from.node.ok_or(Errno::ENOENT)?;
        if from.name.is_empty() || to.name.is_empty() {
            return Err(Errno::EBUSY);
        }
        self.writable_folder(from.parent)?;
        self.writable_folder(to.parent)?;
        let directory = self.is_directory(node);
        if directory {
            let mut at = to.parent;
            while at != ROOT {
                if at == node {
                    return Err(Errno::EINVAL);
                }
                let Some(Node {
                    kind: NodeKind::Directory { parent, .. },
                    ..
                }) = self.nodes.get(at)
                else {
                    break;
                };
                at = *parent;
            }
        } else if to.slash {
            return Err(Errno::ENOTDIR);
        }
        if let Some(old) = to.node {
            if !replace {
                return Err(Errno::EEXIST);
            }
            if old == node {
                return Ok(());
            }
            match (directory, &self.nodes.get(old).ok_or(Errno::ENOENT)?.kind) {
                (true, NodeKind::Directory { entries, .. }) if !entries.is_empty() => {
                    return Err(Errno::ENOTEMPTY);
                }
                (false, NodeKind::Directory { .. }) => return Err(Errno::EISDIR),
                (true, kind) if !matches!(kind, NodeKind::Directory { .. }) => return Err(Errno::ENOTDIR),
                _ => {}
            }
            self.detach(to.parent, &to.name);
        }
        self.attach(to.parent, &to.name, node);
        self.detach(from.parent, &from.name);
        if let Some(Node {
            kind: NodeKind::Directory { parent, .. },
            ..
        }) = self.nodes.get_mut(node)
        {
            *parent = to.parent;
        }
        Ok(())
    }

    /// The bytes of a file (host or memory).
    ///
    /// # Errors
    /// EISDIR for a directory, EINVAL for what has no bytes of its own.
    pub fn bytes(&self, number: usize) -> Result<&[u8], Errno> {
        match &self.nodes.get(number).ok_or(Errno::ENOENT)?.kind {
            NodeKind::Host(file) => Ok(file.bytes()),
            NodeKind::Memory(bytes) => Ok(bytes),
            NodeKind::Directory { .. } => Err(Errno::EISDIR),
            _ => Err(Errno::EINVAL),
        }
    }

    /// What a mapping of the file shows: the host file, or the bytes as they are now.
    ///
    /// # Errors
    /// ENODEV for anything but a file.
    pub fn mappable(&self, number: usize) -> Result<HostFile, Errno> {
        match &self.nodes.get(number).ok_or(Errno::EBADF)?.kind {
            NodeKind::Host(file) => Ok(file.clone()),
            NodeKind::Memory(bytes) => Ok(HostFile::new(bytes.as_ref().clone())),
            _ => Err(Errno::ENODEV),
        }
    }

    /// Whether the guest may write to the node's bytes.
    #[must_use]
    pub fn is_writable(&self, number: usize) -> bool {
        match self.nodes.get(number).map(|node| &node.kind) {
            Some(NodeKind::Memory(_) | NodeKind::Device(_)) => true,
            Some(NodeKind::Directory { writable, .. }) => *writable,
            _ => false,
        }
    }

    /// Sets the length of a memory file.
    ///
    /// # Errors
    /// ENOSPC over the limit, EINVAL for other nodes.
    pub fn set_length(&mut self, number: usize, length: u64, now: u64) -> Result<(), Errno> {
        let old = self.bytes(number)?.len() as u64;
        let sum = self.memory_bytes - old.min(self.memory_bytes) + length;
        if length > old && (length > self.memory_limit || sum > self.memory_limit) {
            return Err(Errno::ENOSPC);
        }
        let Some(Node {
            kind: NodeKind::Memory(bytes),
            modified,
            ..
        }) = self.nodes.get_mut(number)
        else {
            return Err(Errno::EINVAL);
        };
        Arc::make_mut(bytes).resize(length as usize, 0);
        (self.memory_bytes, *modified) = (sum, now);
        Ok(())
    }

    /// Writes into a memory file at `offset`, as many of the bytes as the limit allows.
    ///
    /// # Errors
    /// ENOSPC when not one byte fits, EINVAL for other nodes.
    pub fn write_at(&mut self, number: usize, offset: u64, from: &[u8], now: u64) -> Result<usize, Errno> {
        if from.is_empty() {
            return Ok(0);
        }
        let old = self.bytes(number)?.len() as u64;
        let room = self.memory_limit.saturating_sub(self.memory_bytes) + old;
        let end = offset
            .checked_add(from.len() as u64)
            .ok_or(Errno::EFBIG)?
            .min(room.max(old));
        if end <= offset {
            return Err(Errno::ENOSPC);
        }
        if end > old {
            self.set_length(number, end, now)?;
        }
        let Some(Node {
            kind: NodeKind::Memory(bytes),
            modified,
            ..
        }) = self.nodes.get_mut(number)
        else {
            return Err(Errno::EINVAL);
        };
        let count = (end - offset) as usize;
        Arc::make_mut(bytes)[offset as usize..end as usize].copy_from_slice(&from[..count]);
        *modified = now;
        Ok(count)
    }

    /// Sets permission bits.
    ///
    /// # Errors
    /// EROFS for what the guest may not write.
    pub fn set_mode(&mut self, number: usize, mode: u32) -> Result<(), Errno> {
        if !self.is_writable(number) {
            return Err(Errno::EROFS);
        }
        if let Some(node) = self.nodes.get_mut(number) {
            node.mode = mode & 0o7777;
        }
        Ok(())
    }

    /// Notes that all nodes are now the reference.
    pub fn mark_clean(&mut self) {
        self.nodes.mark_clean();
    }

    /// Makes the tree equal to `reference`'s, copying only nodes that were touched.
    pub fn restore(&mut self, reference: &Self) {
        self.nodes.restore(&reference.nodes);
        (self.memory_bytes, self.memory_limit) = (reference.memory_bytes, reference.memory_limit);
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
mod tests {
    use super::*;

    fn tree() -> Vfs {
        let mut vfs = Vfs::new(1000, 100);
        vfs.mount_file("/usr/lib/libc.so", HostFile::new(b"elf".to_vec()));
        vfs.mount_link("/lib", "usr/lib");
        vfs.mount_link("/loop", "loop");
        vfs
    }

    fn node(vfs: &Vfs, path: &str) -> Result<Option<usize>, Errno> {
        vfs.resolve(ROOT, path.as_bytes(), true).map(|found| found.node)
    }

    #[test]
    fn resolve_follows_links_dots_and_slashes() {
        let vfs = tree();
        let libc = node(&vfs, "/usr/lib/libc.so").expect("mounted");
        assert!(libc.is_some());
        for path in [
            "/lib/libc.so",
            "//usr/../usr/./lib//libc.so",
            "lib/../lib/libc.so",
            "/../../lib/libc.so",
        ] {
            assert_eq!(node(&vfs, path), Ok(libc), "{path}");
        }
        assert_eq!(node(&vfs, "/lib/absent"), Ok(None));
        assert_eq!(node(&vfs, "/absent/x"), Err(Errno::ENOENT));
        assert_eq!(node(&vfs, "/lib/libc.so/x"), Err(Errno::ENOTDIR));
        assert_eq!(node(&vfs, "/lib/libc.so/"), Err(Errno::ENOTDIR));
        assert_eq!(node(&vfs, "/loop"), Err(Errno::ELOOP));
        assert_eq!(node(&vfs, &"a".repeat(256)), Err(Errno::ENAMETOOLONG));
        assert_eq!(node(&vfs, &"/a".repeat(3000)), Err(Errno::ENAMETOOLONG));
        assert_eq!(
            vfs.path_of(node(&vfs, "/lib").expect("a link").expect("to a directory")),
            b"/usr/lib"
        );
        assert_eq!(vfs.path_of(ROOT), b"/");
    }

    #[test]
    fn memory_files_obey_the_limit_and_live_while_held() {
        let mut vfs = tree();
        let found = vfs.resolve(ROOT, b"/tmp/a", true).expect("a free name");
        let file = vfs.create(&found, NewNode::File, 0o644, 1).expect("writable");
        assert_eq!(vfs.write_at(file, 10, &[7; 5], 2), Ok(5));
        assert_eq!(vfs.bytes(file).expect("a file")[8..12], [0, 0, 7, 7]);
        assert_eq!(vfs.write_at(file, 900, &[7; 200], 2), Ok(100));
        assert_eq!(vfs.write_at(file, 1000, &[7], 2), Err(Errno::ENOSPC));
        assert_eq!(vfs.set_length(file, 1001, 2), Err(Errno::ENOSPC));
        vfs.hold(file);
        let found = vfs.resolve(ROOT, b"/tmp/a", true).expect("there");
        vfs.remove(&found, false).expect("a file");
        assert_eq!((node(&vfs, "/tmp/a"), vfs.memory_bytes), (Ok(None), 1000));
        vfs.release(file);
        assert_eq!((vfs.node(file), vfs.memory_bytes), (None, 0));
        let found = vfs.resolve(ROOT, b"/usr/lib/new", true).expect("a free name");
        assert_eq!(vfs.create(&found, NewNode::File, 0, 0), Err(Errno::EROFS));
    }

    #[test]
    fn rename_moves_replaces_and_refuses() {
        let mut vfs = tree();
        let make = |vfs: &mut Vfs, path: &str, kind| {
            let found = vfs.resolve(ROOT, path.as_bytes(), true).expect("a path");
            vfs.create(&found, kind, 0o755, 0).expect("writable")
        };
        let folder = make(&mut vfs, "/tmp/d", NewNode::Directory);
        let file = make(&mut vfs, "/tmp/d/f", NewNode::File);
        let rename = |vfs: &mut Vfs, from: &str, to: &str| {
            let from = vfs.resolve(ROOT, from.as_bytes(), false).expect("a path");
            let to = vfs.resolve(ROOT, to.as_bytes(), false).expect("a path");
            vfs.rename(&from, &to, true)
        };
        assert_eq!(rename(&mut vfs, "/tmp/d", "/tmp/d/inner"), Err(Errno::EINVAL));
        assert_eq!(rename(&mut vfs, "/tmp/d/f", "/tmp/g"), Ok(()));
        assert_eq!(
            (node(&vfs, "/tmp/g"), node(&vfs, "/tmp/d/f")),
            (Ok(Some(file)), Ok(None))
        );
        assert_eq!(rename(&mut vfs, "/tmp/g", "/tmp/d"), Err(Errno::EISDIR));
        assert_eq!(rename(&mut vfs, "/tmp/g", "/usr/x"), Err(Errno::EROFS));
        make(&mut vfs, "/tmp/e", NewNode::Directory);
        assert_eq!(rename(&mut vfs, "/tmp/d", "/tmp/e/d"), Ok(()));
        assert_eq!(vfs.path_of(folder), b"/tmp/e/d");
        assert_eq!(rename(&mut vfs, "/tmp/e/d/../d", "/tmp/e"), Err(Errno::ENOTEMPTY));
    }
}
