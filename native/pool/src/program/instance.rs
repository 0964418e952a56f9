//! A fork of a program, and the requests that it answers one after another.

pub(crate) mod away;
mod held;
mod served;

use std::sync::Arc;

use mayfly_linux::action::{Action, Stop};
use mayfly_vmm::{Alarm, Error, HostResources, ResetReport, Survival, monotonic_ns, thread_cpu_ns};
use mayfly_wire::{FrameError, Kind};

use crate::channel::Channel;
use crate::outcome::{Bound, Outcome, RequestStats};
use crate::program::exchange::{Exchange, Talk, exchange};
use crate::program::guest::Guest;
use crate::program::running::Running;
use crate::program::serve::{Settled, settle};
use crate::program::traces::Traces;
use crate::program::{Program, begin_request};
use crate::sched::scheduler;
use crate::wait::deadlines::Deadlines;
use crate::wait::event::{Event, Pause};

/// Bytes of kernel state in a request behind which the allocator is to give back what it keeps of them: it would keep most, for the
/// next that asks.
const TRIMMED: u64 = 2 << 20;

/// A machine of its own for one request at a time. Bound to the thread of its alarm.
#[derive(Debug)]
pub struct Instance {
    pub(crate) program: Arc<Program>,
    pub(crate) running: Running,
    /// The request under way that has a channel, of a program that serves.
    exchange: Option<Exchange>,
    /// Bytes that its kernel holds in the snapshot.
    kernel_held: u64,
}

/// A request on its way, and its times so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// By [`monotonic_ns`].
    pub deadline: u64,
    /// When it began, and how long it may run without a stop.
    began: u64,
    timeout_ns: u64,
    /// Nanoseconds that it may still have a CPU, if it is bounded.
    cpu_left: Option<u64>,
    pub run_ns: u64,
    /// The machine's exits when it began.
    pub exits: u64,
    pub parks: u64,
    pub parked_ns: u64,
    /// Nanoseconds in which it gave way to others.
    pub gave_way_ns: u64,
    /// When it was parked, or gave way.
    stopped_at: u64,
    gives_way: bool,
    /// Messages that it said.
    pub said: u64,
}

/// How far a request came.
#[derive(Debug)]
pub(crate) enum Reached {
    /// Its end; an error means that the machine is lost.
    End(mayfly_vmm::Result<Outcome>),
    /// It waits for the host, until `wake` at the latest. `deaf`: it does not read what the host said.
    Waits { wake: u64, deaf: bool },
    /// Others wait for its worker, and its slice is over.
    GivesWay,
}

/// What a request on its way asks of who runs it.
pub(crate) struct Asks<'a> {
    /// Called when the host is to hear something.
    pub tell: &'a dyn Fn(),
    /// A channel that opens late opens now; the bound over which one more is.
    pub open: &'a dyn Fn() -> Result<(), Bound>,
    /// Whether others wait for the worker.
    pub is_wanted: &'a dyn Fn(Pause) -> bool,
}

/// A request that ran: its machine is as it left it.
#[derive(Debug)]
pub(crate) struct Ran {
    /// An error means that the machine is lost.
    pub outcome: mayfly_vmm::Result<Outcome>,
    pub traces: Traces,
    /// Without its wait in the queue and its reset.
    pub stats: RequestStats,
    /// Until when a program that keeps its state may take to settle.
    pub settles_until: u64,
}

impl Instance {
    /// Forks the program.
    pub fn new(program: &Arc<Program>) -> mayfly_vmm::Result<Instance> {
        let guest = Guest::new(program.machine.fork()?);
        let running = Running::new(guest, program.fresh_kernel());
        Ok(Instance {
            program: program.clone(),
            kernel_held: running.kernel.held(),
            running,
            exchange: None,
        })
    }

    /// What it holds of the host.
    pub(crate) fn host_resources(&mut self) -> HostResources {
        HostResources::of_machine(self.running.guest.vm())
    }

    /// The program that it forks.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Runs a request without a channel to its frame or its end, at most to `deadline` ([`monotonic_ns`]) and for as long as its
    /// program may have a CPU. An error means that the machine is lost. Afterwards the instance is to be reset, or settled if it keeps its
    /// state.
    pub fn handle(
        &mut self,
        frame: Vec<u8>,
        alarm: &mut Alarm,
        deadline: u64,
    ) -> mayfly_vmm::Result<Outcome> {
        let deadlines = Deadlines::with_cpu(deadline, self.program.cpu_ns);
        if let Some(service) = &self.program.service {
            // Nobody would see it wait for the outside.
            self.running.kernel.set_permits(None);
            let clock = self.program.clock;
            return exchange(&mut self.running, service, clock, frame, alarm, deadlines);
        }
        let action = begin_request(&mut self.running, self.program.clock, frame, false)?;
        let event = self.running.run(action, alarm, deadlines);
        self.end(event)
    }

