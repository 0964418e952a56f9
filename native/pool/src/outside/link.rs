//! One connection of a program to the outside, between its machine and the host: bounded bytes both ways, and how far both sides are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mayfly_linux::errno::Errno;
use mayfly_linux::fs::files::HostEnd;
use mayfly_linux::kernel::Kernel;

use super::Bell;

/// Most bytes that wait in each direction.
pub const LINK_BYTES: usize = 256 << 10;

/// What a program is told of a connection that cannot be made, or has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the error numbers")]
pub enum LinkError {
    Refused,
    TimedOut,
    HostUnreachable,
    NetworkUnreachable,
    Reset,
    /// There are as many connections as may be.
    TooMany,
}

impl LinkError {
    fn errno(self) -> Errno {
        match self {
            LinkError::Refused => Errno::ECONNREFUSED,
            LinkError::TimedOut => Errno::ETIMEDOUT,
            LinkError::HostUnreachable => Errno::EHOSTUNREACH,
            LinkError::NetworkUnreachable => Errno::ENETUNREACH,
            LinkError::Reset => Errno::ECONNRESET,
            // As Linux without a free port.
            LinkError::TooMany => Errno::EADDRNOTAVAIL,
        }
    }
}

/// What a program has said since the host looked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes for the other side.
    pub bytes: Vec<u8>,
    /// Nothing comes behind them.
    pub finished: bool,
    /// Nobody reads what the other side says any more.
    pub closed: bool,
}

/// A connection to the outside.
#[derive(Debug)]
pub struct Link {
    number: u64,
    bell: Arc<Bell>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    made: bool,
    made_told: bool,
    failed: Option<LinkError>,
    to_guest: Vec<u8>,
    /// The other side has said all.
    ended: bool,
    ended_told: bool,
    from_guest: Vec<u8>,
    /// The program has more to say than there is room for.
    waits: bool,
    finished: bool,
    closed: bool,
    /// The host was told of something, and has not looked since.
    told: bool,
}

/// What became of a link at its machine's look.
pub(super) struct Passed {
    pub is_new: bool,
    pub tells: bool,
    pub is_over: bool,
}

impl Link {
    pub(super) fn new(bell: Arc<Bell>) -> Arc<Link> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Link {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            bell,
            state: Mutex::default(),
        })
    }

    /// Tells links apart; never used twice.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Each critical section leaves the state whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A change by the host, of which the machine is told.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.bell.ring();
    }

    /// The host has made the connection.
    pub fn made(&self) {
        self.change(|state| state.made = true);
    }

    /// It cannot be made, or has broken behind the bytes that were given.
    pub fn fail(&self, why: LinkError) {
        self.change(|state| state.failed = Some(why));
    }

    /// Bytes that may be given.
    #[must_use]
    pub fn room(&self) -> usize {
        let state = self.lock();
        LINK_BYTES.saturating_sub(state.to_guest.len())
    }

    /// Gives the program bytes of the other side, no more than there is room for.
    pub fn give(&self, bytes: &[u8]) {
        self.change(|state| state.to_guest.extend_from_slice(bytes));
    }

    /// The other side has said all.
    pub fn end(&self) {
        self.change(|state| state.ended = true);
    }

    /// Takes what the program has said. The host is told of what comes next.
    #[must_use]
    pub fn take(&self) -> Written {
        let mut state = self.lock();
        state.told = false;
        let bytes = std::mem::take(&mut state.from_guest);
        let waits = std::mem::take(&mut state.waits);
        let written = Written {
            finished: state.finished,
            closed: state.closed,
            bytes,
        };
        drop(state);
        if waits {
            self.bell.ring();
        }
        written
    }

    /// Whether the program has left it; the host is told of what comes next.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let mut state = self.lock();
        state.told = false;
        state.closed
    }

    /// Ends it from the program's side. True when the host is to be told.
    pub(super) fn close(&self) -> bool {
        let mut state = self.lock();
        (state.finished, state.closed) = (true, true);
        state.to_guest = Vec::new();
        !std::mem::replace(&mut state.told, true)
    }

    /// Whether the program knows that it is made.
    pub(super) fn is_made(&self) -> bool {
        self.lock().made_told
    }

    /// Whether the program may hear of it, or may find room.
    pub(super) fn is_live(&self) -> bool {
        let state = self.lock();
        !state.ended_told || state.waits
    }

    /// Moves what there is between the machine and the host.
    pub(super) fn pass(&self, kernel: &mut Kernel, end: HostEnd) -> Passed {
        let mut state = self.lock();
        let (mut is_new, mut has_news) = (false, false);
        if state.made && !state.made_told {
            state.made_told = true;
            kernel.host_establish(end);
            is_new = true;
        }
        let room = LINK_BYTES.saturating_sub(state.from_guest.len());
        let bytes = kernel.host_receive_some(end, room);
        if !bytes.is_empty() {
            (is_new, has_news) = (true, true);
            match state.from_guest.is_empty() {
                true => state.from_guest = bytes,
                false => state.from_guest.extend_from_slice(&bytes),
            }
        }
        let has_all = !kernel.host_has_bytes(end);
        state.waits = !has_all;
        if has_all && !state.finished && kernel.host_ended(end) {
            (state.finished, has_news) = (true, true);
        }
        if kernel.host_is_left(end) {
            // Who is left hears nothing more.
            state.to_guest = Vec::new();
            let is_over = has_all || state.failed.is_some();
            if is_over {
                (state.closed, has_news) = (true, true);
                kernel.host_close(end);
            }
            return state.passed(is_new, has_news, is_over);
        }
        if !state.to_guest.is_empty() {
            let sent = kernel.host_send(end, &state.to_guest);
            state.to_guest.drain(..sent);
            is_new |= sent > 0;
            has_news |= sent > 0;
        }
        let all_given = state.to_guest.is_empty();
        // One that writes and does not read would never hear of it.
        if let Some(why) = state.failed
            && (all_given || state.waits || !state.from_guest.is_empty())
        {
            state.closed = true;
            kernel.host_fail(end, why.errno());
            return state.passed(true, true, true);
        }
        if all_given && state.ended && !state.ended_told {
            state.ended_told = true;
            kernel.host_finish(end);
            is_new = true;
        }
        state.passed(is_new, has_news, false)
    }
}

impl State {
    fn passed(&mut self, is_new: bool, has_news: bool, is_over: bool) -> Passed {
        Passed {
            is_new,
            tells: has_news && !std::mem::replace(&mut self.told, true),
            is_over,
        }
    }
}
