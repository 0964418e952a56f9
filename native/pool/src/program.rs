//! A program that was booted, warmed and snapshotted.

pub(crate) mod booting;
pub(crate) mod exchange;
pub(crate) mod guest;
pub(crate) mod inspect;
pub(crate) mod instance;
pub(crate) mod running;
pub(crate) mod serve;
pub(crate) mod serving;
pub(crate) mod traces;
pub(crate) mod trial;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mayfly_linux::action::Action;
use mayfly_linux::kernel::{Kernel, Request, Snapshot as KernelSnapshot};
use mayfly_vmm::Snapshot;
use serde::{Deserialize, Serialize};

use crate::clock::{ClockSource, fresh_seed};
use crate::outside::Outside;
use crate::program::running::Running;
use crate::program::serve::Service;
use crate::spec::Limits;
use crate::spec::lent::Lent;
use crate::spec::mount::Mount;

/// Gives the requests of the warm-up one by one: told the answer to the one before (`None` at first) and its nanoseconds of CPU time. It is
/// called on the machine's own thread, under that thread's filter: it may compute and allocate, and that is all.
pub type Warmup<'a> = dyn FnMut(Option<(&[u8], u64)>) -> Option<WarmupRequest> + Send + 'a;

/// One request of a warm-up.
#[derive(Clone, Debug)]
pub struct WarmupRequest {
    /// A request frame.
    pub frame: Vec<u8>,
    /// A fork runs it once before it is used; of several the last one counts.
    pub rehearsed: bool,
    /// Time that it may take, in nanoseconds. Over it the boot fails: nothing can be taken back before the snapshot.
    pub timeout_ns: u64,
}

impl WarmupRequest {
    /// A request that forks rehearse and that only the boot's own deadline bounds.
    pub fn new(frame: Vec<u8>) -> WarmupRequest {
        WarmupRequest {
            frame,
            rehearsed: true,
            timeout_ns: u64::MAX,
        }
    }
}

/// How a boot went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootReport {
    /// Nanoseconds until the program waited for its first request.
    pub boot_ns: u64,
    /// Nanoseconds of the warm-up.
    pub warmup_ns: u64,
    /// Requests of the warm-up.
    pub warmup_requests: u64,
    /// Times that the guest left ring 3, warm-up included.
    pub exits: u64,
    /// Guest memory in use at the snapshot, in bytes.
    pub memory_bytes: u64,
}

/// What a runtime that waits in its base is given.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Files that appear in the guest; the base saw none of them.
    pub mounts: Vec<Mount>,
    /// What tells the runtime to load them: input that it does not answer, as it waits for a request instead.
    pub frame: Vec<u8>,
    /// As in [`crate::Spec`].
    pub reseed: bool,
    /// As in [`crate::Spec`].
    pub last: Option<Vec<u8>>,
    /// As in [`crate::Spec`]; memory includes that of the base.
    pub limits: Limits,
    /// Bounds until the snapshot.
    pub loading: Loading,
}

/// Bounds on a program that is loaded into a base, until its snapshot; by default those of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loading {
    /// Guest memory in all, in bytes, while it is loaded and warmed up; never less than its requests may use.
    pub memory_bytes: u64,
    /// Guest memory that a request may use in any case, in bytes, whatever lies in the snapshot.
    pub request_bytes: u64,
    /// Longest time that it may have a CPU until it waits for its first request, in nanoseconds.
    pub cpu_ns: Option<u64>,
}

/// A snapshot of machine and kernel at the instant at which the program waits for a request. Immutable; forks run it.
#[derive(Debug)]
pub struct Program {
    pub(crate) id: u64,
    /// That of its file, once it has one.
    pub(crate) mark: OnceLock<u128>,
    pub(crate) machine: Arc<Snapshot>,
    pub(crate) kernel: KernelSnapshot,
    pub(crate) clock: ClockSource,
    /// A fork runs it once before it is used.
    pub(crate) sample: Option<Vec<u8>>,
    /// What it serves, if requests come to it as connections and not as frames.
    pub(crate) service: Option<Service>,
    /// Who makes its connections to the outside, if anybody.
    pub(crate) outside: Option<Arc<dyn Outside>>,
    /// Longest time that a request may have a CPU.
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) report: BootReport,
    /// The host's files that it was given, those of its base included.
    pub(crate) lent: Vec<Lent>,
}

/// A number that no other program has or had.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Program {
    /// Tells programs apart; never used twice.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How the boot went.
    pub fn report(&self) -> BootReport {
        self.report
    }

    /// Bytes of host memory that the snapshot itself takes, what it shares with its base not counted. To be asked on a thread without a
    /// filter.
    pub fn own_bytes(&self) -> mayfly_vmm::Result<u64> {
        self.machine.own_bytes()
    }

    /// A kernel for a fork.
    pub(crate) fn fresh_kernel(&self) -> Kernel {
        Kernel::from_snapshot(&self.kernel)
    }
}

/// Begins a request in an idle program. `messages`: it may say some to the host.
pub(crate) fn begin_request(
    running: &mut Running,
    clock: ClockSource,
    input: Vec<u8>,
    messages: bool,
) -> mayfly_vmm::Result<Action> {
    let request = to_request(clock, input, messages)?;
    Ok(running.kernel.begin_request(&mut running.guest, request))
}

/// Input with the time and the randomness of now.
pub(crate) fn to_request(clock: ClockSource, input: Vec<u8>, messages: bool) -> mayfly_vmm::Result<Request> {
    let seed = fresh_seed().map_err(|source| mayfly_vmm::Error::Host {
        attempt: "draw random bytes",
        source,
    })?;
    Ok(Request {
        clock: clock.now(),
        seed,
        input,
        messages,
    })
}