    fn end(&mut self, event: mayfly_vmm::Result<Event>) -> mayfly_vmm::Result<Outcome> {
        match event {
            Ok(Event::Deadline) => Ok(Outcome::Timeout),
            Ok(Event::CpuDeadline) => Ok(Outcome::CpuOver),
            Ok(Event::CalledOff) => Ok(Outcome::CalledOff),
            Ok(Event::Action(action)) => Ok(self.outcome(action)),
            Ok(Event::Slice) => Ok(Outcome::Failed("stopped at the end of a slice".into())),
            Err(Error::OutOfMemory { .. }) => Ok(Outcome::OutOfMemory),
            Err(e) => Err(e),
        }
    }

    /// Begins a request, and runs it until it ends, gives way or, if it has a channel, waits for the host.
    pub(crate) fn begin(
        &mut self,
        frame: Vec<u8>,
        alarm: &mut Alarm,
        channel: Option<&Arc<Channel>>,
        timeout_ns: u64,
        asks: &Asks<'_>,
    ) -> (Course, Reached) {
        let now = monotonic_ns();
        let mut course = Course {
            deadline: now.saturating_add(timeout_ns),
            began: now,
            timeout_ns,
            cpu_left: self.program.cpu_ns,
            run_ns: 0,
            exits: self.exits(),
            parks: 0,
            parked_ns: 0,
            gave_way_ns: 0,
            stopped_at: now,
            gives_way: false,
            said: 0,
        };
        self.running.guest.vm().enter_thread();
        (self.running.channel, self.running.heard) = (channel.cloned(), 0);
        self.running.hears = self.program.service.is_none();
        if let Some(channel) = channel
            && !self.running.hears
        {
            let talk = Talk {
                channel,
                tell: asks.tell,
                is_wanted: asks.is_wanted,
            };
            let reached = self.connect(frame, alarm, talk, &mut course);
            return (course, reached);
        }
        let reached = match begin_request(&mut self.running, self.program.clock, frame, channel.is_some()) {
            Ok(action) => self.run_on(action, alarm, &mut course, asks),
            Err(e) => Reached::End(Err(e)),
        };
        (course, reached)
    }

    /// Goes on with a request that waited or gave way, as [`Instance::begin`]. The time in which it gave way is the queue's.
    pub(crate) fn go_on(&mut self, alarm: &mut Alarm, course: &mut Course, asks: &Asks<'_>) -> Reached {
        self.running.guest.vm().enter_thread();
        let now = monotonic_ns();
        let stopped = now.saturating_sub(course.stopped_at);
        let gave_way = std::mem::take(&mut course.gives_way);
        if gave_way {
            course.gave_way_ns += stopped;
            course.deadline = course.deadline.saturating_add(stopped);
        } else {
            course.parked_ns += stopped;
        }
        if self
            .running
            .channel
            .as_ref()
            .is_some_and(|channel| channel.is_called_off())
        {
            return Reached::End(Ok(Outcome::CalledOff));
        }
        if let Some(at) = self
            .running
            .channel
            .as_ref()
            .and_then(|channel| channel.deadline())
        {
            course.deadline = at;
        }
        if gave_way {
            return self.run_on(Action::Resume, alarm, course, asks);
        }
        if now >= course.deadline {
            return Reached::End(Ok(Outcome::Timeout));
        }
        if let Some(exchange) = self.exchange.take() {
            return self.go_on_serving(exchange, alarm, course, asks, now);
        }
        self.running.hear();
        let action = self.running.kernel.run(&mut self.running.guest);
        self.run_on(action, alarm, course, asks)
    }

