//! The system-call layer: any calls, stores, faults and waits on a forked kernel over a machine of plain data.
//!
//! What must hold:
//! - nothing panics, and after each step every table is within its limits and agrees with the others (`Kernel::audit`);
//! - what the machine has mapped is what the mappings allow (`Kernel::audit_pages`);
//! - no step allocates more than a few times what the limits let a guest hold, or goes round and round in the scheduler;
//! - after a restore every table equals the snapshot's, and the same steps end the same way: no state is left that tables do not show;
//! - all of that also on a program that was loaded into another's snapshot (`derived`).

mod derived;
mod guest;
mod step;
pub mod stored;

use std::cell::RefCell;
use std::sync::OnceLock;

use mayfly_linux::action::Action;
use mayfly_linux::clock::ClockBase;
use mayfly_linux::errno::Errno;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::kernel::{Kernel, Request};
use mayfly_linux::machine::mock::MockMachine;
use mayfly_linux::machine::{Machine, Registers, USER_END};
use mayfly_linux::state::step::Step as Restore;
use mayfly_linux::syscall::number;
use mayfly_wire::Limits;

use crate::Input;
use crate::meter::measure;
pub(crate) use guest::CLOCK;
use guest::Guest;
use step::{Step, Waiting, World};

/// Most steps of a run.
const STEPS_MAX: usize = 120;
/// Most bytes that one step may allocate, those it frees included. A call copies at most 4 MiB at a time.
const STEP_BYTES: usize = 24 << 20;
/// Most allocations of one step.
const STEP_ALLOCATIONS: usize = 20_000;
/// How often one step may look at the clock. The scheduler does so each time it looks for a thread that can run: a few times for
/// each thread and each timer.
const STEP_LOOKS: u64 = 400;

thread_local! {
    /// Guests at their snapshots, by the lowest bits of an input's first byte. A run that panics leaves its place empty.
    static GUESTS: RefCell<[Option<Guest>; 4]> = const { RefCell::new([const { None }; 4]) };
}

/// First bytes, less their lowest five bits, whose guest is derived from the one that the lowest bits choose.
const DERIVED: u8 = 0xc0;

/// The first byte chooses the guest, the rest its steps.
pub fn run(data: &[u8]) {
    run_without(data, None);
}

/// [`run`] with a step of the restore left out, which some input must notice: for the test of these very checks.
#[doc(hidden)]
pub fn run_without(data: &[u8], left_out: Option<Restore>) {
    let Some((&choice, steps)) = data.split_first() else {
        return;
    };
    let place = usize::from(choice % 4);
    let kept = GUESTS.with_borrow_mut(|guests| guests[place].take());
    let mut guest = kept.unwrap_or_else(|| new_guest(choice));
    if choice & 0xe0 == DERIVED {
        derived::run(&guest, steps, left_out);
    } else {
        twice(&mut guest, steps, left_out);
    }
    if left_out.is_none() {
        GUESTS.with_borrow_mut(|guests| guests[place] = Some(guest));
    }
}

/// Takes the steps from the snapshot, goes back, and wants the same of the same steps.
fn twice(guest: &mut Guest, steps: &[u8], left_out: Option<Restore>) -> Trace {
    let first = go(guest, steps, Phase::Checked);
    back(guest, left_out);
    let second = go(guest, steps, Phase::Repeated);
    back(guest, left_out);
    assert_eq!(first, second, "the same steps after a restore");
    first
}

fn new_guest(choice: u8) -> Guest {
    let framed = OutputMode::Framed(Limits {
        header: 1000,
        body: 5000,
    });
    let output = if choice & 1 == 0 {
        OutputMode::Stream
    } else {
        framed
    };
    Guest::new(output, choice & 2 == 0)
}

/// Goes back to the snapshot; no table differs afterwards.
fn back(guest: &mut Guest, left_out: Option<Restore>) {
    guest.kernel.restore_without(&guest.snapshot, left_out);
    assert_eq!(guest.kernel.differences(&guest.snapshot), [""; 0]);
    if left_out.is_none() && guest.within_limits {
        guest.kernel.audit().expect("tables that agree after a restore");
    }
}

/// How a step ended, as guest and host see it.
type Trace = Vec<(Action, Registers)>;

/// What the steps are taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// To look at all tables after each.
    Checked,
    /// To end as they did before.
    Repeated,
}

/// Takes the steps on a copy of the guest's machine, and gives how each step ended.
fn go(guest: &mut Guest, steps: &[u8], phase: Phase) -> Trace {
    let mut machine = guest.machine.clone();
    go_on(guest, &mut machine, steps, phase, Kernel::begin_request)
}

/// How a guest gets a request.
type Begin = fn(&mut Kernel, &mut MockMachine, Request) -> Action;

