//! Requests that wait for the host, beside the queue's jobs: who has their machines, and when each goes on at the latest.

use std::collections::{BTreeMap, BTreeSet};

use super::flows::FlowId;

/// Most requests with a channel that are under way at once; over it a job is refused as by a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parking {
    /// Of one program: of all requests that bear the number of its flow, whatever snapshot they run on, and where they bear none, of one
    /// snapshot.
    pub each: usize,
    /// In all.
    pub all: usize,
}

impl Default for Parking {
    fn default() -> Parking {
        Parking { each: 256, all: 1024 }
    }
}

#[derive(Clone, Copy, Debug)]
struct Place {
    worker: usize,
    flow: FlowId,
    /// When it goes on by itself.
    wake: u64,
    /// Nanoseconds that it has run.
    ran: u64,
    /// It is in its flow already.
    goes_on: bool,
}

/// Requests with a channel that are under way, and those of them that are parked. Times are monotonic nanoseconds.
#[derive(Debug)]
pub(crate) struct Parked {
    limits: Parking,
    /// Requests with a channel, with whose they are, and how many each of those has.
    open: BTreeMap<u64, FlowId>,
    by_owner: BTreeMap<FlowId, usize>,
    places: BTreeMap<u64, Place>,
    /// By worker: when its requests go on by themselves.
    timers: Vec<BTreeSet<(u64, u64)>>,
}

impl Parked {
    pub fn new(workers: usize, limits: Parking) -> Parked {
        Parked {
            limits,
            open: BTreeMap::new(),
            by_owner: BTreeMap::new(),
            places: BTreeMap::new(),
            timers: vec![BTreeSet::new(); workers],
        }
    }

    pub fn set_limits(&mut self, limits: Parking) {
        self.limits = limits;
    }

    /// Whether one more request with a channel is one too many.
    pub fn is_full(&self, flow: FlowId) -> bool {
        let open = self.by_owner.get(&owner(flow));
        self.open.len() >= self.limits.all || open.is_some_and(|open| *open >= self.limits.each)
    }

    /// A request with a channel was taken.
    pub fn open(&mut self, number: u64, flow: FlowId) {
        let owner = owner(flow);
        if self.open.insert(number, owner).is_none() {
            *self.by_owner.entry(owner).or_default() += 1;
        }
    }

    /// A request has ended; it may have had no channel.
    pub fn close(&mut self, number: u64) {
        let Some(owner) = self.open.remove(&number) else {
            return;
        };
        if let Some(open) = self.by_owner.get_mut(&owner) {
            *open -= 1;
            if *open == 0 {
                self.by_owner.remove(&owner);
            }
        }
    }

    /// Requests that are parked, or wait for their worker to go on.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn has_any_of(&self, worker: usize) -> bool {
        self.places.values().any(|place| place.worker == worker)
    }

    /// A worker has put a request aside, until `wake` at the latest, which has run for `ran` so far.
    pub fn park(&mut self, number: u64, worker: usize, flow: FlowId, wake: u64, ran: u64) {
        let place = Place {
            worker,
            flow,
            wake,
            ran,
            goes_on: false,
        };
        self.places.insert(number, place);
        self.timers[worker].insert((wake, number));
    }

    /// A parked request is to go on: its worker and flow, and for how long it has run, once.
    pub fn go_on(&mut self, number: u64) -> Option<(usize, FlowId, u64)> {
        let place = self.places.get_mut(&number).filter(|place| !place.goes_on)?;
        place.goes_on = true;
        self.timers[place.worker].remove(&(place.wake, number));
        Some((place.worker, place.flow, place.ran))
    }

    /// The next request of a worker whose time has come.
    pub fn due(&mut self, worker: usize, now: u64) -> Option<u64> {
        let (wake, number) = *self.timers[worker].first()?;
        (wake <= now).then_some(number)
    }

    /// When the next request of a worker goes on by itself.
    pub fn next_wake(&self, worker: usize) -> Option<u64> {
        self.timers[worker].first().map(|(wake, _)| *wake)
    }

    /// A worker takes a request up again.
    pub fn take_up(&mut self, number: u64) {
        self.places.remove(&number);
    }

    /// Numbers of all that are parked.
    pub fn numbers(&self) -> Vec<u64> {
        self.places.keys().copied().collect()
    }

    /// Forgets the requests of a worker that is gone, and gives their numbers.
    pub fn lose(&mut self, worker: usize) -> Vec<u64> {
        let lost: Vec<u64> = self
            .places
            .iter()
            .filter(|(_, place)| place.worker == worker)
            .map(|(number, _)| *number)
            .collect();
        for number in &lost {
            self.places.remove(number);
            self.close(*number);
        }
        self.timers[worker].clear();
        lost
    }
}

/// Whose request it is: that of a flow with a number, else of a program.
fn owner((program, flow): FlowId) -> FlowId {
    (if flow == 0 { program } else { 0 }, flow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_for_each_program_and_in_all() {
        let mut parked = Parked::new(1, Parking { each: 2, all: 3 });
        for number in [1, 2] {
            assert!(!parked.is_full((7, 0)));
            parked.open(number, (7, 0));
        }
        assert!(parked.is_full((7, 0)) && !parked.is_full((8, 0)));
        parked.open(3, (8, 0));
        assert!(parked.is_full((9, 0)));
        parked.close(2);
        parked.close(2);
        parked.close(99);
        assert!(!parked.is_full((7, 0)) && !parked.is_full((9, 0)));
        parked.close(1);
        assert!(parked.by_owner.len() == 1);
    }

    #[test]
    fn requests_of_one_flow_are_one_program_on_whatever_snapshot() {
        let mut parked = Parked::new(1, Parking { each: 2, all: 9 });
        parked.open(1, (7, 5));
        parked.open(2, (8, 5));
        assert!(parked.is_full((9, 5)) && !parked.is_full((7, 6)) && !parked.is_full((7, 0)));
        parked.close(1);
        assert!(!parked.is_full((7, 5)));
    }

    #[test]
    fn a_request_goes_on_once_and_by_itself_when_its_time_has_come() {
        let mut parked = Parked::new(2, Parking::default());
        parked.park(5, 1, (7, 0), 100, 3);
        parked.park(6, 1, (7, 1), 50, 4);
        assert_eq!((parked.next_wake(0), parked.next_wake(1)), (None, Some(50)));
        assert_eq!((parked.due(1, 49), parked.due(1, 50)), (None, Some(6)));
        assert_eq!((parked.go_on(6), parked.go_on(6)), (Some((1, (7, 1), 4)), None));
        assert_eq!((parked.due(1, 99), parked.len()), (None, 2));
        parked.take_up(6);
        assert_eq!(parked.go_on(6), None);
        assert!(parked.has_any_of(1) && !parked.has_any_of(0));
        parked.open(5, (7, 0));
        assert_eq!(parked.lose(1), [5]);
        assert_eq!(
            (parked.len(), parked.next_wake(1), parked.open.len()),
            (0, None, 0)
        );
    }
}
