//! The frames that travel between Mayfly and the program in a virtual machine.
//!
//! One request is one frame in on the guest's fd 0, one answer is one frame out on its fd 1. A frame is a fixed head, a JSON header and
//! a raw body, back to back and without padding; all integers are little-endian:
//!
//! ```text
//!  0      4         5      6           8               12             16            16+h          16+h+b
//!  +------+---------+------+-----------+---------------+--------------+-- - - - - --+-- - - - - - -+
//!  | MAYF | version | kind | flags = 0 | header length | body length  |  header     |  body        |
//!  +------+---------+------+-----------+---------------+--------------+-- - - - - --+-- - - - - - -+
//! ```
//!
//! While a request is under way, either side may also send messages: frames of a kind of their own, any number of them, whose header begins
//! with the number of the exchange that they belong to:
//!
//! ```text
//!  16             20            16+h          16+h+b
//!  +--------------+-- - - - - --+-- - - - - - -+
//!  | exchange     |  head        |  body        |
//!  +--------------+-- - - - - --+-- - - - - - -+
//! ```
//!
//! A guest that says messages and waits for an answer may do both by one read on fd 0: its buffer begins with a frame without a header,
//! of the kind `Outbox`, whose body is whole messages. They are taken before the read waits, once.
//!
//! Both sides check a head before they believe a length, and count bytes before they copy one. The JSON inside the header is not this
//! crate's business: it is bytes here.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod head;

pub use head::{FrameError, Head, Kind, Limits, Progress, progress};

/// Length of a frame's fixed head, in bytes.
pub const HEAD_BYTES: usize = 16;

/// The first four bytes of every frame.
pub const MAGIC: [u8; 4] = *b"MAYF";

/// The layout that this crate speaks. A frame of another version is refused, never guessed at.
pub const VERSION: u8 = 1;

/// No JSON header is longer than this, in bytes, whatever the options say.
pub const HEADER_MAX: u32 = 1 << 20;

/// No body is longer than this, in bytes, whatever the options say.
pub const BODY_MAX: u32 = 1 << 30;

/// Bytes at the start of a message's header that name its exchange.
pub const EXCHANGE_BYTES: u32 = 4;

/// Longest parts of a message: the header is the exchange's number and a head of 64 KiB at most.
pub const MESSAGE_LIMITS: Limits = Limits {
    header: EXCHANGE_BYTES + (64 << 10),
    body: 1 << 20,
};

// The TypeScript side repeats these numbers (src/isolate/wire/wire.ts); a change here needs a new VERSION and a change there.
const _: () = {
    assert!(
        HEAD_BYTES == 16,
        "frame layout: see the drawing in the crate documentation"
    );
    assert!(
        u32::from_le_bytes(MAGIC) == 0x4659_414d,
        "frame layout: the magic is the four bytes MAYF"
    );
    assert!(
        VERSION == 1,
        "frame layout: a new version needs src/isolate/wire/wire.ts to follow"
    );
    assert!(
        Kind::Request as u8 == 1
            && Kind::Response as u8 == 2
            && Kind::Message as u8 == 3
            && Kind::Outbox as u8 == 4,
        "frame layout: kinds are on the wire"
    );
    assert!(
        HEAD_BYTES as u64 + HEADER_MAX as u64 + BODY_MAX as u64 <= u32::MAX as u64,
        "frame layout: a whole frame must be countable in 32 bits"
    );
};
