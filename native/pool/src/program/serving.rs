//! The boot of a program that serves.

mod outgoing;

use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_vmm::{Host, HostResources, monotonic_ns};

use crate::clock::ClockSource;
use crate::confined::{ResourceLists, on_vm_thread};
use crate::outcome::Outcome;
use crate::outside::Outside;
use crate::program::booting::Booting;
use crate::program::exchange::exchange;
use crate::program::running::Running;
use crate::program::serve::{Protocol, Service, Settled, in_ns, settle};
use crate::program::serving::outgoing::{Awaited, refuse};
use crate::program::traces::Traces;
use crate::program::{BootReport, Program};
use crate::spec::{BootError, Spec};

/// How a server is booted.
#[derive(Debug)]
pub struct Serving {
    /// The port that requests go to; the first that it listens on if there is none.
    pub port: Option<u16>,
    /// How the end of an answer is known.
    pub protocol: Arc<dyn Protocol>,
    /// Requests of the warm-up, one after the other, each a connection of its own. A fork runs the last one before it is used.
    pub warmup: Vec<Vec<u8>>,
    /// Time that each of them may take, in nanoseconds.
    pub timeout_ns: u64,
    /// Time that a request may take whose answer is followed as it comes, or whose body is.
    pub stream_ns: u64,
    /// Who makes its connections to the outside, if anybody. The snapshot holds none.
    pub outside: Option<Arc<dyn Outside>>,
    /// Whether requests of the warm-up may have such connections, which end with their request.
    pub warmup_connects: bool,
}

impl Program {
    /// Boots a server until it waits for connections, warms it up and takes the snapshot, on a thread of its own as
    /// [`Program::boot`]. Gives what it printed too, and what it was refused before its warm-up.
    pub fn boot_server(
        host: &Arc<Host>,
        spec: &Spec,
        serving: &Serving,
    ) -> Result<(Program, Traces), BootError> {
        on_vm_thread("mayfly-boot", |resources| {
            boot_here(host, spec, serving, resources)
        })?
    }
}

fn boot_here(
    host: &Arc<Host>,
    spec: &Spec,
    serving: &Serving,
    resources: &ResourceLists,
) -> Result<(Program, Traces), BootError> {
    let begin = monotonic_ns();
    let mut running = Running::start(host, spec, OutputMode::Stream, true)?;
    running.kernel.serve_host();
    running.kernel.end_input();
    if let Some(outside) = &serving.outside {
        refuse(outside, &mut running.kernel);
    }
    let listed = resources.list(HostResources::of_machine(running.guest.vm()));
    let clock = ClockSource::new(host, spec.clock_grain_ns)?;
    let mut booting = Booting::new(running, clock, &spec.limits, begin)?;
    booting.settle(Action::Resume)?;
    let listening = booting.running.kernel.listening();
    let Some(to) = Service::choose(&listening, serving.port) else {
        return Err(booting.ended(&format!(
            "listens on {listening:?} and not on port {:?}",
            serving.port
        )));
    };
    // Requests of the warm-up forget what was refused before.
    let denials = booting.running.kernel.take_denials();
    let service = Service {
        to,
        protocol: serving.protocol.clone(),
        answer_bytes: spec.limits.output_bytes as usize,
        stream_ns: serving.stream_ns,
    };
    let booted = monotonic_ns();
    let mut report = BootReport {
        boot_ns: booted - begin,
        ..BootReport::default()
    };
    let outside = serving.outside.as_ref().filter(|_| serving.warmup_connects);
    let awaited = outside.map(|outside| Awaited::new(outside, &mut booting.running));
    for request in &serving.warmup {
        booting.warm_up(&service, request, serving.timeout_ns, awaited.as_ref())?;
        report.warmup_requests += 1;
    }
    report.warmup_ns = monotonic_ns() - booted;
    let mut traces = Traces::take(&mut booting.running.kernel);
    traces.denials = denials;
    let mut program = booting.take_snapshot(listed, &spec.limits, 0, report)?;
    program.sample = serving.warmup.last().cloned();
    program.service = Some(service);
    program.outside.clone_from(&serving.outside);
    Ok((program, traces))
}

impl Booting {
    /// Lets the server go on until it waits for connections.
    fn settle(&mut self, action: Action) -> Result<(), BootError> {
        let left = self.deadline.saturating_sub(monotonic_ns());
        match settle(&mut self.running, action, &mut self.alarm, in_ns(left))? {
            Settled::Idle => Ok(()),
            Settled::Not(what) => Err(self.ended(&what)),
        }
    }

    fn warm_up(
        &mut self,
        service: &Service,
        request: &[u8],
        timeout_ns: u64,
        awaited: Option<&Awaited>,
    ) -> Result<(), BootError> {
        let left = self.deadline.saturating_sub(monotonic_ns());
        let deadlines = in_ns(left.min(timeout_ns));
        let (running, clock, alarm) = (&mut self.running, self.clock, &mut self.alarm);
        let request = request.to_vec();
        let outcome = match awaited {
            None => exchange(running, service, clock, request, alarm, deadlines)?,
            Some(awaited) => awaited.exchange(running, service, clock, request, alarm, deadlines)?,
        };
        match outcome {
            Outcome::Answered(_) => self.settle(Action::Resume),
            other => Err(self.ended(&format!("does not answer a request of the warm-up: {other}"))),
        }
    }
}
