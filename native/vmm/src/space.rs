//! A program's address space: page tables over guest-physical memory.
//!
//! Invariants:
//! - Only this module writes page tables, and no guest mapping, not even one of ring 0, leads to a table.
//! - A table once linked stays linked until [`Space::forget_tables`]. KVM's shadow of a table is keyed by its frame; a table that
//!   is unlinked and reused elsewhere could be served from the shadow of its former place. So a reset empties the tables that
//!   a request added and keeps them.
//! - Every frame whose translation went away or lost a right is in `stale` until the machine flushed it.

mod audit;
mod frame_set;
mod move_up;
mod rewind;
mod tables;

use std::mem;

use crate::error::{Error, Result};
use crate::frames::Frames;
use crate::layout::{FILES, LOW_END, LOW_PD, LOW_PDPT, LOW_PT, PAGE, PML4, USER_END, USER_START};
use crate::memory::{FileId, Memory};
use crate::pte::{Protection, Pte};

use tables::Slot;

pub(crate) use frame_set::FrameSet;
pub(crate) use rewind::{Frozen, image_word};

/// A frame that is new, as its page may have to come from the host: with its entry, some 250 ns.
const FRESH_WORK: u64 = 3;
/// A page that is filled with zeros, or copied, and was never written by this machine.
const ZERO_WORK: u64 = 5;
/// A translation that goes stale in another piece of memory than the one before: the flush has one call more (15 us).
const FAR_WORK: u64 = 15;
/// Such a piece: what one flush covers.
const STALE_PIECE: u64 = 1 << 20;
/// Bytes of addresses that one table of the lowest level maps.
const TABLE_SPAN: u64 = 512 * PAGE;
/// Tables taken at a time while a program boots, so that they lie together.
const TABLE_CHUNK: u64 = 32;

/// A copy met a page that is absent or does not allow the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The first byte that could not be reached.
    pub address: u64,
}

/// What a page holds when it is first mapped.
#[derive(Clone, Copy, Debug)]
pub enum Backing<'a> {
    /// Zeros.
    Zero,
    /// These bytes, first page first, then zeros.
    Bytes(&'a [u8]),
    /// A host file's pages from this one on, read-only whatever the protection says.
    File(FileId, u64),
}

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing is mapped.
    Absent,
    /// A frame of this machine.
    Private,
    /// A page of a host file.
    File,
}

/// New frames that a request may take as it writes them. Behind them they are made present as they are handed out.
///
/// A frame that the host has no page for is a fault in KVM, which holds the lock of the whole process's memory map for it, and loses
/// the core there, as that is where the kernel looks whether somebody else wants it: machines that flush a translation meanwhile wait
/// for the one that fills its memory to be run again. A fault of this thread's own takes the lock of one mapping.
pub(crate) const LAZY_BYTES: u64 = 1 << 20;

/// A table that was written: its frame and level (1 is the lowest).
#[derive(Clone, Copy, Debug)]
struct Written {
    table: u64,
    level: u32,
}

/// The part of an address space that is not in guest memory. A snapshot clones it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpaceState {
    pub frames: Frames,
}

/// An address space. See the module's invariants.
#[derive(Debug)]
pub struct Space {
    memory: Memory,
    state: SpaceState,
    /// Free table frames: [next, end).
    tables_next: u64,
    tables_end: u64,
    /// First table frame that forks may use; `None` while the program boots.
    fork_tables: Option<u64>,
    /// First frame that is made present when it is handed out.
    eager: u64,
    tables: FrameSet,
    /// Tables written since the snapshot.
    written: Vec<Written>,
    written_set: FrameSet,
    stale: Vec<u64>,
    /// Translations that went stale so far.
    went_stale: u64,
    /// Work on pages so far, see [`Space::work`].
    work: u64,
    /// The piece of memory that the last stale frame lies in.
    stale_piece: u64,
    /// Frames were taken or given back since the snapshot.
    changed: bool,
    /// Entries changed since the last audit, in debug builds, and entries that it met.
    unaudited: u64,
    audited: u64,
}

