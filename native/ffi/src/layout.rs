//! Numbers and structures that Deno reads by offset.

use std::fmt::Write;
use std::mem::{offset_of, size_of};

use mayfly_pool::{Bound, MachineState, Outcome};

use crate::abi::{STATUSES, numbers};

numbers! {
    /// How a request ended.
    OutcomeCode: u32, OUTCOMES {
        /// With a response frame.
        Answered = 0 "answered",
        /// Its time by the wall's clock was over.
        Timeout = 1 "timeout",
        /// Its memory was used up.
        Memory = 2 "memory",
        /// It wrote more than it may.
        Output = 3 "output",
        /// The program ended; `detail` is its status.
        Exited = 4 "exited",
        /// The program died; `detail` is the signal.
        Killed = 5 "killed",
        /// All its threads wait for ever.
        Stuck = 6 "stuck",
        /// It wrote no frame; the message says what is wrong.
        Misbehaved = 7 "misbehaved",
        /// The host's fault; the message says what.
        Failed = 8 "failed",
        /// It made more system calls than it may.
        Calls = 9 "calls",
        /// It had a CPU for as long as it may.
        Cpu = 10 "cpu",
        /// The host called it off.
        CalledOff = 11 "called-off",
        /// It began to talk with the host, or was to be parked, over a bound of all that do; `detail` is the bound: 0 is their number, 1 the
        /// memory of those of one program, 2 the memory of all.
        Refused = 12 "refused",
    }
}

numbers! {
    /// Which bytes of a finished request are read.
    Part: u32, PARTS {
        /// The response frame.
        Response = 0 "response",
        /// What it wrote to fd 2.
        Log = 1 "log",
        /// Words about a bad end.
        Message = 2 "message",
        /// System calls that it was refused, as JSON: `[{"call", "reason", "times"}]`.
        Denials = 3 "denials",
    }
}

numbers! {
    /// What became of the machine of a request.
    MachineCode: u32, MACHINES {
        /// It serves the next one.
        Clean = 0 "clean",
        /// It is reset after the answer: a [`Reset`] follows.
        Resetting = 1 "resetting",
        /// It was lost, and another is forked.
        Lost = 2 "lost",
    }
}

/// In the place of an outcome: the request is under way, and messages of it are to be heard.
pub const SAID: u32 = u32::MAX;
/// A flag of a submission: keep the program's state instead of resetting it.
pub const KEEP: u32 = 1;
/// A flag of a submission: compare the machine with its snapshot afterwards.
pub const CHECK: u32 = 2;
/// A flag of a submission: the request has a channel, which opens with its first message. Until then it counts as one without.
pub const LATE: u32 = 4;
/// Four bits of a submission's flags from this one on: the weight of its flow, less 1.
pub const WEIGHT_SHIFT: u32 = 4;
/// A submission's flags from this bit on: its flow. Requests of a program that bear the same number are one flow, and flows are
/// served in turn.
pub const FLOW_SHIFT: u32 = 8;

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Completion {
    /// What the submission returned.
    pub ticket: i32,
    /// An [`OutcomeCode`].
    pub outcome: u32,
    /// Microseconds in the queue.
    pub queue_us: f64,
    /// Microseconds from entering the machine to the answer.
    pub run_us: f64,
    /// Microseconds until the machine was clean; 0 while it is not.
    pub reset_us: f64,
    /// Times that the guest left ring 3, up to the most that fits.
    pub exits: u32,
    /// Pages that the reset put back; 0 while it is under way.
    pub dirty_pages: u32,
    /// Length of the response frame.
    pub response_bytes: u32,
    /// Length of what it wrote to fd 2.
    pub log_bytes: u32,
    /// Length of the words about a bad end.
    pub message_bytes: u32,
    /// Exit status, signal or bound.
    pub detail: i32,
    /// Index of the worker; the greatest number for the caller's own thread.
    pub worker: u32,
    /// Length of the text about refused system calls.
    pub denials_bytes: u32,
    /// Bytes of its log that were over the limit, up to the most that fits.
    pub log_dropped: u32,
    /// A [`MachineCode`].
    pub machine: u32,
    /// Microseconds for which it was parked.
    pub parked_us: f64,
    /// Times that it was.
    pub parks: u32,
    /// Messages that it said.
    pub said: u32,
    /// Messages of the host that it was given.
    pub heard: u32,
    /// Always 0.
    pub reserved: u32,
}

impl Completion {
    /// Told of a request that said something.
    pub fn said(ticket: i32) -> Completion {
        Completion {
            ticket,
            outcome: SAID,
            ..Completion::NONE
        }
    }

    /// Told where there is none.
    pub const NONE: Completion = Completion {
        ticket: -1,
        outcome: 0,
        queue_us: 0.0,
        run_us: 0.0,
        reset_us: 0.0,
        exits: 0,
        dirty_pages: 0,
        response_bytes: 0,
        log_bytes: 0,
        message_bytes: 0,
        detail: 0,
        worker: 0,
        denials_bytes: 0,
        log_dropped: 0,
        machine: 0,
        parked_us: 0.0,
        parks: 0,
        said: 0,
        heard: 0,
        reserved: 0,
    };
}

