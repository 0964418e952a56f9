//! Page tables that nobody has checked: a walk that lets those pass which keep the invariants of [`crate::space`].

use std::ops::Range;

use crate::layout::{LOW_END, LOW_PD, LOW_PDPT, LOW_PT, PML4, USER_END, USER_START};
use crate::pte::{Protection, Pte};
use crate::space::{FrameSet, image_word};
use crate::sys::Mapping;

/// A page that a machine's tables map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedPage {
    /// Its address.
    pub address: u64,
    /// What ring 3 may do with it; nothing where it is parked.
    pub protection: Protection,
    /// Whether it is one of a host file's.
    pub of_file: bool,
}

/// Why a stored machine is none.
pub type Refused = String;

pub(super) fn ensure(holds: bool, why: impl FnOnce() -> String) -> std::result::Result<(), Refused> {
    if holds { Ok(()) } else { Err(why()) }
}

/// Walks the tables of a machine whose memory is `image` and ends at `end`, with host files at `windows`.
///
/// # Errors
/// The first entry that is not as it must be.
pub(super) fn walk<'a>(
    image: &'a Mapping,
    end: u64,
    windows: &'a [Range<u64>],
) -> std::result::Result<Walk<'a>, Refused> {
    let mut walk = Walk {
        image,
        end,
        windows,
        tables: FrameSet::default(),
        leaves: FrameSet::default(),
        used: 0,
        pages: Vec::new(),
    };
    walk.table(PML4, 4, 0)?;
    Ok(walk)
}

/// A walk over page tables that nobody has checked. What it lets pass keeps the invariants of [`crate::space`].
pub(super) struct Walk<'a> {
    image: &'a Mapping,
    end: u64,
    windows: &'a [Range<u64>],
    pub tables: FrameSet,
    leaves: FrameSet,
    /// Private frames that are mapped.
    pub used: u64,
    pub pages: Vec<MappedPage>,
}

impl Walk<'_> {
    /// Whether a frame is one that the program may have: behind the low 64 KiB, in front of the end, and nobody else's.
    fn is_private(&self, frame: u64) -> bool {
        (LOW_END..self.end).contains(&frame)
    }

    fn table(&mut self, table: u64, level: u32, base: u64) -> std::result::Result<(), Refused> {
        let is_low = (base, level) == (0, 4)
            || base == 0 && [(3, LOW_PDPT), (2, LOW_PD), (1, LOW_PT)].contains(&(level, table));
        ensure(is_low || self.is_private(table), || {
            format!("{base:#x}: a table at {table:#x}")
        })?;
        ensure(self.tables.insert(table) && !self.leaves.contains(table), || {
            format!("{base:#x}: {table:#x} has two uses")
        })?;
        for index in 0..512 {
            let word = image_word(self.image, table, index).map_err(|e| e.to_string())?;
            let (entry, address) = (Pte(word), base + ((index as u64) << (12 + 9 * (level - 1))));
            if entry == Pte::EMPTY {
                continue;
            }
            ensure(!entry.is_empty() && address < USER_END, || {
                format!("{address:#x}: an entry {word:#x}")
            })?;
            if level > 1 {
                ensure(entry == Pte::table(entry.frame()), || {
                    format!("{address:#x}: a link {word:#x}")
                })?;
                self.table(entry.frame(), level - 1, address)?;
            } else if address >= USER_START {
                self.leaf(address, entry)?;
            }
            // Below, the stubs' audit knows each entry.
        }
        Ok(())
    }

    fn leaf(&mut self, address: u64, entry: Pte) -> std::result::Result<(), Refused> {
        let (frame, present) = (entry.frame(), entry.is_present());
        let protection = Protection {
            read: present,
            write: present && entry.is_writable(),
            execute: present && entry.is_executable(),
        };
        ensure(entry == Pte::page(frame, protection), || {
            format!("{address:#x}: a page {:#x}", entry.0)
        })?;
        let of_file = self.windows.iter().any(|window| window.contains(&frame));
        if of_file {
            ensure(!protection.write, || {
                format!("{address:#x}: a file's page that can be written")
            })?;
        } else {
            let own = self.is_private(frame) && !self.tables.contains(frame);
            ensure(own && self.leaves.insert(frame), || {
                format!("{address:#x}: leads to {frame:#x}, which is not its own")
            })?;
            self.used += 1;
        }
        self.pages.push(MappedPage {
            address,
            protection,
            of_file,
        });
        Ok(())
    }
}
