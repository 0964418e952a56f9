//! Programs that serve: a request is a connection that the host makes to what they listen on.
//!
//! ```text
//! boot ── listens and waits ──> warm-up by requests ──> snapshot
//! fork ── connect, bytes in ──> accept, read, write ──> bytes out, whole by the protocol or by the end of the connection ──> reset
//! ```
//! Nothing is bound on the host for it.

use std::fmt::Debug;
use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::fs::files::HostEnd;
use mayfly_linux::net::address::Address;
use mayfly_vmm::{Alarm, Error, monotonic_ns};

use crate::clock::ClockSource;
use crate::outcome::Outcome;
use crate::program::running::Running;
use crate::program::to_request;
use crate::wait::deadlines::Deadlines;
use crate::wait::event::Event;

/// Sleeps of the program's own that are shorter than this, in nanoseconds, are passed before it counts as idle: it is at something.
const SETTLED_NS: u64 = 50_000_000;
/// Time of the program's own that is passed for that at most.
const PASSED_MAX_NS: u64 = 2_000_000_000;

/// How the end of an answer is known.
pub trait Protocol: Debug + Send + Sync {
    /// Begins to watch for the end of the answer to a request.
    fn watch(&self, request: &[u8]) -> Box<dyn Watch>;
}

/// Looks at an answer as it comes. The bytes are the guest's: anything may be among them.
pub trait Watch {
    /// Takes the next bytes of the answer; true when it is whole.
    fn more(&mut self, bytes: &[u8]) -> bool;
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

/// Runs one request to its answer or its end. The connection is closed afterwards; the program has not seen that yet.
pub(crate) fn exchange(
    running: &mut Running,
    service: &Service,
    clock: ClockSource,
    request: &[u8],
    alarm: &mut Alarm,
    deadlines: Deadlines,
) -> mayfly_vmm::Result<Outcome> {
    let end = match running.kernel.host_connect(&service.to) {
        Ok(end) => end,
        Err(errno) => return Ok(Outcome::Misbehaved(format!("takes no connection: {errno:?}"))),
    };
    let outcome = talk(running, service, clock, end, request, alarm, deadlines);
    running.kernel.host_close(end);
    running.kernel.set_in_flight(false);
    match outcome {
        Err(Error::OutOfMemory { .. }) => Ok(Outcome::OutOfMemory),
        other => other,
    }
}

fn talk(
    running: &mut Running,
    service: &Service,
    clock: ClockSource,
    end: HostEnd,
    request: &[u8],
    alarm: &mut Alarm,
    deadlines: Deadlines,
) -> mayfly_vmm::Result<Outcome> {
    let mut watch = service.protocol.watch(request);
    let mut answer = Vec::new();
    let mut left = &request[running.kernel.host_send(end, request)..];
    let begin = to_request(clock, Vec::new(), false)?;
    // Until it has the whole request, its waits take real time: it waits for us.
    let mut action = match left.is_empty() {
        true => running.kernel.begin_request(&mut running.guest, begin),
        false => running.kernel.begin_load(&mut running.guest, begin),
    };
    loop {
        // One that asks for the host again and again is in the machine too briefly to be stopped there.
        let event = match deadlines.passed() {
            Some(event) => event,
            None => running.run(action, alarm, deadlines)?,
        };
        let wanted = match event {
            Event::Deadline => return Ok(Outcome::Timeout),
            Event::CpuDeadline => return Ok(Outcome::CpuOver),
            Event::CalledOff => return Ok(Outcome::CalledOff),
            Event::Action(wanted) => wanted,
        };
        let bytes = running.kernel.host_receive(end);
        if answer.len() + bytes.len() > service.answer_bytes {
            return Ok(Outcome::OutputOver);
        }
        answer.extend_from_slice(&bytes);
        if watch.more(&bytes) {
            return Ok(Outcome::Answered(answer));
        }
        if running.kernel.host_ended(end) {
            return Ok(match answer.is_empty() {
                true => Outcome::Misbehaved("closed the connection without an answer".into()),
                false => Outcome::Answered(answer),
            });
        }
        action = match wanted {
            Action::Resume | Action::Connection | Action::Frame | Action::Said => Action::Resume,
            Action::Output => {
                running.kernel.log_output();
                Action::Resume
            }
            Action::Idle { wait } => {
                let sent = running.kernel.host_send(end, left);
                let had = !left.is_empty();
                left = &left[sent..];
                running.kernel.set_in_flight(left.is_empty());
                match wait {
                    _ if sent > 0 || !bytes.is_empty() => running.kernel.run(&mut running.guest),
                    // It does not read what it was sent.
                    Some(wait) if had => running.kernel.pass(&mut running.guest, wait),
                    Some(_) => running.kernel.run(&mut running.guest),
                    None => return Ok(Outcome::Stuck),
                }
            }
            Action::Wait { .. } | Action::Deadlock => return Ok(Outcome::Stuck),
            Action::Stop(stop) => return Ok(stop.into()),
        };
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
    let (mut action, mut passed) = (action, 0);
    loop {
        let event = match deadlines.passed() {
            Some(event) => event,
            None => running.run(action, alarm, deadlines)?,
        };
        let wanted = match event {
            Event::Deadline => return Ok(Settled::Not("took too long".into())),
            Event::CpuDeadline => return Ok(Settled::Not("worked too long".into())),
            Event::CalledOff => return Ok(Settled::Not("was called off".into())),
            Event::Action(wanted) => wanted,
        };
        action = match wanted {
            Action::Resume | Action::Connection | Action::Frame | Action::Said => Action::Resume,
            Action::Output => {
                running.kernel.log_output();
                Action::Resume
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
