//! What a guest asked for and may not have: counted by system call, for the host to tell.
//!
//! A guest that is refused nothing pays one comparison for each call that fails.

use crate::errno::Errno;
use crate::kernel::answer::Answer;
use crate::syscall::Call;
use crate::syscall::number as n;

/// Why a system call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The personality does not know it.
    Call,
    /// It wants a network.
    Network,
    /// It wants another process, another program or another's memory.
    Process,
    /// As many descriptors are open as may be: EMFILE.
    Descriptors,
    /// As many threads live as may: EAGAIN.
    Threads,
    /// There are as many mappings as may be: ENOMEM.
    Mappings,
    /// As much address space is taken as may be: ENOMEM.
    AddressSpace,
    /// The guest's own files are as large or as many as may be: ENOSPC, EFBIG.
    FileSpace,
}

impl Reason {
    /// A word for events and counters; of limits that have an option, the option's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Network => "network",
            Self::Process => "process",
            Self::Descriptors => "files",
            Self::Threads => "threads",
            Self::Mappings => "mappings",
            Self::AddressSpace => "addressSpace",
            Self::FileSpace => "fileSpace",
        }
    }

    /// What a call's error says of it; `None` for errors that any program meets.
    fn of(number: u64, errno: Errno) -> Option<Self> {
        match errno {
            Errno::EMFILE => Some(Self::Descriptors),
            Errno::OVER_MAPPINGS => Some(Self::Mappings),
            Errno::OVER_RESERVED => Some(Self::AddressSpace),
            Errno::EAGAIN if matches!(number, n::clone | n::clone3) => Some(Self::Threads),
            Errno::EAFNOSUPPORT => Some(Self::Network),
            // Sets nested too deep are a mistake, not a want.
            Errno::ENOSPC | Errno::EFBIG if number != n::epoll_ctl => Some(Self::FileSpace),
            Errno::EPERM if matches!(number, n::execve | n::ptrace | n::setsid | n::seccomp) => {
                Some(Self::Process)
            }
            Errno::ENOSYS if matches!(number, n::clone | n::clone3 | n::fork | n::vfork) => {
                Some(Self::Process)
            }
            // Every libc asks for rseq at the start of a thread, and does without.
            Errno::ENOSYS if number != n::rseq => Some(Self::Call),
            _ => None,
        }
    }
}

/// A call that was refused, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The system call's number.
    pub call: u64,
    /// Why.
    pub reason: Reason,
    /// How often.
    pub times: u64,
}

/// Most kinds that are told apart in one request; further ones are left out.
pub const KINDS_MAX: usize = 16;

/// What was refused since the request began; a snapshot holds nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denials(Vec<Denial>);

impl Denials {
    /// Looks at how a call ended.
    pub(crate) fn note(&mut self, call: &Call, answer: &Answer) {
        if let Err(errno) = answer
            && let Some(reason) = Reason::of(call.number, *errno)
        {
            self.add(call.number, reason);
        }
    }

    fn add(&mut self, call: u64, reason: Reason) {
        let known = self.0.iter_mut().find(|d| (d.call, d.reason) == (call, reason));
        if let Some(known) = known {
            known.times += 1;
        } else if self.0.len() < KINDS_MAX {
            self.0.push(Denial {
                call,
                reason,
                times: 1,
            });
        }
    }

    /// Takes them, in the order of their first time.
    pub fn take(&mut self) -> Vec<Denial> {
        std::mem::take(&mut self.0)
    }
}
