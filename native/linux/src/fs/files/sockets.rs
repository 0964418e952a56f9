//! Sockets: named, listening, connected to each other.
//!
//! ```text
//!   socket ── bind ── listen ── queue of streams ── accept ──> stream  <──┐
//!   socket ───────────── connect ────────────────────────────> stream  <──┘ peer
//! ```
//! A stream that waits in a queue has one reference, the queue's.

use std::collections::{BTreeSet, VecDeque};

use super::{FileKind, Files, OpenFile, READING, Stream, WRITING};
use crate::errno::Errno;
use crate::net::address::{Address, Domain};
use crate::net::netlink::Netlink;
use crate::net::socket::{BACKLOG_MAX, Listening, Socket};

/// The first port of those that are given to who asks for any.
const PORTS: std::ops::Range<u16> = 32_768..61_000;

/// How a connection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connected {
    /// Both ends are there.
    Now,
    /// As many wait at this listening socket as may.
    Full(usize),
}

impl Files {
    /// Sets how many sockets there may be that have names; none at first.
    pub fn set_socket_limit(&mut self, sockets: usize) {
        self.socket_limit = sockets;
    }

    /// Whether there may be sockets with names at all.
    #[must_use]
    pub fn has_sockets(&self) -> bool {
        self.socket_limit > 0
    }

    /// Takes the place of one more socket.
    fn count_socket(&mut self) -> Result<(), Errno> {
        if self.sockets >= self.socket_limit {
            return Err(Errno::ENFILE);
        }
        if self.spare() < Socket::COST + OpenFile::COST as usize {
            return Err(Errno::ENOMEM);
        }
        self.sockets += 1;
        self.hold(Socket::COST);
        Ok(())
    }

    /// Gives back the place of a socket.
    pub(super) fn uncount_socket(&mut self) {
        self.sockets -= 1;
        self.held -= Socket::COST;
    }

    /// Gives back the place of a socket that is no more, and what waited at it.
    pub(super) fn drop_socket(&mut self, socket: &Socket) {
        self.uncount_socket();
        for waiting in socket.listening.iter().flat_map(|listening| &listening.queue) {
            self.unreference(*waiting);
        }
    }

    /// Makes a socket.
    ///
    /// # Errors
    /// ENFILE and ENOMEM over the limits.
    pub fn add_socket(&mut self, domain: Domain, flags: u32) -> Result<usize, Errno> {
        self.count_socket()?;
        Ok(self.add(FileKind::Socket(Box::new(Socket::new(domain))), flags | 2))
    }

    /// Makes a socket that tells of the guest's interfaces.
    ///
    /// # Errors
    /// ENFILE and ENOMEM over the limits.
    pub fn add_netlink(&mut self, flags: u32) -> Result<usize, Errno> {
        const { assert!(Netlink::COST <= Socket::COST, "it is counted as any socket") };
        self.count_socket()?;
        Ok(self.add(FileKind::Netlink(Netlink::default()), flags | 2))
    }

