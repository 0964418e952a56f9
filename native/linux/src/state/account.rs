//! Host memory that a guest's kernel state takes: one count, asked before it grows.
//!
//! ```text
//! before each call   held = mappings + nodes + files + threads + waits   (`COST` of each type)
//!                    the machine counts `held` against the guest's memory, as it does frames
//!                    what is left is the room of the accounts below
//! in the call        whatever grows takes from its account first: ENOSPC for files, ENOMEM for the rest
//! after it           the machine is told the new sum: pages that no longer fit end the guest as any others
//! ```
//!
//! Costs are upper bounds on what the host's allocator gives, with the slack of vectors that double and of trees whose leaves are half
//! full. `tests/host_memory` holds them against an allocator that counts. The answer and the log have bounds of their own
//! ([`crate::limits::Limits::output_bytes`]), and what is read on fd 0 is the client's.

use crate::errno::Errno;

/// Rounding and header of the host's allocator.
pub(crate) const BLOCK: u64 = 24;

/// A place in a vector that doubles, and the marks that a [`crate::state::tracked::Slab`] keeps for it.
pub(crate) const fn slot(bytes: usize) -> u64 {
    2 * bytes as u64 + 40
}

/// An entry in a B-tree whose leaves of 11 have 5 at least, and a node above for every sixth leaf.
pub(crate) const fn entry(bytes: usize) -> u64 {
    11 * bytes as u64 / 5 + 24
}

/// The first leaf of a B-tree.
pub(crate) const fn leaf(bytes: usize) -> u64 {
    11 * bytes as u64 + 16 + BLOCK
}

/// Bytes in a block of their own.
#[must_use]
pub const fn bytes(length: usize) -> u64 {
    if length == 0 {
        0
    } else {
        length as u64 + 16 + BLOCK
    }
}

/// What one part of the kernel has taken, and may still take before the sum is looked at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    used: u64,
    room: u64,
}

impl Default for Account {
    /// Nothing taken, and no bound yet.
    fn default() -> Self {
        Self {
            used: 0,
            room: u64::MAX,
        }
    }
}

impl Account {
    /// Bytes taken.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Bytes that may still be taken.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Sets what may still be taken.
    pub fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// Whether so much more may be taken.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn ask(&self, bytes: u64) -> Result<(), Errno> {
        if bytes > self.room {
            Err(Errno::ENOMEM)
        } else {
            Ok(())
        }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// ENOMEM: nothing was taken.
    pub fn take(&mut self, bytes: u64) -> Result<(), Errno> {
        self.ask(bytes)?;
        self.count(bytes);
        Ok(())
    }

    /// Counts what was taken whatever the room: the host's own mounts, and what was asked for before.
    pub fn count(&mut self, bytes: u64) {
        self.used += bytes;
        self.room = self.room.saturating_sub(bytes);
    }

    /// Gives bytes back.
    pub fn give(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.used, "more is given back than was taken");
        self.used = self.used.saturating_sub(bytes);
        self.room = self.room.saturating_add(bytes);
    }
}
