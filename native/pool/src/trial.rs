//! Trial runs of a new program: what a request costs in a fork that is reset. A warm-up that stopped too early shows here, as each
//! run does again what the snapshot came too soon for (V8's compilations, above all).

use std::sync::Arc;

use mayfly_vmm::{Alarm, monotonic_ns, thread_cpu_ns};

use crate::confined::{Shelf, confine_vm_thread, on_vm_thread};
use crate::instance::Instance;
use crate::outcome::Outcome;
use crate::program::{Program, WarmupRequest};
use crate::spec::BootError;

/// Runs of each request; the first ones make pages private.
const RUNS: u32 = 5;
/// Longest trial run, in nanoseconds: longer ones say nothing of the machine.
const LONGEST_NS: u64 = 1_000_000_000;

/// The quickest of a request's trial runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Nanoseconds of CPU time to the answer.
    pub run_ns: u64,
    /// Nanoseconds of CPU time of the reset.
    pub reset_ns: u64,
    /// Pages that the reset put back.
    pub dirty_pages: u64,
}

/// Runs each request a few times in one fork, on a thread of its own. `None` for a request without an answer.
pub fn try_out(program: &Arc<Program>, requests: &[WarmupRequest]) -> Result<Vec<Option<Trial>>, BootError> {
    on_vm_thread("mayfly-trial", |shelf| try_out_here(program, requests, shelf))?
}

fn try_out_here(
    program: &Arc<Program>,
    requests: &[WarmupRequest],
    shelf: &Shelf,
) -> Result<Vec<Option<Trial>>, BootError> {
    let mut alarm = Alarm::new()?;
    confine_vm_thread(false)?;
    let mut instance = Instance::new(program)?;
    let _kept = shelf.keep(instance.holdings());
    let mut trials = Vec::with_capacity(requests.len());
    for request in requests {
        let mut quickest: Option<Trial> = None;
        for _ in 0..RUNS {
            let deadline = monotonic_ns().saturating_add(request.timeout_ns.min(LONGEST_NS));
            let begin = thread_cpu_ns();
            let outcome = instance.handle(request.frame.clone(), &mut alarm, deadline)?;
            let ran = thread_cpu_ns();
            let report = instance.reset()?;
            let trial = Trial {
                run_ns: ran - begin,
                reset_ns: thread_cpu_ns() - ran,
                dirty_pages: report.pages,
            };
            if !matches!(outcome, Outcome::Answered(_)) {
                quickest = None;
                break;
            }
            quickest = quickest.filter(|q| q.run_ns <= trial.run_ns).or(Some(trial));
        }
        trials.push(quickest);
    }
    Ok(trials)
}
