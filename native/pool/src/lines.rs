//! Whose job is next. Each handler's jobs wait in a line of their own, and the lines are served in turn:
//!
//! ```text
//! a: 1 2 3 4 5      turn: a b c      order: 1 6 7 2 8 3 4 5
//! b: 6 8
//! c: 7
//! ```
//! - A line whose requests are slow may not hold every worker while others are about: one that held them all for a time `t` does
//!   not do so again for [`FORGET`] `t`, so at most one moment in that many is lost to others, and their 99th percentile does not
//!   see it. A line that is alone, or whose requests are brief, may hold them all.
//! - A line may hold [`SHARE`] times as many places as are free, so a flood leaves some to others (dynamic thresholds: Choudhury
//!   and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A line that is alone may fill them all.

use std::collections::{BTreeMap, VecDeque};

/// Whose jobs: a program, and a number of the submitter's within it.
pub(crate) type LineId = (u64, u32);

/// A request that runs longer than this is slow, in nanoseconds.
pub(crate) const BRIEF: u64 = 2_000_000;
/// A line counts as slow for this many times as long as its slow request ran.
pub(crate) const FORGET: u64 = 200;
/// Places that a line may hold for each that is free.
pub(crate) const SHARE: usize = 4;
/// A line is about for so long after its last job came, in nanoseconds.
pub(crate) const ABOUT: u64 = 10_000_000_000;
/// Lines that are kept before those of long ago are looked for.
const LINES_KEPT: usize = 64;

#[derive(Debug)]
struct Line<J> {
    jobs: VecDeque<J>,
    running: usize,
    /// When its last job came.
    came: u64,
    slow_until: u64,
}

/// Jobs that wait, and who runs what. Times are monotonic nanoseconds.
#[derive(Debug)]
pub(crate) struct Lines<J> {
    lines: BTreeMap<LineId, Line<J>>,
    /// Lines with jobs, the next one first.
    turn: VecDeque<LineId>,
    waiting: usize,
    /// What each worker runs, and since when.
    workers: Vec<Option<(LineId, u64)>>,
    capacity: usize,
}

impl<J> Lines<J> {
    pub fn new(workers: usize, capacity: usize) -> Self {
        Lines {
            lines: BTreeMap::new(),
            turn: VecDeque::new(),
            waiting: 0,
            workers: vec![None; workers],
            capacity,
        }
    }

    /// Jobs that wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Jobs that run.
    pub fn running(&self) -> usize {
        self.workers.iter().flatten().count()
    }

    /// Adds a job, or gives it back for want of a place. `lost` places are taken by something else.
    pub fn add(&mut self, id: LineId, job: J, lost: usize, now: u64) -> Result<(), J> {
        let free = self.capacity.saturating_sub(self.waiting + lost);
        let own = self.lines.get(&id).map_or(0, |line| line.jobs.len());
        if free == 0 || own >= SHARE * free && self.has_rivals(id, now) {
            return Err(job);
        }
        if self.lines.len() >= LINES_KEPT && !self.lines.contains_key(&id) {
            self.lines
                .retain(|_, line| line.is_about(now) || now < line.slow_until);
        }
        let line = self.lines.entry(id).or_insert_with(|| Line {
            jobs: VecDeque::new(),
            running: 0,
            came: now,
            slow_until: 0,
        });
        if line.jobs.is_empty() {
            self.turn.push_back(id);
        }
        line.came = now;
        line.jobs.push_back(job);
        self.waiting += 1;
        Ok(())
    }

    /// The job that a worker is to run, if one may. With `all`, whatever its line did.
    pub fn next(&mut self, worker: usize, all: bool, now: u64) -> Option<J> {
        let at = (0..self.turn.len()).find(|at| all || self.may_run(self.turn[*at], now))?;
        let id = self.turn.remove(at)?;
        let line = self.lines.get_mut(&id)?;
        let job = line.jobs.pop_front()?;
        if !line.jobs.is_empty() {
            self.turn.push_back(id);
        }
        line.running += 1;
        self.waiting -= 1;
        self.workers[worker] = Some((id, now));
        Some(job)
    }

