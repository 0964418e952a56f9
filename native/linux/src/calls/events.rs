//! `poll`, `select`, `eventfd` and `timerfd`.

use super::{Answer, Done, ZERO, value};
use crate::errno::Errno;
use crate::fs::files::{FileKind, O_NONBLOCK, event};
use crate::kernel::Kernel;
use crate::machine::Machine;
use crate::task::threads::{Retry, WaitFor};

/// `O_CLOEXEC`, which all kinds of files share.
const CLOEXEC: u64 = 0o200_0000;

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timeout {
    /// For ever.
    Never,
    /// So many nanoseconds.
    After(u64),
}

/// A timeout in milliseconds, negative for none.
pub(super) fn poll_timeout(milliseconds: u64) -> Timeout {
    match milliseconds as i32 {
        negative if negative < 0 => Timeout::Never,
        some => Timeout::After(some as u64 * 1_000_000),
    }
}

impl Kernel {
    /// A timeout given by address of a `timespec`, 0 for none.
    pub(super) fn timeout_at(&self, m: &mut impl Machine, address: u64) -> Result<Timeout, Errno> {
        match address {
            0 => Ok(Timeout::Never),
            _ => super::time::nanoseconds(self.space.read_words(m, address)?).map(Timeout::After),
        }
    }

    /// The answer of a call that found nothing ready: it waits for the files, or its time is over.
    pub(super) fn wait_for_files(
        &mut self,
        m: &mut impl Machine,
        files: Vec<(usize, u32)>,
        timeout: Timeout,
        retry: Option<Retry>,
    ) -> Answer {
        let deadline = match (retry, timeout) {
            (Some(retry), _) if retry.timed_out => return ZERO,
            (Some(retry), _) => retry.deadline,
            // Not waiting is still a chance for the other threads.
            (None, Timeout::After(0)) => return Ok(Done::Yield),
            (None, Timeout::After(length)) => Some(self.now(m).saturating_add(length)),
            (None, Timeout::Never) => None,
        };
        Ok(Done::Wait(WaitFor::Files(files), deadline))
    }

    pub(super) fn sys_poll(
        &mut self,
        m: &mut impl Machine,
        address: u64,
        count: u64,
        timeout: Timeout,
        retry: Option<Retry>,
    ) -> Answer {
        if count > self.limits.descriptors as u64 {
            return Err(Errno::EINVAL);
        }
        let now = self.now(m);
        let mut entries = vec![[0_u8; 8]; count as usize];
        self.space.read(m, address, entries.as_flattened_mut())?;
        let (mut ready, mut files) = (0_u64, Vec::new());
        let mut readiness = self.files.readiness(now);
        for entry in &mut entries {
            let [f0, f1, f2, f3, e0, e1, ..] = *entry;
            let fd = i32::from_le_bytes([f0, f1, f2, f3]);
            let wanted = u32::from(u16::from_le_bytes([e0, e1]));
            let found = match self.files.get(fd as u64) {
                _ if fd < 0 => 0,
                Err(_) => event::NVAL,
                Ok(file) => {
                    let holds = wanted | event::ERR | event::HUP;
                    files.push((file, holds));
                    readiness.of(file) & holds
                }
            };
            ready += u64::from(found != 0);
            entry[6..].copy_from_slice(&(found as u16).to_le_bytes());
        }
        if ready == 0 && !(retry.is_some_and(|retry| retry.timed_out) || timeout == Timeout::After(0)) {
            return self.wait_for_files(m, files, timeout, retry);
        }
        // Only the results are written: the guest's own fields are its own.
        for (index, entry) in entries.iter().enumerate() {
            self.space
                .write(m, address.wrapping_add(index as u64 * 8 + 6), &entry[6..])?;
        }
        if ready == 0 {
            self.wait_for_files(m, files, timeout, retry)
        } else {
            value(ready)
        }
    }

    pub(super) fn sys_ppoll(&mut self, m: &mut impl Machine, a: [u64; 6], retry: Option<Retry>) -> Answer {
        let [address, count, timeout, mask, length, _] = a;
        let timeout = self.timeout_at(m, timeout)?;
        if retry.is_none() {
            self.set_mask_for_call(m, mask, length)?;
        }
        self.sys_poll(m, address, count, timeout, retry)
    }