/// Takes the steps on a machine.
fn go_on(guest: &mut Guest, machine: &mut MockMachine, steps: &[u8], phase: Phase, begin: Begin) -> Trace {
    let mut input = Input(steps);
    let mut world = World {
        area: guest.area,
        results: [0; 8],
        numbers: numbers(),
    };
    let mut trace = Trace::new();
    let (mut action, mut frames) = (Action::Resume, false);
    while trace.len() < STEPS_MAX && !input.is_empty() {
        let wait = match action {
            Action::Resume | Action::Output | Action::Frame | Action::Said | Action::Connection => None,
            Action::Idle { wait } => Some(wait),
            Action::Wait { wait } => Some(Some(wait)),
            Action::Deadlock | Action::Stop(_) => break,
        };
        let next = match wait {
            None => Next::Step(world.step(&mut input)),
            Some(wait) => Next::Waiting(World::waiting(&mut input), wait),
        };
        let before = machine.looks();
        let (done, spent) = measure(|| take(guest, machine, &next, begin));
        action = done;
        let looks = machine.looks() - before;
        assert!(
            looks <= STEP_LOOKS,
            "{next:x?}: looked at the clock {looks} times"
        );
        assert!(
            spent.bytes <= STEP_BYTES && spent.times <= STEP_ALLOCATIONS,
            "{next:x?}: {spent:?}"
        );
        if phase == Phase::Checked {
            check(guest, machine)
                .unwrap_or_else(|what| panic!("{what} after {next:x?}, which gave {action:?}"));
        }
        if let Next::Step(Step::Call(number, _)) = next {
            // A frame on the stack may hold any word; before one is loaded, results are values or errors that Linux has.
            frames |= number == number::rt_sigreturn;
            let result = machine.registers().rax;
            assert!(
                frames || !(-4095..-4000).contains(&result.cast_signed()),
                "{next:x?} gave {result:#x}"
            );
            world.results.rotate_right(1);
            world.results[0] = machine.registers().rax;
        }
        trace.push((action.clone(), machine.registers()));
    }
    trace
}

/// What happens next.
#[derive(Debug)]
enum Next<'a> {
    /// A thread can run.
    Step(Step<'a>),
    /// None can; the earliest timer, if there is one, is so many nanoseconds away.
    Waiting(Waiting<'a>, Option<u64>),
}

fn take(guest: &mut Guest, machine: &mut MockMachine, next: &Next<'_>, begin: Begin) -> Action {
    let kernel = &mut guest.kernel;
    let action = match next {
        Next::Step(Step::Call(number, arguments)) => {
            machine.set_call(*number, *arguments);
            kernel.syscall(machine)
        }
        Next::Step(Step::Store(address, bytes)) => {
            // Where a page is missing, the store ends and the guest goes on.
            let _ = machine.write(*address, bytes);
            Action::Resume
        }
        &Next::Step(Step::Jump { rip, rsp, rflags }) => {
            machine.set_registers(&Registers {
                rip,
                rsp,
                rflags,
                ..machine.registers()
            });
            Action::Resume
        }
        &Next::Step(Step::Fault(vector, code, address)) => kernel.fault(machine, vector, code, address),
        Next::Step(Step::Preempt) => kernel.preempt(machine),
        &Next::Step(Step::Pass(time)) => {
            machine.pass(time);
            Action::Resume
        }
        Next::Waiting(Waiting::Request(input), _) => {
            let ticks = machine.ticks();
            let clock = ClockBase { ticks, ..CLOCK };
            let request = Request {
                clock,
                seed: [9; 32],
                input: input.to_vec(),
                messages: input.first().is_some_and(|byte| byte & 1 == 1),
            };
            begin(kernel, machine, request)
        }
        Next::Waiting(Waiting::Input(bytes), _) => {
            kernel.push_input(bytes.to_vec());
            kernel.run(machine)
        }
        Next::Waiting(Waiting::Connect(bytes), _) => {
            converse(kernel, bytes);
            kernel.run(machine)
        }
        Next::Waiting(Waiting::End, _) => {
            kernel.end_input();
            kernel.run(machine)
        }
        Next::Waiting(Waiting::Pass, wait) => {
            machine.pass(wait.unwrap_or(1_000_000));
            kernel.run(machine)
        }
    };
    if action == Action::Connection {
        for end in kernel.host_ends() {
            kernel.host_receive(end);
        }
        kernel.take_dialed();
    }
    if matches!(action, Action::Output | Action::Frame | Action::Said) {
        kernel.take_said();
        kernel.take_output();
        kernel.take_log();
    }
    action
}

/// The host connects to the first that listens, and gives it bytes; where it has connections already, it takes what came and closes the
/// oldest one every other time. Those that the guest began are made, or broken.
fn converse(kernel: &mut Kernel, bytes: &[u8]) {
    kernel.serve_host();
    kernel.take_dialed();
    for end in kernel.host_ends() {
        match bytes.first().map_or(0, |first| first % 4) {
            1 => kernel.host_establish(end),
            2 => kernel.host_fail(end, Errno::ECONNRESET),
            _ => {}
        }
    }
    for end in kernel.host_ends() {
        kernel.host_receive(end);
        kernel.host_send(end, bytes);
        if kernel.host_ended(end) || bytes.len() % 2 == 1 {
            kernel.host_close(end);
        }
    }
    if let Some(name) = kernel.listening().first()
        && let Ok(end) = kernel.host_connect(name)
    {
        kernel.host_send(end, bytes);
    }
}

fn check(guest: &Guest, machine: &MockMachine) -> Result<(), String> {
    if guest.within_limits {
        guest.kernel.audit()?;
    }
    guest.kernel.audit_pages(machine.pages())?;
    let (rip, bases) = (machine.registers().rip, [machine.fs_base(), machine.gs_base()]);
    if rip >= USER_END || bases.iter().any(|&base| base >= USER_END) {
        return Err(format!("ring 3 would go on at {rip:#x} with bases {bases:x?}"));
    }
    Ok(())
}

/// The numbers of the calls that have a name.
fn numbers() -> &'static [u64] {
    static NUMBERS: OnceLock<Vec<u64>> = OnceLock::new();
    NUMBERS.get_or_init(|| {
        (0..512)
            .filter(|&number| number::name(number).is_some())
            .collect()
    })
}
