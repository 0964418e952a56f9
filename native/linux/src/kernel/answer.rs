//! How a system call ended.

use crate::action::{Action, Stop};
use crate::errno::Errno;
use crate::task::threads::WaitFor;

/// How a call ended that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// With this result.
    Value(u64),
    /// With this result, and the host should know.
    Tell(u64, Action),
    /// It waits, at most until this monotonic time.
    Wait(WaitFor, Option<u64>),
    /// With result 0, after the other threads had their turn.
    Yield,
    /// The registers are set already.
    Registers,
    /// The calling thread is no more.
    Gone,
    /// The guest is no more.
    Stop(Stop),
}

/// How a call ended.
pub type Answer = Result<Done, Errno>;
