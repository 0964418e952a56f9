//! Jobs that a worker puts aside and takes again: those that wait for the host, and those that give way to another flow.

use std::sync::atomic::Ordering;

use mayfly_vmm::monotonic_ns;

use super::flows::FlowId;
use super::{At, Numbered, Parking, Queue};
use crate::outcome::Bound;
use crate::wait::event::Pause;

impl<J: Numbered, O: Clone, C, R> Queue<J, O, C, R> {
    /// Bounds requests that have a channel, from now on.
    pub fn limit_parking(&self, limits: Parking) {
        self.lock().parked.set_limits(limits);
    }

    /// Puts the job that `take` gave to a worker aside, until `wake` at the latest: the worker is free, and takes it again
    /// as [`Work::Parked`]. `held`: bytes that its machine has for itself alone.
    ///
    /// # Errors
    /// The bound over which they are: the worker has the job still.
    pub fn park(&self, worker: usize, number: u64, wake: u64, held: u64) -> Result<(), Bound> {
        let mut state = self.lock();
        let flow = state.jobs.flow_of(worker);
        if let Some(bound) = flow.and_then(|flow| state.parked.over(flow, held)) {
            return Err(bound);
        }
        state.at[worker] = At::Rest;
        let total = state.jobs.park(worker, monotonic_ns());
        if let Some(flow) = flow {
            state.parked.park(number, worker, flow, wake, total, held);
        }
        self.wake_able(state);
        Ok(())
    }

    /// The worker made a machine for the job that `take` gave to it.
    pub fn begin_anew(&self, worker: usize) {
        self.lock().jobs.begin_anew(worker, monotonic_ns());
    }

    /// Whether what a worker runs is to give way to something that waits.
    pub fn is_wanted(&self, worker: usize, at: Pause) -> bool {
        let state = self.lock();
        let now = monotonic_ns();
        !state.closed
            && match at {
                Pause::Slice => state.jobs.is_wanted(worker, now),
                Pause::Wait => state.jobs.is_wanted_at_wait(worker, now),
            }
    }

    /// The job that `take` gave to a worker gives way: the worker takes it again, as [`Work::Parked`], in its flow's turn.
    pub fn give_way(&self, worker: usize, number: u64) {
        let mut state = self.lock();
        state.at[worker] = At::Rest;
        if let Some(flow) = state.jobs.flow_of(worker) {
            state.parked.set_aside(number, worker, flow);
        }
        state.jobs.give_way(worker, number, monotonic_ns());
        self.wake_able(state);
    }

    /// Counts the job that `take` gave to a worker as one with a channel.
    ///
    /// # Errors
    /// The bound over which one more is.
    pub fn open(&self, number: u64, flow: FlowId) -> Result<(), Bound> {
        let mut state = self.lock();
        if let Some(bound) = state.parked.full(flow) {
            return Err(bound);
        }
        state.parked.open(number, flow);
        Ok(())
    }

    /// Lets a parked request go on; does nothing to another.
    pub fn go_on(&self, number: u64) {
        let mut state = self.lock();
        let Some(worker) = state.go_on(number) else {
            return;
        };
        self.arrived.fetch_add(1, Ordering::Release);
        let wakes = state.rouse(worker);
        drop(state);
        if wakes {
            self.work[worker].notify_one();
        }
    }

    /// Bytes that the machines of requests that wait for the host have for themselves alone.
    pub fn parked_bytes(&self) -> u64 {
        self.lock().parked.bytes()
    }

    /// Numbers of the requests that are parked.
    pub fn parked(&self) -> Vec<u64> {
        self.lock().parked.numbers()
    }

    /// Forgets the parked requests of a worker that is gone, and gives their numbers: [`Queue::lose`] tells of each.
    pub fn take_parked(&self, worker: usize) -> Vec<u64> {
        let mut state = self.lock();
        state.jobs.forget_parked(worker);
        state.parked.lose(worker)
    }
}