    /// A socket that tells of the guest's interfaces.
    #[must_use]
    pub fn netlink(&self, file: usize) -> Option<&Netlink> {
        match &self.open.get(file)?.kind {
            FileKind::Netlink(netlink) => Some(netlink),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn netlink_mut(&mut self, file: usize) -> Option<&mut Netlink> {
        match &mut self.open.get_mut(file)?.kind {
            FileKind::Netlink(netlink) => Some(netlink),
            _ => None,
        }
    }

    /// What a socket is beside its bytes; `None` for a pair's and what is no socket.
    #[must_use]
    pub fn socket(&self, file: usize) -> Option<&Socket> {
        match &self.open.get(file)?.kind {
            FileKind::Socket(socket) => Some(socket),
            FileKind::Stream(stream) => stream.names.as_deref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn socket_mut(&mut self, file: usize) -> Option<&mut Socket> {
        match &mut self.open.get_mut(file)?.kind {
            FileKind::Socket(socket) => Some(socket),
            FileKind::Stream(stream) => stream.names.as_deref_mut(),
            _ => None,
        }
    }

    fn all_sockets(&self) -> impl Iterator<Item = (usize, &Socket)> {
        let numbers = self.open.iter().map(|(file, _)| file);
        numbers.filter_map(|file| Some((file, self.socket(file)?)))
    }

    /// A port that no socket has.
    pub(super) fn free_port(&self) -> Result<u16, Errno> {
        let taken: BTreeSet<u16> = self
            .all_sockets()
            .filter_map(|(_, socket)| socket.name.as_ref()?.port())
            .collect();
        let free = PORTS.into_iter().find(|port| !taken.contains(port));
        free.ok_or(Errno::EADDRINUSE)
    }

    /// `bind`.
    ///
    /// # Errors
    /// EINVAL when it has a name, EADDRNOTAVAIL for an address that is not the guest's, EADDRINUSE.
    pub fn bind(&mut self, file: usize, address: &Address) -> Result<(), Errno> {
        let socket = self.socket(file).ok_or(Errno::EOPNOTSUPP)?;
        if !address.is_local() {
            return Err(Errno::EADDRNOTAVAIL);
        }
        if socket.name.is_some() {
            return Err(Errno::EINVAL);
        }
        let address = match address {
            Address::Unix(name) if name.is_empty() => Address::Unix(self.free_name()),
            _ if address.port() == Some(0) => address.with_port(self.free_port()?),
            other => other.clone(),
        };
        let (options, only_v6) = (&socket.options, socket.options.only_v6());
        let in_the_way = self.all_sockets().any(|(other_file, other)| {
            let listens = other.listening.is_some();
            other_file != file
                && other.meets(&address, only_v6)
                && !(options.reuses_port() && other.options.reuses_port())
                && !(options.reuses_address() && other.options.reuses_address() && !listens)
        });
        if in_the_way {
            return Err(Errno::EADDRINUSE);
        }
        if let Some(socket) = self.socket_mut(file) {
            socket.name = Some(address);
        }
        Ok(())
    }

    /// A name of Linux's own (behind a NUL, five digits) that no socket has.
    fn free_name(&self) -> Vec<u8> {
        let name = |number: usize| format!("\0{number:05x}").into_bytes();
        let taken: BTreeSet<&[u8]> = self
            .all_sockets()
            .filter_map(|(_, socket)| match socket.name.as_ref()? {
                Address::Unix(name) => Some(&name[..]),
                _ => None,
            })
            .collect();
        (0..=taken.len())
            .map(name)
            .find(|name| !taken.contains(&name[..]))
            .unwrap_or_default()
    }

    /// `listen`.
    ///
    /// # Errors
    /// EINVAL for a connected socket and a UNIX socket without a name, EADDRINUSE where another listens.
    pub fn listen(&mut self, file: usize, backlog: usize) -> Result<(), Errno> {
        let Some(FileKind::Socket(socket)) = self.open.get(file).map(|open| &open.kind) else {
            return Err(Errno::EINVAL);
        };
        match &socket.name {
            None if socket.domain == Domain::Unix => return Err(Errno::EINVAL),
            None => {
                let name = socket.domain.unnamed().with_port(self.free_port()?);
                if let Some(socket) = self.socket_mut(file) {
                    socket.name = Some(name);
                }
            }
            Some(name) => {
                let in_the_way = self.all_sockets().any(|(other_file, other)| {
                    other_file != file
                        && other.listening.is_some()
                        && other.meets(name, socket.options.only_v6())
                        && !(socket.options.reuses_port() && other.options.reuses_port())
                });
                if in_the_way {
                    return Err(Errno::EADDRINUSE);
                }
            }
        }
        if let Some(socket) = self.socket_mut(file) {
            let queue = socket
                .listening
                .take()
                .map_or_else(VecDeque::new, |old| old.queue);
            let backlog = backlog.clamp(1, BACKLOG_MAX);
            socket.listening = Some(Listening { backlog, queue });
        }
        self.note_change(file);
        Ok(())
    }

    /// Whether a socket was bound to a UNIX name.
    fn is_bound(&self, name: &Address) -> bool {
        self.all_sockets().any(|(_, socket)| socket.meets(name, true))
    }

    /// The listening socket that answers to a name.
    pub(super) fn listener(&self, name: &Address) -> Option<usize> {
        let found = self
            .all_sockets()
            .map(|(file, socket)| (socket.answers(name), file));
        // Of several, the one that was made first.
        let best = found
            .filter(|&(how, _)| how > 0)
            .max_by_key(|&(how, file)| (how, std::cmp::Reverse(file)));
        best.map(|(_, file)| file)
    }

    /// Puts a stream to `accept` at a listening socket, whose other end is `peer`.
    pub(super) fn wait_at(
        &mut self,
        listener: usize,
        name: &Address,
        client: &Address,
        peer: usize,
    ) -> Result<(), Errno> {
        let server = self.socket(listener).ok_or(Errno::ECONNREFUSED)?;
        let mut names = Socket::new(server.domain);
        names.name = match &server.name {
            // What listens on all addresses is connected to by one of them.
            Some(own) if own.is_any() => Some(name.seen_by(server.domain)),
            own => own.clone(),
        };
        names.peer = Some(client.seen_by(server.domain));
        names.options = server.options.clone();
        self.count_socket()?;
        let file = self.add(
            FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                peer: Some(peer),
                writes: true,
                socket: true,
                names: Some(Box::new(names)),
                ..Stream::default()
            }),
            2,
        );
        if let Some(open) = self.open.get_mut(file) {
            open.references += 1;
        }
        self.set_peer(peer, file);
        if let Some(listening) = self
            .socket_mut(listener)
            .and_then(|socket| socket.listening.as_mut())
        {
            listening.queue.push_back(file);
        }
        self.note(listener, READING);
        Ok(())
    }

    /// `connect` of a socket that is not connected.
    ///
    /// # Errors
    /// ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL, ENFILE and ENOMEM over the limits.
    pub fn connect(&mut self, file: usize, to: &Address) -> Result<Connected, Errno> {
        let Some(FileKind::Socket(socket)) = self.open.get(file).map(|open| &open.kind) else {
            return Err(Errno::EISCONN);
        };
        if socket.listening.is_some() {
            return Err(if socket.domain == Domain::Unix {
                Errno::EINVAL
            } else {
                Errno::EISCONN
            });
        }
        if !to.is_local() {
            return Err(Errno::ENETUNREACH);
        }
        let to = to.destination();
        let mut names = (**socket).clone();
        if names.name.is_none() && names.domain != Domain::Unix {
            let domain = if to.is_v6() { Domain::V6 } else { Domain::V4 };
            names.name = Some(domain.loopback(self.free_port()?).seen_by(names.domain));
        }
        let listener = self.listener(&to).ok_or_else(|| match &to {
            Address::Unix(path) if path.first().is_some_and(|&first| first != 0) && !self.is_bound(&to) => {
                Errno::ENOENT
            }
            _ => Errno::ECONNREFUSED,
        })?;
        if !self.socket(listener).is_some_and(Socket::has_room) {
            return Ok(Connected::Full(listener));
        }
        let client = names.name.clone().unwrap_or(names.domain.unnamed());
        names.peer = Some(to.seen_by(names.domain));
        self.wait_at(listener, &to, &client, file)?;
        let server = self
            .socket(listener)
            .and_then(|socket| socket.listening.as_ref()?.queue.back().copied());
        if let Some(open) = self.open.get_mut(file) {
            open.kind = FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                peer: server,
                writes: true,
                socket: true,
                names: Some(Box::new(names)),
                ..Stream::default()
            });
        }
        self.note(file, READING);
        self.note(file, WRITING);
        Ok(Connected::Now)
    }

