//! A program that was booted, warmed and snapshotted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mayfly_linux::action::Action;
use mayfly_linux::kernel::{Kernel, Request, Snapshot as KernelSnapshot};
use mayfly_linux::stdio::OutputMode;
use mayfly_vmm::{Alarm, Holdings, Host, Snapshot, monotonic_ns, thread_cpu_ns};
use mayfly_wire::{HEADER_MAX, Head, Kind, Limits as FrameLimits};

use crate::clock::{ClockSource, fresh_seed};
use crate::confined::{Shelf, confine_vm_thread, on_vm_thread};
use crate::deadlines::Deadlines;
use crate::running::{Event, Running};
use crate::spec::{BootError, Spec};

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

/// A snapshot of machine and kernel at the instant at which the program waits for a request. Immutable; forks run it.
#[derive(Debug)]
pub struct Program {
    id: u64,
    pub(crate) machine: Arc<Snapshot>,
    pub(crate) kernel: KernelSnapshot,
    pub(crate) clock: ClockSource,
    /// A fork runs it once before it is used.
    pub(crate) sample: Option<Vec<u8>>,
    /// Longest time that a request may have a CPU.
    pub(crate) cpu_ns: Option<u64>,
    report: BootReport,
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
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let begin = monotonic_ns();
        let deadline = begin.saturating_add(spec.limits.boot_ns);
        let frames = FrameLimits {
            header: HEADER_MAX,
            body: spec.limits.output_bytes,
        };
        let mut running = Running::start(host, spec, OutputMode::Framed(frames), true)?;
        let kept = shelf.keep(Holdings::of_machine(running.guest.vm()));
        let mut alarm = Alarm::new()?;
        let clock = ClockSource::new(host, spec.clock_grain_ns)?;
        confine_vm_thread(true)?;
        run_to_idle(&mut running, Action::Resume, &mut alarm, deadline)?;
        let mut ask = |running: &mut Running, frame, timeout_ns| {
            let action = begin_request(running, clock, frame)?;
            let deadline = deadline.min(monotonic_ns().saturating_add(timeout_ns));
            let answer = run_to_idle(running, action, &mut alarm, deadline)?;
            answer.ok_or_else(|| ended(running, "waits again without an answer"))
        };
        let booted = monotonic_ns();
        let mut report = BootReport {
            boot_ns: booted - begin,
            ..Default::default()
        };
        let mut sample = None;
        let mut last: Option<(Vec<u8>, u64)> = None;
        while let Some(request) = warmup(last.as_ref().map(|(answer, ns)| (&answer[..], *ns))) {
            if request.rehearsed {
                sample = Some(request.frame.clone());
            }
            // A neighbour on this core must not make the warm-up shorter.
            let start = thread_cpu_ns();
            let answer = ask(&mut running, request.frame, request.timeout_ns)?;
            last = Some((answer, thread_cpu_ns() - start));
            report.warmup_requests += 1;
        }
        if spec.draws {
            draw_to_seed(&mut running, &mut ask)?;
        }
        report.warmup_ns = monotonic_ns() - booted;
        report.exits = running.exits;
        let Running {
            guest, mut kernel, ..
        } = running;
        drop(kernel.take_log());
        kernel.take_log_dropped();
        kernel.limit_calls(spec.limits.calls);
        let kernel = kernel.snapshot();
        drop(kept);
        let machine = Arc::new(guest.into_vm().snapshot(spec.limits.memory_bytes)?);
        report.memory_bytes = machine.used_bytes();
        Ok(Program {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            machine,
            kernel,
            clock,
            sample,
            cpu_ns: spec.limits.cpu_ns,
            report,
        })
    }

    /// Tells programs apart; never used twice.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How the boot went.
    pub fn report(&self) -> BootReport {
        self.report
    }

    /// A kernel for a fork.
    pub(crate) fn fresh_kernel(&self) -> Kernel {
        Kernel::from_snapshot(&self.kernel)
    }
}

/// Words that a generator gives for one seed. (`rand`'s ThreadRng, behind Deno's `crypto`: 64 KiB.)
const WORDS_PER_SEED: u64 = 16384;
/// Words that it makes at a time.
const WORDS_PER_BLOCK: u64 = 64;

/// Draws random numbers until the program's generator has none left: the next one asks the kernel for a seed. First block by
/// block to find a seeding, then to just before the next one, then word by word over it, for the block's edge is not known; then
/// to the last word.
fn draw_to_seed(
    running: &mut Running,
    ask: &mut impl FnMut(&mut Running, Vec<u8>, u64) -> Result<Vec<u8>, BootError>,
) -> Result<(), BootError> {
    let mut draw = |running: &mut Running, count: u64| {
        let before = running.seedings;
        let header = format!("{{\"control\":\"draw\",\"count\":{count}}}");
        let head = Head {
            kind: Kind::Request,
            header_bytes: header.len() as u32,
            body_bytes: 0,
        };
        ask(
            running,
            [&head.encode()[..], header.as_bytes()].concat(),
            u64::MAX,
        )?;
        Ok::<bool, BootError>(running.seedings > before)
    };
    let steps = [
        (WORDS_PER_BLOCK, WORDS_PER_SEED / WORDS_PER_BLOCK + 1),
        (1, WORDS_PER_BLOCK + 1),
    ];
    for (i, (count, most)) in steps.into_iter().enumerate() {
        let mut seeded = false;
        for _ in 0..most {
            seeded = draw(running, count)?;
            if seeded {
                break;
            }
        }
        if !seeded {
            return Err(ended(
                running,
                "draws random numbers and never asks for a fresh seed",
            ));
        }
        let rest = if i == 0 {
            WORDS_PER_SEED - WORDS_PER_BLOCK
        } else {
            WORDS_PER_SEED - 1
        };
        draw(running, rest)?;
    }
    Ok(())
}

/// Begins a request in an idle program.
pub(crate) fn begin_request(
    running: &mut Running,
    clock: ClockSource,
    input: Vec<u8>,
) -> mayfly_vmm::Result<Action> {
    let seed = fresh_seed().map_err(|source| mayfly_vmm::Error::Host {
        attempt: "draw random bytes",
        source,
    })?;
    let request = Request {
        clock: clock.now(),
        seed,
        input,
    };
    Ok(running.kernel.begin_request(&mut running.guest, request))
}

/// Runs until all threads wait and one of them for input; gives the last frame that came on the way.
fn run_to_idle(
    running: &mut Running,
    action: Action,
    alarm: &mut Alarm,
    deadline: u64,
) -> Result<Option<Vec<u8>>, BootError> {
    let (mut action, mut answer) = (action, None);
    loop {
        let what = match running.run(action, alarm, Deadlines::at(deadline))? {
            Event::Action(Action::Idle { .. }) => return Ok(answer),
            Event::Action(Action::Frame) => {
                answer = Some(running.kernel.take_output());
                action = Action::Resume;
                continue;
            }
            Event::Action(Action::Stop(stop)) => format!("ended: {stop:?}"),
            Event::Action(Action::Deadlock) => "has only threads that wait for each other".into(),
            Event::Action(other) => format!("did {other:?}"),
            Event::Deadline | Event::CpuDeadline => "took too long".into(),
        };
        return Err(ended(running, &what));
    }
}

fn ended(running: &mut Running, what: &str) -> BootError {
    let log = String::from_utf8_lossy(&running.kernel.take_log()).into_owned();
    BootError::Ended {
        what: what.into(),
        log,
    }
}
