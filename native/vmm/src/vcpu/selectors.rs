//! The segment selectors of the host's own thread.
//!
//! Where KVM runs ring 3 without hardware help (PVM), DS, ES, FS and GS are those of the thread that runs the vCPU, and KVM
//! neither loads nor saves them: what a program writes there would still be there for the next request, and for the next
//! machine on this thread. Programs for 64-bit Linux keep them null, as the thread does, so null is what every exit leaves.

use std::arch::asm;

/// Makes DS, ES, FS and GS of this thread null. Four moves where they are; a thread's FS and GS base stay what they were.
#[inline]
pub(super) fn make_null() {
    let (ds, es, fs, gs): (u16, u16, u16, u16);
    // SAFETY: reads of four registers.
    unsafe {
        asm!(
            "mov {ds:x}, ds", "mov {es:x}, es", "mov {fs:x}, fs", "mov {gs:x}, gs",
            ds = out(reg) ds, es = out(reg) es, fs = out(reg) fs, gs = out(reg) gs,
            options(nomem, nostack, preserves_flags),
        );
    }
    if ds | es | fs | gs != 0 {
        put_back(fs, gs);
    }
}

#[cold]
fn put_back(fs: u16, gs: u16) {
    const SET_AND_GET: [(i32, i32); 2] = [(0x1002, 0x1003), (0x1001, 0x1004)];
    // SAFETY: 64-bit code uses neither DS nor ES, and null is what Linux starts threads with.
    unsafe {
        asm!("mov ds, {0:x}", "mov es, {0:x}", in(reg) 0, options(nomem, nostack, preserves_flags));
    }
    for (selector, (set, get)) in [fs, gs].into_iter().zip(SET_AND_GET) {
        if selector == 0 {
            continue;
        }
        let mut base = 0_u64;
        // SAFETY: `arch_prctl` writes the base to `base`, then sets the same base with a null selector, in one step as far as
        // signals can see: thread-local memory stays where it is.
        unsafe {
            if libc::syscall(libc::SYS_arch_prctl, get, &raw mut base) == 0 {
                libc::syscall(libc::SYS_arch_prctl, set, base);
            }
        }
    }
}
