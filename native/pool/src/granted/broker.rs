//! A thread that does what a thread under its filter may not.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::Duration;

use mayfly_linux::errno::Errno;

/// Longest wait for an answer: then the host's disk hangs.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Most questions that wait, those that nobody waits for any more included.
const WAITING_MAX: usize = 1024;

type Job = Box<dyn FnOnce() + Send>;

/// The way to that thread, which ends with it.
#[derive(Debug)]
pub(super) struct Broker {
    jobs: Sender<Job>,
    waiting: Arc<AtomicUsize>,
}

impl Broker {
    /// Starts the thread. To be called on a thread without a filter, as threads inherit theirs.
    pub fn start() -> io::Result<Broker> {
        let (jobs, work) = channel();
        std::thread::Builder::new()
            .name("mayfly-files".into())
            .spawn(move || run(&work))?;
        Ok(Broker {
            jobs,
            waiting: Arc::default(),
        })
    }

    /// Has something done and waits for the answer.
    ///
    /// # Errors
    /// EIO when it takes too long, too many wait, or it panicked; else its own.
    pub fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> Result<T, Errno> + Send + 'static,
    ) -> Result<T, Errno> {
        self.ask_within(ANSWER_MAX, what)
    }

    fn ask_within<T: Send + 'static>(
        &self,
        longest: Duration,
        what: impl FnOnce() -> Result<T, Errno> + Send + 'static,
    ) -> Result<T, Errno> {
        let waiting = self.waiting.clone();
        if waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Errno::EIO);
        }
        let (tell, told) = sync_channel(1);
        let job = move || {
            let answer = catch_unwind(AssertUnwindSafe(what)).unwrap_or(Err(Errno::EIO));
            waiting.fetch_sub(1, Ordering::Relaxed);
            // Nobody may wait any more.
            let _ = tell.send(answer);
        };
        self.jobs.send(Box::new(job)).or(Err(Errno::EIO))?;
        told.recv_timeout(longest).or(Err(Errno::EIO))?
    }

    /// Has something done. Who calls bounds how often.
    pub fn tell(&self, what: impl FnOnce() + Send + 'static) {
        // Without the thread there is nothing to be done either.
        let _ = self.jobs.send(Box::new(what));
    }
}

fn run(work: &Receiver<Job>) {
    for job in work {
        // What an answer was to be has caught its own panic.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_have_an_end_and_a_bound() {
        let broker = Broker::start().unwrap();
        assert_eq!(broker.ask(|| Ok(7)), Ok(7));
        assert_eq!(broker.ask(|| Err::<(), _>(Errno::ENOENT)), Err(Errno::ENOENT));
        let panics = || -> Result<(), Errno> { panic!("to be caught") };
        assert_eq!(broker.ask(panics), Err(Errno::EIO));
        // A host that hangs.
        let (release, held) = channel::<()>();
        broker.tell(move || assert!(held.recv().is_err()));
        for _ in 0..WAITING_MAX {
            let late = broker.ask_within(Duration::ZERO, || Ok(()));
            assert_eq!(late, Err(Errno::EIO));
        }
        assert_eq!(broker.waiting.load(Ordering::Relaxed), WAITING_MAX);
        assert_eq!(broker.ask(|| Ok(())), Err(Errno::EIO), "one too many waits");
        assert_eq!(broker.waiting.load(Ordering::Relaxed), WAITING_MAX);
        // It goes on.
        drop(release);
        let (tell, told) = channel();
        broker.tell(move || tell.send(()).unwrap());
        told.recv().unwrap();
        assert_eq!(broker.ask(|| Ok(8)), Ok(8));
    }
}
