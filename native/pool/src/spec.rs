//! What to run and within which bounds.

mod command;
pub(crate) mod deno;
pub(crate) mod lent;
pub(crate) mod libraries;
pub(crate) mod mount;

use std::fmt;

use mayfly_abi::limits::{
    CALLS_DEFAULT, DESCRIPTORS_DEFAULT, LOG_DEFAULT, MAPPINGS_MAX, OUTPUT_DEFAULT, THREADS_DEFAULT,
};
use mayfly_linux::kernel::exec::ExecError;

use crate::spec::mount::{Mount, MountError};

/// A program to boot.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Its path in the guest; one of the mounts.
    pub path: String,
    /// Arguments, the program's name first.
    pub arguments: Vec<String>,
    /// `NAME=value`.
    pub environment: Vec<String>,
    /// Host files that the guest sees; it sees no others.
    pub mounts: Vec<Mount>,
    /// Working directory in the guest.
    pub folder: String,
    /// Directory in the guest in which files can be made, if any.
    pub writable: Option<String>,
    /// The program answers control frames that draw random numbers, so its generator can be brought to the point at which its
    /// next number asks the kernel for a fresh seed, in every request anew. Without it a generator inside of the program
    /// repeats itself after every reset.
    pub reseed: bool,
    /// A request whose answer is dropped, after all else and before the snapshot.
    pub last: Option<Vec<u8>>,
    /// Nanoseconds by which its clocks move on; 0 or 1: exact. Coarse clocks cost a system call for each reading.
    pub clock_grain_ns: u64,
    /// Bounds.
    pub limits: Limits,
}

/// Bounds on a program and its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Guest memory in all, in bytes.
    pub memory_bytes: u64,
    /// Longest response body, in bytes.
    pub output_bytes: u32,
    /// Bytes kept of what a request writes to fd 2; the rest is counted and dropped.
    pub log_bytes: usize,
    /// Time until the program waits for its first request, in nanoseconds.
    pub boot_ns: u64,
    /// Longest time that a request may have a CPU, in nanoseconds. Boot and warm-up are bounded by `boot_ns` alone.
    pub cpu_ns: Option<u64>,
    /// Most system calls of a request. Boot and warm-up may make any number.
    pub calls: u64,
    /// Most open descriptors, from the boot on.
    pub descriptors: usize,
    /// Most sockets with names among its threads, from the boot on; 0: it has none.
    pub sockets: usize,
    /// Most threads, from the boot on.
    pub threads: usize,
    /// Most mappings, from the boot on.
    pub mappings: usize,
    /// Bytes by which the files in its granted folders may grow, of all its machines together.
    pub granted_bytes: u64,
    /// Files and folders that it may add to them, likewise.
    pub granted_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_bytes: 128 << 20,
            output_bytes: OUTPUT_DEFAULT,
            log_bytes: LOG_DEFAULT as usize,
            boot_ns: 10_000_000_000,
            cpu_ns: None,
            calls: CALLS_DEFAULT,
            descriptors: DESCRIPTORS_DEFAULT as usize,
            sockets: 0,
            threads: THREADS_DEFAULT as usize,
            mappings: MAPPINGS_MAX as usize,
            granted_bytes: 1 << 30,
            granted_files: 10_000,
        }
    }
}

/// Why a program did not come to wait for its first request.
#[derive(Debug)]
pub enum BootError {
    /// A file that it needs is not there.
    Mount(MountError),
    /// It could not be started.
    Exec(ExecError),
    /// It ended, or did something else than wait. Its last words on fd 2 come with it.
    Ended {
        /// What it did.
        what: String,
        /// What it wrote to fd 2, at most the limit.
        log: String,
    },
    /// The machine failed.
    Machine(mayfly_vmm::Error),
    /// A bug of ours: the thread that ran the machine crashed. The report.
    Crashed(String),
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BootError::Mount(e) => e.fmt(f),
            BootError::Exec(e) => e.fmt(f),
            BootError::Ended { what, log } => {
                write!(f, "boot the program: it {what}, want it to wait for a request")?;
                if log.is_empty() {
                    Ok(())
                } else {
                    write!(f, "\n{}", log.trim_end())
                }
            }
            BootError::Machine(e) => e.fmt(f),
            BootError::Crashed(report) => write!(f, "run a machine: {report}"),
        }
    }
}

impl std::error::Error for BootError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BootError::Mount(e) => Some(e),
            BootError::Exec(e) => Some(e),
            BootError::Machine(e) => Some(e),
            BootError::Ended { .. } | BootError::Crashed(_) => None,
        }
    }
}

impl From<MountError> for BootError {
    fn from(e: MountError) -> Self {
        BootError::Mount(e)
    }
}

impl From<mayfly_vmm::Error> for BootError {
    fn from(e: mayfly_vmm::Error) -> Self {
        BootError::Machine(e)
    }
}
