//! Names of sockets, as `sockaddr` has them.

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::state::account;

/// Which names a socket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Domain {
    /// `AF_UNIX`.
    Unix,
    /// `AF_INET`.
    V4,
    /// `AF_INET6`.
    V6,
}

/// A name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// A path without its NUL, a name of Linux's own behind a NUL, or none.
    Unix(Vec<u8>),
    /// An IPv4 address and a port.
    V4([u8; 4], u16),
    /// An IPv6 address and a port.
    V6([u8; 16], u16),
}

/// Longest `sun_path`.
const PATH_MAX: usize = 108;
/// Longest `sockaddr`.
pub const ADDRESS_MAX: usize = 128;
/// The first 12 bytes of an IPv4 address that is written as an IPv6 address.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const LOOPBACK_V6: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

impl Domain {
    /// That of a number of `socket(2)`.
    #[must_use]
    pub fn of(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::Unix),
            2 => Some(Self::V4),
            10 => Some(Self::V6),
            _ => None,
        }
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Unix => 1,
            Self::V4 => 2,
            Self::V6 => 10,
        }
    }

    /// The name of a socket that has none.
    #[must_use]
    pub fn unnamed(self) -> Address {
        match self {
            Self::Unix => Address::Unix(Vec::new()),
            Self::V4 => Address::V4([0; 4], 0),
            Self::V6 => Address::V6([0; 16], 0),
        }
    }

    /// The guest's own address.
    #[must_use]
    pub fn loopback(self, port: u16) -> Address {
        match self {
            Self::Unix => Address::Unix(Vec::new()),
            Self::V4 => Address::V4([127, 0, 0, 1], port),
            Self::V6 => Address::V6(LOOPBACK_V6, port),
        }
    }
}

impl Address {
    /// What the longest name takes of the host beside its own size.
    pub(crate) const COST: u64 = account::bytes(PATH_MAX);

    /// Reads a `sockaddr` for a socket of a domain.
    ///
    /// # Errors
    /// EINVAL for one that is too short or too long, EAFNOSUPPORT (EINVAL for UNIX names) for one of another domain.
    pub fn parse(bytes: &[u8], domain: Domain) -> Result<Self, Errno> {
        let family = bytes.first_chunk().map(|family| u16::from_le_bytes(*family));
        let family = family.ok_or(Errno::EINVAL)?;
        let port = || {
            bytes
                .get(2..4)
                .map_or(0, |port| u16::from_be_bytes([port[0], port[1]]))
        };
        let own = family == domain.number();
        match domain {
            Domain::Unix if !own || bytes.len() > 2 + PATH_MAX => Err(Errno::EINVAL),
            Domain::Unix => {
                let name = &bytes[2..];
                let is_path = name.first().is_some_and(|&first| first != 0);
                let end = name.iter().position(|&byte| is_path && byte == 0);
                Ok(Self::Unix(name[..end.unwrap_or(name.len())].to_vec()))
            }
            Domain::V4 => {
                let ip: [u8; 4] = bytes
                    .get(4..8)
                    .filter(|_| bytes.len() >= 16)
                    .and_then(|ip| ip.try_into().ok())
                    .ok_or(Errno::EINVAL)?;
                // AF_UNSPEC of no address is an old way to say the same.
                if own || family == 0 && ip == [0; 4] {
                    Ok(Self::V4(ip, port()))
                } else {
                    Err(Errno::EAFNOSUPPORT)
                }
            }
            Domain::V6 => {
                let ip = bytes.get(8..24).and_then(|ip| ip.try_into().ok());
                let ip = ip.ok_or(Errno::EINVAL)?;
                if own {
                    Ok(Self::V6(ip, port()))
                } else {
                    Err(Errno::EAFNOSUPPORT)
                }
            }
        }
    }

    /// The `sockaddr` of it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Unix(name) => {
                let mut bytes = 1_u16.to_le_bytes().to_vec();
                bytes.extend(name);
                if name.first().is_some_and(|&first| first != 0) {
                    bytes.push(0);
                }
                bytes
            }
            Self::V4(ip, port) => {
                let mut bytes = 2_u16.to_le_bytes().to_vec();
                bytes.extend(port.to_be_bytes());
                bytes.extend(ip);
                bytes.extend([0; 8]);
                bytes
            }
            Self::V6(ip, port) => {
                let mut bytes = 10_u16.to_le_bytes().to_vec();
                bytes.extend(port.to_be_bytes());
                bytes.extend([0; 4]);
                bytes.extend(ip);
                bytes.extend([0; 4]);
                bytes
            }
        }
    }

    /// The port, if it has one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Unix(_) => None,
            Self::V4(_, port) | Self::V6(_, port) => Some(*port),
        }
    }

    /// The same with another port.
    #[must_use]
    pub fn with_port(&self, port: u16) -> Self {
        match self {
            Self::Unix(name) => Self::Unix(name.clone()),
            Self::V4(ip, _) => Self::V4(*ip, port),
            Self::V6(ip, _) => Self::V6(*ip, port),
        }
    }

    /// An IPv4 address that is written as an IPv6 address, as the former.
    #[must_use]
    pub fn unmapped(&self) -> Self {
        match self {
            Self::V6([prefix @ .., a, b, c, d], port) if *prefix == MAPPED => {
                Self::V4([*a, *b, *c, *d], *port)
            }
            other => other.clone(),
        }
    }

    /// As a socket of a domain shows it: an IPv4 address to one of IPv6 as an IPv6 address.
    #[must_use]
    pub fn seen_by(&self, domain: Domain) -> Self {
        match (self, domain) {
            (Self::V4(ip, port), Domain::V6) => {
                let mut mapped = [0; 16];
                mapped[..12].copy_from_slice(&MAPPED);
                mapped[12..].copy_from_slice(ip);
                Self::V6(mapped, *port)
            }
            (other, _) => other.clone(),
        }
    }

    /// Whether it means all of the guest's addresses.
    #[must_use]
    pub fn is_any(&self) -> bool {
        match self.unmapped() {
            Self::Unix(_) => false,
            Self::V4(ip, _) => ip == [0; 4],
            Self::V6(ip, _) => ip == [0; 16],
        }
    }

    /// Whether it is an address of the guest's own, or all of them.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self.unmapped() {
            Self::Unix(_) => true,
            Self::V4(ip, _) => ip[0] == 127 || ip == [0; 4],
            Self::V6(ip, _) => ip == LOOPBACK_V6 || ip == [0; 16],
        }
    }

    /// Whether it is an IPv6 address that no IPv4 address is.
    #[must_use]
    pub fn is_v6(&self) -> bool {
        matches!(self.unmapped(), Self::V6(..))
    }

    /// All addresses as a destination: the guest's own.
    #[must_use]
    pub fn destination(&self) -> Self {
        match self.unmapped() {
            Self::V4([0, 0, 0, 0], port) => Self::V4([127, 0, 0, 1], port),
            Self::V6(ip, port) if ip == [0; 16] => Self::V6(LOOPBACK_V6, port),
            other => other,
        }
    }
}
