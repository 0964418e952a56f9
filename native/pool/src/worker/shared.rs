//! What a pool, its workers and their supervisor share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::channel::Channel;
use crate::confined::ResourceLists;
use crate::outside::{Links, Requests};
use crate::program::Program;
use crate::queue::{Numbered, Queue};
use crate::worker::job::{Completion, Job, MachineState, Reset};
use crate::worker::stats::PoolStats;

#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// Fork the program, and pass the order on to the next worker: while one forks, the others serve.
    Prepare(Arc<Program>),
    /// The same without passing it on.
    Refill(Arc<Program>),
    Retire(u64),
    /// Machines that have waited for so many nanoseconds go.
    DropIdle(u64),
}

/// A job and when it came.
pub(crate) struct Timed {
    pub job: Job,
    pub submitted: u64,
}

impl Numbered for Completion {
    fn number(&self) -> u64 {
        self.id
    }
}

impl Numbered for Timed {
    fn number(&self) -> u64 {
        self.job.id
    }

    fn has_channel(&self) -> bool {
        self.job
            .channel
            .as_ref()
            .is_some_and(|channel| !channel.is_late())
    }
}

impl std::fmt::Debug for Timed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Timed({})", self.job.id)
    }
}

/// What the pool, its workers and their supervisor share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub queue: Queue<Timed, Order, Completion, Reset>,
    /// Answers are told before their machines are reset.
    pub early: bool,
    /// The pool goes: nothing is parked any more.
    pub ends: AtomicBool,
    /// Itself, for whoever lets its requests go on and does not keep it.
    own: Weak<Shared>,
    stats: Mutex<PoolStats>,
    /// By worker.
    pub slots: Vec<WorkerSlot>,
}

impl Shared {
    pub fn new(workers: usize, queue: usize, early: bool) -> Arc<Shared> {
        Arc::new_cyclic(|own| Shared {
            queue: Queue::new(workers, queue),
            early,
            ends: AtomicBool::new(false),
            stats: Mutex::default(),
            slots: (0..workers).map(|_| WorkerSlot::default()).collect(),
            own: own.clone(),
        })
    }

    /// Its requests, for whoever has news for them.
    pub fn requests(&self) -> Weak<dyn Requests> {
        self.own.clone()
    }

    /// No change leaves the counts half made.
    pub fn stats(&self) -> MutexGuard<'_, PoolStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls off what runs with a channel, or is parked.
    pub fn call_off_parked(&self) {
        self.ends.store(true, Ordering::Release);
        for slot in &self.slots {
            slot.channels().values().for_each(|channel| channel.call_off());
        }
        for number in self.queue.parked() {
            self.queue.go_on(number);
        }
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

impl Requests for Shared {
    fn go_on(&self, request: u64) {
        self.queue.go_on(request);
    }
}

/// What is known of a worker from outside, also when its thread has crashed. The next thread takes the same slot.
#[derive(Debug, Default)]
pub(crate) struct WorkerSlot {
    /// Descriptors and mappings of its machines.
    pub resources: ResourceLists,
    /// Jobs completed.
    done: AtomicU64,
    /// Channels of the requests that it runs or has parked: a crash must end them.
    channels: Mutex<BTreeMap<u64, Arc<Channel>>>,
    /// Of its machines that may connect to the outside: a crash must end what they have there.
    links: Mutex<Vec<Weak<Links>>>,
    /// The programs that it has, or had, a machine of.
    programs: Mutex<BTreeMap<u64, Weak<Program>>>,
}

impl WorkerSlot {
    /// Jobs completed.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    /// Counts one more.
    pub fn did(&self) {
        self.done.fetch_add(1, Ordering::Release);
    }

    pub fn channels(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Channel>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what a machine has outside.
    pub fn add_links(&self, links: &Arc<Links>) {
        let mut all = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|links| links.strong_count() > 0);
        all.push(Arc::downgrade(links));
    }

    /// Ends what its machines have outside.
    pub fn close_links(&self) {
        let all = std::mem::take(&mut *self.links.lock().unwrap_or_else(PoisonError::into_inner));
        for links in all.iter().filter_map(Weak::upgrade) {
            links.close();
        }
    }

    pub fn programs(&self) -> MutexGuard<'_, BTreeMap<u64, Weak<Program>>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
