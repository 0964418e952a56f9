//! The three descriptors that a guest has. Each function is one system call, but for a call that a signal cut off.

use deno_core::op2;
use deno_error::JsErrorBox;

use crate::trace;

/// `read(0)`: how many bytes came, 0 at the end of input.
pub fn read(into: &mut [u8]) -> Result<usize, JsErrorBox> {
    if let Some(count) = trace::read(into) {
        return Ok(count as usize);
    }
    // SAFETY: `into` is valid for writes of its length.
    let count = again("read", 0, || unsafe {
        libc::read(0, into.as_mut_ptr().cast(), into.len())
    })?;
    Ok(count as usize)
}

/// `poll(0)`: whether there is something to read, waiting for so many milliseconds at most; negative for ever.
pub fn poll(milliseconds: i32) -> Result<bool, JsErrorBox> {
    let mut input = libc::pollfd {
        fd: 0,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, valid for reads and writes.
    let ready = again("poll", 0, || unsafe {
        libc::poll(&mut input, 1, milliseconds) as isize
    })?;
    Ok(ready > 0)
}

/// `write(1)`: how many bytes were taken.
pub fn write(bytes: &[u8]) -> Result<usize, JsErrorBox> {
    if let Some(count) = trace::write(bytes) {
        return Ok(count as usize);
    }
    Ok(write_to(1, bytes)? as usize)
}

/// `write(2)`: how many bytes were taken.
#[op2(fast)]
pub fn op_mayfly_log(#[buffer] bytes: &[u8]) -> Result<u32, JsErrorBox> {
    write_to(2, bytes)
}

fn write_to(descriptor: i32, bytes: &[u8]) -> Result<u32, JsErrorBox> {
    // SAFETY: `bytes` is valid for reads of its length.
    again("write", descriptor, || unsafe {
        libc::write(descriptor, bytes.as_ptr().cast(), bytes.len())
    })
}

fn again(name: &str, descriptor: i32, mut call: impl FnMut() -> isize) -> Result<u32, JsErrorBox> {
    loop {
        let count = call();
        // Linux moves at most 0x7ffff000 bytes at once.
        if let Ok(count) = u32::try_from(count) {
            return Ok(count);
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(JsErrorBox::generic(format!(
                "Cannot {name} file descriptor {descriptor}: {error}"
            )));
        }
    }
}
