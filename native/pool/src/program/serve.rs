//! Programs that serve: a request is a connection that the host makes to what they listen on.
//!
//! ```text
//! boot ── listens and waits ──> warm-up by requests ──> snapshot
//! fork ── connect, bytes in ──> accept, read, write ──> bytes out, whole by the protocol or by the end of the connection ──> reset
//! ```
//! Nothing is bound on the host for it. [`exchange`](super::exchange) is the way of one request.

use std::fmt::Debug;
use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::net::address::Address;
use mayfly_vmm::{Alarm, monotonic_ns};

use crate::program::running::Running;
use crate::wait::deadlines::Deadlines;
use crate::wait::event::Event;

/// Sleeps of the program's own that are shorter than this, in nanoseconds, are passed before it counts as idle: it is at something.
const SETTLED_NS: u64 = 50_000_000;
/// Time of the program's own that is passed for that at most.
const PASSED_MAX_NS: u64 = 2_000_000_000;

/// News of the outside that it is told on the way at most: the next request hears of the rest.
const TOLD_MAX: u32 = 64;

/// How the end of an answer is known.
pub trait Protocol: Debug + Send + Sync {
    /// Begins to watch for the end of the answer to a request.
    fn watch(&self, request: &[u8]) -> Box<dyn Watch>;
}

/// Looks at an answer as it comes. The bytes are the guest's: anything may be among them.
pub trait Watch: Debug {
    /// Takes the next bytes of the answer; true when it is whole.
    fn more(&mut self, bytes: &[u8]) -> bool;

    /// Whether the program is to read an end behind the last bytes of the request, as it is when both sides say what they like. A
    /// protocol that tells the end of a request otherwise keeps the connection open for the answer.
    fn tells_end(&self) -> bool {
        false
    }
}

/// What a program serves.
#[derive(Clone, Debug)]
pub struct Service {
    /// The name that it listens by.
    pub to: Address,
    /// How the end of an answer is known.
    pub protocol: Arc<dyn Protocol>,
    /// Most bytes of an answer.
    pub answer_bytes: usize,
    /// Nanoseconds that a request may take whose answer is followed as it comes, or whose body is.
    pub stream_ns: u64,
}

impl Service {
    /// What of all that a program listens on is asked: the port that is wanted, or the first one.
    pub(crate) fn choose(listening: &[Address], port: Option<u16>) -> Option<Address> {
        let mut fitting = listening.iter().filter(|name| match port {
            None => true,
            wanted => name.port() == wanted,
        });
        fitting.next().cloned()
    }
}

/// How a wait for a program to be idle ended.
pub(crate) enum Settled {
    /// It waits for connections, and for nothing that comes soon.
    Idle,
    /// It did something else.
    Not(String),
}

/// Lets a program go on until it waits for connections and everything else in it rests.
pub(crate) fn settle(
    running: &mut Running,
    action: Action,
    alarm: &mut Alarm,
    deadlines: Deadlines,
) -> mayfly_vmm::Result<Settled> {
    let (mut action, mut passed, mut told) = (action, 0, 0);
    loop {
        let event = match deadlines.passed() {
            Some(event) => event,
            None => running.run(action, alarm, deadlines)?,
        };
        let has_news = running.sync_outside() && told < TOLD_MAX;
        told += u32::from(has_news);
        let wanted = match event {
            Event::Deadline => return Ok(Settled::Not("took too long".into())),
            Event::CpuDeadline => return Ok(Settled::Not("worked too long".into())),
            Event::CalledOff => return Ok(Settled::Not("was called off".into())),
            Event::Action(wanted) => wanted,
            Event::Slice => Action::Resume,
        };
        action = match wanted {
            Action::Resume | Action::Connection | Action::Frame | Action::Said => Action::Resume,
            Action::Output => {
                running.kernel.log_output();
                Action::Resume
            }
            Action::Idle { .. } | Action::Wait { .. } | Action::Deadlock if has_news => {
                running.kernel.run(&mut running.guest)
            }
            Action::Idle { wait } => {
                let soon = wait.filter(|&wait| wait < SETTLED_NS && passed < PASSED_MAX_NS);
                match soon {
                    Some(wait) => {
                        passed += wait.max(1000);
                        running.kernel.pass(&mut running.guest, wait)
                    }
                    None if running.kernel.listening().is_empty() => {
                        return Ok(Settled::Not("waits, and listens on nothing".into()));
                    }
                    None => return Ok(Settled::Idle),
                }
            }
            Action::Stop(stop) => return Ok(Settled::Not(format!("ended: {stop:?}"))),
            Action::Deadlock => {
                return Ok(Settled::Not("has only threads that wait for each other".into()));
            }
            Action::Wait { wait } => return Ok(Settled::Not(format!("sleeps for {wait} ns"))),
        };
    }
}

/// A deadline so many nanoseconds from now.
pub(crate) fn in_ns(time: u64) -> Deadlines {
    Deadlines::at(monotonic_ns().saturating_add(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayfly_linux::net::address::Domain;

    #[test]
    fn the_wanted_port_is_asked_or_the_first() {
        let names = [
            Address::Unix(b"/run/a".to_vec()),
            Domain::V4.loopback(80),
            Domain::V6.loopback(81),
        ];
        assert_eq!(Service::choose(&names, None).as_ref(), Some(&names[0]));
        assert_eq!(Service::choose(&names, Some(81)).as_ref(), Some(&names[2]));
        assert_eq!(Service::choose(&names, Some(82)), None);
        assert_eq!(Service::choose(&[], None), None);
    }
}
