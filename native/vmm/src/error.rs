//! What can go wrong, and whether the machine survives it.

use std::fmt;
use std::io;

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// What the owner of a machine does after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// The call was refused and changed nothing: go on.
    Continue,
    /// The guest cannot go on, the machine can: reset it to its snapshot.
    Reset,
    /// The machine is in an unknown state: drop it and make a new one.
    Discard,
}

/// Why this host cannot run machines, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// What is missing.
    pub reason: String,
    /// What the person can do about it.
    pub hint: String,
}

/// An error of this crate.
#[derive(Debug)]
pub enum Error {
    /// The host has no usable KVM.
    Unavailable(Unavailable),
    /// A call to the host kernel failed.
    Host {
        /// What was attempted.
        attempt: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The guest asked for more memory than its limit.
    OutOfMemory {
        /// The limit in bytes.
        limit: u64,
    },
    /// A virtual address range that is not page aligned, empty, or outside of the user's half.
    BadRange {
        /// First byte.
        start: u64,
        /// Length in bytes.
        length: u64,
    },
    /// A page of a host file that lies behind its end, or a file that this machine does not have.
    BadFilePage {
        /// Page index in the file.
        page: u64,
    },
    /// The guest would continue at an address that is not the user's.
    BadInstructionPointer {
        /// The address.
        rip: u64,
    },
    /// The guest left in a way that no stub of ours uses: triple fault, halt, memory outside of the slots.
    UnexpectedExit {
        /// What KVM said.
        what: String,
    },
    /// Only a fork can be reset, and only a booted machine be snapshotted.
    WrongKind {
        /// What was attempted.
        attempt: &'static str,
    },
    /// A reset left something different from the snapshot (found by the strict check).
    Impure {
        /// What differs.
        what: String,
    },
    /// A bug of ours found by an internal check.
    Broken {
        /// The check that failed.
        what: &'static str,
    },
}

impl Error {
    /// What to do with the machine after this error.
    pub fn survival(&self) -> Survival {
        match self {
            Error::BadRange { .. } | Error::BadFilePage { .. } | Error::WrongKind { .. } => {
                Survival::Continue
            }
            Error::OutOfMemory { .. } | Error::BadInstructionPointer { .. } => Survival::Reset,
            Error::Unavailable(_)
            | Error::Host { .. }
            | Error::UnexpectedExit { .. }
            | Error::Impure { .. }
            | Error::Broken { .. } => Survival::Discard,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable(u) => write!(f, "open KVM: {}; {}", u.reason, u.hint),
            Error::Host { attempt, source } => write!(f, "{attempt}: {source}"),
            Error::OutOfMemory { limit } => {
                write!(f, "allocate guest memory: limit of {limit} bytes reached")
            }
            Error::BadRange { start, length } => {
                write!(
                    f,
                    "change guest mappings: {length:#x} bytes at {start:#x}, want whole pages of user space"
                )
            }
            Error::BadFilePage { page } => write!(
                f,
                "map a file page: page {page}, want one inside of an attached file"
            ),
            Error::BadInstructionPointer { rip } => {
                write!(f, "resume the guest: rip {rip:#x}, want an address of user space")
            }
            Error::UnexpectedExit { what } => {
                write!(f, "run the guest: it left by {what}, want a stub's port write")
            }
            Error::WrongKind { attempt } => write!(f, "{attempt}: this machine is of the other kind"),
            Error::Impure { what } => write!(f, "check the reset: {what}, want the snapshot's"),
            Error::Broken { what } => write!(f, "internal check: {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Host { source, .. } => Some(source),
            Error::Unavailable(_)
            | Error::OutOfMemory { .. }
            | Error::BadRange { .. }
            | Error::BadFilePage { .. }
            | Error::BadInstructionPointer { .. }
            | Error::UnexpectedExit { .. }
            | Error::WrongKind { .. }
            | Error::Impure { .. }
            | Error::Broken { .. } => None,
        }
    }
}

/// Wraps the calling thread's `errno`.
pub(crate) fn last(attempt: &'static str) -> Error {
    Error::Host {
        attempt,
        source: io::Error::last_os_error(),
    }
}

/// Wraps an error of `kvm-ioctls`.
pub(crate) fn kvm(attempt: &'static str) -> impl Fn(kvm_ioctls::Error) -> Error {
    move |e| Error::Host {
        attempt,
        source: io::Error::from_raw_os_error(e.errno()),
    }
}

/// Tries that a call gets which signals interrupt. A profiler sends a thousand a second; a call that makes no headway in so many tries
/// never would.
const TRIES: u32 = 1000;

/// Makes a call of KVM's again for as long as a signal interrupts it, and wraps its error.
pub(crate) fn again<T>(
    attempt: &'static str,
    mut call: impl FnMut() -> std::result::Result<T, kvm_ioctls::Error>,
) -> Result<T> {
    for _ in 1..TRIES {
        match call() {
            Err(e) if matches!(e.errno(), libc::EINTR | libc::EAGAIN) => {}
            other => return other.map_err(kvm(attempt)),
        }
    }
    call().map_err(kvm(attempt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn again_is_patient_with_signals_alone_and_not_for_ever() {
        let answers = |errno: i32, times: u32| {
            let mut calls = 0;
            let result = again("try", || {
                calls += 1;
                if calls <= times {
                    Err(kvm_ioctls::Error::new(errno))
                } else {
                    Ok(calls)
                }
            });
            (result.ok(), calls)
        };
        assert_eq!(answers(libc::EINTR, 3), (Some(4), 4));
        assert_eq!(answers(libc::EAGAIN, 3), (Some(4), 4));
        assert_eq!(answers(libc::EINVAL, 3), (None, 1));
        assert_eq!(answers(libc::EINTR, u32::MAX), (None, TRIES));
    }

    #[test]
    fn survival_of_a_refused_call_is_to_go_on() {
        assert_eq!(
            Error::BadRange { start: 1, length: 2 }.survival(),
            Survival::Continue
        );
        assert_eq!(Error::OutOfMemory { limit: 1 }.survival(), Survival::Reset);
        assert_eq!(Error::Broken { what: "x" }.survival(), Survival::Discard);
    }
}
