//! Requests that talk with the host: parked while they wait, and every way to end. Skipped aloud without `/dev/kvm` or `cc`.

mod ends;
mod host;

#[path = "../support/c_guest.rs"]
mod c_guest;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use what these do not")]
mod support;

use std::time::{Duration, Instant};

use host::{Host, Reply, program};
use mayfly_pool::{Outcome, Parking, Refused};
use support::{SECOND, text};

#[test]
fn a_request_is_parked_for_each_answer_and_its_machine_is_clean_afterwards() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    for round in 0..3 {
        let id = host.submit("wait 5", Reply::ByHand);
        for said in 0..5 {
            // It ran since the last answer, so this park is another one.
            host.until_heard(id, said + 1);
            host.until_parked(1);
            std::thread::sleep(Duration::from_millis(5));
            assert!(host.say(id, said as usize + 1));
        }
        let done = host.until(id);
        // The guest says bodies of 0 to 4 bytes, and is given one more.
        assert_eq!(text(&done.outcome), "5 15", "{round}");
        assert_eq!((done.stats.said, done.stats.heard), (5, 5));
        assert_eq!(done.stats.parks, 5);
        assert!(done.stats.parked_ns >= 20_000_000, "{:?}", done.stats);
        assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1");
    }
    assert_eq!((host.pool.parked(), host.pool.stats().forks), (0, 1));
}

#[test]
fn a_worker_serves_others_while_requests_are_parked() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    for _ in 0..20 {
        host.submit("wait 1", Reply::ByHand);
    }
    host.until_parked(20);
    let hello = host.submit("count", Reply::Never);
    assert_eq!(text(&host.until(hello).outcome), "1");
    assert_eq!(host.pool.parked(), 20);
    // In another order than they came in.
    let waiting: Vec<u64> = host.under_way().rev().collect();
    for id in waiting {
        assert!(host.say(id, 9));
        assert_eq!(text(&host.until(id).outcome), "1 9");
    }
    assert_eq!(host.pool.parked(), 0);
}

#[test]
fn a_thousand_requests_wait_on_two_workers() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 2);
    host.pool.limit_parking(Parking {
        each: 1000,
        all: 1000,
    });
    // Checked ones are slow.
    host.check = false;
    for _ in 0..1000 {
        host.submit("wait 1", Reply::After(Duration::from_millis(100)));
    }
    let most = host.until_all_are_done(|done| assert_eq!(text(&done.outcome), "1 1"));
    assert!(most > 2, "{most} were parked at once");
    assert_eq!(host.pool.parked(), 0);
}

#[test]
fn the_programs_timers_wake_it_and_the_host_does_before_them() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    for wait in ["poll 10", "epoll 10"] {
        let begin = Instant::now();
        let done = host.ask(wait, Reply::After(Duration::from_secs(1)));
        let answer = text(&done.outcome);
        let vain: u128 = answer.split(' ').next().unwrap().parse().unwrap();
        // A busy host is late, and never early.
        // Waits of a tenth of a millisecond and less take no time.
        let most = begin.elapsed().as_millis() / 9;
        assert!((1..=most).contains(&vain), "{wait}: {answer}, at most {most}");
        assert!(done.stats.parks >= 1, "{:?}", done.stats);
    }
    let done = host.ask("poll 60000", Reply::After(Duration::from_millis(1)));
    assert_eq!(text(&done.outcome), "0 1");
    let done = host.ask("thread 20", Reply::After(Duration::from_millis(1)));
    assert_eq!(text(&done.outcome), "1");
}

#[test]
fn what_a_program_does_not_read_waits_in_bounds_and_does_not_wake_it() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    let id = host.submit("sleep 300", Reply::ByHand);
    host.until_parked(1);
    let mut said = 0_u64;
    while host.say(id, 1000) {
        said += 1;
        assert!(said < 100_000, "its inbox has no bound");
    }
    let done = host.until(id);
    assert_eq!(text(&done.outcome), "slept");
    assert!(
        done.stats.heard <= said && done.stats.parks <= 3,
        "{:?}",
        done.stats
    );
    assert!(!host.say(id, 1), "it has ended");
    assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1");
}

#[test]
fn ten_thousand_messages_at_once_are_heard_and_more_than_may_wait_end_the_request() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    let done = host.ask("burst 10000", Reply::Last(10_000));
    assert_eq!((text(&done.outcome).as_str(), done.stats.said), ("1", 10_000));
    let done = host.ask("tell 2000", Reply::Never);
    assert_eq!((text(&done.outcome).as_str(), done.stats.said), ("told", 2000));
    // Nobody hears.
    for (what, most) in [("tell 100000", 16_384), ("large 100", 7)] {
        let id = host.submit(what, Reply::Never);
        host.listens = false;
        let done = host.until(id);
        assert_eq!(done.outcome, Outcome::OutputOver, "{what}");
        assert!(done.stats.said <= most, "{what}: {}", done.stats.said);
        host.listens = true;
        host.drain();
    }
    assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1");
}

#[test]
fn requests_with_a_channel_are_bounded_for_each_program_and_in_all() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    host.pool.limit_parking(Parking { each: 3, all: 100 });
    let ids = [(); 3].map(|()| host.submit("wait 1", Reply::ByHand));
    assert_eq!(host.try_submit("wait 1"), Err(Refused::Full));
    host.until_parked(3);
    assert_eq!(host.try_submit("wait 1"), Err(Refused::Full));
    host.say(ids[1], 0);
    host.until(ids[1]);
    let again = host.submit("wait 1", Reply::After(Duration::ZERO));
    assert_eq!(text(&host.until(again).outcome), "1 1");
    assert_eq!(host.pool.stats().refused, 2);
}

#[test]
fn a_channel_that_opens_late_counts_from_the_first_message_on() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    host.late = true;
    host.pool.limit_parking(Parking { each: 2, all: 100 });
    // One that says nothing needs no place, and is not parked.
    for _ in 0..5 {
        assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1");
    }
    assert_eq!(host.ask("deadlock", Reply::Never).outcome, Outcome::Stuck);
    let ids = [(); 2].map(|()| host.submit("wait 1", Reply::ByHand));
    host.until_parked(2);
    let third = host.ask("wait 1", Reply::Never);
    assert_eq!((third.outcome, third.stats.said), (Outcome::Refused, 0));
    assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1");
    for id in ids {
        assert!(host.say(id, 0));
        assert_eq!(text(&host.until(id).outcome), "1 0");
    }
    assert_eq!(
        text(&host.ask("wait 1", Reply::After(Duration::ZERO)).outcome),
        "1 1"
    );
    assert_eq!(host.pool.parked(), 0);
}

#[test]
fn a_request_goes_on_for_as_long_as_it_was_given_since() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    host.timeout = 2 * SECOND;
    for (late, what) in [(true, "wait 1"), (false, "spin")] {
        host.late = late;
        let id = host.submit(what, Reply::ByHand);
        host.extend(id, Duration::from_secs(100));
        std::thread::sleep(Duration::from_millis(2200));
        assert!(host.is_under_way(id), "{what}");
        host.extend(id, Duration::ZERO);
        // Parked, it meets its deadline where it goes on.
        let hears = host.say(id, 0);
        assert!(hears, "{what}");
        if what == "spin" {
            host.call_off(id);
        }
        let outcome = host.until(id).outcome;
        assert!(
            matches!(outcome, Outcome::Timeout | Outcome::CalledOff),
            "{what}: {outcome}"
        );
    }
}
