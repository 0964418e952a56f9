//! An allocator that counts: bytes that live now, and the most that did.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counted;

fn count(change: isize) {
    // A thread that ends may free after its cells are gone.
    let _ = LIVE.try_with(|cell| {
        let (live, most) = cell.get();
        cell.set((live + change, most.max(live + change)));
    });
}

// SAFETY: every method hands its arguments to the system's allocator as they came; counting touches a cell of the thread that needs no
// allocation and has no destructor.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old block and the new one may both be there for a moment.
        count(size as isize);
        // SAFETY: `old` came from `System` through this allocator; the rest is the caller's promise.
        let new = unsafe { System.realloc(old, layout, size) };
        count(-(layout.size() as isize));
        new
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// Bytes of this thread that live now.
pub fn live() -> i64 {
    LIVE.get().0 as i64
}

/// The most that lived since the last call.
pub fn most() -> i64 {
    let (live, most) = LIVE.get();
    LIVE.set((live, live));
    most as i64
}
