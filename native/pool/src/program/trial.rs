//! Trial runs of a new program: what a request costs in a fork that is reset. A warm-up that stopped too early shows here, as each
//! run does again what the snapshot came too soon for (V8's compilations, above all). A benchmark times requests the same way.

use std::sync::Arc;
use std::time::Duration;

use mayfly_vmm::{Alarm, monotonic_ns, thread_cpu_ns};

use crate::confined::{ResourceLists, confine_vm_thread, on_vm_thread};
use crate::outcome::Outcome;
use crate::program::instance::Instance;
use crate::program::{Program, WarmupRequest};
use crate::spec::BootError;

/// Runs of each request that say how quick it is; the first ones make pages private.
pub const TRIAL_RUNS: u32 = 5;
/// First runs of a timed request, which make pages private. A reset gives a large working set back a few times before it keeps it.
const SETTLING_RUNS: u32 = 6;
/// Least runs that are timed behind them.
const TIMED_RUNS: usize = 5;
/// Longest trial run, in nanoseconds: longer ones say nothing of the machine.
const LONGEST_NS: u64 = 1_000_000_000;

/// The quickest of a request's trial runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The answer's frame.
    pub answer: Vec<u8>,
    /// Nanoseconds of CPU time to the answer.
    pub run_ns: u64,
    /// Nanoseconds of CPU time of the reset.
    pub reset_ns: u64,
    /// Pages that the reset put back.
    pub dirty_pages: u64,
}

/// Runs each request `runs` times in one fork, on a thread of its own. `None` for a request without an answer.
pub fn try_out(
    program: &Arc<Program>,
    requests: &[WarmupRequest],
    runs: u32,
) -> Result<Vec<Option<Trial>>, BootError> {
    on_vm_thread("mayfly-trial", |resources| {
        try_out_here(program, requests, runs, resources)
    })?
}

/// Runs one request again and again in one fork, on a thread of its own, for so long or so often: the nanoseconds of CPU time of each run
/// from its frame to its answer, resets left out. Runs that begin in the first half of the time do not count, nor do the first
/// [`SETTLING_RUNS`]; at least [`TIMED_RUNS`] do, however long they take. An error for a request without an answer.
pub fn time_request(
    program: &Arc<Program>,
    request: &WarmupRequest,
    time: Duration,
    most: usize,
) -> Result<Vec<u64>, BootError> {
    on_vm_thread("mayfly-timing", |resources| {
        let mut alarm = Alarm::new()?;
        confine_vm_thread(false)?;
        let mut instance = Instance::new(program)?;
        let _listed = resources.list(instance.host_resources());
        let half = u64::try_from(time.as_nanos() / 2).unwrap_or(u64::MAX / 2);
        let first = monotonic_ns().saturating_add(half);
        let mut settling = SETTLING_RUNS;
        let mut runs = Vec::new();
        while runs.len() < most {
            let begin = monotonic_ns();
            if begin > first.saturating_add(half) && runs.len() >= TIMED_RUNS {
                break;
            }
            let cpu = thread_cpu_ns();
            let ran = instance.run(request.frame.clone(), &mut alarm, request.timeout_ns);
            let ran_ns = thread_cpu_ns() - cpu;
            let outcome = ran.outcome?;
            if !matches!(outcome, Outcome::Answered(_)) {
                return Err(BootError::Ended {
                    what: format!("ended a timed request with {outcome:?}"),
                    log: String::from_utf8_lossy(&ran.traces.log).into_owned(),
                });
            }
            instance.clean(&mut alarm, None)?;
            instance.rest();
            if begin >= first && settling == 0 {
                runs.push(ran_ns);
            }
            settling = settling.saturating_sub(1);
        }
        Ok(runs)
    })?
}

fn try_out_here(
    program: &Arc<Program>,
    requests: &[WarmupRequest],
    runs: u32,
    resources: &ResourceLists,
) -> Result<Vec<Option<Trial>>, BootError> {
    let mut alarm = Alarm::new()?;
    confine_vm_thread(false)?;
    let mut instance = Instance::new(program)?;
    let _listed = resources.list(instance.host_resources());
    let mut trials = Vec::with_capacity(requests.len());
    for request in requests {
        let mut quickest: Option<Trial> = None;
        for _ in 0..runs {
            let deadline = monotonic_ns().saturating_add(request.timeout_ns.min(LONGEST_NS));
            let begin = thread_cpu_ns();
            let outcome = instance.handle(request.frame.clone(), &mut alarm, deadline)?;
            let ran = thread_cpu_ns();
            let report = instance.reset()?;
            let Outcome::Answered(answer) = outcome else {
                quickest = None;
                break;
            };
            let trial = Trial {
                answer,
                run_ns: ran - begin,
                reset_ns: thread_cpu_ns() - ran,
                dirty_pages: report.pages,
            };
            quickest = quickest.filter(|q| q.run_ns <= trial.run_ns).or(Some(trial));
        }
        trials.push(quickest);
    }
    Ok(trials)
}
