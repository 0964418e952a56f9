//! Calls that take paths.

use super::granted::Target;
use super::{Answer, ZERO, value};
use crate::errno::Errno;
use crate::fs::files::{FileKind, O_PATH};
use crate::fs::granted::Below;
use crate::fs::vfs::{Found, NewNode, Node, NodeKind, PATH_MAX};
use crate::kernel::Kernel;
use crate::machine::Machine;

/// `AT_FDCWD`.
pub(super) const CURRENT: u64 = -100_i64 as u64;
/// `AT_SYMLINK_NOFOLLOW`.
pub(super) const NO_FOLLOW: u64 = 0x100;
/// `AT_EMPTY_PATH`.
const EMPTY_PATH: u64 = 0x1000;

impl Kernel {
    fn path(&self, m: &mut impl Machine, address: u64) -> Result<Vec<u8>, Errno> {
        self.space.read_string(m, address, PATH_MAX)
    }

    /// The directory that a relative path starts from.
    fn start(&self, folder: u64, path: &[u8]) -> Result<Below, Errno> {
        if path.first() == Some(&b'/') || folder as u32 == CURRENT as u32 {
            return Ok(self.folder());
        }
        match self.files.file(self.files.get(folder)?).map(|open| &open.kind) {
            Some(FileKind::Directory { node, .. }) => Ok(Below {
                node: *node,
                path: Vec::new(),
            }),
            Some(FileKind::Granted(granted)) if granted.folder => Ok(granted.below.clone()),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn find(&self, m: &mut impl Machine, folder: u64, address: u64, follow: bool) -> Result<Found, Errno> {
        let path = self.path(m, address)?;
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        self.vfs.resolve_from(&self.start(folder, &path)?, &path, follow)
    }

    /// What is at a path that must exist.
    pub(super) fn existing(
        &self,
        m: &mut impl Machine,
        folder: u64,
        address: u64,
        flags: u64,
    ) -> Result<Target, Errno> {
        Target::of(self.find(m, folder, address, flags & NO_FOLLOW == 0)?)
    }

    /// A path that leads to the node, for the eyes of the guest.
    ///
    /// # Errors
    /// ENAMETOOLONG when it is longer than a path may be.
    pub(super) fn name_of(&self, node: usize) -> Result<Vec<u8>, Errno> {
        self.vfs.path_of(node).or_else(|errno| match errno {
            Errno::ENOENT => Ok(b"/memfd: (deleted)".to_vec()),
            other => Err(other),
        })
    }

    pub(super) fn sys_open(
        &mut self,
        m: &mut impl Machine,
        folder: u64,
        path: u64,
        flags: u64,
        mode: u64,
    ) -> Answer {
        const CREATE: u64 = 0o100;
        const EXCLUSIVE: u64 = 0o200;
        const TRUNCATE: u64 = 0o1000;
        const DIRECTORY: u64 = 0o20_0000;
        const NO_LINKS: u64 = 0o40_0000;
        const UNNAMED: u64 = 0o2000_0000;
        let name_only = flags & u64::from(O_PATH) != 0;
        let follow = flags & NO_LINKS == 0 && flags & (CREATE | EXCLUSIVE) != CREATE | EXCLUSIVE;
        let found = self.find(m, folder, path, follow)?;
        let umask = self.process.umask;
        if let Some(below) = found.granted {
            return self.open_granted(below, flags, mode as u32 & !umask);
        }
        let now = self.clock.realtime(m.ticks());
        let writes = flags & 3 != 0;
        if flags & UNNAMED != 0 {
            let folder = found
                .node
                .filter(|&node| self.vfs.is_directory(node))
                .ok_or(Errno::ENOTDIR)?;
            if !writes {
                return Err(Errno::EINVAL);
            }
            if !self.vfs.is_writable(folder) {
                return Err(Errno::EROFS);
            }
            let node = self.vfs.create_unnamed()?;
            return self.open_node(m, node, flags);
        }
        let node = match found.node {
            Some(_) if flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE && !name_only => {
                return Err(Errno::EEXIST);
            }
            Some(node) => node,
            None if flags & CREATE != 0 && !name_only => {
                if found.slash {
                    return Err(Errno::EISDIR);
                }
                let node = self
                    .vfs
                    .create(&found, NewNode::File, mode as u32 & !umask, now)?;
                return self.open_node(m, node, flags);
            }
            None => return Err(Errno::ENOENT),
        };
        let is_link = matches!(
            self.vfs.node(node),
            Some(Node {
                kind: NodeKind::Link(_),
                ..
            })
        );
        if self.vfs.is_directory(node) {
            if writes && !name_only || flags & CREATE != 0 {
                return Err(Errno::EISDIR);
            }
        } else if flags & DIRECTORY != 0 {
            return Err(Errno::ENOTDIR);
        } else if is_link && !name_only {
            return Err(Errno::ELOOP);
        } else if (writes || flags & TRUNCATE != 0) && !name_only {
            match self.vfs.node(node).map(|node| &node.kind) {
                Some(NodeKind::Proc(_)) => return Err(Errno::EACCES),
                _ if !self.vfs.is_writable(node) => return Err(Errno::EROFS),
                Some(NodeKind::Memory(_)) if flags & TRUNCATE != 0 => self.vfs.set_length(node, 0, now)?,
                _ => {}
            }
        }
        self.open_node(m, node, flags)
    }

    pub(super) fn sys_stat(
        &mut self,
        m: &mut impl Machine,
        folder: u64,
        path: u64,
        into: u64,
        flags: u64,
    ) -> Answer {
        if flags & !(NO_FOLLOW | EMPTY_PATH | 0x800) != 0 {
            return Err(Errno::EINVAL);
        }
        if flags & EMPTY_PATH != 0
            && (path == 0 || self.path(m, path)?.is_empty())
            && folder as u32 != CURRENT as u32
        {
            return self.sys_fstat(m, folder, into);
        }
        let target = if flags & EMPTY_PATH != 0 && (path == 0 || self.path(m, path)?.is_empty()) {
            self.current_folder()
        } else {
            self.existing(m, folder, path, flags)?
        };
        let status = self.status_of(&target, flags & NO_FOLLOW == 0)?;
        self.space.write(m, into, &status.stat_bytes()).and(ZERO)
    }

    pub(super) fn sys_fstat(&mut self, m: &mut impl Machine, fd: u64, into: u64) -> Answer {
        let status = self.status_of_file(self.files.get(fd)?)?;
        self.space.write(m, into, &status.stat_bytes()).and(ZERO)
    }

    pub(super) fn sys_statx(
        &mut self,
        m: &mut impl Machine,
        folder: u64,
        path: u64,
        flags: u64,
        mask: u64,
        into: u64,
    ) -> Answer {
        if flags & !(NO_FOLLOW | EMPTY_PATH | 0x800 | 0x6000) != 0 || mask & 0x8000_0000 != 0 {
            return Err(Errno::EINVAL);
        }
        let name = self.path(m, path)?;
        let status = if name.is_empty() && flags & EMPTY_PATH != 0 {
            match folder as u32 == CURRENT as u32 {
                true => self.status_of(&self.current_folder(), true)?,
                false => self.status_of_file(self.files.get(folder)?)?,
            }
        } else {
            let target = self.existing(m, folder, path, flags)?;
            self.status_of(&target, flags & NO_FOLLOW == 0)?
        };
        self.space.write(m, into, &status.statx_bytes()).and(ZERO)
    }

    pub(super) fn sys_statfs(&mut self, m: &mut impl Machine, path: u64, into: u64) -> Answer {
        let target = self.existing(m, CURRENT, path, 0)?;
        self.status_of(&target, true)?;
        self.write_statfs(m, into)
    }

    pub(super) fn sys_fstatfs(&mut self, m: &mut impl Machine, fd: u64, into: u64) -> Answer {
        self.files.get(fd)?;
        self.write_statfs(m, into)
    }

    fn write_statfs(&mut self, m: &mut impl Machine, into: u64) -> Answer {
        let blocks = self.limits.file_bytes / 4096;
        let free = self.limits.file_bytes.saturating_sub(self.vfs.memory_bytes) / 4096;
        let nodes = self.limits.file_nodes as u64;
        // A tmpfs.
        let words = [
            0x0102_1994,
            4096,
            blocks,
            free,
            free,
            nodes,
            nodes,
            0,
            255,
            4096,
            0x20,
            0,
            0,
            0,
            0,
        ];
        self.space.write_words(m, into, words).and(ZERO)
    }

    pub(super) fn sys_access(&mut self, m: &mut impl Machine, folder: u64, path: u64, mode: u64) -> Answer {
        if mode & !7 != 0 {
            return Err(Errno::EINVAL);
        }
        let node = match self.existing(m, folder, path, 0)? {
            Target::Node(node) => node,
            Target::Granted(below) => return self.access_granted(&below, mode),
        };
        if mode & 2 != 0 && !self.vfs.is_writable(node) {
            return Err(Errno::EROFS);
        }
        let bits = self.vfs.node(node).map_or(0, |node| node.mode);
        if mode & 1 != 0 && bits & 0o111 == 0 {
            Err(Errno::EACCES)
        } else {
            ZERO
        }
    }

    pub(super) fn sys_readlink(
        &mut self,
        m: &mut impl Machine,
        folder: u64,
        path: u64,
        into: u64,
        length: u64,
    ) -> Answer {
        if (length as i32) <= 0 {
            return Err(Errno::EINVAL);
        }
        let name = self.path(m, path)?;
        let target = match name
            .strip_prefix(b"/proc/self/fd/")
            .or(name.strip_prefix(b"/dev/fd/"))
        {
            Some(number) => self.descriptor_name(number)?,
            None => match self.existing(m, folder, path, NO_FOLLOW)? {
                Target::Granted(below) => self.host_folder(&below)?.link_target(below.host_path())?,
                Target::Node(node) => match self.vfs.node(node).map(|node| &node.kind) {
                    Some(NodeKind::Link(target)) => target.to_vec(),
                    _ => return Err(Errno::EINVAL),
                },
            },
        };
        let count = target.len().min(length as u32 as usize);
        self.space.write(m, into, &target[..count])?;
        value(count as u64)
    }

    fn descriptor_name(&self, number: &[u8]) -> Result<Vec<u8>, Errno> {
        let number: u64 = std::str::from_utf8(number)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or(Errno::ENOENT)?;
        let file = self.files.get(number).map_err(|_| Errno::ENOENT)?;
        Ok(match self.files.file(file).map(|open| &open.kind) {
            Some(FileKind::Regular { node, .. } | FileKind::Directory { node, .. }) => self.name_of(*node)?,
            Some(FileKind::Granted(granted)) => self.name_below(&granted.below)?,
            Some(FileKind::Socket(_) | FileKind::Netlink(_)) => format!("socket:[{file}]").into_bytes(),
            Some(FileKind::Stream(stream)) if stream.socket => format!("socket:[{file}]").into_bytes(),
            Some(FileKind::Device(_)) => b"/dev/null".to_vec(),
            Some(FileKind::Event { .. }) => b"anon_inode:[eventfd]".to_vec(),
            Some(FileKind::Epoll { .. }) => b"anon_inode:[eventpoll]".to_vec(),
            Some(FileKind::Timer { .. }) => b"anon_inode:[timerfd]".to_vec(),
            _ => format!("pipe:[{file}]").into_bytes(),
        })
    }

    pub(super) fn sys_getcwd(&mut self, m: &mut impl Machine, into: u64, length: u64) -> Answer {
        let mut path = self.name_below(&Below {
            node: self.process.folder,
            path: self.process.below.clone(),
        })?;
        path.push(0);
        if path.len() as u64 > length {
            return Err(Errno::ERANGE);
        }
        self.space.write(m, into, &path)?;
        value(path.len() as u64)
    }

    pub(super) fn sys_chdir(&mut self, m: &mut impl Machine, path: u64) -> Answer {
        match self.existing(m, CURRENT, path, 0)? {
            Target::Node(node) => self.change_folder(Below {
                node,
                path: Vec::new(),
            }),
            Target::Granted(below) => {
                let place = self.real_place(below)?;
                self.change_folder(place)
            }
        }
    }

    pub(super) fn sys_fchdir(&mut self, fd: u64) -> Answer {
        match self.files.file(self.files.get(fd)?).map(|open| &open.kind) {
            Some(FileKind::Directory { node, .. }) => self.change_folder(Below {
                node: *node,
                path: Vec::new(),
            }),
            Some(FileKind::Granted(granted)) if granted.folder => {
                let place = self.real_place(granted.below.clone())?;
                self.change_folder(place)
            }
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn change_folder(&mut self, to: Below) -> Answer {
        if !self.vfs.is_directory(to.node) && !self.vfs.is_granted(to.node) {
            return Err(Errno::ENOTDIR);
        }
        self.vfs.hold(to.node);
        let old = std::mem::replace(&mut self.process.folder, to.node);
        if self.process.below != to.path {
            self.process.below = to.path;
        }
        self.vfs.release(old);
        ZERO
    }

    pub(super) fn sys_mkdir(&mut self, m: &mut impl Machine, folder: u64, path: u64, mode: u64) -> Answer {
        let found = self.find(m, folder, path, false)?;
        let now = self.clock.realtime(m.ticks());
        let mode = mode as u32 & !self.process.umask & 0o1777;
        if let Some(below) = &found.granted {
            return self
                .host_folder(below)?
                .make_folder(below.host_path(), mode)
                .and(ZERO);
        }
        self.vfs.create(&found, NewNode::Directory, mode, now).and(ZERO)
    }

    pub(super) fn sys_symlink(
        &mut self,
        m: &mut impl Machine,
        target: u64,
        folder: u64,
        path: u64,
    ) -> Answer {
        let target = self.path(m, target)?;
        if target.is_empty() {
            return Err(Errno::ENOENT);
        }
        let found = self.find(m, folder, path, false)?;
        if found.granted.is_some() {
            // Somebody else of the host's may follow it.
            return Err(Errno::EPERM);
        }
        let now = self.clock.realtime(m.ticks());
        self.vfs
            .create(&found, NewNode::Link(target), 0o777, now)
            .and(ZERO)
    }

    pub(super) fn sys_unlink(&mut self, m: &mut impl Machine, folder: u64, path: u64, flags: u64) -> Answer {
        if flags & !0x200 != 0 {
            return Err(Errno::EINVAL);
        }
        let name = self.path(m, path)?;
        let found = self.find(m, folder, path, false)?;
        if flags != 0 && name.rsplit(|&byte| byte == b'/').find(|name| !name.is_empty()) == Some(b".") {
            return Err(Errno::EINVAL);
        }
        if let Some(below) = &found.granted {
            return self.remove_granted(below, flags != 0);
        }
        self.vfs.remove(&found, flags != 0).and(ZERO)
    }

    pub(super) fn sys_rename(
        &mut self,
        m: &mut impl Machine,
        from: [u64; 2],
        to: [u64; 2],
        flags: u64,
    ) -> Answer {
        if flags & !1 != 0 {
            return Err(Errno::EINVAL);
        }
        let from = self.find(m, from[0], from[1], false)?;
        let to = self.find(m, to[0], to[1], false)?;
        if from.granted.is_some() || to.granted.is_some() {
            return self.rename_granted(&from, &to, flags == 0);
        }
        self.vfs.rename(&from, &to, flags == 0).and(ZERO)
    }

    pub(super) fn sys_chmod(&mut self, m: &mut impl Machine, folder: u64, path: u64, mode: u64) -> Answer {
        match self.existing(m, folder, path, 0)? {
            Target::Node(node) => self.vfs.set_mode(node, mode as u32).and(ZERO),
            Target::Granted(below) => {
                let host = self.host_folder(&below)?;
                host.set_mode(below.host_path(), mode as u32).and(ZERO)
            }
        }
    }

    pub(super) fn sys_fchmod(&mut self, fd: u64, mode: u64) -> Answer {
        match self.files.file(self.files.get(fd)?).map(|open| &open.kind) {
            Some(FileKind::Regular { node, .. } | FileKind::Directory { node, .. }) => {
                self.vfs.set_mode(*node, mode as u32).and(ZERO)
            }
            Some(FileKind::Granted(granted)) => granted.opened()?.0.set_mode(mode as u32).and(ZERO),
            _ => ZERO,
        }
    }
}
