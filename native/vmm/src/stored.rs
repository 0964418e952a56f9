//! Snapshots in files: what of a machine is written, and how one is made of it again, on which nothing is believed.
//!
//! ```text
//! low 64 KiB         stubs are made anew; of its tables only the three upper ones are in the file
//! from there on      runs of pages that are not all zero; memory of the base is the base's file's
//! page tables        lie in those runs; a walk checks every entry before a machine runs on them
//! ```

mod walk;

use std::fs::File;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ahead::Ahead;
use crate::backing::{self, BackingSegment};
use crate::error::{Error, Result};
use crate::frames::Frames;
use crate::host::Host;
use crate::layout::{FILES, LOW_END, LOW_PD, LOW_PDPT, PAGE, PML4, USER_END, page_up};
use crate::memory::{HostFile, Memory};
use crate::snapshot::Snapshot;
use crate::space::{FrameSet, Frozen, SpaceState, image_word};
use crate::stubs;
use crate::sys::{self, Mapping};
use crate::vcpu::{CpuState, Registers, VectorImage};

pub use walk::{MappedPage, Refused};
use walk::{ensure, walk};

/// Most runs of pages in a file: each is a mapping of every fork.
const RUNS_MAX: usize = 64;
/// Most memory that may have content in a file, in bytes.
const END_MAX: u64 = FILES / 2;
/// Most memory that forks may use, in bytes.
const LIMIT_MAX: u64 = 1 << 40;
/// The tables of the low 64 KiB that lead to the program's.
const UPPER: [u64; 3] = [PML4, LOW_PDPT, LOW_PD];

/// A machine without its memory, as a file has it. Made by [`Snapshot::store`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMachine {
    /// End of the memory that has content.
    end: u64,
    /// Frames in use, and frames' worth of memory charged for the program.
    used: u64,
    charged: u64,
    /// Most bytes that forks may use.
    limit: u64,
    #[serde(with = "StoredRegisters")]
    registers: Registers,
    fs_base: u64,
    gs_base: u64,
    xsave: Vec<u8>,
    traps_counter: bool,
    /// First frame that is this file's: behind the base's end.
    from: u64,
    /// Runs of pages, in bytes of guest-physical memory, back to back in the file.
    runs: Vec<(u64, u64)>,
    /// Words of the upper tables: table, index, entry.
    upper: Vec<(u8, u16, u64)>,
    /// Attached host files.
    windows: u32,
}

/// How a file has registers, in this order.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Registers")]
struct StoredRegisters {
    rax: u64,
    rbx: u64,
    rcx: u64,
    rdx: u64,
    rsi: u64,
    rdi: u64,
    rsp: u64,
    rbp: u64,
    r8: u64,
    r9: u64,
    r10: u64,
    r11: u64,
    r12: u64,
    r13: u64,
    r14: u64,
    r15: u64,
    rip: u64,
    rflags: u64,
}

impl StoredMachine {
    /// Bytes of memory in the file.
    pub fn memory_bytes(&self) -> u64 {
        self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.1))
    }

    /// Attached host files.
    pub fn windows(&self) -> u32 {
        self.windows
    }

    /// Checks every number by itself. `base_end`: that of its base, if it has one.
    fn check(&self, host: &Host, base_end: Option<u64>) -> std::result::Result<(), Refused> {
        let aligned = |x: u64| x.is_multiple_of(PAGE);
        ensure(
            aligned(self.end) && (LOW_END..=END_MAX).contains(&self.end),
            || format!("memory that ends at {:#x}", self.end),
        )?;
        ensure(
            self.from == base_end.unwrap_or(LOW_END) && self.from <= self.end,
            || format!("memory from {:#x} on", self.from),
        )?;
        ensure(aligned(self.limit) && self.limit <= LIMIT_MAX, || {
            format!("a limit of {} bytes", self.limit)
        })?;
        let frames = self.end / PAGE;
        ensure(self.used <= frames && self.charged <= LIMIT_MAX / PAGE, || {
            format!("{} frames in use and {} charged", self.used, self.charged)
        })?;
        ensure(self.runs.len() <= RUNS_MAX, || {
            format!("{} runs of memory", self.runs.len())
        })?;
        let mut last = self.from;
        for (start, length) in &self.runs {
            let end = start.checked_add(*length).filter(|end| *end <= self.end);
            let good = aligned(*start) && aligned(*length) && *length > 0 && *start >= last;
            last = end
                .filter(|_| good)
                .ok_or_else(|| format!("memory of {length:#x} bytes at {start:#x}"))?;
        }
        let rip = self.registers.rip;
        ensure(
            rip < USER_END && self.fs_base < USER_END && self.gs_base < USER_END,
            || format!("registers that lead out of user space: rip {rip:#x}"),
        )?;
        ensure(self.xsave.len() == host.xsave_length(), || {
            format!(
                "vector registers of {} bytes, want {}",
                self.xsave.len(),
                host.xsave_length()
            )
        })
    }

    fn frozen(&self, tables: FrameSet) -> Frozen {
        let count = Frozen::fork_tables_for(self.limit);
        let end = self.end + count * PAGE;
        Frozen {
            state: SpaceState {
                frames: Frames::stored(end, self.used, self.charged, self.limit),
            },
            tables,
            end: self.end,
            fork_tables: self.end,
            fork_tables_end: end,
        }
    }

    /// The low 64 KiB: stubs of this build, and the tables that the file has.
    fn low(&self, host: &Host, vectors: &VectorImage) -> Result<(BackingSegment, bool)> {
        let file = sys::memory_file(LOW_END)?;
        let mut memory = Memory::new(Mapping::shared(&file, LOW_END as usize, true)?);
        stubs::install(&mut memory, host.flavour().entry)?;
        vectors.install(&mut memory)?;
        let mut is_known = true;
        for (table, index, entry) in &self.upper {
            match (UPPER.get(usize::from(*table)), usize::from(*index)) {
                (Some(table), index @ 0..512) => memory.set_word(*table, index, *entry),
                _ => is_known = false,
            }
        }
        drop(memory);
        sys::seal(&file)?;
        let segment = BackingSegment {
            file: Arc::new(file),
            offset: 0,
            start: 0,
            end: LOW_END,
        };
        Ok((segment, is_known))
    }
}

