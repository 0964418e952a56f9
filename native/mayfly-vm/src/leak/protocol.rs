//! What the two sides say to each other.
//!
//! A request's header is one [`Ask`] byte. Its body is, for `Plant`, the ending and all secret words, masked, then sixteen
//! bytes that the planter leaves unread; for `Look`, the digests of all secret words. A report lies in the planter's memory at the
//! address that `Hello` answers: what it could not do, and where it planted.

use super::places::PLACES;

/// What the planter is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ask {
    /// Answer the report's address and the CPU's vector level.
    Hello = b'h',
    /// Plant in all places and end.
    Plant = b'p',
    /// Search own memory and registers, and tell what the system says.
    Look = b'l',
    /// Execute an instruction that ring 3 may not; the body's byte says which.
    Forbidden = b'f',
}

/// How a request that planted ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// By a fault, which kills the program: every register is the guest's.
    Fault = 0,
    /// By its deadline, in an endless loop.
    Deadline = 1,
    /// By its answer.
    Answer = 2,
}

/// Vector registers of the CPU: 1 is SSE, 2 is AVX, 3 is AVX-512.
pub const AVX: u64 = 2;
/// See [`AVX`].
pub const AVX512: u64 = 3;

/// What masked words are combined with, so that a secret lies nowhere but in its place.
pub const MASK: u64 = 0x9e37_79b9_7f4a_7c15;

/// A digest that a search compares, so that the searcher holds no secret that it could find.
pub fn digest(word: u64) -> u64 {
    let x = (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ x >> 32).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Words of a report, one for each place: the address of the plant, or a negative error number.
pub const REPORT_WORDS: usize = PLACES.len();

/// Instructions that ring 3 may not execute, by the byte that asks for each.
pub const FORBIDDEN: [&str; 8] = [
    "mov dr0", "mov dr7", "wrmsr", "swapgs", "xsetbv", "mov cr3", "wrpkru", "lgdt",
];
