//! What the host takes from the queue: completions, what requests said, and resets that came late.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Numbered, Queue, State};
use crate::wait::busy_poll::{Polled, busy_poll};

impl<J: Numbered, O: Clone, C, R> Queue<J, O, C, R> {
    /// Moves up to `most` completions that are there, or come while it busy-polls, to `into`; gives how many.
    pub fn fetch_soon(&self, into: &mut Vec<C>, most: usize, longest: Duration) -> usize {
        loop {
            let mut state = self.lock();
            let seen = self.finished.load(Ordering::Acquire);
            // Whoever takes completions alone would pass what was said before them by.
            if !state.said.is_empty() {
                return 0;
            }
            let n = state.drain(into, most);
            drop(state);
            if n > 0 || busy_poll(longest, || self.finished.load(Ordering::Acquire) != seen) != Polled::Ready
            {
                return n;
            }
        }
    }

    /// Waits until there is a completion, all are done after a close, or time is over; moves up to `most` to `into`.
    pub fn fetch(&self, into: &mut Vec<C>, most: usize, timeout: Duration) -> usize {
        self.fetch_by(timeout, |state| state.drain(into, most))
    }

    /// The same, or until a request said something: `said` gets the numbers. What a request said comes with its completion, or before it;
    /// other requests' completions do not wait for that. `most` is for both together.
    pub fn fetch_told(&self, said: &mut Vec<u64>, into: &mut Vec<C>, most: usize, timeout: Duration) -> usize
    where
        C: Numbered,
    {
        self.fetch_by(timeout, |state| state.drain_told(said, into, most))
    }

    fn fetch_by(&self, timeout: Duration, mut drain: impl FnMut(&mut State<J, O, C, R>) -> usize) -> usize {
        let end = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            let n = drain(&mut state);
            if n > 0 {
                return n;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || state.is_over() || std::mem::take(&mut state.recalled) {
                return 0;
            }
            state.fetching += 1;
            state = self
                .done
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            state.fetching -= 1;
        }
    }

    /// Lets the fetch that waits, or else the next one that would, return with nothing.
    pub fn recall(&self) {
        self.lock().recalled = true;
        self.done.notify_all();
    }

    /// Moves up to `most` resets that came after their completions were fetched to `into`; gives how many.
    pub fn take_resets(&self, into: &mut Vec<R>, most: usize) -> usize {
        let mut state = self.lock();
        let n = state.resets.len().min(most);
        into.extend(state.resets.drain(..n));
        n
    }
}
