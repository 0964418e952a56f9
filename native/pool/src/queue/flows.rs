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
//! - Flows whose requests are [`LONG`] leave a worker to the others together, however many they are.
//! - A request that has had a worker for [`BRIEF`] gives way when another flow waits for that worker, and goes on in its flow's turn: so
//!   nobody waits for the end of another's request. [`GAVE_WAY_MAX`] of a worker may have given way at once; over it they run to their end.
//! - A flow may hold [`SHARE`] times as many places as are free, so a flood leaves some to others (dynamic thresholds: Choudhury
//!   and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A flow that is alone may fill them all.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use mayfly_abi::limits::WEIGHT_MAX;

/// Whose jobs: a program, and a number of the submitter's within it.
pub(crate) type FlowId = (u64, u32);

/// A request that runs longer than this is slow, in nanoseconds.
pub(crate) const BRIEF: u64 = 2_000_000;
/// A request that runs longer than this is long, in nanoseconds.
pub(crate) const LONG: u64 = 20_000_000;
/// Requests of one worker that gave way and are not over, at most: each has the memory that it wrote to.
pub(crate) const GAVE_WAY_MAX: usize = 8;
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
    /// Requests that go on, by the worker that has their machines.
    parked: BTreeMap<usize, VecDeque<Begun>>,
    running: usize,
    /// Turns in a row, as its last job said.
    weight: u32,
    /// Those of them that it has had.
    turns: u32,
    /// When its last job came.
    came: u64,
    slow_until: u64,
    long_until: u64,
}

/// A request that has had a worker before.
#[derive(Clone, Copy, Debug)]
struct Begun {
    number: u64,
    /// It did not wait for the host, but gave way.
    gave_way: bool,
    /// Nanoseconds that it has run since it began, or was parked.
    ran: u64,
}

/// What a worker runs.
#[derive(Clone, Copy, Debug)]
struct Held {
    id: FlowId,
    since: u64,
    /// Nanoseconds that it ran before it gave way.
    before: u64,
}

/// What a worker is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next<J> {
    /// A job.
    Job(J),
    /// The request of this number, which was parked or gave way: its machine is the worker's.
    Parked(u64),
}

/// Jobs that wait, and who runs what. Times are monotonic nanoseconds.
#[derive(Debug)]
pub(crate) struct Flows<J> {
    flows: BTreeMap<FlowId, Flow<J>>,
    /// Flows with jobs, the next one first.
    turn: VecDeque<FlowId>,
    waiting: usize,
    /// What each worker runs.
    workers: Vec<Option<Held>>,
    /// How many requests of each worker gave way.
    gave_way: Vec<usize>,
    capacity: usize,
}

