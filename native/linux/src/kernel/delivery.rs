//! Delivering signals: the frame on the guest's stack, the way back from it, and what a signal does without a handler.

use crate::action::{Action, Stop};
use crate::bounds::FRAMES;
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::kernel::answer::{Answer, Done};
use crate::machine::{Machine, USER_END};
use crate::syscall::Call;
use crate::task::signal::{
    AltStack, DefaultAction, Disposition, FRAME_BYTES, FRAME_CONTEXT, FRAME_INFO, FrameHead, Info,
    SA_NODEFER, SA_ONSTACK, SA_RESETHAND, SA_RESTART, UNBLOCKABLE, bit, decode_frame, default_action,
    encode_frame, has_reserved_mxcsr, mark_vector, mxcsr_mask, number, unmark_vector,
};
use crate::task::threads::Thread;

/// Bytes below the stack pointer that a function may use without moving it.
const RED_ZONE: u64 = 128;
/// `SS_AUTODISARM`.
const AUTODISARM: u32 = 1 << 31;
/// TF and DF: clear when a handler starts.
const HANDLER_CLEARS: u64 = 0x500;

impl Kernel {
    /// Whether a signal is ignored, by disposition or by default.
    pub(crate) fn is_ignored(&self, signal: u32) -> bool {
        match self.process.dispositions[signal as usize - 1].handler {
            0 => crate::task::signal::default_action(signal) == crate::task::signal::DefaultAction::Ignore,
            handler => handler == 1,
        }
    }

    /// Whether a signal to one thread, or to the process, goes nowhere: it is ignored, and not kept by those that block it.
    pub(crate) fn is_dropped(&self, slot: Option<usize>, signal: u32) -> bool {
        let blocked = |thread: &Thread| thread.mask & bit(signal) != 0;
        self.is_ignored(signal)
            && !match slot {
                Some(slot) => self.threads.get(slot).is_some_and(blocked),
                None => self.threads.iter().all(|(_, thread)| blocked(thread)),
            }
    }

    /// Sends a signal to one thread, or to the process.
    pub(crate) fn send(&mut self, slot: Option<usize>, info: Info) {
        if self.is_dropped(slot, info.signal) {
            return;
        }
        match slot.and_then(|slot| self.threads.get_mut(slot)) {
            Some(thread) => thread.pending.add(info),
            None => self.process.pending.add(info),
        }
    }

    /// Delivers the signals that the running thread does not block, those behind the first few at its next exit.
    pub(crate) fn deliver<M: Machine>(&mut self, m: &mut M) -> Action {
        let most = self.statistics.signals + FRAMES as u64;
        while self.statistics.signals < most {
            let Some(allowed) = self.thread().map(|thread| !thread.mask | UNBLOCKABLE) else {
                return Action::Deadlock;
            };
            let own = self.thread_mut().and_then(|thread| thread.pending.take(allowed));
            let Some(info) = own.or_else(|| self.process.pending.take(allowed)) else {
                if let Some(thread) = self.thread_mut()
                    && let Some(mask) = thread.saved_mask.take()
                {
                    thread.mask = mask;
                }
                return Action::Resume;
            };
            let info = self.take_signal(m, info);
            if let Some(stop) = self.act_on(m, info, [0; 3]) {
                return Action::Stop(stop);
            }
        }
        Action::Resume
    }

    /// Raises a signal that the running thread's own instruction caused: it cannot be blocked or ignored.
    pub(crate) fn force<M: Machine>(&mut self, m: &mut M, info: Info, fault: [u64; 3]) -> Action {
        let blocked = self
            .thread()
            .is_none_or(|thread| thread.mask & bit(info.signal) != 0);
        let handler = self.process.dispositions[info.signal as usize - 1].handler;
        if blocked || handler <= 1 {
            return Action::Stop(Stop::Signal(info.signal));
        }
        match self.act_on(m, info, fault) {
            Some(stop) => Action::Stop(stop),
            None => Action::Resume,
        }
    }

    /// Does what a signal's disposition says.
    fn act_on<M: Machine>(&mut self, m: &mut M, info: Info, fault: [u64; 3]) -> Option<Stop> {
        let disposition = self.process.dispositions[info.signal as usize - 1];
        match disposition.handler {
            0 if default_action(info.signal) == DefaultAction::Terminate => Some(Stop::Signal(info.signal)),
            0 | 1 => None,
            _ => match self.push_frame(m, &info, disposition, fault) {
                Ok(()) => None,
                Err(Errno::OUT_OF_MEMORY) => Some(Stop::OutOfMemory),
                Err(_) => Some(Stop::Signal(number::SIGSEGV)),
            },
        }
    }

