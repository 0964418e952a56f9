//! Between the host's thread and the machines' threads: jobs in, completions out, both bounded.
//!
//! ```text
//! submit -> flows -> take -> complete ---------------> done -> fetch
//!                         -> answer -> (reset) -> clean: its figures go into the completion while that is in `done`,
//!                                                 else -> resets -> take_resets
//! take -> park -> (message, time) go_on -> flows -> take, by the worker that parked it
//! take -> give_way ---------------------> flows -> take, by the worker that it gave
//! ```

mod aside;
mod fetch;
mod flows;
mod parking;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mayfly_vmm::monotonic_ns;

use crate::wait::busy_poll::{Habit, LONGEST, busy_poll};
use flows::{FlowId, Flows, Next};
use parking::Parked;
pub use parking::Parking;

/// Time after which a worker looks again at jobs that may not run yet.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Most resets that nobody took. Whoever fetches completions takes them at leisure: they have no place in the queue.
const RESETS_MAX: usize = 4096;

/// Why a job was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// As many jobs wait as may.
    Full,
    /// The queue was closed.
    Closed,
}

/// What a worker is to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Work<J, O> {
    /// A job that any worker may take.
    Job(J),
    /// An order for this worker alone.
    Order(O),
    /// The request of this number, which this worker parked or which gave way, goes on.
    Parked(u64),
}

/// Most requests of which one fetch tells that they said something, beside those that are done.
const SAID_AT_ONCE: usize = 16;

/// A job's number, by which the pool's user knows it.
pub(crate) trait Numbered {
    fn number(&self) -> u64;

    /// Whether it may be parked.
    fn has_channel(&self) -> bool {
        false
    }
}

/// What a worker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Nothing that anybody hears of.
    Rest,
    /// The job of this number.
    Job(u64),
    /// The reset after a job whose completion was told; `place` counts completions.
    Reset { job: u64, place: u64 },
}

/// Jobs wait in flows for all workers ([`Flows`]); orders wait in a list of each worker's own and go first. `C` completes a job,
/// `R` tells of a reset that came after its completion.
#[derive(Debug)]
pub(crate) struct Queue<J, O, C, R> {
    state: Mutex<State<J, O, C, R>>,
    /// By worker: signalled when work arrives for it.
    work: Vec<Condvar>,
    /// Signalled when a completion arrives.
    done: Condvar,
    /// Most jobs that wait.
    capacity: usize,
    /// Count what arrives for workers, and what arrives for the host: who busy-polls looks here.
    arrived: AtomicUsize,
    finished: AtomicUsize,
    /// A worker busy-polls. One is enough.
    polling: AtomicBool,
}

#[derive(Debug)]
struct State<J, O, C, R> {
    jobs: Flows<J>,
    orders: Vec<VecDeque<O>>,
    parked: Parked,
    /// Requests that said something the host has not been told of.
    said: VecDeque<u64>,
    done: VecDeque<C>,
    /// Completions that left `done`.
    fetched: u64,
    resets: VecDeque<R>,
    /// By worker.
    at: Vec<At>,
    /// Workers that sleep, and fetchers: a signal to nobody would be a system call for nothing.
    sleeping: Vec<usize>,
    fetching: usize,
    /// The next fetch that would wait returns at once.
    recalled: bool,
    closed: bool,
    habit: Habit,
    /// When the last worker had nothing to do: the others have waited for longer, and know nothing of how often jobs come.
    idle_since: Instant,
}

impl<J, O, C, R> State<J, O, C, R> {
    fn drain(&mut self, into: &mut Vec<C>, most: usize) -> usize {
        let n = self.done.len().min(most);
        into.extend(self.done.drain(..n));
        self.fetched += n as u64;
        n
    }

    /// Takes completions, each behind what its request said last, and some of those that said something else: of many who did so at once
    /// nobody's answer waits for more than these.
    fn drain_told(&mut self, said: &mut Vec<u64>, into: &mut Vec<C>, most: usize) -> usize
    where
        C: Numbered,
    {
        let others = self.said.len().min(SAID_AT_ONCE).min(most);
        let room = match others {
            0 => most,
            // Each may bring something that was said.
            _ => (most - others) / 2,
        };
        let (before, begin) = (said.len(), into.len());
        let n = self.drain(into, room);
        for done in &into[begin..] {
            if let Some(at) = self.said.iter().position(|number| *number == done.number()) {
                said.extend(self.said.remove(at));
            }
        }
        said.extend(self.said.drain(..others.min(self.said.len())));
        n + said.len() - before
    }

    fn is_over(&self) -> bool {
        self.closed && self.jobs.waiting() == 0 && self.jobs.running() == 0 && self.parked.len() == 0
    }

    /// Puts the parked requests of a worker whose time has come into their flows.
    fn wake_due(&mut self, worker: usize) {
        if self.parked.next_wake(worker).is_none() {
            return;
        }
        let now = monotonic_ns();
        while let Some(number) = self.parked.due(worker, now) {
            self.go_on(number);
        }
    }

