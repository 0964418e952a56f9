//! A program on its way to its snapshot.

use std::sync::{Arc, OnceLock};

use mayfly_linux::action::Action;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_vmm::{Alarm, Host, HostResources, monotonic_ns, thread_cpu_ns};
use mayfly_wire::{HEADER_MAX, Head, Kind, Limits as FrameLimits};

use crate::clock::ClockSource;
use crate::confined::{Listed, ResourceLists, confine_vm_thread, on_vm_thread};
use crate::program::guest::Guest;
use crate::program::running::{Running, guest_limits};
use crate::program::traces::Traces;
use crate::program::{BootReport, Load, Loading, Program, Warmup, begin_request, next_id, to_request};
use crate::sched::{Pieces, scheduler};
use crate::spec::mount::mount_all;
use crate::spec::{BootError, Limits, Spec};
use crate::wait::deadlines::Deadlines;
use crate::wait::event::Event;

/// Words that a generator gives for one seed. (`rand`'s ThreadRng, behind Deno's `crypto`: 64 KiB.)
const WORDS_PER_SEED: u64 = 16384;
/// Words that it makes at a time.
const WORDS_PER_BLOCK: u64 = 64;

/// How the output of a program that answers requests is judged.
pub(crate) fn framed(limits: &Limits) -> OutputMode {
    OutputMode::Framed(FrameLimits {
        header: HEADER_MAX,
        body: limits.output_bytes,
    })
}

/// What is done behind the warm-up.
pub(crate) struct Ending<'a> {
    pub reseed: bool,
    pub last: Option<&'a [u8]>,
}

impl Program {
    /// Boots a program, runs the warm-up and takes the snapshot, all on a thread of its own. The thread opens the mounts and
    /// loads the program; before the program's first instruction it comes under a filter that lets it open nothing.
    pub fn boot(host: &Arc<Host>, spec: &Spec, warmup: &mut Warmup) -> Result<Program, BootError> {
        on_vm_thread("mayfly-boot", |resources| {
            Program::boot_here(host, spec, warmup, resources)
        })?
    }

    fn boot_here(
        host: &Arc<Host>,
        spec: &Spec,
        warmup: &mut Warmup,
        resources: &ResourceLists,
    ) -> Result<Program, BootError> {
        let begin = monotonic_ns();
        let mut running = Running::start(host, spec, framed(&spec.limits), true)?;
        let listed = resources.list(HostResources::of_machine(running.guest.vm()));
        let clock = ClockSource::new(host, spec.clock_grain_ns)?;
        let mut booting = Booting::new(running, clock, &spec.limits, begin)?;
        booting.run_to_idle(Action::Resume, u64::MAX)?;
        let ending = Ending {
            reseed: spec.reseed,
            last: spec.last.as_deref(),
        };
        booting.finish(listed, &spec.limits, 0, ending, warmup)
    }

    /// Loads a program into a machine that continues from `base`, which waits for it, and goes on as [`Program::boot`] does. Pages
    /// that the program leaves as they are stay shared with all programs of the base.
    pub fn load(base: &Arc<Program>, load: &Load, warmup: &mut Warmup) -> Result<Program, BootError> {
        on_vm_thread("mayfly-boot", |resources| {
            Program::load_here(base, load, warmup, resources)
        })?
    }

    fn load_here(
        base: &Program,
        load: &Load,
        warmup: &mut Warmup,
        resources: &ResourceLists,
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
        let mut lent = base.lent.clone();
        mount_all(
            &load.mounts,
            &load.limits,
            guest.vm(),
            kernel.vfs_mut(),
            &mut lent,
        )?;
        let mut running = Running {
            lent,
            ..Running::new(guest, kernel)
        };
        let listed = resources.list(HostResources::of_machine(running.guest.vm()));
        let mut booting = Booting::new(running, base.clock, &load.limits, begin)?;
        booting.load(load.frame.clone(), cpu_ns)?;
        let ending = Ending {
            reseed: load.reseed,
            last: load.last.as_deref(),
        };
        booting.finish(listed, &load.limits, request_bytes, ending, warmup)
    }
}

