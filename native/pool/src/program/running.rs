//! A program that runs: the loop between machine and personality.

use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::kernel::exec::Exec;
use mayfly_linux::kernel::{Config, Kernel};
use mayfly_linux::machine::Machine;
use mayfly_linux::syscall::number;
use mayfly_vmm::{Alarm, Error, Exit, Host, Vm};
use mayfly_wire::{EXCHANGE_BYTES, Head, Kind};

use crate::channel::Channel;
use crate::clock::{ClockSource, fresh_seed};
use crate::outside::Outgoing;
use crate::program::guest::Guest;
use crate::sched::scheduler;
use crate::sched::slice::TimeSlice;
use crate::spec::lent::Lent;
use crate::spec::mount::mount_all;
use crate::spec::{BootError, Limits, Spec};
use crate::wait::deadlines::Deadlines;
use crate::wait::event::Event;

/// Vector and error code of a fetch from a page that is not there.
const PAGE_FAULT: u8 = 14;
const FETCH_BY_USER: u64 = 0x14;

/// A called system call, told to the trace before it is answered: thread-independent number and arguments.
pub type Trace = fn(number: u64, arguments: [u64; 6], kernel: &Kernel);

/// A machine and the kernel that answers it.
#[derive(Debug)]
pub struct Running {
    /// The machine.
    pub guest: Guest,
    /// The personality.
    pub kernel: Kernel,
    /// Told every system call.
    pub trace: Option<Trace>,
    /// Times that the guest left ring 3.
    pub exits: u64,
    /// Times that it asked for random bytes.
    pub seedings: u64,
    pub(crate) slice: TimeSlice,
    /// Whether it stops at the end of each slice ([`Event::Slice`]).
    pub(crate) stops_at_slices: bool,
    /// What the request under way and the host say to each other.
    pub(crate) channel: Option<Arc<Channel>>,
    /// Its messages go through fd 0 and fd 1.
    pub(crate) hears: bool,
    /// Messages of the host that it was given.
    pub(crate) heard: u64,
    /// Its connections to the outside, if it may have any.
    pub(crate) outgoing: Option<Outgoing>,
    /// The host's files that a program has which boots.
    pub(crate) lent: Vec<Lent>,
}

impl Running {
    /// Makes a machine, mounts the files and loads the program. With `jump`, waiting costs no real time.
    pub fn start(
        host: &Arc<Host>,
        spec: &Spec,
        output: OutputMode,
        jump: bool,
    ) -> Result<Running, BootError> {
        let limits = guest_limits(output, &spec.limits);
        let clock = ClockSource::new(host, spec.clock_grain_ns)?.now();
        let seed = fresh_seed().map_err(|source| mayfly_vmm::Error::Host {
            attempt: "draw random bytes",
            source,
        })?;
        let mut kernel = Kernel::new(&Config {
            limits,
            output,
            clock,
            seed,
            jump_when_idle: jump,
        });
        let mut vm = Vm::new(host, spec.limits.memory_bytes)?;
        if spec.clock_grain_ns > 1 {
            vm.trap_counter();
        }
        let mut guest = Guest::new(vm);
        let mut lent = Vec::new();
        if let Some(path) = &spec.writable {
            kernel.vfs_mut().mount_writable(path);
        }
        mount_all(
            &spec.mounts,
            &spec.limits,
            guest.vm(),
            kernel.vfs_mut(),
            &mut lent,
        )?;
        if !spec.folder.is_empty() {
            // One that lies in a granted folder is there, or is not.
            if !kernel.vfs_mut().is_in_granted(&spec.folder) {
                kernel.vfs_mut().mount_directory(&spec.folder);
            }
            let ended = |e| BootError::Ended {
                what: format!("has no working directory: {e:?}"),
                log: String::new(),
            };
            kernel.set_folder(&spec.folder).map_err(ended)?;
        }
        let (hwcap, fsgsbase) = host.program_features();
        let exec = Exec {
            path: spec.path.clone(),
            arguments: spec.arguments.clone(),
            environment: spec.environment.clone(),
            hwcap: hwcap.into(),
            hwcap2: u64::from(fsgsbase) << 1,
        };
        kernel.exec(&mut guest, &exec).map_err(BootError::Exec)?;
        match guest.take_error() {
            Some(e) => Err(e.into()),
            None => Ok(Running {
                lent,
                ..Running::new(guest, kernel)
            }),
        }
    }

    /// A machine and its kernel, which are in the same state.
    pub(crate) fn new(guest: Guest, kernel: Kernel) -> Running {
        Running {
            guest,
            kernel,
            trace: None,
            exits: 0,
            seedings: 0,
            slice: TimeSlice::default(),
            stops_at_slices: false,
            channel: None,
            hears: true,
            heard: 0,
            outgoing: None,
            lent: Vec::new(),
        }
    }

