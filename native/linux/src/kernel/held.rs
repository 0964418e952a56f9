//! What the kernel's state takes of the host: see [`crate::state::account`].

use super::Kernel;
use crate::action::Action;
use crate::errno::Errno;
use crate::kernel::answer::{Answer, Done};
use crate::machine::{Machine, PAGE};
use crate::syscall::Call;
use crate::task::threads::{Retry, Thread, Wait, WaitFor};

impl Kernel {
    /// Bytes of the host that all tables take.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.space.tree.held()
            + self.vfs.held()
            + self.files.held()
            + self.threads.end() as u64 * Thread::COST
            + self.waiting
    }

    /// Answers a system call of the running thread, which takes no more of the host than there is room for.
    pub(crate) fn call<M: Machine>(&mut self, m: &mut M, call: &Call, retry: Option<Retry>) -> Answer {
        m.charge(self.held());
        self.room = m.free_pages() * PAGE;
        self.vfs.account.set_room(self.room);
        self.files.set_room(self.room);
        let answer = self.answer(m, call, retry);
        let answer = match answer {
            Ok(Done::Value(value)) if self.files.has_news() => Ok(Done::Tell(value, Action::Connection)),
            other => other,
        };
        let held = self.held();
        self.most_held = self.most_held.max(held);
        m.charge(held);
        answer
    }

    /// The most that [`Kernel::held`] was behind a call since this was asked last.
    pub fn take_most_held(&mut self) -> u64 {
        std::mem::take(&mut self.most_held)
    }

    /// Whether there is room for so many bytes more.
    ///
    /// # Errors
    /// ENOMEM.
    pub(crate) fn ask_room(&self, bytes: u64) -> Result<(), Errno> {
        if bytes > self.room {
            Err(Errno::ENOMEM)
        } else {
            Ok(())
        }
    }

    /// Lets the running thread wait, if what it waits for can be kept.
    pub(crate) fn begin_wait(&mut self, mut wait: Wait) -> Result<(), Errno> {
        // A copy of it, as the reset makes, has no spare room either.
        if let WaitFor::Files(files) = &mut wait.what {
            files.shrink_to_fit();
        }
        let cost = wait.cost();
        self.ask_room(cost)?;
        // One that the thread was stopped in is over.
        self.end_wait();
        self.waiting += cost;
        if let Some(thread) = self.thread_mut() {
            thread.wait = Some(wait);
        }
        Ok(())
    }

    /// Ends the running thread's wait.
    pub(crate) fn end_wait(&mut self) {
        let wait = self.thread_mut().and_then(|thread| thread.wait.take());
        self.waiting -= wait.as_ref().map_or(0, Wait::cost);
    }

    /// What all threads wait for, counted anew: for audits.
    pub(crate) fn waits(&self) -> u64 {
        let waits = self.threads.iter().filter_map(|(_, thread)| thread.wait.as_ref());
        waits.map(Wait::cost).sum()
    }
}
