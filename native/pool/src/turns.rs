//! How long turns a thread takes from the scheduler.
//!
//! A guest that computes for long shares its core with the server and with other machines. With long turns of its own it is the
//! one that waits: who wakes up with shorter ones comes first, at once (EEVDF's slices, sched_setattr(2), Linux 6.12 and
//! later; without effect before). Its share of the core stays the same.

use std::mem;

/// Longest turn that the scheduler grants, in nanoseconds.
const LONG_NS: u64 = 100_000_000;

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
    /// From now on they are long. A scheduler that knows no such thing is left alone.
    pub fn lengthen(&mut self) {
        if self.usual.is_some() {
            return;
        }
        let Some(usual) = read() else { return };
        if matches!(usual.policy as i32, libc::SCHED_OTHER | libc::SCHED_BATCH) {
            self.usual = Some(usual);
            write(&Attributes {
                runtime: LONG_NS,
                ..usual
            });
        }
    }

    /// They are as they were.
    pub fn restore(&mut self) {
        if let Some(usual) = self.usual.take() {
            write(&usual);
        }
    }
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
        let before = read().unwrap();
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