    /// A worker is done with its job.
    pub fn done(&mut self, worker: usize, now: u64) {
        let Some((id, since)) = self.workers[worker].take() else {
            return;
        };
        let Some(line) = self.lines.get_mut(&id) else {
            return;
        };
        line.running -= 1;
        let ran = now.saturating_sub(since);
        if ran > BRIEF {
            line.slow_until = line
                .slow_until
                .max(now.saturating_add(ran.saturating_mul(FORGET)));
        }
    }

    /// Whether another job of this line may take a free worker.
    fn may_run(&self, id: LineId, now: u64) -> bool {
        let Some(line) = self.lines.get(&id) else {
            return false;
        };
        let takes_last = line.running > 0 && line.running + 1 >= self.workers.len();
        !(takes_last && self.is_slow(id, line, now) && self.has_rivals(id, now))
    }

    fn is_slow(&self, id: LineId, line: &Line<J>, now: u64) -> bool {
        let runs_long = |(of, since): &(LineId, u64)| *of == id && now.saturating_sub(*since) > BRIEF;
        now < line.slow_until || self.workers.iter().flatten().any(runs_long)
    }

    fn has_rivals(&self, id: LineId, now: u64) -> bool {
        self.lines
            .iter()
            .any(|(other, line)| *other != id && line.is_about(now))
    }
}

impl<J> Line<J> {
    fn is_about(&self, now: u64) -> bool {
        self.running > 0 || !self.jobs.is_empty() || now.saturating_sub(self.came) < ABOUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LineId = (1, 0);
    const B: LineId = (1, 1);
    const C: LineId = (2, 0);

    fn order(lines: &mut Lines<u32>, worker: usize, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| {
            let job = lines.next(worker, false, now)?;
            lines.done(worker, now);
            Some(job)
        })
        .collect()
    }

    #[test]
    fn lines_are_served_in_turn_and_each_in_its_order() {
        let mut lines = Lines::new(1, 100);
        for (id, job) in [(A, 1), (A, 2), (A, 3), (A, 4), (A, 5), (B, 6), (C, 7), (B, 8)] {
            lines.add(id, job, 0, 0).unwrap();
        }
        assert_eq!(order(&mut lines, 0, 0), [1, 6, 7, 2, 8, 3, 4, 5]);
    }

    #[test]
    fn a_line_that_is_alone_may_fill_all_places_and_hold_all_workers() {
        let mut lines = Lines::new(2, 100);
        let mut now = 0;
        for job in 0..100 {
            lines.add(A, job, 0, now).unwrap();
        }
        assert_eq!(lines.add(A, 100, 0, now), Err(100));
        for _ in 0..10 {
            assert!(lines.next(0, false, now).is_some() && lines.next(1, false, now).is_some());
            now += 5 * BRIEF;
            lines.done(0, now);
            lines.done(1, now);
        }
    }

    #[test]
    fn a_flood_leaves_places_to_others() {
        let mut lines = Lines::new(2, 100);
        lines.add(B, 0, 0, 0).unwrap();
        let taken = (0..200).filter(|job| lines.add(A, *job, 0, 0).is_ok()).count();
        assert_eq!(taken, 80);
        for id in [B, C] {
            lines.add(id, 0, 0, 0).unwrap();
        }
        // Places that something else takes are not free.
        assert_eq!(lines.add(B, 0, 17, 0), Err(0));
        assert_eq!(lines.add(B, 0, 16, 0), Ok(()));
    }

    #[test]
    fn a_slow_line_leaves_one_worker_while_others_are_about() {
        let mut lines = Lines::new(2, 100);
        for job in 0..9 {
            lines.add(A, job, 0, 0).unwrap();
        }
        lines.add(B, 100, 0, 0).unwrap();
        assert_eq!(lines.next(0, false, 0), Some(0));
        assert_eq!(lines.next(1, false, 0), Some(100));
        lines.done(1, BRIEF);
        // Still brief at the limit, slow one above it.
        assert!(lines.may_run(A, BRIEF) && !lines.may_run(A, BRIEF + 1));
        assert_eq!(lines.next(1, false, BRIEF + 1), None);
        lines.add(B, 101, 0, BRIEF + 2).unwrap();
        assert_eq!(lines.next(1, false, BRIEF + 3), Some(101));
        lines.done(1, BRIEF + 4);
        // With all of them, as when the queue is closed.
        assert_eq!(lines.next(1, true, BRIEF + 5), Some(1));
        lines.done(0, BRIEF + 10);
        lines.done(1, BRIEF + 10);
        // Slow for as long as it is remembered, then not; alone before that.
        let until = BRIEF + 10 + FORGET * (BRIEF + 10);
        assert_eq!(lines.next(0, false, BRIEF + 11), Some(2));
        assert!(!lines.may_run(A, BRIEF + 12));
        lines.done(0, BRIEF + 12);
        lines.add(B, 102, 0, until - 1).unwrap();
        assert_eq!(lines.next(0, false, until - 2), Some(3));
        assert!(!lines.may_run(A, until - 1) && lines.may_run(A, until));
    }

