//! How often a worker may crash and be followed at once. What a crashed thread had on its stack is lost (some 50 KiB of heap for a
//! small program), and whoever found a bug that crashes a worker can ask for it again: so a few crashes cost nothing, and many come
//! at most one in a [`PERIOD`].

use std::time::{Duration, Instant};

/// A worker's crashes are this far apart in the long run.
const PERIOD: Duration = Duration::from_secs(1);
/// Crashes that may come at any distance.
const BURST: u32 = 32;

/// The crashes of one worker: the "generic cell rate algorithm" (ITU-T I.371).
#[derive(Debug, Default)]
pub(crate) struct RestartBudget {
    /// When all crashes are forgotten.
    settled: Option<Instant>,
}

impl RestartBudget {
    /// Counts a crash; gives the pause before the next thread.
    pub fn take(&mut self, now: Instant) -> Duration {
        let from = self.settled.map_or(now, |settled| settled.max(now));
        let settled = from + PERIOD;
        self.settled = Some(settled);
        settled
            .saturating_duration_since(now)
            .saturating_sub(PERIOD * BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_one_in_a_period() {
        let (mut budget, mut now) = (RestartBudget::default(), Instant::now());
        for _ in 0..BURST {
            assert_eq!(budget.take(now), Duration::ZERO);
        }
        let begin = now;
        for _ in 0..100 {
            now += budget.take(now);
        }
        assert_eq!(now - begin, PERIOD * 100);
        // Forgotten one by one, and no more than all of them.
        now += PERIOD * 3;
        for _ in 0..3 {
            assert_eq!(budget.take(now), Duration::ZERO);
        }
        assert_eq!(budget.take(now), PERIOD);
        now += PERIOD * 1000;
        for _ in 0..BURST {
            assert_eq!(budget.take(now), Duration::ZERO);
        }
        assert_eq!(budget.take(now), PERIOD);
    }

    #[test]
    fn crashes_that_are_a_period_apart_never_wait() {
        let (mut budget, mut now) = (RestartBudget::default(), Instant::now());
        for _ in 0..1000 {
            assert_eq!(budget.take(now), Duration::ZERO);
            now += PERIOD;
        }
    }
}
