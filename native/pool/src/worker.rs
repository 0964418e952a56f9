//! One thread of a pool: it takes a job, runs it in its machine of the program, resets the machine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mayfly_vmm::{Alarm, Holdings, monotonic_ns};

use crate::confined::{Kept, Shelf, confine_vm_thread};
use crate::instance::{Handled, Instance, Traces};
use crate::outcome::{Outcome, RequestStats};
use crate::pool::{Completion, Job, Order, Shared, Timed};
use crate::program::Program;
use crate::queue::Work;

/// What is known of a worker from outside, also when its thread has crashed. The next thread takes the same seat.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    /// Descriptors and mappings of its machines.
    pub shelf: Shelf,
    /// A job was taken and is not completed: `job` is its number.
    busy: AtomicBool,
    job: AtomicU64,
    /// Jobs completed.
    done: AtomicU64,
    /// The programs that it has, or had, a machine of.
    programs: Mutex<BTreeMap<u64, Weak<Program>>>,
}

impl Seat {
    fn begin(&self, job: u64) {
        self.job.store(job, Ordering::Relaxed);
        self.busy.store(true, Ordering::Release);
    }

    fn end(&self) {
        self.busy.store(false, Ordering::Release);
        self.done.fetch_add(1, Ordering::Release);
    }

    /// The job that a crash left behind.
    pub fn take_job(&self) -> Option<u64> {
        let busy = self.busy.swap(false, Ordering::AcqRel);
        busy.then(|| self.job.load(Ordering::Relaxed))
    }

    /// Jobs completed.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    pub fn programs(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Program>>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A machine and its place on the shelf, which it leaves first.
struct Machine<'a> {
    _kept: Kept<'a>,
    instance: Instance,
}

/// A worker's machines, by program. Its thread may be stopped by a crash anywhere: no destructor runs then.
struct Worker<'a> {
    shared: &'a Shared,
    seat: &'a Seat,
    index: usize,
    machines: BTreeMap<u64, Machine<'a>>,
    _kept: Kept<'a>,
    alarm: Alarm,
}

/// The body of a worker's thread, from its start to the end of the queue.
pub(crate) fn work(shared: &Shared, index: usize) {
    let Some(seat) = shared.seats.get(index) else {
        return;
    };
    // The timer is made before the filter, which lets it be set only.
    let alarm = Alarm::new().and_then(|alarm| confine_vm_thread(false).map(|()| alarm));
    let mut worker = match alarm {
        Ok(alarm) => Worker {
            shared,
            seat,
            index,
            machines: BTreeMap::new(),
            _kept: seat.shelf.keep(Holdings::of_alarm(&alarm)),
            alarm,
        },
        Err(e) => return refuse_all(shared, index, &e.to_string()),
    };
    while let Some(next) = shared.queue.take(index) {
        match next {
            Work::Job(timed) => {
                seat.begin(timed.job.id);
                let completion = worker.run(timed);
                worker.count(&completion);
                shared.queue.complete(index, completion);
                seat.end();
            }
            Work::Order(Order::Retire(program)) => {
                drop(worker.machines.remove(&program));
                seat.programs().remove(&program);
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
            shared
                .queue
                .complete(worker, failed(timed.job.id, worker, why.into()));
        }
    }
}

/// The completion of a job that a failure of ours ended.
pub(crate) fn failed(id: u64, worker: usize, why: String) -> Completion {
    Completion {
        id,
        outcome: Outcome::Failed(why),
        traces: Traces::default(),
        stats: RequestStats::default(),
        worker,
    }
}

impl Worker<'_> {
    fn machine(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<()> {
        let id = program.id();
        if !self.machines.contains_key(&id) {
            let mut instance = Instance::new(program)?;
            let _kept = self.seat.shelf.keep(instance.holdings());
            let mut machine = Machine { _kept, instance };
            machine.instance.rehearse(&mut self.alarm)?;
            self.shared.stats().forks += 1;
            self.machines.insert(id, machine);
            self.seat.programs().insert(id, Arc::downgrade(program));
        }
        Ok(())
    }

    fn run(&mut self, timed: Timed) -> Completion {
        let Timed { job, submitted } = timed;
        let queue_ns = monotonic_ns().saturating_sub(submitted);
        let (id, program) = (job.id, job.program.id());
        let (outcome, handled, keep) = self.serve(job);
        if !keep && self.machines.remove(&program).is_some() {
            self.shared.stats().lost += 1;
        }
        let stats = RequestStats {
            queue_ns,
            ..handled.stats
        };
        Completion {
            id,
            outcome,
            traces: handled.traces,
            stats,
            worker: self.index,
        }
    }

    /// The third result says whether the machine may serve the next request.
    fn serve(&mut self, job: Job) -> (Outcome, Handled, bool) {
        if let Err(e) = self.machine(&job.program) {
            return (Outcome::Failed(e.to_string()), Handled::default(), false);
        }
        let Some(machine) = self.machines.get_mut(&job.program.id()) else {
            return (Outcome::Failed("no machine".into()), Handled::default(), false);
        };
        #[cfg(test)]
        crate::injected::act_on(&job.frame);
        let (outcome, handled) =
            machine
                .instance
                .serve(job.frame, &mut self.alarm, job.timeout_ns, job.keep, job.check);
        match outcome {
            Ok(outcome) => {
                let usable = !handled.lost;
                (outcome, handled, usable)
            }
            Err(e) => (Outcome::Failed(e.to_string()), handled, false),
        }
    }

    fn count(&self, done: &Completion) {
        self.shared
            .stats()
            .count(&done.outcome, &done.traces, &done.stats);
    }
}
