//! Programs in virtual machines: booted once, snapshotted, forked, reset after every request.
//!
//! ```text
//! Spec ── Program::boot ──> Program (snapshot of machine and kernel)
//! Load ── Program::load ──> Program (what differs from the one that it was loaded into: its base)
//!                              │
//!   Pool::submit ── queue ── worker thread: Instance (fork) ── run ── reset ──> Completion ── Pool::fetch
//!                                                              (or the completion first, and then the reset)
//! ```

mod booting;
mod busy_poll;
mod clock;
mod confined;
mod deadlines;
mod deno;
mod event;
#[cfg(test)]
mod injected;
mod inspect;
mod instance;
mod job;
mod libraries;
mod machine;
mod mount;
mod outcome;
mod pool;
mod program;
mod queue;
mod restart_budget;
mod running;
mod shared;
mod slice;
mod spec;
mod stats;
mod supervisor;
mod trial;
mod worker;

pub use mayfly_linux::denials::{Denial, Reason};
pub use mayfly_linux::syscall::name as call_name;

pub use confined::run_confined;
pub use deadlines::Deadlines;
pub use deno::deno_spec;
pub use event::Event;
#[cfg(feature = "mutations")]
pub use inspect::LeftOut;
#[doc(hidden)]
pub use inspect::Tables;
pub use instance::{Instance, Traces};
pub use job::{Completion, Job, MachineState, Reset};
pub use libraries::library_mounts;
pub use machine::Guest;
pub use mount::{Mount, MountError, Source};
pub use outcome::{Outcome, RequestStats};
pub use pool::Pool;
pub use program::{BootReport, Load, Loading, Program, Warmup, WarmupRequest};
pub use queue::Refused;
pub use running::Running;
pub use spec::{BootError, Limits, Spec};
pub use stats::PoolStats;
pub use trial::{Trial, time_request, try_out};