/// A reset that ended after its request was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Reset {
    /// Microseconds until the machine was clean, or given up.
    pub reset_us: f64,
    /// The request's ticket, which may be released by now.
    pub ticket: i32,
    /// Pages that were put back.
    pub dirty_pages: u32,
    /// A [`MachineCode`].
    pub machine: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = {
    const SEE: &str = "completion layout: src/isolate/ffi/layout.ts reads these offsets; change both";
    assert!(size_of::<Completion>() == 96, "{}", SEE);
    assert!(offset_of!(Completion, ticket) == 0, "{}", SEE);
    assert!(offset_of!(Completion, outcome) == 4, "{}", SEE);
    assert!(offset_of!(Completion, queue_us) == 8, "{}", SEE);
    assert!(offset_of!(Completion, run_us) == 16, "{}", SEE);
    assert!(offset_of!(Completion, reset_us) == 24, "{}", SEE);
    assert!(offset_of!(Completion, exits) == 32, "{}", SEE);
    assert!(offset_of!(Completion, dirty_pages) == 36, "{}", SEE);
    assert!(offset_of!(Completion, response_bytes) == 40, "{}", SEE);
    assert!(offset_of!(Completion, log_bytes) == 44, "{}", SEE);
    assert!(offset_of!(Completion, message_bytes) == 48, "{}", SEE);
    assert!(offset_of!(Completion, detail) == 52, "{}", SEE);
    assert!(offset_of!(Completion, worker) == 56, "{}", SEE);
    assert!(offset_of!(Completion, denials_bytes) == 60, "{}", SEE);
    assert!(offset_of!(Completion, log_dropped) == 64, "{}", SEE);
    assert!(offset_of!(Completion, machine) == 68, "{}", SEE);
    assert!(offset_of!(Completion, parked_us) == 72, "{}", SEE);
    assert!(offset_of!(Completion, parks) == 80, "{}", SEE);
    assert!(offset_of!(Completion, said) == 84, "{}", SEE);
    assert!(offset_of!(Completion, heard) == 88, "{}", SEE);
    assert!(offset_of!(Completion, reserved) == 92, "{}", SEE);
    assert!(size_of::<Reset>() == 24, "{}", SEE);
    assert!(offset_of!(Reset, reset_us) == 0, "{}", SEE);
    assert!(offset_of!(Reset, ticket) == 8, "{}", SEE);
    assert!(offset_of!(Reset, dirty_pages) == 12, "{}", SEE);
    assert!(offset_of!(Reset, machine) == 16, "{}", SEE);
    assert!(offset_of!(Reset, reserved) == 20, "{}", SEE);
};

/// Names, offsets and types, in their order.
macro_rules! fields {
    ($structure:ident, $table:ident { $($name:ident: $type:ty),* $(,)? }) => {
        /// The fields for the description of the ABI.
        const $table: &[(&str, usize, &str)] = &[$((stringify!($name), offset_of!($structure, $name), stringify!($type))),*];

        /// Does not compile when a type above is not the field's.
        const _: fn(&$structure) = |s| {
            $(let _: &$type = &s.$name;)*
        };
    };
}
fields! {
    Completion, COMPLETION {
        ticket: i32, outcome: u32, queue_us: f64, run_us: f64, reset_us: f64, exits: u32, dirty_pages: u32,
        response_bytes: u32, log_bytes: u32, message_bytes: u32, detail: i32, worker: u32,
        denials_bytes: u32, log_dropped: u32, machine: u32, parked_us: f64, parks: u32, said: u32,
        heard: u32, reserved: u32,
    }
}
fields! {
    Reset, RESET { reset_us: f64, ticket: i32, dirty_pages: u32, machine: u32, reserved: u32 }
}

/// Code and detail of an outcome.
pub fn encode_outcome(outcome: &Outcome) -> (OutcomeCode, i32) {
    match outcome {
        Outcome::Answered(_) => (OutcomeCode::Answered, 0),
        Outcome::Timeout => (OutcomeCode::Timeout, 0),
        Outcome::OutOfMemory => (OutcomeCode::Memory, 0),
        Outcome::OutputOver => (OutcomeCode::Output, 0),
        Outcome::Exited(status) => (OutcomeCode::Exited, *status),
        Outcome::Killed(signal) => (OutcomeCode::Killed, *signal),
        Outcome::Stuck => (OutcomeCode::Stuck, 0),
        Outcome::Misbehaved(_) => (OutcomeCode::Misbehaved, 0),
        Outcome::Failed(_) => (OutcomeCode::Failed, 0),
        Outcome::CallsOver => (OutcomeCode::Calls, 0),
        Outcome::CpuOver => (OutcomeCode::Cpu, 0),
        Outcome::CalledOff => (OutcomeCode::CalledOff, 0),
        Outcome::Refused(bound) => (OutcomeCode::Refused, encode_bound(*bound)),
    }
}

