//! Every limit on a real machine: at it, one below, one above, and a clean machine after each. Skipped aloud without `/dev/kvm`
//! or `cc`.

#[path = "../support/c_guest.rs"]
mod c_guest;
#[path = "../support/rounds.rs"]
mod rounds;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "requests here are asked for their traces too")]
mod support;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use c_guest::{compile, compiled, spec};
use mayfly_pool::{Completion, Instance, Job, Limits, Outcome, Pool, Program, Reason, Traces, WarmupRequest};
use mayfly_vmm::{Alarm, monotonic_ns, thread_cpu_ns};
use rounds::rounds;
use support::{PATIENCE, frame, host, text};

const MS: u64 = 1_000_000;
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const EMFILE: i32 = 24;

/// A program with limits of its own, and a machine of it.
struct Bounded {
    instance: Instance,
    alarm: Alarm,
    traces: Traces,
}

impl Bounded {
    fn new(limits: Limits) -> Option<Bounded> {
        Some(Bounded {
            instance: Instance::new(&program(limits)?).unwrap(),
            alarm: Alarm::new().unwrap(),
            traces: Traces::default(),
        })
    }

    /// One request, a reset and the strict check; then a small request, which must meet a clean machine.
    fn ask(&mut self, what: &str) -> Outcome {
        let outcome = self.run(what);
        let traces = std::mem::take(&mut self.traces);
        assert_eq!(text(&self.run("hello")), "hello", "after {what}");
        assert_eq!(self.traces, Traces::default(), "after {what}");
        self.traces = traces;
        outcome
    }

    fn run(&mut self, what: &str) -> Outcome {
        let outcome = self.run_unchecked(what);
        self.instance.check().unwrap();
        outcome
    }

    fn run_unchecked(&mut self, what: &str) -> Outcome {
        let deadline = monotonic_ns() + PATIENCE;
        let outcome = self
            .instance
            .handle(frame(what, b""), &mut self.alarm, deadline)
            .unwrap();
        self.traces = self.instance.take_traces();
        self.instance.reset().unwrap();
        outcome
    }

    /// What the request was denied: name of the call, reason, times.
    fn denied(&self) -> Vec<(String, &'static str, u64)> {
        let tell = |d: &mayfly_pool::Denial| {
            let call = mayfly_pool::call_name(d.call).to_string();
            (call, d.reason.name(), d.times)
        };
        self.traces.denials.iter().map(tell).collect()
    }
}

fn program(limits: Limits) -> Option<Arc<Program>> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    let host = host()?;
    if !*BUILT.get_or_init(|| compile("limits", "-static")) {
        return None;
    }
    let mut spec = spec(&compiled("limits", "-static"));
    spec.limits = limits;
    let mut warm = vec![frame("warm", b"")];
    let booted = Program::boot(&host, &spec, &mut |_| warm.pop().map(WarmupRequest::new));
    Some(Arc::new(booted.unwrap()))
}

fn limits() -> Limits {
    Limits {
        memory_bytes: 32 << 20,
        output_bytes: 1 << 20,
        boot_ns: PATIENCE,
        ..Limits::default()
    }
}

/// The answer of a case that got all `n` of what it asked for.
fn all(n: impl std::fmt::Display) -> String {
    format!("{n} 0")
}

#[test]
fn descriptors_end_in_emfile() {
    let Some(mut guest) = Bounded::new(Limits {
        descriptors: 20,
        ..limits()
    }) else {
        return;
    };
    // Three are open from the start.
    for n in [16, 17] {
        assert_eq!(text(&guest.ask(&format!("descriptors {n}"))), all(n));
        assert_eq!(guest.denied(), []);
    }
    assert_eq!(text(&guest.ask("descriptors 18")), format!("17 {EMFILE}"));
    assert_eq!(guest.denied(), [("dup".into(), "files", 1)]);
}

#[test]
fn threads_end_in_eagain() {
    let Some(mut guest) = Bounded::new(Limits {
        threads: 5,
        ..limits()
    }) else {
        return;
    };
    for n in [3, 4] {
        assert_eq!(text(&guest.ask(&format!("threads {n}"))), all(n));
        assert_eq!(guest.denied(), []);
    }
    assert_eq!(text(&guest.ask("threads 5")), format!("4 {EAGAIN}"));
    let denied = guest.denied();
    assert_eq!(
        denied.iter().map(|d| (d.1, d.2)).collect::<Vec<_>>(),
        [("threads", 1)],
        "{denied:?}"
    );
}

