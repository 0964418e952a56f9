//! Machines on threads of their own, and the way in and out.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mayfly_vmm::{Alarm, monotonic_ns};

use crate::instance::{Handled, Instance, Traces};
use crate::outcome::{Outcome, RequestStats};
use crate::program::Program;
use crate::queue::{Queue, Refused, Work};

/// A request to run.
#[derive(Debug)]
pub struct Job {
    /// The submitter's number; comes back in the completion.
    pub id: u64,
    /// What to run it in.
    pub program: Arc<Program>,
    /// Requests of a program that bear the same number wait in one line; lines are served in turn.
    pub line: u32,
    /// The request frame.
    pub frame: Vec<u8>,
    /// Nanoseconds it may run, waiting in the queue not counted.
    pub timeout_ns: u64,
    /// Keep the program's state for the next request instead of resetting it.
    pub keep: bool,
}

/// A request that is done.
#[derive(Debug)]
pub struct Completion {
    /// The job's number.
    pub id: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What else it left: its log, and what it was refused.
    pub traces: Traces,
    /// Where its time went.
    pub stats: RequestStats,
    /// The worker that ran it.
    pub worker: usize,
}

/// Counts since the pool started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Requests by the name of their outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Requests refused because the queue was full.
    pub refused: u64,
    /// Refused system calls by reason ([`mayfly_linux::denials::Reason::name`]).
    pub denials: BTreeMap<&'static str, u64>,
    /// Requests whose log was cut.
    pub logs_cut: u64,
    /// Machines forked.
    pub forks: u64,
    /// Machines dropped because they were lost.
    pub lost: u64,
    /// Sums over all requests.
    pub total: RequestStats,
}

impl PoolStats {
    /// Counts a request in.
    pub fn count(&mut self, outcome: &Outcome, traces: &Traces, stats: &RequestStats) {
        *self.outcomes.entry(outcome.name()).or_default() += 1;
        for denial in &traces.denials {
            *self.denials.entry(denial.reason.name()).or_default() += denial.times;
        }
        self.logs_cut += u64::from(traces.log_dropped > 0);
        self.total.add(stats);
    }

    /// Adds another pool's counts.
    pub fn add(&mut self, other: &PoolStats) {
        for (mine, theirs) in [
            (&mut self.outcomes, &other.outcomes),
            (&mut self.denials, &other.denials),
        ] {
            for (name, n) in theirs {
                *mine.entry(name).or_default() += n;
            }
        }
        self.logs_cut += other.logs_cut;
        self.refused += other.refused;
        self.forks += other.forks;
        self.lost += other.lost;
        self.total.add(&other.total);
    }
}

#[derive(Clone, Debug)]
enum Order {
    Prepare(Arc<Program>),
    Retire(u64),
}

struct Timed {
    job: Job,
    submitted: u64,
}

#[derive(Debug)]
struct Shared {
    queue: Queue<Timed, Order, Completion>,
    stats: Mutex<PoolStats>,
}

impl std::fmt::Debug for Timed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Timed({})", self.job.id)
    }
}

/// Worker threads with a machine for each program in use. Dropping it lets the waiting requests end first.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `workers` threads; at most `queue` requests wait.
    pub fn start(workers: usize, queue: usize) -> std::io::Result<Pool> {
        let workers = workers.max(1);
        let shared = Arc::new(Shared {
            queue: Queue::new(workers, queue.max(1)),
            stats: Mutex::default(),
        });
        let mut pool = Pool {
            shared,
            workers: Vec::with_capacity(workers),
        };
        for index in 0..workers {
            let shared = pool.shared.clone();
            let name = format!("mayfly-vm-{index}");
            pool.workers.push(
                thread::Builder::new()
                    .name(name)
                    .spawn(move || work(&shared, index))?,
            );
        }
        Ok(pool)
    }

    /// Makes every worker fork the program ahead of its first request.
    pub fn prepare(&self, program: &Arc<Program>) {
        self.shared.queue.order(&Order::Prepare(program.clone()));
    }

    /// Makes every worker drop its machine of a program. Requests that name it later fork it anew.
    pub fn retire(&self, program: u64) {
        self.shared.queue.order(&Order::Retire(program));
    }

    /// Adds a request, or gives it back with the reason.
    pub fn submit(&self, job: Job) -> Result<(), (Job, Refused)> {
        let result = self.shared.queue.submit(
            (job.program.id(), job.line),
            Timed {
                job,
                submitted: monotonic_ns(),
            },
        );
        result.map_err(|(timed, why)| {
            self.shared
                .stats
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .refused += 1;
            (timed.job, why)
        })
    }

    /// Waits for completions and moves up to `most` of them to `into`; returns how many, 0 when time is over or the pool is
    /// closed and empty.
    pub fn fetch(&self, into: &mut Vec<Completion>, most: usize, timeout: Duration) -> usize {
        self.shared.queue.fetch(into, most, timeout)
    }

    /// Refuses new requests; those that wait are still done.
    pub fn close(&self) {
        self.shared.queue.close();
    }

    /// Requests that wait and requests that run.
    pub fn load(&self) -> (usize, usize) {
        self.shared.queue.load()
    }

    /// Counts since the start.
    pub fn stats(&self) -> PoolStats {
        self.shared
            .stats
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
        for worker in self.workers.drain(..) {
            // A worker catches panics of requests; one that died otherwise has nothing left to release.
            let _ = worker.join();
        }
    }
}

