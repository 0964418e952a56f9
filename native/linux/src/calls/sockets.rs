//! Bytes through sockets: `send` and `recv` and their kin, pairs, `shutdown`, `sendfile`. Nothing leaves the guest but to the host.

use std::borrow::Cow;

use super::vectors::Part;
use super::{Answer, Done, ZERO, value};
use crate::errno::Errno;
use crate::fs::files::{FileKind, O_NONBLOCK, event};
use crate::kernel::Kernel;
use crate::machine::Machine;

const PEEK: u64 = 2;
const DONT_WAIT: u64 = 0x40;
const NO_SIGNAL: u64 = 0x4000;
/// Most messages that one call moves.
const MESSAGES_MAX: u64 = 8;
/// Most bytes that one `sendfile` moves.
const SENDFILE_MAX: u64 = 1 << 16;

impl Kernel {
    /// The description of a socket.
    pub(super) fn socket(&self, fd: u64) -> Result<usize, Errno> {
        let file = self.files.get(fd)?;
        match self.files.file(file).map(|open| &open.kind) {
            Some(FileKind::Socket(_) | FileKind::Netlink(_)) => Ok(file),
            Some(FileKind::Stream(stream)) if stream.socket => Ok(file),
            _ => Err(Errno::ENOTSOCK),
        }
    }

    pub(super) fn sys_socketpair(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [domain, kind, protocol, into, ..] = a;
        if domain != 1 {
            return Err(Errno::EAFNOSUPPORT);
        }
        if kind & !(0xf | 0o200_4000) != 0 {
            return Err(Errno::EINVAL);
        }
        // Streams only: nothing here keeps messages apart.
        if kind & 0xf != 1 || protocol > 1 {
            return Err(Errno::EPROTONOSUPPORT);
        }
        let pair = self.files.add_socket_pair(kind as u32 & O_NONBLOCK);
        self.install_pair(m, pair, into, kind & 0o200_0000 != 0)
    }

    fn send_parts(&mut self, m: &mut impl Machine, fd: u64, parts: &[Part], flags: u64) -> Answer {
        let file = self.socket(fd)?;
        let nonblocking =
            flags & DONT_WAIT != 0 || self.files.file(file).is_some_and(|open| open.nonblocking());
        let quiet = flags & NO_SIGNAL != 0;
        if self.is_netlink(file) {
            return self.send_question(m, file, parts);
        }
        if self.is_unconnected(file) {
            return self.unconnected(file, true, quiet);
        }
        self.write_to_stream(m, file, parts, nonblocking, quiet)
    }

    fn receive_parts(&mut self, m: &mut impl Machine, fd: u64, parts: &[Part], flags: u64) -> Answer {
        let file = self.socket(fd)?;
        let nonblocking =
            flags & DONT_WAIT != 0 || self.files.file(file).is_some_and(|open| open.nonblocking());
        if self.is_netlink(file) {
            return self.receive_answer(m, file, parts, nonblocking, flags);
        }
        if self.is_unconnected(file) {
            return self.unconnected(file, false, true);
        }
        let limit = parts.iter().map(|part| part[1]).sum::<u64>().min(1 << 30) as usize;
        let bytes = match self.files.read_stream(file, limit, true) {
            Ok(bytes) => bytes,
            Err(Errno::EAGAIN) => return self.wait_or_again(file, event::IN, nonblocking),
            Err(errno) => return Err(errno),
        };
        self.scatter(m, parts, &bytes)?;
        if flags & PEEK == 0 {
            self.files.read_stream(file, bytes.len(), false)?;
        }
        value(bytes.len() as u64)
    }

    pub(super) fn is_unconnected(&self, file: usize) -> bool {
        matches!(
            self.files.file(file).map(|open| &open.kind),
            Some(FileKind::Socket(_))
        )
    }

    /// `sendmmsg` and `recvmmsg`: one message after the other, until one would wait.
    pub(super) fn sys_many_messages(&mut self, m: &mut impl Machine, a: [u64; 6], sends: bool) -> Answer {
        /// Bytes of a `struct mmsghdr`, and where the count of the bytes that moved lies in it.
        const ENTRY: u64 = 64;
        const MOVED: u64 = 56;
        let [fd, messages, count, flags, ..] = a;
        // One message is one piece of work; programs go on behind a short count.
        let most = count.min(MESSAGES_MAX);
        let mut done = 0;
        while done < most {
            let message = messages.wrapping_add(done * ENTRY);
            let flags = if done > 0 { flags | DONT_WAIT } else { flags };
            let moved = match sends {
                true => self.sys_sendmsg(m, fd, message, flags),
                false => self.sys_recvmsg(m, fd, message, flags),
            };
            match moved {
                Ok(Done::Value(moved)) => {
                    let count = (moved as u32).to_le_bytes();
                    self.space.write(m, message.wrapping_add(MOVED), &count)?;
                    done += 1;
                    // At the end of a stream there is nothing to come.
                    if moved == 0 || self.files.has_news() {
                        break;
                    }
                }
                Err(Errno::OUT_OF_MEMORY) => return Err(Errno::OUT_OF_MEMORY),
                _ if done > 0 => break,
                other => return other,
            }
        }
        value(done)
    }