#[test]
fn mappings_end_in_enomem() {
    let Some(mut guest) = Bounded::new(Limits {
        mappings: 60,
        ..limits()
    }) else {
        return;
    };
    let outcome = text(&guest.ask("mappings 1000"));
    let (most, error) = outcome.split_once(' ').unwrap();
    assert_eq!(error, ENOMEM.to_string());
    assert_eq!(guest.denied(), [("mmap".into(), "mappings", 1)]);
    let most: i32 = most.parse().unwrap();
    assert!((20..60).contains(&most), "{most}");
    for n in [most - 1, most] {
        assert_eq!(text(&guest.ask(&format!("mappings {n}"))), all(n));
        assert_eq!(guest.denied(), []);
    }
    // One more mapping allowed is one more got.
    let mut wider = Bounded::new(Limits {
        mappings: 61,
        ..limits()
    })
    .unwrap();
    assert_eq!(
        text(&wider.ask("mappings 1000")),
        format!("{} {ENOMEM}", most + 1)
    );
}

#[test]
fn address_space_and_files_end_in_their_errors() {
    let Some(mut guest) = Bounded::new(limits()) else {
        return;
    };
    assert_eq!(text(&guest.ask("reserve 4000")), all(4000));
    assert_eq!(guest.denied(), []);
    assert_eq!(text(&guest.ask("reserve 4096")), format!("4096 {ENOMEM}"));
    assert_eq!(guest.denied(), [("mmap".into(), "addressSpace", 1)]);
    assert_eq!(text(&guest.ask("write-file 16")), all(16));
    assert!(text(&guest.ask("write-file 17")).starts_with("16 "));
    assert_eq!(guest.denied()[0].1, "fileSpace");
}

#[test]
fn system_calls_end_the_request() {
    let Some(mut guest) = Bounded::new(Limits {
        calls: 50,
        ..limits()
    }) else {
        return;
    };
    // The answer is a call too.
    for n in [48, 49] {
        assert_eq!(text(&guest.ask(&format!("calls {n}"))), all(n));
    }
    assert_eq!(guest.ask("calls 50"), Outcome::CallsOver);
    assert_eq!(guest.ask("call-for-ever"), Outcome::CallsOver);
}

#[test]
fn output_ends_the_request() {
    let limit = 9000;
    let Some(mut guest) = Bounded::new(Limits {
        output_bytes: limit,
        ..limits()
    }) else {
        return;
    };
    for n in [limit - 1, limit] {
        let Outcome::Answered(frame) = guest.ask(&format!("body {n}")) else {
            panic!("{n} bytes were refused");
        };
        assert_eq!(frame.len(), 18 + n as usize);
    }
    assert_eq!(guest.ask(&format!("body {}", limit + 1)), Outcome::OutputOver);
}

#[test]
fn the_log_is_cut_and_the_request_answered() {
    let Some(mut guest) = Bounded::new(Limits {
        log_bytes: 1000,
        ..limits()
    }) else {
        return;
    };
    for (n, kept, dropped) in [
        (999, 999, 0),
        (1000, 1000, 0),
        (1001, 1000, 1),
        (5000, 1000, 4000),
    ] {
        assert_eq!(text(&guest.ask(&format!("log {n}"))), all(n));
        assert_eq!(
            (guest.traces.log.len(), guest.traces.log_dropped),
            (kept, dropped)
        );
    }
}

#[test]
fn memory_ends_the_request_at_the_same_page_each_time() {
    let Some(mut guest) = Bounded::new(limits()) else {
        return;
    };
    let outcome = text(&guest.ask("free 0"));
    let free: u64 = outcome.split_once(' ').unwrap().0.parse().unwrap();
    // `fits` pages fit, `over` do not; what else a case touches is a few pages more or less.
    let (mut fits, mut over) = (free - 64, free + 64);
    assert_eq!(text(&guest.run(&format!("touch {fits}"))), all(fits));
    assert_eq!(guest.run(&format!("touch {over}")), Outcome::OutOfMemory);
    while over - fits > 1 {
        let middle = fits.midpoint(over);
        match guest.run_unchecked(&format!("touch {middle}")) {
            Outcome::Answered(_) => fits = middle,
            Outcome::OutOfMemory => over = middle,
            other => panic!("{middle}: {other}"),
        }
    }
    for _ in 0..rounds(3) {
        for n in [fits - 1, fits] {
            assert_eq!(text(&guest.ask(&format!("touch {n}"))), all(n));
        }
        assert_eq!(guest.ask(&format!("touch {over}")), Outcome::OutOfMemory);
    }
}

#[test]
fn cpu_time_ends_the_request_and_waiting_costs_none() {
    let Some(mut guest) = Bounded::new(Limits {
        cpu_ns: Some(300 * MS),
        ..limits()
    }) else {
        return;
    };
    assert_eq!(text(&guest.ask("work 20")), all(20));
    // The clock jumps: a sleep of an hour is no time at all.
    assert_eq!(text(&guest.ask("sleep 3600000")), all(3_600_000));
    for case in ["work 100000", "call-for-ever"] {
        let before = thread_cpu_ns();
        assert_eq!(guest.run(case), Outcome::CpuOver);
        let used = thread_cpu_ns() - before;
        assert!(used >= 300 * MS, "{case}: stopped after {used} ns of CPU time");
        assert_eq!(text(&guest.ask("work 20")), all(20), "after {case}");
    }
}

