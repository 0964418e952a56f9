//! Clocks, sleeping and timers.

use super::{Answer, Call, Done, ZERO, number, value};
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::task::threads::{Retry, WaitFor};

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// What a clock counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Realtime,
    Monotonic,
    /// Time that the process ran; of a thread it is the same.
    Process,
}

/// Place of an alarm: ITIMER_REAL, ITIMER_VIRTUAL or ITIMER_PROF.
fn alarm_of(which: u64) -> Result<usize, Errno> {
    match which as u32 {
        which @ 0..=2 => Ok(which as usize),
        _ => Err(Errno::EINVAL),
    }
}

/// Nanoseconds of a `timespec`.
pub(super) fn nanoseconds([seconds, rest]: [u64; 2]) -> Result<u64, Errno> {
    if seconds > i64::MAX as u64 || rest >= SECOND {
        return Err(Errno::EINVAL);
    }
    Ok(seconds.saturating_mul(SECOND).saturating_add(rest))
}

/// The `timespec` of nanoseconds.
pub(super) fn timespec(nanoseconds: u64) -> [u64; 2] {
    [nanoseconds / SECOND, nanoseconds % SECOND]
}

/// Nanoseconds of a `timeval`.
fn from_timeval([seconds, micros]: [u64; 2]) -> Result<u64, Errno> {
    if micros >= 1_000_000 {
        Err(Errno::EINVAL)
    } else {
        nanoseconds([seconds, micros * 1000])
    }
}

/// Nanoseconds of a `timeval` as `select` takes it: with more than a second of microseconds.
pub(super) fn from_long_timeval(words: [u64; 2]) -> Result<u64, Errno> {
    let [seconds, micros] = words.map(u64::cast_signed);
    let seconds = seconds.checked_add(micros / 1_000_000).ok_or(Errno::EINVAL)?;
    // What is negative is too large for a `timespec`.
    nanoseconds([seconds, micros % 1_000_000 * 1000].map(i64::cast_unsigned))
}

fn timeval(nanoseconds: u64) -> [u64; 2] {
    [nanoseconds / SECOND, nanoseconds % SECOND / 1000]
}

impl Kernel {
    fn clock_of(&self, id: u64) -> Result<Counts, Errno> {
        match id as i32 {
            0 | 5 | 8 | 11 => Ok(Counts::Realtime),
            1 | 4 | 6 | 7 | 9 => Ok(Counts::Monotonic),
            _ if self.processor_clock(id).is_some() => Ok(Counts::Process),
            _ => Err(Errno::EINVAL),
        }
    }

    fn read_clock(&self, m: &mut impl Machine, counts: Counts) -> u64 {
        let ticks = m.ticks();
        match counts {
            Counts::Realtime => self.clock.realtime(ticks),
            Counts::Monotonic => self.clock.monotonic(ticks),
            Counts::Process => self.clock.processor(ticks),
        }
    }

    /// Monotonic deadline of a call with a relative `timespec`, or none for a null pointer.
    pub(super) fn deadline(
        &self,
        m: &mut impl Machine,
        timeout: u64,
        retry: Option<Retry>,
    ) -> Result<Option<u64>, Errno> {
        if let Some(retry) = retry {
            return Ok(retry.deadline);
        }
        if timeout == 0 {
            return Ok(None);
        }
        let length = nanoseconds(self.space.read_words(m, timeout)?)?;
        Ok(Some(self.now(m).saturating_add(length)))
    }

    /// Monotonic time of an absolute realtime.
    pub(super) fn monotonic_of_realtime(&self, m: &mut impl Machine, at: u64) -> u64 {
        let ticks = m.ticks();
        let (real, monotonic) = (self.clock.realtime(ticks), self.clock.monotonic(ticks));
        monotonic
            .saturating_add(at.saturating_sub(real))
            .saturating_sub(real.saturating_sub(at))
    }

    /// Does what the trapped `rdtsc` or `rdtscp` at RIP would do, where clocks are coarse; false where it is something else.
    pub(crate) fn read_counter(&mut self, m: &mut impl Machine) -> bool {
        let Some(counter) = self.clock.counter(m.ticks()) else {
            return false;
        };
        let mut registers = m.registers();
        let length = match self.space.read_array(m, registers.rip) {
            Ok([0x0f, 0x31]) => 2,
            Ok([0x0f, 0x01]) => match self.space.read_array(m, registers.rip + 2) {
                // The CPU's number is 0, as `getcpu` says.
                Ok([0xf9]) => {
                    registers.rcx = 0;
                    3
                }
                _ => return false,
            },
            _ => return false,
        };
        (registers.rax, registers.rdx) = (counter & 0xffff_ffff, counter >> 32);
        registers.rip += length;
        m.set_registers(&registers);
        true
    }