    /// `sendfile` of at most a piece of a file; a short count is an answer.
    pub(super) fn sys_sendfile(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [to, from, place, count, ..] = a;
        let (to, from) = (self.files.get(to)?, self.files.get(from)?);
        let (target, source) = (
            self.files.file(to).ok_or(Errno::EBADF)?,
            self.files.file(from).ok_or(Errno::EBADF)?,
        );
        if !target.writable() || !source.readable() {
            return Err(Errno::EBADF);
        }
        let (offset, length) = match &source.kind {
            FileKind::Regular { node, offset } => (*offset, self.vfs.length(*node)?),
            FileKind::Granted(granted) if !granted.folder => {
                (granted.offset, granted.opened()?.0.status()?.bytes)
            }
            _ => return Err(Errno::EINVAL),
        };
        let FileKind::Stream(_) = target.kind else {
            // Programs copy by themselves then.
            return Err(Errno::EINVAL);
        };
        let nonblocking = target.nonblocking();
        let start = match place {
            0 => offset,
            _ => self.space.read_words::<1>(m, place)?[0],
        };
        if (start as i64) < 0 {
            return Err(Errno::EINVAL);
        }
        let left = length.saturating_sub(start).min(count.min(SENDFILE_MAX)) as usize;
        let moved = match self.files.stream_takes(to, left) {
            Ok(moved) => moved,
            Err(Errno::EAGAIN) => return self.wait_or_again(to, event::OUT, nonblocking),
            Err(Errno::EPIPE) => return self.write_end(to, false),
            Err(errno) => return Err(errno),
        };
        let part = match self.files.file(from).map(|open| &open.kind) {
            Some(FileKind::Regular { node, .. }) => self.vfs.part(*node, start, moved as u64)?,
            // It may have become shorter since.
            _ => Cow::Owned(self.host_opened(from)?.0.read(start, moved)?),
        };
        let moved = part.len() as u64;
        let next = start.saturating_add(moved);
        if place != 0 {
            self.space.write_words(m, place, [next])?;
        }
        self.files.write_stream(to, &part);
        if place == 0 {
            self.files.set_granted_offset(from, next);
            if let Some(open) = self.files.file_mut(from)
                && let FileKind::Regular { offset, .. } = &mut open.kind
            {
                *offset = next;
            }
        }
        value(moved)
    }

    pub(super) fn sys_sendto(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, address, length, flags, ..] = a;
        self.send_parts(m, fd, &[[address, length]], flags)
    }

    pub(super) fn sys_recvfrom(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, address, length, flags, name, name_length] = a;
        let done = self.receive_parts(m, fd, &[[address, length]], flags)?;
        if name_length != 0 && matches!(done, Done::Value(_)) {
            if name != 0 && self.is_netlink(self.socket(fd)?) {
                self.write_address(m, name, name_length, &Self::netlink_name(true))?;
            } else {
                self.space.write(m, name_length, &[0; 4])?;
            }
        }
        Ok(done)
    }

    pub(super) fn sys_sendmsg(&mut self, m: &mut impl Machine, fd: u64, message: u64, flags: u64) -> Answer {
        let [_, _, vector, count, _, control, _] = self.space.read_words::<7>(m, message)?;
        // Descriptors cannot be passed: nobody else would take them.
        if control != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let parts = self.parts(m, vector, count).map_err(too_many)?;
        self.send_parts(m, fd, &parts, flags)
    }

    pub(super) fn sys_recvmsg(&mut self, m: &mut impl Machine, fd: u64, message: u64, flags: u64) -> Answer {
        let [name, _, vector, count, ..] = self.space.read_words::<7>(m, message)?;
        let parts = self.parts(m, vector, count).map_err(too_many)?;
        let file = self.socket(fd)?;
        let truncation = self.truncation(file, &parts);
        let done = self.receive_parts(m, fd, &parts, flags)?;
        if matches!(done, Done::Value(_)) {
            let name_length = message.wrapping_add(8);
            if name != 0 && self.is_netlink(file) {
                self.write_address(m, name, name_length, &Self::netlink_name(true))?;
            } else {
                self.space.write(m, name_length, &[0; 4])?;
            }
            // No control data.
            self.space
                .write_words(m, message.wrapping_add(40), [0, truncation])?;
        }
        Ok(done)
    }

    pub(super) fn sys_shutdown(&mut self, fd: u64, how: u64) -> Answer {
        let file = self.socket(fd)?;
        match how {
            0..=2 if self.is_unconnected(file) => self.files.stop_listening(file, how != 1).and(ZERO),
            0..=2 => self.files.shut(file, how != 1, how != 0).and(ZERO),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// A vector with too many parts, as `sendmsg` and `recvmsg` say it.
fn too_many(errno: Errno) -> Errno {
    if errno == Errno::EINVAL {
        Errno::EMSGSIZE
    } else {
        errno
    }
}
