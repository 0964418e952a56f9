//! A guest's address space: the calls that change it, demand faults, and copies between guest and host.
//!
//! Every copy goes through [`AddressSpace::read`] and [`AddressSpace::write`]: what the guest can write is copied once, then checked,
//! then used.

mod copy;

use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::bounds;
use crate::errno::Errno;
use crate::limits::Limits;
use crate::machine::{Machine, PAGE, Protection, USER_END, USER_START};
use crate::mem::vma::{Mapping, Purpose, Source, VmaTree};

/// Where top-down placement starts when the guest leaves the address to us.
pub const MMAP_TOP: u64 = 0x7fff_f000_0000;
/// End of the first thread's stack.
pub const STACK_TOP: u64 = 0x7fff_ffff_e000;
/// Length of the first thread's stack, in bytes.
pub const STACK_BYTES: u64 = 8 << 20;

/// What an instruction was about to do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An instruction fetch.
    Execute,
}

/// Why a page cannot be given to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultError {
    /// Nothing is mapped there (SEGV_MAPERR).
    Unmapped,
    /// The mapping does not allow this access (SEGV_ACCERR).
    Denied,
    /// The page lies beyond the end of the mapped file (SIGBUS).
    BeyondFile,
    /// The machine has no page left.
    OutOfMemory,
}

/// Bounds on an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceLimits {
    /// Most mappings.
    pub mappings: usize,
    /// Most bytes mapped in all, touched or not.
    pub reserved: u64,
    /// Pages mapped at once when one is touched.
    pub fault_around: u64,
}

/// The address space of the one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressSpace {
    /// What is mapped where.
    pub tree: VmaTree,
    limits: SpaceLimits,
    /// The `brk` area's first byte and its current end.
    heap: Range<u64>,
}

/// What to map: access, content and purpose.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Access of ring 3.
    pub protection: Protection,
    /// What the pages hold at first.
    pub source: Source,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether MAP_SHARED was given.
    pub shared: bool,
}

/// Where to map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Anywhere.
    Any,
    /// Exactly there, over whatever was there.
    Fixed(u64),
    /// Exactly there, if nothing is there.
    FixedFree(u64),
}

/// Rounds a length up to whole pages; `None` when that overflows.
fn whole_pages(length: u64) -> Option<u64> {
    length.checked_next_multiple_of(PAGE)
}

/// The page range of an address and length that a guest gave.
fn page_range(start: u64, length: u64) -> Result<Range<u64>, Errno> {
    if !start.is_multiple_of(PAGE) {
        return Err(Errno::EINVAL);
    }
    let end = whole_pages(length)
        .and_then(|length| start.checked_add(length))
        .ok_or(Errno::ENOMEM)?;
    Ok(start..end)
}

fn pages(range: &Range<u64>) -> u64 {
    (range.end - range.start) / PAGE
}

/// What is left of a range behind so many bytes.
fn rest_of(range: &Range<u64>, done: u64) -> Range<u64> {
    (range.start + done).min(range.end)..range.end
}

/// UNFINISHED unless all is done.
fn finished(done: bool) -> Result<(), Errno> {
    if done { Ok(()) } else { Err(Errno::UNFINISHED) }
}

impl SpaceLimits {
    /// Those of a guest.
    #[must_use]
    pub fn of(limits: &Limits) -> Self {
        Self {
            mappings: limits.mappings,
            reserved: limits.reserved_bytes,
            fault_around: limits.fault_around,
        }
    }
}

impl AddressSpace {
    /// An empty address space.
    #[must_use]
    pub fn new(limits: SpaceLimits) -> Self {
        Self {
            tree: VmaTree::default(),
            limits,
            heap: 0..0,
        }
    }

    /// Sets other bounds. Mappings over them stay.
    pub fn set_limits(&mut self, limits: SpaceLimits) {
        self.limits = limits;
    }

    /// Sets where the `brk` area starts; it is empty at first.
    pub fn set_heap(&mut self, start: u64) {
        self.heap = start..start;
    }

