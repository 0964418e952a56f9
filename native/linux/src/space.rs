//! A guest's address space: the calls that change it, demand faults, and copies between guest and host.
//!
//! Every copy goes through [`AddressSpace::read`] and [`AddressSpace::write`]: what the guest can write is copied once, then checked,
//! then used.

use std::ops::Range;

use crate::errno::Errno;
use crate::machine::{Backing, Machine, PAGE, PageFault, PageState, Protection, USER_END, USER_START};
use crate::vma::{Mapping, Purpose, Source, VmaTree};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceLimits {
    /// Most mappings.
    pub mappings: usize,
    /// Most bytes mapped in all, touched or not.
    pub reserved: u64,
    /// Pages mapped at once when one is touched.
    pub fault_around: u64,
}

/// The address space of the one process.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Sets where the `brk` area starts; it is empty at first.
    pub fn set_heap(&mut self, start: u64) {
        self.heap = start..start;
    }

    fn room_for(&self, mappings: usize, bytes: u64) -> Result<(), Errno> {
        let fits = self.tree.len() + mappings <= self.limits.mappings
            && self
                .tree
                .reserved()
                .checked_add(bytes)
                .is_some_and(|sum| sum <= self.limits.reserved);
        if fits { Ok(()) } else { Err(Errno::ENOMEM) }
    }

    /// Maps `length` bytes and gives the address.
    ///
    /// # Errors
    /// EINVAL for an empty or unaligned range, EEXIST where [`Place::FixedFree`] is taken, ENOMEM over a limit or outside user space.
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
            self.clear(m, range.clone());
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

    fn clear(&mut self, m: &mut impl Machine, range: Range<u64>) {
        self.tree.remove(range.clone());
        m.unmap(range.start, pages(&range));
    }

    /// `munmap`.
    ///
    /// # Errors
    /// EINVAL for an empty or unaligned range, ENOMEM when the cut would make too many mappings.
    pub fn unmap(&mut self, m: &mut impl Machine, start: u64, length: u64) -> Result<(), Errno> {
        let range = page_range(start, length).map_err(|_| Errno::EINVAL)?;
        if range.is_empty() || range.end > USER_END {
            return Err(Errno::EINVAL);
        }
        self.room_for(usize::from(self.tree.cuts(range.clone()) == 2), 0)?;
        if !self.tree.is_free(range.clone()) {
            self.clear(m, range);
        }
        Ok(())
    }

    /// `mprotect`.
    ///
    /// # Errors
    /// EINVAL for an unaligned start, ENOMEM when part of the range is not mapped or there would be too many mappings.
    pub fn protect(
        &mut self,
        m: &mut impl Machine,
        start: u64,
        length: u64,
        protection: Protection,
    ) -> Result<(), Errno> {
        let range = page_range(start, length)?;
        if range.is_empty() {
            return Ok(());
        }
        if range.end > USER_END || !self.tree.covers(range.clone()) {
            return Err(Errno::ENOMEM);
        }
        if self
            .tree
            .overlapping(range.clone())
            .all(|(_, mapping)| mapping.protection == protection)
        {
            return Ok(());
        }
        self.room_for(self.tree.cuts(range.clone()), 0)?;
        self.tree.protect(range.clone(), protection);
        m.protect(range.start, pages(&range), protection);
        Ok(())
    }

    /// `madvise(MADV_DONTNEED)`: anonymous pages read as zeros afterwards, pages of files as the file.
    ///
    /// # Errors
    /// EINVAL for an unaligned start, ENOMEM when part of the range is not mapped (the rest is done all the same).
    pub fn forget(&mut self, m: &mut impl Machine, start: u64, length: u64) -> Result<(), Errno> {
        let range = page_range(start, length).map_err(|_| Errno::EINVAL)?;
        if range.is_empty() {
            return Ok(());
        }
        for (start, mapping) in self.tree.overlapping(range.clone()) {
            let part = start.max(range.start)..mapping.end.min(range.end);
            match mapping.source {
                Source::Anonymous => m.discard(part.start, pages(&part)),
                Source::File { .. } => m.unmap(part.start, pages(&part)),
            }
        }
        if self.tree.covers(range) {
            Ok(())
        } else {
            Err(Errno::ENOMEM)
        }
    }

    /// `mremap` of one mapping (or a part of one). `place` is `Any` with MREMAP_MAYMOVE alone, `Fixed` with MREMAP_FIXED; `None` may not
    /// move.
    ///
    /// # Errors
    /// EINVAL for bad ranges, EFAULT when the old range is not one mapping, ENOMEM when there is no room.
    pub fn remap(
        &mut self,
        m: &mut impl Machine,
        old: u64,
        old_length: u64,
        new_length: u64,
        place: Option<Place>,
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
        let (start, mapping) = self.tree.find(old).ok_or(Errno::EFAULT)?;
        let mut mapping = mapping.clone();
        let old_length = pages(&from) * PAGE;
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
        // A fixed target may shrink the mapping: only what fits moves.
        let moved = old_length.min(new_length);
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
        if m.remap(old, to, moved / PAGE).is_err() {
            self.clear(m, to..to + new_length);
            return Err(Errno::ENOMEM);
        }
        self.clear(m, from);
        Ok(to)
    }

    /// `brk`: moves the end of the heap, if it can, and gives its end.
    pub fn brk(&mut self, m: &mut impl Machine, end: u64) -> u64 {
        let (old, new) = (whole_pages(self.heap.end), whole_pages(end));
        let (Some(old), Some(new)) = (old, new) else {
            return self.heap.end;
        };
        if end < self.heap.start || new > USER_END {
            return self.heap.end;
        }
        if new < old {
            self.clear(m, new..old);
        } else if new > old {
            let wanted = Wanted {
                protection: Protection::READ_WRITE,
                source: Source::Anonymous,
                purpose: Purpose::Heap,
                shared: false,
            };
            if self.map(m, Place::FixedFree(old), new - old, wanted).is_err() {
                return self.heap.end;
            }
        }
        self.heap.end = end;
        end
    }

    /// Gives the guest the page at `address` (and neighbours that it will touch next), or says why not.
    ///
    /// # Errors
    /// Why the access is not allowed or cannot be served.
    pub fn fault(&self, m: &mut impl Machine, address: u64, access: Access) -> Result<(), FaultError> {
        let page = address - address % PAGE;
        let (start, mapping) = self.tree.find(address).ok_or(FaultError::Unmapped)?;
        let Protection { read, write, execute } = mapping.protection;
        let allowed = match access {
            Access::Read => read || write || execute,
            Access::Write => write,
            Access::Execute => execute,
        };
        if !allowed {
            return Err(FaultError::Denied);
        }
        let protection = mapping.protection;
        let done = match m.page_state(page) {
            PageState::Shared if access == Access::Write => m.make_private(page, protection),
            PageState::Private | PageState::Shared => Ok(()),
            PageState::Absent => {
                let around = self.limits.fault_around.max(1);
                match &mapping.source {
                    Source::Anonymous if mapping.purpose == Purpose::Stack => {
                        // A stack grows downwards: the pages below are touched next.
                        let first = page.saturating_sub((around.min(4) - 1) * PAGE).max(start);
                        m.map(first, (page - first) / PAGE + 1, Backing::Zero, protection)
                    }
                    Source::Anonymous => m.map(
                        page,
                        around.min((mapping.end - page) / PAGE),
                        Backing::Zero,
                        protection,
                    ),
                    Source::File { file, offset, .. } => {
                        let at = offset + (page - start);
                        let rest = file.bytes().len() as u64;
                        if at >= rest {
                            return Err(FaultError::BeyondFile);
                        }
                        let count = around
                            .min((mapping.end - page) / PAGE)
                            .min((rest - at).div_ceil(PAGE));
                        match file.slot {
                            Some(slot) if !write => {
                                m.map(page, count, Backing::Slot(slot, at / PAGE), protection)
                            }
                            _ => {
                                let bytes = &file.bytes()[at as usize..rest.min(at + count * PAGE) as usize];
                                m.map(page, count, Backing::Bytes(bytes), protection)
                            }
                        }
                    }
                }
            }
        };
        // Fault-around may have met the end of memory beyond the page that matters.
        if done.is_err() && m.page_state(page) != PageState::Private {
            return Err(FaultError::OutOfMemory);
        }
        Ok(())
    }

    /// Runs a copy, giving the guest the pages that it misses, until it is done or a page cannot be given.
    fn copy<M: Machine>(
        &self,
        m: &mut M,
        range: (u64, usize),
        access: Access,
        mut step: impl FnMut(&mut M, u64, usize) -> Result<(), PageFault>,
    ) -> Result<(), Errno> {
        let (start, length) = range;
        let end = start
            .checked_add(length as u64)
            .filter(|&end| end <= USER_END)
            .ok_or(Errno::EFAULT)?;
        let mut at = start;
        let mut last = None;
        loop {
            let Err(PageFault { address }) = step(m, at, (at - start) as usize) else {
                return Ok(());
            };
            // Each fault must be further on than the last, or the mapping allows what the page does not.
            if !(at..end).contains(&address) || last.is_some_and(|last| address <= last) {
                return Err(Errno::EFAULT);
            }
            self.fault(m, address, access).map_err(|error| match error {
                FaultError::OutOfMemory => Errno::OUT_OF_MEMORY,
                _ => Errno::EFAULT,
            })?;
            (at, last) = (address, Some(address));
        }
    }

    /// Copies guest memory at `address` into `into`.
    ///
    /// # Errors
    /// EFAULT when a byte is not readable.
    pub fn read(&self, m: &mut impl Machine, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.copy(m, (address, into.len()), Access::Read, |m, at, done| {
            m.read(at, &mut into[done..])
        })
    }

    /// Copies `from` to guest memory at `address`.
    ///
    /// # Errors
    /// EFAULT when a byte is not writable; bytes before it may have been written.
    pub fn write(&self, m: &mut impl Machine, address: u64, from: &[u8]) -> Result<(), Errno> {
        self.copy(m, (address, from.len()), Access::Write, |m, at, done| {
            m.write(at, &from[done..])
        })
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_array<const N: usize>(&self, m: &mut impl Machine, address: u64) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        self.read(m, address, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a 32-bit integer.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_u32(&self, m: &mut impl Machine, address: u64) -> Result<u32, Errno> {
        self.read_array(m, address).map(u32::from_le_bytes)
    }

    /// Reads a 64-bit integer.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_u64(&self, m: &mut impl Machine, address: u64) -> Result<u64, Errno> {
        self.read_array(m, address).map(u64::from_le_bytes)
    }

    /// Reads `N` 64-bit integers that lie back to back.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_words<const N: usize>(&self, m: &mut impl Machine, address: u64) -> Result<[u64; N], Errno> {
        let mut bytes = [[0; 8]; N];
        self.read(m, address, bytes.as_flattened_mut())?;
        Ok(bytes.map(u64::from_le_bytes))
    }

    /// Writes 64-bit integers back to back.
    ///
    /// # Errors
    /// As [`AddressSpace::write`].
    pub fn write_words<const N: usize>(
        &self,
        m: &mut impl Machine,
        address: u64,
        words: [u64; N],
    ) -> Result<(), Errno> {
        self.write(m, address, words.map(u64::to_le_bytes).as_flattened())
    }

    /// Reads a string up to its NUL, which is not part of the result and must be among the first `limit` bytes.
    ///
    /// # Errors
    /// EFAULT when it is not readable up to its NUL, ENAMETOOLONG when there is none.
    pub fn read_string(&self, m: &mut impl Machine, address: u64, limit: usize) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        while text.len() < limit {
            let at = address.checked_add(text.len() as u64).ok_or(Errno::EFAULT)?;
            // Never beyond the page that the string is known to reach.
            let mut chunk = [0; 256];
            let length = chunk
                .len()
                .min((PAGE - at % PAGE) as usize)
                .min(limit - text.len());
            self.read(m, at, &mut chunk[..length])?;
            match chunk[..length].iter().position(|&byte| byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&chunk[..end]);
                    return Ok(text);
                }
                None => text.extend_from_slice(&chunk[..length]),
            }
        }
        Err(Errno::ENAMETOOLONG)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::host_file::HostFile;
    use crate::machine::SlotId;
    use crate::mock::MockMachine;

    const LIMITS: SpaceLimits = SpaceLimits {
        mappings: 1000,
        reserved: 1 << 40,
        fault_around: 3,
    };

    fn anonymous(protection: Protection) -> Wanted {
        Wanted {
            protection,
            source: Source::Anonymous,
            purpose: Purpose::General,
            shared: false,
        }
    }

    #[test]
    fn random_calls_agree_with_a_map_of_single_pages() {
        const BASE: u64 = 0x10_0000;
        const PAGES: u64 = 32;
        let mut seed = 11_u64;
        let mut next = move |end: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % end
        };
        for _ in 0..150 {
            let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(10_000));
            // Oracle: page -> (protection, first byte).
            let mut oracle: BTreeMap<u64, (Protection, u8)> = BTreeMap::new();
            for _ in 0..80 {
                let first = next(PAGES);
                let count = 1 + next(PAGES - first);
                let (start, length) = (BASE + first * PAGE, count * PAGE);
                let range = start..start + length;
                let inside = |oracle: &BTreeMap<u64, _>| oracle.range(range.clone()).count() as u64 == count;
                let protection =
                    [Protection::NONE, Protection::READ, Protection::READ_WRITE][next(3) as usize];
                match next(7) {
                    0 => {
                        assert_eq!(
                            space.map(&mut m, Place::Fixed(start), length, anonymous(protection)),
                            Ok(start)
                        );
                        oracle.extend(
                            range
                                .clone()
                                .step_by(PAGE as usize)
                                .map(|page| (page, (protection, 0))),
                        );
                    }
                    1 => {
                        assert_eq!(space.unmap(&mut m, start, length), Ok(()));
                        oracle.retain(|page, _| !range.contains(page));
                    }
                    2 => {
                        let expected = if inside(&oracle) {
                            Ok(())
                        } else {
                            Err(Errno::ENOMEM)
                        };
                        assert_eq!(space.protect(&mut m, start, length, protection), expected);
                        if expected.is_ok() {
                            oracle.range_mut(range).for_each(|(_, page)| page.0 = protection);
                        }
                    }
                    3 => {
                        assert_eq!(space.forget(&mut m, start, length).is_ok(), inside(&oracle));
                        oracle.range_mut(range).for_each(|(_, page)| page.1 = 0);
                    }
                    4 => {
                        // Move into a fixed place far off and back, which must carry content and protection along.
                        let far = BASE + 0x100_0000;
                        match space.remap(&mut m, start, length, length, Some(Place::Fixed(far))) {
                            Ok(at) => {
                                assert_eq!(at, far);
                                assert!(inside(&oracle));
                                assert_eq!(
                                    space.remap(&mut m, far, length, length, Some(Place::Fixed(start))),
                                    Ok(start)
                                );
                            }
                            Err(errno) => assert_eq!(errno, Errno::EFAULT),
                        }
                    }
                    _ => {
                        let value = next(255) as u8 + 1;
                        let writable = oracle.get(&start).is_some_and(|page| page.0.write);
                        assert_eq!(space.write(&mut m, start, &[value]).is_ok(), writable);
                        if writable {
                            oracle.entry(start).and_modify(|page| page.1 = value);
                        }
                    }
                }
                for index in 0..PAGES {
                    let page = BASE + index * PAGE;
                    let found = space.read_array::<1>(&mut m, page);
                    match oracle.get(&page) {
                        Some((protection, value)) if protection.any() => {
                            assert_eq!(found, Ok([*value]), "{page:x}")
                        }
                        _ => assert_eq!(found, Err(Errno::EFAULT), "{page:x}"),
                    }
                }
            }
        }
    }

    #[test]
    fn remap_grows_in_place_or_moves_and_keeps_content() {
        let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(100));
        let high = space
            .map(&mut m, Place::Any, 2 * PAGE, anonymous(Protection::READ_WRITE))
            .expect("room");
        space.write(&mut m, high, b"here").expect("writable");
        assert_eq!(
            space.remap(&mut m, high, 2 * PAGE, 4 * PAGE, None),
            Ok(high),
            "the gap above it is free"
        );
        let low = space
            .map(
                &mut m,
                Place::Fixed(high - PAGE),
                PAGE,
                anonymous(Protection::READ),
            )
            .expect("room");
        assert_eq!(space.remap(&mut m, low, PAGE, 3 * PAGE, None), Err(Errno::ENOMEM));
        assert_eq!(space.remap(&mut m, high, 4 * PAGE, PAGE, None), Ok(high));
        assert!(space.tree.is_free(high + PAGE..high + 4 * PAGE));
        space
            .map(
                &mut m,
                Place::FixedFree(high + PAGE),
                PAGE,
                anonymous(Protection::READ),
            )
            .expect("room");
        let moved = space
            .remap(&mut m, high, PAGE, 8 * PAGE, Some(Place::Any))
            .expect("room");
        assert_ne!(moved, high);
        assert_eq!(space.read_array(&mut m, moved), Ok(*b"here"));
        assert_eq!(space.read_array(&mut m, moved + 7 * PAGE), Ok([0; 4]));
        assert_eq!(space.read_array::<1>(&mut m, high), Err(Errno::EFAULT));
    }

    #[test]
    fn file_pages_come_from_the_slot_until_written_and_end_with_the_file() {
        let content: Vec<u8> = (0..5000_u32).map(|i| i as u8).collect();
        let mut m = MockMachine::new(100);
        m.add_slot(content.clone());
        let mut file = HostFile::new(content.clone());
        file.slot = Some(SlotId(0));
        let mut space = AddressSpace::new(LIMITS);
        let source = Source::File {
            file,
            offset: 0,
            name: "f".into(),
            inode: 1,
        };
        let wanted = Wanted {
            protection: Protection::READ,
            source,
            purpose: Purpose::General,
            shared: false,
        };
        let at = space.map(&mut m, Place::Any, 3 * PAGE, wanted).expect("room");
        assert_eq!(
            space.read_array(&mut m, at + 4090),
            Ok(*content[4090..].first_chunk::<16>().expect("long"))
        );
        assert_eq!((m.page_state(at), m.free_pages()), (PageState::Shared, 100));
        assert_eq!(space.read_array(&mut m, at + 4999), Ok([content[4999], 0]));
        assert_eq!(
            space.fault(&mut m, at + 2 * PAGE, Access::Read),
            Err(FaultError::BeyondFile)
        );
        assert_eq!(space.write(&mut m, at, b"x"), Err(Errno::EFAULT));
        space
            .protect(&mut m, at, PAGE, Protection::READ_WRITE)
            .expect("mapped");
        space.write(&mut m, at + 1, b"x").expect("writable now");
        assert_eq!(
            (m.page_state(at), space.read_array(&mut m, at)),
            (PageState::Private, Ok([0, b'x', 2]))
        );
        space.forget(&mut m, at, PAGE).expect("mapped");
        assert_eq!(space.read_array(&mut m, at), Ok([0, 1, 2]));
    }

    #[test]
    fn limits_hold_at_the_limit_and_refuse_one_above() {
        let limits = SpaceLimits {
            mappings: 3,
            reserved: 16 * PAGE,
            fault_around: 1,
        };
        let (mut space, mut m) = (AddressSpace::new(limits), MockMachine::new(2));
        let place = |n: u64| Place::Fixed(0x10_0000 + n * 0x10_0000);
        let wanted = || anonymous(Protection::READ_WRITE);
        assert!(space.map(&mut m, place(0), 14 * PAGE, wanted()).is_ok());
        assert_eq!(
            space.map(&mut m, place(1), 3 * PAGE, wanted()),
            Err(Errno::ENOMEM)
        );
        assert!(space.map(&mut m, place(1), 2 * PAGE, wanted()).is_ok());
        assert_eq!(
            space.protect(&mut m, 0x10_0000 + PAGE, PAGE, Protection::READ),
            Err(Errno::ENOMEM)
        );
        assert_eq!(space.unmap(&mut m, 0x10_0000 + PAGE, PAGE), Ok(()));
        assert_eq!(space.map(&mut m, place(2), PAGE, wanted()), Err(Errno::ENOMEM));
        assert_eq!(space.write(&mut m, 0x10_0000, &[1]), Ok(()));
        assert_eq!(space.write(&mut m, 0x20_0000, &[1]), Ok(()));
        assert_eq!(
            space.write(&mut m, 0x20_0000 + PAGE, &[1]),
            Err(Errno::OUT_OF_MEMORY)
        );
    }

    #[test]
    fn brk_moves_within_its_bounds_and_zeroes_what_it_gives_anew() {
        let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(100));
        space.set_heap(0x100_0000);
        assert_eq!(space.brk(&mut m, 0), 0x100_0000);
        assert_eq!(space.brk(&mut m, 0x100_1234), 0x100_1234);
        space
            .write(&mut m, 0x100_1000, b"x")
            .expect("the last page is whole");
        assert_eq!(space.brk(&mut m, 0x100_0500), 0x100_0500);
        assert_eq!(space.brk(&mut m, 0x100_2000), 0x100_2000);
        assert_eq!(space.read_array(&mut m, 0x100_1000), Ok([0]));
        assert_eq!(space.brk(&mut m, u64::MAX), 0x100_2000);
    }

    #[test]
    fn addresses_and_lengths_at_the_ends_are_refused_without_a_panic() {
        let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(100));
        let edges = [
            0,
            1,
            PAGE,
            USER_START,
            USER_END - PAGE,
            USER_END,
            1 << 47,
            1 << 63,
            u64::MAX - 4095,
            u64::MAX,
        ];
        for a in edges {
            for b in edges {
                let _ = space.unmap(&mut m, a, b);
                let _ = space.protect(&mut m, a, b, Protection::READ);
                let _ = space.forget(&mut m, a, b);
                let _ = space.read(&mut m, a, &mut [0; 100]);
                let _ = space.read_string(&mut m, a, 100);
                for c in edges {
                    let _ = space.remap(&mut m, a, b, c, Some(Place::Any));
                    let _ = space.remap(&mut m, a, b, b, Some(Place::Fixed(c)));
                }
                if b <= 1 << 40 {
                    let _ = space.map(&mut m, Place::Fixed(a), b, anonymous(Protection::READ));
                }
            }
        }
        assert!(
            space
                .tree
                .overlapping(0..u64::MAX)
                .all(|(start, mapping)| start >= USER_START && mapping.end <= USER_END)
        );
    }
}
