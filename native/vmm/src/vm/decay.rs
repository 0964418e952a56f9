//! Which pages of a working set requests still write: a machine that met a heavy request now and then must not copy its pages
//! back after every small one.
//!
//! Once in many resets the pages are compared with the snapshot before they are copied. Those that no look of a round saw changed
//! are given back, if it pays: the next write faults once more. If they come back, rounds become longer, so that a mixed load
//! pays next to nothing for being tried.

use crate::dirty::{Run, push_run};
use crate::layout::PAGE;
use crate::space::FrameSet;

/// Resets between two looks, at first.
const LOOK_EVERY: u32 = 128;
/// Looks of a round.
const LOOKS: u32 = 8;
/// Fewer idle pages than this are kept.
const LEAST: u64 = 16;
/// Idle pages are given back when they are at least this part of the working set.
const PART: u64 = 4;
/// How often the time between looks may double.
const DOUBLED_MAX: u32 = 6;

/// The looks at one fork's working set.
#[derive(Debug)]
pub(super) struct Decay {
    /// Resets until the next look.
    wait: u32,
    looks: u32,
    /// Pages that a look of this round saw changed.
    changed: FrameSet,
    /// Pages given back at the end of the last round, and pages that were left.
    given: u64,
    left: u64,
    doubled: u32,
}

impl Decay {
    pub fn new() -> Decay {
        Decay {
            wait: LOOK_EVERY,
            looks: 0,
            changed: FrameSet::default(),
            given: 0,
            left: 0,
            doubled: 0,
        }
    }

    /// Counts a reset; true when it is to call [`Decay::look`].
    pub fn is_due(&mut self) -> bool {
        self.wait = self.wait.saturating_sub(1);
        self.wait == 0
    }

    /// Looks at all pages of the working set. At the end of a round that found enough of them idle: those.
    pub fn look(&mut self, working: &[Run], is_changed: impl Fn(u64) -> bool) -> Vec<Run> {
        for page in pages(working) {
            if !self.changed.contains(page) && is_changed(page) {
                self.changed.insert(page);
            }
        }
        self.looks += 1;
        let idle = if self.looks == LOOKS {
            self.end_round(working)
        } else {
            Vec::new()
        };
        self.wait = LOOK_EVERY << self.doubled;
        idle
    }

    fn end_round(&mut self, working: &[Run]) -> Vec<Run> {
        let all = pages(working).count() as u64;
        if self.given > 0 {
            let came_back = all >= self.left + self.given / 2;
            self.doubled = match came_back {
                true => (self.doubled + 1).min(DOUBLED_MAX),
                false => 0,
            };
        }
        let mut idle = Vec::new();
        for page in pages(working).filter(|p| !self.changed.contains(*p)) {
            push_run(&mut idle, page, PAGE);
        }
        let count = pages(&idle).count() as u64;
        if count < LEAST || count * PART < all {
            idle.clear();
        }
        self.given = if idle.is_empty() { 0 } else { count };
        self.left = all - self.given;
        self.looks = 0;
        self.changed = FrameSet::default();
        idle
    }
}

/// The pages of runs.
pub(super) fn pages(runs: &[Run]) -> impl Iterator<Item = u64> {
    runs.iter()
        .flat_map(|run| (run.start..run.start + run.length).step_by(PAGE as usize))
}

/// Sorted runs without the pages of other sorted runs.
pub(super) fn without(runs: &[Run], left_out: &[Run]) -> Vec<Run> {
    let mut out = FrameSet::default();
    for page in pages(left_out) {
        out.insert(page);
    }
    let mut rest = Vec::new();
    for page in pages(runs).filter(|p| !out.contains(*p)) {
        push_run(&mut rest, page, PAGE);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: u32 = LOOK_EVERY * LOOKS;

    fn run(first: u64, count: u64) -> Run {
        Run {
            start: first * PAGE,
            length: count * PAGE,
        }
    }

    /// A fork whose requests write pages below `small`, and every `period`th those below `large`; gives for each time that pages
    /// were given back the number of the reset and how many.
    fn serve(resets: u32, small: u64, large: u64, period: u32) -> Vec<(u32, u64)> {
        let mut decay = Decay::new();
        let (mut working, mut given) = (vec![run(0, large)], Vec::new());
        for reset in 1..=resets {
            let heavy = reset % period == 0;
            if heavy {
                working = vec![run(0, large)];
            }
            if decay.is_due() {
                let written = if heavy { large } else { small };
                let idle = decay.look(&working, |page| page < written * PAGE);
                if !idle.is_empty() {
                    given.push((reset, pages(&idle).count() as u64));
                    working = without(&working, &idle);
                }
            }
        }
        given
    }

    #[test]
    fn pages_of_one_heavy_request_are_given_back_after_a_round() {
        assert_eq!(serve(20 * ROUND, 50, 110, u32::MAX), [(ROUND, 60)]);
    }

    #[test]
    fn pages_that_are_in_use_or_few_are_kept() {
        assert_eq!(serve(20 * ROUND, 110, 110, u32::MAX), []);
        assert_eq!(serve(20 * ROUND, 50, 50 + LEAST - 1, u32::MAX), []);
        assert_eq!(serve(20 * ROUND, 300, 380, u32::MAX), []);
        assert_eq!(serve(20 * ROUND, 300, 400, u32::MAX), [(ROUND, 100)]);
        // Every other request is heavy, and so is every look.
        assert_eq!(serve(20 * ROUND, 50, 110, 2), []);
    }

    #[test]
    fn pages_that_keep_coming_back_are_tried_ever_more_seldom() {
        // No look ever meets the heavy request.
        let given = serve(400 * ROUND, 50, 110, 1001);
        assert!(given.len() < 15, "{given:?}");
        let gaps: Vec<u32> = given.windows(2).map(|w| w[1].0 - w[0].0).collect();
        assert!(gaps.is_sorted() && gaps.last() > Some(&(60 * ROUND)), "{gaps:?}");
    }

    #[test]
    fn runs_are_taken_out_of_runs() {
        let rest = without(&[run(0, 4), run(10, 3)], &[run(1, 2), run(12, 1)]);
        assert_eq!(rest, [run(0, 1), run(3, 1), run(10, 2)]);
    }
}
