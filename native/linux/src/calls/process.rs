//! What the process learns of itself and of the system.

use super::{Answer, ZERO, value};
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::machine::{Machine, PAGE, USER_END};
use crate::task::process::{PID, UID};

impl Kernel {
    /// Whether an id names a thread of the process; 0 names the caller.
    pub(super) fn known_task(&self, id: u64) -> Result<(), Errno> {
        let id = id as i32;
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        let known = id == 0 || id == PID || self.threads.iter().any(|(_, thread)| thread.tid == id);
        if known { Ok(()) } else { Err(Errno::ESRCH) }
    }

    pub(super) fn sys_arch_prctl(&mut self, m: &mut impl Machine, code: u64, argument: u64) -> Answer {
        match code {
            0x1001 | 0x1002 if argument >= USER_END => Err(Errno::EPERM),
            0x1001 => {
                m.set_gs_base(argument);
                ZERO
            }
            0x1002 => {
                m.set_fs_base(argument);
                ZERO
            }
            0x1003 => {
                let base = m.fs_base();
                self.space.write_words(m, argument, [base]).and(ZERO)
            }
            0x1004 => {
                let base = m.gs_base();
                self.space.write_words(m, argument, [base]).and(ZERO)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn sys_prctl(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        match a[0] {
            15 => {
                let mut name = [0; 16];
                let text = self.space.read_string(m, a[1], 16).or_else(|errno| match errno {
                    // A longer name is cut.
                    Errno::ENAMETOOLONG => self.space.read_array::<15>(m, a[1]).map(Vec::from),
                    other => Err(other),
                })?;
                let length = text.len().min(15);
                name[..length].copy_from_slice(&text[..length]);
                self.thread_mut()
                    .into_iter()
                    .for_each(|thread| thread.name = name);
                ZERO
            }
            16 => {
                let name = self.thread().map_or([0; 16], |thread| thread.name);
                self.space.write(m, a[1], &name).and(ZERO)
            }
            // PR_GET_DUMPABLE, PR_SET_DUMPABLE.
            3 => value(self.process.dumpable),
            4 if a[1] <= 1 => {
                self.process.dumpable = a[1];
                ZERO
            }
            // PR_SET_PDEATHSIG, PR_SET_TIMERSLACK, PR_SET_NO_NEW_PRIVS, PR_SET_THP_DISABLE, PR_SET_VMA, PR_SET_PTRACER.
            1 | 29 | 38 | 41 | 0x5356_4d41 | 0x5961_6d61 => ZERO,
            // PR_GET_TIMERSLACK, PR_GET_NO_NEW_PRIVS, PR_GET_THP_DISABLE.
            30 => value(50_000_u64),
            39 => value(1_u64),
            42 => ZERO,
            // PR_CAPBSET_READ: no capability.
            23 => ZERO,
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn sys_uname(&mut self, m: &mut impl Machine, into: u64) -> Answer {
        let mut bytes = [[0; 65]; 6];
        let texts = [
            "Linux",
            "mayfly",
            super::proc_text::RELEASE,
            "#1",
            "x86_64",
            "(none)",
        ];
        for (field, text) in bytes.iter_mut().zip(texts) {
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        self.space.write(m, into, bytes.as_flattened()).and(ZERO)
    }

    pub(super) fn sys_sysinfo(&mut self, m: &mut impl Machine, into: u64) -> Answer {
        let mut words = [0; 14];
        words[0] = self.now(m) / 1_000_000_000;
        words[4] = m.total_pages() * PAGE;
        words[5] = m.free_pages() * PAGE;
        words[10] = 1;
        words[13] = 1;
        self.space.write_words(m, into, words).and(ZERO)
    }

    pub(super) fn sys_getrusage(&mut self, m: &mut impl Machine, who: u64, into: u64) -> Answer {
        if !matches!(who as i32, -1..=1) {
            return Err(Errno::EINVAL);
        }
        let now = self.processor_time(m);
        let mut words = [0; 18];
        if who as i32 != -1 {
            words[0] = now / 1_000_000_000;
            words[1] = now % 1_000_000_000 / 1000;
            words[4] = (m.total_pages() - m.free_pages().min(m.total_pages())) * PAGE / 1024;
        }
        self.space.write_words(m, into, words).and(ZERO)
    }

    pub(super) fn sys_times(&mut self, m: &mut impl Machine, into: u64) -> Answer {
        let ticks = self.now(m) / 10_000_000;
        if into != 0 {
            let ran = self.processor_time(m) / 10_000_000;
            self.space.write_words(m, into, [ran, 0, 0, 0])?;
        }
        value(ticks)
    }

    pub(super) fn sys_prlimit(&mut self, m: &mut impl Machine, resource: u64, new: u64, old: u64) -> Answer {
        let index = usize::try_from(resource)
            .ok()
            .filter(|&index| index < 16)
            .ok_or(Errno::EINVAL)?;
        let current = self.process.resources[index];
        let wanted = if new == 0 {
            None
        } else {
            Some(self.space.read_words::<2>(m, new)?)
        };
        if let Some([soft, hard]) = wanted {
            if soft > hard {
                return Err(Errno::EINVAL);
            }
            if hard > current[1] {
                return Err(Errno::EPERM);
            }
        }
        if old != 0 {
            self.space.write_words(m, old, current)?;
        }
        if let Some(limits) = wanted {
            self.process.resources[index] = limits;
        }
        ZERO
    }

    pub(super) fn sys_getresuid(
        &mut self,
        m: &mut impl Machine,
        real: u64,
        effective: u64,
        saved: u64,
    ) -> Answer {
        for into in [real, effective, saved] {
            self.space.write(m, into, &UID.to_le_bytes())?;
        }
        ZERO
    }

    pub(super) fn sys_capget(&mut self, m: &mut impl Machine, header: u64, data: u64) -> Answer {
        let version = self.space.read_u32(m, header)?;
        if version != 0x2008_0522 {
            self.space.write(m, header, &0x2008_0522_u32.to_le_bytes())?;
            return if data == 0 { ZERO } else { Err(Errno::EINVAL) };
        }
        if data == 0 {
            ZERO
        } else {
            self.space.write(m, data, &[0; 24]).and(ZERO)
        }
    }

    pub(super) fn sys_getcpu(&mut self, m: &mut impl Machine, cpu: u64, node: u64) -> Answer {
        for into in [cpu, node] {
            if into != 0 {
                self.space.write(m, into, &[0; 4])?;
            }
        }
        ZERO
    }

    pub(super) fn sys_sched_getaffinity(
        &mut self,
        m: &mut impl Machine,
        id: u64,
        length: u64,
        into: u64,
    ) -> Answer {
        self.known_task(id)?;
        if length < 8 || !length.is_multiple_of(8) {
            return Err(Errno::EINVAL);
        }
        self.space.write_words(m, into, [1])?;
        value(8_u64)
    }

    pub(super) fn sys_sched_setaffinity(
        &mut self,
        m: &mut impl Machine,
        id: u64,
        length: u64,
        from: u64,
    ) -> Answer {
        self.known_task(id)?;
        let mut mask = [0; 8];
        let length = length.min(8) as usize;
        self.space.read(m, from, &mut mask[..length])?;
        if mask[0] & 1 == 0 {
            Err(Errno::EINVAL)
        } else {
            ZERO
        }
    }

    pub(super) fn sys_sched_getparam(&mut self, m: &mut impl Machine, id: u64, into: u64) -> Answer {
        self.known_task(id)?;
        self.space.write(m, into, &[0; 4]).and(ZERO)
    }
}
