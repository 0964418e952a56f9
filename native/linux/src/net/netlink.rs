//! rtnetlink(7) as far as programs list interfaces with it (getifaddrs(3)): the guest has the loopback and no other.
//!
//! A question is kept as its kind and sequence number; the datagram that answers it is made when it is read.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::task::process::PID;

/// `AF_NETLINK`.
pub const FAMILY: u16 = 16;
/// `NETLINK_ROUTE`, the protocol that is there.
pub const ROUTE: u64 = 0;
/// Most questions that wait to be answered at one socket.
const ASKED_MAX: usize = 8;
/// Bytes of a `struct nlmsghdr`.
const HEADER: usize = 16;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLM_F_ROOT | NLM_F_MATCH`: all there is.
const DUMP: u16 = 0x300;
/// `NLM_F_MULTI`: more of the same answer follows.
const MULTI: u16 = 2;
/// The loopback's index and name.
const INDEX: u32 = 1;
const NAME: &[u8] = b"lo\0";
/// The length that Linux tells for the loopback's packets.
const MTU: u32 = 65_536;

/// Types of messages.
mod kind {
    pub const ERROR: u16 = 2;
    pub const DONE: u16 = 3;
    /// Lower ones are of netlink itself.
    pub const FIRST: u16 = 16;
    pub const NEW_LINK: u16 = 16;
    pub const GET_LINK: u16 = 18;
    pub const NEW_ADDRESS: u16 = 20;
    pub const GET_ADDRESS: u16 = 22;
}

/// A netlink socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Netlink {
    asked: VecDeque<Asked>,
}

/// A question: the header that it had, and the family of addresses that it is about (0 for all).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Asked {
    header: [u8; HEADER],
    family: u8,
}

impl Asked {
    fn kind(&self) -> u16 {
        u16::from_le_bytes([self.header[4], self.header[5]])
    }

    fn flags(&self) -> u16 {
        u16::from_le_bytes([self.header[6], self.header[7]])
    }

    fn is_question(&self) -> bool {
        self.flags() & REQUEST != 0 && self.kind() >= kind::FIRST
    }

    fn wants_all(&self) -> bool {
        self.flags() & DUMP == DUMP
    }
}

impl Netlink {
    /// Whether no more questions wait than may: for what was read from a file.
    pub(crate) fn is_sound(&self) -> bool {
        self.asked.len() <= ASKED_MAX
    }

    /// Bytes that one takes of the host beside its description.
    pub const COST: usize = ASKED_MAX * size_of::<Asked>();
    /// Longest request: what Linux's buffer for sending takes unless it is told otherwise.
    pub const REQUEST_MAX: u64 = 212_992 - 32;

    /// Whether an answer can be read.
    #[must_use]
    pub fn has_answer(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Takes the messages of a datagram. Those that are broken or ask nothing are passed over, as Linux does.
    ///
    /// # Errors
    /// ENOBUFS when as many questions wait as may.
    pub fn ask(&mut self, mut datagram: &[u8]) -> Result<(), Errno> {
        while let Some(&header) = datagram.first_chunk::<HEADER>() {
            let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
            if length < HEADER || length > datagram.len() {
                break;
            }
            let family = datagram[..length].get(HEADER).copied().unwrap_or_default();
            let asked = Asked { header, family };
            if asked.is_question() {
                if self.asked.len() >= ASKED_MAX {
                    return Err(Errno::ENOBUFS);
                }
                self.asked.reserve_exact(1);
                self.asked.push_back(asked);
            }
            datagram = &datagram[length.next_multiple_of(4).min(datagram.len())..];
        }
        Ok(())
    }

    /// The datagram that answers the oldest question.
    #[must_use]
    pub fn answer(&self) -> Option<Vec<u8>> {
        let asked = self.asked.front()?;
        let mut answer = Answer {
            bytes: Vec::new(),
            sequence: asked.header[8..12].try_into().unwrap_or_default(),
        };
        let has = |family| asked.family == 0 || u16::from(asked.family) == family;
        match asked.kind() {
            kind::GET_LINK if asked.wants_all() => answer.add_link(),
            kind::GET_ADDRESS if asked.wants_all() => {
                if has(V4) {
                    answer.add_address(V4, 8, &[127, 0, 0, 1]);
                }
                if has(V6) {
                    answer.add_address(V6, 128, &std::net::Ipv6Addr::LOCALHOST.octets());
                }
            }
            _ => {
                let mut body = (-i32::from(Errno::EOPNOTSUPP.0)).to_le_bytes().to_vec();
                body.extend(asked.header);
                answer.add(kind::ERROR, 0, &body);
                return Some(answer.bytes);
            }
        }
        answer.add(kind::DONE, MULTI, &[0; 4]);
        Some(answer.bytes)
    }

    /// Forgets the oldest question, whose answer was read.
    pub fn answered(&mut self) {
        self.asked.pop_front();
    }
}

/// `AF_INET` and `AF_INET6`.
const V4: u16 = 2;
const V6: u16 = 10;

/// Messages that are put one behind the other.
struct Answer {
    bytes: Vec<u8>,
    sequence: [u8; 4],
}

impl Answer {
    fn add(&mut self, kind: u16, flags: u16, body: &[u8]) {
        self.bytes.extend(((HEADER + body.len()) as u32).to_le_bytes());
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(flags.to_le_bytes());
        self.bytes.extend(self.sequence);
        self.bytes.extend((PID as u32).to_le_bytes());
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The loopback: `struct ifinfomsg` and its attributes.
    fn add_link(&mut self) {
        const LOOPBACK: u16 = 772;
        /// `IFF_UP | IFF_LOOPBACK | IFF_RUNNING | IFF_LOWER_UP`.
        const FLAGS: u32 = 0x1_0049;
        let mut body = vec![0, 0];
        body.extend(LOOPBACK.to_le_bytes());
        body.extend(INDEX.to_le_bytes());
        body.extend(FLAGS.to_le_bytes());
        body.extend([0; 4]);
        // IFLA_IFNAME, IFLA_MTU, IFLA_ADDRESS, IFLA_BROADCAST.
        add_attribute(&mut body, 3, NAME);
        add_attribute(&mut body, 4, &MTU.to_le_bytes());
        add_attribute(&mut body, 1, &[0; 6]);
        add_attribute(&mut body, 2, &[0; 6]);
        self.add(kind::NEW_LINK, MULTI, &body);
    }

    /// An address of the loopback: `struct ifaddrmsg` and its attributes.
    fn add_address(&mut self, family: u16, prefix: u8, address: &[u8]) {
        /// `IFA_F_PERMANENT`, `RT_SCOPE_HOST`.
        const PERMANENT: u8 = 0x80;
        const HOST: u8 = 254;
        let mut body = vec![family as u8, prefix, PERMANENT, HOST];
        body.extend(INDEX.to_le_bytes());
        // IFA_ADDRESS; of IPv4 also IFA_LOCAL and IFA_LABEL.
        add_attribute(&mut body, 1, address);
        if family == V4 {
            add_attribute(&mut body, 2, address);
            add_attribute(&mut body, 3, NAME);
        }
        self.add(kind::NEW_ADDRESS, MULTI, &body);
    }
}

/// Adds a `struct rtattr` and its value, padded to four bytes.
fn add_attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_le_bytes());
    body.extend(kind.to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The name of a netlink socket (`struct sockaddr_nl`): the guest's, or the kernel's, which is 0.
#[must_use]
pub fn name(port: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..2].copy_from_slice(&FAMILY.to_le_bytes());
    bytes[4..8].copy_from_slice(&port.to_le_bytes());
    bytes
}
