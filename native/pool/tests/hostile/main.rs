//! Programs that do their worst. Each ends by its own name, afterwards every byte of its machine is the snapshot's, and the very
//! next request in it is answered as ever. Skipped aloud without `/dev/kvm` or `cc`.

#[path = "../support/c_guest.rs"]
mod c_guest;
#[path = "../support/rounds.rs"]
mod rounds;
#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod code;

use std::sync::{Arc, OnceLock};

use c_guest::{compile, compiled, spec};
use mayfly_pool::{Outcome, Program, WarmupRequest};
use rounds::slowness;
use support::{Client, SECOND, frame, host, text};

const SIGILL: i32 = 4;
const SIGTRAP: i32 = 5;
const SIGBUS: i32 = 7;
const SIGFPE: i32 = 8;
const SIGSEGV: i32 = 11;

/// How a attack may end. More than one where CPUs differ.
#[derive(Debug)]
enum End {
    /// With this answer.
    Says(&'static str),
    /// By one of these signals.
    Dies(&'static [i32]),
    /// Runs to its end or dies of one of these signals: CPUs differ.
    Maybe(&'static [i32]),
    /// With this exit status.
    Exits(i32),
    Timeout,
    OutOfMemory,
    Stuck,
    /// What it announced is over a limit.
    OutputOver,
    /// What it wrote is no frame.
    Misbehaves,
    /// With an answer of so many bytes.
    Long(usize),
}

impl End {
    fn is(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (End::Says(words), Outcome::Answered(_)) => text(outcome) == *words,
            (End::Maybe(_), Outcome::Answered(_)) => text(outcome) == "returned",
            (End::Dies(signals) | End::Maybe(signals), Outcome::Killed(signal)) => signals.contains(signal),
            (End::Exits(status), Outcome::Exited(found)) => status == found,
            (End::Long(bytes), Outcome::Answered(frame)) => frame.len() == *bytes,
            (End::Timeout, Outcome::Timeout)
            | (End::OutOfMemory, Outcome::OutOfMemory)
            | (End::Stuck, Outcome::Stuck)
            | (End::OutputOver, Outcome::OutputOver)
            | (End::Misbehaves, Outcome::Misbehaved(_)) => true,
            _ => false,
        }
    }

    /// Attacks without an end are given less time than those with one.
    fn timeout(&self) -> u64 {
        if matches!(self, End::Timeout) {
            SECOND / 10
        } else {
            30 * SECOND
        }
    }
}

fn program() -> Option<Arc<Program>> {
    static PROGRAM: OnceLock<Option<Arc<Program>>> = OnceLock::new();
    let host = host()?;
    let boot = || {
        if !compile("hostile", "-static") {
            return None;
        }
        let mut warm = vec![frame("clean", b""); 2];
        let mut spec = spec(&compiled("hostile", "-static"));
        spec.limits.memory_bytes = 32 << 20;
        let program = Program::boot(&host, &spec, &mut |_| warm.pop().map(WarmupRequest::new));
        Some(Arc::new(program.unwrap()))
    };
    PROGRAM.get_or_init(boot).clone()
}

/// Runs each row in one machine, a plain request after each; tells all that went wrong at once. The strict check comes after both
/// or, as it makes KVM finish what it has pending, after the plain one alone.
fn judge<'a>(check: bool, rows: impl Iterator<Item = (&'a str, Vec<u8>, &'a End)>) {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let mut wrong = Vec::new();
    for (name, frame, end) in rows {
        let outcome = match client.try_send(frame, end.timeout(), check) {
            Ok(outcome) => outcome,
            Err(e) => {
                wrong.push(format!("{name}: the machine is lost: {e}"));
                client = Client::new(&program);
                continue;
            }
        };
        if !end.is(&outcome) {
            let shown: String = text(&outcome).chars().take(80).collect();
            wrong.push(format!("{name}: {shown}, want {end:?}"));
        }
        let next = text(&client.ask("clean"));
        if next != "clean 3" {
            wrong.push(format!("after {name}: {next}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn attacks_end_by_their_name_and_leave_a_clean_machine() {
    judge(
        true,
        attacks::CASES
            .iter()
            .map(|(name, end)| (*name, frame(name, &[slowness() as u8]), end)),
    );
}

/// Instructions that QEMU's translator executes without the exception that a CPU raises, or with another one.
const LENIENT: [&str; 6] = [
    "icebp",
    "SSE division by zero",
    "ldmxcsr of all bits",
    "wrfsbase, not canonical",
    "wrgsbase, not canonical",
    "clflush of nothing",
];

/// The rows that this CPU can show.
fn rows() -> impl Iterator<Item = &'static (&'static str, &'static [u8], End)> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let translated = cpu.contains("QEMU TCG CPU");
    if translated {
        println!(
            "left out, as QEMU's translator is lenient: {}",
            LENIENT.join("; ")
        );
    }
    code::ROWS
        .iter()
        .filter(move |(name, ..)| !(translated && LENIENT.contains(name)))
}

#[test]
fn instructions_end_by_their_signal_and_leave_a_clean_machine() {
    judge(
        false,
        rows().map(|(name, bytes, end)| (*name, frame("run", bytes), end)),
    );
}

/// A program may handle what its instructions raise, again and again.
#[test]
fn faults_of_instructions_reach_the_programs_own_handler() {
    let Some(program) = program() else { return };
    let mut client = Client::new(&program);
    let mut wrong = Vec::new();
    for (name, bytes, end) in rows() {
        let End::Dies(signals) = end else { continue };
        let said = text(&client.send(frame("catch", bytes), 30 * SECOND));
        if !signals.iter().any(|s| said == format!("caught {s} {s} {s}")) {
            wrong.push(format!("{name}: {said}, want {signals:?}"));
        }
        assert_eq!(text(&client.ask("clean")), "clean 3", "after {name}");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_tables_are_as_long_as_they_claim() {
    assert!(attacks::CASES.len() >= 40 && code::ROWS.len() >= 40);
}
