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
//! - Flows whose requests are [`LONG`] leave a worker to the others together, however many they are. They take turns on the workers that
//!   they have, also one that has begun on another worker than the one that runs.
//! - A request that has had a worker for [`BRIEF`] gives way when another flow waits for that worker, and goes on in its flow's turn: so
//!   nobody waits for the end of another's request. [`GAVE_WAY_MAX`] of a worker may have given way at once; over it they run to their end.
//! - Within a flow, requests that began go before those that wait. One that has waited for the host, so that it has a machine beside
//!   those of the flow's jobs, and has run for [`HEAVY`] in all, takes turns with them: a body of a gigabyte keeps no quick request of the
//!   same program waiting for its end. One that only computes is ended first, as its machine is the next one's.
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
/// What [`LONG`] is for the first request of a flow, which compiles the program and touches its memory for the first time.
pub(crate) const LONG_COLD: u64 = 200_000_000;
/// A request that has waited for the host, and run for longer than this beside its waits, is heavy, in nanoseconds.
pub(crate) const HEAVY: u64 = 200_000_000;
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
    /// No request of it has ended, or waited for the host.
    is_cold: bool,
    /// A heavy request of it ran last, so it is a waiting one's turn.
    was_heavy: bool,
}

/// A request that has had a worker before.
#[derive(Clone, Copy, Debug)]
struct Begun {
    number: u64,
    /// It did not wait for the host, but gave way.
    gave_way: bool,
    /// Nanoseconds that it has run since it began, or was parked.
    ran: u64,
    /// Those since it began, if it has waited for the host.
    total: Option<u64>,
}

/// What a worker runs.
#[derive(Clone, Copy, Debug)]
struct Held {
    id: FlowId,
    since: u64,
    /// Nanoseconds that it ran before it gave way.
    before: u64,
    /// Nanoseconds that it ran before this worker took it, since it began, if it has waited for the host.
    total_before: Option<u64>,
}

impl Held {
    /// Nanoseconds that it has run.
    fn ran(&self, now: u64) -> u64 {
        self.before + now.saturating_sub(self.since)
    }

    /// Nanoseconds that it has run since it began, if it has waited for the host.
    fn total(&self, now: u64) -> Option<u64> {
        Some(self.total_before? + now.saturating_sub(self.since))
    }

    /// Nanoseconds that it has run since it began.
    fn whole(&self, now: u64) -> u64 {
        self.total(now).unwrap_or(self.ran(now))
    }
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

    /// A parked request of a worker, which has run for `total` since it began, may go on when it is its flow's turn.
    pub fn go_on(&mut self, id: FlowId, worker: usize, number: u64, total: u64, now: u64) {
        let flow = self.flows.entry(id).or_insert_with(|| Flow::new(now));
        if !flow.has_turn() {
            self.turn.push_back(id);
        }
        flow.parked.entry(worker).or_default().push_back(Begun {
            number,
            gave_way: false,
            ran: 0,
            total: Some(total),
        });
    }

    /// Whether what a worker runs is to give way: it has had its time, and another flow waits for the worker, or its own while it is heavy.
    pub fn is_wanted(&self, worker: usize, now: u64) -> bool {
        let held = self.workers[worker];
        self.is_wanted_of(worker, held.and_then(|held| held.total(now)), now)
    }

    /// The same where the request would wait for the host, if the host had not said something already.
    pub fn is_wanted_at_wait(&self, worker: usize, now: u64) -> bool {
        let held = self.workers[worker];
        self.is_wanted_of(worker, held.map(|held| held.whole(now)), now)
    }

