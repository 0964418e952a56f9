//! The kernel: all state of one guest, and the ways in from the machine's exits.
//!
//! The state is plain data. [`Kernel::snapshot`] is a clone; [`Kernel::restore`] copies back the parts that were touched since.

pub mod answer;
mod audit;
mod delivery;
pub mod denials;
pub mod exec;
mod held;
mod restore;
mod schedule;
mod serving;
mod stored;
mod timers;

use std::sync::Arc;

use crate::action::{Action, Stop};
use crate::clock::{Clock, ClockBase, START};
use crate::errno::Errno;
use crate::fs::files::Files;
use crate::fs::stdio::{OutputMode, Stdio, StdioLimits};
use crate::fs::vfs::{ROOT, Vfs};
use crate::kernel::answer::Answer;
use crate::kernel::denials::{Denial, Denials};
use crate::limits::{Limit, Limits, Statistics};
use crate::machine::{Machine, Registers, USER_START};
use crate::mem::space::{Access, AddressSpace, FaultError, SpaceLimits};
use crate::net::permits::Permits;
use crate::state::random::Random;
use crate::state::tracked::{Slab, Tracked};
use crate::syscall::Call;
use crate::task::process::{PID, Process};
use crate::task::signal::{Disposition, Info, Pending, SIGNALS, number};
use crate::task::threads::Thread;

pub use restore::Snapshot;
pub use stored::Fresh;

/// How to make a [`Kernel`].
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Bounds on the guest.
    pub limits: Limits,
    /// How its output is judged.
    pub output: OutputMode,
    /// Where its clocks start.
    pub clock: ClockBase,
    /// Seed of its randomness until the first request.
    pub seed: [u8; 32],
    /// Whether the monotonic clock jumps to the next deadline when all threads wait, or real time must pass.
    pub jump_when_idle: bool,
}

/// A request that begins in an idle guest.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where the clocks stand now.
    pub clock: ClockBase,
    /// Fresh bytes from the host's generator.
    pub seed: [u8; 32],
    /// What the guest reads on fd 0.
    pub input: Vec<u8>,
    /// Whether host and guest may say messages to each other until the answer.
    pub messages: bool,
}

/// All state of one guest.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) limits: Limits,
    pub(crate) space: Tracked<AddressSpace>,
    pub(crate) threads: Slab<Thread>,
    /// Slot of the thread that runs, or ran last.
    pub(crate) current: usize,
    /// Thread whose FS base, GS base and vector state the machine holds.
    pub(crate) loaded: i32,
    pub(crate) files: Files,
    pub(crate) vfs: Vfs,
    pub(crate) process: Tracked<Process>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) jump_when_idle: bool,
    /// A request was given and its frame has not come yet.
    pub(crate) in_flight: bool,
    /// It has said a message to the host.
    pub(crate) said: bool,
    /// Monotonic time at which all threads began to wait.
    pub(crate) paused: u64,
    calls_left: u64,
    /// Bytes of the host that the call under way may still take.
    pub(crate) room: u64,
    /// Bytes of the host for what threads wait for.
    pub(crate) waiting: u64,
    /// The last fault served without a change, and how often in a row: a machine that disagrees with the mappings must not loop.
    last_fault: (u64, u64, u32),
    denials: Denials,
    /// Who lets it connect to the outside; nobody at first.
    pub(crate) permits: Option<Arc<dyn Permits>>,
    /// Most bytes of the host that the tables took since [`Kernel::take_most_held`].
    most_held: u64,
    /// Counts for the host.
    pub statistics: Statistics,
}

