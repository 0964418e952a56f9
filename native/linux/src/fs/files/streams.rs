//! Pipes and socket pairs: bytes between two descriptions.

use std::collections::VecDeque;

use super::dialed::is_connecting;
use super::{FileKind, Files, OpenFile, PIPE_BUF, READING, STREAM_BYTES, Stream, WRITING};
use crate::errno::Errno;

impl Files {
    /// Makes a pipe: the reading and the writing end.
    pub fn add_pipe(&mut self, flags: u32) -> (usize, usize) {
        let reader = self.add(
            FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                ..Stream::default()
            }),
            flags,
        );
        let writer = self.add(
            FileKind::Stream(Stream {
                peer: Some(reader),
                writes: true,
                ..Stream::default()
            }),
            flags | 1,
        );
        self.set_peer(reader, writer);
        (reader, writer)
    }

    /// Makes a pair of connected sockets.
    pub fn add_socket_pair(&mut self, flags: u32) -> (usize, usize) {
        let end = |peer| {
            FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                peer,
                writes: true,
                socket: true,
                ..Stream::default()
            })
        };
        let first = self.add(end(None), flags | 2);
        let second = self.add(end(Some(first)), flags | 2);
        self.set_peer(first, second);
        (first, second)
    }

    pub(super) fn set_peer(&mut self, file: usize, other: usize) {
        if let Some(OpenFile {
            kind: FileKind::Stream(stream),
            ..
        }) = self.open.get_mut(file)
        {
            stream.peer = Some(other);
        }
    }

    pub(super) fn stream(&self, file: usize) -> Option<&Stream> {
        match &self.open.get(file)?.kind {
            FileKind::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    pub(super) fn stream_mut(&mut self, file: usize) -> Option<&mut Stream> {
        match &mut self.open.get_mut(file)?.kind {
            FileKind::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// Whether the end of a stream that `file` writes to can take bytes, and how many; `None` when nobody will read them.
    pub(super) fn room(&self, stream: &Stream) -> Option<usize> {
        let other = self.stream(stream.peer?)?;
        if other.read_shut {
            return None;
        }
        // At the limit on all streams together a writer waits as if this one were full.
        let free = other.buffered.saturating_sub(other.incoming.as_ref()?.len());
        Some((STREAM_BYTES - other.incoming.as_ref()?.len()).min(free + self.spare()))
    }

    /// Reads from a stream: up to `limit` bytes, none at its end.
    ///
    /// # Errors
    /// EAGAIN when there is nothing now, EBADF on a writing end; what a connection has come to, once, before its end.
    pub fn read_stream(&mut self, file: usize, limit: usize, keep: bool) -> Result<Vec<u8>, Errno> {
        let stream = self.stream(file).ok_or(Errno::EBADF)?;
        let incoming = stream.incoming.as_ref().ok_or(Errno::EBADF)?;
        if incoming.is_empty() {
            return if stream.peer.is_none() || stream.read_shut || limit == 0 {
                match self.take_error(file).filter(|_| limit > 0) {
                    Some(error) => Err(error),
                    None => Ok(Vec::new()),
                }
            } else {
                Err(Errno::EAGAIN)
            };
        }
        let count = limit.min(incoming.len());
        if keep {
            return Ok(incoming.iter().take(count).copied().collect());
        }
        let peer = stream.peer;
        let incoming = self
            .stream_mut(file)
            .and_then(|stream| stream.incoming.as_mut())
            .ok_or(Errno::EBADF)?;
        let bytes = incoming.drain(..count).collect();
        // A small buffer stays for the next message.
        if incoming.is_empty()
            && let Some(stream) = self.stream_mut(file).filter(|stream| stream.buffered > PIPE_BUF)
        {
            stream.incoming = Some(VecDeque::new());
            self.held -= std::mem::take(&mut stream.buffered);
        }
        if let Some(peer) = peer {
            self.note(peer, WRITING);
        }
        Ok(bytes)
    }

    /// How many of `wanted` bytes a write to a stream takes now.
    ///
    /// # Errors
    /// EAGAIN when not one (or, for a short write to a pipe, not all) fits, EPIPE when nobody will read, EBADF on a reading end.
    pub fn stream_takes(&self, file: usize, wanted: usize) -> Result<usize, Errno> {
        let stream = self
            .stream(file)
            .filter(|stream| stream.writes || stream.socket)
            .ok_or(Errno::EBADF)?;
        if !stream.writes {
            return Err(Errno::EPIPE);
        }
        if is_connecting(stream) {
            return Err(Errno::EAGAIN);
        }
        let room = self.room(stream).ok_or(Errno::EPIPE)?;
        if wanted > 0 && (room == 0 || !stream.socket && wanted <= PIPE_BUF && room < wanted) {
            return Err(Errno::EAGAIN);
        }
        Ok(wanted.min(room))
    }

    /// Writes bytes that [`Files::stream_takes`] allowed.
    pub fn write_stream(&mut self, file: usize, bytes: &[u8]) {
        let Some(peer) = self.stream(file).and_then(|stream| stream.peer) else {
            return;
        };
        let spare = self.spare();
        let mut grown = 0;
        if let Some(stream) = self.stream_mut(peer)
            && let Some(incoming) = &mut stream.incoming
        {
            let length = incoming.len() + bytes.len();
            if length > stream.buffered {
                let ample = length.next_power_of_two().clamp(256, STREAM_BYTES);
                let wanted = ample.min(stream.buffered + spare).max(length);
                grown = wanted - stream.buffered;
                stream.buffered = wanted;
            }
            incoming.reserve_exact(stream.buffered - incoming.len());
            incoming.extend(bytes);
        }
        self.hold(grown);
        self.note(peer, READING);
        self.tell_host(peer);
    }

    /// `shutdown` of a socket: reading, writing or both.
    ///
    /// # Errors
    /// ENOTSOCK, or ENOTCONN when the other end is gone.
    pub fn shut(&mut self, file: usize, reading: bool, writing: bool) -> Result<(), Errno> {
        let stream = self
            .stream(file)
            .filter(|stream| stream.socket)
            .ok_or(Errno::ENOTSOCK)?;
        if is_connecting(stream) {
            return Err(Errno::ENOTCONN);
        }
        let peer = stream.peer.ok_or(Errno::ENOTCONN)?;
        if reading && let Some(stream) = self.stream_mut(file) {
            stream.read_shut = true;
        }
        if writing {
            if let Some(stream) = self.stream_mut(file) {
                stream.writes = false;
            }
            if let Some(other) = self.stream_mut(peer) {
                other.read_shut = true;
            }
        }
        if writing {
            self.tell_host(peer);
        }
        for end in [file, peer] {
            self.note(end, READING);
            self.note(end, WRITING);
        }
        Ok(())
    }
}
