//! What the tests with a guest share: KVM, frames, and a client that checks the machine after each request.

use std::sync::{Arc, OnceLock};

use mayfly_pool::{Instance, Outcome, Program};
use mayfly_vmm::{Alarm, Error, Host, monotonic_ns};
use mayfly_wire::{HEAD_BYTES, Head, Kind};

pub const SECOND: u64 = 1_000_000_000;

/// Longer than any answer takes, also in an emulated machine: only what hangs meets it.
pub const PATIENCE: u64 = 300 * SECOND;

/// The host's KVM, opened once; without it each test says why it is skipped.
pub fn host() -> Option<Arc<Host>> {
    static HOST: OnceLock<Result<Arc<Host>, String>> = OnceLock::new();
    let open = || match Host::open() {
        Ok(host) => Ok(Arc::new(host)),
        Err(Error::Unavailable(u)) => Err(format!("no /dev/kvm: {}; {}", u.reason, u.hint)),
        Err(e) => panic!("{e}"),
    };
    match HOST.get_or_init(open) {
        Ok(host) => Some(host.clone()),
        Err(why) => {
            eprintln!("SKIPPED: {why}");
            None
        }
    }
}

pub fn frame(what: &str, body: &[u8]) -> Vec<u8> {
    let head = Head {
        kind: Kind::Request,
        header_bytes: what.len() as u32,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], what.as_bytes(), body].concat()
}

/// The body of an answer, as text.
pub fn text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(frame) => String::from_utf8_lossy(&frame[HEAD_BYTES + 2..]).into_owned(),
        other => format!("({other})"),
    }
}

pub struct Client {
    pub instance: Instance,
    alarm: Alarm,
}

impl Client {
    pub fn new(program: &Arc<Program>) -> Client {
        Client::of(Instance::new(program).unwrap())
    }

    pub fn of(instance: Instance) -> Client {
        Client {
            instance,
            alarm: Alarm::new().unwrap(),
        }
    }

    pub fn ask(&mut self, what: &str) -> Outcome {
        self.send(frame(what, b"body"), PATIENCE)
    }

    /// One request, a reset, and the strict check.
    pub fn send(&mut self, frame: Vec<u8>, timeout: u64) -> Outcome {
        self.try_send(frame, timeout, true).unwrap()
    }

    /// A request, and no reset.
    pub fn run(&mut self, frame: Vec<u8>, timeout: u64) -> mayfly_vmm::Result<Outcome> {
        let deadline = monotonic_ns() + timeout;
        self.instance.handle(frame, &mut self.alarm, deadline)
    }

    /// The same, with or without the check; an error means that the machine is lost or not clean.
    pub fn try_send(&mut self, frame: Vec<u8>, timeout: u64, check: bool) -> mayfly_vmm::Result<Outcome> {
        let outcome = self.run(frame, timeout)?;
        self.instance.reset()?;
        if check {
            self.instance.check()?;
        }
        Ok(outcome)
    }
}
