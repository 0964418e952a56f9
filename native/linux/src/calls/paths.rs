//! Calls that take paths.

use super::{Answer, Done, ZERO, value};
use crate::bounds::LISTING;
use crate::errno::Errno;
use crate::fs::files::{FileKind, O_PATH};
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
    fn start(&self, folder: u64, path: &[u8]) -> Result<usize, Errno> {
        if path.first() == Some(&b'/') || folder as u32 == CURRENT as u32 {
            return Ok(self.folder());
        }
        match self.files.file(self.files.get(folder)?).map(|open| &open.kind) {
            Some(FileKind::Directory { node, .. }) => Ok(*node),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn find(&self, m: &mut impl Machine, folder: u64, address: u64, follow: bool) -> Result<Found, Errno> {
        let path = self.path(m, address)?;
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        self.vfs.resolve(self.start(folder, &path)?, &path, follow)
    }

    /// The node at a path that must exist.
    pub(super) fn existing(
        &self,
        m: &mut impl Machine,
        folder: u64,
        address: u64,
        flags: u64,
    ) -> Result<usize, Errno> {
        self.find(m, folder, address, flags & NO_FOLLOW == 0)?
            .node
            .ok_or(Errno::ENOENT)
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
        let now = self.clock.realtime(m.ticks());
        let umask = self.process.umask;
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
        let node = if flags & EMPTY_PATH != 0 && (path == 0 || self.path(m, path)?.is_empty()) {
            self.folder()
        } else {
            self.existing(m, folder, path, flags)?
        };
        let status = self.status_of_node(node)?;
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
                true => self.status_of_node(self.folder())?,
                false => self.status_of_file(self.files.get(folder)?)?,
            }
        } else {
            self.status_of_node(self.existing(m, folder, path, flags)?)?
        };
        self.space.write(m, into, &status.statx_bytes()).and(ZERO)
    }

    pub(super) fn sys_statfs(&mut self, m: &mut impl Machine, path: u64, into: u64) -> Answer {
        self.existing(m, CURRENT, path, 0)?;
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
        let node = self.existing(m, folder, path, 0)?;
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
            None => {
                let node = self.existing(m, folder, path, NO_FOLLOW)?;
                match self.vfs.node(node).map(|node| &node.kind) {
                    Some(NodeKind::Link(target)) => target.to_vec(),
                    _ => return Err(Errno::EINVAL),
                }
            }
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
        let mut path = self.vfs.path_of(self.process.folder)?;
        path.push(0);
        if path.len() as u64 > length {
            return Err(Errno::ERANGE);
        }
        self.space.write(m, into, &path)?;
        value(path.len() as u64)
    }

    pub(super) fn sys_chdir(&mut self, m: &mut impl Machine, path: u64) -> Answer {
        let node = self.existing(m, CURRENT, path, 0)?;
        self.change_folder(node)
    }

    pub(super) fn sys_fchdir(&mut self, fd: u64) -> Answer {
        match self.files.file(self.files.get(fd)?).map(|open| &open.kind) {
            Some(FileKind::Directory { node, .. }) => self.change_folder(*node),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn change_folder(&mut self, node: usize) -> Answer {
        if !self.vfs.is_directory(node) {
            return Err(Errno::ENOTDIR);
        }
        self.vfs.hold(node);
        let old = std::mem::replace(&mut self.process.folder, node);
        self.vfs.release(old);
        ZERO
    }

    pub(super) fn sys_mkdir(&mut self, m: &mut impl Machine, folder: u64, path: u64, mode: u64) -> Answer {
        let found = self.find(m, folder, path, false)?;
        let now = self.clock.realtime(m.ticks());
        let mode = mode as u32 & !self.process.umask & 0o1777;
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
        self.vfs.rename(&from, &to, flags == 0).and(ZERO)
    }

    pub(super) fn sys_chmod(&mut self, m: &mut impl Machine, folder: u64, path: u64, mode: u64) -> Answer {
        let node = self.existing(m, folder, path, 0)?;
        self.vfs.set_mode(node, mode as u32).and(ZERO)
    }

    pub(super) fn sys_fchmod(&mut self, fd: u64, mode: u64) -> Answer {
        match self.files.file(self.files.get(fd)?).map(|open| &open.kind) {
            Some(FileKind::Regular { node, .. } | FileKind::Directory { node, .. }) => {
                self.vfs.set_mode(*node, mode as u32).and(ZERO)
            }
            _ => ZERO,
        }
    }

    pub(super) fn sys_getdents(&mut self, m: &mut impl Machine, fd: u64, into: u64, length: u64) -> Answer {
        let file = self.files.get(fd)?;
        let Some(FileKind::Directory { node, listed, end }) = self.files.file(file).map(|open| &open.kind)
        else {
            return Err(Errno::ENOTDIR);
        };
        let (folder, first) = (*node, *listed);
        let Some(Node {
            kind: NodeKind::Directory { entries, parent, .. },
            ..
        }) = self.vfs.node(folder)
        else {
            return Err(Errno::ENOENT);
        };
        // A listing ends where the directory ended when it began, or names that move while it goes on would never end.
        let end = if first == 0 { entries.end() } else { *end };
        let dots = [(0, &b"."[..], folder), (1, &b".."[..], *parent)].into_iter();
        let mut rest = dots
            .filter(|entry| entry.0 >= first)
            .chain(entries.from(first))
            .take_while(|entry| entry.0 < end)
            .peekable();
        let limit = length.min(LISTING) as usize;
        let mut bytes = Vec::new();
        let mut next = first;
        while let Some(&(place, name, node)) = rest.peek() {
            let size = (19 + name.len() + 1).next_multiple_of(8);
            if bytes.len() + size > limit {
                break;
            }
            rest.next();
            next = place + 1;
            let kind = self
                .vfs
                .node(node)
                .map_or(0, |node| super::status::file_type(&node.kind) >> 12);
            let start = bytes.len();
            bytes.extend((node as u64 + 1).to_le_bytes());
            bytes.extend(next.to_le_bytes());
            bytes.extend((size as u16).to_le_bytes());
            bytes.push(kind as u8);
            bytes.extend(name);
            bytes.resize(start + size, 0);
        }
        if bytes.is_empty() && rest.peek().is_some() {
            return Err(Errno::EINVAL);
        }
        self.space.write(m, into, &bytes)?;
        if let Some(open) = self.files.file_mut(file)
            && let FileKind::Directory {
                listed, end: kept, ..
            } = &mut open.kind
        {
            (*listed, *kept) = (next, end);
        }
        Ok(Done::Value(bytes.len() as u64))
    }
}
