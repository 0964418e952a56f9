//! Requests that talk with the host: parked while they wait, and every way to end. Skipped aloud without `/dev/kvm` or `cc`.

mod away;
mod ends;
mod host;

#[path = "../support/c_guest.rs"]
mod c_guest;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "other tests use what these do not")]
mod support;

use std::time::{Duration, Instant};

use host::{Host, Reply, program};
use mayfly_pool::{Bound, Outcome, Parking, Refused};
use support::{PATIENCE, SECOND, text};

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
        ..Parking::default()
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
    host.pool.limit_parking(Parking {
        each: 3,
        all: 100,
        ..Parking::default()
    });
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
fn the_memory_of_parked_machines_is_bounded_and_given_back() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    let limit = |each: u64, all: u64| Parking {
        each_bytes: each << 20,
        all_bytes: all << 20,
        ..Parking::default()
    };
    host.pool.limit_parking(limit(24, 24));
    assert_eq!(host.pool.parked_bytes(), 0);
    for end in ["answer", "call off", "deadline"] {
        // It wrote to 16 MiB.
        host.timeout = if end == "deadline" { 5 * SECOND } else { PATIENCE };
        let large = host.submit("dirty", Reply::ByHand);
        host.until_parked(1);
        let held = host.pool.parked_bytes();
        assert!((16 << 20..24 << 20).contains(&held), "{held}");
        // Another that would hold as much has no room, and has not begun.
        assert_eq!(host.try_submit("dirty"), Err(Refused::Full), "{end}");
        // One without a channel needs none.
        match end {
            "answer" => assert!(host.say(large, 1)),
            "call off" => host.call_off(large),
            _ => {}
        }
        let done = host.until(large);
        assert!(!matches!(done.outcome, Outcome::Refused(_)), "{}", done.outcome);
        assert_eq!((host.pool.parked(), host.pool.parked_bytes()), (0, 0), "{end}");
        assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1", "{end}");
    }
    host.timeout = PATIENCE;
    // One that comes to hold more than there is room for ends where it was to be parked.
    for (limits, bound) in [
        (limit(8, 100), Bound::MemoryOfOne),
        (limit(100, 8), Bound::MemoryOfAll),
    ] {
        host.pool.limit_parking(limits);
        let small = host.submit("wait 1", Reply::ByHand);
        host.until_parked(1);
        let large = host.ask("dirty", Reply::Never);
        assert_eq!(large.outcome, Outcome::Refused(bound));
        // Its neighbour goes on, and its machine serves the next one as from the snapshot.
        assert!(host.say(small, 2));
        assert_eq!(text(&host.until(small).outcome), "1 2");
        assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1");
        assert_eq!((host.pool.parked(), host.pool.parked_bytes()), (0, 0));
    }
    let stats = host.pool.stats();
    assert_eq!((stats.outcomes["refused"], stats.refused, stats.lost), (2, 3, 0));
}

#[test]
fn memory_counts_that_a_machine_kept_from_earlier_requests() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    // A machine that is reset keeps pages that its requests use often.
    for _ in 0..8 {
        assert_eq!(
            text(&host.ask("dirty", Reply::After(Duration::ZERO)).outcome),
            "dirtied"
        );
    }
    let first = host.submit("wait 1", Reply::ByHand);
    host.until_parked(1);
    assert!(
        host.pool.parked_bytes() > 16 << 20,
        "{}",
        host.pool.parked_bytes()
    );
    // What it wrote to between two parks counts as well.
    let second = host.submit("wait 2", Reply::ByHand);
    host.until_parked(2);
    let before = host.pool.parked_bytes();
    host.until_heard(second, 1);
    assert!(host.say(second, 1));
    host.until_heard(second, 2);
    host.until_parked(2);
    assert!(host.pool.parked_bytes() >= before, "{before}");
    for id in [first, second] {
        host.say(id, 1);
        host.until(id);
    }
    assert_eq!(host.pool.parked_bytes(), 0);
}

#[test]
fn a_channel_that_opens_late_counts_from_the_first_message_on() {
    let Some(program) = program() else { return };
    let mut host = Host::new(&program, 1);
    host.late = true;
    host.pool.limit_parking(Parking {
        each: 2,
        all: 100,
        ..Parking::default()
    });
    // One that says nothing needs no place, and is not parked.
    for _ in 0..5 {
        assert_eq!(text(&host.ask("count", Reply::Never).outcome), "1");
    }
    assert_eq!(host.ask("deadlock", Reply::Never).outcome, Outcome::Stuck);
    let ids = [(); 2].map(|()| host.submit("wait 1", Reply::ByHand));
    host.until_parked(2);
    let third = host.ask("wait 1", Reply::Never);
    assert_eq!(
        (third.outcome, third.stats.said),
        (Outcome::Refused(Bound::Number), 0)
    );
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
