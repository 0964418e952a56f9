//! Requests that wait for the host, beside the queue's jobs: who has their machines, and when each goes on at the latest.

use std::collections::{BTreeMap, BTreeSet};

use super::flows::FlowId;
use crate::outcome::Bound;

/// Most requests with a channel that are under way at once, and the most memory that their machines hold while they are parked. Over it a
/// job is refused as by a full queue, and one that was to be parked ends ([`crate::Outcome::Refused`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parking {
    /// Of one program: of all requests that bear the number of its flow, whatever snapshot they run on, and where they bear none, of one
    /// snapshot.
    pub each: usize,
    /// In all.
    pub all: usize,
    /// Bytes that the parked machines of one program have for themselves alone, counted as `each`.
    pub each_bytes: u64,
    /// In all.
    pub all_bytes: u64,
}

impl Default for Parking {
    fn default() -> Parking {
        Parking {
            each: 256,
            all: 1024,
            each_bytes: 1 << 30,
            all_bytes: 4 << 30,
        }
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
    /// Bytes of its machine's own, if it waits for the host.
    held: Option<u64>,
    /// It is in its flow already.
    goes_on: bool,
}

/// What the requests of one program have.
#[derive(Debug, Default)]
struct Owner {
    /// Requests with a channel under way.
    open: usize,
    /// Those of them that wait for the host, and the bytes of their machines.
    parked: u64,
    bytes: u64,
}

/// Requests with a channel that are under way, and those of them that are parked. Times are monotonic nanoseconds.
#[derive(Debug)]
pub(crate) struct Parked {
    limits: Parking,
    /// Requests with a channel, with whose they are.
    open: BTreeMap<u64, FlowId>,
    owners: BTreeMap<FlowId, Owner>,
    /// Bytes of the machines of those that wait for the host.
    bytes: u64,
    places: BTreeMap<u64, Place>,
    /// By worker: when its requests go on by themselves.
    timers: Vec<BTreeSet<(u64, u64)>>,
}

impl Parked {
    pub fn new(workers: usize, limits: Parking) -> Parked {
        Parked {
            limits,
            open: BTreeMap::new(),
            owners: BTreeMap::new(),
            bytes: 0,
            places: BTreeMap::new(),
            timers: vec![BTreeSet::new(); workers],
        }
    }

    pub fn set_limits(&mut self, limits: Parking) {
        self.limits = limits;
    }

    /// The bound over which one more request with a channel is. It is taken to come to hold as much as the parked ones of its program do on
    /// average: one that ends where it was to be parked may have had effects on the host.
    pub fn full(&self, flow: FlowId) -> Option<Bound> {
        let none = Owner::default();
        let owner = self.owners.get(&owner(flow)).unwrap_or(&none);
        if self.open.len() >= self.limits.all || owner.open >= self.limits.each {
            return Some(Bound::Number);
        }
        let usual = owner.bytes.checked_div(owner.parked).unwrap_or(0);
        self.over(flow, usual.max(1))
    }

    /// The bound over which so many more bytes of a parked machine are.
    pub fn over(&self, flow: FlowId, bytes: u64) -> Option<Bound> {
        if self.bytes.saturating_add(bytes) > self.limits.all_bytes {
            return Some(Bound::MemoryOfAll);
        }
        let of_one = self.owners.get(&owner(flow)).map_or(0, |owner| owner.bytes);
        (of_one.saturating_add(bytes) > self.limits.each_bytes).then_some(Bound::MemoryOfOne)
    }

    /// A request with a channel was taken.
    pub fn open(&mut self, number: u64, flow: FlowId) {
        let owner = owner(flow);
        if self.open.insert(number, owner).is_none() {
            self.owners.entry(owner).or_default().open += 1;
        }
    }

    /// A request has ended; it may have had no channel.
    pub fn close(&mut self, number: u64) {
        let Some(owner) = self.open.remove(&number) else {
            return;
        };
        self.change(owner, |owner| owner.open = owner.open.saturating_sub(1));
    }

    /// Changes what is known of an owner, who is forgotten when nothing is left.
    fn change(&mut self, whose: FlowId, change: impl FnOnce(&mut Owner)) {
        let owner = self.owners.entry(whose).or_default();
        change(owner);
        if owner.open == 0 && owner.parked == 0 {
            self.owners.remove(&whose);
        }
    }

    /// Requests that are parked, or wait for their worker to go on.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes that the machines of those that wait for the host have for themselves alone.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn has_any_of(&self, worker: usize) -> bool {
        self.places.values().any(|place| place.worker == worker)
    }

    /// A worker has put a request aside which waits for the host, until `wake` at the latest, has run for `ran` so far, and whose machine
    /// holds so many bytes: they count until its worker takes it up again, or is gone.
    pub fn park(&mut self, number: u64, worker: usize, flow: FlowId, wake: u64, ran: u64, held: u64) {
        self.bytes += held;
        self.change(owner(flow), |owner| {
            owner.parked += 1;
            owner.bytes += held;
        });
        let place = Place {
            worker,
            flow,
            wake,
            ran,
            held: Some(held),
            goes_on: false,
        };
        self.places.insert(number, place);
        self.timers[worker].insert((wake, number));
    }