/// A worker's machines, by program.
struct Worker<'a> {
    shared: &'a Shared,
    index: usize,
    alarm: Alarm,
    instances: BTreeMap<u64, Instance>,
}

fn work(shared: &Shared, index: usize) {
    let alarm = Alarm::new();
    let mut worker = match alarm {
        Ok(alarm) => Worker {
            shared,
            index,
            alarm,
            instances: BTreeMap::new(),
        },
        Err(e) => return refuse_all(shared, index, &e.to_string()),
    };
    while let Some(next) = shared.queue.take(index) {
        match next {
            Work::Job(timed) => {
                let completion = worker.run(timed);
                worker.count(&completion);
                shared.queue.complete(index, completion);
            }
            Work::Order(Order::Retire(program)) => drop(worker.instances.remove(&program)),
            Work::Order(Order::Prepare(program)) => {
                // A failure shows again, with its reason, when a request needs the machine.
                let _ = worker.instance(&program);
            }
        }
    }
}

/// Answers every job with a failure: the worker could not start.
fn refuse_all(shared: &Shared, worker: usize, why: &str) {
    while let Some(next) = shared.queue.take(worker) {
        if let Work::Job(timed) = next {
            let outcome = Outcome::Failed(why.into());
            let completion = Completion {
                id: timed.job.id,
                outcome,
                traces: Traces::default(),
                stats: RequestStats::default(),
                worker,
            };
            shared.queue.complete(worker, completion);
        }
    }
}

impl Worker<'_> {
    fn instance(&mut self, program: &Arc<Program>) -> mayfly_vmm::Result<&mut Instance> {
        let id = program.id();
        if !self.instances.contains_key(&id) {
            let mut instance = Instance::new(program)?;
            instance.rehearse(&mut self.alarm)?;
            self.shared
                .stats
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .forks += 1;
            self.instances.insert(id, instance);
        }
        self.instances.get_mut(&id).ok_or(mayfly_vmm::Error::Broken {
            what: "an instance just made",
        })
    }

    fn run(&mut self, timed: Timed) -> Completion {
        let Timed { job, submitted } = timed;
        let queue_ns = monotonic_ns().saturating_sub(submitted);
        let (id, program) = (job.id, job.program.id());
        // A panic is a bug of ours: it costs this machine, not the worker.
        let result = catch_unwind(AssertUnwindSafe(|| self.serve(job)));
        let (outcome, handled, keep) = result.unwrap_or_else(|panic| {
            let what = panic.downcast_ref::<String>().map(String::as_str);
            let what = what
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("unknown");
            (
                Outcome::Failed(format!("panic: {what}")),
                Handled::default(),
                false,
            )
        });
        if !keep && self.instances.remove(&program).is_some() {
            self.shared
                .stats
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .lost += 1;
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
        if let Err(e) = self.instance(&job.program) {
            return (Outcome::Failed(e.to_string()), Handled::default(), false);
        }
        let Some(instance) = self.instances.get_mut(&job.program.id()) else {
            return (Outcome::Failed("no machine".into()), Handled::default(), false);
        };
        let (outcome, handled) = instance.serve(job.frame, &mut self.alarm, job.timeout_ns, job.keep);
        match outcome {
            Ok(outcome) => {
                let usable = !handled.lost;
                (outcome, handled, usable)
            }
            Err(e) => (Outcome::Failed(e.to_string()), handled, false),
        }
    }

    fn count(&self, done: &Completion) {
        let mut stats = self.shared.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.count(&done.outcome, &done.traces, &done.stats);
    }
}
