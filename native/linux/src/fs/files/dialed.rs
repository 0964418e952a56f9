//! Connections that the guest makes to the outside. The host makes them in its place, and has their other ends.
//!
//! ```text
//!   socket ── dial ──> stream, connecting ── host_establish ──> stream <──> the host's end
//!     ^                        |                                   |
//!     +──── host_fail: its error                                   +── host_fail: its error behind the bytes that came before
//! ```

use std::collections::VecDeque;

use super::{FileKind, Files, HostEnd, OpenFile, Stream};
use crate::errno::Errno;
use crate::net::address::{Address, Domain};
use crate::net::socket::Socket;
use crate::state::ensure::ensure;

/// Most of them at a time.
pub const DIALED_MAX: usize = 64;

impl Files {
    /// Begins a connection of a socket that is not connected: the host is to make it.
    ///
    /// # Errors
    /// EISCONN for one that is connected or listens, EADDRNOTAVAIL over [`DIALED_MAX`], EADDRINUSE without a port, ENOMEM.
    pub fn dial(&mut self, file: usize, to: &Address) -> Result<(), Errno> {
        let Some(FileKind::Socket(socket)) = self.open.get(file).map(|open| &open.kind) else {
            return Err(Errno::EISCONN);
        };
        if socket.listening.is_some() {
            return Err(Errno::EISCONN);
        }
        // As Linux without a free port.
        if self.dialed.len() >= DIALED_MAX {
            return Err(Errno::EADDRNOTAVAIL);
        }
        if self.spare() < OpenFile::COST as usize {
            return Err(Errno::ENOMEM);
        }
        let to = to.destination();
        let mut names = socket.clone();
        if names.name.is_none() {
            let domain = if to.is_v6() { Domain::V6 } else { Domain::V4 };
            names.name = Some(domain.loopback(self.free_port()?).seen_by(names.domain));
        }
        names.peer = Some(to.seen_by(names.domain));
        names.connecting = true;
        let stream = |peer, names| {
            FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                peer: Some(peer),
                writes: true,
                socket: true,
                names,
                ..Stream::default()
            })
        };
        let end = self.add(stream(file, None), 2);
        if let Some(open) = self.open.get_mut(end) {
            open.references += 1;
        }
        if let Some(open) = self.open.get_mut(file) {
            open.kind = stream(end, Some(names));
        }
        self.host_ends.insert(end);
        self.dialed.insert(end, Some(to));
        self.news = true;
        Ok(())
    }

    /// The connections that the host does not know of yet, and where they lead.
    pub fn take_dialed(&mut self) -> Vec<(HostEnd, Address)> {
        let untold = self.dialed.iter_mut();
        let taken: Vec<_> = untold
            .filter_map(|(&end, to)| Some((HostEnd(end), to.take()?)))
            .collect();
        self.news &= taken.is_empty();
        taken
    }

    /// The host has connected it.
    pub fn host_establish(&mut self, end: HostEnd) {
        let Some(file) = self.dialer(end) else { return };
        if let Some(names) = self.socket_mut(file) {
            // Who waits for it by a call takes this back.
            (names.connecting, names.untold) = (false, true);
        }
        self.note_change(file);
    }

    /// The connection cannot be made, or is no more: the guest is told why, and the host's end is closed.
    pub fn host_fail(&mut self, end: HostEnd, why: Errno) {
        let Some(file) = self.dialer(end) else {
            return self.host_close(end);
        };
        if let Some(names) = self.socket_mut(file) {
            names.error = Some(why);
            if names.connecting {
                (names.connecting, names.peer) = (false, None);
                self.disconnect(file);
                if let Some(stream) = self.stream_mut(end.0) {
                    stream.peer = None;
                }
            }
        }
        self.host_close(end);
        self.note_change(file);
    }

    /// What the guest has of a connection.
    fn dialer(&self, end: HostEnd) -> Option<usize> {
        self.stream(end.0)?
            .peer
            .filter(|_| self.dialed.contains_key(&end.0))
    }

    /// Makes a stream the socket again that it was before.
    fn disconnect(&mut self, file: usize) {
        if let Some(open) = self.open.get_mut(file)
            && let FileKind::Stream(stream) = &mut open.kind
            && let Some(names) = stream.names.take()
        {
            self.held -= stream.buffered;
            open.kind = FileKind::Socket(names);
        }
    }

    /// What a connection has come to, once: it is told before its end is.
    pub fn take_error(&mut self, file: usize) -> Option<Errno> {
        self.socket(file)?.error?;
        self.socket_mut(file)?.error.take()
    }

    /// Whether the host has not connected it yet.
    #[must_use]
    pub fn is_connecting(&self, file: usize) -> bool {
        self.socket(file).is_some_and(|socket| socket.connecting)
    }

    /// Checks that each has an end, that no other stream is being connected, and the bound.
    pub(super) fn audit_dialed(&self) -> Result<(), String> {
        ensure(self.dialed.len() <= DIALED_MAX, || {
            format!(
                "{} connections lead outside, wanted at most {DIALED_MAX}",
                self.dialed.len()
            )
        })?;
        let lost = self.dialed.keys().find(|end| !self.host_ends.contains(end));
        ensure(lost.is_none(), || {
            format!("the connection {lost:?} leads outside and has no end there")
        })?;
        for (file, open) in self.open.iter() {
            let good = match &open.kind {
                FileKind::Socket(socket) => !socket.connecting,
                FileKind::Stream(Stream {
                    names: Some(names),
                    peer,
                    ..
                }) => !names.connecting || peer.is_some_and(|peer| self.dialed.contains_key(&peer)),
                _ => true,
            };
            ensure(good, || {
                format!("description {file} is being connected by nobody")
            })?;
        }
        Ok(())
    }
}

/// A connection that is being made has nothing to be read, and takes nothing.
pub(super) fn is_connecting(stream: &Stream) -> bool {
    stream
        .names
        .as_deref()
        .is_some_and(|names: &Socket| names.connecting)
}
