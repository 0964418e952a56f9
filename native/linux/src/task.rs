//! The process, its threads and their signals, as plain data.

pub mod process;
pub mod signal;
pub mod threads;
pub mod timers;
