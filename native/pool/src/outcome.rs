//! What became of a request.

use std::fmt;

use mayfly_linux::action::Stop;
use mayfly_linux::limits::Limit;

/// A bound of requests that wait for the host ([`crate::Parking`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// How many there are, of one program or in all.
    Number,
    /// The memory that those of one program hold.
    MemoryOfOne,
    /// The memory that all hold.
    MemoryOfAll,
}

/// How a request ended. Each way has its own answer on the host's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The response frame, checked.
    Answered(Vec<u8>),
    /// Its time by the wall's clock was over.
    Timeout,
    /// It had a CPU for as long as it may.
    CpuOver,
    /// Its memory was used up.
    OutOfMemory,
    /// It wrote more than it may, or began a frame that is longer.
    OutputOver,
    /// It made more system calls than it may.
    CallsOver,
    /// The program ended with this status.
    Exited(i32),
    /// The program died by this signal.
    Killed(i32),
    /// All its threads wait for each other and nothing can wake them.
    Stuck,
    /// What it wrote is no frame.
    Misbehaved(String),
    /// A bug or a shortage of the host's; the machine was dropped.
    Failed(String),
    /// The host called it off.
    CalledOff,
    /// It began to talk with the host or was to wait for it, and this bound of all that do was met.
    Refused(Bound),
}

impl Outcome {
    /// A word for logs and counters.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Answered(_) => "answered",
            Outcome::Timeout => "timeout",
            Outcome::CpuOver => "cpu",
            Outcome::OutOfMemory => "memory",
            Outcome::OutputOver => "output",
            Outcome::CallsOver => "calls",
            Outcome::Exited(_) => "exited",
            Outcome::Killed(_) => "killed",
            Outcome::Stuck => "stuck",
            Outcome::Misbehaved(_) => "misbehaved",
            Outcome::Failed(_) => "failed",
            Outcome::CalledOff => "called-off",
            Outcome::Refused(_) => "refused",
        }
    }
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Exit(status) => Outcome::Exited(status.into()),
            Stop::Signal(signal) => Outcome::Killed(signal as i32),
            Stop::OutOfMemory => Outcome::OutOfMemory,
            Stop::Limit(Limit::Output) => Outcome::OutputOver,
            Stop::Limit(Limit::Calls) => Outcome::CallsOver,
            Stop::BadFrame(e) => Outcome::Misbehaved(format!("wrote no frame: {e}")),
            Stop::Exception { vector } => Outcome::Failed(format!("exception {vector}")),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Exited(status) => write!(f, "exited with status {status}"),
            Outcome::Killed(signal) => write!(f, "killed by signal {signal}"),
            Outcome::Misbehaved(what) | Outcome::Failed(what) => write!(f, "{}: {what}", self.name()),
            Outcome::Answered(_)
            | Outcome::Timeout
            | Outcome::CpuOver
            | Outcome::OutOfMemory
            | Outcome::OutputOver
            | Outcome::CallsOver
            | Outcome::CalledOff
            | Outcome::Refused(_)
            | Outcome::Stuck => f.write_str(self.name()),
        }
    }
}

/// Where a request's time went, and what it touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestStats {
    /// Nanoseconds in the queue.
    pub queue_ns: u64,
    /// Nanoseconds from entering the machine to the answer, those left out for which it was parked.
    pub run_ns: u64,
    /// Nanoseconds until the machine was clean again.
    pub reset_ns: u64,
    /// Times that the guest left ring 3.
    pub exits: u64,
    /// Pages that the reset put back.
    pub dirty_pages: u64,
    /// Times that it was parked.
    pub parks: u64,
    /// Nanoseconds for which it was, until its machine went on.
    pub parked_ns: u64,
    /// Messages that it said to the host, and that it was given of the host's.
    pub said: u64,
    /// See `said`.
    pub heard: u64,
}

impl RequestStats {
    /// Adds another request's.
    pub fn add(&mut self, other: &RequestStats) {
        self.queue_ns += other.queue_ns;
        self.run_ns += other.run_ns;
        self.reset_ns += other.reset_ns;
        self.exits += other.exits;
        self.dirty_pages += other.dirty_pages;
        self.parks += other.parks;
        self.parked_ns += other.parked_ns;
        self.said += other.said;
        self.heard += other.heard;
    }
}
