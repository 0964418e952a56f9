//! A program's address space: page tables over guest-physical memory.
//!
//! Invariants:
//! - Only this module writes page tables, and no guest mapping, not even one of ring 0, leads to a table.
//! - A table once linked stays linked until [`Space::forget_tables`]. KVM's shadow of a table is keyed by its frame; a table that
//!   is unlinked and reused elsewhere could be served from the shadow of its former place. So a reset empties the tables that
//!   a request added and keeps them.
//! - Every frame whose translation went away or lost a right is in `stale` until the machine flushed it.

use std::mem;

use crate::error::{Error, Result};
use crate::frames::Frames;
use crate::layout::{FILES, LOW_END, LOW_PD, LOW_PDPT, LOW_PT, PAGE, PML4, USER_END, USER_START};
use crate::memory::{FileId, Memory};
use crate::pte::{Protection, Pte};
use crate::sys::Mapping;

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

/// A set of frames, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameSet(Vec<u64>);

impl FrameSet {
    /// Adds a frame; false if it was there.
    pub fn insert(&mut self, frame: u64) -> bool {
        let (word, bit) = ((frame / PAGE / 64) as usize, frame / PAGE % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] >> bit & 1 == 0;
        self.0[word] |= 1 << bit;
        new
    }

    pub fn remove(&mut self, frame: u64) {
        if let Some(word) = self.0.get_mut((frame / PAGE / 64) as usize) {
            *word &= !(1 << (frame / PAGE % 64));
        }
    }

    pub fn contains(&self, frame: u64) -> bool {
        self.0
            .get((frame / PAGE / 64) as usize)
            .is_some_and(|w| w >> (frame / PAGE % 64) & 1 == 1)
    }
}

/// Where an entry lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    table: u64,
    index: usize,
}

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
    tables: FrameSet,
    /// Tables written since the snapshot.
    written: Vec<Written>,
    written_set: FrameSet,
    stale: Vec<u64>,
    /// Frames were taken or given back since the snapshot.
    changed: bool,
}

impl Space {
    /// An empty space over fresh memory; links the low 2 MiB.
    pub(crate) fn new(memory: Memory, limit: u64) -> Space {
        let mut space = Space {
            memory,
            state: SpaceState {
                frames: Frames::new(LOW_END, limit),
            },
            tables_next: 0,
            tables_end: 0,
            fork_tables: None,
            tables: FrameSet::default(),
            written: Vec::new(),
            written_set: FrameSet::default(),
            stale: Vec::new(),
            changed: false,
        };
        for (table, below) in [(PML4, LOW_PDPT), (LOW_PDPT, LOW_PD), (LOW_PD, LOW_PT)] {
            space.memory.set_word(table, 0, Pte::table(below).0);
        }
        for table in [PML4, LOW_PDPT, LOW_PD, LOW_PT] {
            space.tables.insert(table);
        }
        space
    }

    /// The space of a fork over a private mapping of the snapshot's memory.
    pub(crate) fn forked(memory: Memory, frozen: &Frozen) -> Space {
        Space {
            memory,
            state: frozen.state.clone(),
            tables_next: frozen.fork_tables,
            tables_end: frozen.fork_tables_end,
            fork_tables: Some(frozen.fork_tables),
            tables: frozen.tables.clone(),
            written: Vec::new(),
            written_set: FrameSet::default(),
            stale: Vec::new(),
            changed: false,
        }
    }