    /// Does what `action` says and runs the program until the personality wants something of the host, or a deadline passes.
    pub fn run(
        &mut self,
        action: Action,
        alarm: &mut Alarm,
        deadlines: Deadlines,
    ) -> mayfly_vmm::Result<Event> {
        let mut action = action;
        if action != Action::Resume {
            return match self.guest.take_error() {
                Some(error) => Err(error),
                None => Ok(Event::Action(action)),
            };
        }
        // It also stops a program that keeps calling: the machine looks at the alarm before it enters.
        alarm.set(Some(match self.slice.is_long() {
            true => deadlines.next_check(),
            false => deadlines.first_check(),
        }))?;
        loop {
            if let Some(error) = self.guest.take_error() {
                return Err(error);
            }
            if action != Action::Resume {
                return Ok(Event::Action(action));
            }
            let exit = match self.guest.vm().run(alarm) {
                // A forged frame, or a kick that found it on its way there: the fault that a step further would bring.
                Err(Error::BadInstructionPointer { rip }) => {
                    action = self.kernel.fault(&mut self.guest, PAGE_FAULT, FETCH_BY_USER, rip);
                    continue;
                }
                exit => exit?,
            };
            self.exits += 1;
            action = match exit {
                Exit::Syscall => {
                    self.report_call();
                    self.kernel.syscall(&mut self.guest)
                }
                Exit::Exception(e) => self.kernel.fault(&mut self.guest, e.vector, e.error, e.address),
                Exit::Kicked => {
                    if let Some(event) = deadlines.passed() {
                        return Ok(event);
                    }
                    let next = match scheduler().check(&mut self.slice) {
                        true => deadlines.next_check(),
                        false => deadlines.first_check(),
                    };
                    alarm.set(Some(next))?;
                    if self
                        .channel
                        .as_ref()
                        .is_some_and(|channel| channel.is_called_off())
                    {
                        return Ok(Event::CalledOff);
                    }
                    self.hear();
                    let next = self.kernel.preempt(&mut self.guest);
                    if self.stops_at_slices && next == Action::Resume {
                        return Ok(Event::Slice);
                    }
                    next
                }
            };
        }
    }

    /// Gives the program what the host said, once it has read all that it was given before; true when there was something.
    pub(crate) fn hear(&mut self) -> bool {
        let Some(channel) = self
            .channel
            .as_ref()
            .filter(|_| self.hears && self.kernel.unread() == 0)
        else {
            return false;
        };
        let Some((messages, count)) = channel.take() else {
            return false;
        };
        self.heard += u64::from(count);
        self.kernel.push_input(messages);
        true
    }

    /// Moves what there is between the program and the outside; true when there is something new for the program.
    pub(crate) fn sync_outside(&mut self) -> bool {
        match &mut self.outgoing {
            Some(outgoing) => outgoing.sync(&mut self.kernel),
            None => false,
        }
    }

    /// Whether what comes from the outside does not matter to the program now.
    pub(crate) fn set_deaf(&self, deaf: bool) {
        if let Some(outgoing) = &self.outgoing {
            outgoing.bell().set_deaf(deaf);
        }
    }

    /// Whether something may come from the outside.
    pub(crate) fn hears_outside(&self) -> bool {
        self.outgoing.as_ref().is_some_and(Outgoing::is_live)
    }

    /// Drops what the program said, and tells it that nobody hears it.
    pub(crate) fn refuse_messages(&mut self) {
        drop(self.kernel.take_said());
        self.kernel.forget_said();
        if self.kernel.unread() == 0 {
            self.kernel.push_input(closed_notice());
        }
    }

    fn report_call(&mut self) {
        let r = self.guest.registers();
        self.seedings += u64::from(r.rax == number::getrandom);
        if let Some(trace) = self.trace {
            trace(r.rax, [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9], &self.kernel);
        }
    }
}

/// The message of exchange 0 that the host's side of a channel is closed.
fn closed_notice() -> Vec<u8> {
    const NOTICE: &[u8] = br#"{"closed":true}"#;
    let head = Head {
        kind: Kind::Message,
        header_bytes: EXCHANGE_BYTES + NOTICE.len() as u32,
        body_bytes: 0,
    };
    [&head.encode()[..], &[0; EXCHANGE_BYTES as usize], NOTICE].concat()
}

/// The personality's bounds.
pub(crate) fn guest_limits(output: OutputMode, limits: &Limits) -> mayfly_linux::limits::Limits {
    mayfly_linux::limits::Limits {
        output_bytes: match output {
            OutputMode::Stream => limits.output_bytes as usize,
            OutputMode::Framed(frames) => frames.frame_bytes(),
        },
        log_bytes: limits.log_bytes,
        descriptors: limits.descriptors,
        sockets: limits.sockets,
        threads: limits.threads,
        mappings: limits.mappings,
        ..Default::default()
    }
}
