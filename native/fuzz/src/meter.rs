//! Counts what a thread allocates, so that a target can say that hostile bytes cost no more than they should.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a piece of work allocated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Bytes, freed ones included.
    pub bytes: usize,
    /// How often.
    pub times: usize,
}

thread_local! {
    static SPENT: Cell<Spent> = const { Cell::new(Spent { bytes: 0, times: 0 }) };
}

struct Meter;

fn count(bytes: usize) {
    // A thread that ends may allocate after its cells are gone.
    let _ = SPENT.try_with(|spent| {
        let Spent { bytes: sum, times } = spent.get();
        spent.set(Spent {
            bytes: sum.wrapping_add(bytes),
            times: times.wrapping_add(1),
        });
    });
}

// SAFETY: every method hands its arguments to the system's allocator as they came; counting touches a cell of the thread that needs no
// allocation and has no destructor.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: `old` came from `System` through this allocator; the rest is the caller's promise.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static METER: Meter = Meter;

/// Does some work and says what it allocated on this thread.
pub(crate) fn measure<T>(work: impl FnOnce() -> T) -> (T, Spent) {
    let before = SPENT.get();
    let value = work();
    let after = SPENT.get();
    let spent = Spent {
        bytes: after.bytes.wrapping_sub(before.bytes),
        times: after.times.wrapping_sub(before.times),
    };
    (value, spent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measure_counts_bytes_and_times() {
        let (kept, spent) = measure(|| vec![vec![0_u8; 1000], Vec::with_capacity(500)]);
        assert_eq!(kept.len(), 2);
        assert!(
            (1500..2000).contains(&spent.bytes) && spent.times == 3,
            "{spent:?}"
        );
    }
}
