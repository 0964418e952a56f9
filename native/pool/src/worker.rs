//! One thread of a pool: it takes a job, runs it in its machine of the program, resets the machine.

pub(crate) mod job;
mod restart_budget;
pub(crate) mod shared;
pub(crate) mod stats;
pub(crate) mod supervisor;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mayfly_vmm::{Alarm, HostResources, monotonic_ns};

use crate::channel::Channel;
use crate::confined::{Listed, confine_vm_thread};
use crate::outcome::{Bound, Outcome, RequestStats};
use crate::program::Program;
use crate::program::instance::{Asks, Course, Instance, Ran, Reached};
use crate::queue::Work;
use crate::sched::scheduler;
use crate::wait::event::Pause;
use crate::worker::job::{Completion, MachineState, Reset};
use crate::worker::shared::{Order, Shared, Timed, WorkerSlot};

/// Most machines of one program that a worker keeps for its next requests: more than one come to be while others are parked.
const IDLE_MAX: usize = 64;

/// A machine and the list of its resources, which goes first.
struct Machine<'a> {
    _listed: Listed<'a>,
    instance: Instance,
    /// It holds what requests left for the next ones.
    kept: bool,
    /// Since when it waits, by the host's clock.
    idle_since: u64,
}

/// A program's machines that wait for a request: the one that served last is the last.
#[derive(Default)]
struct Idle<'a> {
    #[allow(
        clippy::vec_box,
        reason = "a machine goes to its request and back as a pointer"
    )]
    machines: Vec<Box<Machine<'a>>>,
}

/// What is known of a request on its way, beside its machine.
struct Task {
    id: u64,
    program: Arc<Program>,
    /// The number of its flow; 0: none.
    flow: u32,
    keep: bool,
    check: bool,
    queue_ns: u64,
    /// Of one that may be parked.
    channel: Option<Arc<Channel>>,
}

/// A request that waits for the host, or gave way, and its machine.
struct Parked<'a> {
    machine: Box<Machine<'a>>,
    task: Task,
    course: Course,
}

/// A worker's machines, by program. Its thread may be stopped by a crash anywhere: no destructor runs then.
struct Worker<'a> {
    shared: &'a Shared,
    slot: &'a WorkerSlot,
    index: usize,
    /// A program is here from its first machine until it is retired.
    machines: BTreeMap<u64, Idle<'a>>,
    /// By the numbers of their jobs.
    parked: BTreeMap<u64, Parked<'a>>,
    _listed: Listed<'a>,
    alarm: Alarm,
}

/// Opens the channel of a job that said something first, or gives the bound over which one more is.
fn open_late(shared: &Shared, slot: &WorkerSlot, task: &Task) -> Result<(), Bound> {
    shared.queue.open(task.id, (task.program.id(), task.flow))?;
    if let Some(channel) = &task.channel {
        slot.channels().insert(task.id, channel.clone());
    }
    Ok(())
}

/// The body of a worker's thread, from its start to the end of the queue.
pub(crate) fn work(shared: &Shared, index: usize) {
    let Some(slot) = shared.slots.get(index) else {
        return;
    };
    scheduler().begin_thread();
    // The timer is made before the filter, which lets it be set only.
    let alarm = Alarm::new().and_then(|alarm| confine_vm_thread(false).map(|()| alarm));
    let mut worker = match alarm {
        Ok(alarm) => Worker {
            shared,
            slot,
            index,
            machines: BTreeMap::new(),
            parked: BTreeMap::new(),
            _listed: slot.resources.list(HostResources::of_alarm(&alarm)),
            alarm,
        },
        Err(e) => return refuse_all(shared, index, &e.to_string()),
    };
    while let Some(next) = shared.queue.take(index) {
        match next {
            Work::Job(timed) => {
                worker.run(timed);
                slot.did();
            }
            Work::Parked(job) => worker.go_on(job),
            Work::Order(Order::Retire(program)) => {
                drop(worker.machines.remove(&program));
                slot.programs().remove(&program);
            }
            Work::Order(Order::Prepare(program)) => {
                let _ = worker.prepare(&program);
                shared.queue.order_to(index + 1, Order::Prepare(program));
            }
            Work::Order(Order::DropIdle(least)) => worker.drop_idle(least),
            // A failure shows again, with its reason, when a request needs the machine.
            Work::Order(Order::Refill(program)) => drop(worker.prepare(&program)),
        }
    }
}

/// Answers every job with a failure: the worker could not start.
fn refuse_all(shared: &Shared, worker: usize, why: &str) {
    while let Some(next) = shared.queue.take(worker) {
        if let Work::Job(timed) = next {
            if let Some(channel) = &timed.job.channel {
                channel.end();
            }
            shared.complete(Completion::failed(timed.job.id, worker, why.into()));
        }
    }
}

