//! Descriptors: seeking, closing, duplicating, flags, and the calls that make or resize files.

use super::granted::Target;
use super::{Answer, Done, ZERO, value};
use crate::bounds::CLOSES;
use crate::errno::Errno;
use crate::fs::files::{FileKind, O_APPEND, O_NONBLOCK, O_PATH};
use crate::fs::granted::How;
use crate::fs::vfs::{NodeKind, ProcFile};
use crate::kernel::Kernel;
use crate::machine::Machine;

/// `O_LARGEFILE`, which F_GETFL shows for every opened path.
const O_LARGEFILE: u32 = 0o100_000;

impl Kernel {
    /// The length of a seekable file.
    fn length_of(&self, file: usize) -> Result<u64, Errno> {
        match &self.files.file(file).ok_or(Errno::EBADF)?.kind {
            FileKind::Regular { node, .. } => self.vfs.length(*node),
            FileKind::Text { bytes, .. } => Ok(bytes.len() as u64),
            FileKind::Granted(granted) if granted.folder => Ok(0),
            FileKind::Granted(granted) => Ok(granted.opened()?.0.status()?.bytes),
            _ => Ok(0),
        }
    }

    pub(super) fn sys_lseek(&mut self, fd: u64, offset: u64, whence: u64) -> Answer {
        let file = self.files.get(fd)?;
        // The host is asked only when it matters.
        let length = match whence {
            0 | 1 => 0,
            _ => self.length_of(file)?,
        };
        let open = self.files.file_mut(file).ok_or(Errno::EBADF)?;
        let own = match &mut open.kind {
            FileKind::Regular { offset, .. } | FileKind::Text { offset, .. } => offset,
            FileKind::Directory { listed, .. } => listed,
            FileKind::Granted(granted) => &mut granted.offset,
            FileKind::Device(_)
            | FileKind::Event { .. }
            | FileKind::Timer { .. }
            | FileKind::Epoll { .. } => {
                return ZERO;
            }
            _ => return Err(Errno::ESPIPE),
        };
        let base = match whence {
            0 => 0,
            1 => *own,
            2 => length,
            // All bytes are data, and the only hole is behind the end.
            3 | 4 if offset >= length => return Err(Errno::ENXIO),
            3 => 0,
            4 => {
                *own = length;
                return value(length);
            }
            _ => return Err(Errno::EINVAL),
        };
        let target = (base as i64)
            .checked_add(offset as i64)
            .filter(|&at| at >= 0)
            .ok_or(Errno::EINVAL)?;
        *own = target as u64;
        value(target as u64)
    }

    pub(super) fn sys_close(&mut self, fd: u64) -> Answer {
        let node = self.files.close(fd)?;
        self.release(node);
        ZERO
    }

    pub(super) fn sys_close_range(&mut self, first: u64, last: u64, flags: u64) -> Answer {
        let (first, last) = (first as u32, last as u32);
        if first > last || flags & !6 != 0 {
            return Err(Errno::EINVAL);
        }
        let range = first as usize..=last as usize;
        let chosen: Vec<usize> = self
            .files
            .numbers()
            .filter(|number| range.contains(number))
            .collect();
        if flags & 4 != 0 {
            for number in chosen {
                self.files
                    .descriptor_mut(number as u64)
                    .into_iter()
                    .for_each(|d| d.close_on_exec = true);
            }
            return ZERO;
        }
        for &number in chosen.iter().take(CLOSES) {
            self.sys_close(number as u64)?;
        }
        if chosen.len() > CLOSES {
            return Err(Errno::UNFINISHED);
        }
        ZERO
    }

    pub(super) fn sys_dup(&mut self, fd: u64, from: u64, close_on_exec: bool) -> Answer {
        let file = self.files.get(fd)?;
        if from >= self.limits.descriptors as u64 {
            return Err(Errno::EINVAL);
        }
        value(self.files.attach(file, from as usize, close_on_exec)?)
    }

