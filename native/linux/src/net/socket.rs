//! What a socket is beside the bytes of its stream.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::net::address::{Address, Domain};
use crate::net::options::Options;
use crate::state::account;

/// Most connections that wait at one listening socket.
pub const BACKLOG_MAX: usize = 128;

/// A socket's names, options, and the connections that wait at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Which names it has.
    pub domain: Domain,
    /// Its own name, once it has one.
    pub name: Option<Address>,
    /// The name of the other end, once it is connected.
    pub peer: Option<Address>,
    /// Its options.
    pub options: Options,
    /// What waits at it, if it listens.
    pub listening: Option<Listening>,
    /// What a connection that was begun has come to: shown once.
    pub error: Option<Errno>,
    /// It was connected by a call that did not wait and has not been told yet.
    pub untold: bool,
    /// The host connects it to the outside, and has not yet.
    pub connecting: bool,
}

/// The connections that wait at a listening socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// Most of them.
    pub backlog: usize,
    /// The descriptions that `accept` gives next.
    pub queue: VecDeque<usize>,
}

impl Socket {
    /// What one takes of the host.
    pub(crate) const COST: usize =
        (account::bytes(size_of::<Socket>()) + 2 * Address::COST + account::bytes(16 * BACKLOG_MAX)) as usize;

    /// A fresh one.
    #[must_use]
    pub fn new(domain: Domain) -> Self {
        Self {
            domain,
            name: None,
            peer: None,
            options: Options::default(),
            listening: None,
            error: None,
            untold: false,
            connecting: false,
        }
    }

    /// Whether one more connection may wait at it.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.listening
            .as_ref()
            .is_some_and(|listening| listening.queue.len() < listening.backlog)
    }

    /// Whether it and another cannot both have these names: the same port of an address that both would have.
    #[must_use]
    pub fn meets(&self, name: &Address, only_v6: bool) -> bool {
        let Some(own) = &self.name else { return false };
        match (own, name) {
            (Address::Unix(own), Address::Unix(name)) => own == name && !name.is_empty(),
            (Address::Unix(_), _) | (_, Address::Unix(_)) => false,
            _ if own.port() != name.port() => false,
            _ => match (own.is_v6(), name.is_v6()) {
                (same, other) if same == other => {
                    own.is_any() || name.is_any() || own.unmapped() == name.unmapped()
                }
                // All addresses of IPv6 are those of IPv4 as well, unless it was told otherwise.
                (true, _) => own.is_any() && !self.options.only_v6(),
                (false, _) => name.is_any() && !only_v6,
            },
        }
    }

    /// How well it, if it listens, answers to a name that somebody connects to: 0 not at all.
    #[must_use]
    pub fn answers(&self, name: &Address) -> u32 {
        let (Some(own), true) = (&self.name, self.listening.is_some()) else {
            return 0;
        };
        match (own, name) {
            (Address::Unix(own), Address::Unix(name)) => u32::from(own == name) * 2,
            (Address::Unix(_), _) | (_, Address::Unix(_)) => 0,
            _ if own.port() != name.port() => 0,
            _ if own.unmapped() == name.unmapped() => 2,
            _ => u32::from(
                own.is_any() && (own.is_v6() == name.is_v6() || own.is_v6() && !self.options.only_v6()),
            ),
        }
    }
}