    fn run_on(&mut self, action: Action, alarm: &mut Alarm, course: &mut Course, asks: &Asks<'_>) -> Reached {
        let begin = monotonic_ns();
        let mut deadlines = Deadlines::with_cpu(course.deadline, course.cpu_left);
        let mut action = action;
        self.running.stops_at_slices = true;
        let reached = loop {
            let event = self.running.run(action, alarm, deadlines);
            if let Err(outcome) = self.pass_on(course, asks) {
                break Reached::End(Ok(outcome));
            }
            let channel = self.running.channel.as_ref();
            let extended = channel.and_then(|channel| channel.deadline()).unwrap_or(0);
            let is_shut = course.said == 0 && channel.is_some_and(|channel| channel.is_late());
            let wait = match event {
                Ok(Event::Slice) => {
                    if (asks.is_wanted)(Pause::Slice) {
                        (course.gives_way, course.stopped_at) = (true, monotonic_ns());
                        break Reached::GivesWay;
                    }
                    action = Action::Resume;
                    continue;
                }
                Ok(Event::Deadline) if extended > monotonic_ns() => {
                    (course.deadline, deadlines.wall) = (extended, extended);
                    action = Action::Resume;
                    continue;
                }
                // Nobody will say anything to one whose channel is not open.
                Ok(Event::Action(_)) if self.running.channel.is_none() || is_shut => {
                    break Reached::End(self.end(event));
                }
                Ok(Event::Action(Action::Said)) => {
                    action = Action::Resume;
                    continue;
                }
                Ok(Event::Action(Action::Idle { wait })) => wait,
                Ok(Event::Action(Action::Wait { wait })) => Some(wait),
                event => break Reached::End(self.end(event)),
            };
            // Whoever is told something all the time would keep the worker: what was said is still there in its next turn.
            if !(asks.is_wanted)(Pause::Wait) && self.running.hear() {
                action = self.running.kernel.run(&mut self.running.guest);
                continue;
            }
            course.parks += 1;
            course.stopped_at = monotonic_ns();
            let wake = wait.map_or(u64::MAX, |wait| course.stopped_at.saturating_add(wait));
            break Reached::Waits {
                wake: wake.min(course.deadline),
                deaf: self.running.kernel.unread() > 0,
            };
        };
        course.cpu_left = deadlines.cpu.map(|at| at.saturating_sub(thread_cpu_ns()));
        course.run_ns += monotonic_ns().saturating_sub(begin);
        self.running.stops_at_slices = false;
        reached
    }

    /// Passes on to the host what the request said; how it ends where that is over the bounds.
    fn pass_on(&mut self, course: &mut Course, asks: &Asks<'_>) -> Result<(), Outcome> {
        let Some(channel) = &self.running.channel else {
            return Ok(());
        };
        let said = self.running.kernel.take_said();
        if said.is_empty() {
            return Ok(());
        }
        if course.said == 0 && channel.is_late() {
            (asks.open)().map_err(Outcome::Refused)?;
        }
        let Some((first, count)) = channel.put(said) else {
            return Err(Outcome::OutputOver);
        };
        course.said += u64::from(count);
        if first {
            (asks.tell)();
        }
        Ok(())
    }

    fn outcome(&mut self, action: Action) -> Outcome {
        match action {
            Action::Frame => Outcome::Answered(self.running.kernel.take_output()),
            Action::Idle { .. } | Action::Wait { .. } | Action::Deadlock => Outcome::Stuck,
            Action::Stop(Stop::BadFrame(FrameError::Kind(kind)))
                if kind == Kind::Message as u8 && self.running.channel.is_none() =>
            {
                Outcome::Misbehaved("said a message to the host, and the request has no channel".into())
            }
            Action::Stop(stop) => stop.into(),
            Action::Resume | Action::Output | Action::Said | Action::Connection => {
                Outcome::Failed(format!("the personality asked for {action:?}"))
            }
        }
    }

    /// What the request left, to be taken before the reset.
    pub fn take_traces(&mut self) -> Traces {
        Traces::take(&mut self.running.kernel)
    }

    /// Times that the guest left ring 3 so far.
    pub fn exits(&self) -> u64 {
        self.running.exits
    }

    /// Puts machine and kernel back to the snapshot.
    pub fn reset(&mut self) -> mayfly_vmm::Result<ResetReport> {
        if let Some(outgoing) = &mut self.running.outgoing {
            outgoing.close();
        }
        let held = self.running.kernel.take_most_held();
        self.running.kernel.restore(&self.program.kernel);
        if held.saturating_sub(self.running.kernel.held()) > TRIMMED {
            // SAFETY: the call takes a number, and the allocator's own locks.
            unsafe { libc::malloc_trim(0) };
        }
        self.running.guest.vm().reset()
    }

