//! What the host should do after the personality handled an exit.

use mayfly_wire::FrameError;

use crate::limits::Limit;

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Enter the guest; the registers are set.
    Resume,
    /// Every thread waits, and at least one of them for the host, for bytes on fd 0 or for its connections: the boundary between requests. Without input, the earliest deadline
    /// is so many nanoseconds away.
    Idle {
        /// Nanoseconds until a thread would run without input.
        wait: Option<u64>,
    },
    /// Every thread waits, none for fd 0; call [`crate::kernel::Kernel::run`] after so many nanoseconds.
    Wait {
        /// Nanoseconds until a thread can run.
        wait: u64,
    },
    /// Every thread waits, and nothing will ever wake one.
    Deadlock,
    /// Bytes for the host wait on fd 1 or 2; enter the guest after taking them.
    Output,
    /// The guest wrote to a connection of the host's, or closed one; enter the guest after taking what is there.
    Connection,
    /// A whole frame waits on fd 1; enter the guest after taking it, or reset. Messages may wait as well.
    Frame,
    /// Messages wait on fd 1; enter the guest after taking them.
    Said,
    /// The guest has ended.
    Stop(Stop),
}

/// Why a guest has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It exited with this status (0 to 255).
    Exit(u8),
    /// This signal killed it.
    Signal(u32),
    /// It needs a page and none is left.
    OutOfMemory,
    /// It went over a limit.
    Limit(Limit),
    /// What it wrote to fd 1 is not a frame.
    BadFrame(FrameError),
    /// The processor raised an exception that no program can cause.
    Exception {
        /// Its vector.
        vector: u8,
    },
}

impl Stop {
    /// The status that a shell would show: that of `exit`, or 128 and the signal; 137 for what Linux ends by SIGKILL.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Exit(status) => *status,
            Self::Signal(signal) => 128_u8.saturating_add(*signal as u8),
            Self::OutOfMemory | Self::Limit(_) | Self::BadFrame(_) | Self::Exception { .. } => 137,
        }
    }
}
