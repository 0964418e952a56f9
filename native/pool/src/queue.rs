//! Between the host's thread and the machines' threads: jobs in, completions out, both bounded.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mayfly_vmm::monotonic_ns;

use crate::lines::{LineId, Lines};
use crate::spin::{Habit, LONGEST, Spun, spin};

/// Time after which a worker looks again at jobs that may not run yet.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

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
}

/// Jobs wait in lines for all workers ([`Lines`]); orders wait in a line of each worker's own and go first.
#[derive(Debug)]
pub(crate) struct Queue<J, O, C> {
    state: Mutex<State<J, O, C>>,
    /// Signalled when work arrives.
    work: Condvar,
    /// Signalled when a completion arrives.
    done: Condvar,
    /// Most jobs that wait.
    capacity: usize,
    /// Count what arrives for workers, and what arrives for the host: who spins looks here.
    arrived: AtomicUsize,
    finished: AtomicUsize,
    /// A worker spins. One is enough.
    spinning: AtomicBool,
}

#[derive(Debug)]
struct State<J, O, C> {
    jobs: Lines<J>,
    orders: Vec<VecDeque<O>>,
    done: VecDeque<C>,
    closed: bool,
    habit: Habit,
}

impl<J, O: Clone, C> Queue<J, O, C> {
    pub fn new(workers: usize, capacity: usize) -> Self {
        let orders = (0..workers).map(|_| VecDeque::new()).collect();
        let state = State {
            jobs: Lines::new(workers, capacity),
            orders,
            done: VecDeque::new(),
            closed: false,
            habit: Habit::default(),
        };
        Queue {
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
            capacity,
            arrived: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            spinning: AtomicBool::new(false),
        }
    }

    /// Each critical section leaves the state whole, so a panic elsewhere in a holder's thread does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State<J, O, C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job to a line. Completions that nobody fetched count as well, so a host that stops fetching stops submitting.
    pub fn submit(&self, line: LineId, job: J) -> Result<(), (J, Refused)> {
        let mut state = self.lock();
        if state.closed {
            return Err((job, Refused::Closed));
        }
        let unfetched = state
            .done
            .len()
            .saturating_sub(self.capacity + state.orders.len());
        if let Err(job) = state.jobs.add(line, job, unfetched, monotonic_ns()) {
            return Err((job, Refused::Full));
        }
        self.arrived.fetch_add(1, Ordering::Release);
        // Who spins looks at the jobs once more, under the lock, before it sleeps.
        let expected = state.jobs.waiting() == 1 && self.spinning.load(Ordering::Acquire);
        drop(state);
        if !expected {
            self.work.notify_one();
        }
        Ok(())
    }

    /// Gives every worker an order.
    pub fn order(&self, order: &O) {
        let mut state = self.lock();
        state
            .orders
            .iter_mut()
            .for_each(|line| line.push_back(order.clone()));
        self.arrived.fetch_add(1, Ordering::Release);
        drop(state);
        self.work.notify_all();
    }

