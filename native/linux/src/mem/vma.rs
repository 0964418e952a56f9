//! The map of a guest's address space: which ranges exist, with which access, holding what. Ranges only; pages are the machine's.

mod audit;
mod gaps;
mod stored;
mod versions;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounds::LISTING;
use crate::fs::host_file::HostFile;
use crate::machine::{PAGE, Protection, USER_END, USER_START};
use crate::state::account;
use gaps::Gaps;
use versions::Versions;

/// What a page of a mapping holds before the guest writes to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// Zeros.
    Anonymous,
    /// A file's bytes from `offset` (of the mapping's first page) on, zeros after its end.
    File {
        /// The bytes.
        file: HostFile,
        /// Page-aligned.
        offset: u64,
        /// Path shown in `/proc/self/maps`.
        name: Arc<str>,
        /// Inode number shown there.
        inode: u64,
    },
}

/// What a mapping is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// `mmap` or a program's segment.
    General,
    /// The `brk` area.
    Heap,
    /// The first thread's stack.
    Stack,
    /// The vDSO's code.
    Vdso,
    /// The clock page of the vDSO.
    Vvar,
}

impl Purpose {
    /// The name in `/proc/self/maps`.
    fn name(self) -> &'static str {
        match self {
            Self::General => "",
            Self::Heap => "[heap]",
            Self::Stack => "[stack]",
            Self::Vdso => "[vdso]",
            Self::Vvar => "[vvar]",
        }
    }
}

/// One range of pages with the same properties; its start is its key in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First address after it.
    pub end: u64,
    /// Access of ring 3.
    pub protection: Protection,
    /// What its pages hold at first.
    pub source: Source,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether it was made with MAP_SHARED (shown only: one process has nobody to share with).
    pub shared: bool,
}

impl Mapping {
    /// What a mapping, the gap behind it, and the version that it shows take of the host.
    pub(crate) const COST: u64 = account::entry(8 + size_of::<Mapping>()) + 2 * 44 + account::entry(24);

    /// The part of this mapping (which starts at `start`) from `at` on.
    fn tail(&self, start: u64, at: u64) -> Self {
        let mut tail = self.clone();
        if let Source::File { offset, .. } = &mut tail.source {
            *offset += at - start;
        }
        tail
    }

    /// Whether `next` carries on where this one (which starts at `start`) ends, with the same properties.
    fn continues_in(&self, start: u64, next: &Self) -> bool {
        if (self.protection, self.purpose, self.shared) != (next.protection, next.purpose, next.shared) {
            return false;
        }
        match (&self.source, &next.source) {
            (Source::Anonymous, Source::Anonymous) => true,
            (
                Source::File {
                    file, offset, inode, ..
                },
                Source::File {
                    file: file2,
                    offset: offset2,
                    inode: inode2,
                    ..
                },
            ) => inode == inode2 && offset + (self.end - start) == *offset2 && file == file2,
            _ => false,
        }
    }
}

/// Mappings by start address.
///
/// Invariants: starts and ends are page-aligned; no mapping is empty; none overlap; no two neighbours could be one mapping; what is not
/// mapped of user space is in the gaps.
#[derive(Clone, Debug)]
pub struct VmaTree {
    map: BTreeMap<u64, Mapping>,
    gaps: Gaps,
    versions: Versions,
    /// Sum of all lengths, in bytes.
    reserved: u64,
}

impl Default for VmaTree {
    fn default() -> Self {
        Self {
            map: BTreeMap::new(),
            gaps: Gaps::new(USER_START, USER_END),
            versions: Versions::default(),
            reserved: 0,
        }
    }
}

/// By what is mapped: gaps and versions follow from it.
impl PartialEq for VmaTree {
    fn eq(&self, other: &Self) -> bool {
        (&self.map, self.reserved) == (&other.map, other.reserved)
    }
}

impl Eq for VmaTree {}

impl VmaTree {
    /// How many mappings there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Sum of the lengths of all mappings, in bytes.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Bytes of the versions of the guest's own files that mappings keep.
    #[must_use]
    pub fn bytes_of_guest(&self) -> u64 {
        self.versions.bytes()
    }

