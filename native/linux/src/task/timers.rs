//! POSIX timers: what each counts and whom it signals.

use serde::{Deserialize, Serialize};

use crate::state::ensure::ensure;
use crate::task::signal::{Info, SIGNALS};

/// Most timers of a guest: each exit looks at those that run.
pub const TIMERS_MAX: usize = 64;
/// `SI_TIMER`.
const SI_TIMER: i32 = -2;

/// Whom a timer tells that its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notify {
    /// Nobody (`SIGEV_NONE`): it is only read.
    Nobody,
    /// Any thread, by this signal.
    Process(u32),
    /// The thread of this id, by this signal.
    Thread(u32, i32),
}

/// What a timer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Counts {
    /// Monotonic time; an absolute time set in it is realtime.
    Realtime,
    /// Monotonic time.
    Monotonic,
    /// Time that the guest ran.
    Processor,
    /// The same; it expires while its own thread runs, if it tells one.
    Thread,
}

impl Counts {
    /// Whether it stands still while all threads wait.
    #[must_use]
    pub fn rests(self) -> bool {
        matches!(self, Self::Processor | Self::Thread)
    }
}

/// A timer of `timer_create`. Times are nanoseconds of what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Its id, from 0 to `i32::MAX`.
    pub id: i32,
    /// What it counts.
    pub counts: Counts,
    /// Whom it tells.
    pub notify: Notify,
    /// `si_value` of its signals.
    pub value: u64,
    /// The next expiry, or the one whose signal is sent and not yet taken. None: it does not run.
    pub next: Option<u64>,
    /// Between expiries; 0: there is one.
    pub interval: u64,
    /// Expiries that the signal taken last stood for, beside its own.
    pub overrun: i32,
}

impl Timer {
    /// How many whole intervals passed since the expiry that was due, and the first expiry behind `now`.
    fn missed(at: u64, interval: u64, now: u64) -> (u64, u64) {
        let missed = now.saturating_sub(at) / interval;
        (missed, at.saturating_add((missed + 1).saturating_mul(interval)))
    }

    /// Until its next expiry, and its interval: `timer_gettime`.
    #[must_use]
    pub fn left(&self, now: u64) -> (u64, u64) {
        let left = match self.next {
            None => 0,
            Some(at) if at > now => at - now,
            // Its signal waits to be sent.
            Some(_) if self.interval == 0 => u64::from(self.notify != Notify::Nobody),
            Some(at) => Self::missed(at, self.interval, now).1 - now,
        };
        (left, self.interval)
    }

    /// What its signal says.
    #[must_use]
    pub fn info(&self, signal: u32) -> Info {
        Info {
            signal,
            errno: 0,
            code: SI_TIMER,
            word: u64::from(self.id.cast_unsigned()),
            value: self.value,
        }
    }

    /// Whether a signal is one of its own.
    #[must_use]
    pub fn sent(&self, info: &Info) -> bool {
        let signal = match self.notify {
            Notify::Nobody => return false,
            Notify::Process(signal) | Notify::Thread(signal, _) => signal,
        };
        (info.signal, info.code) == (signal, SI_TIMER) && info.word as u32 == self.id.cast_unsigned()
    }

    /// Its signal is taken: it counts what it missed until now, and goes on.
    pub fn taken(&mut self, now: u64) {
        self.overrun = 0;
        if let Some(at) = self.next.filter(|&at| at <= now && self.interval != 0) {
            let (missed, next) = Self::missed(at, self.interval, now);
            self.overrun = i32::try_from(missed).unwrap_or(i32::MAX);
            self.next = Some(next);
        }
    }
}

/// Checks timers that were read from a file.
///
/// # Errors
/// What no guest could have made.
pub fn audit(timers: &[Timer]) -> Result<(), String> {
    ensure(timers.len() <= TIMERS_MAX, || format!("{} timers", timers.len()))?;
    for (index, timer) in timers.iter().enumerate() {
        let signal = match timer.notify {
            Notify::Nobody => 1,
            Notify::Process(signal) | Notify::Thread(signal, _) => signal,
        };
        let unique = timers[..index].iter().all(|other| other.id != timer.id);
        ensure(timer.id >= 0 && unique && (1..=SIGNALS).contains(&signal), || {
            format!("a timer cannot be: {timer:?}")
        })?;
    }
    Ok(())
}
