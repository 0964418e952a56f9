//! Scheduling on one vCPU: how a call ends, who runs next, and what the host learns when nobody can.

use std::sync::Arc;

use crate::action::{Action, Stop};
use crate::errno::Errno;
use crate::fs::files::Readiness;
use crate::kernel::Kernel;
use crate::kernel::answer::{Answer, Done};
use crate::machine::{Machine, Registers};
use crate::syscall::Call;
use crate::task::threads::{Retry, Thread, Wait, WaitFor};

/// Waits that end and begin again at once before the scheduler gives up: more would be a bug of ours.
const STALLS_MAX: u32 = 100_000;

impl Kernel {
    /// Puts a call's answer into the machine. `None`: the running thread cannot go on.
    pub(crate) fn finish<M: Machine>(&mut self, m: &mut M, answer: Answer) -> Option<Action> {
        let (value, report) = match answer {
            Ok(Done::Value(value)) => (value, None),
            Ok(Done::Tell(value, action)) => (value, Some(action)),
            Err(Errno::OUT_OF_MEMORY) => return Some(Action::Stop(Stop::OutOfMemory)),
            Err(Errno::UNFINISHED) => return Some(self.make_again(m)),
            Err(errno) => (errno.as_result(), None),
            Ok(Done::Registers) => return Some(self.leave(m)),
            Ok(Done::Gone) => return None,
            Ok(Done::Stop(stop)) => return Some(Action::Stop(stop)),
            Ok(Done::Yield) => {
                let registers = Registers {
                    rax: 0,
                    ..m.registers()
                };
                self.thread_mut()?.registers = registers;
                return None;
            }
            Ok(Done::Wait(what, deadline)) => {
                let registers = m.registers();
                self.thread_mut()?.registers = registers;
                let wait = Wait {
                    what,
                    deadline,
                    woken: false,
                };
                match self.begin_wait(wait) {
                    Ok(()) => return None,
                    Err(errno) => (errno.as_result(), None),
                }
            }
        };
        self.set_moved(0);
        m.set_registers(&Registers {
            rax: value,
            ..m.registers()
        });
        if report == Some(Action::Frame) {
            self.in_flight = false;
            self.drop_messages();
        }
        let action = self.leave(m);
        Some(report.filter(|_| action == Action::Resume).unwrap_or(action))
    }

    /// Lets ring 3 make the call again that did a piece of its work, behind the host's look at the deadline.
    fn make_again<M: Machine>(&mut self, m: &mut M) -> Action {
        let registers = m.registers();
        let call = Call::from_registers(&registers);
        let rip = registers.rip.saturating_sub(2);
        m.set_registers(&Registers {
            rip,
            rax: call.number,
            ..registers
        });
        self.thread_mut()
            .into_iter()
            .for_each(|thread| thread.unfinished = Some((rip, call)));
        // What is for a person need not be kept until the call is done.
        match self.files.stdio.is_stream() && self.files.stdio.has_output() {
            true => Action::Output,
            false => Action::Resume,
        }
    }

    /// Whether the running thread, at this instruction, is about to make a call again that is not done. Nothing comes in between; one
    /// that changed the instruction or the registers by its own call begins anew.
    pub(crate) fn is_unfinished(&mut self, m: &impl Machine, instruction: u64) -> bool {
        let Some(unfinished) = self.thread().and_then(|thread| thread.unfinished) else {
            return false;
        };
        let same = unfinished == (instruction, Call::from_registers(&m.registers()));
        if !same && let Some(thread) = self.thread_mut() {
            (thread.unfinished, thread.moved) = (None, 0);
        }
        same
    }

    /// How far the call under way has come.
    pub(crate) fn moved(&self) -> u64 {
        self.thread().map_or(0, |thread| thread.moved)
    }

    /// The answer of a call that did a piece of its work and came so far.
    pub(crate) fn unfinished<T>(&mut self, moved: u64) -> Result<T, Errno> {
        self.set_moved(moved);
        Err(Errno::UNFINISHED)
    }

    pub(crate) fn set_moved(&mut self, moved: u64) {
        if self.moved() != moved {
            self.thread_mut()
                .into_iter()
                .for_each(|thread| thread.moved = moved);
        }
    }

    /// Ends a call of the running thread: signals are delivered, then ring 3 goes on.
    fn leave<M: Machine>(&mut self, m: &mut M) -> Action {
        self.check_timers(m);
        let Some(thread) = self.thread() else {
            return Action::Deadlock;
        };
        if (thread.pending.set() | self.process.pending.set()) & !thread.mask != 0 {
            return self.deliver(m);
        }
        if let Some(mask) = thread.saved_mask
            && let Some(thread) = self.thread_mut()
        {
            (thread.mask, thread.saved_mask) = (mask, None);
        }
        Action::Resume
    }