    pub(super) fn sys_dup_to(&mut self, fd: u64, target: u64, flags: Option<u64>) -> Answer {
        let target = u64::from(target as u32);
        if flags.is_some_and(|flags| flags & !0o200_0000 != 0) {
            return Err(Errno::EINVAL);
        }
        if u64::from(fd as u32) == target {
            return if flags.is_some() {
                Err(Errno::EINVAL)
            } else {
                self.files.get(fd).and(value(target))
            };
        }
        let file = self.files.get(fd)?;
        let node = self.files.attach_at(file, target, flags.unwrap_or(0) != 0)?;
        self.release(node);
        value(target)
    }

    pub(super) fn sys_fcntl(&mut self, m: &mut impl Machine, fd: u64, command: u64, argument: u64) -> Answer {
        let file = self.files.get(fd)?;
        match command {
            0 => self.sys_dup(fd, u64::from(argument as u32), false),
            1030 => self.sys_dup(fd, u64::from(argument as u32), true),
            1 => value(u64::from(
                self.files.descriptor_mut(fd).is_some_and(|d| d.close_on_exec),
            )),
            2 => {
                self.files
                    .descriptor_mut(fd)
                    .into_iter()
                    .for_each(|d| d.close_on_exec = argument & 1 != 0);
                ZERO
            }
            3 => value(u64::from(self.files.file(file).ok_or(Errno::EBADF)?.flags)),
            4 => {
                let open = self.files.file_mut(file).ok_or(Errno::EBADF)?;
                let settable = O_NONBLOCK | O_APPEND;
                open.flags = open.flags & !settable | argument as u32 & settable;
                ZERO
            }
            // Others may have the file open as well, and nothing here would hold them off.
            5..=7 | 36..=38 if self.files.granted(file).is_some() => Err(Errno::ENOLCK),
            // Locks: one process never conflicts with itself.
            5 | 36 => self.space.write(m, argument, &2_u16.to_le_bytes()).and(ZERO),
            6 | 7 | 37 | 38 => ZERO,
            1031 | 1032 if matches!(self.files.file(file).map(|f| &f.kind), Some(FileKind::Stream(s)) if !s.socket) => {
                value(crate::fs::files::STREAM_BYTES as u64)
            }
            1031 | 1032 => Err(Errno::EBADF),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn sys_ioctl(&mut self, m: &mut impl Machine, fd: u64, request: u64, argument: u64) -> Answer {
        let file = self.files.get(fd)?;
        match request as u32 {
            0x5421 => {
                let on = self.space.read_u32(m, argument)? != 0;
                let open = self.files.file_mut(file).ok_or(Errno::EBADF)?;
                open.flags = if on {
                    open.flags | O_NONBLOCK
                } else {
                    open.flags & !O_NONBLOCK
                };
                ZERO
            }
            0x5450 | 0x5451 => {
                let on = request as u32 == 0x5451;
                self.files
                    .descriptor_mut(fd)
                    .into_iter()
                    .for_each(|d| d.close_on_exec = on);
                ZERO
            }
            0x541b => {
                let open = self.files.file(file).ok_or(Errno::EBADF)?;
                let waiting = match &open.kind {
                    FileKind::Input => self.files.stdio.unread(),
                    FileKind::Stream(stream) => stream
                        .incoming
                        .as_ref()
                        .map_or(0, std::collections::VecDeque::len),
                    FileKind::Regular { node, offset } => {
                        self.vfs.length(*node)?.saturating_sub(*offset) as usize
                    }
                    FileKind::Granted(granted) => {
                        let length = granted.opened()?.0.status()?.bytes;
                        length.saturating_sub(granted.offset) as usize
                    }
                    _ => return Err(Errno::ENOTTY),
                };
                self.space
                    .write(m, argument, &(waiting as u32).to_le_bytes())
                    .and(ZERO)
            }
            _ => Err(Errno::ENOTTY),
        }
    }

    /// Gives two descriptions descriptors and writes their numbers; on failure neither stays.
    pub(super) fn install_pair(
        &mut self,
        m: &mut impl Machine,
        pair: (usize, usize),
        address: u64,
        cloexec: bool,
    ) -> Answer {
        let first = self.files.attach(pair.0, 0, cloexec);
        let second = self.files.attach(pair.1, 0, cloexec);
        let written = match (&first, &second) {
            (Ok(first), Ok(second)) => {
                let bytes = [*first as u32, *second as u32].map(u32::to_le_bytes);
                self.space.write(m, address, bytes.as_flattened())
            }
            (Err(errno), _) | (_, Err(errno)) => Err(*errno),
        };
        if let Err(errno) = written {
            for fd in [first, second].into_iter().flatten() {
                self.files.close(fd)?;
            }
            return Err(errno);
        }
        ZERO
    }

    pub(super) fn sys_pipe(&mut self, m: &mut impl Machine, address: u64, flags: u64) -> Answer {
        // O_CLOEXEC, O_NONBLOCK; O_DIRECT would keep packets apart.
        if flags & !0o200_4000 != 0 {
            return Err(Errno::EINVAL);
        }
        let pair = self.files.add_pipe(flags as u32 & O_NONBLOCK);
        self.install_pair(m, pair, address, flags & 0o200_0000 != 0)
    }

    pub(super) fn sys_fsync(&self, fd: u64) -> Answer {
        match self.files.granted(self.files.get(fd)?) {
            Some(granted) => granted.opened()?.0.sync().and(ZERO),
            None => ZERO,
        }
    }

    pub(super) fn sys_flock(&self, fd: u64) -> Answer {
        match self.files.granted(self.files.get(fd)?) {
            // As `fcntl`'s locks.
            Some(_) => Err(Errno::ENOLCK),
            None => ZERO,
        }
    }

    pub(super) fn sys_ftruncate(&mut self, fd: u64, length: u64, m: &mut impl Machine) -> Answer {
        let now = self.clock.realtime(m.ticks());
        let open = self.files.file(self.files.get(fd)?).ok_or(Errno::EBADF)?;
        match open.kind {
            FileKind::Regular { node, .. } if open.writable() && (length as i64) >= 0 => {
                self.vfs.set_length(node, length, now).map_err(too_big).and(ZERO)
            }
            FileKind::Granted(ref granted) if open.writable() && (length as i64) >= 0 => {
                let opened = granted.opened()?;
                opened.0.set_length(length).map_err(too_big).and(ZERO)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn sys_truncate(&mut self, m: &mut impl Machine, path: u64, length: u64) -> Answer {
        if (length as i64) < 0 {
            return Err(Errno::EINVAL);
        }
        let now = self.clock.realtime(m.ticks());
        let node = match self.existing(m, super::paths::CURRENT, path, 0)? {
            Target::Node(node) => node,
            Target::Granted(below) => {
                let how = How {
                    write: true,
                    ..How::default()
                };
                let opened = self.host_folder(&below)?.open(below.host_path(), how)?;
                return opened.0.set_length(length).map_err(too_big).and(ZERO);
            }
        };
        match self.vfs.node(node).map(|node| &node.kind) {
            Some(NodeKind::Directory { .. }) => Err(Errno::EISDIR),
            Some(NodeKind::Memory(_)) => self.vfs.set_length(node, length, now).map_err(too_big).and(ZERO),
            _ => Err(Errno::EROFS),
        }
    }

    pub(super) fn sys_fallocate(
        &mut self,
        m: &mut impl Machine,
        fd: u64,
        mode: u64,
        offset: u64,
        length: u64,
    ) -> Answer {
        let now = self.clock.realtime(m.ticks());
        let open = self.files.file(self.files.get(fd)?).ok_or(Errno::EBADF)?;
        if (offset as i64) < 0 || (length as i64) <= 0 {
            return Err(Errno::EINVAL);
        }
        match open.kind {
            _ if !open.writable() => Err(Errno::EBADF),
            FileKind::Regular { node, .. } if mode == 0 => {
                let end = offset.saturating_add(length);
                if end > i64::MAX as u64 {
                    return Err(Errno::EFBIG);
                }
                if end > self.vfs.length(node)? {
                    self.vfs.set_length(node, end, now)?;
                }
                ZERO
            }
            FileKind::Granted(ref granted) if mode == 0 => {
                let end = offset.saturating_add(length);
                if end > i64::MAX as u64 {
                    return Err(Errno::EFBIG);
                }
                let opened = granted.opened()?;
                if end > opened.0.status()?.bytes {
                    opened.0.set_length(end)?;
                }
                ZERO
            }
            FileKind::Regular { .. } | FileKind::Granted(_) => Err(Errno::EOPNOTSUPP),
            FileKind::Stream(_) => Err(Errno::ESPIPE),
            _ => Err(Errno::ENODEV),
        }
    }

    pub(super) fn sys_memfd_create(&mut self, m: &mut impl Machine, name: u64, flags: u64) -> Answer {
        self.space
            .read_string(m, name, 250)
            .map_err(|errno| match errno {
                Errno::ENAMETOOLONG => Errno::EINVAL,
                other => other,
            })?;
        if flags & !3 != 0 {
            return Err(Errno::EINVAL);
        }
        let node = self.vfs.create_unnamed()?;
        self.vfs.hold(node);
        let file = self
            .files
            .add(FileKind::Regular { node, offset: 0 }, 2 | O_LARGEFILE);
        self.files
            .attach(file, 0, flags & 1 != 0)
            .map(Done::Value)
            .inspect_err(|_| self.vfs.release(node))
    }

    /// Opens a file whose text is made now, piece by piece in a description that has no descriptor before it is whole.
    fn open_text(&mut self, m: &mut impl Machine, made: ProcFile, flags: u32, cloexec: bool) -> Answer {
        let file = match self.moved() {
            0 => self.files.add_text(flags),
            kept => kept as usize - 1,
        };
        let (text, next) = self.proc_text(m, made, self.files.text_begun(file)?);
        self.files.extend_text(file, &text, next)?;
        if next.is_some() {
            return self.unfinished(file as u64 + 1);
        }
        self.files.attach(file, 0, cloexec).map(Done::Value)
    }

    /// Opens a node. `flags` are those of `open`.
    pub(super) fn open_node(&mut self, m: &mut impl Machine, node: usize, flags: u64) -> Answer {
        let shown = flags as u32 & (3 | O_NONBLOCK | O_APPEND | O_PATH | 0o20_0000) | O_LARGEFILE;
        let kind = match &self.vfs.node(node).ok_or(Errno::ENOENT)?.kind {
            NodeKind::Directory { entries, .. } => FileKind::Directory {
                node,
                listed: 0,
                end: entries.end(),
            },
            NodeKind::Host(_) | NodeKind::Memory(_) => FileKind::Regular { node, offset: 0 },
            NodeKind::Device(device) => FileKind::Device(*device),
            NodeKind::Proc(file) => {
                let file = *file;
                return self.open_text(m, file, shown, flags & 0o200_0000 != 0);
            }
            NodeKind::Link(_) if flags as u32 & O_PATH != 0 => FileKind::Regular { node, offset: 0 },
            NodeKind::Link(_) => return Err(Errno::ELOOP),
            // A path that leads there is the host's affair.
            NodeKind::Granted(_) => return Err(Errno::EIO),
        };
        let holds = matches!(kind, FileKind::Directory { .. } | FileKind::Regular { .. });
        let file = self.files.add(kind, shown);
        if holds {
            self.vfs.hold(node);
        }
        self.files
            .attach(file, 0, flags & 0o200_0000 != 0)
            .map(Done::Value)
            .inspect_err(|_| {
                if holds {
                    self.vfs.release(node);
                }
            })
    }
}

/// A file of this length would not fit: for a length that was asked for, Linux says EFBIG.
fn too_big(errno: Errno) -> Errno {
    if errno == Errno::ENOSPC {
        Errno::EFBIG
    } else {
        errno
    }
}
