//! Whose job is next. Each handler's jobs are a flow of their own, and the flows are served in turn:
//!
//! ```text
//! a: 1 2 3 4 5      next: a b c      order: 1 6 7 2 8 3 4 5
//! b: 6 8
//! c: 7
//! ```
//! - A job brings its flow's weight, and a flow of weight `w` has `w` turns in a row: in the drawing `a` of weight 2 is served 1 2 6 7 3 4 8 5.
//! - A flow whose requests are slow may not hold every worker while others are about: one that held them all for a time `t` does
//!   not do so again for [`FORGET`] `t`, so at most one moment in that many is lost to others, and their 99th percentile does not
//!   see it. A flow that is alone, or whose requests are brief, may hold them all.
//! - A flow may hold [`SHARE`] times as many places as are free, so a flood leaves some to others (dynamic thresholds: Choudhury
//!   and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A flow that is alone may fill them all.

use std::collections::{BTreeMap, VecDeque};

use mayfly_abi::limits::WEIGHT_MAX;

/// Whose jobs: a program, and a number of the submitter's within it.
pub(crate) type FlowId = (u64, u32);

/// A request that runs longer than this is slow, in nanoseconds.
pub(crate) const BRIEF: u64 = 2_000_000;
/// A flow counts as slow for this many times as long as its slow request ran.
pub(crate) const FORGET: u64 = 200;
/// Places that a flow may hold for each that is free.
pub(crate) const SHARE: usize = 4;
/// A flow is about for so long after its last job came, in nanoseconds.
pub(crate) const ABOUT: u64 = 10_000_000_000;
/// Flows that are kept before those of long ago are looked for.
const FLOWS_KEPT: usize = 64;

#[derive(Debug)]
struct Flow<J> {
    jobs: VecDeque<J>,
    /// Parked requests that go on, by the worker that has their machines.
    parked: BTreeMap<usize, VecDeque<u64>>,
    running: usize,
    /// Turns in a row, as its last job said.
    weight: u32,
    /// Those of them that it has had.
    turns: u32,
    /// When its last job came.
    came: u64,
    slow_until: u64,
}

/// What a worker is to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<J> {
    /// A job.
    Job(J),
    /// The parked request of this number, whose machine is the worker's.
    Parked(u64),
}

/// Jobs that wait, and who runs what. Times are monotonic nanoseconds.
#[derive(Debug)]
pub(crate) struct Flows<J> {
    flows: BTreeMap<FlowId, Flow<J>>,
    /// Flows with jobs, the next one first.
    turn: VecDeque<FlowId>,
    waiting: usize,
    /// What each worker runs, and since when.
    workers: Vec<Option<(FlowId, u64)>>,
    capacity: usize,
}