    /// Bytes of the host that the mappings take.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.map.len() as u64 * Mapping::COST + self.versions.held()
    }

    /// [`VmaTree::bytes_of_guest`], were this file of the guest's mapped as well.
    #[must_use]
    pub fn bytes_of_guest_with(&self, file: &HostFile) -> u64 {
        self.versions.bytes_with(file)
    }

    /// The mapping that holds this address, with its start.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (&start, mapping) = self.map.range(..=address).next_back()?;
        (address < mapping.end).then_some((start, mapping))
    }

    /// All mappings that share a byte with the range, in order.
    pub fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (u64, &Mapping)> {
        let first = self.find(range.start).map_or(range.start, |(start, _)| start);
        self.map
            .range(first..range.end.max(first))
            .map(|(&start, mapping)| (start, mapping))
    }

    /// Whether no mapping shares a byte with the range.
    #[must_use]
    pub fn is_free(&self, range: Range<u64>) -> bool {
        self.overlapping(range).next().is_none()
    }

    /// Whether every byte of the range is mapped.
    #[must_use]
    pub fn covers(&self, range: Range<u64>) -> bool {
        let inside = USER_START <= range.start && range.end <= USER_END;
        range.is_empty() || inside && self.gaps.is_taken(range.start, range.end)
    }

    /// The highest free range of `length` bytes that ends at or below `top`.
    #[must_use]
    pub fn gap_below(&self, top: u64, length: u64) -> Option<u64> {
        self.gaps.highest(top, length)
    }

    /// Adds a mapping where nothing is mapped.
    pub fn insert(&mut self, start: u64, mapping: Mapping) {
        debug_assert!(start < mapping.end && start.is_multiple_of(PAGE) && mapping.end.is_multiple_of(PAGE));
        debug_assert!(self.is_free(start..mapping.end));
        let end = mapping.end;
        self.reserved += end - start;
        self.gaps.take(start, end);
        self.versions.add(&mapping.source);
        self.map.insert(start, mapping);
        self.merge(start..end);
    }

    /// Removes whatever is mapped in the range; mappings that reach out of it keep the rest.
    pub fn remove(&mut self, range: Range<u64>) {
        self.split(range.start);
        self.split(range.end);
        while let Some((&start, mapping)) = self.map.range(range.clone()).next() {
            let end = mapping.end;
            self.reserved -= end - start;
            self.versions.drop(&mapping.source);
            self.map.remove(&start);
            self.gaps.free(start, end);
        }
    }

    /// Sets the protection of whatever is mapped in the range.
    pub fn protect(&mut self, range: Range<u64>, protection: Protection) {
        self.split(range.start);
        self.split(range.end);
        for (_, mapping) in self.map.range_mut(range.clone()) {
            mapping.protection = protection;
        }
        self.merge(range);
    }

    /// How many mappings more there would be, at most, after cutting at both ends of the range.
    #[must_use]
    pub fn cuts(&self, range: Range<u64>) -> usize {
        let cut = |at| self.find(at).is_some_and(|(start, _)| start < at);
        usize::from(cut(range.start)) + usize::from(cut(range.end))
    }

    fn split(&mut self, at: u64) {
        if let Some((start, mapping)) = self.find(at)
            && start < at
        {
            let tail = mapping.tail(start, at);
            self.versions.add(&tail.source);
            self.map.insert(at, tail);
            if let Some(head) = self.map.get_mut(&start) {
                head.end = at;
            }
        }
    }

    /// Joins neighbours that could be one, from the mapping before the range to the one after it.
    fn merge(&mut self, range: Range<u64>) {
        let first = self
            .map
            .range(..range.start)
            .next_back()
            .map_or(range.start, |(&start, _)| start);
        let Some((&(mut start), _)) = self.map.range(first..).next() else {
            return;
        };
        while let Some(mapping) = self.map.get(&start) {
            let end = mapping.end;
            match self.map.get(&end) {
                Some(next) if mapping.continues_in(start, next) => {
                    let next_end = next.end;
                    self.versions.drop(&next.source);
                    self.map.remove(&end);
                    if let Some(mapping) = self.map.get_mut(&start) {
                        mapping.end = next_end;
                    }
                }
                _ if end > range.end => return,
                _ => match self.map.range(end..=range.end).next() {
                    Some((&next, _)) => start = next,
                    None => return,
                },
            }
        }
    }

    /// The lines of `/proc/self/maps` for the first `most` mappings from an address on, or as many as make [`LISTING`] bytes, and where the next one starts.
    #[must_use]
    pub fn describe(&self, from: u64, most: usize) -> (String, Option<u64>) {
        use std::fmt::Write;
        let mut text = String::new();
        let mut mappings = self.map.range(from..);
        for (start, mapping) in mappings.by_ref().take(most) {
            let flag = |on, letter| if on { letter } else { '-' };
            let Protection { read, write, execute } = mapping.protection;
            let (offset, inode, name) = match &mapping.source {
                Source::Anonymous => (0, 0, mapping.purpose.name()),
                Source::File {
                    offset, name, inode, ..
                } => (*offset, *inode, name.as_ref()),
            };
            let flags: String = [
                flag(read, 'r'),
                flag(write, 'w'),
                flag(execute, 'x'),
                if mapping.shared { 's' } else { 'p' },
            ]
            .iter()
            .collect();
            let device = if inode == 0 { "00:00" } else { "00:01" };
            let head = format!(
                "{start:08x}-{:08x} {flags} {offset:08x} {device} {inode} ",
                mapping.end
            );
            let written = if name.is_empty() {
                writeln!(text, "{head}")
            } else {
                writeln!(text, "{head:<73}{name}")
            };
            debug_assert!(written.is_ok());
            // A name may be as long as a path.
            if text.len() as u64 >= LISTING {
                break;
            }
        }
        (text, mappings.next().map(|(&start, _)| start))
    }
}

#[cfg(test)]
mod tests;
