//! Looks after a pool's workers: answers for those that crash, cleans up behind them, and slots others.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mayfly_guard::{Crash, Notifier, State, VmThread};

use crate::queue::At;
use crate::worker::job::{Completion, MachineState, Reset};
use crate::worker::restart_budget::RestartBudget;
use crate::worker::shared::{Order, Shared};
use crate::worker::work;

/// Pause before a worker whose forerunner crashed without having done a job; doubled each time.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest such pause, and the one after the system refused a thread.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Longest wait for the notifier: nothing else reports an event.
const LONG: Duration = Duration::from_secs(3600);

/// A worker's slot, with the thread that has it.
struct Supervised {
    index: usize,
    /// `None` while nobody has it.
    thread: Option<VmThread>,
    /// Jobs that were done in it when the thread came.
    done: u64,
    /// Crashes in a row without a job done in between.
    barren: u32,
    restart_budget: RestartBudget,
    /// When the next thread comes.
    due: Instant,
    /// The queue is closed and empty, and the thread ended.
    over: bool,
}

/// Starts a pool's workers and the thread that looks after them. It ends after them.
pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let (tell, told) = mpsc::channel();
    let shared = shared.clone();
    let supervisor = thread::Builder::new().name("mayfly-pool".into()).spawn(move || {
        let notifier = Arc::new(Notifier::default());
        let mut workers = Vec::with_capacity(shared.slots.len());
        for index in 0..shared.slots.len() {
            match start_worker(&shared, &notifier, index) {
                Ok(worker) => workers.push(worker),
                Err(e) => {
                    shared.queue.close(); // those that came already go
                    let _ = tell.send(Err(e));
                    return;
                }
            }
        }
        // Nobody listens only if `start` is gone, which waits below.
        let _ = tell.send(Ok(()));
        look_after(&shared, &notifier, &mut workers);
    })?;
    match told.recv() {
        Ok(started) => started.map(|()| supervisor),
        Err(_) => Err(io::Error::other("the pool's supervisor ended at once")),
    }
}

fn start_worker(shared: &Arc<Shared>, notifier: &Arc<Notifier>, index: usize) -> io::Result<Supervised> {
    let theirs = shared.clone();
    let thread = VmThread::spawn(&format!("mayfly-vm-{index}"), notifier, move || {
        work(&theirs, index)
    })?;
    Ok(Supervised {
        index,
        thread: Some(thread),
        done: shared.slots[index].done(),
        barren: 0,
        restart_budget: RestartBudget::default(),
        due: Instant::now(),
        over: false,
    })
}

fn look_after(shared: &Arc<Shared>, notifier: &Arc<Notifier>, workers: &mut [Supervised]) {
    loop {
        let seen = notifier.count();
        for worker in workers.iter_mut() {
            worker.look(shared, notifier);
        }
        if workers.iter().all(|c| c.over) {
            return;
        }
        let empty = workers.iter().filter(|c| c.thread.is_none() && !c.over);
        let next = empty
            .map(|c| c.due.saturating_duration_since(Instant::now()))
            .min();
        notifier.wait(seen, next.unwrap_or(LONG));
    }
}

impl Supervised {
    fn look(&mut self, shared: &Arc<Shared>, notifier: &Arc<Notifier>) {
        if let Some(thread) = self.thread.take_if(|t| t.state() != State::Running) {
            match thread.take_crash() {
                None => self.over = true,
                Some(crash) => self.clean_up(shared, &crash, thread),
            }
        }
        if self.thread.is_some() || self.over || Instant::now() < self.due {
            return;
        }
        match start_worker(shared, notifier, self.index) {
            Ok(next) => {
                (self.thread, self.done) = (next.thread, next.done);
                // The pool refills: what the forerunner had a machine of is forked ahead of its next request.
                let programs = std::mem::take(&mut *shared.slots[self.index].programs());
                for program in programs.values().filter_map(std::sync::Weak::upgrade) {
                    shared.queue.order_to(self.index, Order::Refill(program));
                }
            }
            Err(e) => {
                eprintln!("mayfly: start worker {} anew: {e}; trying again", self.index);
                self.due = Instant::now() + LONGEST_PAUSE;
            }
        }
    }

    /// Answers the job that the crash left, tells the crash, and releases what the thread held. If the crash left a lock taken
    /// (the allocator's, the queue's, that of the counts), this gets stuck, and the thread's own deadline aborts the process.
    fn clean_up(&mut self, shared: &Shared, crash: &Crash, thread: VmThread) {
        let slot = &shared.slots[self.index];
        let report = format!("{crash:#}");
        eprintln!("mayfly: {report}");
        let lost = slot.programs().len() as u64;
        {
            let mut stats = shared.stats();
            stats.crashes += 1;
            stats.lost += lost;
        }
        for channel in std::mem::take(&mut *slot.channels()).into_values() {
            channel.end();
        }
        slot.close_links();
        // Its machines are counted: what is told here counts the request alone.
        match shared.queue.at(self.index) {
            At::Rest => {}
            At::Job(job) => {
                let completion = Completion {
                    machine: MachineState::Lost,
                    ..Completion::failed(job, self.index, report.clone())
                };
                shared
                    .stats()
                    .count(&completion.outcome, &completion.traces, &completion.stats);
                shared.queue.complete(self.index, completion);
            }
            At::Reset { job, .. } => {
                let reset = Reset {
                    id: job,
                    reset_ns: 0,
                    dirty_pages: 0,
                    machine: MachineState::Lost,
                };
                shared.queue.clean(self.index, reset, Completion::fill);
            }
        }
        // Those that it had parked go with it.
        for job in shared.queue.take_parked(self.index) {
            let completion = Completion {
                machine: MachineState::Lost,
                ..Completion::failed(job, self.index, report.clone())
            };
            shared
                .stats()
                .count(&completion.outcome, &completion.traces, &completion.stats);
            shared.queue.lose(completion);
        }
        thread.reap();
        // SAFETY: the thread is gone. After a panic it dropped its machines itself, and their lists with them.
        unsafe { slot.resources.release() };
        self.barren = if slot.done() > self.done {
            0
        } else {
            self.barren + 1
        };
        let pause = match self.barren {
            0 | 1 => Duration::ZERO,
            n => PAUSE.saturating_mul(1 << (n - 2).min(20)),
        };
        let now = Instant::now();
        self.due = now + pause.min(LONGEST_PAUSE).max(self.restart_budget.take(now));
    }
}
