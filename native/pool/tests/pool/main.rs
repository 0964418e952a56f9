//! Requests through real machines: every way to end, and a clean machine after each. Skipped aloud without `/dev/kvm` or `cc`.

mod loaded;

#[path = "../support/apart.rs"]
mod apart;
#[path = "../support/c_guest.rs"]
mod c_guest;
#[path = "../support/rounds.rs"]
mod rounds;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use c_guest::{compile, compiled, spec};
use mayfly_pool::{BootError, Completion, Job, Outcome, Pool, Program, Refused, WarmupRequest};
use rounds::rounds;
use support::{Client, PATIENCE, SECOND, frame, host, text};

/// Compiles the guest once in each linkage; without a compiler each test says so.
fn guest(linkage: &str) -> Option<String> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    let built = BUILT.get_or_init(|| ["", "-static", "-static-pie"].iter().all(|l| compile("pool", l)));
    built.then(|| compiled("pool", linkage))
}

/// A program that all tests share.
fn program() -> Option<Arc<Program>> {
    static PROGRAM: OnceLock<Option<Arc<Program>>> = OnceLock::new();
    PROGRAM.get_or_init(another_program).clone()
}

fn another_program() -> Option<Arc<Program>> {
    let (host, path) = (host()?, guest("-static")?);
    let mut warm = vec![frame("warm", b""); 3];
    let booted = Program::boot(&host, &spec(&path), &mut |_| warm.pop().map(WarmupRequest::new));
    Some(Arc::new(booted.unwrap()))
}

#[test]
fn nothing_survives_a_request() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let clean = text(&client.ask("look"));
    assert!(clean.starts_with("0 0 0 3 0 / 0"), "{clean}");
    for _ in 0..rounds(5) {
        assert_eq!(text(&client.ask("count")), "1");
        assert_eq!(text(&client.ask("dirty")), "dirtied");
        assert_eq!(text(&client.ask("look")), clean);
    }
}

#[test]
fn ordinary_requests_are_answered() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    for _ in 0..rounds(3) {
        assert_eq!(text(&client.ask("hello")), "echo hello 25");
        assert_eq!(text(&client.ask("threads")), "3000");
        assert_eq!(text(&client.ask("spin-on-thread")), "set");
        assert_eq!(text(&client.ask("vectors")), "0.333");
        assert_eq!(text(&client.ask("sleep")), "slept");
        assert_eq!(text(&client.ask("big")).len(), 600_000);
        assert_eq!(text(&client.ask("close")), "closed");
        assert_eq!(text(&client.ask("wild")), "survived");
    }
}

#[test]
fn randomness_is_fresh_in_every_request() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        assert!(seen.insert(text(&client.ask("random"))));
    }
}

#[test]
fn every_bad_end_has_its_name_and_the_next_request_is_clean() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let cases = [
        ("spin", Outcome::Timeout),
        ("spin-calls", Outcome::Timeout),
        ("exit", Outcome::Exited(7)),
        ("segv", Outcome::Killed(11)),
        ("abort", Outcome::Killed(6)),
        ("recurse", Outcome::Killed(11)),
        ("memory", Outcome::OutOfMemory),
        ("stuck", Outcome::Stuck),
    ];
    for (what, want) in cases {
        let timeout = if want == Outcome::Timeout {
            SECOND / 10
        } else {
            PATIENCE
        };
        assert_eq!(client.send(frame(what, b""), timeout), want, "{what}");
        assert_eq!(text(&client.ask("count")), "1", "after {what}");
    }
    for what in ["output", "garbage"] {
        let outcome = client.ask(what);
        assert!(
            matches!(outcome, Outcome::Misbehaved(_) | Outcome::OutputOver),
            "{what}: {outcome}"
        );
        assert_eq!(text(&client.ask("count")), "1", "after {what}");
    }
}

#[test]
fn static_pie_and_dynamic_programs_run() {
    for linkage in ["-static-pie", ""] {
        let (Some(host), Some(path)) = (host(), guest(linkage)) else {
            return;
        };
        let program = Arc::new(Program::boot(&host, &spec(&path), &mut |_| None).unwrap());
        let mut client = Client::new(&program);
        for _ in 0..3 {
            assert_eq!(text(&client.ask("count")), "1");
            assert_eq!(text(&client.ask("threads")), "3000");
        }
    }
}

#[test]
fn a_program_that_does_not_wait_is_refused_with_its_words() {
    let (Some(host), Some(path)) = (host(), guest("-static")) else {
        return;
    };
    let mut spec = spec(&path);
    spec.path = "/missing".into();
    assert!(matches!(
        Program::boot(&host, &spec, &mut |_| None),
        Err(BootError::Exec(_))
    ));
    spec.path = "/program".into();
    let mut frames = vec![frame("exit", b"")];
    match Program::boot(&host, &spec, &mut |_| frames.pop().map(WarmupRequest::new)) {
        Err(BootError::Ended { what, .. }) => assert!(what.contains("Exit(7)"), "{what}"),
        other => panic!("{other:?}"),
    }
}

