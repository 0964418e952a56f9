//! Bugs of ours, made to happen: a frame whose header says so makes the worker that takes it fault. Compiled for tests only.

mod outside;
mod tests;

use std::arch::asm;
use std::cell::{Cell, RefCell};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mayfly_wire::HEAD_BYTES;

/// Some tests count what the process has open: they, and those that open files, run one at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the worker got when it tried to read a file of the host.
pub(crate) static FILE_READ: Mutex<Option<std::io::Result<Vec<u8>>>> = Mutex::new(None);

thread_local! {
    /// What happens in the reset of the request that this worker took last.
    static IN_RESET: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Its next reset fails.
    static FAILS: Cell<bool> = const { Cell::new(false) };
}

/// Does what the frame's header says, now or in the reset.
pub(crate) fn act_on(frame: &[u8]) {
    let header = frame.get(HEAD_BYTES..).unwrap_or_default();
    IN_RESET.set(header.strip_prefix(b"reset ").unwrap_or_default().to_vec());
    match frame.get(HEAD_BYTES..) {
        Some(b"segv") => injected_segv(),
        Some(b"ill") => injected_illegal_instruction(),
        Some(b"call") => injected_socket(),
        Some(b"exec") => injected_execve(),
        Some(b"panic") => injected_panic(),
        Some(b"fail") => FAILS.set(true),
        Some(b"file") => {
            *FILE_READ.lock().unwrap() = Some(std::fs::read("/proc/self/environ"));
        }
        _ => {}
    }
}

/// Does what the header said is to happen in the reset.
pub(crate) fn act_in_reset() {
    let what = IN_RESET.take();
    act_on(&[&[0; HEAD_BYTES][..], &what].concat());
}

/// Whether the reset that begins now is to fail.
pub(crate) fn fails_reset() -> bool {
    FAILS.take()
}

#[inline(never)]
fn injected_segv() {
    // SAFETY: none: the fault is what the tests are about.
    unsafe { std::ptr::without_provenance::<u8>(0x77).read_volatile() };
}

#[inline(never)]
fn injected_illegal_instruction() {
    // SAFETY: an undefined instruction touches nothing.
    unsafe { asm!("ud2") };
}

#[inline(never)]
fn injected_socket() {
    // SAFETY: plain numbers. The result is looked at, or the call would be a jump and this function not in the trace.
    std::hint::black_box(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) });
}

#[inline(never)]
fn injected_execve() {
    let nothing = [std::ptr::null()];
    // SAFETY: a C string and two empty lists.
    std::hint::black_box(unsafe { libc::execve(c"/bin/true".as_ptr(), nothing.as_ptr(), nothing.as_ptr()) });
}

#[inline(never)]
fn injected_panic() {
    panic!("injected");
}
