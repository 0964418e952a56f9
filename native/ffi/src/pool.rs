//! A pool with its tickets.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mayfly_abi::limits::{QUEUE_MAX, WORKERS_MAX};
use mayfly_pool::{self as native, Channel, Denial, Job, Outcome, Parking, Pool, Program, Refused, Traces};
use mayfly_wire::{Kind, MESSAGE_LIMITS, Progress, progress};
use serde_json::{Value, json};

use crate::abi::{Fault, Status, fault};
use crate::layout::{Completion, Part, Reset, encode_machine, encode_outcome, micros};
use crate::tickets::{Finished, SLOTS_MAX, Tickets};

/// Most requests with a channel that are under way.
const PARKED_MAX: usize = 16_384;
/// Most completions that one wait gives.
const BATCH_MAX: usize = 1024;

/// How many requests a pool runs, and how many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sizes {
    /// Worker threads.
    pub workers: u32,
    /// Requests that may wait.
    pub queue: u32,
    /// Requests with a channel that may be under way, and the memory of those that are parked.
    pub parked: Parking,
}

/// Worker threads, and the requests that Deno knows of.
#[derive(Debug)]
pub struct TicketPool {
    pool: Pool,
    tickets: Mutex<Tickets>,
    /// A wait is under way.
    waiting: AtomicBool,
    /// Submissions refused for want of a ticket.
    refused: AtomicU64,
}

impl TicketPool {
    /// Starts the workers.
    pub fn start(sizes: Sizes) -> Result<TicketPool, Fault> {
        let Sizes {
            workers,
            queue,
            parked,
        } = sizes;
        if parked.all > PARKED_MAX || parked.each > PARKED_MAX {
            let text = format!("start a pool: {parked:?}, want at most {PARKED_MAX} of each");
            return Err(fault(Status::BadArgument, text));
        }
        if !(1..=WORKERS_MAX).contains(&workers) || !(1..=QUEUE_MAX).contains(&queue) {
            let text = format!(
                "start a pool: {workers} workers and a queue of {queue}, want 1 to {WORKERS_MAX} and 1 to {QUEUE_MAX}"
            );
            return Err(fault(Status::BadArgument, text));
        }
        let pool = Pool::start_early(workers as usize, queue as usize)
            .map_err(|e| fault(Status::System, format!("start a pool's threads: {e}")))?;
        pool.limit_parking(parked);
        // Those that wait, those that run or are parked, and twice as many again that are done and not read.
        let most = 3 * ((queue + workers) as usize + parked.all);
        Ok(TicketPool {
            pool,
            tickets: Mutex::new(Tickets::new(most.min(SLOTS_MAX))),
            waiting: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        })
    }

    /// No call leaves the tickets half changed.
    fn tickets(&self) -> MutexGuard<'_, Tickets> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request and gives its ticket. `talks`: it has a channel from the start.
    pub fn submit(&self, request: Request, talks: bool) -> Result<i32, Fault> {
        let channel = match (talks, request.late) {
            (true, _) => Some(Arc::new(Channel::default())),
            (false, true) => Some(Arc::new(Channel::late())),
            (false, false) => None,
        };
        let ticket = {
            let mut tickets = self.tickets();
            let Some(ticket) = tickets.begin() else {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return Err(fault(Status::QueueFull, ""));
            };
            if let Some(channel) = &channel {
                tickets.open(ticket, channel.clone())?;
            }
            ticket
        };
        let submitted = self.pool.submit(Job {
            // Tickets are never negative.
            id: u64::from(ticket.unsigned_abs()),
            program: request.program,
            flow: request.flow,
            weight: request.weight,
            frame: request.frame.to_vec(),
            timeout_ns: u64::try_from(request.timeout.as_nanos()).unwrap_or(u64::MAX),
            keep: request.keep,
            check: request.check,
            channel,
        });
        match submitted {
            Ok(()) => Ok(ticket),
            Err((_, why)) => {
                self.tickets().forget(ticket)?;
                Err(match why {
                    Refused::Full => fault(Status::QueueFull, ""),
                    Refused::Closed => fault(Status::Closed, "submit a request: the pool was stopped"),
                })
            }
        }
    }

    /// Completions that are there or come within a short time, which is spent without sleep.
    pub fn wait_soon(&self, most: usize, longest: Duration) -> Result<Vec<Completion>, Fault> {
        let _waiting = self.begin_wait()?;
        let mut done = Vec::with_capacity(1);
        self.pool.fetch_soon(&mut done, most.min(BATCH_MAX), longest);
        let mut tickets = self.tickets();
        done.into_iter().map(|c| take_in(&mut tickets, c)).collect()
    }

