//! Reading, writing and descriptors.

use super::{Answer, Done, ZERO, value};
use crate::action::{Action, Stop};
use crate::errno::Errno;
use crate::files::{FileKind, O_APPEND, event};
use crate::kernel::{Kernel, PID, UID};
use crate::limits::Limit;
use crate::machine::Machine;
use crate::signal::{Info, number::SIGPIPE};
use crate::stdio::Written;
use crate::threads::WaitFor;
use crate::vfs::Device;

/// Most parts of a vector.
const PARTS_MAX: u64 = 1024;
/// Most bytes that one call moves, as on Linux.
const MOVE_MAX: u64 = 0x7fff_f000;
/// Bytes that a call moves at once where nothing else bounds it.
const CHUNK: usize = 1 << 16;
/// Most bytes that a vectored write takes at once.
const GATHER_MAX: u64 = 4 << 20;

impl Kernel {
    /// The wait of a call that would block, or EAGAIN.
    pub(super) fn wait_or_again(&self, file: usize, events: u32, nonblocking: bool) -> Answer {
        if nonblocking {
            Err(Errno::EAGAIN)
        } else {
            Ok(Done::Wait(
                WaitFor::Files(vec![(file, events | event::ALWAYS)]),
                None,
            ))
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
        // As on Linux, one read of randomness has an end.
        let limit = if device == Device::Random {
            limit.min(1 << 25)
        } else {
            limit
        };
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
        let sum = parts.iter().map(|part| part[1]).sum::<u64>().min(MOVE_MAX);
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
        let now = self.clock.realtime(m.ticks());
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
                    if nonblocking {
                        return Err(Errno::EAGAIN);
                    }
                    return Ok(Done::Wait(WaitFor::Room { file, added }, None));
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
}
