//! One thread of a pool: it takes a job, runs it in its machine of the program, resets the machine.

pub(crate) mod job;
mod restart_budget;
pub(crate) mod shared;
pub(crate) mod stats;
pub(crate) mod supervisor;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use mayfly_vmm::{Alarm, HostResources, monotonic_ns};

use crate::confined::{Listed, confine_vm_thread};
use crate::outcome::{Outcome, RequestStats};
use crate::program::Program;
use crate::program::instance::Instance;
use crate::queue::Work;
use crate::sched::scheduler;
use crate::worker::job::{Completion, Job, MachineState, Reset};
use crate::worker::shared::{Order, Shared, Timed, WorkerSlot};

/// A machine and the list of its resources, which goes first.
struct Machine<'a> {
    _listed: Listed<'a>,
    instance: Instance,
}

/// A worker's machines, by program. Its thread may be stopped by a crash anywhere: no destructor runs then.
struct Worker<'a> {
    shared: &'a Shared,
    slot: &'a WorkerSlot,
    index: usize,
    machines: BTreeMap<u64, Machine<'a>>,
    _listed: Listed<'a>,
    alarm: Alarm,
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
            Work::Order(Order::Retire(program)) => {
                drop(worker.machines.remove(&program));
                slot.programs().remove(&program);
            }
            Work::Order(Order::Prepare(program)) => {
                // A failure shows again, with its reason, when a request needs the machine.
                let _ = worker.machine(&program);
            }
        }
    }
}

/// Answers every job with a failure: the worker could not start.
fn refuse_all(shared: &Shared, worker: usize, why: &str) {
    while let Some(next) = shared.queue.take(worker) {
        if let Work::Job(timed) = next {
            shared.complete(Completion::failed(timed.job.id, worker, why.into()));
        }
    }
}

impl Worker<'_> {
    /// The machine of a program, and the alarm for it.
    fn machine(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<(&mut Instance, &mut Alarm)> {
        let machine = match self.machines.entry(program.id()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let mut instance = Instance::new(program)?;
                let _listed = self.slot.resources.list(instance.host_resources());
                let mut machine = Machine { _listed, instance };
                scheduler().pause();
                machine.instance.rehearse(&mut self.alarm)?;
                self.shared.stats().forks += 1;
                self.slot.programs().insert(program.id(), Arc::downgrade(program));
                entry.insert(machine)
            }
        };
        Ok((&mut machine.instance, &mut self.alarm))
    }

    /// Runs a job, completes it, and readies the machine for the next one. One that is lost is forked anew.
    fn run(&mut self, timed: Timed) {
        let Timed { job, submitted } = timed;
        let (shared, worker, program) = (self.shared, self.index, job.program.clone());
        let queue_ns = monotonic_ns().saturating_sub(submitted);
        let usable = match self.machine(&program) {
            Ok((instance, alarm)) => {
                let usable = serve(shared, worker, job, queue_ns, instance, alarm);
                instance.rest();
                usable
            }
            Err(e) => {
                let mut completion = Completion::failed(job.id, worker, e.to_string());
                completion.stats.queue_ns = queue_ns;
                return shared.complete(completion);
            }
        };
        if !usable {
            self.machines.remove(&program.id());
            // Another takes milliseconds, which a neighbour need not wait for.
            scheduler().pause();
            // A failure shows again, with its reason, when a request needs the machine.
            let _ = self.machine(&program);
        }
    }
}

/// Runs a job in a machine and completes it, before or after the reset; false when the machine is lost.
fn serve(
    shared: &Shared,
    worker: usize,
    job: Job,
    queue_ns: u64,
    instance: &mut Instance,
    alarm: &mut Alarm,
) -> bool {
    #[cfg(test)]
    crate::injected::act_on(&job.frame);
    let ran = instance.run(job.frame, alarm, job.timeout_ns);
    let (outcome, runs_on) = match ran.outcome {
        Ok(outcome) => (outcome, true),
        Err(e) => (Outcome::Failed(e.to_string()), false),
    };
    let answered = matches!(outcome, Outcome::Answered(_));
    let mut completion = Completion {
        id: job.id,
        outcome,
        traces: ran.traces,
        stats: RequestStats {
            queue_ns,
            run_ns: ran.run_ns,
            exits: ran.exits,
            ..RequestStats::default()
        },
        machine: MachineState::Lost,
        worker,
    };
    if !runs_on {
        shared.complete(completion);
        return false;
    }
    if shared.early && answered && !job.keep && !job.check {
        completion.machine = MachineState::Resetting;
        shared.answer(completion);
        #[cfg(test)]
        crate::injected::act_in_reset();
        let reset = clean(instance, alarm, None, worker, job.id);
        let usable = reset.machine == MachineState::Clean;
        shared.clean(worker, reset);
        return usable;
    }
    let settles_until = (job.keep && answered).then_some(ran.settles_until);
    // Without a clean machine the answer is right all the same: it came before.
    completion.fill(clean(instance, alarm, settles_until, worker, job.id));
    if job.check
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