    /// Starts a handler on the guest's stack.
    fn push_frame<M: Machine>(
        &mut self,
        m: &mut M,
        info: &Info,
        disposition: Disposition,
        fault: [u64; 3],
    ) -> Result<(), Errno> {
        let mut registers = m.registers();
        let thread = self.thread().ok_or(Errno::EFAULT)?;
        let (alt, mask) = (thread.alt_stack, thread.mask);
        if !disposition.has_restorer() || disposition.handler >= USER_END {
            return Err(Errno::EFAULT);
        }
        let switches = disposition.flags & SA_ONSTACK != 0 && alt.length != 0 && !alt.holds(registers.rsp);
        let top = if switches {
            alt.start.wrapping_add(alt.length)
        } else {
            registers.rsp.wrapping_sub(RED_ZONE)
        };
        let mut image = Vec::new();
        m.save_vector_state(&mut image);
        mark_vector(&mut image);
        let vector = top.checked_sub(image.len() as u64).ok_or(Errno::EFAULT)? & !63;
        // The handler starts as if called: the return address lies 8 below a multiple of 16.
        let frame = (vector.checked_sub(FRAME_BYTES as u64 + 8).ok_or(Errno::EFAULT)? & !15) + 8 - 16;
        if switches && frame < alt.start {
            return Err(Errno::EFAULT);
        }
        let head = FrameHead {
            restorer: disposition.restorer,
            stack: alt.words(registers.rsp),
            fault,
            mask: thread.saved_mask.unwrap_or(mask),
            vector,
        };
        self.space.write(m, vector, &image)?;
        self.space
            .write(m, frame, &encode_frame(&head, &registers, info))?;

        let thread = self.thread_mut().ok_or(Errno::EFAULT)?;
        thread.saved_mask = None;
        thread.mask |= disposition.mask;
        if disposition.flags & SA_NODEFER == 0 {
            thread.mask |= bit(info.signal) & !UNBLOCKABLE;
        }
        if alt.flags & AUTODISARM != 0 {
            thread.alt_stack = AltStack::default();
        }
        if disposition.flags & SA_RESETHAND != 0 {
            self.process.dispositions[info.signal as usize - 1].handler = 0;
        }
        registers.rdi = info.signal.into();
        registers.rsi = frame + FRAME_INFO as u64;
        registers.rdx = frame + FRAME_CONTEXT as u64;
        registers.rax = 0;
        registers.rsp = frame;
        registers.rip = disposition.handler;
        registers.rflags &= !HANDLER_CLEARS;
        m.set_registers(&registers);
        self.statistics.signals += 1;
        Ok(())
    }

    /// `rt_sigreturn`: goes back to what the frame says.
    pub(crate) fn signal_return<M: Machine>(&mut self, m: &mut M) -> Answer {
        let frame = m.registers().rsp.wrapping_sub(8);
        match self.pop_frame(m, frame) {
            Ok(()) => Ok(Done::Registers),
            Err(Errno::OUT_OF_MEMORY) => Err(Errno::OUT_OF_MEMORY),
            // The frame is not one: as Linux, the process dies, whatever handler it has.
            Err(_) => Ok(Done::Stop(Stop::Signal(number::SIGSEGV))),
        }
    }

    fn pop_frame<M: Machine>(&mut self, m: &mut M, frame: u64) -> Result<(), Errno> {
        let bytes = self.space.read_array::<FRAME_BYTES>(m, frame)?;
        let (registers, mask, [start, flags, length], vector) = decode_frame(&bytes);
        if registers.rip >= USER_END {
            return Err(Errno::EFAULT);
        }
        if vector != 0 {
            let mut image = Vec::new();
            m.save_vector_state(&mut image);
            let mask = mxcsr_mask(&image);
            self.space.read(m, vector, &mut image)?;
            unmark_vector(&mut image)?;
            if has_reserved_mxcsr(&image, mask) {
                return Err(Errno::EFAULT);
            }
            m.load_vector_state(&image).map_err(|()| Errno::EFAULT)?;
        }
        m.set_registers(&registers);
        let thread = self.thread_mut().ok_or(Errno::EFAULT)?;
        (thread.mask, thread.saved_mask) = (mask & !UNBLOCKABLE, None);
        if length != 0 && flags & 2 == 0 {
            thread.alt_stack = AltStack {
                start,
                length,
                flags: flags as u32 & AUTODISARM,
            };
        }
        Ok(())
    }

    /// A signal ended a wait: the call fails with EINTR, or is made again after the handler.
    pub(crate) fn interrupt<M: Machine>(&mut self, m: &mut M, deadline: Option<u64>) -> Answer {
        let mut registers = m.registers();
        let call = Call::from_registers(&registers);
        // A write that moved some bytes has succeeded.
        if let Some(moved) = self
            .thread()
            .map(|thread| thread.moved)
            .filter(|&moved| moved != 0)
        {
            return Ok(Done::Value(moved));
        }
        let again = self.thread().is_some_and(|thread| {
            let set = (thread.pending.set() | self.process.pending.set()) & !thread.mask;
            let disposition = self.process.dispositions[set.trailing_zeros().min(63) as usize];
            match disposition.handler {
                0 | 1 => true,
                _ => disposition.flags & SA_RESTART != 0 && call.restarts(),
            }
        });
        if !again {
            self.write_remaining(m, &call, deadline)?;
            return Err(Errno::EINTR);
        }
        // Back to the `syscall` instruction, with the number where it was.
        (registers.rip, registers.rax) = (registers.rip.saturating_sub(2), call.number);
        m.set_registers(&registers);
        Ok(Done::Registers)
    }
}
