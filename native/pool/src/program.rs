//! A program that was booted, warmed and snapshotted.

use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::kernel::{Kernel, Request, Snapshot as KernelSnapshot};
use mayfly_vmm::{Holdings, Host, Snapshot, monotonic_ns};

use crate::booting::{Booting, Ending, framed};
use crate::clock::{ClockSource, fresh_seed};
use crate::confined::{Shelf, on_vm_thread};
use crate::machine::Guest;
use crate::mount::{Mount, mount_all};
use crate::running::{Running, guest_limits};
use crate::spec::{BootError, Limits, Spec};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// As in [`Spec`].
    pub draws: bool,
    /// As in [`Spec`].
    pub last: Option<Vec<u8>>,
    /// As in [`Spec`]; memory includes that of the base.
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
    pub(crate) machine: Arc<Snapshot>,
    pub(crate) kernel: KernelSnapshot,
    pub(crate) clock: ClockSource,
    /// A fork runs it once before it is used.
    pub(crate) sample: Option<Vec<u8>>,
    /// Longest time that a request may have a CPU.
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) report: BootReport,
}

impl Program {
    /// Boots a program, runs the warm-up and takes the snapshot, all on a thread of its own. The thread opens the mounts and
    /// loads the program; before the program's first instruction it comes under a filter that lets it open nothing.
    pub fn boot(host: &Arc<Host>, spec: &Spec, warmup: &mut Warmup) -> Result<Program, BootError> {
        on_vm_thread("mayfly-boot", |shelf| {
            Program::boot_here(host, spec, warmup, shelf)
        })?
    }

    fn boot_here(
        host: &Arc<Host>,
        spec: &Spec,
        warmup: &mut Warmup,
        shelf: &Shelf,
    ) -> Result<Program, BootError> {
        let begin = monotonic_ns();
        let mut running = Running::start(host, spec, framed(&spec.limits), true)?;
        let kept = shelf.keep(Holdings::of_machine(running.guest.vm()));
        let clock = ClockSource::new(host, spec.clock_grain_ns)?;
        let mut booting = Booting::new(running, clock, &spec.limits, begin)?;
        booting.run_to_idle(Action::Resume, u64::MAX)?;
        let ending = Ending {
            draws: spec.draws,
            last: spec.last.as_deref(),
        };
        booting.finish(kept, &spec.limits, 0, ending, warmup)
    }

    /// Loads a program into a machine that continues from `base`, which waits for it, and goes on as [`Program::boot`] does. Pages
    /// that the program leaves as they are stay shared with all programs of the base.
    pub fn load(base: &Arc<Program>, load: &Load, warmup: &mut Warmup) -> Result<Program, BootError> {
        on_vm_thread("mayfly-boot", |shelf| {
            Program::load_here(base, load, warmup, shelf)
        })?
    }

    fn load_here(
        base: &Program,
        load: &Load,
        warmup: &mut Warmup,
        shelf: &Shelf,
    ) -> Result<Program, BootError> {
        let begin = monotonic_ns();
        let Loading {
            memory_bytes,
            request_bytes,
            cpu_ns,
        } = load.loading;
        let mut guest = Guest::new(base.machine.derive(memory_bytes.max(load.limits.memory_bytes))?);
        let mut kernel = base.fresh_kernel();
        let output = framed(&load.limits);
        kernel.adopt(guest_limits(output, &load.limits), output);
        mount_all(&load.mounts, guest.vm(), kernel.vfs_mut())?;
        let mut running = Running::new(guest, kernel);
        let kept = shelf.keep(Holdings::of_machine(running.guest.vm()));
        let mut booting = Booting::new(running, base.clock, &load.limits, begin)?;
        booting.load(load.frame.clone(), cpu_ns)?;
        let ending = Ending {
            draws: load.draws,
            last: load.last.as_deref(),
        };
        booting.finish(kept, &load.limits, request_bytes, ending, warmup)
    }

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

/// Begins a request in an idle program.
pub(crate) fn begin_request(
    running: &mut Running,
    clock: ClockSource,
    input: Vec<u8>,
) -> mayfly_vmm::Result<Action> {
    let request = to_request(clock, input)?;
    Ok(running.kernel.begin_request(&mut running.guest, request))
}

/// Input with the time and the randomness of now.
pub(crate) fn to_request(clock: ClockSource, input: Vec<u8>) -> mayfly_vmm::Result<Request> {
    let seed = fresh_seed().map_err(|source| mayfly_vmm::Error::Host {
        attempt: "draw random bytes",
        source,
    })?;
    Ok(Request {
        clock: clock.now(),
        seed,
        input,
    })
}
