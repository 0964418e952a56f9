//! Hostile and ordinary requests to stock Deno, each followed by a strict check and an ordinary one. Skipped aloud without
//! `/dev/kvm` or a deno binary (the environment's `MAYFLY_DENO`, else `deno` on the path).

mod loaded;

#[path = "../support/apart.rs"]
mod apart;
#[path = "../support/rounds.rs"]
mod rounds;
#[path = "../support/mod.rs"]
mod support;

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use mayfly_pool::{Limits, Outcome, Program, WarmupRequest, deno_spec};
use rounds::rounds;
use support::{Client, PATIENCE, SECOND, frame, host, text};

/// Reads and writes frames, and does what they say.
const GUEST: &str = concat!(include_str!("frames.js"), include_str!("guest.js"));

/// The binary itself: npm's launcher is a script and does not count. Without it each test says that it is skipped.
fn deno() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).map(|folder| folder.join("deno"));
    let candidates = std::env::var_os("MAYFLY_DENO")
        .map(PathBuf::from)
        .into_iter()
        .chain(on_path);
    let is_program = |path: &PathBuf| {
        let mut magic = [0; 4];
        std::fs::File::open(path)
            .and_then(|mut f| f.read_exact(&mut magic))
            .is_ok()
            && magic == *b"\x7fELF"
    };
    let found = candidates
        .filter_map(|path| path.canonicalize().ok())
        .find(is_program);
    if found.is_none() {
        eprintln!("SKIPPED: no deno binary: set MAYFLY_DENO or put it on the path");
    }
    found
}

/// The program, booted once for all tests.
fn program() -> Option<Arc<Program>> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    let (host, deno) = (host()?, deno()?);
    let boot = || {
        let limits = Limits {
            memory_bytes: 256 << 20,
            output_bytes: 1 << 20,
            boot_ns: PATIENCE,
            ..Limits::default()
        };
        let mut spec = deno_spec(&deno, GUEST.into(), limits);
        spec.reseed = true;
        let mut warm = ["simd", "timer", "json"].map(|what| frame(what, b"")).to_vec();
        warm.extend((0..50).map(|_| frame("read", b"")));
        Arc::new(Program::boot(&host, &spec, &mut |_| warm.pop().map(WarmupRequest::new)).unwrap())
    };
    Some(PROGRAM.get_or_init(boot).clone())
}

/// One request, a reset, and the strict check: the outcome, and what the request logged.
fn ask(client: &mut Client, what: &str, timeout: u64) -> (Outcome, Vec<u8>) {
    let outcome = client.run(frame(what, b""), timeout).unwrap();
    let log = client.instance.take_traces().log;
    client.instance.reset().unwrap();
    client.instance.check().unwrap();
    (outcome, log)
}

const CLEAN: &str = "1 0 undefined undefined undefined";

#[test]
fn ordinary_requests_are_answered_and_forgotten() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let cases = [
        ("hello", CLEAN),
        ("dirty", "dirtied"),
        ("simd", "7"),
        ("trap", "RangeError"),
        ("throws", "threw object"),
        ("timer", "slept"),
        ("timers", "all"),
        ("storm", "50000"),
        ("read", "NotCapable"),
        ("env", "NotCapable"),
        ("run", "NotCapable"),
        ("kill", "NotCapable"),
        ("connect", "NotCapable"),
        ("json", "9891"),
        ("collect", "collected"),
        ("flood", "flooded"),
        ("log", "logged"),
    ];
    for round in 0..rounds(2) {
        for (what, want) in cases {
            let (outcome, log) = ask(&mut client, what, PATIENCE);
            assert_eq!(text(&outcome), want, "{what} in round {round}");
            if what == "log" {
                assert_eq!(log, b"a line\n");
            }
            assert_eq!(text(&client.ask("hello")), CLEAN, "after {what}");
        }
    }
}

#[test]
fn random_numbers_of_the_programs_own_generator_are_fresh() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..rounds(30) {
        let uuid = text(&client.ask("uuid"));
        assert_eq!(uuid.len(), 36);
        assert!(seen.insert(uuid), "request {i} repeats an earlier one");
    }
}

#[test]
fn hostile_requests_end_by_their_name_and_leave_a_clean_machine() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let cases = [
        ("exit", Outcome::Exited(9)),
        ("spin", Outcome::Timeout),
        ("spin-await", Outcome::Timeout),
        ("regexp", Outcome::Timeout),
        ("memory", Outcome::OutOfMemory),
        ("buffers", Outcome::OutOfMemory),
        ("never", Outcome::Exited(1)),
    ];
    for (what, want) in cases {
        let timeout = if want == Outcome::Timeout {
            SECOND / 5
        } else {
            PATIENCE
        };
        let (outcome, log) = ask(&mut client, what, timeout);
        assert_eq!(outcome, want, "{what}: {}", String::from_utf8_lossy(&log));
        assert_eq!(text(&client.ask("hello")), CLEAN, "after {what}");
    }
    for what in ["garbage", "output"] {
        let outcome = client.ask(what);
        assert!(
            matches!(outcome, Outcome::Misbehaved(_) | Outcome::OutputOver),
            "{what}: {outcome}"
        );
        assert_eq!(text(&client.ask("hello")), CLEAN, "after {what}");
    }
}
