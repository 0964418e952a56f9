//! The time slices that a thread gets from the scheduler.
//!
//! A guest that computes shares its core with the server and with other machines. A thread that wakes up preempts the thread that
//! runs, at once, if it has the shorter slice (EEVDF, sched_setattr(2), Linux 6.12 and later; without effect before). So there are
//! three lengths:
//!
//! ```text
//! 1 to 3 ms   the server's and other programs' threads, as the kernel says
//! 6 ms        a thread that runs machines
//! 100 ms      the same, once its request took over half a millisecond of the CPU, until the machine is clean again
//! ```
//! Shares of the core stay the same, and a slice may become shorter again without a privilege, which a worse nice value may not.
//!
//! A thread that had more than its share of a core when it fell asleep stays in that core's queue until that is made up for (delayed
//! dequeue, Linux 6.12). Woken meanwhile it does not come first, nor does it move to an idle core: it waits for the running thread,
//! up to a whole slice. So a thread that computes sleeps for a moment every two milliseconds: whoever waits then gets the core, and
//! whoever sleeps leaves the queue.
//!
//! ```text
//! request   |-------|-------|------------|------------|---    checks: 0.5 ms, 0.5 ms, 2 ms, 2 ms, ...
//!                  sleep   sleep        sleep        sleep
//!                          long slices
//! ```
//! A short sleep also begins a new slice, of the new length. `sched_yield` would as well, but since Linux 6.18 it forfeits what is
//! left (as time that the thread is taken to have had): the thread then comes last for so long, with its next request too, and that
//! may be a neighbour's.

use std::mem;

use mayfly_vmm::{thread_cpu_ns, thread_sleeps};

use super::{Scheduler, Scheduling};

/// Slice of a thread that runs machines, in nanoseconds: longer than the usual ones of up to 8 cores or more.
const MACHINE_NS: u64 = 6_000_000;
/// Longest slice that the scheduler grants.
const LONG_NS: u64 = 100_000_000;
/// Checks are half a millisecond apart or more. A thread that had a CPU for this long in between computes; one that had not waits
/// for its core.
const BUSY_NS: u64 = 250_000;
/// A short sleep. A thread is off its core after 10 us here; if the timer is over by then, nobody else gets there.
const SLEEP_NS: i64 = 30_000;
/// Where that takes longer, sleeps are tried up to this length.
const LONGEST_SLEEP_NS: i64 = 16 * SLEEP_NS;

/// `struct sched_attr`, first version (linux/sched/types.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
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

/// The slice of the calling thread, in one request.
#[derive(Debug, Default)]
pub(crate) enum TimeSlice {
    /// As usual: not checked yet.
    #[default]
    Usual,
    /// As usual at the last check, by [`thread_cpu_ns`].
    Watched { cpu: u64 },
    /// As long as may be. What it was before; `None` where the scheduler knows no such thing.
    Long { usual: Option<Attributes> },
}

impl TimeSlice {
    /// Checks whether the request computes, or its thread only waits for a core. The slice of one that computes becomes long, and
    /// stays so; true when it is. May sleep shortly.
    pub fn check(&mut self, parts: Scheduling) -> bool {
        let now = thread_cpu_ns();
        match *self {
            TimeSlice::Watched { cpu } if now.saturating_sub(cpu) < BUSY_NS => {
                *self = TimeSlice::Watched { cpu: now };
                return false;
            }
            TimeSlice::Usual => *self = TimeSlice::Watched { cpu: now },
            TimeSlice::Watched { .. } => {
                let long = |usual: Attributes| Attributes {
                    runtime: if parts.slices { LONG_NS } else { usual.runtime },
                    ..usual
                };
                *self = TimeSlice::Long {
                    usual: change_slice(long),
                };
            }
            TimeSlice::Long { .. } => {}
        }
        parts.pause();
        self.is_long()
    }

    /// Whether the request is known to compute.
    pub fn is_long(&self) -> bool {
        matches!(self, TimeSlice::Long { .. })
    }

    /// The request is over: the slice is as it was.
    pub fn restore(&mut self, parts: Scheduling) {
        if let TimeSlice::Long { usual: Some(usual) } = mem::take(self) {
            write(&usual);
            parts.pause();
        }
    }
}

