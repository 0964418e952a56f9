//! Bytes in, bytes out, and chance: three system calls of Linux on x86-64, so that no library is needed.

use core::arch::asm;

use mayfly_wire::{HEAD_BYTES, MAGIC};

const READ: usize = 0;
const WRITE: usize = 1;
const GETRANDOM: usize = 318;
const EXIT_GROUP: usize = 231;
const EINTR: isize = -4;

/// Where frames come from and go to.
pub trait Streams {
    /// Waits for bytes; 0: there will be none.
    fn read(&mut self, into: &mut [u8]) -> usize;
    /// Writes all of it.
    fn write(&mut self, bytes: &[u8]);
    /// Writes so many bytes that `buffer` begins with, which are an [outbox](mayfly_wire), and waits for bytes, which take their place.
    fn ask(&mut self, buffer: &mut [u8], outbox: usize) -> usize {
        self.write(&buffer[HEAD_BYTES..outbox]);
        self.read(buffer)
    }
}

/// Bytes of an outbox that a read takes.
const OUTBOX_MAX: usize = 1 << 18;

/// fd 0 and fd 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stdio;

impl Streams for Stdio {
    fn read(&mut self, into: &mut [u8]) -> usize {
        loop {
            // SAFETY: `read` writes at most so many bytes behind the pointer, all of which are this slice's.
            match unsafe { call(READ, 0, into.as_mut_ptr() as usize, into.len()) } {
                EINTR => {}
                failed @ ..0 => end("mayfly-guest: fd 0 cannot be read\n", failed),
                count => return count.cast_unsigned(),
            }
        }
    }

    /// The read says what its buffer begins with: one system call.
    fn ask(&mut self, buffer: &mut [u8], outbox: usize) -> usize {
        if outbox > OUTBOX_MAX {
            self.write(&buffer[HEAD_BYTES..outbox]);
            buffer[..MAGIC.len()].fill(0); // Said already.
        }
        self.read(buffer)
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: `write` reads so many bytes behind the pointer, all of which are this slice's.
            match unsafe { call(WRITE, 1, rest.as_ptr() as usize, rest.len()) } {
                EINTR => {}
                failed @ ..=0 => end("mayfly-guest: fd 1 cannot be written to\n", failed),
                count => rest = &rest[count.cast_unsigned()..],
            }
        }
    }
}

/// Fills `into` with fresh random bytes. Generators that the program seeded before the snapshot repeat themselves in every request; this
/// one does not.
pub fn random(into: &mut [u8]) {
    let mut rest = into;
    while !rest.is_empty() {
        // SAFETY: `getrandom` writes at most so many bytes behind the pointer, all of which are this slice's.
        match unsafe { call(GETRANDOM, rest.as_mut_ptr() as usize, rest.len(), 0) } {
            EINTR => {}
            failed @ ..=0 => end("mayfly-guest: there are no random bytes\n", failed),
            count => rest = &mut rest[count.cast_unsigned()..],
        }
    }
}

/// Says why on standard error and ends the program.
fn end(why: &str, _failed: isize) -> ! {
    // SAFETY: `write` reads the bytes of a text that is there.
    unsafe { call(WRITE, 2, why.as_ptr() as usize, why.len()) };
    loop {
        // SAFETY: it ends the process and touches no memory of it.
        unsafe { call(EXIT_GROUP, 1, 0, 0) };
    }
}

/// A system call of three arguments.
///
/// # Safety
/// What the call does with the arguments must be sound: pointers it writes to or reads from are valid for so many bytes.
unsafe fn call(number: usize, a: usize, b: usize, c: usize) -> isize {
    let result: isize;
    // SAFETY: the caller answers for the call; `syscall` changes RAX, RCX and R11, and memory as the call does.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}
