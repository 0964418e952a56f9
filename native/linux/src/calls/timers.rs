//! POSIX timers: `timer_create` and its kin.

use super::time::{nanoseconds, timespec};
use super::{Answer, ZERO, value};
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::task::process::PID;
use crate::task::signal::{SIGNALS, number::SIGALRM};
use crate::task::timers::{Counts, Notify, TIMERS_MAX, Timer};

/// `TIMER_ABSTIME`.
const ABSOLUTE: u64 = 1;

impl Kernel {
    /// What timers of a clock count.
    fn counts_of(&self, clock: u64) -> Result<Counts, Errno> {
        match clock as i32 {
            // CLOCK_REALTIME, CLOCK_TAI; CLOCK_MONOTONIC, CLOCK_BOOTTIME.
            0 | 11 => Ok(Counts::Realtime),
            1 | 7 => Ok(Counts::Monotonic),
            // The others have no timers on Linux, or by privilege.
            4..=6 | 8 | 9 => Err(Errno::EOPNOTSUPP),
            _ => self.processor_clock(clock).ok_or(Errno::EINVAL),
        }
    }

    /// What a clock of processor time counts: by its name, or by whose it is, as libcs write it (`MAKE_PROCESS_CPUCLOCK`).
    pub(super) fn processor_clock(&self, clock: u64) -> Option<Counts> {
        const OF_THREAD: i32 = 4;
        let id = clock as i32;
        let (of, is_thread, kind) = match id {
            2 | 3 => (0, id == 3, 2),
            ..0 => (!(id >> 3), id & OF_THREAD != 0, id & 3),
            _ => return None,
        };
        let is_there = match (of, is_thread) {
            (0, _) => true,
            (of, false) => of == PID,
            (of, true) => self.threads.iter().any(|(_, thread)| thread.tid == of),
        };
        let counts = match is_thread {
            true => Counts::Thread,
            false => Counts::Processor,
        };
        (is_there && kind < 3).then_some(counts)
    }

    pub(super) fn sys_timer_create(
        &mut self,
        m: &mut impl Machine,
        clock: u64,
        event: u64,
        into: u64,
    ) -> Answer {
        let event = match event {
            0 => None,
            // A `struct sigevent`.
            event => Some(self.space.read_words::<8>(m, event)?),
        };
        let counts = self.counts_of(clock)?;
        if self.process.timers.len() >= TIMERS_MAX {
            return Err(Errno::EAGAIN);
        }
        let mut id = self.process.next_timer;
        while self.process.timers.iter().any(|timer| timer.id == id) {
            id = id.wrapping_add(1) & i32::MAX;
        }
        let (notify, content) = match event {
            None => (Notify::Process(SIGALRM), id as u64),
            Some([content, words, tid, ..]) => (self.notify_of(words, tid as i32)?, content),
        };
        self.space.write(m, into, &id.to_le_bytes())?;
        self.process.next_timer = id.wrapping_add(1) & i32::MAX;
        // A copy of the list, as the reset makes, has no spare room either.
        self.process.timers.reserve_exact(1);
        self.process.timers.push(Timer {
            id,
            counts,
            notify,
            value: content,
            next: None,
            interval: 0,
            overrun: 0,
        });
        ZERO
    }

    /// Whom a `sigevent` tells: its signal and its way in one word, then a thread.
    fn notify_of(&self, words: u64, tid: i32) -> Result<Notify, Errno> {
        const SIGNAL: u64 = 0;
        const NONE: u64 = 1;
        const THREAD: u64 = 2;
        const THREAD_ID: u64 = 4;
        let (signal, way) = (words as u32, words >> 32);
        let notify = match way {
            NONE => return Ok(Notify::Nobody),
            // A libc starts the thread, with THREAD_ID.
            SIGNAL | THREAD => Notify::Process(signal),
            THREAD_ID if self.threads.iter().any(|(_, thread)| thread.tid == tid) => {
                Notify::Thread(signal, tid)
            }
            _ => return Err(Errno::EINVAL),
        };
        match (1..=SIGNALS).contains(&signal) {
            true => Ok(notify),
            false => Err(Errno::EINVAL),
        }
    }

    /// Place of a timer in the list.
    fn timer(&self, id: u64) -> Result<usize, Errno> {
        let found = self.process.timers.iter().position(|timer| timer.id == id as i32);
        found.ok_or(Errno::EINVAL)
    }

    pub(super) fn sys_timer_settime(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [id, flags, new, old, ..] = a;
        if new == 0 {
            return Err(Errno::EINVAL);
        }
        let [i0, i1, v0, v1] = self.space.read_words(m, new)?;
        let (interval, first) = (nanoseconds([i0, i1])?, nanoseconds([v0, v1])?);
        let at = self.timer(id)?;
        let counts = self.process.timers[at].counts;
        let now = self.time_of(m, counts);
        let next = match (first, flags & ABSOLUTE != 0, counts) {
            (0, ..) => None,
            (first, true, Counts::Realtime) => Some(self.monotonic_of_realtime(m, first)),
            (first, true, _) => Some(first),
            (length, false, _) => Some(now.saturating_add(length)),
        };
        let before = self.process.timers[at].left(now);
        self.drop_timer_signal(at);
        let timer = &mut self.process.timers[at];
        (timer.next, timer.overrun) = (next, 0);
        timer.interval = if next.is_some() { interval } else { 0 };
        if old == 0 {
            return ZERO;
        }
        self.write_timer(m, old, before)
    }

    fn write_timer(&mut self, m: &mut impl Machine, into: u64, (left, interval): (u64, u64)) -> Answer {
        let ([i0, i1], [v0, v1]) = (timespec(interval), timespec(left));
        self.space.write_words(m, into, [i0, i1, v0, v1]).and(ZERO)
    }

    pub(super) fn sys_timer_gettime(&mut self, m: &mut impl Machine, id: u64, into: u64) -> Answer {
        let at = self.timer(id)?;
        let timer = self.process.timers[at];
        let left = timer.left(self.time_of(m, timer.counts));
        self.write_timer(m, into, left)
    }

    pub(super) fn sys_timer_getoverrun(&mut self, id: u64) -> Answer {
        let at = self.timer(id)?;
        value(self.process.timers[at].overrun.cast_unsigned())
    }

    pub(super) fn sys_timer_delete(&mut self, id: u64) -> Answer {
        let at = self.timer(id)?;
        self.drop_timer_signal(at);
        self.process.timers.remove(at);
        ZERO
    }
}
