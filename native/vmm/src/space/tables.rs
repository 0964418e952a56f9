//! Walking and changing page tables, one entry at a time.

use super::{FRESH_WORK, Space, TABLE_CHUNK, Written};
use crate::error::{Error, Result};
use crate::layout::{FILES, PAGE, PML4, USER_END, USER_START};
use crate::pte::Pte;

/// Where an entry lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub table: u64,
    pub index: usize,
}

impl Space {
    pub(super) fn entry(&self, slot: Slot) -> Pte {
        Pte(self.memory.word(slot.table, slot.index))
    }

    pub(crate) fn entry_at(&self, address: u64) -> Option<Pte> {
        self.leaf(address).map(|s| self.entry(s))
    }

    pub(super) fn set(&mut self, slot: Slot, new: Pte) {
        let old = self.entry(slot);
        if old == new {
            return;
        }
        if old.goes_stale(new) {
            self.note_stale(old.frame());
        }
        self.memory.set_word(slot.table, slot.index, new.0);
        self.work += 1;
        self.note_written(slot.table, 1);
    }

    pub(super) fn note_written(&mut self, table: u64, level: u32) {
        if cfg!(debug_assertions) {
            self.unaudited += 1;
        }
        if self.fork_tables.is_some() && self.written_set.insert(table) {
            self.written.push(Written { table, level });
        }
    }

    pub(super) fn leaf(&self, address: u64) -> Option<Slot> {
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

    pub(super) fn leaf_or_new(&mut self, address: u64) -> Result<Slot> {
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

    /// The first mapped page in [from, end), and its entry.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn next_entry(&self, from: u64, end: u64) -> Option<(u64, Pte)> {
        self.next_mapped(from, end)
            .map(|(address, _, entry)| (address, entry))
    }

    /// The first mapped page in [from, end).
    pub(super) fn next_mapped(&self, from: u64, end: u64) -> Option<(u64, Slot, Pte)> {
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

    pub(super) fn fresh_frame(&mut self) -> Result<u64> {
        let fresh = self.state.frames.allocate()?;
        if self.memory.private().at(fresh.frame, PAGE as usize).is_none() {
            self.state.frames.release(fresh.frame);
            return Err(Error::OutOfMemory {
                limit: self.state.frames.limit_bytes(),
            });
        }
        self.changed = true;
        self.work += FRESH_WORK;
        if fresh.recycled {
            self.memory.zero(fresh.frame)?;
        } else if fresh.frame >= self.eager {
            self.memory.set_word(fresh.frame, 0, 0);
        }
        Ok(fresh.frame)
    }

    pub(super) fn free_frame(&mut self, frame: u64) {
        if frame < FILES {
            self.changed = true;
            self.state.frames.release(frame);
        }
    }

    pub(super) fn new_table(&mut self) -> Result<u64> {
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

/// Position in a table of this level, 1 the lowest.
fn index_of(address: u64, level: u32) -> usize {
    (address >> (12 + 9 * (level - 1)) & 511) as usize
}