    #[test]
    fn one_worker_serves_slow_lines_too() {
        let mut lines = Lines::new(1, 10);
        lines.add(A, 1, 0, 0).unwrap();
        lines.add(A, 2, 0, 0).unwrap();
        lines.add(B, 3, 0, 0).unwrap();
        assert_eq!(lines.next(0, false, 0), Some(1));
        lines.done(0, 5 * BRIEF);
        assert_eq!(order(&mut lines, 0, 5 * BRIEF), [3, 2]);
    }

    /// Random jobs, workers and times against a list that knows all.
    #[test]
    fn every_job_is_run_once_in_turn_and_slow_lines_never_hold_all_workers() {
        let mut state = 88_172_645_463_325_252u64;
        let mut random = |end: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % end
        };
        for _ in 0..200 {
            let (workers, capacity) = (1 + random(4) as usize, 1 + random(30) as usize);
            let mut lines = Lines::new(workers, capacity);
            let mut busy: Vec<Option<LineId>> = vec![None; workers];
            let mut queued: BTreeMap<LineId, VecDeque<u32>> = BTreeMap::new();
            // How often a line with a job was passed over for each other line.
            let mut passed: BTreeMap<(LineId, LineId), u32> = BTreeMap::new();
            let (mut now, mut job) = (0, 0);
            for _ in 0..600 {
                now += match random(40) {
                    0..25 => 0,
                    25..33 => BRIEF / 3,
                    33..39 => 2 * BRIEF,
                    _ => ABOUT,
                };
                let id = (random(2), random(3) as u32);
                if random(2) == 0 {
                    job += 1;
                    let waiting: usize = queued.values().map(VecDeque::len).sum();
                    let own = queued.entry(id).or_default();
                    match lines.add(id, job, 0, now) {
                        Ok(()) => own.push_back(job),
                        Err(_) => assert!(waiting == capacity || own.len() >= SHARE * (capacity - waiting)),
                    }
                }
                let worker = random(workers as u64) as usize;
                if busy[worker].take().is_some() {
                    lines.done(worker, now);
                    continue;
                }
                let allowed: Vec<LineId> = queued
                    .iter()
                    .filter(|(id, jobs)| !jobs.is_empty() && lines.may_run(**id, now))
                    .map(|(id, _)| *id)
                    .collect();
                let Some(given) = lines.next(worker, false, now) else {
                    assert!(allowed.is_empty());
                    continue;
                };
                let of = *queued
                    .iter()
                    .find(|(_, jobs)| jobs.front() == Some(&given))
                    .expect("the first of its line")
                    .0;
                queued.get_mut(&of).unwrap().pop_front();
                passed.retain(|(loser, _), _| *loser != of);
                for loser in allowed.iter().filter(|id| **id != of) {
                    let times = passed.entry((*loser, of)).or_default();
                    *times += 1;
                    assert!(*times <= 1, "{loser:?} waits while {of:?} is served twice");
                }
                passed.retain(|(loser, _), _| allowed.contains(loser));
                busy[worker] = Some(of);
                let others = busy.iter().flatten().any(|id| *id != of)
                    || queued.iter().any(|(id, jobs)| *id != of && !jobs.is_empty());
                let all = busy.iter().all(|b| *b == Some(of));
                let slow = lines.lines[&of].slow_until > now;
                assert!(
                    !(workers > 1 && all && slow && others),
                    "a slow line holds all workers"
                );
                let waiting: usize = queued.values().map(VecDeque::len).sum();
                assert_eq!(
                    (lines.waiting(), lines.running()),
                    (waiting, busy.iter().flatten().count())
                );
            }
        }
    }
}
