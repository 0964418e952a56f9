//! Machines on threads of their own, and the way in and out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mayfly_vmm::monotonic_ns;

use crate::instance::Traces;
use crate::outcome::{Outcome, RequestStats};
use crate::program::Program;
use crate::queue::{Numbered, Queue, Refused};
use crate::supervisor;
use crate::worker::Seat;

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
    /// Compare the machine with its snapshot afterwards, byte for byte; a difference fails the request. For tests: it is slow.
    pub check: bool,
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
    /// Where its time went; without the reset while the machine is [`MachineState::Resetting`].
    pub stats: RequestStats,
    /// What became of its machine.
    pub machine: MachineState,
    /// The worker that ran it.
    pub worker: usize,
}

impl Completion {
    /// Takes in the reset that came after it.
    pub(crate) fn fill(&mut self, reset: Reset) {
        self.stats.reset_ns = reset.reset_ns;
        self.stats.dirty_pages = reset.dirty_pages;
        self.machine = reset.machine;
    }
}

/// A machine after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// It serves the next one; or there was none.
    Clean,
    /// It was not clean yet when the request was completed: a [`Reset`] follows.
    Resetting,
    /// It was dropped, and another is forked.
    Lost,
}

/// The reset after a request that was completed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The job's number.
    pub id: u64,
    /// Nanoseconds until the machine was clean or given up; 0 after a crash.
    pub reset_ns: u64,
    /// Pages that were put back.
    pub dirty_pages: u64,
    /// Clean, or lost. The answer stands in any case: it was complete before.
    pub machine: MachineState,
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
    /// Workers that crashed, by a bug of ours.
    pub crashes: u64,
    /// Sums over all requests, and over the resets that have ended.
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
        self.crashes += other.crashes;
        self.total.add(&other.total);
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Order {
    Prepare(Arc<Program>),
    Retire(u64),
}

/// A job and when it came.
pub(crate) struct Timed {
    pub job: Job,
    pub submitted: u64,
}

impl Numbered for Timed {
    fn number(&self) -> u64 {
        self.job.id
    }
}

/// What the pool, its workers and their supervisor share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub queue: Queue<Timed, Order, Completion, Reset>,
    /// Answers are told before their machines are reset.
    pub early: bool,
    stats: Mutex<PoolStats>,
    /// By worker.
    pub seats: Vec<Seat>,
}

impl Shared {
    /// No change leaves the counts half made.
    pub fn stats(&self) -> MutexGuard<'_, PoolStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, done: &Completion) {
        let mut stats = self.stats();
        stats.count(&done.outcome, &done.traces, &done.stats);
        stats.lost += u64::from(done.machine == MachineState::Lost);
    }

    /// Counts and tells a request whose machine is clean or lost.
    pub fn complete(&self, done: Completion) {
        self.count(&done);
        self.queue.complete(done.worker, done);
    }

    /// The same for one whose machine is reset now.
    pub fn answer(&self, done: Completion) {
        self.count(&done);
        self.queue.answer(done.worker, done);
    }

    /// Counts and tells its reset.
    pub fn clean(&self, worker: usize, reset: Reset) {
        {
            let mut stats = self.stats();
            stats.total.reset_ns += reset.reset_ns;
            stats.total.dirty_pages += reset.dirty_pages;
            stats.lost += u64::from(reset.machine == MachineState::Lost);
        }
        self.queue.clean(worker, reset, Completion::fill);
    }
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
    supervisor: Option<JoinHandle<()>>,
}

impl Pool {
    /// Starts `workers` threads; at most `queue` requests wait.
    pub fn start(workers: usize, queue: usize) -> std::io::Result<Pool> {
        Pool::start_with(workers, queue, false)
    }

    /// The same, but answers are told before their machines are reset; [`Pool::take_resets`] tells the rest. Requests that keep
    /// their state, are checked or end without an answer are told afterwards as ever.
    pub fn start_early(workers: usize, queue: usize) -> std::io::Result<Pool> {
        Pool::start_with(workers, queue, true)
    }

    fn start_with(workers: usize, queue: usize, early: bool) -> std::io::Result<Pool> {
        let workers = workers.max(1);
        let shared = Arc::new(Shared {
            queue: Queue::new(workers, queue.max(1)),
            early,
            stats: Mutex::default(),
            seats: (0..workers).map(|_| Seat::default()).collect(),
        });
        let supervisor = Some(supervisor::start(&shared)?);
        Ok(Pool { shared, supervisor })
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
            self.shared.stats().refused += 1;
            (timed.job, why)
        })
    }

    /// As [`Pool::fetch`], for a short time that is spent without sleep, and given to whoever wants the CPU.
    pub fn fetch_soon(&self, into: &mut Vec<Completion>, most: usize, longest: Duration) -> usize {
        self.shared.queue.fetch_soon(into, most, longest)
    }

    /// Moves up to `most` resets to `into` whose completions were fetched as [`MachineState::Resetting`], and gives how many. Never
    /// waits. After [`Pool::close`] and a fetch of 0, all have come.
    pub fn take_resets(&self, into: &mut Vec<Reset>, most: usize) -> usize {
        self.shared.queue.take_resets(into, most)
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

    /// Requests that wait, and those that run or whose machines are reset.
    pub fn load(&self) -> (usize, usize) {
        self.shared.queue.load()
    }

    /// Counts since the start.
    pub fn stats(&self) -> PoolStats {
        self.shared.stats().clone()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
        if let Some(supervisor) = self.supervisor.take() {
            // It ends after its workers; if it panicked there is nothing left to release.
            let _ = supervisor.join();
        }
    }
}