impl Snapshot {
    /// What a file holds of it beside its memory. With `base`, which it was derived from, only what lies behind the base's end is its own.
    pub fn store(&self, base: Option<&Snapshot>) -> Result<StoredMachine> {
        let from = base.map_or(LOW_END, |base| base.frozen.end);
        let upper = |(number, table): (usize, u64)| {
            (0..512)
                .map(move |index| Ok((number as u8, index as u16, image_word(&self.image, table, index)?)))
        };
        let upper = UPPER.into_iter().enumerate().flat_map(upper);
        let upper = upper.filter(|word| !matches!(word, Ok((_, _, 0))));
        let (used, charged) = self.frozen.state.frames.counts();
        Ok(StoredMachine {
            end: self.frozen.end,
            used,
            charged,
            limit: self.frozen.state.frames.limit_bytes(),
            registers: self.state.registers,
            fs_base: self.state.fs_base,
            gs_base: self.state.gs_base,
            xsave: self.state.xsave.clone(),
            traps_counter: self.traps_counter,
            from,
            runs: self.runs(from)?,
            upper: upper.collect::<Result<_>>()?,
            windows: self.files.len() as u32,
        })
    }

    /// Whether it was derived from `base`: whether its memory begins with the base's.
    pub fn is_over(&self, base: &Snapshot) -> bool {
        let shared = self.segments.len() > base.segments.len();
        let same = |(a, b): (&BackingSegment, &BackingSegment)| Arc::ptr_eq(&a.file, &b.file);
        shared && self.segments.iter().zip(&base.segments).all(same)
    }

    /// Gives the memory that [`Snapshot::store`] tells of, run by run.
    pub fn visit_memory<E: From<Error>>(
        &self,
        stored: &StoredMachine,
        visit: &mut dyn FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for (start, length) in &stored.runs {
            visit(self.bytes(*start, *length)?)?;
        }
        Ok(())
    }

    fn bytes(&self, start: u64, length: u64) -> Result<&[u8]> {
        let at = self.image.at(start, length as usize).ok_or(Error::Broken {
            what: "memory of a snapshot that it does not have",
        })?;
        // SAFETY: `at` checked the range of a mapping of sealed or private files that nobody writes and that lives as long as `self`.
        Ok(unsafe { std::slice::from_raw_parts(at, length as usize) })
    }