fn encode_bound(bound: Bound) -> i32 {
    match bound {
        Bound::Number => 0,
        Bound::MemoryOfOne => 1,
        Bound::MemoryOfAll => 2,
    }
}

/// Code of a machine's state.
pub fn encode_machine(machine: MachineState) -> MachineCode {
    match machine {
        MachineState::Clean => MachineCode::Clean,
        MachineState::Resetting => MachineCode::Resetting,
        MachineState::Lost => MachineCode::Lost,
    }
}

/// How the description writes pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// With what they point to.
    Typed,
    /// All as `buffer`, which is what Deno's table knows.
    Plain,
}

/// Nanoseconds as microseconds.
pub fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// The whole ABI as text, a line for each function, number and field. Both sides make it from their tables; the hashes of the
/// plain ones must be equal.
pub fn describe(pointers: Pointers) -> String {
    let mut text = String::new();
    let write = |kind: &&'static str| match pointers {
        Pointers::Plain if kind.starts_with('*') => "buffer",
        Pointers::Plain | Pointers::Typed => *kind,
    };
    // Writing to a String does not fail.
    for f in crate::FUNCTIONS {
        let parameters: Vec<&str> = f.parameters.iter().map(write).collect();
        let _ = writeln!(text, "fn {}({}) -> i32", f.name, parameters.join(", "));
    }
    for (name, size, fields) in [
        ("Completion", size_of::<Completion>(), COMPLETION),
        ("Reset", size_of::<Reset>(), RESET),
    ] {
        let _ = writeln!(text, "struct {name} {size}");
        for (name, offset, kind) in fields {
            let _ = writeln!(text, "  {offset} {name}: {kind}");
        }
    }
    for (title, table) in [
        ("status", STATUSES),
        ("outcome", OUTCOMES),
        ("part", PARTS),
        ("machine", MACHINES),
    ] {
        for (name, value) in table {
            let _ = writeln!(text, "{title} {name} = {value}");
        }
    }
    let _ = writeln!(text, "outcome said = {SAID}");
    let _ = writeln!(text, "flag keep = {KEEP}");
    let _ = writeln!(text, "flag check = {CHECK}");
    let _ = writeln!(text, "flag late = {LATE}");
    let _ = writeln!(text, "flag weight << {WEIGHT_SHIFT}");
    let _ = writeln!(text, "flag flow << {FLOW_SHIFT}");
    let _ = writeln!(text, "spec version = {}", crate::spec::VERSION);
    for (name, tag) in crate::spec::TAGS {
        let _ = writeln!(text, "spec {name} = {tag}");
    }
    text
}

/// FNV-1a, the top bit cleared so that it is no status.
pub fn hash(text: &str) -> i32 {
    let step = |h: u32, b: u8| (h ^ u32::from(b)).wrapping_mul(0x0100_0193);
    (text.bytes().fold(0x811c_9dc5, step) & 0x7fff_ffff) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_codes_have_the_pools_words() {
        let all = [
            Outcome::Answered(Vec::new()),
            Outcome::Timeout,
            Outcome::OutOfMemory,
            Outcome::OutputOver,
            Outcome::Exited(3),
            Outcome::Killed(9),
            Outcome::Stuck,
            Outcome::Misbehaved(String::new()),
            Outcome::Failed(String::new()),
            Outcome::CallsOver,
            Outcome::CpuOver,
            Outcome::CalledOff,
            Outcome::Refused(Bound::MemoryOfAll),
        ];
        assert_eq!(all.len(), OUTCOMES.len());
        for (outcome, (word, code)) in all.iter().zip(OUTCOMES) {
            assert_eq!(
                (outcome.name(), i64::from(encode_outcome(outcome).0 as u32)),
                (*word, *code)
            );
        }
        assert_eq!(encode_outcome(&all[4]).1, 3);
        assert_eq!(encode_outcome(&all[5]).1, 9);
        assert_eq!(encode_outcome(&all[12]).1, 2);
    }

    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(hash(""), 0x811c_9dc5_u32 as i32 & i32::MAX);
        assert_eq!(hash("foobar"), 0xbf9c_f968_u32 as i32 & i32::MAX);
    }

    #[test]
    fn description_names_every_export_once() {
        let text = describe(Pointers::Typed);
        for f in crate::FUNCTIONS {
            assert_eq!(text.matches(&format!("fn {}(", f.name)).count(), 1);
        }
        assert!(text.contains("  44 log_bytes: u32\n"));
        assert!(text.contains("fn mayfly_wait(i32, *mut Completion, u32, u32) -> i32\n"));
        let plain = describe(Pointers::Plain);
        assert!(plain.contains("fn mayfly_wait(i32, buffer, u32, u32) -> i32\n") && !plain.contains('*'));
    }
}
