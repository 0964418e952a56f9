//! Sockets with names: `socket`, `bind`, `listen`, `accept`, `connect`, names and options.

use super::{Answer, Done, ZERO, value};
use crate::errno::Errno;
use crate::fs::files::{Connected, FileKind, O_NONBLOCK, event};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::net::address::{ADDRESS_MAX, Address, Domain};
use crate::net::netlink;
use crate::net::options::{self, Options};
use crate::net::socket::Socket;
use crate::task::process::{PID, UID};
use crate::task::threads::{Retry, WaitFor};

const CLOEXEC: u64 = 0o200_0000;
/// `TCP_INFO`: `struct tcp_info` of a connection that is established, as far as anybody looks.
const TCP_INFO: u64 = 11;

impl Kernel {
    pub(super) fn sys_socket(&mut self, a: [u64; 6]) -> Answer {
        let [domain, kind, protocol, ..] = a;
        if !self.files.has_sockets() {
            return Err(Errno::EAFNOSUPPORT);
        }
        if domain == u64::from(netlink::FAMILY) {
            return self.open_netlink(kind, protocol, kind & CLOEXEC != 0);
        }
        let domain = Domain::of(domain).ok_or(Errno::EAFNOSUPPORT)?;
        if kind & !(0xf | CLOEXEC | u64::from(O_NONBLOCK)) != 0 {
            return Err(Errno::EINVAL);
        }
        // Streams only: nothing here keeps messages apart.
        if kind & 0xf != 1 {
            return Err(Errno::ESOCKTNOSUPPORT);
        }
        let known = match domain {
            Domain::Unix => protocol <= 1,
            Domain::V4 | Domain::V6 => protocol == 0 || protocol == options::TCP,
        };
        if !known {
            return Err(Errno::EPROTONOSUPPORT);
        }
        let file = self.files.add_socket(domain, kind as u32 & O_NONBLOCK)?;
        value(self.files.attach(file, 0, kind & CLOEXEC != 0)?)
    }

    /// A socket that has names, and what it is.
    fn named(&self, fd: u64) -> Result<(usize, &Socket), Errno> {
        let file = self.socket(fd)?;
        let socket = self.files.socket(file).ok_or(Errno::EOPNOTSUPP)?;
        Ok((file, socket))
    }

    /// A name that the guest gives.
    fn read_address(
        &self,
        m: &mut impl Machine,
        address: u64,
        length: u64,
        domain: Domain,
    ) -> Result<Address, Errno> {
        let length = length as u32 as usize;
        if length > ADDRESS_MAX {
            return Err(Errno::EINVAL);
        }
        let mut bytes = vec![0; length];
        self.space.read(m, address, &mut bytes)?;
        Address::parse(&bytes, domain)
    }

    /// Writes a name, as much of it as there is room for, and its whole length.
    pub(super) fn write_address(
        &self,
        m: &mut impl Machine,
        into: u64,
        length: u64,
        bytes: &[u8],
    ) -> Result<(), Errno> {
        let room = self.space.read_u32(m, length)?;
        if room as i32 <= -1 {
            return Err(Errno::EINVAL);
        }
        self.space
            .write(m, into, &bytes[..bytes.len().min(room as usize)])?;
        self.space.write(m, length, &(bytes.len() as u32).to_le_bytes())
    }

