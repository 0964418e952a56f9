//! The heap: its limit, which lies below the machine's, so that what is over it ends here, with a status that says so; and its holes,
//! which a base fills.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Status of a process whose heap was over its limit.
pub const STATUS: i32 = 86;

/// What the engine may use before a program has said how much it wants.
pub const START_BYTES: usize = 64 << 20;

/// What was in use when the holes were filled.
static BASE_BYTES: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(START_BYTES);

/// Sets the limit from now on; heeded when the heap next grows to the one before.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

/// The engine is near `current` bytes: a higher limit, or the end.
///
/// An error that the handler could catch would not do: there would be no memory left to answer with.
pub fn near_limit(current: usize) -> usize {
    let limit = LIMIT.load(Ordering::Relaxed);
    if current < limit {
        return limit;
    }
    eprintln!("guest-core: the heap is over its limit of {limit} bytes");
    std::process::exit(STATUS)
}

/// Sizes of holes that are filled, largest first: halves down to 1 KiB, below that each size that glibc's allocator tells apart.
fn hole_sizes() -> impl Iterator<Item = usize> {
    let halves = (10..=16).rev().map(|bits| 1 << bits);
    halves.chain((1..64).rev().map(|n| 16 * n + 8))
}

/// Takes what the allocator has free between the chunks in use, for good: what is allocated from now on lies together, behind all that
/// there is. Programs that go on from here share the pages that they do not write, and a hole in one would be written soon.
///
/// ```text
/// before  [used][hole][used][hole][used][top .........]
/// after   [used][gone][used][gone][used][program's ...]
/// ```
pub fn fill_holes() {
    let top = top_of_heap();
    for size in hole_sizes() {
        loop {
            // SAFETY: any size may be asked for; the chunk is never used.
            let chunk = unsafe { libc::malloc(size) };
            if chunk.is_null() || chunk as usize >= top {
                // No hole of this size is left.
                // SAFETY: it came from `malloc`, or is null.
                unsafe { libc::free(chunk) };
                break;
            }
        }
    }
    BASE_BYTES.store(used(), Ordering::Relaxed);
}

/// Bytes that the program has taken since the holes were filled.
pub fn grown() -> usize {
    used().saturating_sub(BASE_BYTES.load(Ordering::Relaxed))
}

fn used() -> usize {
    // SAFETY: it only reads the allocator's books.
    unsafe { libc::mallinfo2() }.uordblks
}

/// Where the heap's last chunk begins, which is free and can grow.
fn top_of_heap() -> usize {
    // SAFETY: both only read the allocator's books; there is one thread.
    let (end, free) = unsafe { (libc::sbrk(0) as usize, libc::mallinfo2().keepcost) };
    end - free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_holes_are_filled_lies_behind_all_that_was_there() {
        let chunks: Vec<Box<[u8]>> = (0..4000)
            .map(|i| vec![1; 24 + i % 3000].into_boxed_slice())
            .collect();
        // Every second one leaves a hole.
        let kept: Vec<_> = chunks.into_iter().step_by(2).collect();
        let last = kept.iter().map(|chunk| chunk.as_ptr() as usize).max().unwrap();
        fill_holes();
        for size in [8, 24, 100, 500, 1000, 2000, 4000, 20_000] {
            let fresh = vec![2u8; size].into_boxed_slice();
            assert!(fresh.as_ptr() as usize > last, "{size} bytes in a hole");
            std::mem::forget(fresh);
        }
    }
}
