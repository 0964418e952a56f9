//! System calls without a library between, so that a secret takes no way that was not meant.

use std::arch::asm;

/// Memory that code outside of Rust's sight reads and writes.
pub struct Shared<T>(std::cell::UnsafeCell<T>);

// SAFETY: the planter's threads use it one after the other, and only through raw pointers.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Holds `value` at first.
    pub const fn new(value: T) -> Self {
        Shared(std::cell::UnsafeCell::new(value))
    }

    /// Where it lies.
    pub const fn at(&self) -> *mut T {
        self.0.get()
    }
}

/// A system call: its result, negative for an error number.
///
/// # Safety
/// As the call's manual page demands of its arguments.
pub unsafe fn call(number: u64, a: [u64; 6]) -> i64 {
    let result;
    // SAFETY: the kernel changes RAX, RCX and R11 only; memory as the caller vouches.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number.cast_signed() => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}

/// [`call`] with up to three arguments.
///
/// # Safety
/// As [`call`].
pub unsafe fn call3(number: u64, a: u64, b: u64, c: u64) -> i64 {
    // SAFETY: the caller's.
    unsafe { call(number, [a, b, c, 0, 0, 0]) }
}

/// `mmap` of anonymous private memory, at `address` if it is not 0.
pub fn map(address: u64, length: u64) -> i64 {
    const READ_WRITE: u64 = 3;
    const PRIVATE_ANONYMOUS: u64 = 0x22;
    const FIXED_NOREPLACE: u64 = 0x10_0000;
    let fixed = if address == 0 { 0 } else { FIXED_NOREPLACE };
    let flags = PRIVATE_ANONYMOUS | fixed;
    // SAFETY: new memory, over nothing that exists.
    unsafe {
        call(
            mayfly_linux::syscall::number::mmap,
            [address, length, READ_WRITE, flags, u64::MAX, 0],
        )
    }
}