    pub(super) fn sys_bind(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, address, length, ..] = a;
        if self.is_netlink(self.socket(fd)?) {
            // Its name is the process's whatever is asked for, and of what groups would tell nothing ever changes.
            return ZERO;
        }
        let (file, socket) = self.named(fd)?;
        let address = self.read_address(m, address, length, socket.domain)?;
        if let Address::Unix(path) = &address
            && path.first().is_some_and(|&first| first != 0)
        {
            // The name lies beside the tree: nothing is made in a folder for it.
            let found = self.vfs.resolve_from(&self.folder(), path, true)?;
            if found.node.is_some() || found.granted.is_some() {
                return Err(Errno::EADDRINUSE);
            }
        }
        self.files.bind(file, &address).and(ZERO)
    }

    pub(super) fn sys_listen(&mut self, fd: u64, backlog: u64) -> Answer {
        let (file, _) = self.named(fd)?;
        // Negative is as many as may be.
        self.files.listen(file, backlog as u32 as usize).and(ZERO)
    }

    pub(super) fn sys_accept(&mut self, m: &mut impl Machine, a: [u64; 6], flags: u64) -> Answer {
        let [fd, address, length, ..] = a;
        if flags & !(CLOEXEC | u64::from(O_NONBLOCK)) != 0 {
            return Err(Errno::EINVAL);
        }
        let (file, _) = self.named(fd)?;
        let nonblocking = self.files.file(file).is_some_and(|open| open.nonblocking());
        let peer = match self.files.next_connection(file) {
            Ok(peer) => peer,
            Err(Errno::EAGAIN) => return self.wait_or_again(file, event::IN, nonblocking),
            Err(errno) => return Err(errno),
        };
        if address != 0 {
            self.write_address(m, address, length, &peer.to_bytes())?;
        }
        value(
            self.files
                .accept(file, flags as u32 & O_NONBLOCK, flags & CLOEXEC != 0)?,
        )
    }

    /// `connect` to the outside, of a socket that nothing in the guest answers: begun if the host permits it.
    fn dial(&mut self, file: usize, to: &Address, nonblocking: bool, unreachable: Errno) -> Answer {
        let Some(permits) = &self.permits else {
            return Err(unreachable);
        };
        // Nothing listens there, as far as the guest is to know.
        let refused = |errno| if to.is_local() { unreachable } else { errno };
        permits.permit(&to.destination()).map_err(refused)?;
        self.files.dial(file, to)?;
        match nonblocking {
            true => Err(Errno::EINPROGRESS),
            false => self.wait_or_again(file, event::OUT, false),
        }
    }

    pub(super) fn sys_connect(&mut self, m: &mut impl Machine, a: [u64; 6], retry: Option<Retry>) -> Answer {
        let [fd, address, length, ..] = a;
        let (file, socket) = self.named(fd)?;
        let domain = socket.domain;
        let to = self.read_address(m, address, length, domain)?;
        let nonblocking = self.files.file(file).is_some_and(|open| open.nonblocking());
        let tells_later = nonblocking && domain != Domain::Unix && retry.is_none();
        if let Some(socket) = self.files.socket_mut(file) {
            if let Some(error) = socket.error.take() {
                return Err(error);
            }
            if std::mem::take(&mut socket.untold) {
                return ZERO;
            }
        }
        if self.files.is_connecting(file) {
            return match nonblocking {
                true => Err(Errno::EALREADY),
                false => self.wait_or_again(file, event::OUT, false),
            };
        }
        let connected = match self.files.connect(file, &to) {
            Err(unreachable @ (Errno::ENETUNREACH | Errno::ECONNREFUSED)) if domain != Domain::Unix => {
                match self.dial(file, &to, nonblocking, unreachable) {
                    Err(errno) if errno == unreachable => Err(errno),
                    answer => return answer,
                }
            }
            other => other,
        };
        match connected {
            // As TCP has it, even where nothing is left to wait for.
            Ok(Connected::Now) if tells_later => {
                self.files
                    .socket_mut(file)
                    .into_iter()
                    .for_each(|socket| socket.untold = true);
                Err(Errno::EINPROGRESS)
            }
            Ok(Connected::Now) => ZERO,
            Ok(Connected::Full(_)) if nonblocking => Err(Errno::EAGAIN),
            Ok(Connected::Full(listener)) => Ok(Done::Wait(
                WaitFor::Files(vec![(listener, event::ROOM | event::ALWAYS)]),
                None,
            )),
            Err(Errno::ECONNREFUSED) if tells_later => {
                let socket = self.files.socket_mut(file);
                socket
                    .into_iter()
                    .for_each(|socket| socket.error = Some(Errno::ECONNREFUSED));
                self.files.note_change(file);
                Err(Errno::EINPROGRESS)
            }
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn sys_socket_name(&mut self, m: &mut impl Machine, a: [u64; 6], of_peer: bool) -> Answer {
        let [fd, into, length, ..] = a;
        let file = self.socket(fd)?;
        if self.is_netlink(file) {
            let name = Self::netlink_name(of_peer);
            return self.write_address(m, into, length, &name).and(ZERO);
        }
        let name = match (self.files.socket(file), of_peer) {
            // An end of a pair.
            (None, _) => Address::Unix(Vec::new()),
            (Some(socket), true) => {
                let peer = socket.peer.clone().filter(|_| !socket.connecting);
                peer.ok_or(Errno::ENOTCONN)?
            }
            (Some(socket), false) => socket.name.clone().unwrap_or(socket.domain.unnamed()),
        };
        self.write_address(m, into, length, &name.to_bytes()).and(ZERO)
    }

    pub(super) fn sys_setsockopt(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, level, option, from, length, _] = a;
        let file = self.socket(fd)?;
        if length as i32 <= -1 {
            return Err(Errno::EINVAL);
        }
        let mut bytes = vec![0; (length as u32 as usize).min(Options::VALUE_MAX)];
        self.space.read(m, from, &mut bytes)?;
        let socket = self.files.socket_mut(file).ok_or(Errno::EOPNOTSUPP)?;
        check_level(level, socket.domain)?;
        socket.options.set(level, option, &bytes).and(ZERO)
    }

    pub(super) fn sys_getsockopt(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, level, option, into, length, _] = a;
        let file = self.socket(fd)?;
        let socket = self.files.socket(file);
        let word = |word: u32| word.to_le_bytes().to_vec();
        let domain = socket.map_or(Domain::Unix, |socket| socket.domain);
        let protocol = if domain == Domain::Unix {
            0
        } else {
            options::TCP as u32
        };
        let room = self.space.read_u32(m, length)?;
        if room as i32 <= -1 {
            return Err(Errno::EINVAL);
        }
        // SO_TYPE, SO_ERROR, SO_PEERCRED, SO_ACCEPTCONN, SO_PROTOCOL, SO_DOMAIN.
        let found = match (level, option) {
            (options::SOCKET, 3) => word(1),
            (options::SOCKET, 4) => {
                let error = self.files.socket_mut(file).and_then(|socket| socket.error.take());
                word(error.map_or(0, |error| error.0.into()))
            }
            (options::SOCKET, 17) => [PID as u32, UID, UID].map(u32::to_le_bytes).concat(),
            (options::SOCKET, 30) => word(socket.is_some_and(|socket| socket.listening.is_some()).into()),
            (options::SOCKET, 38) => word(protocol),
            (options::SOCKET, 39) => word(domain.number().into()),
            (options::TCP, TCP_INFO) if domain != Domain::Unix => {
                let connected = matches!(
                    self.files.file(file).map(|open| &open.kind),
                    Some(FileKind::Stream(_))
                );
                let mut info = vec![0; 104];
                // TCP_SYN_SENT, TCP_ESTABLISHED or TCP_CLOSE.
                info[0] = match connected {
                    true if socket.is_some_and(|socket| socket.connecting) => 2,
                    true => 1,
                    false => 7,
                };
                info
            }
            _ => {
                check_level(level, domain)?;
                let options = socket.map(|socket| &socket.options);
                options.map_or_else(
                    || Options::default().get(level, option),
                    |options| options.get(level, option),
                )?
            }
        };
        let given = found.len().min(room as usize);
        self.space.write(m, into, &found[..given])?;
        self.space
            .write(m, length, &(given as u32).to_le_bytes())
            .and(ZERO)
    }

    /// What a call for bytes answers on a socket that is not connected.
    pub(super) fn unconnected(&mut self, file: usize, writes: bool, quiet: bool) -> Answer {
        let domain = self.files.socket(file).map(|socket| socket.domain);
        let listens = self
            .files
            .socket(file)
            .is_some_and(|socket| socket.listening.is_some());
        match (domain, writes) {
            (Some(Domain::Unix), true) => Err(Errno::ENOTCONN),
            (Some(Domain::Unix), false) => Err(Errno::EINVAL),
            (_, true) if quiet => Err(Errno::EPIPE),
            (_, true) => self.broken_pipe(),
            (_, false) => {
                let error = self.files.socket_mut(file).and_then(|socket| socket.error.take());
                Err(error.filter(|_| !listens).unwrap_or(Errno::ENOTCONN))
            }
        }
    }
}

/// Whether a socket of a domain knows options of a level.
fn check_level(level: u64, domain: Domain) -> Result<(), Errno> {
    match (level, domain) {
        (options::SOCKET, _) | (options::TCP, Domain::V4 | Domain::V6) => Ok(()),
        (options::V4, Domain::V4 | Domain::V6) | (options::V6, Domain::V6) => Ok(()),
        (_, Domain::Unix) => Err(Errno::EOPNOTSUPP),
        _ => Err(Errno::ENOPROTOOPT),
    }
}
