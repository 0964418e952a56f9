//! Reading, writing and descriptors.

use std::sync::Arc;

use super::{Answer, Done, ZERO, value};
use crate::action::{Action, Stop};
use crate::errno::Errno;
use crate::files::{FileKind, O_APPEND, O_NONBLOCK, O_PATH, event};
use crate::kernel::{Kernel, PID, UID};
use crate::limits::Limit;
use crate::machine::Machine;
use crate::signal::{Info, number::SIGPIPE};
use crate::stdio::Written;
use crate::threads::WaitFor;
use crate::vfs::{Device, NodeKind};

/// Most parts of a vector.
const PARTS_MAX: u64 = 1024;
/// Most bytes that one call moves, as on Linux.
const MOVE_MAX: u64 = 0x7fff_f000;
/// Bytes that a call moves at once where nothing else bounds it.
const CHUNK: usize = 1 << 16;
/// Most bytes that a vectored write takes at once.
const GATHER_MAX: u64 = 4 << 20;
/// `O_LARGEFILE`, which F_GETFL shows for every opened path.
const O_LARGEFILE: u32 = 0o100_000;

impl Kernel {
    /// The wait of a call that would block, or EAGAIN.
    pub(super) fn wait_or_again(&self, file: usize, events: u32, nonblocking: bool) -> Answer {
        if nonblocking {
            Err(Errno::EAGAIN)
        } else {
            Ok(Done::Wait(WaitFor::Files(vec![(file, events)]), None))
        }
    }

    /// Releases the node that a closed description held.
    pub(super) fn release(&mut self, node: Option<usize>) {
        node.into_iter().for_each(|node| self.vfs.release(node));
    }

    pub(super) fn sys_read(&mut self, m: &mut impl Machine, fd: u64, address: u64, count: u64) -> Answer {
        let file = self.files.get(fd)?;
        self.read_file(m, file, address, count.min(MOVE_MAX))
    }

    /// Reads at the description's own offset.
    fn read_file(&mut self, m: &mut impl Machine, file: usize, address: u64, count: u64) -> Answer {
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        if !open.readable() {
            return Err(Errno::EBADF);
        }
        let nonblocking = open.nonblocking();
        let limit = count as usize;
        match &open.kind {
            FileKind::Input => {
                let bytes = self.files.stdio.peek(limit);
                if bytes.is_empty() && limit > 0 {
                    return if self.files.stdio.ended {
                        ZERO
                    } else {
                        self.wait_or_again(file, event::IN, nonblocking)
                    };
                }
                let taken = bytes.len();
                self.space.write(m, address, bytes)?;
                self.files.stdio.consume(taken);
                value(taken as u64)
            }
            FileKind::Output | FileKind::Log => Err(Errno::EBADF),
            FileKind::Regular { offset, .. } | FileKind::Text { offset, .. } => {
                let offset = *offset;
                let done = self.read_at(m, file, address, limit, offset)?;
                if let Some(open) = self.files.file_mut(file)
                    && let FileKind::Regular { offset, .. } | FileKind::Text { offset, .. } = &mut open.kind
                {
                    *offset += done;
                }
                value(done)
            }
            FileKind::Directory { .. } => Err(Errno::EISDIR),
            FileKind::Device(device) => {
                let device = *device;
                self.read_device(m, device, address, limit)
            }
            FileKind::Stream(_) => match self.files.read_stream(file, limit, true) {
                Ok(bytes) => {
                    self.space.write(m, address, &bytes)?;
                    self.files.read_stream(file, bytes.len(), false)?;
                    value(bytes.len() as u64)
                }
                Err(Errno::EAGAIN) => self.wait_or_again(file, event::IN, nonblocking),
                Err(errno) => Err(errno),
            },
            FileKind::Event { count, semaphore } => {
                if limit < 8 {
                    return Err(Errno::EINVAL);
                }
                let taken = if *semaphore { 1.min(*count) } else { *count };
                if taken == 0 {
                    return self.wait_or_again(file, event::IN, nonblocking);
                }
                self.space.write(m, address, &taken.to_le_bytes())?;
                if let Some(open) = self.files.file_mut(file)
                    && let FileKind::Event { count, .. } = &mut open.kind
                {
                    *count -= taken;
                }
                self.files.note_change(file);
                value(8_u64)
            }
            FileKind::Timer { next, interval, .. } => {
                let (next, interval) = (*next, *interval);
                if limit < 8 {
                    return Err(Errno::EINVAL);
                }
                let now = self.now(m);
                if next == 0 || next > now {
                    return self.wait_or_again(file, event::IN, nonblocking);
                }
                let times = (now - next).checked_div(interval).map_or(1, |missed| missed + 1);
                self.space.write(m, address, &times.to_le_bytes())?;
                if let Some(open) = self.files.file_mut(file)
                    && let FileKind::Timer { next, .. } = &mut open.kind
                {
                    *next = if interval == 0 {
                        0
                    } else {
                        next.saturating_add(times.saturating_mul(interval))
                    };
                }
                value(8_u64)
            }
            FileKind::Epoll { .. } => Err(Errno::EINVAL),
        }
    }