impl<'a> Worker<'a> {
    /// A machine of a program that waits, or another one.
    fn machine(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<Box<Machine<'a>>> {
        match self
            .machines
            .get_mut(&program.id())
            .and_then(|idle| idle.machines.pop())
        {
            Some(machine) => Ok(machine),
            None => self.fork(program),
        }
    }

    fn fork(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<Box<Machine<'a>>> {
        let mut instance = Instance::new(program)?;
        if let Some(links) = instance.open_outside(self.shared.requests()) {
            self.slot.add_links(&links);
        }
        let _listed = self.slot.resources.list(instance.host_resources());
        let mut machine = Box::new(Machine {
            _listed,
            instance,
            kept: false,
            idle_since: 0,
        });
        scheduler().pause();
        machine.instance.rehearse(&mut self.alarm)?;
        self.shared.stats().forks += 1;
        self.slot.programs().insert(program.id(), Arc::downgrade(program));
        self.machines.entry(program.id()).or_default();
        Ok(machine)
    }

    /// Forks a program ahead of its next request.
    fn prepare(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<()> {
        let machine = self.machine(program)?;
        self.put_back(program.id(), machine);
        Ok(())
    }

    /// Keeps a clean machine for the next request, unless its program was retired or has enough of them.
    fn put_back(&mut self, program: u64, mut machine: Box<Machine<'a>>) {
        machine.idle_since = monotonic_ns();
        if let Some(idle) = self.machines.get_mut(&program)
            && idle.machines.len() < IDLE_MAX
        {
            idle.machines.push(machine);
        }
    }

    /// Drops the machines that have waited for so many nanoseconds at least, but for what holds a program's state.
    fn drop_idle(&mut self, least: u64) {
        let now = monotonic_ns();
        for idle in self.machines.values_mut() {
            idle.machines
                .retain(|machine| machine.kept || now.saturating_sub(machine.idle_since) < least);
        }
    }

    /// Runs a job until it is over, is parked or gives way.
    fn run(&mut self, timed: Timed) {
        let Timed { job, submitted } = timed;
        let queue_ns = monotonic_ns().saturating_sub(submitted);
        let mut machine = match self.machine(&job.program) {
            Ok(machine) => machine,
            Err(e) => {
                if let Some(channel) = &job.channel {
                    channel.end();
                }
                let mut completion = Completion::failed(job.id, self.index, e.to_string());
                completion.stats.queue_ns = queue_ns;
                return self.shared.complete(completion);
            }
        };
        #[cfg(test)]
        crate::injected::act_on(&job.frame);
        let task = Task {
            id: job.id,
            program: job.program,
            flow: job.flow,
            keep: job.keep,
            check: job.check,
            queue_ns,
            channel: job.channel,
        };
        if task.program.service.is_some() && task.channel.is_none() {
            let ran = machine.instance.run(job.frame, &mut self.alarm, job.timeout_ns);
            return self.end(machine, task, ran);
        }
        if let Some(channel) = task.channel.as_ref().filter(|channel| !channel.is_late()) {
            self.slot.channels().insert(job.id, channel.clone());
        }
        if let Some(bell) = machine.instance.bell() {
            bell.serve(job.id);
        }
        let (course, reached) = machine.instance.begin(
            job.frame,
            &mut self.alarm,
            task.channel.as_ref(),
            job.timeout_ns,
            &Asks {
                tell: &|| self.shared.queue.tell_said(task.id),
                open: &|| open_late(self.shared, self.slot, &task),
                is_wanted: &|at| is_wanted(self.shared, self.index, &task, at),
            },
        );
        self.take_in(
            Parked {
                machine,
                task,
                course,
            },
            reached,
        );
    }

    /// Goes on with a job that was parked or gave way.
    fn go_on(&mut self, job: u64) {
        let Some(mut parked) = self.parked.remove(&job) else {
            return;
        };
        let Parked {
            machine,
            task,
            course,
        } = &mut parked;
        let (shared, slot, index) = (self.shared, self.slot, self.index);
        let asks = Asks {
            tell: &|| shared.queue.tell_said(job),
            open: &|| open_late(shared, slot, task),
            is_wanted: &|at| is_wanted(shared, index, task, at),
        };
        let reached = machine.instance.go_on(&mut self.alarm, course, &asks);
        self.take_in(parked, reached);
    }

    /// Ends a job, parks it or lets it give way.
    fn take_in(&mut self, mut parked: Parked<'a>, reached: Reached) {
        let instance = &mut parked.machine.instance;
        let id = parked.task.id;
        match reached {
            Reached::Waits { wake, deaf } => {
                let (bell, channel) = (instance.bell().cloned(), parked.task.channel.clone());
                let held = match instance.held() {
                    Ok(held) => held,
                    Err(e) => return self.conclude(parked, Err(e)),
                };
                if let Err(bound) = self.shared.queue.park(self.index, id, wake, held) {
                    return self.conclude(parked, Ok(Outcome::Refused(bound)));
                }
                // Its thread's time slice is as usual again.
                instance.rest();
                if self.shared.ends.load(Ordering::Acquire)
                    && let Some(channel) = &channel
                {
                    channel.call_off();
                }
                self.parked.insert(id, parked);
                // Behind it: whoever says something from now on finds it parked.
                let is_told = channel.is_some_and(|channel| channel.park(deaf));
                if is_told || bell.is_some_and(|bell| bell.calls()) {
                    self.shared.queue.go_on(id);
                }
            }
            Reached::GivesWay => {
                instance.rest();
                instance.leave_thread();
                self.parked.insert(id, parked);
                self.shared.queue.give_way(self.index, id);
            }
            Reached::End(outcome) => self.conclude(parked, outcome),
        }
    }

    /// Ends a job that was begun.
    fn conclude(&mut self, parked: Parked<'a>, outcome: mayfly_vmm::Result<Outcome>) {
        let Parked {
            mut machine,
            mut task,
            course,
        } = parked;
        if let Some(channel) = &task.channel {
            channel.end();
            if !channel.is_late() || course.said > 0 {
                self.slot.channels().remove(&task.id);
            }
        }
        if let Some(bell) = machine.instance.bell() {
            bell.serve(0);
        }
        task.queue_ns += course.gave_way_ns;
        let ran = machine.instance.ran(outcome, &course);
        self.end(machine, task, ran);
    }

    /// Completes a job, and readies its machine for the next one. One that is lost is forked anew.
    fn end(&mut self, mut machine: Box<Machine<'a>>, task: Task, ran: Ran) {
        let usable = complete(
            self.shared,
            self.index,
            &task,
            ran,
            &mut machine.instance,
            &mut self.alarm,
        );
        machine.instance.rest();
        machine.kept = task.keep;
        if usable {
            return self.put_back(task.program.id(), machine);
        }
        drop(machine);
        if self.machines.contains_key(&task.program.id()) {
            // Another takes milliseconds, which a neighbour need not wait for.
            scheduler().pause();
            // A failure shows again, with its reason, when a request needs the machine.
            let _ = self.prepare(&task.program);
        }
    }
}

/// Whether a job is to give way. One that keeps its program's state does not: the next one needs its machine.
fn is_wanted(shared: &Shared, index: usize, task: &Task, at: Pause) -> bool {
    !task.keep && shared.queue.is_wanted(index, at)
}

/// Completes a job that ran, before or after the reset; false when the machine is lost.
fn complete(
    shared: &Shared,
    worker: usize,
    task: &Task,
    ran: Ran,
    instance: &mut Instance,
    alarm: &mut Alarm,
) -> bool {
    let (outcome, runs_on) = match ran.outcome {
        Ok(outcome) => (outcome, true),
        Err(e) => (Outcome::Failed(e.to_string()), false),
    };
    let answered = matches!(outcome, Outcome::Answered(_));
    let mut completion = Completion {
        id: task.id,
        outcome,
        traces: ran.traces,
        stats: RequestStats {
            queue_ns: task.queue_ns,
            ..ran.stats
        },
        machine: MachineState::Lost,
        worker,
    };
    if !runs_on {
        shared.complete(completion);
        return false;
    }
    if shared.early && answered && !task.keep && !task.check {
        completion.machine = MachineState::Resetting;
        shared.answer(completion);
        #[cfg(test)]
        crate::injected::act_in_reset();
        let reset = clean(instance, alarm, None, worker, task.id);
        let usable = reset.machine == MachineState::Clean;
        shared.clean(worker, reset);
        return usable;
    }
    let settles_until = (task.keep && answered).then_some(ran.settles_until);
    // Without a clean machine the answer is right all the same: it came before.
    completion.fill(clean(instance, alarm, settles_until, worker, task.id));
    if task.check
        && let Err(e) = instance.check()
    {
        completion.outcome = Outcome::Failed(e.to_string());
        completion.machine = MachineState::Lost;
    }
    let usable = completion.machine == MachineState::Clean;
    shared.complete(completion);
    usable
}

/// Readies a machine for the next request, and tells how that went.
fn clean(
    instance: &mut Instance,
    alarm: &mut Alarm,
    settles_until: Option<u64>,
    worker: usize,
    job: u64,
) -> Reset {
    let begin = monotonic_ns();
    let pages = instance.clean(alarm, settles_until);
    if let Err(e) = &pages {
        eprintln!("mayfly: a machine of worker {worker} is lost, its reset failed: {e}");
    }
    Reset {
        id: job,
        reset_ns: monotonic_ns() - begin,
        machine: match &pages {
            Ok(_) => MachineState::Clean,
            Err(_) => MachineState::Lost,
        },
        dirty_pages: pages.unwrap_or(0),
    }
}