impl Kernel {
    /// A kernel without a program.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let limits = config.limits;
        let space = AddressSpace::new(SpaceLimits::of(&limits));
        let unlimited = [u64::MAX; 2];
        let mut resources = [unlimited; 16];
        resources[3] = [crate::mem::space::STACK_BYTES, u64::MAX];
        resources[4] = [0, u64::MAX];
        resources[7] = [limits.descriptors as u64; 2];
        resources[8] = [8 << 20; 2];
        resources[13] = [0; 2];
        resources[14] = [0; 2];
        let mut vfs = Vfs::new(limits.file_bytes, limits.file_nodes);
        vfs.hold(ROOT);
        let mut threads = Slab::default();
        threads.insert(Thread::new(PID, Registers::default()));
        let mut files = Files::new(
            limits.descriptors,
            limits.held_bytes,
            Stdio::new(config.output, StdioLimits::of(&limits)),
        );
        files.set_socket_limit(limits.sockets);
        Self {
            limits,
            space: Tracked::new(space),
            threads,
            current: 0,
            loaded: PID,
            files,
            vfs,
            process: Tracked::new(Process {
                executable: Vec::new(),
                command_line: Vec::new(),
                auxiliary: Vec::new(),
                folder: ROOT,
                below: Vec::new(),
                umask: 0o022,
                dispositions: vec![Disposition::default(); SIGNALS as usize],
                pending: Pending::default(),
                alarms: [None; 3],
                timers: Vec::new(),
                next_timer: 0,
                next_tid: PID + 1,
                resources,
                dumpable: 1,
            }),
            clock: Clock::new(config.clock, START),
            random: Random::from_seed(config.seed),
            jump_when_idle: config.jump_when_idle,
            in_flight: false,
            said: false,
            paused: START,
            calls_left: limits.calls,
            room: u64::MAX,
            waiting: 0,
            last_fault: (0, 0, 0),
            denials: Denials::default(),
            permits: None,
            most_held: 0,
            statistics: Statistics::default(),
        }
    }

    /// The file system, to mount files before the program starts.
    pub fn vfs_mut(&mut self) -> &mut Vfs {
        &mut self.vfs
    }

    /// Sets the working directory, which must be mounted.
    ///
    /// # Errors
    /// As path resolution has them.
    pub fn set_folder(&mut self, path: &str) -> Result<(), Errno> {
        let found = self.vfs.resolve(ROOT, path.as_bytes(), true)?;
        let (folder, below) = match found.granted {
            Some(below) => {
                let place = self.real_place(below)?;
                (place.node, place.path)
            }
            None => {
                let node = found.node.filter(|&node| self.vfs.is_directory(node));
                (node.ok_or(Errno::ENOENT)?, Vec::new())
            }
        };
        self.vfs.hold(folder);
        self.process.below = below;
        let old = std::mem::replace(&mut self.process.folder, folder);
        self.vfs.release(old);
        Ok(())
    }

    /// Bounds the system calls of each request from the next one on, in place of [`Limits::calls`].
    pub fn limit_calls(&mut self, calls: u64) {
        self.limits.calls = calls;
    }

    /// Gives a program that was loaded into a running guest bounds of its own, in place of those that the guest started with. What it
    /// holds already stays. System calls are unbounded until [`Kernel::limit_calls`].
    pub fn adopt(&mut self, limits: Limits, output: OutputMode) {
        self.limits = limits;
        self.space.set_limits(SpaceLimits::of(&limits));
        self.files.set_limits(limits.descriptors, limits.held_bytes);
        self.files.set_socket_limit(limits.sockets);
        self.files.stdio.set_limits(output, StdioLimits::of(&limits));
        self.vfs.set_limits(limits.file_bytes, limits.file_nodes);
        self.process.resources[7] = [limits.descriptors as u64; 2];
    }

    /// Begins a request: clocks and randomness are set anew, the input is there to be read, and a thread runs.
    pub fn begin_request<M: Machine>(&mut self, m: &mut M, request: Request) -> Action {
        self.in_flight = true;
        self.said = false;
        self.begin(m, request)
    }

    /// As [`Kernel::begin_request`], for input that no frame answers: the guest waits for more when it is done with it.
    pub fn begin_load<M: Machine>(&mut self, m: &mut M, request: Request) -> Action {
        self.begin(m, request)
    }

    fn begin<M: Machine>(&mut self, m: &mut M, request: Request) -> Action {
        self.clock = self.clock.rebased(request.clock, self.paused);
        self.random = Random::from_seed(request.seed);
        self.calls_left = self.limits.calls;
        self.denials.take();
        self.write_clock_page(m);
        self.drop_messages();
        if self.files.stdio.messages != request.messages {
            self.files.stdio.messages = request.messages;
        }
        self.files.push_input(request.input);
        self.schedule(m)
    }

    /// Takes the messages that the guest said, whole frames back to back.
    pub fn take_said(&mut self) -> Vec<u8> {
        self.files.stdio.take_said()
    }

    /// Whether messages of the guest wait for the host.
    #[must_use]
    pub fn has_said(&self) -> bool {
        self.files.stdio.has_said()
    }

    /// Lets the clock jump again while all threads wait: nobody answers what was said.
    pub fn forget_said(&mut self) {
        self.said = false;
    }

    /// Bytes on fd 0 that the guest has not read.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.files.stdio.unread()
    }

    /// Drops the messages that the program has not read: they end with their request.
    pub(crate) fn drop_messages(&mut self) {
        if self.files.stdio.messages && self.files.stdio.unread() > 0 {
            self.files.stdio.drop_input();
        }
    }

    /// Adds bytes to fd 0; [`Kernel::run`] lets a thread read them.
    pub fn push_input(&mut self, bytes: Vec<u8>) {
        self.files.push_input(bytes);
    }

    /// Ends fd 0.
    pub fn end_input(&mut self) {
        self.files.end_input();
    }

    /// Takes the bytes (or the frame) on fd 1.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.files.stdio.take_output()
    }

    /// Takes the bytes on fd 2.
    pub fn take_log(&mut self) -> Vec<u8> {
        self.files.stdio.take_log()
    }

    /// Takes the count of bytes on fd 2 that were over the limit and dropped.
    pub fn take_log_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.files.stdio.log_dropped)
    }

    /// Takes what the guest was refused since the request began.
    pub fn take_denials(&mut self) -> Vec<Denial> {
        self.denials.take()
    }

    /// Monotonic time now.
    pub(crate) fn now(&self, m: &mut impl Machine) -> u64 {
        self.clock.monotonic(m.ticks())
    }

    /// Nanoseconds that the guest ran.
    pub(crate) fn processor_time(&self, m: &mut impl Machine) -> u64 {
        self.clock.processor(m.ticks())
    }

    pub(crate) fn write_clock_page(&self, m: &mut impl Machine) {
        // A program without a vDSO has no such page.
        let written = m.write_protected(crate::image::vdso::CLOCK_PAGE, &self.clock.page());
        debug_assert!(written.is_ok() || self.space.tree.find(crate::image::vdso::CLOCK_PAGE).is_none());
    }

    pub(crate) fn thread(&self) -> Option<&Thread> {
        self.threads.get(self.current)
    }

    pub(crate) fn thread_mut(&mut self) -> Option<&mut Thread> {
        self.threads.get_mut(self.current)
    }

    /// Answers the system call that the running thread makes.
    pub fn syscall<M: Machine>(&mut self, m: &mut M) -> Action {
        let instruction = m.registers().rip.wrapping_sub(2);
        if self.is_unfinished(m, instruction) {
            return self.go_on(m);
        }
        self.statistics.calls += 1;
        // A call may have taken the page away again: the next fault there is no repetition.
        self.last_fault = (0, 0, 0);
        match self.calls_left.checked_sub(1) {
            Some(left) => self.calls_left = left,
            None => return Action::Stop(Stop::Limit(Limit::Calls)),
        }
        self.make_call(m)
    }

    fn make_call<M: Machine>(&mut self, m: &mut M) -> Action {
        let call = Call::from_registers(&m.registers());
        let answer = self.call(m, &call, None);
        self.note(&call, &answer);
        match self.finish(m, answer) {
            Some(action) => action,
            None => self.schedule(m),
        }
    }

    /// Does the next piece of a call that ring 3 has made again.
    fn go_on<M: Machine>(&mut self, m: &mut M) -> Action {
        if let Some(thread) = self.thread_mut() {
            thread.unfinished = None;
        }
        self.make_call(m)
    }

    /// Keeps for the host what a call was refused.
    pub(crate) fn note(&mut self, call: &Call, answer: &Answer) {
        self.denials.note(call, answer);
    }

    /// Handles a processor exception of the running thread: serves a page, or raises a signal.
    pub fn fault<M: Machine>(&mut self, m: &mut M, vector: u8, error_code: u64, address: u64) -> Action {
        let rip = m.registers().rip;
        if self.is_unfinished(m, rip) {
            // The call took away the page of its own instruction: it goes on without it.
            let registers = m.registers();
            m.set_registers(&Registers {
                rip: rip.saturating_add(2),
                ..registers
            });
            return self.go_on(m);
        }
        if vector == 13 && self.read_counter(m) {
            return Action::Resume;
        }
        let (signal, code, word) = match vector {
            14 => {
                let access = match error_code {
                    code if code & 16 != 0 => Access::Execute,
                    code if code & 2 != 0 => Access::Write,
                    _ => Access::Read,
                };
                match self.space.fault(m, address, access) {
                    Ok(()) => {
                        self.statistics.faults += 1;
                        let (last, at, times) = self.last_fault;
                        let times = if (last, at) == (address, rip) {
                            times + 1
                        } else {
                            0
                        };
                        self.last_fault = (address, rip, times);
                        if times < 16 {
                            return Action::Resume;
                        }
                        (number::SIGSEGV, 2, address)
                    }
                    Err(FaultError::OutOfMemory) => return Action::Stop(Stop::OutOfMemory),
                    Err(FaultError::Unmapped) => (number::SIGSEGV, 1, address),
                    Err(FaultError::Denied) => (number::SIGSEGV, 2, address),
                    Err(FaultError::BeyondFile) => (number::SIGBUS, 2, address),
                }
            }
            0 => (number::SIGFPE, 1, rip),
            1 => (number::SIGTRAP, 2, rip),
            3 => (number::SIGTRAP, 0x80, 0),
            6 => (number::SIGILL, 2, rip),
            16 | 19 => (number::SIGFPE, 7, rip),
            17 => (number::SIGBUS, 1, 0),
            4 | 5 | 13 => (number::SIGSEGV, 0x80, 0),
            11 | 12 => (number::SIGBUS, 0x80, 0),
            _ => return Action::Stop(Stop::Exception { vector }),
        };
        let info = Info {
            signal,
            code,
            word,
            ..Info::default()
        };
        let address = if vector == 14 { address } else { 0 };
        self.force(m, info, [vector.into(), error_code, address])
    }

    /// Lets the next thread run, after the host stopped the running one in ring 3.
    pub fn preempt<M: Machine>(&mut self, m: &mut M) -> Action {
        let registers = m.registers();
        // Below user space lies the stub that `syscall` leads to: the call is on its way.
        let calls =
            registers.rip < USER_START && self.thread().is_some_and(|thread| thread.unfinished.is_some());
        if calls || self.is_unfinished(m, registers.rip) {
            return Action::Resume;
        }
        if let Some(thread) = self.thread_mut() {
            thread.registers = registers;
        }
        self.schedule(m)
    }

    /// Lets a thread run, after time passed or input came while all waited.
    pub fn run<M: Machine>(&mut self, m: &mut M) -> Action {
        self.schedule(m)
    }
}
