//! Alarms and POSIX timers: when their signals are sent, and what they do when one is taken.

use super::Kernel;
use crate::machine::Machine;
use crate::task::signal::{Info, Pending, bit, number};
use crate::task::timers::{Counts, Notify, Timer};

/// Signals of the alarms of `setitimer`.
const ALARMS: [u32; 3] = [number::SIGALRM, number::SIGVTALRM, number::SIGPROF];

impl Kernel {
    /// Sends the signals of all timers whose time has come.
    pub(crate) fn check_timers(&mut self, m: &mut impl Machine) {
        for (which, signal) in ALARMS.into_iter().enumerate() {
            self.check_alarm(m, which, signal);
        }
        for at in 0..self.process.timers.len() {
            let timer = &self.process.timers[at];
            if timer.next.is_some() {
                let now = self.time_of(m, timer.counts);
                self.check_timer(at, now);
            }
        }
    }

    /// The time that a timer compares with its own.
    pub(crate) fn time_of(&self, m: &mut impl Machine, counts: Counts) -> u64 {
        match counts.rests() {
            true => self.processor_time(m),
            false => self.now(m),
        }
    }

    fn check_alarm(&mut self, m: &mut impl Machine, which: usize, signal: u32) {
        if let Some((at, interval)) = self.process.alarms[which] {
            let now = self.alarm_time(m, which);
            if at <= now {
                let missed = (now - at).checked_div(interval).map_or(0, |missed| missed + 1);
                let next = at.saturating_add(missed.saturating_mul(interval));
                self.process.alarms[which] = (interval != 0).then_some((next, interval));
                let info = Info {
                    signal,
                    code: 0x80,
                    ..Info::default()
                };
                self.send(None, info);
            }
        }
    }

    /// The time that an alarm of `setitimer` compares with its own.
    pub(crate) fn alarm_time(&self, m: &mut impl Machine, which: usize) -> u64 {
        match which {
            0 => self.now(m),
            _ => self.processor_time(m),
        }
    }

    /// A timer that is due stays so until its signal is sent, and one with an interval until that is taken: then it counts what it missed.
    fn check_timer(&mut self, at: usize, now: u64) {
        let timer = self.process.timers[at];
        if timer.next.is_none_or(|next| next > now) || timer.notify == Notify::Nobody {
            return;
        }
        let Some((slot, signal)) = self.target(&timer) else {
            // Its thread has ended.
            self.process.timers[at].next = None;
            return;
        };
        if timer.counts == Counts::Thread && slot.is_some_and(|slot| slot != self.current) {
            return;
        }
        let dropped = self.is_dropped(slot, signal);
        if !dropped {
            if self.waits_for(slot, signal) {
                return;
            }
            self.send(slot, timer.info(signal));
        }
        if timer.interval == 0 {
            self.process.timers[at].next = None;
        }
    }

    /// Slot of the thread that a timer signals, none for the process, and the signal. None where it signals nobody.
    fn target(&self, timer: &Timer) -> Option<(Option<usize>, u32)> {
        match timer.notify {
            Notify::Nobody => None,
            Notify::Process(signal) => Some((None, signal)),
            Notify::Thread(signal, tid) => {
                let (slot, _) = self.threads.iter().find(|(_, thread)| thread.tid == tid)?;
                Some((Some(slot), signal))
            }
        }
    }

    /// Whether a signal of this number waits to be taken already.
    fn waits_for(&self, slot: Option<usize>, signal: u32) -> bool {
        let pending = slot
            .and_then(|slot| self.threads.get(slot))
            .map(|thread| &thread.pending);
        pending.unwrap_or(&self.process.pending).set() & bit(signal) != 0
    }

    /// Time of the next signal that changes anything while all threads wait: it does not while one waits to be taken already, nor while it is ignored.
    /// Such expiries must not be waited for one by one, or a sleep beside them would never end.
    pub(crate) fn next_timer_signal(&self) -> Option<u64> {
        let changes = |slot, signal: u32| !self.waits_for(slot, signal) && !self.is_dropped(slot, signal);
        let alarm = self.process.alarms[0].map(|(at, _)| at);
        let alarm = alarm.filter(|_| changes(None, number::SIGALRM));
        let passes = |timer: &&Timer| !timer.counts.rests();
        let timers = self.process.timers.iter().filter(passes).filter_map(|timer| {
            let next = timer.next?;
            let (slot, signal) = self.target(timer)?;
            changes(slot, signal).then_some(next)
        });
        timers.chain(alarm).min()
    }

    /// A signal is taken: if it is a timer's, that goes on, and the signal tells what it missed.
    pub(crate) fn take_signal(&mut self, m: &mut impl Machine, mut info: Info) -> Info {
        let of_timer = |timer: &Timer| timer.sent(&info);
        if let Some(at) = self.process.timers.iter().position(of_timer) {
            let now = self.time_of(m, self.process.timers[at].counts);
            let timer = &mut self.process.timers[at];
            timer.taken(now);
            info.word |= u64::from(timer.overrun.cast_unsigned()) << 32;
        }
        info
    }

    /// Drops the signal of a timer that is set anew or goes: it would tell of what is over.
    pub(crate) fn drop_timer_signal(&mut self, at: usize) {
        let timer = self.process.timers[at];
        let Some((slot, signal)) = self.target(&timer) else {
            return;
        };
        let waits = |pending: &Pending| pending.infos().iter().any(|info| timer.sent(info));
        match slot {
            None if waits(&self.process.pending) => self.process.pending.discard(signal),
            Some(slot)
                if self
                    .threads
                    .get(slot)
                    .is_some_and(|thread| waits(&thread.pending)) =>
            {
                if let Some(thread) = self.threads.get_mut(slot) {
                    thread.pending.discard(signal);
                }
            }
            _ => {}
        }
    }
}