    /// Instead of a reset, for programs that keep their state: lets the program go on until it waits for the next request.
    /// False when it does not get there: then only a reset helps.
    pub fn settle(&mut self, alarm: &mut Alarm, deadline: u64) -> mayfly_vmm::Result<bool> {
        if self.program.service.is_some() {
            return match settle(&mut self.running, Action::Resume, alarm, Deadlines::at(deadline)) {
                Ok(settled) => Ok(matches!(settled, Settled::Idle)),
                Err(e) if e.survival() == Survival::Discard => Err(e),
                Err(_) => Ok(false),
            };
        }
        loop {
            match self.running.run(Action::Resume, alarm, Deadlines::at(deadline)) {
                // What comes behind the answer is heard by nobody.
                Ok(Event::Action(Action::Said)) => self.drop_said(),
                Ok(Event::Action(Action::Idle { .. })) => {
                    self.drop_said();
                    return Ok(true);
                }
                Ok(_) => return Ok(false),
                Err(e) => match e.survival() {
                    Survival::Continue | Survival::Reset => return Ok(false),
                    Survival::Discard => return Err(e),
                },
            }
        }
    }

    fn drop_said(&mut self) {
        drop(self.running.kernel.take_said());
        self.running.kernel.forget_said();
    }

    /// After a reset: compares every byte and all state with the snapshot. Slow.
    pub fn check(&mut self) -> mayfly_vmm::Result<()> {
        let differences = self.running.kernel.differences(&self.program.kernel);
        if !differences.is_empty() {
            return Err(Error::Impure {
                what: format!("the kernel's {} differ", differences.join(", ")),
            });
        }
        self.running.guest.vm().check()
    }

    /// Runs the rehearsed frame of the warm-up once and resets, so that the first real request finds its pages. Failures count as
    /// those of a request would: the instance is clean afterwards or an error is returned.
    pub(crate) fn rehearse(&mut self, alarm: &mut Alarm) -> mayfly_vmm::Result<()> {
        let Some(frame) = self.program.sample.clone() else {
            return Ok(());
        };
        let deadline = monotonic_ns() + 1_000_000_000;
        self.handle(frame, alarm, deadline)?;
        self.reset().map(drop)
    }

    /// Runs a request, with its times. [`Instance::clean`] follows unless the machine is lost, and then [`Instance::rest`].
    pub(crate) fn run(&mut self, frame: Vec<u8>, alarm: &mut Alarm, timeout_ns: u64) -> Ran {
        let exits = self.exits();
        let begin = monotonic_ns();
        let deadline = begin.saturating_add(timeout_ns);
        let outcome = self.handle(frame, alarm, deadline);
        let ended = monotonic_ns();
        Ran {
            outcome,
            traces: self.take_traces(),
            stats: RequestStats {
                run_ns: ended - begin,
                exits: self.exits() - exits,
                ..RequestStats::default()
            },
            settles_until: settles_until(deadline, ended),
        }
    }

    /// The same of a request that was begun and has ended.
    pub(crate) fn ran(&mut self, outcome: mayfly_vmm::Result<Outcome>, course: &Course) -> Ran {
        self.running.channel = None;
        if let Some(exchange) = self.exchange.take() {
            exchange.close(&mut self.running);
        }
        Ran {
            outcome,
            traces: self.take_traces(),
            stats: RequestStats {
                run_ns: course.run_ns,
                exits: self.exits() - course.exits,
                parks: course.parks,
                parked_ns: course.parked_ns,
                said: course.said,
                heard: self.running.heard,
                ..RequestStats::default()
            },
            settles_until: settles_until(course.deadline, monotonic_ns()),
        }
    }

    /// Readies the machine for the next request, and gives the pages that were put back: resets it, or with a time lets the program
    /// settle until then. An error means that it is lost.
    pub(crate) fn clean(&mut self, alarm: &mut Alarm, settles_until: Option<u64>) -> mayfly_vmm::Result<u64> {
        #[cfg(test)]
        if crate::injected::fails_reset() {
            return Err(Error::Impure {
                what: "it was injected".into(),
            });
        }
        match settles_until.map(|until| self.settle(alarm, until)) {
            Some(Ok(true)) => {
                self.running.guest.vm().forget_private();
                Ok(0)
            }
            Some(Err(e)) => Err(e),
            Some(Ok(false)) | None => self.reset().map(|report| report.pages),
        }
    }

    /// After a request and its reset, which may be long itself: the thread's slice is as usual again.
    pub(crate) fn rest(&mut self) {
        scheduler().end_request(&mut self.running.slice);
    }
}

/// Until when a program that keeps its state may take to settle.
fn settles_until(deadline: u64, ended: u64) -> u64 {
    deadline.max(ended + 100_000_000)
}
