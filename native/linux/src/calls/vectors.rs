//! Moving bytes between files and parts of memory, piece by piece: `read` and `write` and their kin.

use super::{Answer, Done, value};
use crate::bounds::{Piece, RANDOM_WEIGHT};
use crate::errno::Errno;
use crate::fs::files::{FileKind, event};
use crate::fs::vfs::Device;
use crate::kernel::Kernel;
use crate::machine::{Machine, USER_END};

/// Most parts of a vector.
const PARTS_MAX: u64 = 1024;
/// Most bytes that one call moves, as on Linux.
const MOVE_MAX: u64 = 0x7fff_f000;
/// Bytes that are gathered at once where nothing else bounds it.
const GATHER: u64 = 1 << 16;

/// Memory of a call: address and length.
pub(super) type Part = [u64; 2];

/// What of the parts lies behind so many bytes.
fn behind(parts: &[Part], mut skip: u64) -> impl Iterator<Item = Part> {
    parts.iter().filter_map(move |&[address, length]| {
        let skipped = skip.min(length);
        skip -= skipped;
        (skipped < length).then_some([address.wrapping_add(skipped), length - skipped])
    })
}

/// EFAULT where a part reaches out of user space: then nothing of the others is moved either.
fn within_user_space(parts: &[Part]) -> Result<(), Errno> {
    let within = |part: &Part| part[0].checked_add(part[1]).is_some_and(|end| end <= USER_END);
    if parts.iter().all(within) {
        Ok(())
    } else {
        Err(Errno::EFAULT)
    }
}

/// All bytes of the parts that a call moves.
pub(super) fn sum(parts: &[Part]) -> u64 {
    parts
        .iter()
        .fold(0, |sum: u64, part| sum.saturating_add(part[1]))
        .min(MOVE_MAX)
}

impl Kernel {
    /// The parts of a vector.
    pub(super) fn parts(&self, m: &mut impl Machine, address: u64, count: u64) -> Result<Vec<Part>, Errno> {
        if count > PARTS_MAX {
            return Err(Errno::EINVAL);
        }
        let mut words = vec![[[0; 8]; 2]; count as usize];
        self.space
            .read(m, address, words.as_flattened_mut().as_flattened_mut())?;
        let parts: Vec<Part> = words
            .into_iter()
            .map(|part| part.map(u64::from_le_bytes))
            .collect();
        if parts.iter().any(|part| (part[1] as i64) < 0) {
            return Err(Errno::EINVAL);
        }
        within_user_space(&parts)?;
        Ok(parts)
    }

    /// Fills parts by steps: each is given the bytes that were filled before it, an address and a length, and tells how much of it it
    /// filled. What a step does not fill ends the call.
    fn fill_parts<M: Machine>(
        &mut self,
        m: &mut M,
        parts: &[Part],
        weight: u64,
        mut step: impl FnMut(&mut Self, &mut M, u64, u64, usize) -> Answer,
    ) -> Answer {
        let mut piece = Piece::begin(m);
        let mut done = self.moved();
        let whole = sum(parts);
        for [address, length] in behind(parts, done) {
            let mut inside = 0;
            while inside < length && done < whole {
                if piece.is_full(m) {
                    return self.unfinished(done);
                }
                let chunk = (length - inside)
                    .min(whole - done)
                    .min(piece.left().div_ceil(weight));
                match step(self, m, done, address.wrapping_add(inside), chunk as usize) {
                    Ok(Done::Value(count)) => {
                        (done, inside) = (done + count, inside + count);
                        piece.count(count * weight);
                        if count < chunk {
                            return value(done);
                        }
                    }
                    Err(Errno::OUT_OF_MEMORY) => return Err(Errno::OUT_OF_MEMORY),
                    // What was read so far is an answer.
                    _ if done > 0 => return value(done),
                    other => return other,
                }
            }
        }
        value(done)
    }

    fn read_parts(&mut self, m: &mut impl Machine, file: usize, parts: &[Part], at: Option<u64>) -> Answer {
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        if !open.readable() {
            return Err(Errno::EBADF);
        }
        within_user_space(parts)?;
        let random = matches!(open.kind, FileKind::Device(Device::Random));
        let weight = if random { RANDOM_WEIGHT } else { 1 };
        self.fill_parts(m, parts, weight, |kernel, m, done, address, length| match at {
            Some(at) => kernel
                .read_at(m, file, address, length, at.saturating_add(done))
                .map(Done::Value),
            None => kernel.read_file(m, file, address, length as u64),
        })
    }

    pub(super) fn sys_read(&mut self, m: &mut impl Machine, fd: u64, address: u64, count: u64) -> Answer {
        let file = self.files.get(fd)?;
        if count == 0 {
            return self.read_file(m, file, address, 0);
        }
        self.read_parts(m, file, &[[address, count]], None)
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
        if count == 0 {
            return value(self.read_at(m, file, address, 0, offset)?);
        }
        self.read_parts(m, file, &[[address, count]], Some(offset))
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
        let parts = self.parts(m, vector, count)?;
        if at.is_some_and(|at| (at as i64) < 0) {
            return Err(Errno::EINVAL);
        }
        self.read_parts(m, file, &parts, at)
    }

