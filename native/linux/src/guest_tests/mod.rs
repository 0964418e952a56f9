//! The kernel as a guest meets it, on a machine of plain data: no `/dev/kvm` is needed.

mod alarms;
mod arguments;
mod bounds;
mod cpu_timers;
mod events;
mod folders;
mod fuzz;
mod granted;
mod limits;
mod netlink;
mod outgoing;
mod requests;
mod signals;
mod sockets;
mod threads;
mod timers;

use crate::action::Action;
use crate::clock::ClockBase;
use crate::fs::host_file::HostFile;
use crate::fs::stdio::OutputMode;
use crate::image::elf::tests::tiny;
use crate::kernel::exec::Exec;
use crate::kernel::{Config, Kernel};
use crate::limits::Limits;
use crate::machine::mock::MockMachine;
use crate::machine::{Machine, PAGE, Registers};
use crate::syscall::number;

/// One tick is one nanosecond here.
const CLOCK: ClockBase = ClockBase {
    ticks: 0,
    scale: 1 << 32,
    realtime: 1_700_000_000_000_000_000,
    grain: 0,
};

/// A guest with a small program, stopped at its first instruction.
#[derive(Clone)]
struct Guest {
    kernel: Kernel,
    machine: MockMachine,
    /// Two pages of memory for arguments.
    scratch: u64,
}

impl Guest {
    fn with(limits: Limits, output: OutputMode) -> Self {
        let config = Config {
            limits,
            output,
            clock: CLOCK,
            seed: [7; 32],
            jump_when_idle: true,
        };
        let mut kernel = Kernel::new(&config);
        let mut machine = MockMachine::new(4000);
        kernel.vfs_mut().mount_file(
            "/bin/tiny",
            HostFile::new(tiny(2, 0x40_0000, &[0x0f, 0x05], 5000)),
        );
        let exec = Exec {
            path: "/bin/tiny".into(),
            arguments: vec!["tiny".into(), "argument".into()],
            environment: vec!["NAME=value".into()],
            ..Exec::default()
        };
        kernel.exec(&mut machine, &exec).expect("a program");
        let mut guest = Self {
            kernel,
            machine,
            scratch: 0,
        };
        guest.scratch = guest
            .call(number::mmap, [0, 2 * PAGE, 3, 0x22, u64::MAX, 0])
            .cast_unsigned();
        guest
    }

    fn new() -> Self {
        Self::with(Limits::default(), OutputMode::Stream)
    }

    /// Makes a call, all its pieces, and gives what the host is told to do.
    fn act(&mut self, number: u64, a: [u64; 6]) -> Action {
        let mut action = self.act_once(number, a);
        while let Some(next) = self.piece() {
            action = next;
        }
        action
    }

    /// Makes a call, or its first piece.
    fn act_once(&mut self, number: u64, a: [u64; 6]) -> Action {
        self.machine.set_call(number, a);
        self.kernel.syscall(&mut self.machine)
    }

    /// The next piece of a call that is not done.
    fn piece(&mut self) -> Option<Action> {
        let registers = self.machine.registers();
        if !self.kernel.is_unfinished(&self.machine, registers.rip) {
            return None;
        }
        // What the `syscall` instruction does.
        self.machine.set_registers(&Registers {
            rip: registers.rip + 2,
            ..registers
        });
        Some(self.kernel.syscall(&mut self.machine))
    }

    /// Makes a call that does not wait and gives its result.
    fn call(&mut self, number: u64, a: [u64; 6]) -> i64 {
        let action = self.act(number, a);
        assert!(
            matches!(action, Action::Resume | Action::Output | Action::Frame),
            "call {number} {a:x?}: {action:?}"
        );
        self.result()
    }

    /// The result that the running thread sees.
    fn result(&self) -> i64 {
        self.machine.registers().rax.cast_signed()
    }

    fn tid(&self) -> i32 {
        self.kernel.thread().expect("a thread").tid
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.kernel
            .space
            .write(&mut self.machine, at, bytes)
            .expect("mapped");
    }

    fn get<const N: usize>(&mut self, at: u64) -> [u8; N] {
        self.kernel
            .space
            .read_array(&mut self.machine, at)
            .expect("mapped")
    }

    fn word(&mut self, at: u64) -> u32 {
        u32::from_le_bytes(self.get(at))
    }

    /// Starts a thread whose stack is somewhere in the scratch pages and gives its id.
    fn thread(&mut self) -> i32 {
        let stack = self.scratch + 2 * PAGE - 64;
        self.call(number::clone, [0x0005_0f00, stack, 0, 0, 0, 0]) as i32
    }
}

#[test]
fn exec_lays_out_the_stack_as_the_abi_wants() {
    let mut guest = Guest::new();
    let registers = guest.machine.registers();
    assert_eq!((registers.rsp % 16, registers.rip), (0, 0x40_0000 + 176));
    let words: [u64; 5] = guest
        .get::<40>(registers.rsp)
        .as_chunks::<8>()
        .0
        .iter()
        .map(|b| u64::from_le_bytes(*b))
        .collect::<Vec<_>>()
        .try_into()
        .expect("five");
    assert_eq!((words[0], words[3]), (2, 0));
    assert_eq!(guest.get(words[1]), *b"tiny\0");
    assert_eq!(guest.get(words[2]), *b"argument\0");
    assert_eq!(guest.get(words[4]), *b"NAME=value\0");
    // Without a gap, the first lowest: who sets the title of a process writes over all of them at once.
    assert_eq!(guest.get(words[1]), *b"tiny\0argument\0NAME=value\0");
    // The tail of the last page from the file is zero, not the file's next bytes.
    assert_eq!(guest.get(0x41_0000 + 16), [0; 64]);
    assert_eq!(guest.get(crate::image::vdso::IMAGE), *b"\x7fELF");
}