    fn is_wanted_of(&self, worker: usize, total: Option<u64>, now: u64) -> bool {
        let Some(held) = self.workers[worker] else {
            return false;
        };
        if now.saturating_sub(held.since) <= BRIEF {
            return false;
        }
        let others = || self.turn.iter().filter(|id| **id != held.id);
        let has_begun = |id| {
            self.flows
                .get(id)
                .is_some_and(|flow| flow.parked.contains_key(&worker))
        };
        let next = others().find(|id| self.may_take(**id, worker, now));
        let own_waits = || {
            is_heavy(total)
                && self.flows.get(&held.id).is_some_and(|flow| !flow.jobs.is_empty())
                && self.may_take(held.id, worker, now)
        };
        next.is_some_and(has_begun)
            || self.gave_way[worker] < GAVE_WAY_MAX
                && (next.is_some()
                    || own_waits()
                    || others().any(|id| self.waits_for_place(*id, worker, now)))
    }

    /// What a worker runs gives way: the worker is free, and the request, which has this number, goes on in its flow's turn.
    pub fn give_way(&mut self, worker: usize, number: u64, now: u64) {
        let Some((id, held)) = self.release(worker, now) else {
            return;
        };
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        let (ran, total) = (held.ran(now), held.total(now));
        flow.was_heavy = is_heavy(total);
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
            total,
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
    /// they began before its jobs; heavy ones take turns with them.
    pub fn next(&mut self, worker: usize, all: bool, now: u64) -> Option<Next<J>> {
        let at = (0..self.turn.len()).find(|at| {
            let id = self.turn[*at];
            match all {
                true => self.flows.get(&id).is_some_and(|flow| flow.has_work(worker)),
                false => self.may_take(id, worker, now),
            }
        })?;
        let id = self.turn.remove(at)?;
        let flow = self.flows.get_mut(&id)?;
        let (next, before, total_before) = match flow.take_parked(worker) {
            Some(begun) => {
                self.gave_way[worker] -= usize::from(begun.gave_way);
                flow.was_heavy = is_heavy(begun.total);
                (Next::Parked(begun.number), begun.ran, begun.total)
            }
            None => {
                self.waiting -= 1;
                flow.was_heavy = false;
                (Next::Job(flow.jobs.pop_front()?), 0, None)
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
        self.workers[worker] = Some(Held {
            id,
            since,
            before,
            total_before,
        });
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

    /// A worker made a machine for what it runs, which begins now: that is not its time.
    pub fn begin_anew(&mut self, worker: usize, now: u64) {
        if let Some(held) = &mut self.workers[worker] {
            held.since = now;
        }
    }

    /// A worker is done with its job.
    pub fn done(&mut self, worker: usize, now: u64) {
        self.park(worker, now);
    }

    /// The same of a request that waits for the host. Gives for how many nanoseconds it has run since it began.
    pub fn park(&mut self, worker: usize, now: u64) -> u64 {
        let Some((id, held)) = self.release(worker, now) else {
            return 0;
        };
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.is_cold = false;
        }
        held.whole(now)
    }

    /// Frees a worker. Gives what it ran, and whose that is.
    fn release(&mut self, worker: usize, now: u64) -> Option<(FlowId, Held)> {
        let held = self.workers[worker].take()?;
        let (id, ran) = (held.id, held.ran(now));
        let flow = self.flows.get_mut(&id)?;
        flow.running -= 1;
        let until = now.saturating_add(ran.saturating_mul(FORGET));
        if ran > BRIEF {
            flow.slow_until = flow.slow_until.max(until);
        }
        if ran > flow.long() {
            flow.long_until = flow.long_until.max(until);
        }
        Some((id, held))
    }

    /// Whether something waits that this free worker may run now.
    pub fn may_work(&self, worker: usize, now: u64) -> bool {
        self.workers[worker].is_none() && self.turn.iter().any(|id| self.may_take(*id, worker, now))
    }

    /// Whether a flow has something for this worker, and may have the worker: it is free, or what it runs would give way.
    fn may_take(&self, id: FlowId, worker: usize, now: u64) -> bool {
        let Some(flow) = self.flows.get(&id) else {
            return false;
        };
        if !flow.has_work(worker) {
            return false;
        }
        let own = self.workers[worker].is_some_and(|held| held.id == id);
        let running = flow.running - usize::from(own);
        let takes_last = running > 0 && running + 1 >= self.workers.len();
        let takes_too_much = takes_last && self.is_slow(id, flow, now) && self.has_rivals(id, now);
        !takes_too_much && !self.joins_long(id, worker, now)
    }

    /// Whether a long flow would take, with this worker, the last one that long flows leave to the others, or the place of a long
    /// flow whose turn comes before and whose request another worker has.
    fn joins_long(&self, id: FlowId, worker: usize, now: u64) -> bool {
        if !self.is_long(id, now) || !self.leaves_a_worker(now) {
            return false;
        }
        let before = || self.turn.iter().take_while(|other| **other != id);
        let places = self.workers.len().saturating_sub(1).max(1);
        let held = (0..self.workers.len())
            .filter(|at| *at != worker && self.holds_long(*at, now))
            .count();
        let owed =
            before().filter(|other| self.is_long(**other, now) && self.begun_elsewhere(**other, worker, now));
        held + owed.count() >= places
    }

    /// Whether a long flow would run if the long request that a worker holds gave way: it has begun on another worker.
    fn waits_for_place(&self, id: FlowId, worker: usize, now: u64) -> bool {
        self.is_long(id, now)
            && self.holds_long(worker, now)
            && self.leaves_a_worker(now)
            && self.begun_elsewhere(id, worker, now)
    }

    /// Whether a flow has no work for this worker, and a request that has begun on another one that no long request holds.
    fn begun_elsewhere(&self, id: FlowId, worker: usize, now: u64) -> bool {
        self.flows.get(&id).is_some_and(|flow| {
            !flow.has_work(worker) && flow.parked.keys().any(|at| !self.holds_long(*at, now))
        })
    }

    /// Whether long flows leave a worker to others: there are some.
    fn leaves_a_worker(&self, now: u64) -> bool {
        self.flows
            .iter()
            .any(|(id, flow)| flow.is_about(now) && !self.is_long(*id, now))
    }

    /// Whether a flow's requests are long, or one that runs is by now.
    fn is_long(&self, id: FlowId, now: u64) -> bool {
        self.flows.get(&id).is_some_and(|flow| {
            let runs_long = |held: &Held| held.id == id && held.ran(now) > flow.long();
            now < flow.long_until || self.workers.iter().flatten().any(runs_long)
        })
    }

    fn holds_long(&self, worker: usize, now: u64) -> bool {
        self.workers[worker].is_some_and(|held| self.is_long(held.id, now))
    }

    fn is_slow(&self, id: FlowId, flow: &Flow<J>, now: u64) -> bool {
        let runs_long = |held: &Held| held.id == id && held.ran(now) > BRIEF;
        now < flow.slow_until || self.workers.iter().flatten().any(runs_long)
    }

    fn has_rivals(&self, id: FlowId, now: u64) -> bool {
        self.flows
            .iter()
            .any(|(other, flow)| *other != id && flow.is_about(now))
    }
}

fn is_heavy(total: Option<u64>) -> bool {
    total.is_some_and(|total| total > HEAVY)
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
            is_cold: true,
            was_heavy: false,
        }
    }

    /// A request of it that runs for longer is long, in nanoseconds.
    fn long(&self) -> u64 {
        if self.is_cold { LONG_COLD } else { LONG }
    }

    fn has_turn(&self) -> bool {
        !self.jobs.is_empty() || !self.parked.is_empty()
    }

    fn has_work(&self, worker: usize) -> bool {
        !self.jobs.is_empty() || self.parked.contains_key(&worker)
    }

    /// The next of those that began, unless it is the turn of one that waits.
    fn take_parked(&mut self, worker: usize) -> Option<Begun> {
        let parked = self.parked.get_mut(&worker)?;
        let next_is_heavy = parked.front().is_some_and(|begun| is_heavy(begun.total));
        if next_is_heavy && self.was_heavy && !self.jobs.is_empty() {
            return None;
        }
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
