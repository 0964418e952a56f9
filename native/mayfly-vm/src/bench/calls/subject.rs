//! A machine without a program: what the search for slow calls makes its calls in.

use std::error::Error;
use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::clock::ClockBase;
use mayfly_linux::fs::host_file::HostFile;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::kernel::{self, Config, Kernel};
use mayfly_linux::limits::Limits;
use mayfly_linux::machine::{Machine, PAGE, Registers};
use mayfly_linux::syscall::number;
use mayfly_pool::Guest;
use mayfly_vmm::{Alarm, Exit, Host, Vm, thread_cpu_ns};

/// Memory of the machine, in bytes.
const MEMORY: u64 = 192 << 20;
/// Bytes of the host's file `/large`.
const HOST_FILE: usize = 64 << 20;
/// `syscall`, and then what a signal's handler or another thread may run into: `ud2`.
const CODE: [u8; 4] = [0x0f, 0x05, 0x0f, 0x0b];
/// Vector and error code of a store by ring 3 to a page that is not there.
const STORE_FAULT: (u8, u64) = (14, 6);

/// A call: its number and its arguments.
pub type Call = (u64, [u64; 6]);

/// What a call cost, in nanoseconds of the CPU, with the way into ring 3 and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Its longest piece: nothing but that call happens as long.
    pub piece: u64,
    /// All pieces.
    pub total: u64,
    pub pieces: u32,
}

/// A machine and its kernel.
pub struct Subject {
    pub kernel: Kernel,
    pub guest: Guest,
    code: u64,
    /// Pages for arguments.
    pub scratch: u64,
}

/// The state that each measured call begins with.
pub struct Start {
    machine: Arc<mayfly_vmm::Snapshot>,
    kernel: kernel::Snapshot,
    code: u64,
    scratch: u64,
}

impl Subject {
    /// A machine with a page of code and some of memory.
    pub fn new(host: &Arc<Host>) -> Result<Subject, Box<dyn Error>> {
        let mut kernel = Kernel::new(&Config {
            limits: Limits::default(),
            output: OutputMode::Stream,
            clock: ClockBase {
                ticks: 0,
                scale: host.nanoseconds_per_tick_32()?,
                realtime: 0,
                grain: 0,
            },
            seed: [7; 32],
            jump_when_idle: true,
        });
        kernel
            .vfs_mut()
            .mount_file("/large", HostFile::new(vec![1; HOST_FILE]));
        let mut subject = Subject {
            kernel,
            guest: Guest::new(Vm::new(host, MEMORY)?),
            code: 0x1_0000,
            scratch: 0,
        };
        let code = subject.map(PAGE, 7);
        subject.put(code, &CODE);
        subject.code = code;
        subject.scratch = subject.map(64 * PAGE, 3);
        Ok(subject)
    }

    /// Ends the preparation.
    pub fn freeze(mut self) -> Result<Start, Box<dyn Error>> {
        let kernel = self.kernel.snapshot();
        Ok(Start {
            machine: Arc::new(self.guest.into_vm().snapshot(MEMORY)?),
            kernel,
            code: self.code,
            scratch: self.scratch,
        })
    }

    fn registers(&self, (number, a): Call) -> Registers {
        Registers {
            rax: number,
            rdi: a[0],
            rsi: a[1],
            rdx: a[2],
            r10: a[3],
            r8: a[4],
            r9: a[5],
            rip: self.code,
            rsp: self.scratch + 63 * PAGE,
            ..Registers::default()
        }
    }

    /// Whether the call that was answered last is to be made again.
    fn is_unfinished(&self) -> bool {
        self.guest.registers().rip == self.code
    }

    /// Makes a call without entering ring 3, to prepare the machine, and gives its result.
    pub fn call(&mut self, number: u64, a: [u64; 6]) -> i64 {
        let mut registers = self.registers((number, a));
        loop {
            registers.rip += 2;
            self.guest.set_registers(&registers);
            self.kernel.syscall(&mut self.guest);
            registers = self.guest.registers();
            if !self.is_unfinished() {
                return registers.rax.cast_signed();
            }
        }
    }

    /// New memory, with the low three bits of `PROT_*`.
    pub fn map(&mut self, bytes: u64, protection: u64) -> u64 {
        self.call(number::mmap, [0, bytes, protection, 0x22, u64::MAX, 0])
            .cast_unsigned()
    }

    /// Writes to memory.
    pub fn put(&mut self, at: u64, bytes: &[u8]) {
        while let Err(fault) = self.guest.write(at, bytes) {
            let (vector, code) = STORE_FAULT;
            self.kernel.fault(&mut self.guest, vector, code, fault.address);
        }
    }

    /// Writes words to memory.
    pub fn put_words(&mut self, at: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(at, &bytes);
    }

    /// Makes a call from ring 3 and measures it up to where ring 3 goes on.
    pub fn measure(&mut self, alarm: &mut Alarm, call: Call) -> mayfly_vmm::Result<Cost> {
        let registers = self.registers(call);
        self.guest.set_registers(&registers);
        let mut cost = Cost::default();
        while !matches!(self.guest.vm().run(alarm)?, Exit::Syscall) {}
        loop {
            let begin = thread_cpu_ns();
            let action = self.kernel.syscall(&mut self.guest);
            if let Some(error) = self.guest.take_error() {
                return Err(error);
            }
            let again = action == Action::Resume && self.is_unfinished();
            if matches!(action, Action::Resume | Action::Output) {
                self.guest.vm().run(alarm)?;
            }
            let piece = thread_cpu_ns() - begin;
            cost.piece = cost.piece.max(piece);
            cost.total += piece;
            cost.pieces += 1;
            if !again {
                return Ok(cost);
            }
        }
    }
}

impl Start {
    /// A machine in this state.
    pub fn fork(&self) -> mayfly_vmm::Result<Subject> {
        Ok(Subject {
            kernel: Kernel::from_snapshot(&self.kernel),
            guest: Guest::new(self.machine.fork()?),
            code: self.code,
            scratch: self.scratch,
        })
    }

    /// Puts a machine back into this state.
    pub fn reset(&self, subject: &mut Subject) -> mayfly_vmm::Result<()> {
        subject.kernel.take_output();
        subject.kernel.take_log();
        subject.kernel.restore(&self.kernel);
        subject.guest.vm().reset().map(drop)
    }
}
