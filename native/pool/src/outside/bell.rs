//! Word from the host's side that a machine has something to look at.

use std::fmt::Debug;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Requests that may be parked.
pub(crate) trait Requests: Debug + Send + Sync {
    /// Lets one of them go on, if it is parked.
    fn go_on(&self, request: u64);
}

/// A machine's bell: whoever rings it lets the request of the machine go on, if that is parked and listens.
#[derive(Debug)]
pub(crate) struct Bell {
    requests: Weak<dyn Requests>,
    /// The number of the request under way; 0: none.
    request: AtomicU64,
    rung: AtomicBool,
    /// The machine is not to go on for it: it waits for its client to take the answer.
    deaf: AtomicBool,
}

impl Bell {
    pub fn new(requests: Weak<dyn Requests>) -> Bell {
        Bell {
            requests,
            request: AtomicU64::new(0),
            rung: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
        }
    }

    /// A request begins, or with 0 ends.
    pub fn serve(&self, request: u64) {
        self.deaf.store(false, Ordering::SeqCst);
        self.request.store(request, Ordering::SeqCst);
    }

    /// Whether it does not matter to the request that somebody rings.
    pub fn set_deaf(&self, deaf: bool) {
        self.deaf.store(deaf, Ordering::SeqCst);
    }

    /// The machine looks now.
    pub fn heard(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }

    /// Whether a machine that was parked is to go on at once.
    pub fn calls(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && !self.deaf.load(Ordering::SeqCst)
    }

    /// There is something new for the machine.
    pub fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        let request = self.request.load(Ordering::SeqCst);
        if request != 0
            && self.calls()
            && let Some(requests) = self.requests.upgrade()
        {
            requests.go_on(request);
        }
    }
}
