//! Programs in virtual machines: booted once, snapshotted, forked, reset after every request.
//!
//! ```text
//! Spec ── Program::boot ──> Program (snapshot of machine and kernel)
//! Load ── Program::load ──> Program (what differs from the one that it was loaded into: its base)
//!                              │
//!   Pool::submit ── queue ── worker thread: Instance (fork) ── run ── reset ──> Completion ── Pool::fetch
//!                                                              (or the completion first, and then the reset)
//! ```

mod channel;
mod clock;
mod confined;
mod disk;
mod granted;
#[cfg(test)]
mod injected;
mod outcome;
mod outside;
mod pool;
mod program;
mod queue;
mod sched;
mod spec;
mod wait;
mod worker;

pub use mayfly_linux::kernel::denials::{Denial, Reason};
pub use mayfly_linux::syscall::name as call_name;

pub use channel::Channel;
pub use confined::run_confined;
pub use disk::{DiskError, Opening};
pub use outcome::{Bound, Outcome, RequestStats};
pub use outside::{LINK_BYTES, Link, LinkError, Outside, Written};
pub use pool::Pool;
pub use program::guest::Guest;
#[cfg(feature = "mutations")]
pub use program::inspect::LeftOut;
#[doc(hidden)]
pub use program::inspect::Tables;
pub use program::instance::Instance;
pub use program::running::Running;
pub use program::serve::{Protocol, Service, Watch};
pub use program::serving::Serving;
pub use program::traces::Traces;
pub use program::trial::{TRIAL_RUNS, Trial, time_request, try_out};
pub use program::{BootReport, Load, Loading, Program, Warmup, WarmupRequest};
pub use queue::{Parking, Refused};
pub use sched::{Scheduling, choose_scheduling};
pub use spec::deno::deno_spec;
pub use spec::libraries::library_mounts;
pub use spec::mount::{Mount, MountError, Source};
pub use spec::{BootError, Limits, Spec};
pub use wait::deadlines::Deadlines;
pub use wait::event::Event;
pub use worker::job::{Completion, Job, MachineState, Reset};
pub use worker::stats::PoolStats;