    pub(super) fn sys_getrandom(
        &mut self,
        m: &mut impl Machine,
        into: u64,
        length: u64,
        flags: u64,
    ) -> Answer {
        if flags & !7 != 0 || flags & 6 == 6 {
            return Err(Errno::EINVAL);
        }
        // As on Linux, one call has an end.
        let parts = [[into, length.min(1 << 25)]];
        within_user_space(&parts)?;
        self.fill_parts(m, &parts, RANDOM_WEIGHT, |kernel, m, _, address, length| {
            kernel.read_device(m, Device::Random, address, length)
        })
    }

    pub(super) fn sys_write(&mut self, m: &mut impl Machine, fd: u64, address: u64, count: u64) -> Answer {
        self.write_parts(m, fd, &[[address, count]], None)
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
        self.write_parts(m, fd, &[[address, count]], Some(at))
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
        self.write_parts(m, fd, &parts, at)
    }

    fn write_parts(&mut self, m: &mut impl Machine, fd: u64, parts: &[Part], at: Option<u64>) -> Answer {
        let file = self.files.get(fd)?;
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        if !open.writable() {
            return Err(Errno::EBADF);
        }
        within_user_space(parts)?;
        let sum = sum(parts);
        match open.kind {
            FileKind::Stream(_) if sum > 0 => {
                return self.write_to_stream(m, file, parts, open.nonblocking(), false);
            }
            // A datagram is whole.
            FileKind::Netlink(_) => return self.send_question(m, file, parts),
            FileKind::Device(Device::Null | Device::Zero | Device::Random) => return value(sum),
            FileKind::Device(Device::Full) if sum > 0 => return Err(Errno::ENOSPC),
            _ => {}
        }
        let mut piece = Piece::begin(m);
        let mut done = self.moved();
        loop {
            let room = (sum - done.min(sum)).min(GATHER);
            let answer = self
                .gather(m, behind(parts, done), room, &piece)
                .and_then(|bytes| {
                    let answer = self.write_bytes(m, file, &bytes, at.map(|at| at.saturating_add(done)))?;
                    Ok((answer, bytes.len() as u64))
                });
            let (answer, count) = match answer {
                Ok((answer, gathered)) => match answer {
                    // Counters take 8 bytes of whatever there is.
                    Done::Value(count) if count != gathered => return value(done + count),
                    Done::Value(count) => (Done::Value(done + count), count),
                    Done::Tell(count, action) => (Done::Tell(done + count, action), count),
                    other => return Ok(other),
                },
                Err(Errno::OUT_OF_MEMORY) => return Err(Errno::OUT_OF_MEMORY),
                // What was written so far is an answer.
                Err(_) if done > 0 => return value(done),
                Err(errno) => return Err(errno),
            };
            done += count;
            piece.count(count);
            if done >= sum {
                return Ok(answer);
            }
            if piece.is_full(m) {
                return self.unfinished(done);
            }
        }
    }

    /// Bytes of the parts, until there is no more room for them or the piece is full.
    ///
    /// # Errors
    /// EFAULT when the first of them cannot be read.
    fn gather(
        &self,
        m: &mut impl Machine,
        parts: impl Iterator<Item = Part>,
        room: u64,
        piece: &Piece,
    ) -> Result<Vec<u8>, Errno> {
        let mut bytes = Vec::new();
        for [address, length] in parts {
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
            if bytes.len() as u64 == room || piece.is_full(m) {
                break;
            }
        }
        Ok(bytes)
    }

    /// Writes to a stream; a blocking call waits until all bytes have moved. `quiet`: no SIGPIPE.
    pub(super) fn write_to_stream(
        &mut self,
        m: &mut impl Machine,
        file: usize,
        parts: &[Part],
        nonblocking: bool,
        quiet: bool,
    ) -> Answer {
        let before = self.moved();
        let sum = sum(parts);
        let room = match self.files.stream_takes(file, (sum - before.min(sum)) as usize) {
            Ok(room) => room,
            Err(Errno::EAGAIN) => return self.wait_or_again(file, event::OUT, nonblocking),
            Err(_) if before > 0 => return value(before),
            Err(Errno::EPIPE) => return self.write_end(file, quiet),
            Err(errno) => return Err(errno),
        };
        let piece = Piece::begin(m);
        let bytes = match self.gather(m, behind(parts, before), room as u64, &piece) {
            Err(Errno::EFAULT) if before > 0 => return value(before),
            other => other?,
        };
        let moved = before + bytes.len() as u64;
        if bytes.len() < room {
            if piece.is_full(m) {
                // A short write to a pipe is whole or not at all: again, with the pages that are there now.
                return self.unfinished(before);
            }
            // A part that cannot be read ends it.
            self.files.write_stream(file, &bytes);
            return value(moved);
        }
        self.files.write_stream(file, &bytes);
        if nonblocking || moved >= sum {
            return value(moved);
        }
        self.set_moved(moved);
        self.wait_or_again(file, event::OUT, false)
    }

    /// Puts bytes into parts; UNFINISHED when that is more than a piece of work, to be done from the start again.
    pub(super) fn scatter(
        &mut self,
        m: &mut impl Machine,
        parts: &[Part],
        bytes: &[u8],
    ) -> Result<(), Errno> {
        let piece = Piece::begin(m);
        let mut rest = bytes;
        for &[address, length] in parts {
            let (now, later) = rest.split_at((length as usize).min(rest.len()));
            self.space.write(m, address, now)?;
            rest = later;
            if rest.is_empty() {
                return Ok(());
            }
            if piece.is_full(m) {
                return self.unfinished(0);
            }
        }
        Ok(())
    }
}
