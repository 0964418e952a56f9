//! A worker's machines of one program: those that wait for a request, and those in which a parked request rests.
//!
//! A request that finds no machine waiting takes that of one that rests, which is [taken out](crate::program::instance::away), or gets a
//! new one. A new one costs as much as twenty that are emptied, and then serves for long. So one is made for each [`EMPTIED`] that were: who
//! always has many requests parked soon has a machine for each, and a flood that comes once is over before they are made.

use mayfly_linux::kernel::Kernel;
use mayfly_vmm::{HostResources, monotonic_ns};

use crate::confined::Listed;
use crate::program::instance::Instance;

/// Most machines of one program that a worker keeps for its next requests: more than one come to be while others are parked.
const IDLE_MAX: usize = 64;
/// Machines of a program in which requests rest, up to which another is made.
const FIRST: usize = 8;
/// Machines that are emptied for each that is made beside the first ones.
const EMPTIED: u32 = 20;

/// A machine and the list of its resources, which goes first.
pub(crate) struct Machine<'a> {
    pub _listed: Listed<'a>,
    pub instance: Instance,
    /// It holds what requests left for the next ones.
    pub kept: bool,
    /// Since when it waits, by the host's clock.
    idle_since: u64,
}

impl<'a> Machine<'a> {
    pub fn new(mut instance: Instance, list: impl FnOnce(HostResources) -> Listed<'a>) -> Box<Machine<'a>> {
        Box::new(Machine {
            _listed: list(instance.host_resources()),
            instance,
            kept: false,
            idle_since: 0,
        })
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Stock<'a> {
    /// The one that served last is the last.
    #[allow(
        clippy::vec_box,
        reason = "a machine goes to its request and back as a pointer"
    )]
    idle: Vec<Box<Machine<'a>>>,
    /// Numbers of the requests that rest in a machine which they may leave: the one that was parked last is the last.
    resting: Vec<u64>,
    /// Clean kernels, for requests that leave their machines with theirs.
    kernels: Vec<Kernel>,
    /// Machines that were emptied since one was made.
    emptied: u32,
}

impl<'a> Stock<'a> {
    pub fn take(&mut self) -> Option<Box<Machine<'a>>> {
        self.idle.pop()
    }

    /// Keeps a clean machine, unless there are enough.
    pub fn put_back(&mut self, mut machine: Box<Machine<'a>>) {
        machine.idle_since = monotonic_ns();
        if self.idle.len() < IDLE_MAX {
            self.idle.push(machine);
        }
    }

    /// Drops those that have waited for so many nanoseconds at least, but for what holds a program's state.
    pub fn drop_idle(&mut self, least: u64) {
        let now = monotonic_ns();
        self.idle
            .retain(|machine| machine.kept || now.saturating_sub(machine.idle_since) < least);
        self.kernels.clear();
    }

    /// A request rests in its machine, and may leave it.
    pub fn rests(&mut self, job: u64) {
        self.resting.push(job);
    }

    /// It goes on.
    pub fn goes_on(&mut self, job: u64) {
        if let Some(at) = self.resting.iter().rposition(|other| *other == job) {
            self.resting.remove(at);
        }
    }

    /// The request that is to leave its machine to another one, if no new one is to be made: that which was parked last, as the others are
    /// likely to go on earlier.
    pub fn next_to_leave(&mut self) -> Option<u64> {
        let makes = self.resting.len() < FIRST || self.resting.len() < IDLE_MAX && self.emptied >= EMPTIED;
        match makes {
            true => None,
            false => self.resting.pop(),
        }
    }

    /// A request left its machine.
    pub fn was_emptied(&mut self) {
        self.emptied += 1;
    }

    /// A machine was made.
    pub fn was_made(&mut self) {
        self.emptied = 0;
    }

    pub fn take_kernel(&mut self) -> Option<Kernel> {
        self.kernels.pop()
    }

    pub fn keep_kernel(&mut self, kernel: Kernel) {
        if self.kernels.len() < IDLE_MAX {
            self.kernels.push(kernel);
        }
    }
}