    /// Reads a file at an offset without moving the description's own.
    fn read_at(
        &mut self,
        m: &mut impl Machine,
        file: usize,
        address: u64,
        limit: usize,
        offset: u64,
    ) -> Result<u64, Errno> {
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        if !open.readable() {
            return Err(Errno::EBADF);
        }
        let bytes = match &open.kind {
            FileKind::Regular { node, .. } => self.vfs.bytes(*node)?,
            FileKind::Text { bytes, .. } => bytes,
            FileKind::Directory { .. } => return Err(Errno::EISDIR),
            FileKind::Device(device) => {
                let device = *device;
                return match self.read_device(m, device, address, limit)? {
                    Done::Value(count) => Ok(count),
                    _ => Err(Errno::EIO),
                };
            }
            _ => return Err(Errno::ESPIPE),
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let part = &bytes[start..start + limit.min(bytes.len() - start)];
        self.space.write(m, address, part)?;
        Ok(part.len() as u64)
    }

    fn read_device(&mut self, m: &mut impl Machine, device: Device, address: u64, limit: usize) -> Answer {
        if device == Device::Null {
            return ZERO;
        }
        let mut done = 0;
        while done < limit {
            let mut chunk = vec![0; CHUNK.min(limit - done)];
            if device == Device::Random {
                self.random.fill(&mut chunk);
            }
            match self.space.write(m, address.wrapping_add(done as u64), &chunk) {
                Ok(()) => done += chunk.len(),
                Err(Errno::EFAULT) if done > 0 => break,
                Err(errno) => return Err(errno),
            }
        }
        value(done as u64)
    }

    pub(super) fn sys_pread(
        &mut self,
        m: &mut impl Machine,
        fd: u64,
        address: u64,
        count: u64,
        offset: u64,
    ) -> Answer {
        if (offset as i64) < 0 {
            return Err(Errno::EINVAL);
        }
        let file = self.files.get(fd)?;
        value(self.read_at(m, file, address, count.min(MOVE_MAX) as usize, offset)?)
    }

    /// The parts of a vector: address and length each.
    pub(super) fn parts(
        &self,
        m: &mut impl Machine,
        address: u64,
        count: u64,
    ) -> Result<Vec<[u64; 2]>, Errno> {
        if count > PARTS_MAX {
            return Err(Errno::EINVAL);
        }
        let parts: Vec<[u64; 2]> = (0..count)
            .map(|index| self.space.read_words(m, address.wrapping_add(index * 16)))
            .collect::<Result<_, _>>()?;
        let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part[1]));
        if sum.is_none_or(|sum| sum > i64::MAX as u64) {
            return Err(Errno::EINVAL);
        }
        Ok(parts)
    }

    pub(super) fn sys_readv(
        &mut self,
        m: &mut impl Machine,
        fd: u64,
        vector: u64,
        count: u64,
        at: Option<u64>,
    ) -> Answer {
        let file = self.files.get(fd)?;
        let mut done = 0;
        for [address, length] in self.parts(m, vector, count)? {
            if length == 0 {
                continue;
            }
            let answer = match at {
                Some(at) if (at as i64) < 0 => Err(Errno::EINVAL),
                Some(at) => self
                    .read_at(m, file, address, length.min(MOVE_MAX) as usize, at + done)
                    .map(Done::Value),
                None => self.read_file(m, file, address, length.min(MOVE_MAX)),
            };
            match answer {
                Ok(Done::Value(count)) => {
                    done += count;
                    if count < length {
                        break;
                    }
                }
                // What was read so far is an answer.
                _ if done > 0 => break,
                other => return other,
            }
        }
        value(done)
    }

    pub(super) fn sys_write(&mut self, m: &mut impl Machine, fd: u64, address: u64, count: u64) -> Answer {
        self.sys_write_parts(m, fd, &[[address, count.min(MOVE_MAX)]], None)
    }

    pub(super) fn sys_pwrite(
        &mut self,
        m: &mut impl Machine,
        fd: u64,
        address: u64,
        count: u64,
        at: u64,
    ) -> Answer {
        if (at as i64) < 0 {
            return Err(Errno::EINVAL);
        }
        self.sys_write_parts(m, fd, &[[address, count.min(MOVE_MAX)]], Some(at))
    }

    pub(super) fn sys_writev(
        &mut self,
        m: &mut impl Machine,
        fd: u64,
        vector: u64,
        count: u64,
        at: Option<u64>,
    ) -> Answer {
        self.files.get(fd)?;
        if at.is_some_and(|at| (at as i64) < 0) {
            return Err(Errno::EINVAL);
        }
        let parts = self.parts(m, vector, count)?;
        self.sys_write_parts(m, fd, &parts, at)
    }

    fn sys_write_parts(
        &mut self,
        m: &mut impl Machine,
        fd: u64,
        parts: &[[u64; 2]],
        at: Option<u64>,
    ) -> Answer {
        let file = self.files.get(fd)?;
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        if !open.writable() {
            return Err(Errno::EBADF);
        }
        let sum: u64 = parts.iter().map(|part| part[1]).sum();
        let room = match open.kind {
            // One byte over the limit is enough to go over it.
            FileKind::Output => self.limits.output_bytes as u64 + 1,
            FileKind::Regular { .. } => self.limits.file_bytes + 1,
            FileKind::Stream(_) if sum > 0 => {
                return self.write_to_stream(m, file, parts, open.nonblocking(), false);
            }
            FileKind::Device(Device::Null | Device::Zero | Device::Random) => return value(sum),
            FileKind::Device(Device::Full) if sum > 0 => return Err(Errno::ENOSPC),
            _ => GATHER_MAX,
        };
        let mut bytes = Vec::new();
        for &[address, length] in parts {
            let start = bytes.len();
            let take = length.min(room - start as u64) as usize;
            bytes.resize(start + take, 0);
            match self.space.read(m, address, &mut bytes[start..]) {
                Ok(()) => {}
                Err(Errno::EFAULT) if start > 0 => {
                    bytes.truncate(start);
                    break;
                }
                Err(errno) => return Err(errno),
            }
        }
        self.write_bytes(m, file, &bytes, at)
    }

    /// Writes to a stream; a blocking call waits until all bytes have moved. `quiet`: no SIGPIPE.
    pub(super) fn write_to_stream(
        &mut self,
        m: &mut impl Machine,
        file: usize,
        parts: &[[u64; 2]],
        nonblocking: bool,
        quiet: bool,
    ) -> Answer {
        let before = self.thread().map_or(0, |thread| thread.moved);
        let sum = parts.iter().map(|part| part[1]).sum::<u64>().min(MOVE_MAX);
        let room = match self.files.stream_takes(file, (sum - before.min(sum)) as usize) {
            Ok(room) => room,
            Err(Errno::EAGAIN) => return self.wait_or_again(file, event::OUT, nonblocking),
            Err(_) if before > 0 => return value(before),
            Err(Errno::EPIPE) if quiet => return Err(Errno::EPIPE),
            Err(Errno::EPIPE) => return self.broken_pipe(),
            Err(errno) => return Err(errno),
        };
        let (mut bytes, mut skip) = (Vec::new(), before);
        for &[address, length] in parts {
            let skipped = skip.min(length);
            skip -= skipped;
            let start = bytes.len();
            bytes.resize(start + ((length - skipped) as usize).min(room - start), 0);
            match self
                .space
                .read(m, address.wrapping_add(skipped), &mut bytes[start..])
            {
                Err(Errno::EFAULT) if before + start as u64 > 0 => {
                    bytes.truncate(start);
                    self.files.write_stream(file, &bytes);
                    return value(before + start as u64);
                }
                other => other?,
            }
        }
        self.files.write_stream(file, &bytes);
        let moved = before + bytes.len() as u64;
        if nonblocking || moved >= sum {
            return value(moved);
        }
        self.thread_mut()
            .into_iter()
            .for_each(|thread| thread.moved = moved);
        self.wait_or_again(file, event::OUT, false)
    }

    /// The answer of a write that nobody will read: EPIPE, and SIGPIPE to the writer.
    pub(super) fn broken_pipe(&mut self) -> Answer {
        self.send(Some(self.current), Info::sent(SIGPIPE, 0, PID, UID));
        Err(Errno::EPIPE)
    }

    fn write_bytes(&mut self, m: &mut impl Machine, file: usize, bytes: &[u8], at: Option<u64>) -> Answer {
        let ticks = m.ticks();
        let now = self.clock.realtime(ticks);
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        let nonblocking = open.nonblocking();
        let count = bytes.len() as u64;
        if at.is_some() && !matches!(open.kind, FileKind::Regular { .. } | FileKind::Device(_)) {
            return Err(Errno::ESPIPE);
        }
        match &open.kind {
            FileKind::Output => match self.files.stdio.write(bytes) {
                Written::Waiting => value(count),
                Written::Ready if self.files.stdio.is_stream() => Ok(Done::Tell(count, Action::Output)),
                Written::Ready => Ok(Done::Tell(count, Action::Frame)),
                Written::Broken(error) => Ok(Done::Stop(Stop::BadFrame(error))),
                Written::TooMuch => Ok(Done::Stop(Stop::Limit(Limit::Output))),
            },
            FileKind::Log => {
                self.files.stdio.write_log(bytes);
                if self.files.stdio.is_stream() {
                    Ok(Done::Tell(count, Action::Output))
                } else {
                    value(count)
                }
            }
            FileKind::Regular { node, offset } => {
                let (node, own) = (*node, *offset);
                let end = self.vfs.bytes(node)?.len() as u64;
                let start = at.unwrap_or(if open.flags & O_APPEND != 0 { end } else { own });
                let done = self.vfs.write_at(node, start, bytes, now)? as u64;
                if at.is_none()
                    && let Some(open) = self.files.file_mut(file)
                    && let FileKind::Regular { offset, .. } = &mut open.kind
                {
                    *offset = start + done;
                }
                value(done)
            }
            FileKind::Stream(_) => value(count),
            FileKind::Event { count: old, .. } => {
                let Some(added) = bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)) else {
                    return Err(Errno::EINVAL);
                };
                if added == u64::MAX {
                    return Err(Errno::EINVAL);
                }
                if *old > u64::MAX - 1 - added {
                    if *old == u64::MAX - 1 || nonblocking {
                        return self.wait_or_again(file, event::OUT, nonblocking);
                    }
                    // No event says that there is room for so much: look again in a millisecond.
                    let again = self.clock.monotonic(ticks) + 1_000_000;
                    return Ok(Done::Wait(WaitFor::Time, Some(again)));
                }
                if let Some(open) = self.files.file_mut(file)
                    && let FileKind::Event { count, .. } = &mut open.kind
                {
                    *count += added;
                }
                self.files.note_change(file);
                value(8_u64)
            }
            FileKind::Device(_) => value(count),
            FileKind::Text { .. } | FileKind::Directory { .. } => Err(Errno::EBADF),
            FileKind::Input => Err(Errno::EBADF),
            FileKind::Timer { .. } | FileKind::Epoll { .. } => Err(Errno::EINVAL),
        }
    }

    /// The length of a seekable file.
    fn length_of(&self, file: usize) -> Result<u64, Errno> {
        match &self.files.file(file).ok_or(Errno::EBADF)?.kind {
            FileKind::Regular { node, .. } => Ok(self.vfs.bytes(*node)?.len() as u64),
            FileKind::Text { bytes, .. } => Ok(bytes.len() as u64),
            _ => Ok(0),
        }
    }

    pub(super) fn sys_lseek(&mut self, fd: u64, offset: u64, whence: u64) -> Answer {
        let file = self.files.get(fd)?;
        let length = self.length_of(file)?;
        let open = self.files.file_mut(file).ok_or(Errno::EBADF)?;
        let own = match &mut open.kind {
            FileKind::Regular { offset, .. } | FileKind::Text { offset, .. } => offset,
            FileKind::Directory { listed, .. } => listed,
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
        for number in chosen {
            if flags & 4 != 0 {
                self.files
                    .descriptor_mut(number as u64)
                    .into_iter()
                    .for_each(|d| d.close_on_exec = true);
            } else {
                self.sys_close(number as u64)?;
            }
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
            0 => self.sys_dup(fd, argument, false),
            1030 => self.sys_dup(fd, argument, true),
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
            // Locks: one process never conflicts with itself.
            5 | 36 => self.space.write(m, argument, &2_u16.to_le_bytes()).and(ZERO),
            6 | 7 | 37 | 38 => ZERO,
            1031 | 1032 if matches!(self.files.file(file).map(|f| &f.kind), Some(FileKind::Stream(s)) if !s.socket) => {
                value(crate::files::STREAM_BYTES as u64)
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
                        self.vfs.bytes(*node)?.len().saturating_sub(*offset as usize)
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

    pub(super) fn sys_ftruncate(&mut self, fd: u64, length: u64, m: &mut impl Machine) -> Answer {
        let now = self.clock.realtime(m.ticks());
        let open = self.files.file(self.files.get(fd)?).ok_or(Errno::EBADF)?;
        match open.kind {
            FileKind::Regular { node, .. } if open.writable() && (length as i64) >= 0 => {
                self.vfs.set_length(node, length, now).map_err(too_big).and(ZERO)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn sys_truncate(&mut self, m: &mut impl Machine, path: u64, length: u64) -> Answer {
        if (length as i64) < 0 {
            return Err(Errno::EINVAL);
        }
        let now = self.clock.realtime(m.ticks());
        let node = self.existing(m, super::paths::CURRENT, path, 0)?;
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
                let end = offset.checked_add(length).ok_or(Errno::EFBIG)?;
                if end > self.vfs.bytes(node)?.len() as u64 {
                    self.vfs.set_length(node, end, now)?;
                }
                ZERO
            }
            FileKind::Regular { .. } => Err(Errno::EOPNOTSUPP),
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

    /// Opens a node. `flags` are those of `open`.
    pub(super) fn open_node(&mut self, m: &mut impl Machine, node: usize, flags: u64) -> Answer {
        let shown = flags as u32 & (3 | O_NONBLOCK | O_APPEND | O_PATH | 0o20_0000) | O_LARGEFILE;
        let kind = match &self.vfs.node(node).ok_or(Errno::ENOENT)?.kind {
            NodeKind::Directory { .. } => FileKind::Directory { node, listed: 0 },
            NodeKind::Host(_) | NodeKind::Memory(_) => FileKind::Regular { node, offset: 0 },
            NodeKind::Device(device) => FileKind::Device(*device),
            NodeKind::Proc(file) => {
                let file = *file;
                FileKind::Text {
                    bytes: Arc::from(self.proc_text(m, file)),
                    offset: 0,
                }
            }
            NodeKind::Link(_) if flags as u32 & O_PATH != 0 => FileKind::Regular { node, offset: 0 },
            NodeKind::Link(_) => return Err(Errno::ELOOP),
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
