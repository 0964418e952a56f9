//! The names by which C asks for memory, and Rust with it: all that glibc's manual names for a replacement ("Replacing malloc").

#![cfg(not(test))] // tests have threads

use std::ffi::{c_int, c_void};
use std::ptr;

use super::with;
use super::zones::room;

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    told(with(|zones| zones.allocate(bytes).0))
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    let Some(all) = count.checked_mul(bytes) else {
        return told(0);
    };
    let (block, zero) = with(|zones| zones.allocate(all));
    if block != 0 && !zero {
        // SAFETY: the block has that many bytes.
        unsafe { ptr::write_bytes(block as *mut u8, 0, all) };
    }
    told(block)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut c_void) {
    if !block.is_null() {
        // SAFETY: as C's rules for `free`.
        with(|zones| unsafe { zones.free(block as usize) });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(bytes);
    }
    if bytes == 0 {
        // SAFETY: as C's rules for `realloc`; so glibc has it.
        unsafe { free(block) };
        return ptr::null_mut();
    }
    // SAFETY: as C's rules for `realloc`.
    told(with(|zones| unsafe { zones.reallocate(block as usize, bytes) }))
}

#[unsafe(no_mangle)]
extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        set_errno(libc::EINVAL);
        return ptr::null_mut();
    }
    told(with(|zones| zones.allocate_aligned(alignment, bytes)))
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    memalign(alignment, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(into: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    if !alignment.is_power_of_two() || alignment < size_of::<usize>() {
        return libc::EINVAL;
    }
    let block = with(|zones| zones.allocate_aligned(alignment, bytes));
    if block == 0 {
        return libc::ENOMEM;
    }
    // SAFETY: `into` is valid, as POSIX asks.
    unsafe { *into = block as *mut c_void };
    0
}

#[unsafe(no_mangle)]
extern "C" fn valloc(bytes: usize) -> *mut c_void {
    memalign(4096, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn pvalloc(bytes: usize) -> *mut c_void {
    match bytes.checked_next_multiple_of(4096) {
        Some(bytes) => memalign(4096, bytes),
        None => told(0),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: a block of ours.
    unsafe { room(block as usize) }
}

fn told(block: usize) -> *mut c_void {
    if block == 0 {
        set_errno(libc::ENOMEM);
    }
    block as *mut c_void
}

fn set_errno(error: c_int) {
    // SAFETY: a word of this thread.
    unsafe { *libc::__errno_location() = error };
}
