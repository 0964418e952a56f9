//! Signal calls: dispositions, masks, sending and waiting.

use super::{Answer, Call, Done, ZERO, number, value};
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::machine::{Machine, USER_END};
use crate::task::process::{PID, UID};
use crate::task::signal::{AltStack, Disposition, INFO_BYTES, Info, SIGNALS, UNBLOCKABLE, bit};
use crate::task::threads::{Retry, WaitFor};

/// Length of a signal set, in bytes.
const SET_BYTES: u64 = 8;
/// `MINSIGSTKSZ`.
const STACK_MIN: u64 = 2048;

fn checked_signal(signal: u64) -> Result<u32, Errno> {
    u32::try_from(signal as i32)
        .ok()
        .filter(|signal| (1..=SIGNALS).contains(signal))
        .ok_or(Errno::EINVAL)
}

impl Kernel {
    pub(super) fn sys_sigaction(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [signal, new, old, length, ..] = a;
        if length != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let signal = checked_signal(signal)?;
        if new != 0 && bit(signal) & UNBLOCKABLE != 0 {
            return Err(Errno::EINVAL);
        }
        let index = signal as usize - 1;
        let current = self.process.dispositions[index];
        let wanted = if new == 0 {
            None
        } else {
            Some(Disposition::from_words(self.space.read_words(m, new)?))
        };
        if old != 0 {
            self.space.write_words(m, old, current.words())?;
        }
        if let Some(wanted) = wanted {
            self.process.dispositions[index] = wanted;
            if self.is_ignored(signal) {
                self.process.pending.discard(signal);
                for slot in 0..self.threads.end() {
                    if self
                        .threads
                        .get(slot)
                        .is_some_and(|thread| thread.pending.set() & bit(signal) != 0)
                    {
                        self.threads
                            .get_mut(slot)
                            .into_iter()
                            .for_each(|thread| thread.pending.discard(signal));
                    }
                }
            }
        }
        ZERO
    }

    pub(super) fn sys_sigprocmask(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [how, new, old, length, ..] = a;
        if length != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let current = self.thread().map_or(0, |thread| thread.mask);
        if new != 0 {
            let set = self.space.read_u64(m, new)?;
            let mask = match how {
                0 => current | set,
                1 => current & !set,
                2 => set,
                _ => return Err(Errno::EINVAL),
            };
            self.thread_mut()
                .into_iter()
                .for_each(|thread| thread.mask = mask & !UNBLOCKABLE);
        }
        if old == 0 {
            ZERO
        } else {
            self.space.write_words(m, old, [current]).and(ZERO)
        }
    }

    /// The signals that wait for the running thread.
    fn waiting(&self) -> u64 {
        self.thread().map_or(0, |thread| thread.pending.set()) | self.process.pending.set()
    }

    pub(super) fn sys_sigpending(&mut self, m: &mut impl Machine, into: u64, length: u64) -> Answer {
        if length > SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let set = (self.waiting() & self.thread().map_or(0, |thread| thread.mask)).to_le_bytes();
        self.space.write(m, into, &set[..length as usize]).and(ZERO)
    }

    /// Sets the mask for the time of one call.
    pub(super) fn set_mask_for_call(
        &mut self,
        m: &mut impl Machine,
        set: u64,
        length: u64,
    ) -> Result<(), Errno> {
        if set == 0 {
            return Ok(());
        }
        if length != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let mask = self.space.read_u64(m, set)? & !UNBLOCKABLE;
        if let Some(thread) = self.thread_mut() {
            thread.saved_mask = Some(thread.saved_mask.unwrap_or(thread.mask));
            thread.mask = mask;
        }
        Ok(())
    }

    pub(super) fn sys_sigsuspend(&mut self, m: &mut impl Machine, set: u64, length: u64) -> Answer {
        if length != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        if set == 0 {
            return Err(Errno::EFAULT);
        }
        self.set_mask_for_call(m, set, length)?;
        Ok(Done::Wait(WaitFor::Time, None))
    }

