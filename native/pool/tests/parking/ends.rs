//! A park at every point of a request's life, ended at each; after each the next request meets a clean machine.

use std::sync::Arc;
use std::time::Duration;

use mayfly_pool::{Outcome, Program};

use super::host::{Host, Reply, boot, program};
use super::support::{SECOND, text};

/// What a request does until it is parked, and whether it is parked then.
const POINTS: [(&str, bool); 7] = [
    ("wait 1", true),
    ("dirty", true),
    ("poll 60000", true),
    ("thread 60000", true),
    ("sleep 60000", true),
    ("half", true),
    ("spin", false),
];

/// A host whose next request is clean.
struct Ends {
    host: Host,
}

impl Ends {
    fn new(program: &Arc<Program>) -> Ends {
        Ends {
            host: Host::new(program, 1),
        }
    }

    fn begin(&mut self, what: &str, parks: bool) -> u64 {
        let id = self.host.submit(what, Reply::ByHand);
        if parks {
            self.host.until_parked(1);
        }
        id
    }

    fn is_clean_after(&mut self, what: &str) {
        assert_eq!(self.host.pool.parked(), 0, "{what}");
        let next = self.host.ask("count", Reply::Never);
        assert_eq!(text(&next.outcome), "1", "after {what}");
    }
}

#[test]
fn the_deadline_ends_it_at_every_point() {
    let Some(program) = program() else { return };
    let mut ends = Ends::new(&program);
    for (what, parks) in POINTS {
        // On a busy machine it may not come to the point in the first of these times.
        let comes_to_it = [SECOND / 5, SECOND, 5 * SECOND, 25 * SECOND]
            .into_iter()
            .any(|time| {
                ends.host.timeout = time;
                let id = ends.begin(what, false);
                let done = ends.host.until(id);
                assert_eq!(done.outcome, Outcome::Timeout, "{what}");
                ends.host.timeout = 100 * SECOND;
                ends.is_clean_after(what);
                !parks || done.stats.parks > 0
            });
        assert!(comes_to_it, "{what} is never parked");
    }
}

#[test]
fn the_host_calls_it_off_at_every_point() {
    let Some(program) = program() else { return };
    let mut ends = Ends::new(&program);
    for (what, parks) in POINTS {
        let id = ends.begin(what, parks);
        ends.host.call_off(id);
        assert_eq!(ends.host.until(id).outcome, Outcome::CalledOff, "{what}");
        ends.is_clean_after(what);
    }
    // Before it began, and after it ended.
    let (spins, waits) = (ends.begin("spin", false), ends.begin("wait 1", false));
    ends.host.call_off(waits);
    ends.host.call_off(spins);
    for id in [spins, waits] {
        assert_eq!(ends.host.until(id).outcome, Outcome::CalledOff);
        ends.host.call_off(id);
    }
    ends.is_clean_after("all");
}

#[test]
fn it_ends_itself_behind_a_park() {
    let Some(program) = program() else { return };
    let mut ends = Ends::new(&program);
    for (what, want) in [("exit", Outcome::Exited(7)), ("segv", Outcome::Killed(11))] {
        let id = ends.begin(what, true);
        assert!(ends.host.say(id, 0));
        assert_eq!(ends.host.until(id).outcome, want);
        ends.is_clean_after(what);
    }
    let stuck = ends.host.ask("deadlock", Reply::Never);
    assert_eq!(stuck.outcome, Outcome::Stuck);
    ends.is_clean_after("deadlock");
}

#[test]
fn what_is_no_message_ends_it_and_what_comes_with_the_answer_is_heard() {
    let Some(program) = program() else { return };
    let mut ends = Ends::new(&program);
    assert_eq!(
        ends.host.ask("long-head", Reply::Never).outcome,
        Outcome::OutputOver
    );
    ends.is_clean_after("long-head");
    let done = ends.host.ask("no-exchange", Reply::Never);
    assert!(matches!(&done.outcome, Outcome::Misbehaved(why) if why.contains("header of 3 bytes")));
    ends.is_clean_after("no-exchange");
    let done = ends.host.ask("with-answer", Reply::Never);
    assert_eq!((text(&done.outcome).as_str(), done.stats.said), ("two", 1));
    ends.is_clean_after("with-answer");
    let done = ends.host.ask("after", Reply::Never);
    assert_eq!((text(&done.outcome).as_str(), done.stats.said), ("answered", 0));
    ends.is_clean_after("after");
}

#[test]
fn a_pool_that_is_closed_serves_them_to_their_end_and_one_that_is_dropped_ends_them() {
    let Some(program) = program() else { return };
    let mut ends = Ends::new(&program);
    let id = ends.begin("wait 1", true);
    ends.host.pool.close();
    assert!(ends.host.say(id, 4));
    assert_eq!(text(&ends.host.until(id).outcome), "1 4");
    let mut ends = Ends::new(&program);
    for _ in 0..5 {
        ends.host.submit("wait 1", Reply::ByHand);
    }
    ends.host.until_parked(3);
    // Their deadlines are minutes away.
    drop(ends);
}

#[test]
fn its_program_may_be_retired_meanwhile() {
    let Some(program) = program() else { return };
    let mut ends = Ends::new(&program);
    let id = ends.begin("wait 1", true);
    ends.host.pool.retire(program.id());
    assert!(ends.host.say(id, 4));
    assert_eq!(text(&ends.host.until(id).outcome), "1 4");
    ends.is_clean_after("its retirement");
    assert_eq!(ends.host.pool.stats().forks, 2);
}

#[test]
fn a_park_takes_no_cpu_time_and_work_behind_it_does() {
    let Some(program) = boot(|spec| spec.limits.cpu_ns = Some(SECOND)) else {
        return;
    };
    let mut ends = Ends::new(&program);
    // Longer than it may work, which is long beside its work on any busy machine.
    let wait = Reply::After(Duration::from_millis(1500));
    assert_eq!(text(&ends.host.ask("work 1", wait).outcome), "worked");
    let wait = Reply::After(Duration::ZERO);
    assert_eq!(ends.host.ask("work 100000", wait).outcome, Outcome::CpuOver);
    ends.is_clean_after("work");
}
