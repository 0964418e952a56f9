//! How long turns a thread takes from the scheduler.
//!
//! A guest that computes shares its core with the server and with other machines. Who wakes up comes first, at once, if it takes
//! shorter turns than the thread that runs (EEVDF's slices, sched_setattr(2), Linux 6.12 and later; without effect before). So
//! there are three lengths:
//!
//! ```text
//! 1 to 3 ms   the server's and other programs' threads, as the kernel says
//! 6 ms        a thread that runs machines
//! 100 ms      the same, while its request has run for over a millisecond
//! ```
//! Shares of the core stay the same, and turns may become shorter again without a privilege, which a worse nice value may not.

use std::mem;
use std::thread::yield_now;

/// Turns of a thread that runs machines, in nanoseconds: longer than the usual ones of up to 8 cores or more.
const MACHINE_NS: u64 = 6_000_000;
/// Longest turns that the scheduler grants.
const LONG_NS: u64 = 100_000_000;
/// Shortest ones.
const SHORT_NS: u64 = 100_000;

/// `struct sched_attr`, first version (linux/sched/types.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

const SIZE: u32 = mem::size_of::<Attributes>() as u32;

/// The turns of the calling thread.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// What they were before they became long.
    usual: Option<Attributes>,
}

impl Turns {
    /// From now on they are as long as may be. A scheduler that knows no such thing is left alone.
    ///
    /// Who woke up before with turns of the same length waits for the end of this one (up to 6 ms, and a tick): it comes first now.
    /// Giving up a turn costs what is left of it, so it is given up as a short one.
    pub fn lengthen(&mut self) {
        if self.usual.is_none() {
            self.usual = set_turns(SHORT_NS);
            if self.usual.is_some() {
                yield_now();
                set_turns(LONG_NS);
            }
        }
    }

    /// They are as they were.
    pub fn restore(&mut self) {
        if let Some(usual) = self.usual.take() {
            write(&usual);
        }
    }
}

/// Gives the calling thread the turns of one that runs machines.
pub(crate) fn take_machine_turns() {
    set_turns(MACHINE_NS);
}

/// Sets the turns of the calling thread; gives what it had before, unless its scheduler knows no turns.
fn set_turns(ns: u64) -> Option<Attributes> {
    let before = read()?;
    if !matches!(before.policy as i32, libc::SCHED_OTHER | libc::SCHED_BATCH) {
        return None;
    }
    write(&Attributes {
        runtime: ns,
        ..before
    });
    Some(before)
}

fn read() -> Option<Attributes> {
    let mut attributes = Attributes::default();
    // SAFETY: the structure is ours and as long as said; 0 is the calling thread.
    let r = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    (r == 0).then_some(attributes)
}

fn write(attributes: &Attributes) {
    let attributes = Attributes {
        size: SIZE,
        ..*attributes
    };
    // SAFETY: the structure is ours and says its length; 0 is the calling thread. A refusal changes nothing.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_long_and_then_as_they_were() {
        let usual = read().unwrap();
        take_machine_turns();
        let before = read().unwrap();
        assert!(
            [MACHINE_NS, usual.runtime].contains(&before.runtime),
            "{before:?}"
        );
        let mut turns = Turns::default();
        turns.lengthen();
        turns.lengthen();
        let long = read().unwrap();
        // Kernels that know slices tell them.
        assert!([LONG_NS, before.runtime].contains(&long.runtime), "{long:?}");
        turns.restore();
        turns.restore();
        assert_eq!(read().unwrap(), before);
    }
}
