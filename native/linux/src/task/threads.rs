//! Threads on one vCPU: what each one is, and what it waits for.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::machine::Registers;
use crate::state::account;
use crate::syscall::Call;
use crate::task::signal::{AltStack, Info, Pending};

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitFor {
    /// One of these descriptions has one of these poll events: just those for which the call itself looks, or it would be
    /// made again and again.
    Files(Vec<(usize, u32)>),
    /// A wake-up of this futex word with a bit of this set.
    Futex {
        /// The word's address.
        address: u64,
        /// The bits.
        bits: u32,
    },
    /// One of these signals, which the thread blocks.
    Signals(u64),
    /// Room for so much in the counter of this eventfd.
    Room {
        /// The description.
        file: usize,
        /// What is to be added.
        added: u64,
    },
    /// Nothing but time or a signal.
    Time,
}

/// A wait in progress. When it ends, the system call is made again, with a [`Retry`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// What for.
    pub what: WaitFor,
    /// Monotonic time at which it ends without success.
    pub deadline: Option<u64>,
    /// A futex wake-up has come.
    pub woken: bool,
}

impl Wait {
    /// Bytes of the host that it takes.
    pub(crate) fn cost(&self) -> u64 {
        match &self.what {
            WaitFor::Files(files) => files.len() as u64 * 16,
            _ => 0,
        }
    }
}

/// How a wait ended, for the system call that is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The deadline of the first attempt.
    pub deadline: Option<u64>,
    /// Whether it has passed.
    pub timed_out: bool,
    /// Whether a futex wake-up came.
    pub woken: bool,
    /// Whether only a signal ended the wait.
    pub interrupted: bool,
}

/// A thread. Its registers are here while it does not run; the machine has the running one's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Thread id.
    pub tid: i32,
    /// Integer registers as of its last stop.
    pub registers: Registers,
    /// FS base as of its last stop.
    pub fs_base: u64,
    /// GS base as of its last stop.
    pub gs_base: u64,
    /// XSAVE image as of the last switch away from it; `None` while the machine holds it.
    pub vector: Option<Arc<Vec<u8>>>,
    /// What it waits for; `None` when it can run.
    pub wait: Option<Wait>,
    /// How far the call under way has come, to go on there after a wait or a piece of its work: bytes that it moved, or whatever it counts.
    pub moved: u64,
    /// A call that did a piece of its work and is made again next: where its `syscall` instruction lies, and the call.
    pub unfinished: Option<(u64, Call)>,
    /// Word to clear and wake when it ends.
    pub clear_tid: u64,
    /// Head of its list of robust futexes.
    pub robust_list: u64,
    /// Blocked signals, bit n-1 for signal n.
    pub mask: u64,
    /// The mask to go back to when the call is over or a handler returns (`ppoll`, `epoll_pwait`, `sigsuspend`).
    pub saved_mask: Option<u64>,
    /// Signals sent to this thread.
    pub pending: Pending,
    /// Its alternate signal stack.
    pub alt_stack: AltStack,
    /// Its name, padded with zeros.
    pub name: [u8; 16],
}

impl Thread {
    /// What a thread takes of the host: its slot, its vector registers, and one signal of each number.
    pub(crate) const COST: u64 = account::slot(size_of::<Option<Thread>>())
        + 4096
        + 2 * account::BLOCK
        + 2 * (64 * size_of::<Info>() as u64);

    /// A thread that can run, with everything else empty.
    #[must_use]
    pub fn new(tid: i32, registers: Registers) -> Self {
        Self {
            tid,
            registers,
            fs_base: 0,
            gs_base: 0,
            vector: None,
            wait: None,
            moved: 0,
            unfinished: None,
            clear_tid: 0,
            robust_list: 0,
            mask: 0,
            saved_mask: None,
            pending: Pending::default(),
            alt_stack: AltStack::default(),
            name: [0; 16],
        }
    }
}
