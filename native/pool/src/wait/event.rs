//! Why a program that runs stopped.

use mayfly_linux::action::Action;

/// Why the loop stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The personality wants something of the host. Never [`Action::Resume`].
    Action(Action),
    /// The wall's deadline passed. The program may go on.
    Deadline,
    /// The CPU's deadline passed. The program may go on.
    CpuDeadline,
    /// The host called the request off.
    CalledOff,
    /// A time slice of it is over. The program may go on.
    Slice,
}

/// Where a request may be put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Anywhere in the program.
    Slice,
    /// Where it would wait for the host, if the host had not said something already.
    Wait,
}
