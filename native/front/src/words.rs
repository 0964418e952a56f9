//! What the operator hears of the program on the standard error.

use std::sync::atomic::{AtomicBool, Ordering};

use mayfly_pool::Traces;

/// Said once of a program that asks for processes.
const PROCESSES: &str = "mayfly: the program asked for another process, and a machine has one: tell it to use no workers and no helpers (docs/serve.md, Servers that start processes)";

/// Passes on what the program prints, and what it may not have.
#[derive(Debug)]
pub struct Words {
    /// What it prints is passed on.
    passes: bool,
    /// That it asks for processes was said.
    said: AtomicBool,
}

impl Words {
    /// `passes`: what the program prints is passed on.
    #[must_use]
    pub fn new(passes: bool) -> Self {
        Self {
            passes,
            said: AtomicBool::new(false),
        }
    }

    /// Tells of a boot, or of a request.
    pub fn tell(&self, traces: &Traces) {
        if self.passes && !traces.log.is_empty() {
            eprint!("{}", String::from_utf8_lossy(&traces.log));
        }
        if traces.wanted_processes() && !self.said.swap(true, Ordering::Relaxed) {
            eprintln!("{PROCESSES}");
        }
    }
}
