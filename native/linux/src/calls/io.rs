//! What reading and writing do, by what a file is.

use std::borrow::Cow;

use mayfly_wire::{HEAD_BYTES, Head, Kind, Limits, MAGIC};

use super::{Answer, Done, ZERO, value};
use crate::action::{Action, Stop};
use crate::errno::Errno;
use crate::fs::files::{FileKind, O_APPEND, event};
use crate::fs::stdio::Written;
use crate::fs::vfs::Device;
use crate::kernel::Kernel;
use crate::limits::Limit;
use crate::machine::Machine;
use crate::task::process::{PID, UID};
use crate::task::signal::{Info, number::SIGPIPE};
use crate::task::threads::WaitFor;

/// Bytes that a call moves at once where nothing else bounds it.
const CHUNK: usize = 1 << 16;
/// Most bytes of messages that are taken from the buffer of a read: more of them are written.
const OUTBOX_MAX: usize = 1 << 18;

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

    /// The answer to a write of so many bytes to fd 1, by what became of them.
    fn told(&mut self, written: Written, count: u64) -> Answer {
        match written {
            Written::Waiting => value(count),
            Written::Ready if self.files.stdio.is_stream() => Ok(Done::Tell(count, Action::Output)),
            Written::Ready => Ok(Done::Tell(count, Action::Frame)),
            Written::Said => {
                self.said = true;
                Ok(Done::Tell(count, Action::Said))
            }
            Written::Broken(error) => Ok(Done::Stop(Stop::BadFrame(error))),
            Written::TooMuch => Ok(Done::Stop(Stop::Limit(Limit::Output))),
        }
    }

    /// Says the messages that lie in the buffer of a read on fd 0 ([`Kind::Outbox`]), once: a program that asks and waits leaves ring 3 once.
    /// `None` where there are none.
    fn say_outbox(
        &mut self,
        m: &mut impl Machine,
        address: u64,
        limit: usize,
    ) -> Result<Option<Written>, Errno> {
        if self.files.stdio.is_stream() || limit < HEAD_BYTES {
            return Ok(None);
        }
        let limits = Limits {
            header: 0,
            body: u32::try_from((limit - HEAD_BYTES).min(OUTBOX_MAX)).unwrap_or(0),
        };
        let head = self.space.read_array::<HEAD_BYTES>(m, address)?;
        let Ok(head) = Head::decode(&head, Kind::Outbox, limits) else {
            return Ok(None);
        };
        let mut bytes = vec![0; head.body_bytes as usize];
        self.space.read(m, address + HEAD_BYTES as u64, &mut bytes)?;
        // The call may begin anew, and finds them there.
        self.space.write(m, address, &[0; MAGIC.len()])?;
        Ok(Some(self.files.stdio.say(&bytes)))
    }

    /// Reads at the description's own offset.
    pub(super) fn read_file(
        &mut self,
        m: &mut impl Machine,
        file: usize,
        address: u64,
        count: u64,
    ) -> Answer {
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        if !open.readable() {
            return Err(Errno::EBADF);
        }
        let nonblocking = open.nonblocking();
        let limit = count as usize;
        let is_input = open.kind == FileKind::Input;
        if is_input && let Some(said) = self.say_outbox(m, address, limit)? {
            let told = self.told(said, 0)?;
            return match told {
                Done::Tell(_, action) => Ok(match self.read_file(m, file, address, count)? {
                    Done::Value(taken) => Done::Tell(taken, action),
                    waits => waits,
                }),
                stopped => Ok(stopped),
            };
        }
        let Some(open) = self.files.file(file) else {
            return Err(Errno::EBADF);
        };
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
            FileKind::Granted(granted) => {
                let at = granted.offset;
                let done = self.read_granted(m, file, address, limit, at)?;
                self.files.set_granted_offset(file, at + done);
                value(done)
            }
            FileKind::Device(device) => {
                let device = *device;
                self.read_device(m, device, address, limit)
            }
            FileKind::Socket(_) => self.unconnected(file, false, true),
            FileKind::Netlink(_) => {
                let parts = [[address, limit as u64]];
                self.receive_answer(m, file, &parts, nonblocking, 0)
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
    pub(super) fn read_at(
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
        let part = match &open.kind {
            FileKind::Regular { node, .. } => self.vfs.part(*node, offset, limit as u64)?,
            FileKind::Text { bytes, .. } => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                Cow::Borrowed(&bytes[start..start + limit.min(bytes.len() - start)])
            }
            FileKind::Directory { .. } => return Err(Errno::EISDIR),
            FileKind::Granted(_) => return self.read_granted(m, file, address, limit, offset),
            FileKind::Device(device) => {
                let device = *device;
                return match self.read_device(m, device, address, limit)? {
                    Done::Value(count) => Ok(count),
                    _ => Err(Errno::EIO),
                };
            }
            _ => return Err(Errno::ESPIPE),
        };
        self.space.write(m, address, &part)?;
        Ok(part.len() as u64)
    }

    pub(super) fn read_device(
        &mut self,
        m: &mut impl Machine,
        device: Device,
        address: u64,
        limit: usize,
    ) -> Answer {
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

    /// The answer of a write that nobody will read: EPIPE, and SIGPIPE to the writer.
    pub(super) fn broken_pipe(&mut self) -> Answer {
        self.send(Some(self.current), Info::sent(SIGPIPE, 0, PID, UID));
        Err(Errno::EPIPE)
    }

    /// The answer of a write to a stream that nobody will read: what the connection has come to, once, or EPIPE. `quiet`: no SIGPIPE.
    pub(super) fn write_end(&mut self, file: usize, quiet: bool) -> Answer {
        match self.files.take_error(file) {
            Some(error) => Err(error),
            None if quiet => Err(Errno::EPIPE),
            None => self.broken_pipe(),
        }
    }

    pub(super) fn write_bytes(
        &mut self,
        m: &mut impl Machine,
        file: usize,
        bytes: &[u8],
        at: Option<u64>,
    ) -> Answer {
        let now = self.clock.realtime(m.ticks());
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        let nonblocking = open.nonblocking();
        let count = bytes.len() as u64;
        let seeks = matches!(
            open.kind,
            FileKind::Regular { .. } | FileKind::Granted(_) | FileKind::Device(_)
        );
        if at.is_some() && !seeks {
            return Err(Errno::ESPIPE);
        }
        match &open.kind {
            FileKind::Output => {
                let written = self.files.stdio.write(bytes);
                self.told(written, count)
            }
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
                let end = self.vfs.length(node)?;
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
            FileKind::Granted(_) => self.write_granted(file, bytes, at),
            FileKind::Socket(_) => self.unconnected(file, true, false),
            FileKind::Netlink(_) => self.ask_netlink(file, bytes),
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
