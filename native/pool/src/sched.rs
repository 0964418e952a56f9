//! What the pool asks of the host's scheduler, behind one seam: [`Scheduler`]. What it asks by default is in `slice`; a benchmark
//! may leave parts of it out, or all, before it starts the first machine ([`choose_scheduling`]).

pub(crate) mod slice;

use std::fmt::Debug;
use std::sync::OnceLock;

use mayfly_vmm::thread_cpu_ns;
use slice::TimeSlice;

/// Told where a thread that runs machines may do something for other threads. Does nothing by default.
pub(crate) trait Scheduler: Debug + Sync {
    /// The calling thread begins to run machines.
    fn begin_thread(&self) {}

    /// The calling thread stopped its request for a moment, to check deadlines. True when the next check may come as late as one
    /// of a request that is known to compute.
    fn check(&self, _slice: &mut TimeSlice) -> bool {
        true
    }

    /// The calling thread's request is over, and its machine is clean.
    fn end_request(&self, _slice: &mut TimeSlice) {}

    /// Between two long pieces of work of the calling thread.
    fn pause(&self) {}
}

/// Which parts of the scheduling are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// Threads that run machines have longer time slices than others.
    pub slices: bool,
    /// Threads that compute sleep for a moment now and then.
    pub short_sleeps: bool,
}

impl Scheduling {
    /// All parts, as servers use them.
    pub const ALL: Scheduling = Scheduling {
        slices: true,
        short_sleeps: true,
    };
    /// No part.
    pub const NONE: Scheduling = Scheduling {
        slices: false,
        short_sleeps: false,
    };
}

impl Scheduler for Scheduling {
    fn begin_thread(&self) {
        if self.slices {
            slice::take_machine_slice();
        }
    }

    fn check(&self, slice: &mut TimeSlice) -> bool {
        slice.check(*self)
    }

    fn end_request(&self, slice: &mut TimeSlice) {
        slice.restore(*self);
    }

    fn pause(&self) {
        if self.short_sleeps {
            slice::short_sleep();
        }
    }
}

/// The scheduler that is asked for nothing.
#[derive(Debug)]
struct Nothing;

impl Scheduler for Nothing {}

static CHOSEN: OnceLock<&'static dyn Scheduler> = OnceLock::new();

/// Sets the scheduling of all machines of this process, for a benchmark that compares. False when it was set before.
pub fn choose_scheduling(parts: Scheduling) -> bool {
    let scheduler: &'static dyn Scheduler = match parts {
        Scheduling::NONE => &Nothing,
        parts => Box::leak(Box::new(parts)),
    };
    CHOSEN.set(scheduler).is_ok()
}

/// Short pieces of work, one after the other: none of them is stopped for its deadlines, where a long one pauses.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The thread's CPU time at the last pause.
    since: u64,
}

/// CPU time of pieces between two pauses, as of a request that computes.
const PIECES_NS: u64 = 2_000_000;

impl Pieces {
    /// The calling thread's, from now on.
    pub fn begin() -> Pieces {
        Pieces {
            since: thread_cpu_ns(),
        }
    }

    /// A piece of the calling thread is over; pauses where it and those before took long.
    pub fn end_piece(&mut self, scheduler: &dyn Scheduler) {
        let now = thread_cpu_ns();
        if now.saturating_sub(self.since) >= PIECES_NS {
            scheduler.pause();
            self.since = now;
        }
    }
}

/// What was chosen, or all of it.
pub(crate) fn scheduler() -> &'static dyn Scheduler {
    CHOSEN.get().copied().unwrap_or(&Scheduling::ALL)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Counts pauses, and does nothing else.
    #[derive(Debug, Default)]
    struct Counted(AtomicU64);

    impl Scheduler for Counted {
        fn pause(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn no_part_asks_for_nothing() {
        let mut slice = TimeSlice::default();
        for _ in 0..3 {
            assert!(Nothing.check(&mut slice));
        }
        assert!(matches!(slice, TimeSlice::Usual));
        Nothing.end_request(&mut slice);
        assert_eq!(
            scheduler().check(&mut slice),
            Scheduling::ALL.check(&mut TimeSlice::default())
        );
    }

    #[test]
    fn short_pieces_pause_once_they_took_long_together() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let compute = |ns: u64| {
                    let end = thread_cpu_ns() + ns;
                    while thread_cpu_ns() < end {}
                };
                let counted = Counted::default();
                let pauses = || counted.0.load(Ordering::Relaxed);
                let begin = thread_cpu_ns();
                let mut pieces = Pieces::begin();
                for _ in 0..55 {
                    compute(PIECES_NS / 10);
                    let before = pauses();
                    pieces.end_piece(&counted);
                    // On an emulated machine a piece may take longer than it was to.
                    let spent = thread_cpu_ns() - begin;
                    assert!(pauses() * PIECES_NS <= spent, "it pauses too soon");
                    assert!(pauses() <= before + 1);
                }
                assert!(pauses() >= 5, "{} pauses", pauses());
            });
        });
    }

    #[test]
    fn a_part_that_is_left_out_is_not_done() {
        let parts = Scheduling {
            short_sleeps: false,
            ..Scheduling::ALL
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let before = mayfly_vmm::thread_sleeps();
                parts.pause();
                assert_eq!(mayfly_vmm::thread_sleeps(), before, "it sleeps");
                Scheduling::ALL.pause();
                assert!(mayfly_vmm::thread_sleeps() > before, "it does not sleep");
            });
        });
    }
}
