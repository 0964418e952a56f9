//! Machines on threads of their own, and the way in and out.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use mayfly_vmm::monotonic_ns;

use crate::channel::{Channel, Said};
use crate::program::Program;
use crate::queue::{Parking, Refused};
use crate::worker::job::{Completion, Job, Reset};
use crate::worker::shared::{Order, Shared, Timed, WorkerSlot};
use crate::worker::stats::PoolStats;
use crate::worker::supervisor;

/// Worker threads with machines for each program in use. Dropping it lets the waiting requests end first, and calls off those that are
/// parked.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    supervisor: Option<JoinHandle<()>>,
}

impl Pool {
    /// Starts `workers` threads; at most `queue` requests wait.
    pub fn start(workers: usize, queue: usize) -> std::io::Result<Pool> {
        Pool::start_with(workers, queue, false)
    }

    /// The same, but answers are told before their machines are reset; [`Pool::take_resets`] tells the rest. Requests that keep
    /// their state, are checked or end without an answer are told afterwards as ever.
    pub fn start_early(workers: usize, queue: usize) -> std::io::Result<Pool> {
        Pool::start_with(workers, queue, true)
    }

    fn start_with(workers: usize, queue: usize, early: bool) -> std::io::Result<Pool> {
        let workers = workers.max(1);
        let shared = Shared::new(workers, queue.max(1), early);
        let supervisor = Some(supervisor::start(&shared)?);
        Ok(Pool { shared, supervisor })
    }

    /// Makes every worker fork the program ahead of its first request, one after the other.
    pub fn prepare(&self, program: &Arc<Program>) {
        self.shared.queue.order_to(0, Order::Prepare(program.clone()));
    }

    /// Workers that have forked the program.
    pub fn prepared(&self, program: u64) -> usize {
        let has = |slot: &&WorkerSlot| slot.programs().contains_key(&program);
        self.shared.slots.iter().filter(has).count()
    }

    /// Makes every worker drop its machine of a program. Requests that name it later fork it anew.
    pub fn retire(&self, program: u64) {
        self.shared.queue.order(&Order::Retire(program));
    }

    /// Makes every worker drop the machines that no request came for in so many nanoseconds; those that hold a program's state stay.
    /// Later requests fork their programs anew.
    pub fn drop_idle(&self, least_ns: u64) {
        self.shared.queue.order(&Order::DropIdle(least_ns));
    }

    /// Adds a request, or gives it back with the reason.
    pub fn submit(&self, job: Job) -> Result<(), (Job, Refused)> {
        let result = self.shared.queue.submit(
            (job.program.id(), job.flow),
            job.weight,
            Timed {
                job,
                submitted: monotonic_ns(),
            },
        );
        result.map_err(|(timed, why)| {
            self.shared.stats().refused += 1;
            (timed.job, why)
        })
    }

    /// Gives a request with a channel a message of the host, a whole frame; false when it has ended or its inbox is full.
    pub fn say(&self, id: u64, channel: &Channel, message: &[u8]) -> bool {
        self.wake(id, channel.say(message))
    }

    /// Gives a request to a program that serves a piece of its bytes; false when there is no room: it says so, as by an answer, when
    /// there is, or when it has ended.
    pub fn send(&self, id: u64, channel: &Channel, bytes: &[u8]) -> bool {
        let said = channel.say_bytes(bytes);
        self.wake(id, said)
    }

    /// All bytes of a request to a program that serves were given.
    pub fn finish(&self, id: u64, channel: &Channel) {
        let said = channel.finish();
        self.wake(id, said);
    }

    fn wake(&self, id: u64, said: Said) -> bool {
        if said == Said::Wakes {
            self.shared.queue.go_on(id);
        }
        said != Said::Refused
    }

    /// Takes what a program that serves has answered so far, beyond what was taken. What is left comes with the completion.
    pub fn receive(&self, id: u64, channel: &Channel) -> Vec<u8> {
        let (bytes, parked) = channel.hear_bytes();
        if parked {
            self.shared.queue.go_on(id);
        }
        bytes
    }

    /// Ends a request with a channel, soon: at once if it is parked, and at its next stop otherwise.
    pub fn call_off(&self, id: u64, channel: &Channel) {
        channel.call_off();
        self.shared.queue.go_on(id);
    }

    /// Bounds the requests with a channel that are under way at once, and the memory of those that are parked, from now on.
    pub fn limit_parking(&self, limits: Parking) {
        self.shared.queue.limit_parking(limits);
    }

    /// Requests that wait for the host.
    pub fn parked(&self) -> usize {
        self.shared.queue.parked().len()
    }

    /// Bytes that the machines of those have for themselves alone: pages that they wrote to, and what the host keeps for their programs.
    pub fn parked_bytes(&self) -> u64 {
        self.shared.queue.parked_bytes()
    }

    /// As [`Pool::fetch`], and moves to `said` the numbers of requests that said something since they were last heard
    /// ([`Channel::hear`]). `most` is for both together; what a request said before its completion comes before it.
    pub fn fetch_told(
        &self,
        said: &mut Vec<u64>,
        into: &mut Vec<Completion>,
        most: usize,
        timeout: Duration,
    ) -> usize {
        self.shared.queue.fetch_told(said, into, most, timeout)
    }

    /// As [`Pool::fetch`], for a short time that is spent without sleep, and given to whoever wants the CPU.
    pub fn fetch_soon(&self, into: &mut Vec<Completion>, most: usize, longest: Duration) -> usize {
        self.shared.queue.fetch_soon(into, most, longest)
    }

    /// Moves up to `most` resets to `into` whose completions were fetched as [`crate::MachineState::Resetting`], and gives how many. Never
    /// waits. After [`Pool::close`] and a fetch of 0, all have come.
    pub fn take_resets(&self, into: &mut Vec<Reset>, most: usize) -> usize {
        self.shared.queue.take_resets(into, most)
    }

    /// Waits for completions and moves up to `most` of them to `into`; returns how many, 0 when time is over or the pool is
    /// closed and empty.
    pub fn fetch(&self, into: &mut Vec<Completion>, most: usize, timeout: Duration) -> usize {
        self.shared.queue.fetch(into, most, timeout)
    }

    /// Lets the fetch that waits, or else the next one that would, return with nothing.
    pub fn recall(&self) {
        self.shared.queue.recall();
    }

    /// Refuses new requests; those that wait are still done.
    pub fn close(&self) {
        self.shared.queue.close();
    }

    /// Requests that wait, and those that run or whose machines are reset.
    pub fn load(&self) -> (usize, usize) {
        self.shared.queue.load()
    }

    /// Counts since the start.
    pub fn stats(&self) -> PoolStats {
        self.shared.stats().clone()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
        self.shared.call_off_parked();
        if let Some(supervisor) = self.supervisor.take() {
            // It ends after its workers; if it panicked there is nothing left to release.
            let _ = supervisor.join();
        }
    }
}