    /// [`Errno::OVER_MAPPINGS`] or [`Errno::OVER_RESERVED`], which are ENOMEM to the guest, over a limit.
    fn room_for(&self, mappings: usize, bytes: u64) -> Result<(), Errno> {
        if self.tree.len() + mappings > self.limits.mappings {
            return Err(Errno::OVER_MAPPINGS);
        }
        match self.tree.reserved().checked_add(bytes) {
            Some(sum) if sum <= self.limits.reserved => Ok(()),
            _ => Err(Errno::OVER_RESERVED),
        }
    }

    /// Maps `length` bytes and gives the address.
    ///
    /// # Errors
    /// EINVAL for an empty or unaligned range, EEXIST where [`Place::FixedFree`] is taken, ENOMEM over a limit or outside user space,
    /// UNFINISHED when more was mapped there than one piece of work takes away.
    pub fn map(
        &mut self,
        m: &mut impl Machine,
        place: Place,
        length: u64,
        wanted: Wanted,
    ) -> Result<u64, Errno> {
        if length == 0 {
            return Err(Errno::EINVAL);
        }
        let length = whole_pages(length).ok_or(Errno::ENOMEM)?;
        let start = match place {
            Place::Any => self.tree.gap_below(MMAP_TOP, length).ok_or(Errno::ENOMEM)?,
            Place::Fixed(at) | Place::FixedFree(at) => at,
        };
        let range = page_range(start, length)?;
        if range.end > USER_END {
            return Err(Errno::ENOMEM);
        }
        if range.start < USER_START {
            return Err(Errno::EPERM);
        }
        self.room_for(1 + self.tree.cuts(range.clone()), length)?;
        if !self.tree.is_free(range.clone()) {
            if place == Place::FixedFree(start) {
                return Err(Errno::EEXIST);
            }
            self.clear(m, range.clone())?;
        }
        let Wanted {
            protection,
            source,
            purpose,
            shared,
        } = wanted;
        self.tree.insert(
            start,
            Mapping {
                end: range.end,
                protection,
                source,
                purpose,
                shared,
            },
        );
        Ok(start)
    }

    /// Where a piece of work ends that goes over the mappings of a range from its start: the range's end where it has no more mappings
    /// than a piece.
    fn piece_of(&self, range: &Range<u64>) -> u64 {
        let behind = self.tree.overlapping(range.clone()).nth(bounds::MAPPINGS);
        behind.map_or(range.end, |(start, _)| start)
    }

    /// Takes away what is mapped in a range, lowest first.
    ///
    /// # Errors
    /// UNFINISHED when that is more than a piece of work: the same call takes the rest.
    fn clear(&mut self, m: &mut impl Machine, range: Range<u64>) -> Result<(), Errno> {
        let first = self.tree.overlapping(range.clone()).next();
        let Some(start) = first.map(|(start, _)| start.max(range.start)) else {
            return Ok(());
        };
        let piece = start..self.piece_of(&(start..range.end));
        let reached = m.unmap(piece.start, pages(&piece), bounds::WORK);
        self.tree.remove(start..reached);
        if self.tree.is_free(reached..range.end) {
            Ok(())
        } else {
            Err(Errno::UNFINISHED)
        }
    }

    /// `munmap`.
    ///
    /// # Errors
    /// EINVAL for an empty or unaligned range, ENOMEM when the cut would make too many mappings, UNFINISHED when that is more than a
    /// piece of work: the same call takes the rest.
    pub fn unmap(&mut self, m: &mut impl Machine, start: u64, length: u64) -> Result<(), Errno> {
        let range = page_range(start, length).map_err(|_| Errno::EINVAL)?;
        if range.is_empty() || range.end > USER_END {
            return Err(Errno::EINVAL);
        }
        self.room_for(usize::from(self.tree.cuts(range.clone()) == 2), 0)?;
        self.clear(m, range)
    }

