//! Hostile and ordinary requests to stock Deno, each followed by a strict check and an ordinary one. Skipped aloud without
//! `/dev/kvm` or a deno binary (the environment's `MAYFLY_DENO`, else `deno` on the path).

mod loaded;

#[path = "../support/rounds.rs"]
mod rounds;

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use mayfly_pool::{Instance, Limits, Outcome, Program, WarmupRequest, deno_spec};
use mayfly_vmm::{Alarm, Error, Host, monotonic_ns};
use mayfly_wire::{HEAD_BYTES, Head, Kind};
use rounds::rounds;

const SECOND: u64 = 1_000_000_000;

/// Longer than any answer takes, also in an emulated machine: only what hangs meets it.
const PATIENCE: u64 = 300 * SECOND;

/// The binary itself: npm's launcher is a script and does not count.
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
    candidates
        .filter_map(|path| path.canonicalize().ok())
        .find(is_program)
}

/// The host's KVM; without it each test says why it is skipped.
fn host() -> Option<Arc<Host>> {
    match Host::open() {
        Ok(host) => Some(Arc::new(host)),
        Err(Error::Unavailable(u)) => {
            eprintln!("SKIPPED: no /dev/kvm: {}; {}", u.reason, u.mend);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// The program, booted once for all tests; without it each test says why it is skipped.
fn program() -> Option<Arc<Program>> {
    static PROGRAM: OnceLock<Result<Arc<Program>, String>> = OnceLock::new();
    let boot = || {
        let host = host().ok_or("no /dev/kvm")?;
        let deno = deno().ok_or("no deno binary: set MAYFLY_DENO or put it on the path")?;
        let limits = Limits {
            memory_bytes: 256 << 20,
            output_bytes: 1 << 20,
            boot_ns: PATIENCE,
            ..Limits::default()
        };
        let mut spec = deno_spec(&deno, include_bytes!("guest.js").to_vec(), limits);
        spec.draws = true;
        let mut warm = vec![frame("simd"), frame("timer"), frame("json")];
        warm.extend((0..50).map(|_| frame("read")));
        Ok(Arc::new(
            Program::boot(&host, &spec, &mut |_| warm.pop().map(WarmupRequest::new)).unwrap(),
        ))
    };
    match PROGRAM.get_or_init(boot) {
        Ok(program) => Some(program.clone()),
        Err(why) => {
            eprintln!("SKIPPED: {why}");
            None
        }
    }
}

fn frame(what: &str) -> Vec<u8> {
    let head = Head {
        kind: Kind::Request,
        header_bytes: what.len() as u32,
        body_bytes: 0,
    };
    [&head.encode()[..], what.as_bytes()].concat()
}

struct Client {
    instance: Instance,
    alarm: Alarm,
    log: Vec<u8>,
}

impl Client {
    fn new(program: &Arc<Program>) -> Client {
        Client {
            instance: Instance::new(program).unwrap(),
            alarm: Alarm::new().unwrap(),
            log: Vec::new(),
        }
    }

    /// One request, a reset, and the strict check.
    fn ask(&mut self, what: &str, timeout: u64) -> Outcome {
        let outcome = self
            .instance
            .handle(frame(what), &mut self.alarm, monotonic_ns() + timeout)
            .unwrap();
        self.log = self.instance.take_traces().log;
        self.instance.reset().unwrap();
        self.instance.check().unwrap();
        outcome
    }

    fn text(&mut self, what: &str) -> String {
        match self.ask(what, PATIENCE) {
            Outcome::Answered(frame) => String::from_utf8_lossy(&frame[HEAD_BYTES + 2..]).into_owned(),
            other => format!("({other})"),
        }
    }
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
            assert_eq!(client.text(what), want, "{what} in round {round}");
            if what == "log" {
                assert_eq!(client.log, b"a line\n");
            }
            assert_eq!(client.text("hello"), CLEAN, "after {what}");
        }
    }
}

#[test]
fn random_numbers_of_the_programs_own_generator_are_fresh() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..rounds(30) {
        let uuid = client.text("uuid");
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
        let outcome = client.ask(what, timeout);
        assert_eq!(outcome, want, "{what}: {}", String::from_utf8_lossy(&client.log));
        assert_eq!(client.text("hello"), CLEAN, "after {what}");
    }
    for what in ["garbage", "output"] {
        let outcome = client.ask(what, PATIENCE);
        assert!(
            matches!(outcome, Outcome::Misbehaved(_) | Outcome::OutputOver),
            "{what}: {outcome}"
        );
        assert_eq!(client.text("hello"), CLEAN, "after {what}");
    }
}