impl<J> Flows<J> {
    pub fn new(workers: usize, capacity: usize) -> Self {
        Flows {
            flows: BTreeMap::new(),
            turn: VecDeque::new(),
            waiting: 0,
            workers: vec![None; workers],
            gave_way: vec![0; workers],
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
                .retain(|_, flow| flow.is_about(now) || now < flow.slow_until.max(flow.long_until));
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
        flow.parked.entry(worker).or_default().push_back(Begun {
            number,
            gave_way: false,
            ran: 0,
        });
    }

    /// Whether what a worker runs is to give way: it has had its time, and another flow waits for the worker.
    pub fn is_wanted(&self, worker: usize, now: u64) -> bool {
        let Some(held) = self.workers[worker] else {
            return false;
        };
        if now.saturating_sub(held.since) <= BRIEF {
            return false;
        }
        let next = self.turn.iter().find(|id| {
            **id != held.id
                && self.flows.get(id).is_some_and(|flow| flow.has_work(worker))
                && self.may_run(**id, now)
        });
        let has_begun = |id| {
            self.flows
                .get(id)
                .is_some_and(|flow| flow.parked.contains_key(&worker))
        };
        next.is_some_and(|id| has_begun(id) || self.gave_way[worker] < GAVE_WAY_MAX)
    }

    /// What a worker runs gives way: the worker is free, and the request, which has this number, goes on in its flow's turn.
    pub fn give_way(&mut self, worker: usize, number: u64, now: u64) {
        let Some((id, ran)) = self.release(worker, now) else {
            return;
        };
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        if flow.has_turn() {
            self.turn.retain(|other| *other != id);
        }
        self.turn.push_back(id);
        flow.turns = 0;
        // Before what the flow has waiting for this worker: it was first.
        flow.parked.entry(worker).or_default().push_front(Begun {
            number,
            gave_way: true,
            ran,
        });
        self.gave_way[worker] += 1;
    }

    /// Forgets what a worker's parked requests wait for.
    pub fn forget_parked(&mut self, worker: usize) {
        for flow in self.flows.values_mut() {
            flow.parked.remove(&worker);
        }
        self.gave_way[worker] = 0;
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
        let (next, before) = match flow.take_parked(worker) {
            Some(begun) => {
                self.gave_way[worker] -= usize::from(begun.gave_way);
                (Next::Parked(begun.number), begun.ran)
            }
            None => {
                self.waiting -= 1;
                (Next::Job(flow.jobs.pop_front()?), 0)
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
        let since = now;
        self.workers[worker] = Some(Held { id, since, before });
        Some(next)
    }

    /// Whether something waits that this worker may run now or later.
    pub fn has_work(&self, worker: usize) -> bool {
        self.waiting > 0 || self.flows.values().any(|flow| flow.parked.contains_key(&worker))
    }

    /// The flow of what a worker runs.
    pub fn flow_of(&self, worker: usize) -> Option<FlowId> {
        self.workers[worker].map(|held| held.id)
    }

    /// A worker is done with its job.
    pub fn done(&mut self, worker: usize, now: u64) {
        self.release(worker, now);
    }

    /// Frees a worker. Gives the flow of what it ran, and for how long that ran.
    fn release(&mut self, worker: usize, now: u64) -> Option<(FlowId, u64)> {
        let Held { id, since, before } = self.workers[worker].take()?;
        let flow = self.flows.get_mut(&id)?;
        flow.running -= 1;
        let ran = before + now.saturating_sub(since);
        let until = now.saturating_add(ran.saturating_mul(FORGET));
        if ran > BRIEF {
            flow.slow_until = flow.slow_until.max(until);
        }
        if ran > LONG {
            flow.long_until = flow.long_until.max(until);
        }
        Some((id, ran))
    }

    /// Whether another job of this flow may take a free worker.
    fn may_run(&self, id: FlowId, now: u64) -> bool {
        let Some(flow) = self.flows.get(&id) else {
            return false;
        };
        let takes_last = flow.running > 0 && flow.running + 1 >= self.workers.len();
        let takes_too_much = takes_last && self.is_slow(id, flow, now) && self.has_rivals(id, now);
        !takes_too_much && !self.joins_long(id, flow, now)
    }

    /// Whether a long flow would take the last worker that long flows leave to the others.
    fn joins_long(&self, id: FlowId, flow: &Flow<J>, now: u64) -> bool {
        if now >= flow.long_until {
            return false;
        }
        let is_long = |held: &Held| {
            now.saturating_sub(held.since) + held.before > LONG
                || self.flows.get(&held.id).is_some_and(|flow| now < flow.long_until)
        };
        let held = self.workers.iter().flatten().filter(|held| is_long(held)).count();
        let others = self
            .flows
            .iter()
            .any(|(other, flow)| *other != id && flow.is_about(now) && now >= flow.long_until);
        held > 0 && held + 1 >= self.workers.len() && others
    }

    fn is_slow(&self, id: FlowId, flow: &Flow<J>, now: u64) -> bool {
        let runs_long = |held: &Held| held.id == id && now.saturating_sub(held.since) + held.before > BRIEF;
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
            long_until: 0,
        }
    }

    fn has_turn(&self) -> bool {
        !self.jobs.is_empty() || !self.parked.is_empty()
    }

    fn has_work(&self, worker: usize) -> bool {
        !self.jobs.is_empty() || self.parked.contains_key(&worker)
    }

    fn take_parked(&mut self, worker: usize) -> Option<Begun> {
        let parked = self.parked.get_mut(&worker)?;
        let begun = parked.pop_front();
        if parked.is_empty() {
            self.parked.remove(&worker);
        }
        begun
    }

    fn is_about(&self, now: u64) -> bool {
        self.running > 0 || self.has_turn() || now.saturating_sub(self.came) < ABOUT
    }
}
