//! Threads that run machines: under a system-call filter, and with crashes that end the thread and not the process.
//!
//! ```text
//! VmThread::spawn ── new thread: signal stack, signals blocked ── body ── confine(Filter)  ── ... ── end
//!       │                                        │ SIGSEGV, SIGBUS, SIGILL, SIGFPE, a refused call, a panic
//!       │                                        v
//!       │            handler: registers and return addresses into the thread's slot, notifies, waits
//!       v                                        │
//! owner: Notifier::wait ── VmThread::state ── take_crash ── report, locks probed ── reap: the thread ends by a bare `exit`
//! ```
//!
//! A crashed thread runs no destructor: what it owned is leaked, or released by its owner from outside. If it held a lock that
//! the report needs (the allocator's, the queue's), the owner gets stuck, and the crashed thread, which waits to be reaped
//! with a deadline, writes what it knows to the standard error and aborts the process.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("mayfly-guard needs Linux on x86-64");

mod crash;
mod filter;
mod handler;
mod notifier;
mod panics;
mod slot;
mod thread;

pub use crash::{Cause, Crash};
pub use filter::{Filter, confine};
pub use notifier::Notifier;
pub use thread::{State, VmThread};
