//! Bugs of ours, made to happen: a frame whose header says so makes the worker that takes it fault. Compiled for tests only.

mod tests;

use std::arch::asm;
use std::sync::Mutex;

use mayfly_wire::HEAD_BYTES;

/// What the worker got when it tried to read a file of the host.
pub(crate) static FILE_READ: Mutex<Option<std::io::Result<Vec<u8>>>> = Mutex::new(None);

/// Does what the frame's header says.
pub(crate) fn act_on(frame: &[u8]) {
    match frame.get(HEAD_BYTES..) {
        Some(b"segv") => injected_segv(),
        Some(b"ill") => injected_illegal_instruction(),
        Some(b"call") => injected_socket(),
        Some(b"exec") => injected_execve(),
        Some(b"panic") => injected_panic(),
        Some(b"file") => {
            *FILE_READ.lock().unwrap() = Some(std::fs::read("/proc/self/environ"));
        }
        _ => {}
    }
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
