//! Requests that leave their machines to others while they wait, and go on in whichever machine there is.

use std::sync::Arc;

use mayfly_pool::{Outcome, Parking, Program};

use super::host::{Host, Reply, program};
use super::support::{PATIENCE, SECOND, text};

/// Machines that a worker makes before requests leave theirs.
const FIRST: usize = 8;

/// A host with one worker and a request that has left its machine, if it may.
struct Crowd {
    host: Host,
    id: u64,
    others: Vec<u64>,
}

impl Crowd {
    fn new(program: &Arc<Program>, what: &str, timeout: u64) -> Crowd {
        let mut host = Host::new(program, 1);
        let mut others: Vec<u64> = (0..FIRST).map(|_| host.submit("wait 1", Reply::ByHand)).collect();
        host.until_parked(FIRST);
        host.timeout = timeout;
        let id = host.submit(what, Reply::ByHand);
        host.timeout = PATIENCE;
        // Who was parked last leaves first.
        host.until_heard(id, 1);
        others.push(host.submit("wait 1", Reply::ByHand));
        host.until_heard(others[FIRST], 1);
        Crowd { host, id, others }
    }

    fn others_are_served(mut self, what: &str) {
        for id in self.others {
            assert!(self.host.say(id, 6));
            assert_eq!(text(&self.host.until(id).outcome), "1 6", "beside {what}");
        }
        let stats = self.host.pool.stats();
        assert!(stats.emptied > 0 && stats.lost == 0, "{what}: {stats:?}");
        assert_eq!(self.host.pool.parked(), 0, "{what}");
        assert_eq!(
            text(&self.host.ask("count", Reply::Never).outcome),
            "1",
            "after {what}"
        );
    }
}

#[test]
fn each_goes_on_with_what_it_had_in_whatever_order_they_are_answered() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    host.pool.limit_parking(Parking::default());
    let ids: Vec<u64> = (0..40).map(|_| host.submit("wait 3", Reply::ByHand)).collect();
    for round in 1..=3 {
        ids.iter().for_each(|id| host.until_heard(*id, round));
        // 7 and 40 have no divisor in common.
        for i in 0..40 {
            let id = ids[i * 7 % 40];
            assert!(host.say(id, id as usize));
        }
    }
    for id in ids {
        let done = host.until(id);
        assert_eq!(text(&done.outcome), format!("3 {}", 3 * id));
        assert_eq!((done.stats.said, done.stats.heard), (3, 3));
        assert!((3..100).contains(&done.stats.exits), "{:?}", done.stats);
    }
    let stats = host.pool.stats();
    assert!(
        stats.emptied >= 32 && stats.forks < 30 && stats.lost == 0,
        "{stats:?}"
    );
}

#[test]
fn one_that_is_called_off_or_late_ends_as_in_its_machine() {
    let Some(program) = program() else { return };
    for what in ["wait 1", "dirty", "poll 60000", "thread 60000", "sleep 60000"] {
        let mut crowd = Crowd::new(&program, what, PATIENCE);
        crowd.host.call_off(crowd.id);
        assert_eq!(crowd.host.until(crowd.id).outcome, Outcome::CalledOff, "{what}");
        crowd.others_are_served(what);
    }
    let mut crowd = Crowd::new(&program, "wait 1", 20 * SECOND);
    assert_eq!(crowd.host.until(crowd.id).outcome, Outcome::Timeout);
    crowd.others_are_served("a deadline");
}

#[test]
fn one_that_ends_itself_does_so_in_the_machine_that_it_comes_to() {
    let Some(program) = program() else { return };
    for (what, want) in [("exit", Outcome::Exited(7)), ("segv", Outcome::Killed(11))] {
        let mut crowd = Crowd::new(&program, what, PATIENCE);
        assert!(crowd.host.say(crowd.id, 0));
        assert_eq!(crowd.host.until(crowd.id).outcome, want);
        crowd.others_are_served(what);
    }
}

#[test]
fn the_programs_timer_wakes_one_without_a_machine() {
    let Some(program) = program() else { return };
    let mut crowd = Crowd::new(&program, "sleep 50", PATIENCE);
    assert_eq!(text(&crowd.host.until(crowd.id).outcome), "slept");
    crowd.others_are_served("a timer");
}

#[test]
fn its_program_may_be_retired_and_its_pool_dropped_meanwhile() {
    let Some(program) = program() else { return };
    let mut crowd = Crowd::new(&program, "wait 1", PATIENCE);
    crowd.host.pool.retire(program.id());
    assert!(crowd.host.say(crowd.id, 4));
    assert_eq!(text(&crowd.host.until(crowd.id).outcome), "1 4");
    crowd.others_are_served("a retirement");
    // Their deadlines are minutes away.
    drop(Crowd::new(&program, "wait 1", PATIENCE));
}