    /// Puts a parked request into its flow, and gives its worker.
    fn go_on(&mut self, number: u64) -> Option<usize> {
        let (worker, flow, ran) = self.parked.go_on(number)?;
        self.jobs.go_on(flow, worker, number, ran, monotonic_ns());
        Some(worker)
    }

    /// How long a worker without work may sleep; `None` for as long as nobody wakes it.
    fn sleeps_for(&self, worker: usize) -> Option<Duration> {
        let again = self.jobs.has_work(worker).then_some(LOOK_AGAIN);
        let wake = self.parked.next_wake(worker);
        let timer = wake.map(|at| Duration::from_nanos(at.saturating_sub(monotonic_ns())));
        again.into_iter().chain(timer).min()
    }

    /// Takes one out of those that sleep which may now run what it might not before, as another worker was freed.
    fn rouse_able(&mut self) -> Option<usize> {
        if self.sleeping.is_empty() {
            return None;
        }
        let now = monotonic_ns();
        let at = self
            .sleeping
            .iter()
            .position(|worker| self.jobs.may_work(*worker, now))?;
        Some(self.sleeping.remove(at))
    }

    /// Takes a worker out of those that sleep, to be woken.
    fn rouse(&mut self, worker: usize) -> bool {
        let at = self.sleeping.iter().position(|sleeper| *sleeper == worker);
        at.map(|at| self.sleeping.remove(at)).is_some()
    }
}

impl<J: Numbered, O: Clone, C, R> Queue<J, O, C, R> {
    pub fn new(workers: usize, capacity: usize) -> Self {
        let orders = (0..workers).map(|_| VecDeque::new()).collect();
        let state = State {
            jobs: Flows::new(workers, capacity),
            orders,
            parked: Parked::new(workers, Parking::default()),
            said: VecDeque::new(),
            done: VecDeque::new(),
            fetched: 0,
            resets: VecDeque::new(),
            at: vec![At::Rest; workers],
            sleeping: Vec::with_capacity(workers),
            fetching: 0,
            recalled: false,
            closed: false,
            habit: Habit::default(),
            idle_since: Instant::now(),
        };
        Queue {
            state: Mutex::new(state),
            work: (0..workers).map(|_| Condvar::new()).collect(),
            done: Condvar::new(),
            capacity,
            arrived: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            polling: AtomicBool::new(false),
        }
    }

    /// Each critical section leaves the state whole, so a panic elsewhere in a holder's thread does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State<J, O, C, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job to a flow, which has that weight from now on. What nobody fetched counts as well, so a host that stops fetching stops submitting.
    pub fn submit(&self, flow: FlowId, weight: u32, job: J) -> Result<(), (J, Refused)> {
        let mut state = self.lock();
        if state.closed {
            return Err((job, Refused::Closed));
        }
        if state.resets.len() >= RESETS_MAX {
            return Err((job, Refused::Full));
        }
        let unfetched = state
            .done
            .len()
            .saturating_sub(self.capacity + state.orders.len());
        let opens = job.has_channel().then_some(job.number());
        if opens.is_some() && state.parked.full(flow).is_some() {
            return Err((job, Refused::Full));
        }
        if let Err(job) = state.jobs.add(flow, weight, job, unfetched, monotonic_ns()) {
            return Err((job, Refused::Full));
        }
        self.arrived.fetch_add(1, Ordering::Release);
        // Who busy-polls looks at the jobs once more, under the lock, before it sleeps.
        let expected = state.jobs.waiting() == 1 && self.polling.load(Ordering::Acquire);
        if let Some(number) = opens {
            state.parked.open(number, flow);
        }
        let woken = if expected { None } else { state.sleeping.pop() };
        drop(state);
        self.notify(woken);
        Ok(())
    }

    /// Wakes a worker for which another one was freed, if there is one.
    fn wake_able(&self, mut state: MutexGuard<'_, State<J, O, C, R>>) {
        let able = state.rouse_able();
        drop(state);
        self.notify(able);
    }

    /// Signals a worker that was taken out of those that sleep.
    fn notify(&self, worker: Option<usize>) {
        if let Some(worker) = worker {
            self.work[worker].notify_one();
        }
    }

    /// Completes a request that no worker has.
    pub fn lose(&self, completion: C) {
        self.tell(self.lock(), completion);
    }

    /// Tells the host that a request said something.
    pub fn tell_said(&self, number: u64) {
        let mut state = self.lock();
        state.said.push_back(number);
        self.finished.fetch_add(1, Ordering::Release);
        let wakes = state.fetching > 0;
        drop(state);
        if wakes {
            self.done.notify_one();
        }
    }

