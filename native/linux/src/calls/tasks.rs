//! Making and ending threads.

use std::sync::Arc;

use super::{Answer, Done, ZERO, value};
use crate::action::Stop;
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::machine::{Machine, USER_END};
use crate::task::signal::AltStack;
use crate::task::threads::Thread;

const CLONE_VM: u64 = 0x100;
const CLONE_SIGHAND: u64 = 0x800;
const CLONE_THREAD: u64 = 0x1_0000;
const CLONE_SETTLS: u64 = 0x8_0000;
const CLONE_PARENT_SETTID: u64 = 0x10_0000;
const CLONE_CHILD_CLEARTID: u64 = 0x20_0000;
const CLONE_CHILD_SETTID: u64 = 0x100_0000;
/// What makes a thread and not a process.
const THREAD_FLAGS: u64 = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
/// Flags that a thread may have besides: FS, FILES, SYSVSEM, DETACHED, and those above.
const ALLOWED: u64 = THREAD_FLAGS
    | 0x200
    | 0x400
    | 0x4_0000
    | 0x40_0000
    | CLONE_SETTLS
    | CLONE_PARENT_SETTID
    | CLONE_CHILD_CLEARTID
    | CLONE_CHILD_SETTID;

/// What a new thread starts with.
struct NewThread {
    flags: u64,
    stack_pointer: u64,
    parent_tid: u64,
    child_tid: u64,
    tls: u64,
}

impl Kernel {
    pub(super) fn sys_clone(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [flags, stack_pointer, parent_tid, child_tid, tls, _] = a;
        self.start_thread(
            m,
            NewThread {
                flags: flags & !0xff,
                stack_pointer,
                parent_tid,
                child_tid,
                tls,
            },
        )
    }

    pub(super) fn sys_clone3(&mut self, m: &mut impl Machine, address: u64, size: u64) -> Answer {
        if size < 64 {
            return Err(Errno::EINVAL);
        }
        if size > 4096 {
            return Err(Errno::E2BIG);
        }
        let [
            flags,
            _,
            child_tid,
            parent_tid,
            exit_signal,
            stack,
            stack_size,
            tls,
        ] = self.space.read_words(m, address)?;
        let mut rest = vec![0; size as usize - 64];
        self.space.read(m, address.wrapping_add(64), &mut rest)?;
        if rest.iter().any(|&byte| byte != 0)
            || flags & CLONE_THREAD != 0 && exit_signal != 0
            || (stack == 0) != (stack_size == 0)
        {
            return Err(Errno::EINVAL);
        }
        let stack_pointer = stack.checked_add(stack_size).ok_or(Errno::EINVAL)?;
        self.start_thread(
            m,
            NewThread {
                flags,
                stack_pointer,
                parent_tid,
                child_tid,
                tls,
            },
        )
    }

    fn start_thread(&mut self, m: &mut impl Machine, new: NewThread) -> Answer {
        let NewThread {
            flags,
            stack_pointer,
            parent_tid,
            child_tid,
            tls,
        } = new;
        if flags & CLONE_THREAD != 0 && flags & CLONE_SIGHAND == 0
            || flags & CLONE_SIGHAND != 0 && flags & CLONE_VM == 0
        {
            return Err(Errno::EINVAL);
        }
        if flags & THREAD_FLAGS != THREAD_FLAGS || flags & !ALLOWED != 0 {
            // A process of its own: there is none but the one.
            self.statistics.count_unknown(super::number::clone);
            return Err(Errno::ENOSYS);
        }
        if stack_pointer >= USER_END || flags & CLONE_SETTLS != 0 && tls >= USER_END {
            return Err(Errno::EPERM);
        }
        if self.threads.count() >= self.limits.threads {
            return Err(Errno::EAGAIN);
        }
        self.ask_room(Thread::COST)?;
        let tid = self.process.next_tid;
        let tid_bytes = tid.to_le_bytes();
        if flags & CLONE_PARENT_SETTID != 0 {
            self.space.write(m, parent_tid, &tid_bytes)?;
        }
        if flags & CLONE_CHILD_SETTID != 0 {
            self.space.write(m, child_tid, &tid_bytes)?;
        }
        self.process.next_tid += 1;
        let mut registers = m.registers();
        registers.rax = 0;
        if stack_pointer != 0 {
            registers.rsp = stack_pointer;
        }
        let mut image = Vec::new();
        m.save_vector_state(&mut image);
        let mut thread = Thread::new(tid, registers);
        thread.fs_base = if flags & CLONE_SETTLS != 0 {
            tls
        } else {
            m.fs_base()
        };
        thread.gs_base = m.gs_base();
        thread.vector = Some(Arc::new(image));
        thread.clear_tid = if flags & CLONE_CHILD_CLEARTID != 0 {
            child_tid
        } else {
            0
        };
        thread.alt_stack = AltStack::default();
        if let Some(parent) = self.thread() {
            (thread.mask, thread.name) = (parent.mask, parent.name);
        }
        self.threads.insert(thread);
        value(tid as u64)
    }

    pub(super) fn sys_exit(&mut self, m: &mut impl Machine, status: u64) -> Answer {
        if self.threads.count() <= 1 {
            return Ok(Done::Stop(Stop::Exit(status as u8)));
        }
        let Some(thread) = self.threads.remove(self.current) else {
            return Err(Errno::ESRCH);
        };
        if thread.clear_tid != 0 {
            // A bad address is the guest's own loss.
            match self.space.write(m, thread.clear_tid, &[0; 4]) {
                Err(Errno::OUT_OF_MEMORY) => return Err(Errno::OUT_OF_MEMORY),
                _ => self.futex_wake(thread.clear_tid, 1, u32::MAX),
            };
        }
        Ok(Done::Gone)
    }

    pub(super) fn sys_set_tid_address(&mut self, address: u64) -> Answer {
        let thread = self.thread_mut().ok_or(Errno::ESRCH)?;
        thread.clear_tid = address;
        value(thread.tid as u64)
    }

    pub(super) fn sys_set_robust_list(&mut self, head: u64, length: u64) -> Answer {
        if length != 24 {
            return Err(Errno::EINVAL);
        }
        self.thread_mut()
            .into_iter()
            .for_each(|thread| thread.robust_list = head);
        ZERO
    }

    pub(super) fn sys_get_robust_list(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [id, head, length, ..] = a;
        self.known_task(id)?;
        let list = self.thread().map_or(0, |thread| thread.robust_list);
        self.space.write_words(m, head, [list])?;
        self.space.write_words(m, length, [24]).and(ZERO)
    }
}
