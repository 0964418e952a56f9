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
    /// Nanoseconds by which the guest sees clocks and counter move on, rounded down. 0 or 1: exact, and the guest's vDSO reads
    /// the counter itself.
    pub grain: u64,
}

/// Bytes of the vDSO's clock page that are used.
pub const CLOCK_PAGE_BYTES: usize = 32;

/// The clocks of one guest; all times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    base: ClockBase,
    /// Monotonic time at the base.
    monotonic: u64,
    /// Monotonic time that all threads waited, until `resting`.
    idle: u64,
    /// When they began to, where they wait now.
    resting: Option<u64>,
}

/// What monotonic clocks read at the start of a guest.
pub const START: u64 = 1_000_000_000;

impl Clock {
    /// A clock whose monotonic time at the base is `monotonic`.
    #[must_use]
    pub fn new(base: ClockBase, monotonic: u64) -> Self {
        Self::resting(base, monotonic, 0)
    }

    /// The same, of a guest whose threads have waited for so long by then, and do.
    #[must_use]
    pub fn resting(base: ClockBase, monotonic: u64, idle: u64) -> Self {
        Self {
            base,
            monotonic,
            idle,
            resting: Some(monotonic),
        }
    }

    /// The same clock from another base on: the threads wait since `monotonic`.
    #[must_use]
    pub fn rebased(&self, base: ClockBase, monotonic: u64) -> Self {
        Self::resting(base, monotonic, self.idle)
    }

    /// How long all threads have waited.
    #[must_use]
    pub fn idle(&self) -> u64 {
        self.idle
    }

    /// All threads wait from `now` on, a monotonic time.
    pub fn rest(&mut self, now: u64) {
        self.resting.get_or_insert(now);
    }

    /// A thread runs from `now` on, a monotonic time.
    pub fn work(&mut self, now: u64) {
        if let Some(since) = self.resting.take() {
            self.idle = self.idle.saturating_add(now.saturating_sub(since));
        }
    }

    /// Time that the guest ran when the counter reads `ticks`: what passed while not all of its threads waited.
    #[must_use]
    pub fn processor(&self, ticks: u64) -> u64 {
        let now = self.resting.unwrap_or_else(|| self.monotonic(ticks));
        now.saturating_sub(START).saturating_sub(self.idle)
    }

    fn since_base(&self, ticks: u64) -> u64 {
        let elapsed = u128::from(ticks.saturating_sub(self.base.ticks)) * u128::from(self.base.scale);
        (elapsed >> 32) as u64
    }

    fn is_coarse(&self) -> bool {
        self.base.grain > 1
    }

    fn round_down(&self, nanoseconds: u64) -> u64 {
        nanoseconds - nanoseconds % self.base.grain.max(1)
    }

    /// Monotonic time when the counter reads `ticks`.
    #[must_use]
    pub fn monotonic(&self, ticks: u64) -> u64 {
        self.round_down(self.monotonic.saturating_add(self.since_base(ticks)))
    }

    /// Realtime when the counter reads `ticks`.
    #[must_use]
    pub fn realtime(&self, ticks: u64) -> u64 {
        self.round_down(self.base.realtime.saturating_add(self.since_base(ticks)))
    }

    /// What a trapped read of the counter gives when it reads `ticks`; `None` where the counter is not trapped.
    #[must_use]
    pub fn counter(&self, ticks: u64) -> Option<u64> {
        let grain = (u128::from(self.base.grain) << 32) / u128::from(self.base.scale.max(1));
        let grain = u64::try_from(grain).unwrap_or(u64::MAX).max(1);
        self.is_coarse().then(|| ticks - ticks % grain)
    }

    /// Moves the monotonic clock on by so much as it is told, and by whole grains.
    pub fn jump(&mut self, nanoseconds: u64) {
        let whole = nanoseconds.checked_next_multiple_of(self.base.grain.max(1));
        self.monotonic = self.monotonic.saturating_add(whole.unwrap_or(nanoseconds));
    }

    /// What the clock page holds: monotonic base, realtime base, ticks at the base, scale (0: the guest must ask by system call).
    #[must_use]
    pub fn page(&self) -> [u8; CLOCK_PAGE_BYTES] {
        let scale = if self.is_coarse() { 0 } else { self.base.scale };
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
            grain: 0,
        };
        let mut clock = Clock::new(base, 70);
        assert_eq!(
            (clock.monotonic(1000), clock.monotonic(1400), clock.monotonic(0)),
            (70, 270, 70)
        );
        clock.jump(1000);
        assert_eq!((clock.monotonic(1400), clock.realtime(1400)), (1270, 5_000_200));
        assert_eq!(clock.page()[..8], 1070_u64.to_le_bytes());
        assert_eq!(clock.counter(1400), None);
        let years = 100 * 365 * 86_400 * 1_000_000_000;
        assert_eq!(clock.monotonic(1000 + years), 1070 + years / 2);
    }

    #[test]
    fn coarse_clocks_stand_on_multiples_of_the_grain_and_jumps_reach_their_target() {
        let base = ClockBase {
            ticks: 1000,
            scale: 1 << 31,
            realtime: 5_000_050,
            grain: 100,
        };
        let mut clock = Clock::new(base, 170);
        for ticks in 1000..3000 {
            let (monotonic, realtime) = (clock.monotonic(ticks), clock.realtime(ticks));
            let exact = (ticks - 1000) / 2;
            assert_eq!(
                (monotonic, realtime),
                ((170 + exact) / 100 * 100, (5_000_050 + exact) / 100 * 100)
            );
            assert_eq!(clock.counter(ticks), Some(ticks / 200 * 200));
        }
        assert_eq!(clock.page()[24..], [0; 8], "the vDSO asks by system call");
        for wait in [1, 99, 100, 101, 12_345] {
            let deadline = clock.monotonic(1000) + wait;
            clock.jump(wait);
            assert!(
                (deadline..deadline + 100).contains(&clock.monotonic(1000)),
                "{wait}"
            );
        }
    }
}
