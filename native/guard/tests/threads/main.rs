//! Watched threads: what their filter refuses, crashes that end them alone, and those that end the process.

mod crashes;
mod ends;
mod refusals;

use std::sync::Arc;

use mayfly_guard::{Crash, Notifier, VmThread};

/// Runs a body on a watched thread to its end.
fn crash_of(body: impl FnOnce() + Send + 'static) -> Option<Crash> {
    let thread = VmThread::spawn("watched", &Arc::new(Notifier::default()), body).unwrap();
    thread.wait();
    let crash = thread.take_crash();
    thread.reap();
    crash
}
