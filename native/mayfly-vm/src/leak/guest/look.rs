//! What the next request sees: a search of everything that it can read, and what the system tells it.

use std::fmt::Write;

use mayfly_linux::syscall::number as n;

use super::calls::{call, call3};
use super::registers::{AREA, SELECTORS};
use super::{BODY, REMAPPED};
use crate::leak::protocol::digest;

/// Bytes of the body's table of low halves: a bit for each.
pub const FILTER_BYTES: usize = 8192;

/// Searches and asks; the answer is lines of `name=value`. `words` is how many digests the body has behind its filter.
pub fn look(words: usize) -> String {
    let mut lines = asked();
    // The answer lies in memory that is searched; the text of the maps is the last allocation.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in maps.lines() {
        if let Some((start, end)) = readable(line) {
            search(start, end, words, &mut lines);
        }
    }
    lines
}

/// The range of a line of the maps, if it can be read and a program can have written it.
fn readable(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let rights = fields.next()?;
    let inode = fields.nth(2)?;
    if !rights.starts_with('r') || inode != "0" && !rights.contains('w') {
        return None;
    }
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

/// Tells each secret word in a range, at every byte.
fn search(start: u64, end: u64, words: usize, lines: &mut String) {
    let filter = BODY.at().cast::<u8>();
    let mut low = 0_u64;
    for at in (start..end).step_by(8) {
        // SAFETY: the map says that the range can be read; other threads do not run.
        let high = unsafe { (at as *const u64).read_volatile() };
        if low | high != 0 {
            let both = u128::from(high) << 64 | u128::from(low);
            for shift in 0..8 {
                let word = (both >> (8 * shift)) as u64;
                let bit = word as u16;
                // SAFETY: the filter has a bit for each value of the low half.
                let byte = unsafe { filter.add(1 + usize::from(bit >> 3)).read() };
                if byte >> (bit & 7) & 1 == 1 {
                    tell(word, at.wrapping_sub(8) + shift, words, lines);
                }
            }
        }
        low = high;
    }
}

#[inline(never)]
fn tell(word: u64, at: u64, words: usize, lines: &mut String) {
    let sought = digest(word);
    for index in 0..words {
        // SAFETY: the digests lie behind the filter.
        let one = unsafe {
            BODY.at()
                .cast::<u8>()
                .add(1 + FILTER_BYTES + 8 * index)
                .cast::<u64>()
                .read_unaligned()
        };
        if one == sought {
            let _ = writeln!(lines, "found {index}={at:#x}");
        }
    }
}

/// What the system says: nothing of it may come from another request.
fn asked() -> String {
    // First, while a translation that should be gone may still be there.
    // SAFETY: the page is mapped since the start.
    let remapped = unsafe { (REMAPPED.at().read() as *const u64).read_volatile() };
    let mut out = String::with_capacity(64 << 10);
    let mut buffer = [0_u64; 64];
    let into = buffer.as_mut_ptr() as u64;
    let mut tell = |name: &str, result: i64, buffer: &mut [u64; 64]| {
        let _ = writeln!(out, "{name}={result} {:x?}", &buffer[..8]);
        buffer.fill(0);
    };
    // SAFETY: the calls write into the buffer, which is longer than any of their structures.
    unsafe {
        tell("page that was remapped", remapped.cast_signed(), &mut buffer);
        tell("working directory", call3(n::getcwd, into, 512, 0), &mut buffer);
        let umask = call3(n::umask, 0, 0, 0);
        call3(n::umask, umask.cast_unsigned(), 0, 0);
        tell("umask", umask, &mut buffer);
        tell("dumpable", call3(n::prctl, 3, 0, 0), &mut buffer);
        tell("thread's name", call3(n::prctl, 16, into, 0), &mut buffer);
        for signal in 1..=64 {
            let result = call(n::rt_sigaction, [signal, 0, into, 8, 0, 0]);
            tell(&format!("signal {signal}"), result, &mut buffer);
        }
        tell(
            "signal mask",
            call(n::rt_sigprocmask, [0, 0, into, 8, 0, 0]),
            &mut buffer,
        );
        tell("pending", call3(n::rt_sigpending, into, 8, 0), &mut buffer);
        tell("alternate stack", call3(n::sigaltstack, 0, into, 0), &mut buffer);
        tell("interval timer", call3(n::getitimer, 0, into, 0), &mut buffer);
        for resource in 0..16 {
            let result = call(n::prlimit64, [0, resource, 0, into, 0, 0]);
            tell(&format!("limit {resource}"), result, &mut buffer);
        }
        tell(
            "robust list",
            call3(n::get_robust_list, 0, into, into + 8),
            &mut buffer,
        );
        tell("end of heap", call3(n::brk, 0, 0, 0), &mut buffer);
        for fd in 0..1024 {
            let flags = call3(n::fcntl, fd, 1, 0);
            if flags >= 0 {
                tell(&format!("descriptor {fd}"), flags, &mut buffer);
            }
        }
        let got = call3(n::clock_gettime, 1, into, 0);
        let late = got == 0 && buffer[0] > 86_400;
        buffer.fill(0);
        tell("monotonic clock over a day", i64::from(late), &mut buffer);
        let (control, mxcsr) = (*AREA.at()).control();
        tell("x87 control word", control.into(), &mut buffer);
        tell("MXCSR", mxcsr.into(), &mut buffer);
        for (index, selector) in SELECTORS.at().read().into_iter().enumerate() {
            tell(&format!("selector {index}"), selector.into(), &mut buffer);
        }
        for (name, code) in [("FS base", 0x1003), ("GS base", 0x1004)] {
            tell(name, call3(n::arch_prctl, code, into, 0), &mut buffer);
        }
    }
    let folder = std::fs::read_dir("/tmp").map(|entries| {
        entries
            .flatten()
            .map(|e| format!("{:?} ", e.file_name()))
            .collect::<String>()
    });
    let _ = writeln!(out, "files in /tmp={folder:?}");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|l| l.starts_with("Threads")) {
        let _ = writeln!(out, "{}", line.replace(':', "="));
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in maps.lines() {
        let _ = writeln!(out, "mapping {}", line.replacen(' ', "=", 1));
    }
    out
}