fn job(program: &Arc<Program>, id: u64, what: &str) -> Job {
    let timeout_ns = if what == "spin" { SECOND / 10 } else { PATIENCE };
    Job {
        id,
        program: program.clone(),
        flow: 0,
        weight: 1,
        frame: frame(what, b""),
        timeout_ns,
        keep: false,
        check: false,
        channel: None,
    }
}

fn fetch_all(pool: &Pool, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    while done.len() < count {
        let n = pool.fetch(&mut done, 100, Duration::from_nanos(PATIENCE));
        assert!(n > 0, "waited in vain for completion {} of {count}", done.len());
    }
    done.sort_by_key(|c| c.id);
    done
}

#[test]
fn pool_answers_all_and_counts_them() {
    let Some(program) = program() else { return };
    let pool = Pool::start(2, 1000).unwrap();
    pool.prepare(&program);
    let kinds = ["count", "spin", "segv", "memory", "log"];
    let rounds = rounds(10);
    let jobs = 20 * rounds;
    for id in 0..jobs as u64 {
        let what = if id % 20 < 5 {
            kinds[id as usize % 20]
        } else {
            "count"
        };
        pool.submit(job(&program, id, what)).unwrap();
    }
    for done in fetch_all(&pool, jobs) {
        let want = match done.id % 20 {
            1 => Outcome::Timeout.name(),
            2 => Outcome::Killed(11).name(),
            3 => Outcome::OutOfMemory.name(),
            _ => "answered",
        };
        assert_eq!(done.outcome.name(), want, "{}: {}", done.id, done.outcome);
        match done.id % 20 {
            4 => assert_eq!(
                (text(&done.outcome).as_str(), &done.traces.log[..]),
                ("logged", &b"a line\n"[..])
            ),
            1..=3 => {}
            _ => assert_eq!(text(&done.outcome), "1"),
        }
        assert!(done.stats.run_ns > 0 && done.stats.exits > 0);
    }
    let stats = pool.stats();
    assert_eq!(stats.outcomes.values().sum::<u64>(), jobs as u64);
    assert_eq!(
        (stats.outcomes["timeout"], stats.outcomes["killed"], stats.lost),
        (rounds as u64, rounds as u64, 0)
    );
    assert_eq!(stats.forks, 2);
}

#[test]
fn full_queue_refuses_and_gives_the_job_back() {
    let Some(program) = program() else { return };
    let pool = Pool::start(1, 2).unwrap();
    let mut refused = 0;
    for id in 0..10 {
        let spin = Job {
            timeout_ns: SECOND / 2,
            ..job(&program, id, "spin")
        };
        if let Err((job, why)) = pool.submit(spin) {
            assert_eq!((job.id, why), (id, Refused::Full));
            refused += 1;
        }
    }
    assert!((7..=8).contains(&refused), "{refused}");
    assert_eq!(pool.stats().refused, refused);
    fetch_all(&pool, 10 - refused as usize);
    pool.submit(job(&program, 11, "count")).unwrap();
    assert_eq!(text(&fetch_all(&pool, 1)[0].outcome), "1");
}

#[test]
fn lines_are_served_in_turn() {
    let Some(program) = program() else { return };
    let pool = Pool::start(1, 20).unwrap();
    let submit = |id, flow, what, timeout_ns| {
        let job = Job {
            flow,
            timeout_ns,
            keep: what == "spin",
            ..job(&program, id, what)
        };
        pool.submit(job).unwrap();
    };
    // One that keeps its state gives way to nobody: it holds the worker until all the others wait.
    submit(0, 2, "spin", 2 * SECOND);
    (1..6).for_each(|id| submit(id, 0, "count", 20 * SECOND));
    submit(6, 1, "count", 20 * SECOND);
    let mut done = Vec::new();
    while done.len() < 7 {
        assert!(pool.fetch(&mut done, 100, Duration::from_secs(20)) > 0);
    }
    assert_eq!(
        done.iter().map(|c| c.id).collect::<Vec<_>>(),
        [0, 1, 6, 2, 3, 4, 5]
    );
}