/// A machine whose program is not there yet, on a thread that is under its filter from now on.
pub(crate) struct Booting {
    pub(super) running: Running,
    pub(super) alarm: Alarm,
    pub(super) clock: ClockSource,
    begin: u64,
    pub(super) deadline: u64,
    /// Requests of the warm-up: whoever wakes up meanwhile must not wait for a whole slice of this thread.
    pieces: Pieces,
}

impl Booting {
    pub fn new(
        running: Running,
        clock: ClockSource,
        limits: &Limits,
        begin: u64,
    ) -> Result<Booting, BootError> {
        let alarm = Alarm::new()?;
        confine_vm_thread(true)?;
        Ok(Booting {
            running,
            alarm,
            clock,
            begin,
            deadline: begin.saturating_add(limits.boot_ns),
            pieces: Pieces::begin(),
        })
    }

    /// Lets the program read its load frame and run until it waits for a request.
    pub fn load(&mut self, frame: Vec<u8>, cpu_ns: Option<u64>) -> Result<(), BootError> {
        let request = to_request(self.clock, frame, true)?;
        let running = &mut self.running;
        let action = running.kernel.begin_load(&mut running.guest, request);
        let deadlines = Deadlines::with_cpu(self.deadline, cpu_ns);
        match self.run_until(action, deadlines)? {
            None => Ok(()),
            Some(_) => Err(self.ended("answers what tells it to load a program")),
        }
    }

    /// Warms the program up and takes its snapshot. A request may use `request_bytes` of memory beyond what is used then, if that is
    /// more than the limits say.
    pub fn finish(
        mut self,
        listed: Listed<'_>,
        limits: &Limits,
        request_bytes: u64,
        ending: Ending<'_>,
        warmup: &mut Warmup,
    ) -> Result<Program, BootError> {
        let booted = monotonic_ns();
        let mut report = BootReport {
            boot_ns: booted - self.begin,
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
            let answer = self.ask(request.frame, request.timeout_ns)?;
            last = Some((answer, thread_cpu_ns() - start));
            report.warmup_requests += 1;
        }
        if ending.reseed {
            self.reseed()?;
        }
        if let Some(frame) = ending.last {
            self.ask(frame.to_vec(), u64::MAX)?;
        }
        report.warmup_ns = monotonic_ns() - booted;
        let mut program = self.take_snapshot(listed, limits, request_bytes, report)?;
        program.sample = sample;
        Ok(program)
    }

    /// Takes the snapshot of a program that is ready, and has no sample yet.
    pub fn take_snapshot(
        self,
        listed: Listed<'_>,
        limits: &Limits,
        request_bytes: u64,
        mut report: BootReport,
    ) -> Result<Program, BootError> {
        report.exits = self.running.exits;
        let Running {
            guest,
            mut kernel,
            lent,
            ..
        } = self.running;
        drop(kernel.take_log());
        kernel.take_log_dropped();
        kernel.limit_calls(limits.calls);
        let kernel = kernel.snapshot();
        drop(listed);
        let vm = guest.into_vm();
        let least = vm.space_ref().used_bytes().saturating_add(request_bytes);
        let machine = Arc::new(vm.snapshot(limits.memory_bytes.max(least))?);
        report.memory_bytes = machine.used_bytes();
        Ok(Program {
            id: next_id(),
            mark: OnceLock::new(),
            machine,
            kernel,
            lent,
            clock: self.clock,
            sample: None,
            service: None,
            outside: None,
            cpu_ns: limits.cpu_ns,
            report,
        })
    }

