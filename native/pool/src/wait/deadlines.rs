//! When a program is stopped: by the clock on the wall, and by the time that its thread had a CPU.
//!
//! One timer serves both. CPU time never passes faster than the wall's, so a check is due when as much wall time is over as CPU
//! time is left; a thread that had to wait for its core is asked again, ever sooner. The check happens where the wall deadline's
//! does, after a kick of the [`mayfly_vmm::Alarm`], so a CPU deadline cannot fall between check and entry either. A program
//! without one costs no call for it.

use mayfly_vmm::{monotonic_ns, thread_cpu_ns};

use crate::wait::event::Event;

/// Guest threads that do not wait for each other's calls get slices of this length. Threads that wait for the core wait no longer.
const SLICE_NS: u64 = 2_000_000;
/// The first checks: what is not done by then may be no brief request.
const FIRST_CHECK_NS: u64 = 500_000;
/// Checks of the CPU's clock are at least this far apart, and a CPU deadline is met at most this late.
const CHECK_NS: u64 = 100_000;

/// When a program is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// By [`monotonic_ns`].
    pub wall: u64,
    /// By [`thread_cpu_ns`] of the thread that runs it, if at all.
    pub cpu: Option<u64>,
}

impl Deadlines {
    /// By the wall's clock alone.
    pub fn at(wall: u64) -> Deadlines {
        Deadlines { wall, cpu: None }
    }

    /// By the wall's clock at `wall`, and after so many nanoseconds of CPU time from now on.
    pub fn with_cpu(wall: u64, cpu_ns: Option<u64>) -> Deadlines {
        let cpu = cpu_ns.map(|ns| thread_cpu_ns().saturating_add(ns));
        Deadlines { wall, cpu }
    }

    /// The deadline that has passed, the wall's first.
    pub(crate) fn passed(&self) -> Option<Event> {
        if monotonic_ns() >= self.wall {
            return Some(Event::Deadline);
        }
        (self.cpu_left() == Some(0)).then_some(Event::CpuDeadline)
    }

    /// When to check what may still be a brief request: early, or when a deadline may have passed.
    pub(crate) fn first_check(&self) -> u64 {
        self.check_within(FIRST_CHECK_NS)
    }

    /// When to check again: at the end of a slice, or when a deadline may have passed.
    pub(crate) fn next_check(&self) -> u64 {
        self.check_within(SLICE_NS)
    }

    fn check_within(&self, most: u64) -> u64 {
        let wait = self.cpu_left().map_or(most, |left| left.clamp(CHECK_NS, most));
        self.wall.min(monotonic_ns().saturating_add(wait))
    }

    fn cpu_left(&self) -> Option<u64> {
        self.cpu.map(|at| at.saturating_sub(thread_cpu_ns()))
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn time_without_a_cpu_passes_the_walls_deadline_only() {
        let d = Deadlines::with_cpu(monotonic_ns() + 50 * MS, Some(40 * MS));
        assert_eq!(d.passed(), None);
        sleep(Duration::from_millis(60));
        assert_eq!(d.passed(), Some(Event::Deadline));
        let patient = Deadlines { wall: u64::MAX, ..d };
        assert_eq!(patient.passed(), None, "the thread slept");
        while patient.cpu.is_some_and(|at| thread_cpu_ns() < at) {}
        assert_eq!(patient.passed(), Some(Event::CpuDeadline));
    }

    #[test]
    fn a_cpu_deadline_is_not_passed_one_nanosecond_before_it() {
        let now = thread_cpu_ns();
        let far = |cpu| Deadlines {
            wall: u64::MAX,
            cpu: Some(cpu),
        };
        assert_eq!(far(now).passed(), Some(Event::CpuDeadline));
        assert_eq!(far(u64::MAX).passed(), None);
        assert_eq!(Deadlines::at(u64::MAX).passed(), None);
    }

    #[test]
    fn the_next_look_is_never_later_than_what_may_pass() {
        let soon = |d: Deadlines| d.next_check().saturating_sub(monotonic_ns());
        assert!(soon(Deadlines::at(u64::MAX)) <= SLICE_NS);
        assert!(soon(Deadlines::with_cpu(u64::MAX, Some(2 * MS))) <= 2 * MS);
        assert!(soon(Deadlines::with_cpu(u64::MAX, Some(0))) <= CHECK_NS);
        assert_eq!(Deadlines::at(7).next_check(), 7);
        let first = |d: Deadlines| d.first_check().saturating_sub(monotonic_ns());
        assert!(first(Deadlines::at(u64::MAX)) <= FIRST_CHECK_NS);
        assert!(first(Deadlines::with_cpu(u64::MAX, Some(0))) <= CHECK_NS);
        assert_eq!(Deadlines::at(7).first_check(), 7);
    }
}
