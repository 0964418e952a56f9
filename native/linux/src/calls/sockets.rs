//! Sockets: pairs of connected streams, and nothing that leaves the guest.

use super::vectors::Part;
use super::{Answer, Done, ZERO, value};
use crate::errno::Errno;
use crate::fs::files::{FileKind, O_NONBLOCK, event};
use crate::kernel::Kernel;
use crate::machine::Machine;

const PEEK: u64 = 2;
const DONT_WAIT: u64 = 0x40;
const NO_SIGNAL: u64 = 0x4000;

impl Kernel {
    /// The description of a socket.
    fn socket(&self, fd: u64) -> Result<usize, Errno> {
        let file = self.files.get(fd)?;
        match self.files.file(file).map(|open| &open.kind) {
            Some(FileKind::Stream(stream)) if stream.socket => Ok(file),
            _ => Err(Errno::ENOTSOCK),
        }
    }

    /// Calls that need an address: no socket here has one.
    pub(super) fn socket_only(&self, fd: u64) -> Answer {
        self.socket(fd).and(Err(Errno::EOPNOTSUPP))
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
        match self.write_to_stream(m, file, parts, nonblocking, quiet) {
            // A socket that was shut for writing.
            Err(Errno::EBADF) if quiet => Err(Errno::EPIPE),
            Err(Errno::EBADF) => self.broken_pipe(),
            other => other,
        }
    }

    fn receive_parts(&mut self, m: &mut impl Machine, fd: u64, parts: &[Part], flags: u64) -> Answer {
        let file = self.socket(fd)?;
        let nonblocking =
            flags & DONT_WAIT != 0 || self.files.file(file).is_some_and(|open| open.nonblocking());
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

    pub(super) fn sys_sendto(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, address, length, flags, ..] = a;
        self.send_parts(m, fd, &[[address, length]], flags)
    }

    pub(super) fn sys_recvfrom(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, address, length, flags, _, name_length] = a;
        let done = self.receive_parts(m, fd, &[[address, length]], flags)?;
        if name_length != 0 && matches!(done, Done::Value(_)) {
            self.space.write(m, name_length, &[0; 4])?;
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
        let [_, _, vector, count, ..] = self.space.read_words::<7>(m, message)?;
        let parts = self.parts(m, vector, count).map_err(too_many)?;
        let done = self.receive_parts(m, fd, &parts, flags)?;
        if matches!(done, Done::Value(_)) {
            // No name, no control data, no flags.
            self.space.write(m, message.wrapping_add(8), &[0; 4])?;
            self.space.write_words(m, message.wrapping_add(40), [0, 0])?;
        }
        Ok(done)
    }

    pub(super) fn sys_shutdown(&mut self, fd: u64, how: u64) -> Answer {
        let file = self.socket(fd)?;
        match how {
            0..=2 => self.files.shut(file, how != 1, how != 0).and(ZERO),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn sys_getsockopt(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, level, option, into, length, _] = a;
        self.socket(fd)?;
        // SOL_SOCKET: SO_TYPE, SO_ERROR, SO_DOMAIN, SO_PROTOCOL.
        let found: u32 = match (level, option) {
            (1, 3 | 39) => 1,
            (1, 4 | 38) => 0,
            _ => return Err(Errno::EOPNOTSUPP),
        };
        if self.space.read_u32(m, length)? < 4 {
            return Err(Errno::EINVAL);
        }
        self.space.write(m, into, &found.to_le_bytes())?;
        self.space.write(m, length, &4_u32.to_le_bytes()).and(ZERO)
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
