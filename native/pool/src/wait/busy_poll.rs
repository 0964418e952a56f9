//! Waiting without sleep for what is about to happen. To wake a thread whose CPU has gone idle costs 10 to 30 us and what its
//! caches held (most of all inside of a virtual machine, where idling leaves it): as much as a short request.
//!
//! Who waits busy-polls only where the last wait was short, and only while nobody else wants the CPU: an idle pool sleeps, and so does
//! a busy machine.

use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Longest busy-poll of a worker. A client that asks again at once is back within it.
pub(crate) const LONGEST: Duration = Duration::from_micros(250);
/// A yield that takes longer gave the CPU to somebody.
const YIELD: Duration = Duration::from_micros(10);
/// Such yields in one busy-poll, above which the CPU is wanted elsewhere. Those whom a completion wakes take two or three.
const GIVEN: u32 = 3;
/// Waits without a busy-poll after that: the most, and the fewest. Each crowd in a row doubles them.
const REST: u16 = 512;
const PAUSE: u16 = 4;

/// What became of a busy-poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    /// It came.
    Ready,
    /// It did not come in time.
    Late,
    /// Somebody else wants the CPU.
    Crowded,
}

/// Whether the next wait is worth a busy-poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Habit {
    /// The last wait was short.
    short: bool,
    /// Waits until the next busy-poll, after a crowd.
    rest: u16,
    /// The same after the next crowd.
    pause: u16,
}

impl Default for Habit {
    fn default() -> Habit {
        Habit {
            short: false,
            rest: 0,
            pause: PAUSE,
        }
    }
}

impl Habit {
    /// Whether to busy-poll now.
    pub fn wants(self) -> bool {
        self.short && self.rest == 0
    }

    /// Hears how a busy-poll went, if there was one.
    pub fn note(&mut self, polled: Polled) {
        if polled == Polled::Crowded {
            self.rest = self.pause;
            self.pause = REST.min(self.pause * 2);
        } else {
            self.pause = PAUSE.max(self.pause / 2);
        }
    }

    /// Hears how long a whole wait was.
    pub fn learn(&mut self, waited: Duration) {
        self.short = waited <= LONGEST;
        self.rest = self.rest.saturating_sub(1);
    }
}

/// Spins until `is_ready` says so.
pub(crate) fn busy_poll(longest: Duration, is_ready: impl Fn() -> bool) -> Polled {
    let begin = Instant::now();
    let (mut last, mut given) = (begin, 0);
    loop {
        if is_ready() {
            return Polled::Ready;
        }
        yield_now();
        let now = Instant::now();
        given += u32::from(now - last > YIELD);
        if given > GIVEN {
            return Polled::Crowded;
        }
        if now - begin > longest {
            return Polled::Late;
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_habit_follows_short_waits_and_rests_after_a_crowd() {
        let mut habit = Habit::default();
        assert!(!habit.wants());
        habit.learn(LONGEST);
        assert!(habit.wants());
        habit.note(Polled::Late);
        assert!(habit.wants());
        habit.learn(LONGEST + Duration::from_nanos(1));
        assert!(!habit.wants());
        let rest = |habit: &mut Habit| {
            habit.note(Polled::Crowded);
            let mut waits = 0;
            while !habit.wants() {
                habit.learn(Duration::ZERO);
                waits += 1;
            }
            waits
        };
        let rests: Vec<_> = (0..9).map(|_| rest(&mut habit)).collect();
        assert_eq!(rests, [4, 8, 16, 32, 64, 128, 256, 512, 512]);
        habit.note(Polled::Ready);
        assert_eq!(rest(&mut habit), 256);
        (0..9).for_each(|_| habit.note(Polled::Late));
        assert_eq!(rest(&mut habit), 4);
    }

    #[test]
    fn a_spin_ends_with_or_without_what_it_waits_for() {
        assert_eq!(busy_poll(Duration::ZERO, || true), Polled::Ready);
        assert_ne!(busy_poll(LONGEST, || false), Polled::Ready);
    }
}