    /// `mprotect`. `done` counts the bytes that earlier pieces of the call went over, and this one.
    ///
    /// # Errors
    /// EINVAL for an unaligned start, ENOMEM when part of the range is not mapped or there would be too many mappings, UNFINISHED when
    /// that is more than a piece of work.
    pub fn protect(
        &mut self,
        m: &mut impl Machine,
        start: u64,
        length: u64,
        protection: Protection,
        done: &mut u64,
    ) -> Result<(), Errno> {
        let range = page_range(start, length)?;
        if range.is_empty() {
            return Ok(());
        }
        if *done == 0 && (range.end > USER_END || !self.tree.covers(range.clone())) {
            return Err(Errno::ENOMEM);
        }
        let rest = rest_of(&range, *done);
        let piece = rest.start..self.piece_of(&rest);
        let mut mappings = self.tree.overlapping(piece.clone());
        let same = mappings.all(|(_, mapping)| mapping.protection == protection);
        drop(mappings);
        if *done == 0 && !(same && piece.end == range.end) {
            self.room_for(self.tree.cuts(range.clone()), 0)?;
        }
        let reached = if same {
            piece.end
        } else {
            let reached = m.protect(piece.start, pages(&piece), protection, bounds::WORK);
            self.tree.protect(piece.start..reached, protection);
            reached
        };
        *done = reached - range.start;
        finished(reached == range.end)
    }

    /// `madvise(MADV_DONTNEED)`: anonymous pages read as zeros afterwards, pages of files as the file. `done` counts the bytes that
    /// earlier pieces of the call went over, and this one.
    ///
    /// # Errors
    /// EINVAL for an unaligned start, ENOMEM when part of the range is not mapped (the rest is done all the same), UNFINISHED when that is
    /// more than a piece of work.
    pub fn forget(
        &mut self,
        m: &mut impl Machine,
        start: u64,
        length: u64,
        done: &mut u64,
    ) -> Result<(), Errno> {
        let range = page_range(start, length).map_err(|_| Errno::EINVAL)?;
        if range.is_empty() {
            return Ok(());
        }
        let (rest, mut left) = (rest_of(&range, *done), bounds::WORK);
        for (start, mapping) in self.tree.overlapping(rest.clone()).take(bounds::MAPPINGS) {
            let part = start.max(rest.start)..mapping.end.min(rest.end);
            let before = m.work();
            let reached = match mapping.source {
                Source::Anonymous => m.discard(part.start, pages(&part), left),
                Source::File { .. } => m.unmap(part.start, pages(&part), left),
            };
            *done = reached - range.start;
            left = left.saturating_sub(m.work() - before);
            if reached < part.end {
                return Err(Errno::UNFINISHED);
            }
        }
        let rest = rest_of(&range, *done);
        finished(rest.is_empty() || self.tree.is_free(rest))?;
        if self.tree.covers(range) {
            Ok(())
        } else {
            Err(Errno::ENOMEM)
        }
    }