/// One worker, two requests that compute and one that came last and is brief.
#[test]
fn who_computes_gives_way_and_goes_on_where_it_was() {
    let Some(program) = program() else { return };
    let pool = Pool::start(1, 20).unwrap();
    for (id, what) in [(0, "compute"), (1, "spin"), (2, "count")] {
        pool.submit(Job {
            flow: id as u32,
            check: true,
            ..job(&program, id, what)
        })
        .unwrap();
    }
    let mut done = Vec::new();
    while done.len() < 3 {
        assert!(pool.fetch(&mut done, 100, Duration::from_nanos(PATIENCE)) > 0);
    }
    assert_eq!((done[0].id, text(&done[0].outcome).as_str()), (2, "1"));
    done.sort_by_key(|done| done.id);
    assert_eq!(text(&done[0].outcome), "7abae2d0a1937501");
    assert_eq!(done[1].outcome, Outcome::Timeout);
    // Its timeout is of the time that it ran; while it gave way it waited in the queue. What it computed between two looks at the clock
    // counts for its timeout, not for what is told.
    let stats = done[1].stats;
    assert!(stats.run_ns >= SECOND / 11 && stats.queue_ns > 0, "{stats:?}");
    assert_eq!((pool.parked(), pool.stats().lost), (0, 0));
}

#[test]
fn kept_state_stays_until_a_request_fails() {
    let Some(program) = program() else { return };
    let pool = Pool::start(1, 10).unwrap();
    let mut answers = Vec::new();
    for (id, what) in ["count", "count", "count", "segv", "count"]
        .into_iter()
        .enumerate()
    {
        pool.submit(Job {
            keep: true,
            ..job(&program, id as u64, what)
        })
        .unwrap();
        answers.push(text(&fetch_all(&pool, 1)[0].outcome));
    }
    assert_eq!(answers, ["1", "2", "3", "(killed by signal 11)", "1"]);
}

/// Checked requests pass after a reset, and fail where there is none.
#[test]
fn a_checked_request_fails_in_a_machine_that_is_not_its_snapshot() {
    let Some(program) = program() else { return };
    let pool = Pool::start(1, 10).unwrap();
    for (id, (keep, name)) in [(false, "answered"), (true, "failed"), (false, "answered")]
        .into_iter()
        .enumerate()
    {
        pool.submit(Job {
            keep,
            check: true,
            ..job(&program, id as u64, "count")
        })
        .unwrap();
        let done = fetch_all(&pool, 1).remove(0);
        assert_eq!(done.outcome.name(), name, "{}", done.outcome);
    }
    assert_eq!(pool.stats().lost, 1);
}

/// A byte of memory, of the vector registers or of a table that was not put back is seen.
#[cfg(feature = "mutations")]
#[test]
fn the_check_sees_what_a_reset_left_out() {
    use mayfly_pool::LeftOut;
    use mayfly_vmm::ResetStep;

    let Some(program) = program() else { return };
    let seen = |what: &str, left_out: LeftOut| {
        let mut client = Client::new(&program);
        client.run(frame(what, b""), 5 * SECOND).unwrap();
        client.instance.reset_without(left_out).unwrap();
        client.instance.check().is_err()
    };
    for step in [ResetStep::Pages, ResetStep::Integers] {
        assert!(seen("count", LeftOut::Machine(step)), "{step:?}");
    }
    assert!(seen("vectors", LeftOut::Machine(ResetStep::Vectors)));
    let steps = LeftOut::all().filter(|step| matches!(step, LeftOut::Kernel(_)));
    let unseen: Vec<_> = steps.filter(|step| !seen("dirty", *step)).collect();
    assert!(unseen.len() < 8, "{unseen:?}");
}

#[test]
fn retired_programs_leave_no_machine() {
    let Some(program) = program() else { return };
    let pool = Pool::start(1, 10).unwrap();
    for id in 0..3 {
        pool.submit(job(&program, id, "count")).unwrap();
        assert_eq!(text(&fetch_all(&pool, 1)[0].outcome), "1");
        pool.retire(program.id());
    }
    pool.submit(job(&program, 4, "count")).unwrap();
    fetch_all(&pool, 1);
    assert_eq!(pool.stats().forks, 4);
}

#[test]
fn machines_that_nobody_asks_go_and_those_with_state_stay() {
    let (Some(program), Some(stateful)) = (program(), another_program()) else {
        return;
    };
    let pool = Pool::start(1, 10).unwrap();
    let run = |id: u64, program: &Arc<Program>, keep: bool| {
        let job = Job {
            keep,
            ..job(program, id, "count")
        };
        pool.submit(job).unwrap();
        text(&fetch_all(&pool, 1)[0].outcome)
    };
    let counts = [run(1, &program, false), run(2, &stateful, true)];
    assert_eq!(counts, ["1", "1"]);
    // They have not waited for an hour.
    pool.drop_idle(3600 * 1_000_000_000);
    assert_eq!((run(3, &program, false), pool.stats().forks), ("1".to_owned(), 2));
    pool.drop_idle(0);
    let after = [run(4, &program, false), run(5, &stateful, true)];
    assert_eq!((after, pool.stats().forks), (["1".to_owned(), "2".to_owned()], 3));
    // Who takes its state back is as any other.
    assert_eq!(run(6, &stateful, false), "3");
    pool.drop_idle(0);
    assert_eq!((run(7, &stateful, true), pool.stats().forks), ("1".to_owned(), 4));
}