    /// Ends the boot: freed frames become holes (returned), and room is set aside for the tables of forks with this limit.
    pub(crate) fn freeze(&mut self, limit: u64) -> (Frozen, Vec<u64>) {
        let mut holes = self.state.frames.forget_free();
        holes.sort_unstable();
        let end = self.state.frames.next();
        let count = limit / (PAGE * 512) + 128;
        let fork_tables = self.state.frames.reserve(count);
        self.state.frames.set_limit(limit);
        let frozen = Frozen {
            state: self.state.clone(),
            tables: self.tables.clone(),
            end,
            fork_tables,
            fork_tables_end: fork_tables + count * PAGE,
        };
        (frozen, holes)
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

    pub(crate) fn has_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Bytes of frames in use.
    pub fn used_bytes(&self) -> u64 {
        self.state.frames.used_bytes()
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
                    Pte::page(
                        frame,
                        Protection {
                            write: false,
                            ..protection
                        },
                    )
                }
            };
            self.set(slot, entry);
        }
        Ok(())
    }

    /// Removes mappings and frees their frames; absent pages are no error.
    pub fn unmap(&mut self, start: u64, pages: u64) -> Result<()> {
        let end = range_end(start, pages)?;
        let mut at = start;
        while let Some((address, slot, entry)) = self.next_mapped(at, end) {
            self.set(slot, Pte::EMPTY);
            self.free_frame(entry.frame());
            at = address + PAGE;
        }
        Ok(())
    }

    /// Gives the mapped pages of a range these rights; pages of files stay read-only.
    pub fn protect(&mut self, start: u64, pages: u64, protection: Protection) -> Result<()> {
        let end = range_end(start, pages)?;
        let mut at = start;
        while let Some((address, slot, entry)) = self.next_mapped(at, end) {
            let frame = entry.frame();
            let write = protection.write && frame < FILES;
            let allowed = if frame < FILES {
                protection
            } else {
                Protection {
                    write,
                    read: protection.any(),
                    ..protection
                }
            };
            self.set(slot, Pte::page(frame, allowed));
            at = address + PAGE;
        }
        Ok(())
    }

    /// Moves mappings to a range that has none and does not overlap.
    pub fn remap(&mut self, from: u64, to: u64, pages: u64) -> Result<()> {
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
            self.leaf_or_new(to + (address - from))?;
            at = address + PAGE;
        }
        at = from;
        while let Some((address, slot, entry)) = self.next_mapped(at, end) {
            let target = self.leaf_or_new(to + (address - from))?;
            let old = self.entry(target);
            if !old.is_empty() {
                self.free_frame(old.frame());
            }
            self.set(slot, Pte::EMPTY);
            self.set(target, entry);
            at = address + PAGE;
        }
        Ok(())
    }

    /// Fills the private pages of a range with zeros.
    pub fn discard(&mut self, start: u64, pages: u64) -> Result<()> {
        let end = range_end(start, pages)?;
        let mut at = start;
        while let Some((address, _, entry)) = self.next_mapped(at, end) {
            if entry.frame() < FILES {
                self.memory.zero(entry.frame())?;
            }
            at = address + PAGE;
        }
        Ok(())
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

    /// Puts page tables and frames back to the snapshot's: entries of its tables are copied from `image`, tables added since
    /// are emptied and stay linked. What was present and differs is stale afterwards. The content of frames is not touched.
    pub(crate) fn rewind(&mut self, frozen: &Frozen, image: &Mapping) -> Result<()> {
        let written = mem::take(&mut self.written);
        for w in &written {
            self.written_set.remove(w.table);
            if w.level > 1 {
                continue; // links to tables that are kept
            }
            let added = w.table >= frozen.fork_tables;
            for index in 0..512 {
                let now = Pte(self.memory.word(w.table, index));
                let then = if added {
                    Pte::EMPTY
                } else {
                    Pte(image_word(image, w.table, index)?)
                };
                if now != then {
                    if now.goes_stale(then) {
                        self.stale.push(now.frame());
                    }
                    self.memory.set_word(w.table, index, then.0);
                }
            }
        }
        if self.changed {
            self.state.clone_from(&frozen.state);
            self.changed = false;
        }
        Ok(())
    }

    /// Tables that forks added since the snapshot.
    pub(crate) fn added_tables(&self) -> u64 {
        self.fork_tables
            .map_or(0, |first| (self.tables_next - first) / PAGE)
    }

    /// Unlinks every table added since the snapshot. The caller makes KVM forget the whole slot before the guest runs.
    /// All upper tables must read as in the snapshot afterwards, so the caller restores them from the image.
    pub(crate) fn forget_tables(&mut self, frozen: &Frozen) {
        let mut table = frozen.fork_tables;
        while table < self.tables_next {
            self.tables.remove(table);
            table += PAGE;
        }
        self.tables_next = frozen.fork_tables;
        self.written.clear();
        self.written_set = FrameSet::default();
        self.stale.clear();
    }

    /// Compares what the tables say with the snapshot's: same entries, additional tables empty.
    pub(crate) fn compare_tables(&self, frozen: &Frozen, image: &Mapping) -> Result<()> {
        self.compare_table(frozen, image, PML4, 4)?;
        if self.state != frozen.state {
            return Err(Error::Impure {
                what: "the list of free frames differs".into(),
            });
        }
        Ok(())
    }

    fn compare_table(&self, frozen: &Frozen, image: &Mapping, table: u64, level: u32) -> Result<()> {
        for index in 0..512 {
            let now = Pte(self.memory.word(table, index));
            let then = Pte(image_word(image, table, index)?);
            if level > 1 && now.is_present() && now.frame() >= frozen.fork_tables && then.is_empty() {
                self.check_empty(now.frame(), level - 1)?;
            } else if now != then {
                let what = format!(
                    "entry {index} of the level {level} table {table:#x} is {:#x}, not {:#x}",
                    now.0, then.0
                );
                return Err(Error::Impure { what });
            } else if level > 1 && now.is_present() {
                self.compare_table(frozen, image, now.frame(), level - 1)?;
            }
        }
        Ok(())
    }

    fn check_empty(&self, table: u64, level: u32) -> Result<()> {
        for index in 0..512 {
            let entry = Pte(self.memory.word(table, index));
            if level > 1 && entry.is_present() {
                self.check_empty(entry.frame(), level - 1)?;
            } else if entry != Pte::EMPTY {
                let what = format!(
                    "added table {table:#x} of level {level} has entry {index} = {:#x}",
                    entry.0
                );
                return Err(Error::Impure { what });
            }
        }
        Ok(())
    }

    /// Walks all tables and checks the invariants of user space: leaves lead to frames handed out or to attached files, never
    /// to a table or the low 64 KiB; file pages are not writable; Accessed and Dirty are preset.
    pub fn audit(&self) -> std::result::Result<(), String> {
        self.audit_table(PML4, 4, 0)
    }

    fn audit_table(&self, table: u64, level: u32, base: u64) -> std::result::Result<(), String> {
        if !self.is_table(table) {
            return Err(format!(
                "the walk of {base:#x} reaches {table:#x}, which is no table"
            ));
        }
        for index in 0..512 {
            let entry = Pte(self.memory.word(table, index));
            let address = base + ((index as u64) << (12 + 9 * (level - 1)));
            if entry.is_empty() {
                if entry != Pte::EMPTY {
                    return Err(format!("{address:#x}: absent entry with bits {:#x}", entry.0));
                }
                continue;
            }
            if address >= USER_END {
                return Err(format!("{address:#x}: mapped at or above the end of user space"));
            }
            if level > 1 {
                self.audit_table(entry.frame(), level - 1, address)?;
            } else if address >= USER_START {
                let frame = entry.frame();
                let private = (LOW_END..self.state.frames.next()).contains(&frame) && !self.is_table(frame);
                let file = frame >= FILES && self.memory.frame(frame).is_some();
                if !private && !file {
                    return Err(format!(
                        "{address:#x}: leads to {frame:#x}, which belongs to no program"
                    ));
                }
                if file && entry.is_writable() {
                    return Err(format!("{address:#x}: writable page of a file"));
                }
                if entry.is_present() && (entry.0 & 0x20 == 0 || entry.is_writable() && entry.0 & 0x40 == 0) {
                    return Err(format!(
                        "{address:#x}: Accessed or Dirty not preset: {:#x}",
                        entry.0
                    ));
                }
            }
        }
        Ok(())
    }

    fn entry(&self, slot: Slot) -> Pte {
        Pte(self.memory.word(slot.table, slot.index))
    }

    fn entry_at(&self, address: u64) -> Option<Pte> {
        self.leaf(address).map(|s| self.entry(s))
    }

    fn set(&mut self, slot: Slot, new: Pte) {
        let old = self.entry(slot);
        if old == new {
            return;
        }
        if old.goes_stale(new) {
            self.stale.push(old.frame());
        }
        self.memory.set_word(slot.table, slot.index, new.0);
        self.note_written(slot.table, 1);
    }

    fn note_written(&mut self, table: u64, level: u32) {
        if self.fork_tables.is_some() && self.written_set.insert(table) {
            self.written.push(Written { table, level });
        }
    }

    fn leaf(&self, address: u64) -> Option<Slot> {
        if !(USER_START..USER_END).contains(&address) {
            return None;
        }
        let mut table = PML4;
        for level in (2..=4).rev() {
            let entry = Pte(self.memory.word(table, index_of(address, level)));
            if !entry.is_present() {
                return None;
            }
            table = entry.frame();
        }
        Some(Slot {
            table,
            index: index_of(address, 1),
        })
    }

    fn leaf_or_new(&mut self, address: u64) -> Result<Slot> {
        let mut table = PML4;
        for level in (2..=4).rev() {
            let index = index_of(address, level);
            let entry = Pte(self.memory.word(table, index));
            if entry.is_present() {
                table = entry.frame();
            } else {
                let below = self.new_table()?;
                self.memory.set_word(table, index, Pte::table(below).0);
                self.note_written(table, level);
                table = below;
            }
        }
        Ok(Slot {
            table,
            index: index_of(address, 1),
        })
    }

    /// The first mapped page in [from, end).
    fn next_mapped(&self, from: u64, end: u64) -> Option<(u64, Slot, Pte)> {
        let mut at = from;
        'walk: while at < end {
            let mut table = PML4;
            for level in (2..=4).rev() {
                let entry = Pte(self.memory.word(table, index_of(at, level)));
                if !entry.is_present() {
                    let span = 1u64 << (12 + 9 * (level - 1));
                    at = (at & !(span - 1)) + span;
                    continue 'walk;
                }
                table = entry.frame();
            }
            let first = index_of(at, 1);
            for index in first..512 {
                let address = at + ((index - first) as u64) * PAGE;
                if address >= end {
                    return None;
                }
                let entry = Pte(self.memory.word(table, index));
                if !entry.is_empty() {
                    return Some((address, Slot { table, index }, entry));
                }
            }
            at += (512 - first as u64) * PAGE;
        }
        None
    }

    fn fresh_frame(&mut self) -> Result<u64> {
        let fresh = self.state.frames.allocate()?;
        if self.memory.private().at(fresh.frame, PAGE as usize).is_none() {
            self.state.frames.release(fresh.frame);
            return Err(Error::OutOfMemory {
                limit: self.state.frames.limit_bytes(),
            });
        }
        self.changed = true;
        if fresh.recycled {
            self.memory.zero(fresh.frame)?;
        }
        Ok(fresh.frame)
    }

    fn free_frame(&mut self, frame: u64) {
        if frame < FILES {
            self.changed = true;
            self.state.frames.release(frame);
        }
    }

    fn new_table(&mut self) -> Result<u64> {
        let full = Error::OutOfMemory {
            limit: self.state.frames.limit_bytes(),
        };
        if self.tables_next == self.tables_end {
            if self.fork_tables.is_some() {
                return Err(full);
            }
            self.tables_next = self.state.frames.reserve(TABLE_CHUNK);
            self.tables_end = self.tables_next + TABLE_CHUNK * PAGE;
        }
        let table = self.tables_next;
        if self.memory.private().at(table, PAGE as usize).is_none() {
            return Err(full);
        }
        self.tables_next += PAGE;
        self.tables.insert(table);
        Ok(table)
    }
}

/// What a snapshot keeps of an address space.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub state: SpaceState,
    pub tables: FrameSet,
    /// End of the memory that has content.
    pub end: u64,
    /// Frames for the tables of forks: [fork_tables, fork_tables_end).
    pub fork_tables: u64,
    pub fork_tables_end: u64,
}

fn index_of(address: u64, level: u32) -> usize {
    (address >> (12 + 9 * (level - 1)) & 511) as usize
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

fn image_word(image: &Mapping, table: u64, index: usize) -> Result<u64> {
    match image.at(table + 8 * index as u64, 8) {
        // SAFETY: eight aligned bytes lie at `p` in the snapshot's mapping, which nobody writes.
        Some(p) => Ok(unsafe { p.cast::<u64>().read() }),
        None => Err(Error::Broken {
            what: "a table of the snapshot lies outside of its image",
        }),
    }
}

#[cfg(test)]
mod tests;
