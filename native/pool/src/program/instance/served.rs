//! Requests with a channel of a program that serves connections.

use std::sync::{Arc, Weak};

use mayfly_linux::action::Action;
use mayfly_vmm::{Alarm, Error, monotonic_ns, thread_cpu_ns};

use super::{Asks, Course, Instance, Reached};
use crate::outcome::Outcome;
use crate::outside::{Bell, Links, Outgoing, Requests};
use crate::program::exchange::{Exchange, Step, Talk};
use crate::wait::deadlines::Deadlines;

impl Instance {
    /// From now on its program may connect to the outside in requests with a channel, if it may at all. `requests` is told which of them
    /// have news of it. Gives what it will have open there.
    pub(crate) fn open_outside(&mut self, requests: Weak<dyn Requests>) -> Option<Arc<Links>> {
        let outside = self.program.outside.as_ref()?;
        let outgoing = Outgoing::new(outside, requests);
        let links = outgoing.links().clone();
        self.running.outgoing = Some(outgoing);
        Some(links)
    }

    /// By which the outside tells it that there is something new.
    pub(crate) fn bell(&self) -> Option<&Arc<Bell>> {
        self.running.outgoing.as_ref().map(Outgoing::bell)
    }

    /// Goes on with a request of a program that serves, as [`Instance::go_on`].
    pub(super) fn go_on_serving(
        &mut self,
        exchange: Exchange,
        alarm: &mut Alarm,
        course: &mut Course,
        asks: &Asks<'_>,
        now: u64,
    ) -> Reached {
        let Some(channel) = self.running.channel.clone() else {
            return Reached::End(Ok(Outcome::Failed("the request has no channel".into())));
        };
        if channel.is_full() {
            // The outside called it, and its client is to take the answer first.
            self.running.set_deaf(true);
            self.exchange = Some(exchange);
            (course.parks, course.stopped_at) = (course.parks + 1, now);
            return Reached::Waits {
                wake: course.deadline,
                deaf: true,
            };
        }
        let talk = Talk {
            channel: &channel,
            tell: asks.tell,
            is_wanted: asks.is_wanted,
        };
        let action = exchange.resume(&mut self.running);
        self.converse(exchange, action, alarm, talk, course)
    }

    /// Begins a request with a channel to a program that serves.
    pub(super) fn connect(
        &mut self,
        mut request: Vec<u8>,
        alarm: &mut Alarm,
        talk: Talk,
        course: &mut Course,
    ) -> Reached {
        if talk.channel.is_called_off() {
            return Reached::End(Ok(Outcome::CalledOff));
        }
        let Some(service) = self.program.service.clone() else {
            return Reached::End(Ok(Outcome::Failed("the program serves nothing".into())));
        };
        let taken = talk.channel.take_bytes();
        request.extend_from_slice(&taken.bytes);
        if taken.tell {
            (talk.tell)();
        }
        if let Some(outgoing) = &self.running.outgoing {
            outgoing.permit(&mut self.running.kernel);
        }
        let clock = self.program.clock;
        match Exchange::begin(&mut self.running, &service, clock, request, taken.whole) {
            Ok(Ok((exchange, action))) => self.converse(exchange, action, alarm, talk, course),
            Ok(Err(outcome)) => Reached::End(Ok(outcome)),
            Err(e) => Reached::End(Err(e)),
        }
    }

    /// Runs a request of a program that serves until it ends or waits.
    pub(super) fn converse(
        &mut self,
        mut exchange: Exchange,
        action: Action,
        alarm: &mut Alarm,
        talk: Talk,
        course: &mut Course,
    ) -> Reached {
        let program = self.program.clone();
        let Some(service) = &program.service else {
            return Reached::End(Ok(Outcome::Failed("the program serves nothing".into())));
        };
        talk.channel.resume();
        self.running.set_deaf(false);
        let begin = monotonic_ns();
        // One that talks may go on for longer, but may not keep its worker.
        let wall = course.deadline.min(begin.saturating_add(course.timeout_ns));
        let deadlines = Deadlines::with_cpu(wall, course.cpu_left);
        let step = exchange.advance(&mut self.running, service, action, alarm, deadlines, Some(talk));
        course.cpu_left = deadlines.cpu.map(|at| at.saturating_sub(thread_cpu_ns()));
        let now = monotonic_ns();
        course.run_ns += now.saturating_sub(begin);
        let end = match step {
            Ok(Step::Waits { wait, deaf }) => {
                if exchange.is_answered() || !exchange.is_whole() {
                    course.deadline = course.began.saturating_add(service.stream_ns);
                }
                course.parks += 1;
                course.stopped_at = now;
                let wake = wait.map_or(u64::MAX, |wait| now.saturating_add(wait));
                self.exchange = Some(exchange);
                return Reached::Waits {
                    wake: wake.min(course.deadline),
                    deaf,
                };
            }
            Ok(Step::End(outcome)) => Ok(outcome),
            Err(Error::OutOfMemory { .. }) => Ok(Outcome::OutOfMemory),
            Err(e) => Err(e),
        };
        exchange.close(&mut self.running);
        Reached::End(end)
    }
}
