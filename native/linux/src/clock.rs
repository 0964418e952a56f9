//! The guest's clocks: one tick counter, a scale and two bases.
//!
//! The monotonic clock stands still between requests: each request sees it carry on from the instant at which the snapshot went idle, or
//! timers that seemed to elapse since then would all fire at once. It may also jump, while all threads wait. The realtime clock is the
//! host's.

/// Where the clocks stand at an instant, as the host measured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockBase {
    /// What [`crate::machine::Machine::ticks`] read at the instant.
    pub ticks: u64,
    /// Nanoseconds per tick, as 32.32 fixed point.
    pub scale: u64,
    /// Nanoseconds since 1970 at the instant.
    pub realtime: u64,
    /// Whether `rdtsc` in the guest reads the same counter, so that the vDSO may use it.
    pub guest_readable: bool,
}

/// Bytes of the vDSO's clock page that are used.
pub const CLOCK_PAGE_BYTES: usize = 32;

/// The clocks of one guest; all times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    base: ClockBase,
    /// Monotonic time at the base.
    monotonic: u64,
}

impl Clock {
    /// A clock whose monotonic time at the base is `monotonic`.
    #[must_use]
    pub fn new(base: ClockBase, monotonic: u64) -> Self {
        Self { base, monotonic }
    }

    fn since_base(&self, ticks: u64) -> u64 {
        let elapsed = u128::from(ticks.saturating_sub(self.base.ticks)) * u128::from(self.base.scale);
        (elapsed >> 32) as u64
    }

    /// Monotonic time when the counter reads `ticks`.
    #[must_use]
    pub fn monotonic(&self, ticks: u64) -> u64 {
        self.monotonic.saturating_add(self.since_base(ticks))
    }

    /// Realtime when the counter reads `ticks`.
    #[must_use]
    pub fn realtime(&self, ticks: u64) -> u64 {
        self.base.realtime.saturating_add(self.since_base(ticks))
    }

    /// Moves the monotonic clock on.
    pub fn jump(&mut self, nanoseconds: u64) {
        self.monotonic = self.monotonic.saturating_add(nanoseconds);
    }

    /// What the clock page holds: monotonic base, realtime base, ticks at the base, scale (0: the guest must ask by system call).
    #[must_use]
    pub fn page(&self) -> [u8; CLOCK_PAGE_BYTES] {
        let scale = if self.base.guest_readable {
            self.base.scale
        } else {
            0
        };
        let mut page = [0; CLOCK_PAGE_BYTES];
        let words = [self.monotonic, self.base.realtime, self.base.ticks, scale];
        page.copy_from_slice(words.map(u64::to_le_bytes).as_flattened());
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_at_the_scale_and_only_the_monotonic_one_jumps() {
        let base = ClockBase {
            ticks: 1000,
            scale: 1 << 31,
            realtime: 5_000_000,
            guest_readable: true,
        };
        let mut clock = Clock::new(base, 70);
        assert_eq!(
            (clock.monotonic(1000), clock.monotonic(1400), clock.monotonic(0)),
            (70, 270, 70)
        );
        clock.jump(1000);
        assert_eq!((clock.monotonic(1400), clock.realtime(1400)), (1270, 5_000_200));
        assert_eq!(clock.page()[..8], 1070_u64.to_le_bytes());
        let years = 100 * 365 * 86_400 * 1_000_000_000;
        assert_eq!(clock.monotonic(1000 + years), 1070 + years / 2);
    }
}