impl Space {
    /// No table is known, and nothing has happened yet.
    fn over(memory: Memory, state: SpaceState) -> Space {
        Space {
            memory,
            state,
            tables_next: 0,
            tables_end: 0,
            fork_tables: None,
            eager: u64::MAX,
            tables: FrameSet::default(),
            written: Vec::new(),
            written_set: FrameSet::default(),
            stale: Vec::new(),
            went_stale: 0,
            work: 0,
            stale_piece: u64::MAX,
            changed: false,
            unaudited: 0,
            audited: 0,
        }
    }

    /// An empty space over fresh memory; links the low 2 MiB.
    pub(crate) fn new(memory: Memory, limit: u64) -> Space {
        let frames = Frames::new(LOW_END, limit);
        let mut space = Space::over(memory, SpaceState { frames });
        for (table, below) in [(PML4, LOW_PDPT), (LOW_PDPT, LOW_PD), (LOW_PD, LOW_PT)] {
            space.memory.set_word(table, 0, Pte::table(below).0);
        }
        for table in [PML4, LOW_PDPT, LOW_PD, LOW_PT] {
            space.tables.insert(table);
        }
        space
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// End of the frames handed out: what slots must cover.
    pub(crate) fn top(&self) -> u64 {
        self.state.frames.next().max(self.tables_end)
    }

    pub(crate) fn is_table(&self, frame: u64) -> bool {
        self.tables.contains(frame)
    }

    /// The frames whose cached translations are wrong, sorted, without doubles; empties the list.
    pub(crate) fn take_stale(&mut self) -> Vec<u64> {
        let mut stale = mem::take(&mut self.stale);
        stale.sort_unstable();
        stale.dedup();
        stale
    }

    /// How many translations went stale so far: what a flush must have caught up with before the guest runs.
    pub(crate) fn went_stale(&self) -> u64 {
        self.went_stale
    }

    fn note_stale(&mut self, frame: u64) {
        if frame / STALE_PIECE != self.stale_piece {
            self.stale_piece = frame / STALE_PIECE;
            self.work += FAR_WORK;
        }
        self.stale.push(frame);
        self.went_stale += 1;
    }

    pub(crate) fn has_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Bytes of frames in use.
    pub fn used_bytes(&self) -> u64 {
        self.state.frames.used_bytes()
    }

    /// Counts bytes of the host that the machine's owner took on the program's behalf against its memory, in place of those of the last
    /// call.
    pub fn charge(&mut self, bytes: u64) {
        // A reset puts it back with the frames.
        self.changed |= self.state.frames.charge(bytes);
    }

    /// Bytes of frames that may still be handed out.
    pub fn free_bytes(&self) -> u64 {
        self.state.frames.free_bytes()
    }

    /// Most bytes of frames in use at a time.
    pub fn limit_bytes(&self) -> u64 {
        self.state.frames.limit_bytes()
    }

    /// What is mapped at a page.
    pub fn page(&self, address: u64) -> Access {
        match self.leaf(address).map(|s| self.entry(s)) {
            Some(e) if e.is_empty() => Access::Absent,
            Some(e) if e.frame() < FILES => Access::Private,
            Some(_) => Access::File,
            None => Access::Absent,
        }
    }

    /// Maps `pages` pages; those that are mapped already, also without rights, stay as they are. On an error the pages before
    /// it stay mapped.
    pub fn map(
        &mut self,
        start: u64,
        pages: u64,
        backing: Backing<'_>,
        protection: Protection,
    ) -> Result<()> {
        let end = range_end(start, pages)?;
        for (i, address) in (start..end).step_by(PAGE as usize).enumerate() {
            let slot = self.leaf_or_new(address)?;
            if !self.entry(slot).is_empty() {
                continue;
            }
            let entry = match backing {
                Backing::Zero => Pte::page(self.fresh_frame()?, protection),
                Backing::Bytes(bytes) => {
                    let frame = self.fresh_frame()?;
                    let from = bytes.len().min(i * PAGE as usize);
                    let to = bytes.len().min(from + PAGE as usize);
                    self.memory.write(frame, 0, &bytes[from..to])?;
                    Pte::page(frame, protection)
                }
                Backing::File(file, page) => {
                    let frame = self.memory.file_page(file, page.saturating_add(i as u64))?;
                    Pte::page(frame, of_file(protection))
                }
            };
            self.set(slot, entry);
        }
        Ok(())
    }

    /// Removes mappings and frees their frames; absent pages are no error.
    pub fn unmap(&mut self, start: u64, pages: u64) -> Result<()> {
        self.unmap_some(start, pages, u64::MAX).map(drop)
    }

    /// [`Space::unmap`] until `most` work is done, lowest pages first; gives the address before which all is done.
    pub fn unmap_some(&mut self, start: u64, pages: u64, most: u64) -> Result<u64> {
        self.each_mapped(start, pages, most, |space, _, slot, entry| {
            space.set(slot, Pte::EMPTY);
            space.free_frame(entry.frame());
            Ok(())
        })
    }

    /// Gives the mapped pages of a range these rights; pages of files stay read-only.
    pub fn protect(&mut self, start: u64, pages: u64, protection: Protection) -> Result<()> {
        self.protect_some(start, pages, protection, u64::MAX).map(drop)
    }

    /// [`Space::protect`] until `most` work is done, lowest pages first; gives the address before which all is done.
    pub fn protect_some(&mut self, start: u64, pages: u64, protection: Protection, most: u64) -> Result<u64> {
        self.each_mapped(start, pages, most, |space, _, slot, entry| {
            let frame = entry.frame();
            let allowed = if frame < FILES {
                protection
            } else {
                of_file(protection)
            };
            space.set(slot, Pte::page(frame, allowed));
            Ok(())
        })
    }

    /// Moves mappings to a range that has none and does not overlap.
    pub fn remap(&mut self, from: u64, to: u64, pages: u64) -> Result<()> {
        self.remap_some(from, to, pages, u64::MAX).map(drop)
    }

    /// [`Space::remap`] until `most` work is done, lowest pages first; gives the address before which all is done. All tables that the
    /// whole needs are there after the first call.
    pub fn remap_some(&mut self, from: u64, to: u64, pages: u64, most: u64) -> Result<u64> {
        let end = range_end(from, pages)?;
        let to_end = range_end(to, pages)?;
        if from < to_end && to < end {
            return Err(Error::BadRange {
                start: to,
                length: pages * PAGE,
            });
        }
        let mut at = from;
        while let Some((address, ..)) = self.next_mapped(at, end) {
            let target = to + (address - from);
            self.leaf_or_new(target)?;
            // One page of a table is enough.
            at = address + (TABLE_SPAN - target % TABLE_SPAN);
        }
        self.each_mapped(from, pages, most, |space, address, slot, entry| {
            let target = space.leaf_or_new(to + (address - from))?;
            let old = space.entry(target);
            if !old.is_empty() {
                space.free_frame(old.frame());
            }
            space.set(slot, Pte::EMPTY);
            space.set(target, entry);
            Ok(())
        })
    }

    /// Fills the private pages of a range with zeros.
    pub fn discard(&mut self, start: u64, pages: u64) -> Result<()> {
        self.discard_some(start, pages, u64::MAX).map(drop)
    }

    /// [`Space::discard`] until `most` work is done, lowest pages first; gives the address before which all is done.
    pub fn discard_some(&mut self, start: u64, pages: u64, most: u64) -> Result<u64> {
        self.each_mapped(start, pages, most, |space, _, _, entry| {
            if entry.frame() < FILES {
                space.memory.zero(entry.frame())?;
                space.work += ZERO_WORK;
            }
            Ok(())
        })
    }

    /// Does something to the mapped pages of a range until `most` work is done, lowest first; gives the address before which all is done.
    fn each_mapped(
        &mut self,
        start: u64,
        pages: u64,
        most: u64,
        mut act: impl FnMut(&mut Space, u64, Slot, Pte) -> Result<()>,
    ) -> Result<u64> {
        let end = range_end(start, pages)?;
        let (mut at, begin) = (start, self.work);
        while let Some((address, slot, entry)) = self.next_mapped(at, end) {
            if self.work - begin >= most {
                return Ok(address);
            }
            act(self, address, slot, entry)?;
            at = address + PAGE;
        }
        Ok(end)
    }

    /// Work on pages so far, in units of an entry that changes (60 ns). See the constants for what is dearer.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Puts a private copy in the place of a file's page.
    pub fn make_private(&mut self, address: u64, protection: Protection) -> Result<()> {
        let wrong = Error::BadRange {
            start: address,
            length: PAGE,
        };
        range_end(address, 1)?;
        let Some(slot) = self.leaf(address) else {
            return Err(wrong);
        };
        let entry = self.entry(slot);
        if entry.is_empty() || entry.frame() < FILES {
            return Err(wrong);
        }
        let frame = self.fresh_frame()?;
        self.memory.copy_frame(entry.frame(), frame)?;
        self.work += ZERO_WORK;
        self.set(slot, Pte::page(frame, protection));
        Ok(())
    }

    /// Copies out of guest memory with the rights of ring 3.
    pub fn read(&self, address: u64, into: &mut [u8]) -> std::result::Result<(), PageFault> {
        let mut done = 0;
        while done < into.len() {
            let at = address.wrapping_add(done as u64);
            let n = (PAGE - at % PAGE).min((into.len() - done) as u64) as usize;
            let entry = self.entry_at(at).filter(|e| e.is_present() && e.is_user());
            let copied = entry.and_then(|e| {
                self.memory
                    .read(e.frame(), at % PAGE, &mut into[done..done + n])
                    .ok()
            });
            copied.ok_or(PageFault { address: at })?;
            done += n;
        }
        Ok(())
    }

    /// Copies into guest memory with the rights of ring 3.
    pub fn write(&mut self, address: u64, from: &[u8]) -> std::result::Result<(), PageFault> {
        self.copy_in(address, from, |e| {
            e.is_present() && e.is_user() && e.is_writable()
        })
    }

    /// Copies into private pages whatever their rights are.
    pub fn write_protected(&mut self, address: u64, from: &[u8]) -> std::result::Result<(), PageFault> {
        self.copy_in(address, from, |e| !e.is_empty())
    }

    fn copy_in(
        &mut self,
        address: u64,
        from: &[u8],
        allowed: impl Fn(Pte) -> bool,
    ) -> std::result::Result<(), PageFault> {
        let mut done = 0;
        while done < from.len() {
            let at = address.wrapping_add(done as u64);
            let n = (PAGE - at % PAGE).min((from.len() - done) as u64) as usize;
            let entry = self.entry_at(at).filter(|e| allowed(*e) && e.frame() < FILES);
            let copied = entry.and_then(|e| {
                self.memory
                    .write(e.frame(), at % PAGE, &from[done..done + n])
                    .ok()
            });
            copied.ok_or(PageFault { address: at })?;
            done += n;
        }
        Ok(())
    }
}

/// The rights of a file's page that is to have these: no stores, and loads where there is any right.
fn of_file(protection: Protection) -> Protection {
    Protection {
        read: protection.any(),
        write: false,
        ..protection
    }
}

fn range_end(start: u64, pages: u64) -> Result<u64> {
    let bad = Error::BadRange {
        start,
        length: pages.saturating_mul(PAGE),
    };
    let end = pages.checked_mul(PAGE).and_then(|n| start.checked_add(n));
    match end {
        Some(end) if start.is_multiple_of(PAGE) && start >= USER_START && end <= USER_END => Ok(end),
        Some(_) | None => Err(bad),
    }
}

#[cfg(test)]
mod tests;