#[test]
fn a_deadline_ends_a_call_that_is_under_way() {
    let Some(mut guest) = Bounded::new(Limits {
        cpu_ns: Some(50 * MS),
        ..limits()
    }) else {
        return;
    };
    for case in ["devour 1", "devour 2"] {
        let exits = guest.instance.exits();
        assert_eq!(guest.ask(case), Outcome::CpuOver, "{case}");
        // The guest made two calls: what is more are pieces of the second, with a look at the deadline before each.
        assert!(guest.instance.exits() - exits > 8, "{case}");
    }
    let Some(mut guest) = Bounded::new(limits()) else {
        return;
    };
    let exits = guest.instance.exits();
    let deadline = monotonic_ns() + 100 * MS;
    let outcome = guest
        .instance
        .handle(frame("devour 1", b""), &mut guest.alarm, deadline);
    assert_eq!(outcome.unwrap(), Outcome::Timeout);
    assert!(guest.instance.exits() - exits > 4);
    guest.instance.reset().unwrap();
    guest.instance.check().unwrap();
    assert_eq!(text(&guest.ask("nested-sets")), all(1024));
    assert_eq!(text(&guest.ask("hello")), "hello");
}

#[test]
fn a_cpu_deadline_is_never_missed_however_short() {
    let Some(mut guest) = Bounded::new(Limits {
        cpu_ns: Some(MS / 2),
        // The boot is not bounded by it.
        ..limits()
    }) else {
        return;
    };
    // Deadlines that end before the first entry, at an entry, in ring 3 and in calls.
    for i in 0..300 {
        let case = if i % 2 == 0 {
            "work 100000"
        } else {
            "call-for-ever"
        };
        assert_eq!(guest.run_unchecked(case), Outcome::CpuOver, "{i}");
    }
    guest.instance.check().unwrap();
}

#[test]
fn work_that_waits_for_its_core_is_not_charged() {
    let Some(mut guest) = Bounded::new(Limits {
        cpu_ns: Some(400 * MS),
        ..limits()
    }) else {
        return;
    };
    // Others take this thread's core as often as they can, so the work lasts longer than the limit by the wall's clock.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 * std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let begin = monotonic_ns();
        let outcome = text(&guest.run("work 600"));
        let wall = monotonic_ns() - begin;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(outcome, all(600));
        assert!(wall >= 600 * MS, "{wall} ns by the wall's clock");
    });
}

#[test]
fn what_a_guest_may_not_have_is_told_by_call_and_reason() {
    let Some(mut guest) = Bounded::new(limits()) else {
        return;
    };
    assert_eq!(text(&guest.ask("beyond 0")), all(0));
    let told = [
        ("sys_9999", Reason::Call, 3),
        ("socket", Reason::Network, 1),
        ("fork", Reason::Process, 1),
        ("execve", Reason::Process, 1),
        ("ptrace", Reason::Process, 1),
    ];
    let told = told.map(|(call, reason, times)| (call.to_owned(), reason.name(), times));
    assert_eq!(guest.denied(), told);
    assert_eq!(text(&guest.ask("many-unknown 100")), all(100));
    assert_eq!(guest.denied().len(), 16, "the rest is left out");
}

#[test]
fn the_pool_counts_what_was_met() {
    let Some(program) = program(Limits {
        log_bytes: 10,
        calls: 500,
        descriptors: 4,
        cpu_ns: Some(200 * MS),
        ..limits()
    }) else {
        return;
    };
    let pool = Pool::start(1, 10).unwrap();
    let cases = [
        ("log 11", "answered"),
        ("call-for-ever", "calls"),
        ("work 100000", "cpu"),
        ("descriptors 5", "answered"),
        ("beyond 0", "answered"),
        ("hello", "answered"),
    ];
    let mut done: Vec<Completion> = Vec::new();
    for (id, (case, want)) in cases.into_iter().enumerate() {
        let job = Job {
            id: id as u64,
            program: program.clone(),
            frame: frame(case, b""),
            timeout_ns: PATIENCE,
            flow: 0,
            weight: 1,
            keep: false,
            check: false,
            channel: None,
        };
        pool.submit(job).unwrap();
        done.clear();
        assert_eq!(pool.fetch(&mut done, 1, Duration::from_nanos(PATIENCE)), 1);
        assert_eq!(done[0].outcome.name(), want, "{case}");
    }
    assert_eq!(done[0].traces, Traces::default(), "hello");
    let stats = pool.stats();
    let denials: Vec<(&str, u64)> = stats.denials.iter().map(|(name, n)| (*name, *n)).collect();
    assert_eq!(
        denials,
        [("call", 3), ("files", 1), ("network", 1), ("process", 3)]
    );
    assert_eq!((stats.logs_cut, stats.lost), (1, 0));
    assert_eq!((stats.outcomes["calls"], stats.outcomes["cpu"]), (1, 1));
}
