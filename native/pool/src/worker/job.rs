//! A request on its way through a pool, and what comes back of it.

use std::sync::Arc;

use crate::channel::Channel;
use crate::outcome::{Outcome, RequestStats};
use crate::program::Program;
use crate::program::traces::Traces;

/// A request to run.
#[derive(Debug)]
pub struct Job {
    /// The submitter's number; comes back in the completion.
    pub id: u64,
    /// What to run it in.
    pub program: Arc<Program>,
    /// Requests of a program that bear the same number are one flow; flows are served in turn.
    pub flow: u32,
    /// Turns that the flow has for each turn of one of weight 1, 1 to 16.
    pub weight: u32,
    /// The request frame.
    pub frame: Vec<u8>,
    /// Nanoseconds it may run, waiting in the queue not counted.
    pub timeout_ns: u64,
    /// Keep the program's state for the next request instead of resetting it.
    pub keep: bool,
    /// Compare the machine with its snapshot afterwards, byte for byte; a difference fails the request. For tests: it is slow.
    pub check: bool,
    /// What it and the host say to each other; without one, a program that says something misbehaves.
    pub channel: Option<Arc<Channel>>,
}

/// A request that is done.
#[derive(Debug)]
pub struct Completion {
    /// The job's number.
    pub id: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What else it left: its log, and what it was refused.
    pub traces: Traces,
    /// Where its time went; without the reset while the machine is [`MachineState::Resetting`].
    pub stats: RequestStats,
    /// What became of its machine.
    pub machine: MachineState,
    /// The worker that ran it.
    pub worker: usize,
}

impl Completion {
    /// Of a job that a failure of ours ended.
    pub(crate) fn failed(id: u64, worker: usize, why: String) -> Completion {
        Completion {
            id,
            outcome: Outcome::Failed(why),
            traces: Traces::default(),
            stats: RequestStats::default(),
            machine: MachineState::Clean,
            worker,
        }
    }

    /// Takes in the reset that came after it.
    pub(crate) fn fill(&mut self, reset: Reset) {
        self.stats.reset_ns = reset.reset_ns;
        self.stats.dirty_pages = reset.dirty_pages;
        self.machine = reset.machine;
    }
}

/// A machine after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// It serves the next one; or there was none.
    Clean,
    /// It was not clean yet when the request was completed: a [`Reset`] follows.
    Resetting,
    /// It was dropped, and another is forked.
    Lost,
}

/// The reset after a request that was completed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The job's number.
    pub id: u64,
    /// Nanoseconds until the machine was clean or given up; 0 after a crash.
    pub reset_ns: u64,
    /// Pages that were put back.
    pub dirty_pages: u64,
    /// Clean, or lost. The answer stands in any case: it was complete before.
    pub machine: MachineState,
}