    /// Gives every worker an order.
    pub fn order(&self, order: &O) {
        let mut state = self.lock();
        state
            .orders
            .iter_mut()
            .for_each(|orders| orders.push_back(order.clone()));
        self.arrived.fetch_add(1, Ordering::Release);
        state.sleeping.clear();
        drop(state);
        self.work.iter().for_each(Condvar::notify_one);
    }

    /// Gives one worker an order.
    pub fn order_to(&self, worker: usize, order: O) {
        let mut state = self.lock();
        let Some(orders) = state.orders.get_mut(worker) else {
            return;
        };
        orders.push_back(order);
        self.arrived.fetch_add(1, Ordering::Release);
        let wakes = state.rouse(worker);
        drop(state);
        if wakes {
            self.work[worker].notify_one();
        }
    }

    /// Waits for work; `None` when the queue is closed and empty.
    pub fn take(&self, worker: usize) -> Option<Work<J, O>> {
        let mut state = self.lock();
        let mut is_idle = false;
        loop {
            if let Some(order) = state.orders.get_mut(worker).and_then(VecDeque::pop_front) {
                return Some(Work::Order(order));
            }
            let closed = state.closed;
            state.wake_due(worker);
            if let Some(next) = state.jobs.next(worker, closed, monotonic_ns()) {
                if is_idle {
                    let waited = state.idle_since.elapsed();
                    state.habit.learn(waited);
                }
                return Some(match next {
                    Next::Job(job) => {
                        state.at[worker] = At::Job(job.number());
                        Work::Job(job)
                    }
                    Next::Parked(number) => {
                        state.at[worker] = At::Job(number);
                        state.parked.take_up(number);
                        Work::Parked(number)
                    }
                });
            }
            if closed && !state.parked.has_any_of(worker) {
                return None;
            }
            if !is_idle {
                is_idle = true;
                state.idle_since = Instant::now();
                let polls = state.jobs.waiting() == 0 && state.habit.wants();
                if polls && !self.polling.swap(true, Ordering::AcqRel) {
                    let seen = self.arrived.load(Ordering::Acquire);
                    drop(state);
                    let polled = busy_poll(LONGEST, || self.arrived.load(Ordering::Acquire) != seen);
                    self.polling.store(false, Ordering::Release);
                    state = self.lock();
                    state.habit.note(polled);
                    continue;
                }
            }
            state.sleeping.push(worker);
            let work = &self.work[worker];
            state = match state.sleeps_for(worker) {
                None => work.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    let waited = work.wait_timeout(state, time);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.rouse(worker);
        }
    }

    /// Ends the job that `take` gave to a worker, whose machine is clean or gone.
    pub fn complete(&self, worker: usize, completion: C) {
        let mut state = self.lock();
        if let At::Job(job) = std::mem::replace(&mut state.at[worker], At::Rest) {
            state.parked.close(job);
        }
        state.jobs.done(worker, monotonic_ns());
        let able = state.rouse_able();
        self.tell(state, completion);
        self.notify(able);
    }

    /// Completes the job that `take` gave to a worker, which resets its machine now: [`Queue::clean`] follows.
    pub fn answer(&self, worker: usize, completion: C) {
        let mut state = self.lock();
        if let At::Job(job) = state.at[worker] {
            let place = state.fetched + state.done.len() as u64;
            state.at[worker] = At::Reset { job, place };
            state.parked.close(job);
        }
        self.tell(state, completion);
    }

    fn tell(&self, mut state: MutexGuard<'_, State<J, O, C, R>>, completion: C) {
        state.done.push_back(completion);
        self.finished.fetch_add(1, Ordering::Release);
        let wakes = state.fetching > 0;
        drop(state);
        if wakes {
            self.done.notify_one();
        }
    }

    /// Ends the reset after [`Queue::answer`]: its figures go into the completion if nobody fetched that yet. Wakes nobody, or who
    /// waits for the end of a queue that was closed.
    pub fn clean(&self, worker: usize, reset: R, fill: impl FnOnce(&mut C, R)) {
        let mut state = self.lock();
        let At::Reset { place, .. } = std::mem::replace(&mut state.at[worker], At::Rest) else {
            return;
        };
        state.jobs.done(worker, monotonic_ns());
        let index = place.checked_sub(state.fetched).map(|index| index as usize);
        match index.and_then(|index| state.done.get_mut(index)) {
            Some(completion) => fill(completion, reset),
            None => state.resets.push_back(reset),
        }
        let closed = state.closed;
        self.wake_able(state);
        if closed {
            self.done.notify_all();
        }
    }

    /// What a worker is at, for whoever ends it in its place.
    pub fn at(&self, worker: usize) -> At {
        self.lock().at[worker]
    }

    /// Refuses new jobs; those that wait are still done.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.sleeping.clear();
        self.arrived.fetch_add(1, Ordering::Release);
        drop(state);
        self.work.iter().for_each(Condvar::notify_one);
        self.done.notify_all();
    }

    /// Jobs that wait and jobs that run.
    pub fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.jobs.waiting(), state.jobs.running())
    }
}
