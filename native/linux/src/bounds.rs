//! How much work one system call may be, in counts: in this file and nowhere else.
//!
//! A call that has more to do stops after such a piece, with what it has done kept ([`crate::task::threads::Thread::moved`]) and the
//! registers set back to its `syscall` instruction ([`crate::errno::Errno::UNFINISHED`]). The guest makes it again at once, and before it does the
//! host looks whether a deadline has passed. No other thread of the guest runs and no signal is delivered meanwhile: to the guest the call
//! is one. A piece takes 2 ms of a host's time at most, by far less where it is quick; `mayfly-vm bench calls` looks for those that do not.
//!
//! ```text
//! what a call does                          goes on behind        is refused above           is short
//! copies, random bytes, parts of vectors    BYTES, WORK
//! mmap munmap mprotect mremap madvise brk   WORK, MAPPINGS
//! mincore                                   LOOKS
//! close_range                               CLOSES
//! opening /proc/self/maps                   MAPPINGS
//! getdents                                                                                   LISTING
//! walks along paths                                               WALK (ELOOP)
//! paths of nodes                                                  PATH_MAX (ENAMETOOLONG)
//! renames of directories                                          DEPTH (ENAMETOOLONG)
//! epoll_ctl                                                       INTERESTS (ENOSPC)
//! signal frames                             FRAMES, at an exit
//! poll, select, epoll_wait: one look at each file and each set, see `files/ready.rs`
//! a write to a file that a snapshot or a mapping shares: moves the blocks of 64 KiB that it meets (`fs/blocks.rs`)
//! everything else: a constant, or a look at each thread or descriptor
//! ```

use crate::machine::Machine;

/// Bytes that are copied between guest and host.
pub const BYTES: u64 = 256 << 10;
/// Random bytes are as dear as so many copied ones.
pub const RANDOM_WEIGHT: u64 = 2;
/// Work on pages: how many are mapped, unmapped, protected, moved or filled with zeros, by [`Machine::work`].
pub const WORK: u64 = 1024;
/// Mappings that are looked at and changed.
pub const MAPPINGS: usize = 512;
/// Pages that are looked at.
pub const LOOKS: u64 = 16_384;
/// Descriptors that are closed.
pub const CLOSES: usize = 64;
/// Bytes of a directory's listing that are given at once.
pub const LISTING: u64 = 32 << 10;
/// Names looked up on the way along a path, those in links included.
pub const WALK: u32 = 3 * 1024;
/// Directories above a node that are looked at.
pub const DEPTH: usize = 2048;
/// Files in all epoll sets together, for each descriptor allowed.
pub const INTERESTS: usize = 4;
/// Signal frames that are put on the stack before the first handler runs.
pub const FRAMES: usize = 16;

/// A piece of a call's work, as it grows.
#[derive(Debug)]
pub(crate) struct Piece {
    /// [`Machine::work`] when it began.
    work: u64,
    bytes: u64,
}

impl Piece {
    /// One that begins now.
    pub fn begin(m: &impl Machine) -> Self {
        Self {
            work: m.work(),
            bytes: 0,
        }
    }

    /// Counts bytes that were copied, or what is as dear.
    pub fn count(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Bytes that still belong to it.
    pub fn left(&self) -> u64 {
        BYTES.saturating_sub(self.bytes)
    }

    /// Whether it is as large as may be.
    pub fn is_full(&self, m: &impl Machine) -> bool {
        self.bytes >= BYTES || m.work() - self.work >= WORK
    }
}