    /// Waits for work; `None` when the queue is closed and empty.
    pub fn take(&self, worker: usize) -> Option<Work<J, O>> {
        let mut state = self.lock();
        let mut idle_since = None;
        loop {
            if let Some(order) = state.orders.get_mut(worker).and_then(VecDeque::pop_front) {
                return Some(Work::Order(order));
            }
            let closed = state.closed;
            if let Some(job) = state.jobs.next(worker, closed, monotonic_ns()) {
                if let Some(since) = idle_since {
                    state.habit.learn(Instant::elapsed(&since));
                }
                return Some(Work::Job(job));
            }
            if closed {
                return None;
            }
            if idle_since.is_none() {
                idle_since = Some(Instant::now());
                let spins = state.jobs.waiting() == 0 && state.habit.wants();
                if spins && !self.spinning.swap(true, Ordering::AcqRel) {
                    let seen = self.arrived.load(Ordering::Acquire);
                    drop(state);
                    let spun = spin(LONGEST, || self.arrived.load(Ordering::Acquire) != seen);
                    self.spinning.store(false, Ordering::Release);
                    state = self.lock();
                    state.habit.note(spun);
                    continue;
                }
            }
            state = if state.jobs.waiting() == 0 {
                self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                let waited = self.work.wait_timeout(state, LOOK_AGAIN);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }

    /// Ends the job that `take` gave to a worker.
    pub fn complete(&self, worker: usize, completion: C) {
        let mut state = self.lock();
        state.jobs.done(worker, monotonic_ns());
        state.done.push_back(completion);
        self.finished.fetch_add(1, Ordering::Release);
        drop(state);
        self.done.notify_one();
    }

    /// Moves up to `most` completions that are there, or come while it spins, to `into`; gives how many.
    pub fn fetch_soon(&self, into: &mut Vec<C>, most: usize, longest: Duration) -> usize {
        loop {
            let mut state = self.lock();
            let seen = self.finished.load(Ordering::Acquire);
            let n = state.done.len().min(most);
            into.extend(state.done.drain(..n));
            drop(state);
            if n > 0 || spin(longest, || self.finished.load(Ordering::Acquire) != seen) != Spun::Ready {
                return n;
            }
        }
    }

    /// Waits until there is a completion, all are done after a close, or time is over; moves up to `most` to `into`.
    pub fn fetch(&self, into: &mut Vec<C>, most: usize, timeout: Duration) -> usize {
        let end = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            let n = state.done.len().min(most);
            if n > 0 {
                into.extend(state.done.drain(..n));
                return n;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || state.closed && state.jobs.waiting() == 0 && state.jobs.running() == 0 {
                return 0;
            }
            state = self
                .done
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Refuses new jobs; those that wait are still done.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.fetch_add(1, Ordering::Release);
        self.work.notify_all();
        self.done.notify_all();
    }

    /// Jobs that wait and jobs that run.
    pub fn load(&self) -> (usize, usize) {
        let state = self.lock();
        (state.jobs.waiting(), state.jobs.running())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const SOON: Duration = Duration::from_millis(1);
    const LATE: Duration = Duration::from_secs(10);
    const LINE: LineId = (0, 0);
    type Numbers = Queue<u32, char, u32>;

    #[test]
    fn submit_refuses_one_above_the_capacity_and_takes_again_below_it() {
        let q = Numbers::new(1, 2);
        assert_eq!((q.submit(LINE, 1), q.submit(LINE, 2)), (Ok(()), Ok(())));
        assert_eq!(q.submit(LINE, 3), Err((3, Refused::Full)));
        assert_eq!(q.take(0), Some(Work::Job(1)));
        assert_eq!(q.submit(LINE, 3), Ok(()));
        assert_eq!(q.load(), (2, 1));
    }

    #[test]
    fn unfetched_completions_end_in_refusal() {
        let q = Numbers::new(1, 2);
        let mut taken = 0;
        while q.submit(LINE, taken).is_ok() {
            assert_eq!(q.take(0), Some(Work::Job(taken)));
            q.complete(0, taken);
            taken += 1;
            assert!(taken < 100, "never refused");
        }
        assert_eq!(taken, 5);
        let mut all = Vec::new();
        assert_eq!(q.fetch(&mut all, 3, SOON), 3);
        assert_eq!(q.submit(LINE, 9), Ok(()));
        q.fetch(&mut all, 100, SOON);
        assert_eq!(all, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn orders_reach_every_worker_before_jobs() {
        let q = Numbers::new(2, 2);
        q.submit(LINE, 1).unwrap();
        q.order(&'a');
        assert_eq!(q.take(0), Some(Work::Order('a')));
        assert_eq!(q.take(1), Some(Work::Order('a')));
        assert_eq!(q.take(1), Some(Work::Job(1)));
    }

    #[test]
    fn close_ends_workers_and_fetchers_after_the_last_job() {
        let q = Arc::new(Numbers::new(2, 10));
        for i in 0..10 {
            q.submit(LINE, i).unwrap();
        }
        q.close();
        assert_eq!(q.submit(LINE, 11), Err((11, Refused::Closed)));
        let workers: Vec<_> = (0..2)
            .map(|w| {
                let q = q.clone();
                std::thread::spawn(move || {
                    while let Some(Work::Job(j)) = q.take(w) {
                        q.complete(w, j);
                    }
                })
            })
            .collect();
        let mut all = Vec::new();
        while q.fetch(&mut all, 3, LATE) > 0 {}
        workers.into_iter().for_each(|w| w.join().unwrap());
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(q.fetch(&mut all, 1, LATE), 0);
    }

    #[test]
    fn fetch_soon_takes_what_is_there_and_does_not_wait_long() {
        let q = Numbers::new(1, 4);
        let mut all = Vec::new();
        assert_eq!(q.fetch_soon(&mut all, 1, SOON), 0);
        for i in 0..2 {
            q.submit(LINE, i).unwrap();
            assert_eq!(q.take(0), Some(Work::Job(i)));
            q.complete(0, i);
        }
        assert_eq!(q.fetch_soon(&mut all, 1, SOON), 1);
        assert_eq!(q.fetch_soon(&mut all, 9, SOON), 1);
        assert_eq!(all, [0, 1]);
    }

    #[test]
    fn no_job_is_lost_between_a_spin_and_a_sleep() {
        // Gaps around the length of a spin, so that jobs meet workers that spin, give up and sleep.
        let q = Arc::new(Numbers::new(2, 4));
        let workers = [0, 1].map(|w| {
            let q = q.clone();
            std::thread::spawn(move || {
                while let Some(Work::Job(j)) = q.take(w) {
                    q.complete(w, j);
                }
            })
        });
        let mut all = Vec::new();
        for i in 0..3000u32 {
            q.submit(LINE, i).unwrap();
            if q.fetch_soon(&mut all, 1, SOON) == 0 {
                assert_eq!(q.fetch(&mut all, 1, LATE), 1);
            }
            let end = Instant::now() + LONGEST.mul_f64(f64::from(i % 7) / 5.0);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        }
        q.close();
        workers.into_iter().for_each(|w| w.join().unwrap());
        assert_eq!(all, (0..3000).collect::<Vec<_>>());
    }

    #[test]
    fn fetch_gives_up_when_time_is_over() {
        let q = Numbers::new(1, 1);
        assert_eq!(q.fetch(&mut Vec::new(), 1, SOON), 0);
    }
}
