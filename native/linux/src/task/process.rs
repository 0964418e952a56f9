//! The one process of a guest.

use serde::{Deserialize, Serialize};

use crate::task::signal::{Disposition, Pending};
use crate::task::timers::Timer;

/// The process id of every guest.
pub const PID: i32 = 100;
/// User and group id of every guest.
pub const UID: u32 = 1000;

/// State of the process that is neither memory, threads nor files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Path that `/proc/self/exe` shows.
    pub executable: Vec<u8>,
    /// Arguments, each with its NUL.
    pub command_line: Vec<u8>,
    /// The auxiliary vector's bytes.
    pub auxiliary: Vec<u8>,
    /// Node of the working directory, which the process holds.
    pub folder: usize,
    /// The path of the working directory below that node, if that is a granted folder.
    pub below: Vec<u8>,
    /// `umask`.
    pub umask: u32,
    /// What each signal does, by number less 1.
    pub dispositions: Vec<Disposition>,
    /// Signals sent to the process, for any thread.
    pub pending: Pending,
    /// `ITIMER_REAL`, `ITIMER_VIRTUAL` and `ITIMER_PROF`: the time of the next signal, monotonic or that the guest ran, and nanoseconds between
    /// them.
    pub alarms: [Option<(u64, u64)>; 3],
    /// POSIX timers, each with an id of its own.
    pub timers: Vec<Timer>,
    /// Id of the next timer, if it is free.
    pub next_timer: i32,
    /// Thread id of the next thread.
    pub next_tid: i32,
    /// Soft and hard limits that the guest set, by resource.
    pub resources: [[u64; 2]; 16],
    /// `prctl(PR_SET_DUMPABLE)` and the like: values that are only remembered.
    pub dumpable: u64,
}
