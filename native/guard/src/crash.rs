//! What is told about a crash.

use std::fmt;
use std::ptr;

use libc::c_int;

/// Names of the registers that are kept, and where a signal's context holds them.
pub(crate) const REGISTERS: [(&str, c_int); 18] = [
    ("rip", libc::REG_RIP),
    ("rsp", libc::REG_RSP),
    ("rbp", libc::REG_RBP),
    ("rax", libc::REG_RAX),
    ("rbx", libc::REG_RBX),
    ("rcx", libc::REG_RCX),
    ("rdx", libc::REG_RDX),
    ("rsi", libc::REG_RSI),
    ("rdi", libc::REG_RDI),
    ("r8", libc::REG_R8),
    ("r9", libc::REG_R9),
    ("r10", libc::REG_R10),
    ("r11", libc::REG_R11),
    ("r12", libc::REG_R12),
    ("r13", libc::REG_R13),
    ("r14", libc::REG_R14),
    ("r15", libc::REG_R15),
    ("flags", libc::REG_EFL),
];

/// What the signal handler saw, in the order of `REGISTERS`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub signal: i32,
    pub code: i32,
    pub address: usize,
    pub registers: [u64; 18],
}

/// Why a thread crashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An instruction faulted.
    Fault {
        /// The signal's number.
        signal: i32,
        /// The signal's code, as in sigaction(2).
        code: i32,
        /// The address that it was at, for memory faults.
        address: usize,
    },
    /// A system call that the thread's filter does not allow.
    Call {
        /// Its number.
        number: u64,
        /// Its arguments.
        arguments: [u64; 6],
    },
    /// A panic: its message and place.
    Panic(String),
}

/// A crash of a watched thread. Shown in one line by `{}`, whole and with the names of functions by `{:#}`, which reads the
/// program's debug information from disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The thread's name.
    pub thread: String,
    /// Why.
    pub cause: Cause,
    /// Name and value; a panic has none.
    pub registers: Option<[(&'static str, u64); 18]>,
    /// The address of the instruction, then return addresses, innermost first.
    pub frames: Vec<usize>,
}

impl Crash {
    /// From what the signal handler left.
    pub(crate) fn new(thread: &str, record: &Record, frames: Vec<usize>) -> Crash {
        let [rip, _, _, rax, _, _, rdx, rsi, rdi, r8, r9, r10, ..] = record.registers;
        let cause = if record.signal == libc::SIGSYS {
            Cause::Call {
                number: rax,
                arguments: [rdi, rsi, rdx, r10, r8, r9],
            }
        } else {
            Cause::Fault {
                signal: record.signal,
                code: record.code,
                address: record.address,
            }
        };
        // The handler's own frames lie before the instruction's. A jump into nowhere has no frame of its own.
        let first = frames.iter().position(|f| *f == rip as usize);
        let frames = match first {
            Some(first) => frames[first..].to_vec(),
            None => [vec![rip as usize], frames].concat(),
        };
        let mut registers = REGISTERS.map(|(name, _)| (name, 0));
        for (register, value) in registers.iter_mut().zip(record.registers) {
            register.1 = value;
        }
        Crash {
            thread: thread.into(),
            cause,
            registers: Some(registers),
            frames,
        }
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} crashed: ", self.thread)?;
        match &self.cause {
            Cause::Fault {
                signal,
                code,
                address,
            } => write!(
                f,
                "{} (code {code}) at address {address:#x}",
                signal_name(*signal)
            )?,
            Cause::Call { number, arguments } => {
                write!(f, "its filter refuses system call {number} with arguments")?;
                for argument in arguments {
                    write!(f, " {argument:#x}")?;
                }
            }
            Cause::Panic(message) => write!(f, "panic: {message}")?,
        }
        if !f.alternate() {
            return Ok(());
        }
        if let Some(registers) = &self.registers {
            for (i, (name, value)) in registers.iter().enumerate() {
                write!(
                    f,
                    "{}{name:>5} {value:016x}",
                    if i % 6 == 0 { "\n  " } else { " " }
                )?;
            }
        }
        for (i, address) in self.frames.iter().enumerate() {
            // The symboliser takes addresses for return addresses, which are behind their call. The first one is none.
            let names = names_of(address + usize::from(i == 0));
            for (nth, name) in names.iter().enumerate() {
                match nth {
                    0 => write!(f, "\n  {i:>2}: {address:016x} {name}")?,
                    _ => write!(f, "\n      inlined into    {name}")?,
                }
            }
        }
        Ok(())
    }
}

/// Longest name of a function: those of generic ones have no end.
const NAME_BYTES: usize = 120;

/// Function, file and line of a return address, as far as they are known: the innermost first, then those it is inlined into.
fn names_of(address: usize) -> Vec<String> {
    let mut names = Vec::new();
    backtrace::resolve(ptr::without_provenance_mut(address), |symbol| {
        let mut name = symbol.name().map_or("?".into(), |n| format!("{n:#}"));
        if let Some((cut, _)) = name.char_indices().nth(NAME_BYTES) {
            name.replace_range(cut.., "...");
        }
        if let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) {
            name += &format!(" ({}:{line})", file.display());
        }
        names.push(name);
    });
    if names.is_empty() {
        names.push("?".into());
    }
    names
}

pub(crate) fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGSYS => "SIGSYS",
        _ => "a signal",
    }
}