    /// A worker has put a request aside which gave way, and is in its flow.
    pub fn set_aside(&mut self, number: u64, worker: usize, flow: FlowId) {
        let place = Place {
            worker,
            flow,
            wake: u64::MAX,
            ran: 0,
            held: None,
            goes_on: true,
        };
        self.places.insert(number, place);
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
        let Some(Place {
            flow,
            held: Some(held),
            ..
        }) = self.places.remove(&number)
        else {
            return;
        };
        self.bytes = self.bytes.saturating_sub(held);
        self.change(owner(flow), |owner| {
            owner.parked = owner.parked.saturating_sub(1);
            owner.bytes = owner.bytes.saturating_sub(held);
        });
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
            self.take_up(*number);
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

    fn bounds(each: usize, all: usize) -> Parking {
        Parking {
            each,
            all,
            ..Parking::default()
        }
    }

    /// At most 100 bytes of one program, and 150 in all.
    fn small() -> Parked {
        let limits = Parking {
            each_bytes: 100,
            all_bytes: 150,
            ..Parking::default()
        };
        Parked::new(2, limits)
    }

    fn begin(parked: &mut Parked, number: u64, worker: usize, flow: FlowId, held: u64) {
        parked.open(number, flow);
        parked.park(number, worker, flow, u64::MAX, 0, held);
    }

    #[test]
    fn memory_is_bounded_for_each_program_and_in_all() {
        let mut parked = small();
        begin(&mut parked, 1, 0, (7, 0), 60);
        assert_eq!((parked.over((7, 0), 40), parked.over((8, 0), 90)), (None, None));
        assert_eq!(parked.over((7, 0), 41), Some(Bound::MemoryOfOne));
        assert_eq!(parked.over((8, 0), 91), Some(Bound::MemoryOfAll));
        // Flows of a number are one program on whatever snapshot.
        begin(&mut parked, 2, 0, (8, 5), 30);
        assert_eq!(parked.bytes(), 90);
        parked.take_up(1);
        assert_eq!(parked.over((9, 5), 71), Some(Bound::MemoryOfOne));
        assert_eq!(parked.bytes(), 30);
    }

    #[test]
    fn one_more_is_refused_where_what_its_program_usually_holds_has_no_room() {
        let mut parked = small();
        begin(&mut parked, 1, 0, (7, 0), 40);
        assert_eq!(parked.full((7, 0)), None);
        begin(&mut parked, 2, 0, (7, 0), 44);
        assert_eq!(parked.full((7, 0)), Some(Bound::MemoryOfOne));
        // Nothing is known of another's.
        assert_eq!(parked.full((8, 0)), None);
        begin(&mut parked, 3, 0, (8, 0), 66);
        assert_eq!(parked.full((9, 0)), Some(Bound::MemoryOfAll));
        // It goes on, and holds them until its worker takes it up.
        parked.go_on(1);
        assert!(parked.full((9, 0)).is_some());
        parked.take_up(1);
        assert_eq!(
            (parked.full((9, 0)), parked.full((7, 0))),
            (None, Some(Bound::MemoryOfAll))
        );
    }

    #[test]
    fn memory_is_given_back_once_on_every_way_out() {
        let mut parked = small();
        begin(&mut parked, 1, 0, (7, 0), 20);
        begin(&mut parked, 2, 1, (7, 0), 30);
        begin(&mut parked, 3, 1, (8, 0), 40);
        // It was opened by nobody, and holds what it has for its turn only.
        parked.set_aside(4, 1, (9, 0));
        assert_eq!((parked.bytes(), parked.len()), (90, 4));
        parked.go_on(1);
        parked.take_up(1);
        parked.take_up(1);
        assert_eq!(parked.bytes(), 70);
        // It is parked again, with more.
        parked.park(1, 0, (7, 0), 5, 0, 50);
        assert_eq!(parked.bytes(), 120);
        // The worker of the others crashes.
        assert_eq!(parked.lose(1), [2, 3, 4]);
        assert_eq!((parked.bytes(), parked.owners.len()), (50, 1));
        parked.take_up(1);
        parked.close(1);
        assert_eq!((parked.bytes(), parked.owners.len(), parked.len()), (0, 0, 0));
    }

    #[test]
    fn places_are_bounded_for_each_program_and_in_all() {
        let mut parked = Parked::new(1, bounds(2, 3));
        for number in [1, 2] {
            assert_eq!(parked.full((7, 0)), None);
            parked.open(number, (7, 0));
        }
        assert_eq!(
            (parked.full((7, 0)), parked.full((8, 0))),
            (Some(Bound::Number), None)
        );
        parked.open(3, (8, 0));
        assert_eq!(parked.full((9, 0)), Some(Bound::Number));
        parked.close(2);
        parked.close(2);
        parked.close(99);
        assert_eq!((parked.full((7, 0)), parked.full((9, 0))), (None, None));
        parked.close(1);
        assert_eq!(parked.owners.len(), 1);
    }

    #[test]
    fn requests_of_one_flow_are_one_program_on_whatever_snapshot() {
        let mut parked = Parked::new(1, bounds(2, 9));
        parked.open(1, (7, 5));
        parked.open(2, (8, 5));
        assert!(parked.full((9, 5)).is_some() && parked.full((7, 6)).or(parked.full((7, 0))).is_none());
        parked.close(1);
        assert_eq!(parked.full((7, 5)), None);
    }

    #[test]
    fn a_request_goes_on_once_and_by_itself_when_its_time_has_come() {
        let mut parked = Parked::new(2, Parking::default());
        parked.park(5, 1, (7, 0), 100, 3, 0);
        parked.park(6, 1, (7, 1), 50, 4, 0);
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