    /// How the wait of a thread ends now: `None` when it goes on.
    fn wait_over(
        &self,
        thread: &Thread,
        wait: &Wait,
        now: u64,
        readiness: &mut Readiness<'_>,
    ) -> Option<Retry> {
        let timed_out = wait.deadline.is_some_and(|deadline| deadline <= now);
        let success = match &wait.what {
            WaitFor::Files(files) => files
                .iter()
                .any(|&(file, events)| readiness.of(file) & events != 0),
            WaitFor::Futex { .. } => wait.woken,
            WaitFor::Signals(set) => (thread.pending.set() | self.process.pending.set()) & set != 0,
            WaitFor::Room { file, added } => self.files.event_takes(*file, *added),
            WaitFor::Time => false,
        };
        let signalled = (thread.pending.set() | self.process.pending.set()) & !thread.mask != 0;
        (timed_out || success || signalled).then_some(Retry {
            deadline: wait.deadline,
            timed_out: timed_out && !success,
            woken: wait.woken,
            interrupted: !success && !timed_out,
        })
    }

    /// The next thread that can run, after the current one in turn.
    fn pick(&self, now: u64) -> Option<(usize, Option<Retry>)> {
        let (end, mut readiness) = (self.threads.end(), self.files.readiness(now));
        (1..=end)
            .map(|step| (self.current + step) % end)
            .find_map(|slot| {
                let thread = self.threads.get(slot)?;
                match &thread.wait {
                    None => Some((slot, None)),
                    Some(wait) => Some((slot, Some(self.wait_over(thread, wait, now, &mut readiness)?))),
                }
            })
    }

    /// Gives the machine to a thread: its registers, bases and vector state.
    fn switch_to(&mut self, m: &mut impl Machine, slot: usize) {
        self.current = slot;
        let Some(tid) = self.thread().map(|thread| thread.tid) else {
            return;
        };
        if tid != self.loaded {
            self.statistics.switches += 1;
            let old = self
                .threads
                .iter()
                .find(|(_, thread)| thread.tid == self.loaded)
                .map(|(slot, _)| slot);
            if let Some(old) = old.and_then(|old| self.threads.get_mut(old)) {
                let mut image = Vec::new();
                m.save_vector_state(&mut image);
                (old.vector, old.fs_base, old.gs_base) = (Some(Arc::new(image)), m.fs_base(), m.gs_base());
            }
            self.loaded = tid;
            if let Some(thread) = self.thread_mut() {
                m.set_fs_base(thread.fs_base);
                m.set_gs_base(thread.gs_base);
                if let Some(image) = thread.vector.take() {
                    // An image that the machine gave; a signal frame's was accepted before.
                    let loaded = m.load_vector_state(&image);
                    debug_assert!(loaded.is_ok());
                }
            }
        }
        if let Some(thread) = self.thread() {
            m.set_registers(&thread.registers);
        }
    }

    /// Runs waiting calls until a thread can go on in ring 3 or none can.
    pub(crate) fn schedule<M: Machine>(&mut self, m: &mut M) -> Action {
        for _ in 0..STALLS_MAX {
            self.check_timers(m);
            let now = self.now(m);
            let Some((slot, retry)) = self.pick(now) else {
                match self.all_wait(m, now) {
                    Some(action) => return action,
                    None => continue,
                }
            };
            self.clock.work(now);
            self.switch_to(m, slot);
            let Some(retry) = retry else { return self.leave(m) };
            self.end_wait();
            let answer = if retry.interrupted {
                self.interrupt(m, retry.deadline)
            } else {
                let call = Call::from_registers(&m.registers());
                let answer = self.call(m, &call, Some(retry));
                self.note(&call, &answer);
                answer
            };
            if let Some(action) = self.finish(m, answer) {
                return action;
            }
        }
        Action::Deadlock
    }

    /// Whether time must pass: between requests, and while the host may say something.
    fn waits_for_host(&self, for_input: bool) -> bool {
        match self.in_flight {
            true => self.said || (for_input && self.files.stdio.messages),
            false => for_input,
        }
    }

    /// Nobody can run: the clock jumps, or the host is told for what to wait.
    fn all_wait(&mut self, m: &mut impl Machine, now: u64) -> Option<Action> {
        self.paused = now;
        self.clock.rest(now);
        let deadlines = self
            .threads
            .iter()
            .filter_map(|(_, thread)| thread.wait.as_ref()?.deadline);
        let timers = self
            .files
            .next_timer(now)
            .into_iter()
            .chain(self.next_timer_signal());
        let next = deadlines.chain(timers).min();
        let wait = next.map(|at| at.saturating_sub(now));
        let watchers = self.files.input_watchers();
        let for_input =
            self.threads
                .iter()
                .any(|(_, thread)| match thread.wait.as_ref().map(|wait| &wait.what) {
                    Some(WaitFor::Files(files)) => {
                        files.iter().any(|&(file, _)| watchers.get(file) == Some(&true))
                    }
                    _ => false,
                });
        match wait {
            // What it wrote may be all that the host waits for.
            _ if self.files.has_news() || self.files.stdio.has_said() => Some(Action::Idle { wait }),
            Some(wait) if self.jump_when_idle && !self.waits_for_host(for_input) => {
                self.clock.jump(wait);
                self.write_clock_page(m);
                None
            }
            _ if for_input => Some(Action::Idle { wait }),
            Some(wait) => Some(Action::Wait { wait }),
            None => Some(Action::Deadlock),
        }
    }
}
