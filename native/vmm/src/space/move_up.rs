//! Moving changed frames of a base behind its end, where the frames of the program that was derived from it lie.

use super::Space;
use super::frame_set::FrameSet;
use super::rewind::Frozen;
use crate::error::{Error, Result};
use crate::layout::{FILES, LOW_END, PAGE, PML4};
use crate::memory::Memory;
use crate::pte::Pte;

/// Where frames move to.
struct Moving<'a> {
    /// Frames whose content is not the base's.
    changed: &'a FrameSet,
    /// End of the base.
    end: u64,
    /// Free frames behind it, the lowest last.
    free: Vec<u64>,
    /// Mapped frames behind it that hold zeros.
    zeros: Vec<u64>,
}

impl Space {
    /// The space of a program that boots on from a base: frames and tables that it takes lie behind the base's end. `limit` is
    /// that of the program, the base's frames included.
    pub(crate) fn derived(memory: Memory, frozen: &Frozen, limit: u64) -> Space {
        let mut space = Space::forked(memory, frozen);
        space.state.frames.continue_from(frozen.end);
        space.state.frames.set_limit(limit);
        (space.tables_next, space.tables_end, space.fork_tables) = (0, 0, None);
        space.eager = u64::MAX;
        space
    }

    /// The frames that were freed, which nothing leads to any more; they are holes from now on.
    pub(crate) fn forget_free(&mut self) -> Vec<u64> {
        self.state.frames.forget_free()
    }

    /// Moves every frame among `changed` that a table leads to behind `end`, with the tables that lead there, so that what is
    /// left below `end` is the base's, byte for byte. The low 64 KiB stay where they are. `free` lists frames behind `end` that
    /// are free and hold zeros. Gives the mapped frames behind `end` that hold zeros, which need no memory. No vCPU may run on these
    /// tables.
    pub(crate) fn move_up(&mut self, changed: &FrameSet, end: u64, mut free: Vec<u64>) -> Result<Vec<u64>> {
        free.sort_unstable_by(|a, b| b.cmp(a));
        let mut moving = Moving {
            changed,
            end,
            free,
            zeros: Vec::new(),
        };
        self.move_below(PML4, 4, &mut moving)?;
        Ok(moving.zeros)
    }

    /// Moves what a table leads to; true if its entries changed.
    fn move_below(&mut self, table: u64, level: u32, moving: &mut Moving) -> Result<bool> {
        let mut touched = false;
        for index in 0..512 {
            let entry = Pte(self.memory.word(table, index));
            if entry.is_empty() {
                continue;
            }
            let frame = entry.frame();
            let changed = if level > 1 {
                self.move_below(frame, level - 1, moving)? || moving.changed.contains(frame)
            } else {
                moving.changed.contains(frame)
            };
            if level == 1 && (moving.end..FILES).contains(&frame) && self.is_zero(frame)? {
                moving.zeros.push(frame);
            }
            if !changed || !(LOW_END..moving.end).contains(&frame) {
                continue;
            }
            let to = self.free_frame_behind(moving)?;
            self.copy_unless_zero(frame, to)?;
            if level > 1 {
                self.tables.remove(frame);
                self.tables.insert(to);
            }
            self.memory.set_word(table, index, entry.with_frame(to).0);
            touched = true;
        }
        Ok(touched)
    }

    fn free_frame_behind(&mut self, moving: &mut Moving) -> Result<u64> {
        if let Some(frame) = moving.free.pop() {
            return Ok(frame);
        }
        let frame = self.state.frames.reserve(1);
        match self.memory.private().at(frame, PAGE as usize) {
            Some(_) => Ok(frame),
            None => Err(Error::Broken {
                what: "no room behind the base for a frame of it",
            }),
        }
    }

    fn is_zero(&self, frame: u64) -> Result<bool> {
        let mut page = [0; PAGE as usize];
        self.memory.read(frame, 0, &mut page)?;
        Ok(page == [0; PAGE as usize])
    }

    /// A frame of zeros needs no page of the file.
    fn copy_unless_zero(&mut self, from: u64, to: u64) -> Result<()> {
        let mut page = [0; PAGE as usize];
        self.memory.read(from, 0, &mut page)?;
        if page == [0; PAGE as usize] {
            return Ok(());
        }
        self.memory.write(to, 0, &page)
    }
}