    /// The runs of pages from a frame on that are not all zero. Short gaps are filled, so that the runs are few.
    fn runs(&self, from: u64) -> Result<Vec<(u64, u64)>> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for frame in (from..self.frozen.end).step_by(PAGE as usize) {
            if self.bytes(frame, PAGE)?.iter().all(|byte| *byte == 0) {
                continue;
            }
            match runs.last_mut() {
                Some((start, length)) if *start + *length == frame => *length += PAGE,
                _ => runs.push((frame, PAGE)),
            }
        }
        let mut gap = PAGE;
        while runs.len() > RUNS_MAX {
            gap *= 2;
            runs = joined(&runs, gap);
        }
        Ok(runs)
    }

    /// Makes a snapshot of what a file has: its memory lies in `memory` from `offset` on, and behind it if there is a base that
    /// the base's. `files` are attached in the order of their numbers. Gives the pages that are mapped, too, for the owner to hold against
    /// what it knows.
    ///
    /// The tables are checked as they are now. `memory` must not change as long as the snapshot lives.
    ///
    /// # Errors
    /// Inner: what is not as it must be.
    pub fn load(
        host: &Arc<Host>,
        stored: &StoredMachine,
        base: Option<&Arc<Snapshot>>,
        (memory, offset): (&Arc<File>, u64),
        files: Vec<Arc<HostFile>>,
    ) -> Result<std::result::Result<(Snapshot, Vec<MappedPage>), Refused>> {
        if let Err(why) = stored.check(host, base.map(|base| base.frozen.end)) {
            return Ok(Err(why));
        }
        let lent = files.len() as u32 == stored.windows;
        let of_base = base.is_none_or(|base| {
            let same = |(a, b): (&Arc<HostFile>, &Arc<HostFile>)| Arc::ptr_eq(a, b);
            base.files.len() <= files.len() && base.files.iter().zip(&files).all(same)
        });
        if !lent || !of_base {
            return Ok(Err("other host files than the machine has".into()));
        }
        let vectors = Arc::new(VectorImage::new(host, &stored.xsave));
        let mut segments = base.map_or(Vec::new(), |base| base.segments.clone());
        let (low, is_known) = stored.low(host, &vectors)?;
        if !is_known {
            return Ok(Err("a word of no table".into()));
        }
        segments.push(low);
        let mut at = offset;
        for (start, length) in &stored.runs {
            segments.push(BackingSegment {
                file: memory.clone(),
                offset: at,
                start: *start,
                end: start + length,
            });
            at += length;
        }
        let image = backing::image(&segments, stored.end)?;
        let windows = match window_pages(&files) {
            Some(windows) => windows,
            None => return Ok(Err("an attached file that is empty".into())),
        };
        let walked = match walk(&image, stored.end, &windows) {
            Ok(walked) => walked,
            Err(why) => return Ok(Err(why)),
        };
        if walked.used != stored.used {
            let why = format!("{} frames in use, its tables have {}", stored.used, walked.used);
            return Ok(Err(why));
        }
        let (tables, pages) = (walked.tables, walked.pages);
        let snapshot = Snapshot {
            host: host.clone(),
            segments,
            image,
            frozen: stored.frozen(tables),
            files,
            state: CpuState {
                registers: stored.registers,
                fs_base: stored.fs_base,
                gs_base: stored.gs_base,
                xsave: stored.xsave.clone(),
            },
            vectors,
            traps_counter: stored.traps_counter,
            ahead: Ahead::default(),
        };
        Ok(Ok((snapshot, pages)))
    }

    /// Makes a machine of a snapshot that was read, checks its low memory and its tables as each debug build does, and has KVM take its
    /// vector registers and those of `others`.
    ///
    /// # Errors
    /// Inner: what is not as it must be.
    pub fn try_machine<'a>(
        self: &'a Arc<Self>,
        others: impl Iterator<Item = &'a [u8]>,
    ) -> Result<std::result::Result<(), Refused>> {
        let refused = || Ok(Err("vector registers that no CPU accepts".into()));
        let mut vm = match self.fork() {
            Err(e) if is_invalid(&e) => return refused(),
            forked => forked?,
        };
        if let Err(e) = vm.audit() {
            return Ok(Err(e.to_string()));
        }
        for image in [&self.state.xsave[..]].into_iter().chain(others) {
            if image.len() != self.host.xsave_length() {
                return Ok(Err(format!("vector registers of {} bytes", image.len())));
            }
            match vm.set_xsave(image) {
                Ok(()) => {}
                Err(e) if is_invalid(&e) => return refused(),
                Err(e) => return Err(e),
            }
        }
        Ok(Ok(()))
    }
}

/// Whether KVM refused the state that it was given.
fn is_invalid(e: &Error) -> bool {
    matches!(e, Error::Host { source, .. } if source.raw_os_error() == Some(libc::EINVAL))
}

/// Runs with those joined that lie less than `gap` apart.
fn joined(runs: &[(u64, u64)], gap: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (start, length) in runs {
        match all.last_mut() {
            Some(last) if start - (last.0 + last.1) < gap => last.1 = start + length - last.0,
            _ => all.push((*start, *length)),
        }
    }
    all
}

/// Where the pages of attached files lie; `None` for a file without any.
fn window_pages(files: &[Arc<HostFile>]) -> Option<Vec<std::ops::Range<u64>>> {
    let mut start = FILES;
    let mut windows = Vec::new();
    for file in files {
        let length = page_up(file.length()).filter(|length| *length > 0)?;
        windows.push(start..start.checked_add(length)?);
        start += length;
    }
    Some(windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_over_short_gaps() {
        let runs = [(0, PAGE), (3 * PAGE, PAGE), (9 * PAGE, 2 * PAGE)];
        assert_eq!(joined(&runs, 2 * PAGE), runs);
        assert_eq!(joined(&runs, 3 * PAGE), [(0, 4 * PAGE), (9 * PAGE, 2 * PAGE)]);
        assert_eq!(joined(&runs, 6 * PAGE), [(0, 11 * PAGE)]);
    }
}