    fn ask(&mut self, frame: Vec<u8>, timeout_ns: u64) -> Result<Vec<u8>, BootError> {
        let action = begin_request(&mut self.running, self.clock, frame, true)?;
        let answer = self.run_to_idle(action, timeout_ns)?;
        self.pieces.end_piece(scheduler());
        answer.ok_or_else(|| self.ended("waits again without an answer"))
    }

    /// Runs until all threads wait and one of them for input; gives the last frame that came on the way.
    pub fn run_to_idle(&mut self, action: Action, timeout_ns: u64) -> Result<Option<Vec<u8>>, BootError> {
        let deadline = self.deadline.min(monotonic_ns().saturating_add(timeout_ns));
        self.run_until(action, Deadlines::at(deadline))
    }

    fn run_until(&mut self, action: Action, deadlines: Deadlines) -> Result<Option<Vec<u8>>, BootError> {
        let (mut action, mut answer) = (action, None);
        loop {
            let event = self.running.run(action, &mut self.alarm, deadlines)?;
            let what = match event {
                // It says something and waits, by one call.
                Event::Action(Action::Idle { .. }) if self.running.kernel.has_said() => {
                    self.running.refuse_messages();
                    action = self.running.kernel.run(&mut self.running.guest);
                    continue;
                }
                Event::Action(Action::Idle { .. }) => return Ok(answer),
                Event::Action(Action::Frame) => {
                    answer = Some(self.running.kernel.take_output());
                    action = Action::Resume;
                    continue;
                }
                Event::Action(Action::Said) => {
                    self.running.refuse_messages();
                    action = Action::Resume;
                    continue;
                }
                Event::Slice => {
                    action = Action::Resume;
                    continue;
                }
                Event::Action(Action::Stop(stop)) => format!("ended: {stop:?}"),
                Event::Action(Action::Deadlock) => "has only threads that wait for each other".into(),
                Event::Action(other) => format!("did {other:?}"),
                Event::Deadline => "took too long".into(),
                Event::CpuDeadline => "worked too long".into(),
                Event::CalledOff => "was called off".into(),
            };
            return Err(self.ended(&what));
        }
    }

    pub(super) fn ended(&mut self, what: &str) -> BootError {
        let traces = Traces::take(&mut self.running.kernel);
        let wanted = match traces.wanted_processes() {
            true => ", after it asked for another process, and a machine has one",
            false => "",
        };
        BootError::Ended {
            what: format!("{what}{wanted}"),
            log: String::from_utf8_lossy(&traces.log).into_owned(),
        }
    }

    /// Draws random numbers until the program's generator has none left: the next one asks the kernel for a seed. First block by
    /// block to find a seeding, then to just before the next one, then word by word over it, for the block's edge is not known; then
    /// to the last word.
    fn reseed(&mut self) -> Result<(), BootError> {
        let steps = [
            (WORDS_PER_BLOCK, WORDS_PER_SEED / WORDS_PER_BLOCK + 1),
            (1, WORDS_PER_BLOCK + 1),
        ];
        for (i, (count, most)) in steps.into_iter().enumerate() {
            let mut seeded = false;
            for _ in 0..most {
                seeded = self.draw(count)?;
                if seeded {
                    break;
                }
            }
            if !seeded {
                return Err(self.ended("draws random numbers and never asks for a fresh seed"));
            }
            let rest = if i == 0 {
                WORDS_PER_SEED - WORDS_PER_BLOCK
            } else {
                WORDS_PER_SEED - 1
            };
            self.draw(rest)?;
        }
        Ok(())
    }

    /// Whether the program asked for a seed on the way.
    fn draw(&mut self, count: u64) -> Result<bool, BootError> {
        let before = self.running.seedings;
        let header = format!("{{\"control\":\"draw\",\"count\":{count}}}");
        let head = Head {
            kind: Kind::Request,
            header_bytes: header.len() as u32,
            body_bytes: 0,
        };
        self.ask([&head.encode()[..], header.as_bytes()].concat(), u64::MAX)?;
        Ok(self.running.seedings > before)
    }
}
