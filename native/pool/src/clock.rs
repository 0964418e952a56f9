//! Host time and host randomness for guests.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use mayfly_linux::clock::ClockBase;
use mayfly_vmm::{Host, Result};

/// Reads the host's clocks in the guest's units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockSource {
    scale: u64,
    grain: u64,
}

impl ClockSource {
    /// `grain` is that of [`ClockBase`].
    pub fn new(host: &Host, grain: u64) -> Result<ClockSource> {
        Ok(ClockSource {
            scale: host.nanoseconds_per_tick_32()?,
            grain,
        })
    }

    /// Nanoseconds by which the clocks move on.
    pub fn grain(self) -> u64 {
        self.grain
    }

    /// Where the clocks stand now.
    pub fn now(self) -> ClockBase {
        let realtime = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_nanos() as u64);
        ClockBase {
            ticks: ticks(),
            scale: self.scale,
            realtime,
            grain: self.grain,
        }
    }
}

/// The time-stamp counter, which guests read at the same value.
pub(crate) fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Bytes from the host kernel's generator.
pub(crate) fn fresh_seed() -> io::Result<[u8; 32]> {
    let mut seed = [0u8; 32];
    // SAFETY: the pointer and length are those of `seed`. Up to 256 bytes come whole.
    let n = unsafe { libc::getrandom(seed.as_mut_ptr().cast(), seed.len(), 0) };
    if n == seed.len() as isize {
        Ok(seed)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ() {
        assert_ne!(fresh_seed().unwrap(), fresh_seed().unwrap());
    }
}
