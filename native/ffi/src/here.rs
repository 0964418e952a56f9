//! Short requests on the calling thread: no other thread is woken, and a request that is not done in time leaves nothing, so it
//! can be run again from its start by a worker.
//!
//! The calling thread is the host's own: it has no system-call filter, and a crash there is the process's. Hence off by default
//! in the server.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mayfly_pool::{Instance, Outcome, Program, RequestStats, Traces};
use mayfly_vmm::{Alarm, monotonic_ns};

/// Time of the first request of a machine, which finds its pages and is thrown away.
const REHEARSAL_NS: u64 = 20_000_000;

/// The machines of one thread, by pool and program.
#[derive(Default)]
struct Here {
    alarm: Option<Alarm>,
    machines: BTreeMap<(i32, u64), Instance>,
}

thread_local! {
    static HERE: RefCell<Here> = RefCell::default();
}

/// A request that was done in time.
#[derive(Debug)]
pub struct Done {
    /// How it ended; never `Timeout`.
    pub outcome: Outcome,
    /// What else it left: its log, and what it was refused.
    pub traces: Traces,
    /// Its times; none of them in a queue.
    pub stats: RequestStats,
    /// A machine was forked for it.
    pub forked: bool,
}

/// Runs a request in this thread's machine of the program and resets it. `None` when it was not done within `budget` or the
/// machine was lost: then nothing of it remains.
pub fn run(
    pool: i32,
    program: &Arc<Program>,
    frame: &[u8],
    budget: Duration,
) -> mayfly_vmm::Result<Option<Done>> {
    HERE.with_borrow_mut(|here| {
        let Here { alarm, machines } = here;
        let alarm = match alarm {
            Some(alarm) => alarm,
            None => alarm.insert(Alarm::new()?),
        };
        let key = (pool, program.id());
        // Taken out while it runs, so that an error or a panic loses it.
        let (mut machine, forked) = match machines.remove(&key) {
            Some(machine) => (machine, false),
            None => (fork(program, frame, alarm)?, true),
        };
        let exits = machine.exits();
        let begin = monotonic_ns();
        let deadline = begin.saturating_add(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX));
        let outcome = machine.handle(frame.to_vec(), alarm, deadline)?;
        let ran = monotonic_ns();
        let traces = machine.take_traces();
        let report = machine.reset()?;
        let stats = RequestStats {
            queue_ns: 0,
            run_ns: ran - begin,
            reset_ns: monotonic_ns() - ran,
            exits: machine.exits() - exits,
            dirty_pages: report.pages,
        };
        machines.insert(key, machine);
        Ok((outcome != Outcome::Timeout).then_some(Done {
            outcome,
            traces,
            stats,
            forked,
        }))
    })
}

fn fork(program: &Arc<Program>, frame: &[u8], alarm: &mut Alarm) -> mayfly_vmm::Result<Instance> {
    let mut machine = Instance::new(program)?;
    machine.handle(frame.to_vec(), alarm, monotonic_ns() + REHEARSAL_NS)?;
    drop(machine.take_traces());
    machine.reset()?;
    Ok(machine)
}

/// Drops this thread's machines of a pool, or of one program of it.
pub fn forget(pool: i32, program: Option<u64>) {
    HERE.with_borrow_mut(|here| {
        here.machines
            .retain(|key, _| key.0 != pool || program.is_some_and(|p| p != key.1));
    });
}