    pub(super) fn sys_sigtimedwait(
        &mut self,
        m: &mut impl Machine,
        a: [u64; 6],
        retry: Option<Retry>,
    ) -> Answer {
        let [set, into, timeout, length, ..] = a;
        if length != SET_BYTES {
            return Err(Errno::EINVAL);
        }
        let set = self.space.read_u64(m, set)? & !UNBLOCKABLE;
        let own = self.thread_mut().and_then(|thread| thread.pending.take(set));
        if let Some(info) = own.or_else(|| self.process.pending.take(set)) {
            let info = self.take_signal(m, info);
            if into != 0 {
                self.space.write(m, into, &info.bytes())?;
            }
            return value(info.signal);
        }
        if retry.is_some_and(|retry| retry.timed_out) {
            return Err(Errno::EAGAIN);
        }
        let deadline = self.deadline(m, timeout, retry)?;
        let now = self.now(m);
        if deadline.is_some_and(|deadline| deadline <= now) {
            return Err(Errno::EAGAIN);
        }
        Ok(Done::Wait(WaitFor::Signals(set), deadline))
    }

    pub(super) fn sys_sigaltstack(&mut self, m: &mut impl Machine, new: u64, old: u64) -> Answer {
        let rsp = m.registers().rsp;
        let current = self.thread().map(|thread| thread.alt_stack).unwrap_or_default();
        let wanted = if new == 0 {
            None
        } else {
            Some(self.space.read_words::<3>(m, new)?)
        };
        if let Some([start, flags, length]) = wanted {
            let flags = flags as u32;
            if current.holds(rsp) {
                return Err(Errno::EPERM);
            }
            let stack = match flags & !(1 << 31) {
                2 => AltStack::default(),
                0 | 1 if length < STACK_MIN => return Err(Errno::ENOMEM),
                0 | 1 if start.checked_add(length).is_none_or(|end| end > USER_END) => {
                    return Err(Errno::EINVAL);
                }
                0 | 1 => AltStack {
                    start,
                    length,
                    flags: flags & 1 << 31,
                },
                _ => return Err(Errno::EINVAL),
            };
            self.thread_mut()
                .into_iter()
                .for_each(|thread| thread.alt_stack = stack);
        }
        if old == 0 {
            ZERO
        } else {
            self.space.write_words(m, old, current.words(rsp)).and(ZERO)
        }
    }

    pub(super) fn sys_kill(&mut self, id: u64, signal: u64) -> Answer {
        let id = id as i32;
        // The process itself, its group, or everybody that it may reach, which is itself.
        if !matches!(id, 0 | PID | -1) && id != -PID {
            return Err(Errno::ESRCH);
        }
        if signal as i32 == 0 {
            return ZERO;
        }
        let signal = checked_signal(signal)?;
        self.send(None, Info::sent(signal, 0, PID, UID));
        ZERO
    }

    fn slot_of(&self, tid: u64) -> Result<usize, Errno> {
        let tid = tid as i32;
        if tid <= 0 {
            return Err(Errno::EINVAL);
        }
        self.threads
            .iter()
            .find(|(_, thread)| thread.tid == tid)
            .map(|(slot, _)| slot)
            .ok_or(Errno::ESRCH)
    }

    pub(super) fn sys_tgkill(&mut self, process: Option<u64>, tid: u64, signal: u64) -> Answer {
        if process.is_some_and(|process| process as i32 <= 0) {
            return Err(Errno::EINVAL);
        }
        let slot = self.slot_of(tid)?;
        if process.is_some_and(|process| process as i32 != PID) {
            return Err(Errno::ESRCH);
        }
        if signal as i32 == 0 {
            return ZERO;
        }
        let signal = checked_signal(signal)?;
        self.send(Some(slot), Info::sent(signal, -6, PID, UID));
        ZERO
    }

    pub(super) fn sys_sigqueue(&mut self, m: &mut impl Machine, call: &Call) -> Answer {
        let a = call.arguments;
        let to_thread = call.number == number::rt_tgsigqueueinfo;
        let (signal, info) = if to_thread { (a[2], a[3]) } else { (a[1], a[2]) };
        let slot = match to_thread {
            true => Some(self.slot_of(a[1])?),
            false if a[0] as i32 == PID => None,
            false => return Err(Errno::ESRCH),
        };
        let bytes = self.space.read_array::<INFO_BYTES>(m, info)?;
        let at = |at: usize| {
            bytes[at..]
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        if signal as i32 == 0 {
            return ZERO;
        }
        let signal = checked_signal(signal)?;
        self.send(
            slot,
            Info {
                signal,
                errno: at(4) as i32,
                code: at(8) as i32,
                word: at(16),
                value: at(24),
            },
        );
        ZERO
    }
}
