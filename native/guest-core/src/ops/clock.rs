//! Time.

use deno_core::op2;

/// Milliseconds since the Unix epoch, with a fraction.
#[op2(fast)]
pub fn op_mayfly_real_ms() -> f64 {
    milliseconds(libc::CLOCK_REALTIME)
}

/// Milliseconds of a clock that never goes back, with a fraction.
#[op2(fast)]
pub fn op_mayfly_monotonic_ms() -> f64 {
    milliseconds(libc::CLOCK_MONOTONIC)
}

fn milliseconds(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writes, and both clocks are always there.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