/// Gives the calling thread the slice of one that runs machines, and wakes it from short sleeps at once.
pub(crate) fn take_machine_slice() {
    change_slice(|usual| Attributes {
        runtime: MACHINE_NS,
        ..usual
    });
    // SAFETY: it takes numbers only; a short sleep is 50 us longer when it is refused.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

/// Ends the calling thread's slice by a short sleep: whoever waits for the core gets it.
pub(crate) fn short_sleep() {
    let before = thread_sleeps();
    let mut ns = SLEEP_NS;
    loop {
        wait(ns);
        if thread_sleeps() != before || ns >= LONGEST_SLEEP_NS {
            return;
        }
        ns *= 2;
    }
}

/// Waits for so many nanoseconds, less than a second of them.
fn wait(ns: i64) {
    let (word, time) = (
        0u32,
        libc::timespec {
            tv_sec: 0,
            tv_nsec: ns,
        },
    );
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: word and time are ours and outlive the call. Nobody wakes it but the clock, or a signal.
    unsafe { libc::syscall(libc::SYS_futex, &raw const word, wait, 0, &raw const time) };
}

/// Changes the slice of the calling thread; gives what it was before, unless its scheduler knows none.
fn change_slice(change: impl FnOnce(Attributes) -> Attributes) -> Option<Attributes> {
    let before = read()?;
    if !matches!(before.policy as i32, libc::SCHED_OTHER | libc::SCHED_BATCH) {
        return None;
    }
    write(&change(before));
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
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{scope, sleep};
    use std::time::Duration;

    use super::*;

    fn compute(ns: u64) {
        let end = thread_cpu_ns() + ns;
        while thread_cpu_ns() < end {}
    }

    #[test]
    fn the_slice_of_who_computes_is_long_and_then_as_it_was() {
        let usual = read().unwrap();
        take_machine_slice();
        let before = read().unwrap();
        assert!(
            [MACHINE_NS, usual.runtime].contains(&before.runtime),
            "{before:?}"
        );
        let mut slice = TimeSlice::default();
        assert!(
            !slice.check(Scheduling::ALL),
            "nobody knows for how long it had a CPU"
        );
        compute(BUSY_NS);
        assert!(slice.check(Scheduling::ALL) && slice.check(Scheduling::ALL));
        let long = read().unwrap();
        // Kernels that know slices tell them.
        assert!([LONG_NS, before.runtime].contains(&long.runtime), "{long:?}");
        slice.restore(Scheduling::ALL);
        slice.restore(Scheduling::ALL);
        assert_eq!(read().unwrap(), before);
        assert!(
            !slice.check(Scheduling::ALL),
            "the next request is looked at anew"
        );
    }

    #[test]
    fn the_slice_of_who_waits_stays_as_it_is() {
        let before = read().unwrap();
        let mut slice = TimeSlice::default();
        for _ in 0..5 {
            let cpu = thread_cpu_ns();
            assert!(!slice.check(Scheduling::ALL));
            sleep(Duration::from_millis(1));
            compute(BUSY_NS / 5);
            if thread_cpu_ns() - cpu > BUSY_NS * 3 / 4 {
                return eprintln!("SKIPPED: to wait takes as long as to compute here");
            }
        }
        assert_eq!(read().unwrap(), before);
    }

    /// What the scheduler wrote down of the calling thread: its virtual time less the real time that it had, in milliseconds.
    fn debt() -> Option<f64> {
        let all = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
        let number = |name: &str| {
            let line = all.lines().find(|line| line.starts_with(name))?;
            line.rsplit(':').next()?.trim().parse::<f64>().ok()
        };
        let weight = number("se.load.weight")? / f64::from(1 << 20);
        Some(number("se.vruntime")? - number("se.sum_exec_runtime")? / weight)
    }

    fn share_a_core() {
        // SAFETY: the set is ours, all zero is an empty one, and 0 is the calling thread.
        unsafe {
            let mut set: libc::cpu_set_t = mem::zeroed();
            libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
            let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &set));
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(first.unwrap(), &mut set);
            assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
        }
    }

    /// Who waits for the core has it meanwhile, whatever its slice.
    #[test]
    fn a_short_sleep_leaves_the_core_to_who_waits() {
        use std::sync::atomic::AtomicU64;
        let (over, steps) = (AtomicBool::new(false), AtomicU64::new(0));
        let (mut left, mut sleeps) = (0, 0);
        scope(|s| {
            s.spawn(|| {
                share_a_core();
                while !over.load(Ordering::Relaxed) {
                    steps.fetch_add(1, Ordering::Relaxed);
                }
            });
            s.spawn(|| {
                share_a_core();
                take_machine_slice();
                while left < 3 && sleeps < 400 {
                    let before = steps.load(Ordering::Relaxed);
                    short_sleep();
                    left += u32::from(steps.load(Ordering::Relaxed) != before);
                    sleeps += 1;
                    compute(BUSY_NS);
                }
                over.store(true, Ordering::Relaxed);
            });
        });
        // Others on the core may have it as well. Sleeps that are too short leave it to nobody.
        assert_eq!(left, 3, "of {sleeps} sleeps");
    }

    /// TimeSlice become longer and shorter without a fee: what was left of one is not taken from the thread's share.
    #[test]
    fn a_change_of_slices_forfeits_nothing() {
        let knows_slices = scope(|s| {
            let other = s.spawn(|| {
                take_machine_slice();
                read().unwrap().runtime == MACHINE_NS
            });
            other.join().unwrap()
        });
        if !knows_slices || debt().is_none() {
            return eprintln!("SKIPPED: this kernel knows no turns, or tells no virtual time");
        }
        let over = AtomicBool::new(false);
        let mut fees = Vec::new();
        scope(|s| {
            s.spawn(|| {
                share_a_core();
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            s.spawn(|| {
                share_a_core();
                take_machine_slice();
                for _ in 0..9 {
                    sleep(Duration::from_millis(5));
                    let mut slice = TimeSlice::default();
                    slice.check(Scheduling::ALL);
                    compute(BUSY_NS);
                    let before = debt().unwrap();
                    slice.check(Scheduling::ALL);
                    slice.restore(Scheduling::ALL);
                    fees.push(debt().unwrap() - before);
                }
                over.store(true, Ordering::Relaxed);
            });
        });
        fees.sort_by(f64::total_cmp);
        // A yield would cost five milliseconds. Others that take the core meanwhile move the virtual time of all.
        assert!(fees[3] < 2.0, "{fees:?}");
    }
}
