//! Connections to the outside in requests of a warm-up.
//!
//! ```text
//! boot: refused ── request: permitted, this thread waits for them ── all of them ended, refused ── next request ── snapshot
//! ```
//! The snapshot holds none of them: the program reads their ends as if the other sides had closed them, and has time for that.

use std::sync::{Arc, Weak};
use std::time::Duration;

use mayfly_guard::Notifier;
use mayfly_linux::kernel::Kernel;
use mayfly_vmm::{Alarm, Error, monotonic_ns};

use crate::channel::Channel;
use crate::clock::ClockSource;
use crate::outcome::Outcome;
use crate::outside::{Outgoing, Outside, Permitted, Requests};
use crate::program::exchange::{Exchange, Step, Talk};
use crate::program::running::Running;
use crate::program::serve::Service;
use crate::wait::deadlines::Deadlines;

/// The number of every request of a warm-up: there is one at a time.
const REQUEST: u64 = 1;

/// Lets a program connect nowhere, and tells that it would.
pub(super) fn refuse(outside: &Arc<dyn Outside>, kernel: &mut Kernel) {
    kernel.set_permits(Some(Arc::new(Permitted {
        outside: outside.clone(),
        booted: false,
    })));
}

/// The thread that boots, as it waits for the outside.
#[derive(Debug, Default)]
struct Waiter(Notifier);

impl Requests for Waiter {
    fn go_on(&self, _: u64) {
        self.0.notify();
    }
}

/// The outside, for requests of a warm-up.
#[derive(Debug)]
pub(super) struct Awaited {
    outside: Arc<dyn Outside>,
    waiter: Arc<Waiter>,
}

impl Awaited {
    /// From now on requests of the program have their connections.
    pub fn new(outside: &Arc<dyn Outside>, running: &mut Running) -> Awaited {
        let waiter = Arc::new(Waiter::default());
        let weak = Arc::downgrade(&waiter);
        let requests: Weak<dyn Requests> = weak;
        running.outgoing = Some(Outgoing::new(outside, requests));
        Awaited {
            outside: outside.clone(),
            waiter,
        }
    }

    /// Runs one request to its answer or its end. Its connections have ended afterwards; the program has not seen that yet.
    pub fn exchange(
        &self,
        running: &mut Running,
        service: &Service,
        clock: ClockSource,
        request: Vec<u8>,
        alarm: &mut Alarm,
        deadlines: Deadlines,
    ) -> mayfly_vmm::Result<Outcome> {
        let Some(outgoing) = &running.outgoing else {
            return Ok(Outcome::Failed("it has no way to the outside".into()));
        };
        let bell = outgoing.bell().clone();
        outgoing.permit(&mut running.kernel);
        bell.serve(REQUEST);
        let outcome = self.converse(running, service, clock, request, alarm, deadlines);
        bell.serve(0);
        refuse(&self.outside, &mut running.kernel);
        if let Some(outgoing) = &mut running.outgoing {
            outgoing.hang_up(&mut running.kernel);
        }
        outcome
    }

    fn converse(
        &self,
        running: &mut Running,
        service: &Service,
        clock: ClockSource,
        request: Vec<u8>,
        alarm: &mut Alarm,
        deadlines: Deadlines,
    ) -> mayfly_vmm::Result<Outcome> {
        let (mut exchange, mut action) = match Exchange::begin(running, service, clock, request, true)? {
            Ok(begun) => begun,
            Err(outcome) => return Ok(outcome),
        };
        let channel = Channel::default();
        let talk = Talk {
            channel: &channel,
            tell: &|| {},
            is_wanted: &|_| false,
        };
        let end = loop {
            let step = exchange.advance(running, service, action, alarm, deadlines, Some(talk));
            // Nobody reads the answer.
            let (_, was_full) = channel.hear_bytes();
            match step {
                Ok(Step::Waits { .. }) if was_full => {}
                Ok(Step::Waits { wait, .. }) => {
                    let now = monotonic_ns();
                    let wake = wait.map_or(u64::MAX, |wait| now.saturating_add(wait));
                    self.wait(running, wake.min(deadlines.wall));
                }
                Ok(Step::End(outcome)) => break Ok(outcome),
                Err(Error::OutOfMemory { .. }) => break Ok(Outcome::OutOfMemory),
                Err(e) => break Err(e),
            }
            channel.resume();
            running.set_deaf(false);
            action = exchange.resume(running);
        };
        exchange.close(running);
        end
    }

    /// Waits until the outside rings, or to a time by [`monotonic_ns`].
    fn wait(&self, running: &Running, until: u64) {
        let calls = || {
            let outgoing = running.outgoing.as_ref();
            outgoing.is_some_and(|outgoing| outgoing.bell().calls())
        };
        loop {
            let seen = self.waiter.0.count();
            let left = until.saturating_sub(monotonic_ns());
            if calls() || left == 0 {
                return;
            }
            self.waiter.0.wait(seen, Duration::from_nanos(left));
        }
    }
}