    /// The response of a request that is done and left nothing else, if it fits into `room`; its ticket is forgotten with it.
    pub fn take_answer(&self, ticket: i32, room: usize) -> Result<Option<Vec<u8>>, Fault> {
        let mut tickets = self.tickets();
        let finished = tickets.finished(ticket)?;
        if !finished.is_answer_within(room) {
            return Ok(None);
        }
        let response = std::mem::take(&mut finished.response);
        tickets.release(ticket)?;
        Ok(Some(response))
    }

    /// Forgets a request that is done.
    pub fn forget(&self, ticket: i32) -> Result<(), Fault> {
        self.tickets().release(ticket)
    }

    /// Waits for completions; none when time is over, or when the pool was stopped and has no request left. One at a time.
    pub fn wait(&self, most: usize, timeout: Duration) -> Result<Vec<Completion>, Fault> {
        let _waiting = self.begin_wait()?;
        let (mut said, mut done) = (Vec::new(), Vec::new());
        self.pool
            .fetch_told(&mut said, &mut done, most.min(BATCH_MAX), timeout);
        // Who is done is told before the others' messages, which take the host a while.
        let (last, others): (Vec<u64>, Vec<u64>) =
            said.into_iter().partition(|id| done.iter().any(|c| c.id == *id));
        // Ids are tickets.
        let tell = |id| Ok(Completion::said(i32::try_from(id).unwrap_or(-1)));
        let mut tickets = self.tickets();
        let done = done.into_iter().map(|c| take_in(&mut tickets, c));
        last.into_iter()
            .map(tell)
            .chain(done)
            .chain(others.into_iter().map(tell))
            .collect()
    }

    /// Takes what a request said, as many whole messages as fit into `room`, and runs `reader` with them.
    pub fn hear<T>(&self, ticket: i32, room: usize, reader: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        let channel = self.tickets().channel(ticket)?;
        Ok(reader(&channel.hear(room)))
    }

    /// Gives a request a message, which is a whole frame; false when it has ended or does not listen.
    pub fn say(&self, ticket: i32, message: &[u8]) -> Result<bool, Fault> {
        match progress(message, Kind::Message, MESSAGE_LIMITS) {
            Ok(Progress::Whole(_)) => {}
            Ok(Progress::Head(_) | Progress::Parts(..)) => {
                return Err(fault(
                    Status::BadArgument,
                    "say something: part of a message, want a whole one",
                ));
            }
            Err(e) => return Err(fault(Status::BadArgument, format!("say something: {e}"))),
        }
        let channel = self.tickets().channel(ticket)?;
        Ok(self.pool.say(u64::from(ticket.unsigned_abs()), &channel, message))
    }

    /// Ends the requests that have a channel and whose slots are `chosen`, soon.
    pub fn call_off_all(&self, chosen: impl Fn(usize) -> bool) {
        let open = self.tickets().channels(chosen);
        for (ticket, channel) in open {
            self.pool.call_off(u64::from(ticket.unsigned_abs()), &channel);
        }
    }

    /// Ends a request that has a channel, soon.
    pub fn call_off(&self, ticket: i32) -> Result<(), Fault> {
        let channel = self.tickets().channel(ticket)?;
        self.pool.call_off(u64::from(ticket.unsigned_abs()), &channel);
        Ok(())
    }

    /// Gives a request that has a channel so much time from now on, in place of what it began with.
    pub fn extend(&self, ticket: i32, time: Duration) -> Result<(), Fault> {
        self.tickets().channel(ticket)?.extend(time);
        Ok(())
    }

    fn begin_wait(&self) -> Result<Waiting<'_>, Fault> {
        if self.waiting.swap(true, Ordering::Acquire) {
            let text = "wait for completions: another call waits, want one at a time";
            return Err(fault(Status::Busy, text));
        }
        Ok(Waiting(&self.waiting))
    }

    /// Runs `reader` with a part of what a request left.
    pub fn read<T>(&self, ticket: i32, part: Part, reader: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        let mut tickets = self.tickets();
        let finished = tickets.finished(ticket)?;
        Ok(reader(match part {
            Part::Response => &finished.response,
            Part::Log => &finished.log,
            Part::Message => finished.message.as_bytes(),
            Part::Denials => finished.denials.as_bytes(),
        }))
    }

    /// Runs `reader` with the response of a request that is done, and forgets the request.
    pub fn take_response<T>(&self, ticket: i32, reader: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        let mut tickets = self.tickets();
        let read = reader(&tickets.finished(ticket)?.response);
        tickets.release(ticket)?;
        Ok(read)
    }

    /// Resets that ended after their requests were answered. Never waits.
    pub fn resets(&self, most: usize) -> Vec<Reset> {
        let mut resets = Vec::new();
        self.pool.take_resets(&mut resets, most.min(BATCH_MAX));
        resets.into_iter().map(encode_reset).collect()
    }

    /// The pool itself.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Counts since the start, as JSON.
    pub fn statistics(&self) -> String {
        let stats = self.pool.stats();
        let (waiting, running) = self.pool.load();
        let refused = stats.refused + self.refused.load(Ordering::Relaxed);
        let text = json!({
            "outcomes": stats.outcomes,
            "denials": stats.denials,
            "logsCut": stats.logs_cut,
            "refused": refused,
            "forks": stats.forks,
            "emptied": stats.emptied,
            "lost": stats.lost,
            "crashes": stats.crashes,
            "waiting": waiting,
            "running": running,
            "held": self.tickets().held(),
            "queueUs": micros(stats.total.queue_ns),
            "runUs": micros(stats.total.run_ns),
            "resetUs": micros(stats.total.reset_ns),
            "exits": stats.total.exits,
            "dirtyPages": stats.total.dirty_pages,
            "parked": self.pool.parked(),
            "parkedBytes": self.pool.parked_bytes(),
            "parks": stats.total.parks,
            "parkedUs": micros(stats.total.parked_ns),
            "said": stats.total.said,
            "heard": stats.total.heard,
        });
        text.to_string()
    }
}