impl<J> Flows<J> {
    pub fn new(workers: usize, capacity: usize) -> Self {
        Flows {
            flows: BTreeMap::new(),
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

    /// Adds a job, or gives it back for want of a place. `weight` is its flow's from now on, 1 to [`WEIGHT_MAX`]; `lost` places are taken
    /// by something else.
    pub fn add(&mut self, id: FlowId, weight: u32, job: J, lost: usize, now: u64) -> Result<(), J> {
        let free = self.capacity.saturating_sub(self.waiting + lost);
        let own = self.flows.get(&id).map_or(0, |flow| flow.jobs.len());
        if free == 0 || own >= SHARE * free && self.has_rivals(id, now) {
            return Err(job);
        }
        if self.flows.len() >= FLOWS_KEPT && !self.flows.contains_key(&id) {
            self.flows
                .retain(|_, flow| flow.is_about(now) || now < flow.slow_until);
        }
        let flow = self.flows.entry(id).or_insert_with(|| Flow::new(now));
        if !flow.has_turn() {
            self.turn.push_back(id);
        }
        flow.came = now;
        flow.weight = weight.clamp(1, WEIGHT_MAX);
        flow.jobs.push_back(job);
        self.waiting += 1;
        Ok(())
    }

    /// A parked request of a worker may go on when it is its flow's turn.
    pub fn go_on(&mut self, id: FlowId, worker: usize, number: u64, now: u64) {
        let flow = self.flows.entry(id).or_insert_with(|| Flow::new(now));
        if !flow.has_turn() {
            self.turn.push_back(id);
        }
        flow.parked.entry(worker).or_default().push_back(number);
    }

    /// Forgets what a worker's parked requests wait for.
    pub fn forget_parked(&mut self, worker: usize) {
        for flow in self.flows.values_mut() {
            flow.parked.remove(&worker);
        }
        let flows = &self.flows;
        self.turn.retain(|id| flows.get(id).is_some_and(Flow::has_turn));
    }

    /// What a worker is to run, if there is something that may. With `all`, whatever its flow did. A flow's parked requests go first:
    /// they began before its jobs.
    pub fn next(&mut self, worker: usize, all: bool, now: u64) -> Option<Next<J>> {
        let has_work = |id: FlowId| self.flows.get(&id).is_some_and(|flow| flow.has_work(worker));
        let at = (0..self.turn.len())
            .find(|at| has_work(self.turn[*at]) && (all || self.may_run(self.turn[*at], now)))?;
        let id = self.turn.remove(at)?;
        let flow = self.flows.get_mut(&id)?;
        let next = match flow.take_parked(worker) {
            Some(number) => Next::Parked(number),
            None => {
                self.waiting -= 1;
                Next::Job(flow.jobs.pop_front()?)
            }
        };
        flow.turns += 1;
        let goes_on = flow.turns < flow.weight;
        if !flow.has_turn() || !goes_on {
            flow.turns = 0;
        }
        if flow.has_turn() {
            match goes_on {
                true => self.turn.push_front(id),
                false => self.turn.push_back(id),
            }
        }
        flow.running += 1;
        self.workers[worker] = Some((id, now));
        Some(next)
    }

    /// Whether something waits that this worker may run now or later.
    pub fn has_work(&self, worker: usize) -> bool {
        self.waiting > 0 || self.flows.values().any(|flow| flow.parked.contains_key(&worker))
    }

    /// The flow of what a worker runs.
    pub fn flow_of(&self, worker: usize) -> Option<FlowId> {
        self.workers[worker].map(|(id, _)| id)
    }

    /// A worker is done with its job.
    pub fn done(&mut self, worker: usize, now: u64) {
        let Some((id, since)) = self.workers[worker].take() else {
            return;
        };
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        flow.running -= 1;
        let ran = now.saturating_sub(since);
        if ran > BRIEF {
            flow.slow_until = flow
                .slow_until
                .max(now.saturating_add(ran.saturating_mul(FORGET)));
        }
    }

    /// Whether another job of this flow may take a free worker.
    fn may_run(&self, id: FlowId, now: u64) -> bool {
        let Some(flow) = self.flows.get(&id) else {
            return false;
        };
        let takes_last = flow.running > 0 && flow.running + 1 >= self.workers.len();
        !(takes_last && self.is_slow(id, flow, now) && self.has_rivals(id, now))
    }

    fn is_slow(&self, id: FlowId, flow: &Flow<J>, now: u64) -> bool {
        let runs_long = |(of, since): &(FlowId, u64)| *of == id && now.saturating_sub(*since) > BRIEF;
        now < flow.slow_until || self.workers.iter().flatten().any(runs_long)
    }

    fn has_rivals(&self, id: FlowId, now: u64) -> bool {
        self.flows
            .iter()
            .any(|(other, flow)| *other != id && flow.is_about(now))
    }
}

impl<J> Flow<J> {
    fn new(now: u64) -> Flow<J> {
        Flow {
            jobs: VecDeque::new(),
            parked: BTreeMap::new(),
            running: 0,
            weight: 1,
            turns: 0,
            came: now,
            slow_until: 0,
        }
    }

    fn has_turn(&self) -> bool {
        !self.jobs.is_empty() || !self.parked.is_empty()
    }

    fn has_work(&self, worker: usize) -> bool {
        !self.jobs.is_empty() || self.parked.contains_key(&worker)
    }

    fn take_parked(&mut self, worker: usize) -> Option<u64> {
        let parked = self.parked.get_mut(&worker)?;
        let number = parked.pop_front();
        if parked.is_empty() {
            self.parked.remove(&worker);
        }
        number
    }

    fn is_about(&self, now: u64) -> bool {
        self.running > 0 || self.has_turn() || now.saturating_sub(self.came) < ABOUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FlowId = (1, 0);
    const B: FlowId = (1, 1);
    const C: FlowId = (2, 0);

    /// The job that a worker is to run: nothing is parked.
    fn next(flows: &mut Flows<u32>, worker: usize, all: bool, now: u64) -> Option<u32> {
        match flows.next(worker, all, now)? {
            Next::Job(job) => Some(job),
            Next::Parked(number) => panic!("{number}"),
        }
    }

    fn order(flows: &mut Flows<u32>, worker: usize, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| {
            let job = next(flows, worker, false, now)?;
            flows.done(worker, now);
            Some(job)
        })
        .collect()
    }

    #[test]
    fn lines_are_served_in_turn_and_each_in_its_order() {
        let mut flows = Flows::new(1, 100);
        for (id, job) in [(A, 1), (A, 2), (A, 3), (A, 4), (A, 5), (B, 6), (C, 7), (B, 8)] {
            flows.add(id, 1, job, 0, 0).unwrap();
        }
        assert_eq!(order(&mut flows, 0, 0), [1, 6, 7, 2, 8, 3, 4, 5]);
    }

    #[test]
    fn a_heavy_line_has_as_many_turns_in_a_row_as_it_weighs() {
        let mut flows = Flows::new(1, 100);
        for job in 0..6 {
            flows.add(A, 3, job, 0, 0).unwrap();
            flows.add(B, 1, 100 + job, 0, 0).unwrap();
        }
        assert_eq!(
            order(&mut flows, 0, 0),
            [0, 1, 2, 100, 3, 4, 5, 101, 102, 103, 104, 105]
        );
        // Turns that it had no jobs for are lost, and no weight is above the heaviest or below 1.
        flows.add(A, 3, 0, 0, 0).unwrap();
        assert_eq!(order(&mut flows, 0, 0), [0]);
        for job in 0..20 {
            flows.add(A, u32::MAX, job, 0, 0).unwrap();
            flows.add(B, 0, 100 + job, 0, 0).unwrap();
        }
        assert_eq!(order(&mut flows, 0, 0)[..18], {
            let mut wanted: Vec<u32> = (0..WEIGHT_MAX).collect();
            wanted.extend([100, 16]);
            wanted
        });
    }

    #[test]
    fn a_line_that_is_alone_may_fill_all_places_and_hold_all_workers() {
        let mut flows = Flows::new(2, 100);
        let mut now = 0;
        for job in 0..100 {
            flows.add(A, 1, job, 0, now).unwrap();
        }
        assert_eq!(flows.add(A, 1, 100, 0, now), Err(100));
        for _ in 0..10 {
            assert!(next(&mut flows, 0, false, now).is_some() && next(&mut flows, 1, false, now).is_some());
            now += 5 * BRIEF;
            flows.done(0, now);
            flows.done(1, now);
        }
    }

    #[test]
    fn a_flood_leaves_places_to_others() {
        let mut flows = Flows::new(2, 100);
        flows.add(B, 1, 0, 0, 0).unwrap();
        let taken = (0..200).filter(|job| flows.add(A, 1, *job, 0, 0).is_ok()).count();
        assert_eq!(taken, 80);
        for id in [B, C] {
            flows.add(id, 1, 0, 0, 0).unwrap();
        }
        // Places that something else takes are not free.
        assert_eq!(flows.add(B, 1, 0, 17, 0), Err(0));
        assert_eq!(flows.add(B, 1, 0, 16, 0), Ok(()));
    }

    #[test]
    fn a_slow_line_leaves_one_worker_while_others_are_about() {
        let mut flows = Flows::new(2, 100);
        for job in 0..9 {
            flows.add(A, 1, job, 0, 0).unwrap();
        }
        flows.add(B, 1, 100, 0, 0).unwrap();
        assert_eq!(next(&mut flows, 0, false, 0), Some(0));
        assert_eq!(next(&mut flows, 1, false, 0), Some(100));
        flows.done(1, BRIEF);
        // Still brief at the limit, slow one above it.
        assert!(flows.may_run(A, BRIEF) && !flows.may_run(A, BRIEF + 1));
        assert_eq!(next(&mut flows, 1, false, BRIEF + 1), None);
        flows.add(B, 1, 101, 0, BRIEF + 2).unwrap();
        assert_eq!(next(&mut flows, 1, false, BRIEF + 3), Some(101));
        flows.done(1, BRIEF + 4);
        // With all of them, as when the queue is closed.
        assert_eq!(next(&mut flows, 1, true, BRIEF + 5), Some(1));
        flows.done(0, BRIEF + 10);
        flows.done(1, BRIEF + 10);
        // Slow for as long as it is remembered, then not; alone before that.
        let until = BRIEF + 10 + FORGET * (BRIEF + 10);
        assert_eq!(next(&mut flows, 0, false, BRIEF + 11), Some(2));
        assert!(!flows.may_run(A, BRIEF + 12));
        flows.done(0, BRIEF + 12);
        flows.add(B, 1, 102, 0, until - 1).unwrap();
        assert_eq!(next(&mut flows, 0, false, until - 2), Some(3));
        assert!(!flows.may_run(A, until - 1) && flows.may_run(A, until));
    }

    #[test]
    fn a_parked_request_goes_on_in_its_flows_turn_on_its_own_worker() {
        let mut flows = Flows::new(2, 10);
        for (id, job) in [(A, 1), (B, 2), (A, 3)] {
            flows.add(id, 1, job, 0, 0).unwrap();
        }
        assert_eq!(flows.next(0, false, 0), Some(Next::Job(1)));
        assert_eq!(flows.flow_of(0), Some(A));
        flows.done(0, 0);
        flows.go_on(A, 0, 77, 0);
        assert_eq!((flows.waiting(), flows.running()), (2, 0));
        // B's turn, then A's: its parked request before its job, but for the other worker.
        assert_eq!(flows.next(0, false, 0), Some(Next::Job(2)));
        flows.done(0, 0);
        assert_eq!(flows.next(1, false, 0), Some(Next::Job(3)));
        flows.done(1, 0);
        assert_eq!(flows.next(1, false, 0), None);
        assert!(flows.has_work(0) && !flows.has_work(1));
        assert_eq!(flows.next(0, false, 0), Some(Next::Parked(77)));
        flows.done(0, 0);
        assert_eq!((flows.next(0, false, 0), flows.waiting()), (None, 0));
        flows.go_on(B, 1, 5, 0);
        flows.go_on(B, 0, 6, 0);
        flows.forget_parked(1);
        assert_eq!(flows.next(1, false, 0), None);
        assert_eq!(flows.next(0, false, 0), Some(Next::Parked(6)));
    }

    #[test]
    fn one_worker_serves_slow_lines_too() {
        let mut flows = Flows::new(1, 10);
        flows.add(A, 1, 1, 0, 0).unwrap();
        flows.add(A, 1, 2, 0, 0).unwrap();
        flows.add(B, 1, 3, 0, 0).unwrap();
        assert_eq!(next(&mut flows, 0, false, 0), Some(1));
        flows.done(0, 5 * BRIEF);
        assert_eq!(order(&mut flows, 0, 5 * BRIEF), [3, 2]);
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
            let mut flows = Flows::new(workers, capacity);
            let mut busy: Vec<Option<FlowId>> = vec![None; workers];
            let mut queued: BTreeMap<FlowId, VecDeque<u32>> = BTreeMap::new();
            // How often a flow with a job was passed over for each other flow.
            let mut passed: BTreeMap<(FlowId, FlowId), u32> = BTreeMap::new();
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
                    match flows.add(id, 1, job, 0, now) {
                        Ok(()) => own.push_back(job),
                        Err(_) => assert!(waiting == capacity || own.len() >= SHARE * (capacity - waiting)),
                    }
                }
                let worker = random(workers as u64) as usize;
                if busy[worker].take().is_some() {
                    flows.done(worker, now);
                    continue;
                }
                let allowed: Vec<FlowId> = queued
                    .iter()
                    .filter(|(id, jobs)| !jobs.is_empty() && flows.may_run(**id, now))
                    .map(|(id, _)| *id)
                    .collect();
                let Some(given) = next(&mut flows, worker, false, now) else {
                    assert!(allowed.is_empty());
                    continue;
                };
                let of = *queued
                    .iter()
                    .find(|(_, jobs)| jobs.front() == Some(&given))
                    .expect("the first of its flow")
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
                let slow = flows.flows[&of].slow_until > now;
                assert!(
                    !(workers > 1 && all && slow && others),
                    "a slow flow holds all workers"
                );
                let waiting: usize = queued.values().map(VecDeque::len).sum();
                assert_eq!(
                    (flows.waiting(), flows.running()),
                    (waiting, busy.iter().flatten().count())
                );
            }
        }
    }
}
