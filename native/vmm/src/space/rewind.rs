//! The address space at a snapshot, in a fork, and back.

use std::mem;

use super::frame_set::FrameSet;
use super::{LAZY_BYTES, Space, SpaceState};
use crate::error::{Error, Result};
use crate::layout::{PAGE, PML4};
use crate::memory::Memory;
use crate::pte::Pte;
use crate::sys::Mapping;

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

impl Frozen {
    /// Frames to set aside for the tables of forks that may use so many bytes.
    pub fn fork_tables_for(limit: u64) -> u64 {
        limit / (PAGE * 512) + 128
    }
}

impl Space {
    /// The space of a fork over a private mapping of the snapshot's memory.
    pub(crate) fn forked(memory: Memory, frozen: &Frozen) -> Space {
        Space {
            tables_next: frozen.fork_tables,
            tables_end: frozen.fork_tables_end,
            fork_tables: Some(frozen.fork_tables),
            eager: frozen.state.frames.next() + LAZY_BYTES,
            tables: frozen.tables.clone(),
            ..Space::over(memory, frozen.state.clone())
        }
    }

    /// Ends the boot: freed frames become holes (returned), and room is set aside for the tables of forks with this limit.
    pub(crate) fn freeze(&mut self, limit: u64) -> (Frozen, Vec<u64>) {
        let mut holes = self.state.frames.forget_free();
        holes.sort_unstable();
        let end = self.state.frames.next();
        let count = Frozen::fork_tables_for(limit);
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
                        self.note_stale(now.frame());
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

    /// Whether no table was written and no translation changed since the snapshot or the last rewind.
    pub(crate) fn has_tables_of_snapshot(&self) -> bool {
        self.written.is_empty() && self.stale.is_empty()
    }

    /// What is known of frames, where it is not as in the snapshot.
    pub(crate) fn changed_state(&self) -> Option<SpaceState> {
        self.changed.then(|| self.state.clone())
    }

    /// Sets it, until the next rewind.
    pub(crate) fn set_state(&mut self, state: SpaceState) {
        (self.state, self.changed) = (state, true);
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
}

/// A word of the snapshot's memory.
pub(crate) fn image_word(image: &Mapping, table: u64, index: usize) -> Result<u64> {
    match image.at(table + 8 * index as u64, 8) {
        // SAFETY: eight aligned bytes lie at `p` in the snapshot's mapping, which nobody writes.
        Some(p) => Ok(unsafe { p.cast::<u64>().read() }),
        None => Err(Error::Broken {
            what: "a table of the snapshot lies outside of its image",
        }),
    }
}
