//! Netlink sockets: a question by any call that sends, its answer by any that receives.

use super::vectors::{Part, sum};
use super::{Answer, value};
use crate::errno::Errno;
use crate::fs::files::{O_NONBLOCK, event};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::net::netlink::{self, Netlink};
use crate::task::process::PID;

/// `MSG_PEEK` and `MSG_TRUNC` of recv(2).
const PEEK: u64 = 2;
const TRUNC: u64 = 0x20;

impl Kernel {
    pub(super) fn open_netlink(&mut self, kind: u64, protocol: u64, close_on_exec: bool) -> Answer {
        // SOCK_DGRAM and SOCK_RAW are the same here.
        if !matches!(kind & 0xf, 2 | 3) {
            return Err(Errno::ESOCKTNOSUPPORT);
        }
        if protocol != netlink::ROUTE {
            return Err(Errno::EPROTONOSUPPORT);
        }
        let file = self.files.add_netlink(kind as u32 & O_NONBLOCK)?;
        value(self.files.attach(file, 0, close_on_exec)?)
    }

    pub(super) fn is_netlink(&self, file: usize) -> bool {
        self.files.netlink(file).is_some()
    }

    /// The name of a netlink socket, and of its peer, which is the kernel.
    pub(super) fn netlink_name(of_peer: bool) -> [u8; 12] {
        netlink::name(if of_peer { 0 } else { PID as u32 })
    }

    /// Takes a datagram with questions.
    pub(super) fn ask_netlink(&mut self, file: usize, bytes: &[u8]) -> Answer {
        let socket = self.files.netlink_mut(file).ok_or(Errno::ENOTSOCK)?;
        socket.ask(bytes)?;
        self.files.note_change(file);
        value(bytes.len() as u64)
    }

    /// The same with the datagram in parts of the guest's memory.
    pub(super) fn send_question(&mut self, m: &mut impl Machine, file: usize, parts: &[Part]) -> Answer {
        if sum(parts) > Netlink::REQUEST_MAX {
            return Err(Errno::EMSGSIZE);
        }
        let mut bytes = Vec::new();
        for &[address, length] in parts {
            let start = bytes.len();
            bytes.resize(start + length as usize, 0);
            self.space.read(m, address, &mut bytes[start..])?;
        }
        self.ask_netlink(file, &bytes)
    }

    /// Gives the oldest answer; what there is no room for is lost, as of any datagram.
    pub(super) fn receive_answer(
        &mut self,
        m: &mut impl Machine,
        file: usize,
        parts: &[Part],
        nonblocking: bool,
        flags: u64,
    ) -> Answer {
        let socket = self.files.netlink(file).ok_or(Errno::ENOTSOCK)?;
        let Some(bytes) = socket.answer() else {
            return self.wait_or_again(file, event::IN, nonblocking);
        };
        let given = sum(parts).min(bytes.len() as u64);
        self.scatter(m, parts, &bytes[..given as usize])?;
        if flags & PEEK == 0
            && let Some(socket) = self.files.netlink_mut(file)
        {
            socket.answered();
        }
        value(if flags & TRUNC == 0 {
            given
        } else {
            bytes.len() as u64
        })
    }

    /// `MSG_TRUNC` when there is less room than the oldest answer has bytes.
    pub(super) fn truncation(&self, file: usize, parts: &[Part]) -> u64 {
        let answer = self.files.netlink(file).and_then(Netlink::answer);
        if answer.is_some_and(|answer| sum(parts) < answer.len() as u64) {
            TRUNC
        } else {
            0
        }
    }
}
