//! The limit of the heap. It lies below the machine's, so that what is over it ends here, with a status that says so.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Status of a process whose heap was over its limit.
pub const STATUS: i32 = 86;

/// What the engine may use before a program has said how much it wants.
pub const START_BYTES: usize = 64 << 20;

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
