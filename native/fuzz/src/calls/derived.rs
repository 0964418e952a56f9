//! A program that is loaded into another's snapshot, as a base is: it goes on from there under limits of its own, takes a snapshot
//! of its own, and answers requests from that one.
//!
//! ```text
//! base ── snapshot ──> limits of its own ── steps ── snapshot ──> steps ── back ──> steps ── back
//!                └──> the same once more: nothing differs    └──> a kernel made of it: the same steps end the same way
//! ```

use mayfly_linux::action::Action;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::kernel::Kernel;
use mayfly_linux::limits::Limits;
use mayfly_linux::machine::mock::MockMachine;
use mayfly_linux::state::step::Step as Restore;

use super::guest::{Guest, LIMITS};
use super::{Phase, Trace, go, go_on, twice};
use crate::Input;

/// The first byte chooses the limits, the second how many bytes of steps load the program; the rest are its requests.
pub(super) fn run(base: &Guest, data: &[u8], left_out: Option<Restore>) {
    let mut input = Input(data);
    let (limits, within_limits) = limits(input.byte());
    let length = usize::from(input.byte());
    let loading = input.bytes(length);
    let start = |phase| load(base, limits, within_limits, loading, phase);
    let (mut program, trace) = start(Phase::Checked);
    let (again, same) = start(Phase::Repeated);
    assert_eq!(trace, same, "the same program loaded twice");
    assert!(
        program.machine == again.machine,
        "memory of the same program loaded twice"
    );
    // Versions of a guest's files are told apart by where they lie in the host.
    let mut differences = again.kernel.differences(&program.snapshot);
    differences.retain(|&table| table != "address space");
    assert_eq!(differences, [""; 0], "tables of the same program loaded twice");
    if matches!(trace.last(), Some((Action::Deadlock | Action::Stop(_), _))) {
        return; // it ended, and nothing is to be had of it
    }
    let trace = twice(&mut program, input.0, left_out);
    let mut fork = Guest {
        kernel: Kernel::from_snapshot(&program.snapshot),
        ..again
    };
    assert_eq!(
        trace,
        go(&mut fork, input.0, Phase::Repeated),
        "the same steps on a kernel made of the snapshot"
    );
    assert_eq!(base.kernel.differences(&base.snapshot), [""; 0], "of the base");
}

/// Limits, and whether what the base holds is within them: the base's own, larger ones, smaller ones, and ones that it is over,
/// which must only not confuse.
fn limits(choice: u8) -> (Limits, bool) {
    let limits = match choice % 4 {
        0 => LIMITS,
        1 => Limits {
            descriptors: 2 * LIMITS.descriptors,
            threads: 2 * LIMITS.threads,
            mappings: 2 * LIMITS.mappings,
            reserved_bytes: 2 * LIMITS.reserved_bytes,
            file_bytes: 2 * LIMITS.file_bytes,
            file_nodes: 2 * LIMITS.file_nodes,
            held_bytes: 2 * LIMITS.held_bytes,
            output_bytes: 2 * LIMITS.output_bytes,
            log_bytes: 2 * LIMITS.log_bytes,
            ..LIMITS
        },
        2 => Limits {
            descriptors: 6,
            threads: 2,
            mappings: 20,
            file_bytes: 5000,
            held_bytes: 1000,
            output_bytes: 100,
            log_bytes: 10,
            ..LIMITS
        },
        _ => Limits {
            descriptors: 1,
            threads: 0,
            mappings: 1,
            reserved_bytes: 4096,
            file_bytes: 0,
            file_nodes: 1,
            held_bytes: 0,
            output_bytes: 0,
            log_bytes: 0,
            ..LIMITS
        },
    };
    (limits, choice % 4 != 3)
}

/// Loads a program and takes its snapshot.
fn load(base: &Guest, limits: Limits, within_limits: bool, steps: &[u8], phase: Phase) -> (Guest, Trace) {
    let mut kernel = Kernel::from_snapshot(&base.snapshot);
    let unbounded = Limits {
        calls: u64::MAX,
        ..limits
    };
    let output = OutputMode::Framed(mayfly_wire::Limits {
        header: 1000,
        body: limits.output_bytes as u32,
    });
    kernel.adopt(unbounded, output);
    let mut machine: MockMachine = base.machine.clone();
    let mut guest = Guest {
        snapshot: base.snapshot.clone(),
        kernel,
        machine: base.machine.clone(),
        area: base.area,
        within_limits,
        lent: base.lent.clone(),
    };
    let trace = go_on(&mut guest, &mut machine, steps, phase, Kernel::begin_load);
    drop(guest.kernel.take_log());
    guest.kernel.take_log_dropped();
    guest.kernel.limit_calls(limits.calls);
    guest.snapshot = guest.kernel.snapshot();
    guest.machine = machine;
    (guest, trace)
}
