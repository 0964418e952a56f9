//! A wake-up that a signal handler can send.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use libc::{c_long, timespec};

/// Counts notifications; its owner waits for the next one.
#[derive(Debug, Default)]
pub struct Notifier {
    count: AtomicU32,
}

impl Notifier {
    /// Notifications so far. Looked at before the work that a later one would announce.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Wakes the owner. May be called in a signal handler.
    pub fn notify(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        futex_wake(&self.count);
    }

    /// Waits until there were more than `seen`, or time is over.
    pub fn wait(&self, seen: u32, timeout: Duration) {
        wait_while(&self.count, |count| count == seen, timeout);
    }
}

/// Waits while `word` is as `keep` says; false when time is over. May be called in a signal handler.
pub(crate) fn wait_while(word: &AtomicU32, keep: impl Fn(u32) -> bool, timeout: Duration) -> bool {
    let end = Instant::now() + timeout;
    loop {
        let now = word.load(Ordering::Acquire);
        if !keep(now) {
            return true;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let left = timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        };
        let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word is a live u32; the time outlives the call. Whatever it returns, the loop looks again.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, now, &left) };
    }
}

/// Wakes all that wait on `word`. May be called in a signal handler.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is a live u32; nothing is written.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, c_long::from(i32::MAX)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_before_the_wait_is_not_lost_and_a_wait_ends() {
        let notifier = Notifier::default();
        let seen = notifier.count();
        notifier.notify();
        notifier.wait(seen, Duration::from_secs(60));
        let begin = Instant::now();
        notifier.wait(notifier.count(), Duration::from_millis(5));
        assert!(begin.elapsed() >= Duration::from_millis(5));
    }
}