/// A request as Deno gives it.
#[derive(Debug)]
pub struct Request<'a> {
    /// What to run it in.
    pub program: Arc<Program>,
    /// One whole frame.
    pub frame: &'a [u8],
    /// Its flow, among those of the program.
    pub flow: u32,
    /// The weight of the flow, from 1.
    pub weight: u32,
    /// How long it may run.
    pub timeout: Duration,
    /// Keep the program's state.
    pub keep: bool,
    /// Compare the machine with its snapshot afterwards.
    pub check: bool,
    /// It has a channel that opens with its first message.
    pub late: bool,
}

/// Ends a wait on every path.
#[derive(Debug)]
struct Waiting<'a>(&'a AtomicBool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn take_in(tickets: &mut Tickets, done: native::Completion) -> Result<Completion, Fault> {
    let (completion, left) = take_apart(done);
    tickets.finish(completion.ticket, left)?;
    Ok(completion)
}

/// What is told of a request at once, and what it left to be read.
fn take_apart(done: native::Completion) -> (Completion, Finished) {
    let (outcome, detail) = encode_outcome(&done.outcome);
    let (response, message) = match done.outcome {
        Outcome::Answered(frame) => (frame, String::new()),
        Outcome::Misbehaved(what) | Outcome::Failed(what) => (Vec::new(), what),
        Outcome::Timeout
        | Outcome::OutOfMemory
        | Outcome::OutputOver
        | Outcome::CallsOver
        | Outcome::CpuOver
        | Outcome::CalledOff
        | Outcome::Refused(_)
        | Outcome::Exited(_)
        | Outcome::Killed(_)
        | Outcome::Stuck => (Vec::new(), String::new()),
    };
    let Traces {
        log,
        log_dropped,
        denials,
    } = done.traces;
    let denials = tell_denials(&denials);
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let completion = Completion {
        ticket: i32::try_from(done.id).unwrap_or(-1),
        outcome: outcome as u32,
        queue_us: done.stats.queue_ns as f64 / 1e3,
        run_us: done.stats.run_ns as f64 / 1e3,
        reset_us: done.stats.reset_ns as f64 / 1e3,
        exits: least(done.stats.exits),
        dirty_pages: least(done.stats.dirty_pages),
        response_bytes: number(response.len()),
        log_bytes: number(log.len()),
        message_bytes: number(message.len()),
        detail,
        worker: number(done.worker),
        denials_bytes: number(denials.len()),
        log_dropped: least(log_dropped),
        machine: encode_machine(done.machine) as u32,
        parked_us: micros(done.stats.parked_ns),
        parks: least(done.stats.parks),
        said: least(done.stats.said),
        heard: least(done.stats.heard),
        reserved: 0,
    };
    let finished = Finished {
        response,
        log,
        message,
        denials,
    };
    (completion, finished)
}

fn encode_reset(reset: native::Reset) -> Reset {
    Reset {
        reset_us: reset.reset_ns as f64 / 1e3,
        ticket: i32::try_from(reset.id).unwrap_or(-1),
        dirty_pages: least(reset.dirty_pages),
        machine: encode_machine(reset.machine) as u32,
        reserved: 0,
    }
}

/// The number, or the most that fits.
fn least(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Nothing for a request that was refused nothing.
fn tell_denials(denials: &[Denial]) -> String {
    if denials.is_empty() {
        return String::new();
    }
    let told = denials.iter().map(|denial| {
        json!({
            "call": native::call_name(denial.call).to_string(),
            "reason": denial.reason.name(),
            "times": denial.times,
        })
    });
    Value::from_iter(told).to_string()
}

#[cfg(test)]
mod tests;
