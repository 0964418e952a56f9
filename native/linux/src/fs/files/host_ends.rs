//! Connections that the host makes to the guest: their other ends are streams without a descriptor, one reference each, the host's.

use std::collections::VecDeque;

use super::{FileKind, Files, Stream};
use crate::errno::Errno;
use crate::net::address::{Address, Domain};

/// Most connections of the host at a time.
pub const HOST_ENDS_MAX: usize = 16;

/// The host's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostEnd(pub(super) usize);

impl Files {
    /// From now on the host connects to the guest, and waits while the guest waits for that.
    pub fn serve_host(&mut self) {
        self.serves = true;
    }

    /// The names of the sockets that listen, by age.
    #[must_use]
    pub fn listening(&self) -> Vec<Address> {
        let sockets = self.open.iter().filter_map(|(file, _)| self.socket(file));
        let listening = sockets.filter(|socket| socket.listening.is_some());
        listening.filter_map(|socket| socket.name.clone()).collect()
    }

    /// Connects the host to what listens by this name.
    ///
    /// # Errors
    /// ECONNREFUSED when nothing does or as many wait there as may, EMFILE over [`HOST_ENDS_MAX`], ENFILE and ENOMEM over the
    /// guest's limits.
    pub fn host_connect(&mut self, to: &Address) -> Result<HostEnd, Errno> {
        if self.host_ends.len() - self.dialed.len() >= HOST_ENDS_MAX {
            return Err(Errno::EMFILE);
        }
        let listener = self.listener(&to.destination()).ok_or(Errno::ECONNREFUSED)?;
        if !self
            .socket(listener)
            .is_some_and(crate::net::socket::Socket::has_room)
        {
            return Err(Errno::ECONNREFUSED);
        }
        let end = self.add(
            FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                writes: true,
                socket: true,
                ..Stream::default()
            }),
            2,
        );
        if let Some(open) = self.open.get_mut(end) {
            open.references += 1;
        }
        let client = match to.destination() {
            Address::Unix(_) => Domain::Unix.unnamed(),
            other if other.is_v6() => Domain::V6.loopback(CLIENT_PORT),
            _ => Domain::V4.loopback(CLIENT_PORT),
        };
        if let Err(errno) = self.wait_at(listener, &to.destination(), &client, end) {
            self.unreference(end);
            return Err(errno);
        }
        self.host_ends.insert(end);
        Ok(HostEnd(end))
    }

    /// Gives the guest bytes to read; how many it had room for.
    pub fn host_send(&mut self, end: HostEnd, bytes: &[u8]) -> usize {
        match self.stream_takes(end.0, bytes.len()) {
            Ok(count) => {
                self.write_stream(end.0, &bytes[..count]);
                count
            }
            Err(_) => 0,
        }
    }

    /// Tells the guest that nothing more comes: it reads an end behind what it was given.
    pub fn host_finish(&mut self, end: HostEnd) {
        // A guest that closed its own end has none to be told of.
        let _ = self.shut(end.0, false, true);
    }

    /// Takes what the guest wrote, up to so many bytes.
    pub fn host_receive(&mut self, end: HostEnd, most: usize) -> Vec<u8> {
        self.news = false;
        self.read_stream(end.0, most, false).unwrap_or_default()
    }

    /// Whether the guest will write no more: it closed its end, or shut it for writing.
    #[must_use]
    pub fn host_ended(&self, end: HostEnd) -> bool {
        self.stream(end.0)
            .is_none_or(|stream| stream.peer.is_none() || stream.read_shut)
    }

    /// Whether bytes of the guest's wait to be received.
    #[must_use]
    pub fn host_has_bytes(&self, end: HostEnd) -> bool {
        let incoming = self.stream(end.0).and_then(|stream| stream.incoming.as_ref());
        incoming.is_some_and(|bytes| !bytes.is_empty())
    }

    /// Whether the guest has closed its end.
    #[must_use]
    pub fn host_is_left(&self, end: HostEnd) -> bool {
        self.stream(end.0).is_none_or(|stream| stream.peer.is_none())
    }

    /// All of the host's ends.
    #[must_use]
    pub fn host_ends(&self) -> Vec<HostEnd> {
        self.host_ends.iter().copied().map(HostEnd).collect()
    }

    /// Closes the host's end.
    pub fn host_close(&mut self, end: HostEnd) {
        if self.host_ends.remove(&end.0) {
            self.dialed.remove(&end.0);
            self.unreference(end.0);
        }
        self.news = false;
    }

    /// Whether the guest wrote to a connection of the host's, or closed one, since the host looked.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.news
    }

    /// Notes it for the host if the other end of a stream is the host's.
    pub(super) fn tell_host(&mut self, peer: usize) {
        self.news |= !self.host_ends.is_empty() && self.host_ends.contains(&peer);
    }

    /// The descriptions of which a guest that waits for them waits for the host: those that listen, and connections of the host's.
    pub(super) fn hosts(&self) -> Vec<usize> {
        if !self.serves {
            return Vec::new();
        }
        let is_host = |kind: &FileKind| match kind {
            FileKind::Socket(socket) => socket.listening.is_some(),
            FileKind::Stream(stream) => stream.peer.is_some_and(|peer| self.host_ends.contains(&peer)),
            _ => false,
        };
        let found = self.open.iter().filter(|(_, open)| is_host(&open.kind));
        found.map(|(file, _)| file).collect()
    }
}

/// The port that the guest sees the host connect from.
const CLIENT_PORT: u16 = 61_000;
