//! Guest-physical frames: who owns which.

use crate::error::{Error, Result};
use crate::layout::PAGE;

/// Hands out 4 KiB frames of private memory, lowest first, freed ones before new ones. Plain data: a snapshot clones it, a
/// reset puts it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    /// First frame never handed out.
    next: u64,
    /// Freed frames, last in first out. Their content is whatever the program left there.
    free: Vec<u64>,
    /// Frames in use.
    used: u64,
    /// Frames' worth of memory that the owner of the machine took elsewhere on the program's behalf.
    charged: u64,
    /// Most frames in use at a time, those included.
    limit: u64,
}

/// A frame just handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fresh {
    pub frame: u64,
    /// It was used before and must be zeroed.
    pub recycled: bool,
}

impl Frames {
    pub fn new(first: u64, limit_bytes: u64) -> Frames {
        Frames {
            next: first,
            free: Vec::new(),
            used: 0,
            charged: 0,
            limit: limit_bytes / PAGE,
        }
    }

    /// Those of a snapshot that was read from a file: none is free below `next`.
    pub fn stored(next: u64, used: u64, charged: u64, limit_bytes: u64) -> Frames {
        Frames {
            next,
            free: Vec::new(),
            used,
            charged,
            limit: limit_bytes / PAGE,
        }
    }

    /// Frames in use, and frames' worth of memory charged.
    pub fn counts(&self) -> (u64, u64) {
        (self.used, self.charged)
    }

    pub fn allocate(&mut self) -> Result<Fresh> {
        if self.used + self.charged >= self.limit {
            return Err(Error::OutOfMemory {
                limit: self.limit * PAGE,
            });
        }
        self.used += 1;
        if let Some(frame) = self.free.pop() {
            return Ok(Fresh {
                frame,
                recycled: true,
            });
        }
        let frame = self.next;
        self.next += PAGE;
        Ok(Fresh {
            frame,
            recycled: false,
        })
    }

    pub fn release(&mut self, frame: u64) {
        debug_assert!(frame < self.next, "a frame that was never handed out");
        self.used -= 1;
        self.free.push(frame);
    }

    /// Sets `count` frames in a row aside and returns the first; they do not count against the limit.
    pub fn reserve(&mut self, count: u64) -> u64 {
        let first = self.next;
        self.next += count * PAGE;
        first
    }

    /// Gives the frames from `end` on back, of which none may be in use or freed.
    pub fn continue_from(&mut self, end: u64) {
        debug_assert!(self.free.iter().all(|f| *f < end), "a freed frame is given back");
        self.next = end;
    }

    /// Forgets the freed frames: they stay holes for ever.
    pub fn forget_free(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.free)
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn used_bytes(&self) -> u64 {
        self.used * PAGE
    }

    /// Counts bytes that were taken elsewhere against the limit, in place of those of the last call. Whether they are more or fewer pages.
    pub fn charge(&mut self, bytes: u64) -> bool {
        let before = std::mem::replace(&mut self.charged, bytes.div_ceil(PAGE));
        self.charged != before
    }

    /// Bytes that may still be handed out.
    pub fn free_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.used + self.charged) * PAGE
    }

    pub fn limit_bytes(&self) -> u64 {
        self.limit * PAGE
    }

    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes / PAGE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocate_reuses_freed_frames_and_says_so() {
        let mut f = Frames::new(0x10000, 1 << 20);
        let a = f.allocate().unwrap();
        let b = f.allocate().unwrap();
        assert_eq!((a.frame, a.recycled, b.frame), (0x10000, false, 0x11000));
        f.release(a.frame);
        assert_eq!(
            f.allocate().unwrap(),
            Fresh {
                frame: 0x10000,
                recycled: true
            }
        );
        assert_eq!(f.next(), 0x12000);
    }

    #[test]
    fn allocate_stops_at_the_limit_and_goes_on_below_it() {
        let mut f = Frames::new(0, 2 * PAGE);
        f.allocate().unwrap();
        let b = f.allocate().unwrap();
        assert!(matches!(f.allocate(), Err(Error::OutOfMemory { limit: 8192 })));
        f.release(b.frame);
        f.allocate().unwrap();
        assert_eq!(f.used_bytes(), 2 * PAGE);
    }
}