    /// `mremap` of one mapping (or a part of one). `place` is `Any` with MREMAP_MAYMOVE alone, `Fixed` with MREMAP_FIXED; `None` may not
    /// move. `target` is where earlier pieces of the call began to move it, and this one; 0 before that.
    ///
    /// # Errors
    /// EINVAL for bad ranges, EFAULT when the old range is not one mapping, ENOMEM when there is no room, UNFINISHED when that is more
    /// than a piece of work.
    pub fn remap(
        &mut self,
        m: &mut impl Machine,
        old: u64,
        old_length: u64,
        new_length: u64,
        place: Option<Place>,
        target: &mut u64,
    ) -> Result<u64, Errno> {
        let from = page_range(old, old_length).map_err(|_| Errno::EINVAL)?;
        let new_length = whole_pages(new_length).ok_or(Errno::EINVAL)?;
        if new_length == 0 || from.is_empty() || from.end > USER_END {
            return Err(Errno::EINVAL);
        }
        let fixed = match place {
            Some(Place::Fixed(at) | Place::FixedFree(at)) => {
                Some(page_range(at, new_length).map_err(|_| Errno::EINVAL)?)
            }
            _ => None,
        };
        if let Some(to) = &fixed
            && (to.start < from.end && from.start < to.end || to.end > USER_END || to.start < USER_START)
        {
            return Err(Errno::EINVAL);
        }
        let old_length = pages(&from) * PAGE;
        // A fixed target may shrink the mapping: only what fits moves.
        let moved = old_length.min(new_length);
        if *target != 0 {
            return self.move_pages(m, from, moved, *target);
        }
        let (start, mapping) = self.tree.find(old).ok_or(Errno::EFAULT)?;
        let mut mapping = mapping.clone();
        if fixed.is_none() && new_length <= old_length {
            if new_length < old_length {
                self.unmap(m, old + new_length, old_length - new_length)?;
            }
            return Ok(old);
        }
        if mapping.end < from.end {
            return Err(Errno::EFAULT);
        }
        if let Source::File { offset, .. } = &mut mapping.source {
            *offset += old - start;
        }
        let Mapping {
            end,
            protection,
            source,
            purpose,
            shared,
        } = mapping;
        let grown = old.checked_add(new_length).filter(|&end| end <= USER_END);
        if let (None, Some(grown)) = (&fixed, grown)
            && end == from.end
            && self.tree.is_free(from.end..grown)
        {
            self.room_for(1, new_length - old_length)?;
            let source = match source {
                Source::File {
                    file,
                    offset,
                    name,
                    inode,
                } => Source::File {
                    file,
                    offset: offset + old_length,
                    name,
                    inode,
                },
                Source::Anonymous => Source::Anonymous,
            };
            self.tree.insert(
                from.end,
                Mapping {
                    end: grown,
                    protection,
                    source,
                    purpose,
                    shared,
                },
            );
            return Ok(old);
        }
        let place = place.ok_or(Errno::ENOMEM)?;
        self.room_for(3, new_length)?;
        let to = self.map(
            m,
            place,
            new_length,
            Wanted {
                protection,
                source,
                purpose,
                shared,
            },
        )?;
        *target = to;
        self.move_pages(m, from.clone(), moved, to).or_else(|errno| {
            if errno == Errno::ENOMEM {
                // No table was left, and nothing has moved.
                *target = 0;
                self.clear(m, to..to + new_length)?;
            }
            Err(errno)
        })
    }

    /// Moves the pages of a range to where they are mapped already, and takes the range away.
    fn move_pages(
        &mut self,
        m: &mut impl Machine,
        from: Range<u64>,
        moved: u64,
        to: u64,
    ) -> Result<u64, Errno> {
        let reached = m
            .remap(from.start, to, moved / PAGE, bounds::WORK)
            .map_err(|_| Errno::ENOMEM)?;
        finished(reached == from.start + moved)?;
        self.clear(m, from)?;
        Ok(to)
    }

    /// `brk`: moves the end of the heap, if it can, and gives its end.
    ///
    /// # Errors
    /// UNFINISHED when that is more than a piece of work: the same call does the rest.
    pub fn brk(&mut self, m: &mut impl Machine, end: u64) -> Result<u64, Errno> {
        let (old, new) = (whole_pages(self.heap.end), whole_pages(end));
        let (Some(old), Some(new)) = (old, new) else {
            return Ok(self.heap.end);
        };
        if end < self.heap.start || new > USER_END {
            return Ok(self.heap.end);
        }
        if new < old {
            self.clear(m, new..old)?;
        } else if new > old {
            let wanted = Wanted {
                protection: Protection::READ_WRITE,
                source: Source::Anonymous,
                purpose: Purpose::Heap,
                shared: false,
            };
            if self.map(m, Place::FixedFree(old), new - old, wanted).is_err() {
                return Ok(self.heap.end);
            }
        }
        self.heap.end = end;
        Ok(end)
    }
}

#[cfg(test)]
mod tests;