    /// `select` and `pselect6` (`precise`).
    pub(super) fn sys_select(
        &mut self,
        m: &mut impl Machine,
        a: [u64; 6],
        precise: bool,
        retry: Option<Retry>,
    ) -> Answer {
        let [count, read, write, except, time, mask] = a;
        if count as i32 <= -1 {
            return Err(Errno::EINVAL);
        }
        let count = (count as usize).min(self.limits.descriptors).min(1024);
        let timeout = match (precise, time) {
            (_, 0) => Timeout::Never,
            (true, _) => self.timeout_at(m, time)?,
            (false, _) => {
                let words = self.space.read_words(m, time)?;
                Timeout::After(super::time::from_long_timeval(words)?)
            }
        };
        if precise && mask != 0 && retry.is_none() {
            let [set, length] = self.space.read_words(m, mask)?;
            self.set_mask_for_call(m, set, length)?;
        }
        let now = self.now(m);
        let words = count.div_ceil(64);
        let conditions = [
            (read, event::IN | event::HUP | event::ERR),
            (write, event::OUT | event::ERR),
            (except, 0),
        ];
        let (mut ready, mut files) = (0_u64, Vec::new());
        let (mut results, mut readiness) = (Vec::new(), self.files.readiness(now));
        for (address, holds) in conditions {
            let mut sets = vec![[0_u8; 8]; words];
            if address == 0 {
                continue;
            }
            self.space.read(m, address, sets.as_flattened_mut())?;
            for fd in 0..count {
                let bit = 1_u64 << (fd % 64);
                let set = u64::from_le_bytes(sets[fd / 64]);
                if set & bit == 0 {
                    continue;
                }
                let file = self.files.get(fd as u64)?;
                files.push((file, holds));
                if readiness.of(file) & holds == 0 {
                    sets[fd / 64] = (set & !bit).to_le_bytes();
                } else {
                    ready += 1;
                }
            }
            results.push((address, sets));
        }
        let over = retry.is_some_and(|retry| retry.timed_out) || timeout == Timeout::After(0);
        if ready == 0 && !over {
            return self.wait_for_files(m, files, timeout, retry);
        }
        for (address, sets) in results {
            self.space.write(m, address, sets.as_flattened())?;
        }
        if ready == 0 {
            self.wait_for_files(m, files, timeout, retry)
        } else {
            value(ready)
        }
    }

    pub(super) fn sys_eventfd(&mut self, count: u64, flags: u64) -> Answer {
        if flags & !(CLOEXEC | u64::from(O_NONBLOCK) | 1) != 0 {
            return Err(Errno::EINVAL);
        }
        let kind = FileKind::Event {
            count: u64::from(count as u32),
            semaphore: flags & 1 != 0,
        };
        let file = self.files.add(kind, 2 | flags as u32 & O_NONBLOCK);
        value(self.files.attach(file, 0, flags & CLOEXEC != 0)?)
    }

    pub(super) fn sys_timerfd_create(&mut self, clock: u64, flags: u64) -> Answer {
        let realtime = match clock {
            0 | 8 => true,
            1 | 7 | 9 => false,
            _ => return Err(Errno::EINVAL),
        };
        if flags & !(CLOEXEC | u64::from(O_NONBLOCK)) != 0 {
            return Err(Errno::EINVAL);
        }
        let kind = FileKind::Timer {
            realtime,
            next: 0,
            interval: 0,
        };
        let file = self.files.add(kind, 2 | flags as u32 & O_NONBLOCK);
        value(self.files.attach(file, 0, flags & CLOEXEC != 0)?)
    }

    /// A timer's `itimerspec`: interval, and time until the next expiry.
    fn timer_words(&self, m: &mut impl Machine, file: usize) -> Result<[u64; 4], Errno> {
        let now = self.now(m);
        let Some(FileKind::Timer { next, interval, .. }) = self.files.file(file).map(|open| &open.kind)
        else {
            return Err(Errno::EINVAL);
        };
        let left = match *next {
            0 => 0,
            next if next > now => next - now,
            next if *interval != 0 => *interval - (now - next) % *interval,
            _ => 0,
        };
        let [i0, i1] = super::time::timespec(*interval);
        let [v0, v1] = super::time::timespec(left);
        Ok([i0, i1, v0, v1])
    }

    pub(super) fn sys_timerfd_settime(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [fd, flags, new, old, ..] = a;
        let file = self.files.get(fd)?;
        if flags & !3 != 0 {
            return Err(Errno::EINVAL);
        }
        let [i0, i1, v0, v1] = self.space.read_words(m, new)?;
        let (interval, first) = (
            super::time::nanoseconds([i0, i1])?,
            super::time::nanoseconds([v0, v1])?,
        );
        let before = self.timer_words(m, file)?;
        if old != 0 {
            self.space.write_words(m, old, before)?;
        }
        let now = self.now(m);
        let Some(FileKind::Timer { realtime, .. }) = self.files.file(file).map(|open| &open.kind) else {
            return Err(Errno::EINVAL);
        };
        let at = match (first, flags & 1 != 0, realtime) {
            (0, ..) => 0,
            (at, true, true) => self.monotonic_of_realtime(m, at).max(1),
            (at, true, false) => at,
            (length, false, _) => now.saturating_add(length),
        };
        if let Some(open) = self.files.file_mut(file)
            && let FileKind::Timer {
                next, interval: own, ..
            } = &mut open.kind
        {
            (*next, *own) = (at, interval);
        }
        self.files.note_change(file);
        ZERO
    }

    pub(super) fn sys_timerfd_gettime(&mut self, m: &mut impl Machine, fd: u64, into: u64) -> Answer {
        let words = self.timer_words(m, self.files.get(fd)?)?;
        self.space.write_words(m, into, words).and(ZERO)
    }
}
