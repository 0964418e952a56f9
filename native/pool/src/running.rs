//! A program that runs: the loop between machine and personality.

use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::calls::number;
use mayfly_linux::exec::Exec;
use mayfly_linux::kernel::{Config, Kernel};
use mayfly_linux::machine::Machine;
use mayfly_linux::stdio::OutputMode;
use mayfly_vmm::{Alarm, Exit, Host, Vm, monotonic_ns};

use crate::clock::{ClockSource, fresh_seed};
use crate::machine::Guest;
use crate::mount::mount_all;
use crate::spec::{BootError, Spec};

/// Guest threads that do not wait for each other's calls get turns of this length.
const TURN_NS: u64 = 5_000_000;

/// Why the loop stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The personality wants something of the host. Never [`Action::Resume`].
    Action(Action),
    /// The deadline passed. The program may go on.
    Deadline,
}

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
}

impl Running {
    /// Makes a machine, mounts the files and loads the program. With `jump`, waiting costs no real time.
    pub fn start(
        host: &Arc<Host>,
        spec: &Spec,
        output: OutputMode,
        jump: bool,
    ) -> Result<Running, BootError> {
        let limits = mayfly_linux::limits::Limits {
            output_bytes: output_bytes(output, spec),
            log_bytes: spec.limits.log_bytes,
            ..Default::default()
        };
        let clock = ClockSource::new(host)?.now();
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
        let mut guest = Guest::new(Vm::new(host, spec.limits.memory_bytes)?);
        mount_all(&spec.mounts, guest.vm(), kernel.vfs_mut())?;
        if let Some(path) = &spec.writable {
            kernel.vfs_mut().mount_writable(path);
        }
        if !spec.folder.is_empty() {
            kernel.vfs_mut().mount_directory(&spec.folder);
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
                guest,
                kernel,
                trace: None,
                exits: 0,
                seedings: 0,
            }),
        }
    }

    /// Does what `action` says and runs the program until the personality wants something of the host, or the deadline
    /// ([`monotonic_ns`]) passes.
    pub fn run(&mut self, action: Action, alarm: &mut Alarm, deadline: u64) -> mayfly_vmm::Result<Event> {
        let mut action = action;
        set_turn(alarm, deadline)?;
        loop {
            if let Some(error) = self.guest.take_error() {
                return Err(error);
            }
            if action != Action::Resume {
                return Ok(Event::Action(action));
            }
            let exit = self.guest.vm().run(alarm)?;
            self.exits += 1;
            action = match exit {
                Exit::Syscall => {
                    self.tell();
                    self.kernel.syscall(&mut self.guest)
                }
                Exit::Exception(e) => self.kernel.fault(&mut self.guest, e.vector, e.error, e.address),
                Exit::Kicked => {
                    if monotonic_ns() >= deadline {
                        return Ok(Event::Deadline);
                    }
                    set_turn(alarm, deadline)?;
                    self.kernel.preempt(&mut self.guest)
                }
            };
        }
    }

    fn tell(&mut self) {
        let r = self.guest.registers();
        self.seedings += u64::from(r.rax == number::getrandom);
        if let Some(trace) = self.trace {
            trace(r.rax, [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9], &self.kernel);
        }
    }
}

/// Sets the alarm to the end of a turn or to the deadline. It also stops a program that keeps calling: the machine looks at it
/// before it enters.
fn set_turn(alarm: &mut Alarm, deadline: u64) -> mayfly_vmm::Result<()> {
    alarm.set(Some(deadline.min(monotonic_ns().saturating_add(TURN_NS))))
}

fn output_bytes(output: OutputMode, spec: &Spec) -> usize {
    match output {
        OutputMode::Stream => spec.limits.output_bytes as usize,
        OutputMode::Framed(limits) => limits.frame_bytes(),
    }
}
