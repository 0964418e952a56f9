//! Programs in virtual machines: booted once, snapshotted, forked, reset after every request.
//!
//! ```text
//! Spec ── Program::boot ──> Program (snapshot of machine and kernel)
//! Load ── Program::load ──> Program (what differs from the one that it was loaded into: its base)
//!                              │
//!   Pool::submit ── queue ── worker thread: Instance (fork) ── run ── reset ──> Completion ── Pool::fetch
//!                                                              (or the completion first, and then the reset)
//! ```

mod allowance;
mod booting;
mod clock;
mod confined;
mod deadlines;
mod deno;
#[cfg(test)]
mod injected;
mod inspect;
mod instance;
mod libraries;
mod lines;
mod machine;
mod mount;
mod outcome;
mod pool;
mod program;
mod queue;
mod running;
mod spec;
mod spin;
mod supervisor;
mod trial;
mod turns;
mod worker;

pub use mayfly_linux::calls::name as call_name;
pub use mayfly_linux::denials::{Denial, Reason};

pub use confined::run_confined;
pub use deadlines::Deadlines;
pub use deno::deno_spec;
#[doc(hidden)]
pub use inspect::{LeftOut, Tables};
pub use instance::{Instance, Traces};
pub use libraries::library_mounts;
pub use machine::Guest;
pub use mount::{Mount, MountError, Source};
pub use outcome::{Outcome, RequestStats};
pub use pool::{Completion, Job, MachineState, Pool, PoolStats, Reset};
pub use program::{BootReport, Load, Loading, Program, Warmup, WarmupRequest};
pub use queue::Refused;
pub use running::{Event, Running};
pub use spec::{BootError, Limits, Spec};
pub use trial::{Trial, time_request, try_out};
