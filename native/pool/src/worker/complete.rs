//! The end of a job: its completion, and the machine readied for the next one.

use mayfly_vmm::{Alarm, monotonic_ns};

use super::Task;
use super::job::{Completion, MachineState, Reset};
use super::shared::Shared;
use crate::outcome::{Outcome, RequestStats};
use crate::program::instance::{Instance, Ran};

/// Completes a job that ran, before or after the reset; false when the machine is lost.
pub(super) fn complete(
    shared: &Shared,
    worker: usize,
    task: &Task,
    ran: Ran,
    instance: &mut Instance,
    alarm: &mut Alarm,
) -> bool {
    let (outcome, runs_on) = match ran.outcome {
        Ok(outcome) => (outcome, true),
        Err(e) => (Outcome::Failed(e.to_string()), false),
    };
    let answered = matches!(outcome, Outcome::Answered(_));
    let mut completion = Completion {
        id: task.id,
        outcome,
        traces: ran.traces,
        stats: RequestStats {
            queue_ns: task.queue_ns,
            ..ran.stats
        },
        machine: MachineState::Lost,
        worker,
    };
    if !runs_on {
        shared.complete(completion);
        return false;
    }
    if shared.early && answered && !task.keep && !task.check {
        completion.machine = MachineState::Resetting;
        shared.answer(completion);
        #[cfg(test)]
        crate::injected::act_in_reset();
        let reset = clean(instance, alarm, None, worker, task.id);
        let usable = reset.machine == MachineState::Clean;
        shared.clean(worker, reset);
        return usable;
    }
    let settles_until = (task.keep && answered).then_some(ran.settles_until);
    // Without a clean machine the answer is right all the same: it came before.
    completion.fill(clean(instance, alarm, settles_until, worker, task.id));
    if task.check
        && let Err(e) = instance.check()
    {
        completion.outcome = Outcome::Failed(e.to_string());
        completion.machine = MachineState::Lost;
    }
    let usable = completion.machine == MachineState::Clean;
    shared.complete(completion);
    usable
}

/// Readies a machine for the next request, and tells how that went.
fn clean(
    instance: &mut Instance,
    alarm: &mut Alarm,
    settles_until: Option<u64>,
    worker: usize,
    job: u64,
) -> Reset {
    let begin = monotonic_ns();
    let pages = instance.clean(alarm, settles_until);
    if let Err(e) = &pages {
        eprintln!("mayfly: a machine of worker {worker} is lost, its reset failed: {e}");
    }
    Reset {
        id: job,
        reset_ns: monotonic_ns() - begin,
        machine: match &pages {
            Ok(_) => MachineState::Clean,
            Err(_) => MachineState::Lost,
        },
        dirty_pages: pages.unwrap_or(0),
    }
}
