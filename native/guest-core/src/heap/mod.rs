//! The heap of the whole process: what `malloc` and Rust's allocations take, laid out so that a request writes to few pages.
//!
//! A reset copies back every page that a request wrote, and QuickJS writes to whatever it looks at, since it counts references. Blocks
//! that most requests write to lie together, in the hot zone, and what a request itself makes lies together behind the mark:
//!
//! ```text
//! start                 HOT_BYTES                          mark            next
//! | hot: by the layout  | engine, surface, bundle          | of requests    | untouched ...
//! +---------------------+----------------------------------+----------------+--------------
//!   few pages, written    read by a request                  few pages, written
//! ```
//!
//! The _layout_ is a list of blocks by their number: `malloc`s of a start are the same in every start, as nothing in it depends on randomness or
//! time, so the n-th of a size in one is the n-th in the other. [`trace`](crate::trace) finds it. A number that means something else puts another block in
//! the hot zone, which costs pages and nothing more.
//!
//! A block has a header of 8 bytes, its class and its room; free blocks of a class are a list. There is one thread, and another that asks for memory ends
//! the process.

mod class;
mod exports;
mod zones;

use std::cell::UnsafeCell;

use zones::Zones;

struct Process(UnsafeCell<Zones>);

// SAFETY: `with` lets one thread in.
unsafe impl Sync for Process {}

static PROCESS: Process = Process(UnsafeCell::new(Zones::EMPTY));

/// Runs `what` on the heap, which it must not be on already.
fn with<T>(what: impl FnOnce(&mut Zones) -> T) -> T {
    // SAFETY: the first thread alone passes `claim`; no function of `Zones` allocates, so none is entered twice.
    let zones = unsafe { &mut *PROCESS.0.get() };
    zones.claim(thread());
    what(zones)
}

/// The thread's pointer: another one for each thread.
fn thread() -> usize {
    let pointer;
    // SAFETY: on x86-64 Linux the word at %fs:0 is its own address (ABI of thread-local storage).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// Counts blocks from now on, and puts those of the layout (ascending numbers) into the hot zone.
pub fn begin(layout: &'static [u32]) {
    with(|zones| zones.begin(layout));
}

/// A layout from a file of ascending numbers, 32 bits each, little-endian.
pub fn read_layout(path: &str) -> Result<&'static [u32], String> {
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read the layout {path}: {error}"))?;
    let (numbers, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(format!(
            "cannot use the layout {path}: {} bytes, wanted a multiple of 4",
            bytes.len()
        ));
    }
    // Kept for as long as the process lives.
    Ok(numbers
        .iter()
        .map(|number| u32::from_le_bytes(*number))
        .collect::<Vec<_>>()
        .leak())
}

/// Counts blocks anew: what differs between two starts before this point differs no more.
pub fn next_phase() {
    with(Zones::next_phase);
}

/// What is made from now on lies behind all that is there, on pages of its own.
pub fn mark() {
    with(Zones::mark);
}

/// [`mark`], unless there is one.
pub fn mark_once() {
    with(|zones| {
        if !zones.is_marked() {
            zones.mark();
        }
    });
}

/// Bytes that were taken behind the mark, free ones included.
pub fn grown() -> usize {
    with(|zones| zones.grown())
}

/// Blocks that are made from now on are noted: their numbers, by address. For the tracing alone.
pub fn note() -> Result<(), String> {
    with(Zones::note)
}

/// The part of the heap that is in use, but for the hot zone.
pub fn used() -> std::ops::Range<usize> {
    with(|zones| zones.used())
}

/// The number of the block at an address of [`used`], if it was noted.
pub fn number_at(address: usize) -> Option<u32> {
    with(|zones| zones.number_at(address))
}