    pub(super) fn sys_clock_gettime(&mut self, m: &mut impl Machine, id: u64, into: u64) -> Answer {
        let now = self.read_clock(m, self.clock_of(id)?);
        self.space.write_words(m, into, timespec(now)).and(ZERO)
    }

    pub(super) fn sys_clock_getres(&mut self, m: &mut impl Machine, id: u64, into: u64) -> Answer {
        self.clock_of(id)?;
        if into == 0 {
            ZERO
        } else {
            self.space.write_words(m, into, [0, 1]).and(ZERO)
        }
    }

    pub(super) fn sys_gettimeofday(&mut self, m: &mut impl Machine, into: u64, zone: u64) -> Answer {
        let now = self.read_clock(m, Counts::Realtime);
        if into != 0 {
            self.space.write_words(m, into, timeval(now))?;
        }
        if zone == 0 {
            ZERO
        } else {
            self.space.write_words(m, zone, [0]).and(ZERO)
        }
    }

    pub(super) fn sys_time(&mut self, m: &mut impl Machine, into: u64) -> Answer {
        let seconds = self.read_clock(m, Counts::Realtime) / SECOND;
        if into != 0 {
            self.space.write_words(m, into, [seconds])?;
        }
        value(seconds)
    }

    /// `clock_nanosleep`: clock, flags, time, remaining time.
    pub(super) fn sys_nanosleep(
        &mut self,
        m: &mut impl Machine,
        a: [u64; 4],
        retry: Option<Retry>,
    ) -> Answer {
        let [clock, flags, time, _] = a;
        if retry.is_some_and(|retry| retry.timed_out) {
            return ZERO;
        }
        let counts = self.clock_of(clock)?;
        let length = nanoseconds(self.space.read_words(m, time)?)?;
        let now = self.now(m);
        let deadline = match (flags & 1 != 0, counts) {
            (true, Counts::Realtime) => self.monotonic_of_realtime(m, length),
            (true, Counts::Monotonic) => length,
            (true, Counts::Process) => now.saturating_add(length.saturating_sub(self.processor_time(m))),
            (false, _) => now.saturating_add(length),
        };
        if deadline <= now {
            Ok(Done::Yield)
        } else {
            Ok(Done::Wait(WaitFor::Time, Some(deadline)))
        }
    }

    /// Tells an interrupted sleep how much of it was left.
    pub(crate) fn write_remaining(
        &mut self,
        m: &mut impl Machine,
        call: &Call,
        deadline: Option<u64>,
    ) -> Result<(), Errno> {
        let a = call.arguments;
        let into = match call.number {
            number::nanosleep => a[1],
            number::clock_nanosleep if a[1] & 1 == 0 => a[3],
            _ => 0,
        };
        match deadline {
            Some(deadline) if into != 0 => {
                let left = deadline.saturating_sub(self.now(m));
                self.space.write_words(m, into, timespec(left))
            }
            _ => Ok(()),
        }
    }

    fn set_alarm(&mut self, m: &mut impl Machine, which: usize, length: u64, interval: u64) -> (u64, u64) {
        let now = self.alarm_time(m, which);
        let new = (length != 0).then(|| (now.saturating_add(length), interval));
        let old = std::mem::replace(&mut self.process.alarms[which], new);
        old.map_or((0, 0), |(at, interval)| (at.saturating_sub(now).max(1), interval))
    }

    pub(super) fn sys_alarm(&mut self, m: &mut impl Machine, seconds: u64) -> Answer {
        let (left, _) = self.set_alarm(m, 0, u64::from(seconds as u32) * SECOND, 0);
        value(left.div_ceil(SECOND))
    }

    pub(super) fn sys_setitimer(&mut self, m: &mut impl Machine, which: u64, new: u64, old: u64) -> Answer {
        let which = alarm_of(which)?;
        let [i0, i1, v0, v1] = if new == 0 {
            [0; 4]
        } else {
            self.space.read_words(m, new)?
        };
        let (interval, length) = (from_timeval([i0, i1])?, from_timeval([v0, v1])?);
        let (left, old_interval) = self.set_alarm(m, which, length, interval);
        if old == 0 {
            return ZERO;
        }
        let [v0, v1] = timeval(left);
        let [i0, i1] = timeval(old_interval);
        self.space.write_words(m, old, [i0, i1, v0, v1]).and(ZERO)
    }

    pub(super) fn sys_getitimer(&mut self, m: &mut impl Machine, which: u64, into: u64) -> Answer {
        let which = alarm_of(which)?;
        let now = self.alarm_time(m, which);
        let (left, interval) = self.process.alarms[which]
            .map_or((0, 0), |(at, interval)| (at.saturating_sub(now).max(1), interval));
        let [v0, v1] = timeval(left);
        let [i0, i1] = timeval(interval);
        self.space.write_words(m, into, [i0, i1, v0, v1]).and(ZERO)
    }
}