    /// The name of the other end of the connection that `accept` gives next.
    ///
    /// # Errors
    /// EINVAL for a socket that does not listen, EAGAIN when none waits.
    pub fn next_connection(&self, file: usize) -> Result<Address, Errno> {
        let socket = self.socket(file).ok_or(Errno::EOPNOTSUPP)?;
        let listening = socket.listening.as_ref().ok_or(Errno::EINVAL)?;
        let next = *listening.queue.front().ok_or(Errno::EAGAIN)?;
        let peer = self.socket(next).and_then(|next| next.peer.clone());
        Ok(peer.unwrap_or(socket.domain.unnamed()))
    }

    /// `accept`: gives the connection that waits longest a descriptor.
    ///
    /// # Errors
    /// As [`Files::next_connection`], and EMFILE and ENOMEM; the connection waits on then.
    pub fn accept(&mut self, listener: usize, flags: u32, close_on_exec: bool) -> Result<u64, Errno> {
        self.next_connection(listener)?;
        let queue = |files: &mut Self| -> Option<usize> {
            files.socket_mut(listener)?.listening.as_mut()?.queue.pop_front()
        };
        let file = queue(self).ok_or(Errno::EAGAIN)?;
        // The queue's reference keeps it until it has its descriptor.
        let attached = self.attach(file, 0, close_on_exec);
        match attached {
            Ok(_) => {
                if let Some(open) = self.open.get_mut(file) {
                    open.references -= 1;
                    open.flags |= flags;
                }
                self.note(listener, WRITING);
            }
            Err(_) => {
                let waiting = self
                    .socket_mut(listener)
                    .and_then(|socket| socket.listening.as_mut());
                waiting
                    .into_iter()
                    .for_each(|listening| listening.queue.push_front(file));
            }
        }
        attached
    }

    /// `shutdown` of a socket that is not connected: one that listens no longer does.
    ///
    /// # Errors
    /// ENOTCONN for one that does not listen.
    pub fn stop_listening(&mut self, file: usize, reading: bool) -> Result<(), Errno> {
        let socket = self.socket_mut(file).ok_or(Errno::ENOTSOCK)?;
        if socket.listening.is_none() {
            return Err(Errno::ENOTCONN);
        }
        if reading {
            let waiting = socket.listening.take().map(|listening| listening.queue);
            for connection in waiting.into_iter().flatten() {
                self.unreference(connection);
            }
        }
        self.note_change(file);
        Ok(())
    }
}
