//! The slots between guest-physical memory and KVM, and the flush of stale translations.

use kvm_bindings::{KVM_MEM_READONLY, kvm_userspace_memory_region};

use super::{Kind, Vm};
use crate::dirty::{Run, push_run};
use crate::error::{Error, Result, again};
use crate::flavour::Flush;
use crate::layout::{FILES, LOW_END, PAGE};

/// Slots grow by this much while a program boots.
pub(super) const BOOT_SLOT: u64 = 64 << 20;
/// Slots of a fork grow by this much: KVM keeps about 2 bytes for each 1000 of a slot.
const FORK_SLOT: u64 = 16 << 20;
/// Runs of stale pages above which pieces are flushed, each whole: two calls for a piece, and other pages of it fault once more.
const FLUSH_RUNS: usize = 48;
/// Most that one call flushes. It keeps the process's memory map locked, against all other machines, for as long as it takes (25 us).
const FLUSH_PIECE: u64 = 1 << 20;

impl Vm {
    /// Gives new frames slots and makes KVM forget stale translations.
    pub(super) fn settle(&mut self) -> Result<u64> {
        let top = self.space.top();
        if top > self.covered {
            let step = if matches!(self.kind, Kind::Boot(_)) {
                BOOT_SLOT
            } else {
                FORK_SLOT
            };
            let end = (top - self.covered).div_ceil(step) * step + self.covered;
            self.cover(end.min(self.space.memory().private().length() as u64))?;
        }
        if !self.space.has_stale() {
            return Ok(0);
        }
        let stale = self.space.take_stale();
        match self.host.flavour().flush {
            Flush::ReloadCr3 => self.flush_pending = true,
            Flush::Notifier => {
                self.flush_by_notifier(&stale)?;
                self.flushed = self.space.went_stale();
            }
        }
        Ok(stale.len() as u64)
    }

    pub(super) fn flush_by_notifier(&self, stale: &[u64]) -> Result<()> {
        let memory = self.space.memory();
        let (private, files) = stale.split_at(stale.partition_point(|f| *f < FILES));
        for run in to_flush(private.iter().copied(), LOW_END, self.covered) {
            memory
                .private()
                .forget_translations(run.start, run.length as usize, true)?;
        }
        for window in memory.windows() {
            let length = window.mapping.length() as u64;
            let pages = files
                .iter()
                .filter_map(|f| f.checked_sub(window.start))
                .filter(|offset| *offset < length);
            for run in to_flush(pages, 0, length) {
                window
                    .mapping
                    .forget_translations(run.start, run.length as usize, false)?;
            }
        }
        Ok(())
    }

    /// Adds a slot for private memory from `covered` to `end`.
    pub(super) fn cover(&mut self, end: u64) -> Result<()> {
        if end <= self.covered {
            return Err(Error::OutOfMemory {
                limit: self.space.limit_bytes(),
            });
        }
        let length = end - self.covered;
        let memory = self.space.memory().private().at(self.covered, length as usize);
        let memory = memory.ok_or(Error::Broken {
            what: "a slot outside of private memory",
        })?;
        self.add_slot(self.covered, length, memory as u64, 0)?;
        self.covered = end;
        Ok(())
    }

    pub(super) fn cover_window(&mut self, index: usize) -> Result<()> {
        let window = &self.space.memory().windows()[index];
        let (start, length, memory) = (
            window.start,
            window.mapping.length() as u64,
            window.mapping.base() as u64,
        );
        // A flush splits huge pages of the page cache, and KVM forgets all 512 pages: a request that wrote one page of a library met
        // dozens of faults in its code.
        if self.host.flavour().flush == Flush::Notifier {
            window.mapping.refuse_huge_pages();
        }
        self.add_slot(start, length, memory, KVM_MEM_READONLY)
    }

    pub(super) fn add_slot(&mut self, start: u64, length: u64, memory: u64, flags: u32) -> Result<()> {
        let region = kvm_userspace_memory_region {
            slot: self.slots.len() as u32,
            flags,
            guest_phys_addr: start,
            memory_size: length,
            userspace_addr: memory,
        };
        // SAFETY: the host range is one of this machine's mappings; they live in `space`, which is dropped after the vCPU and
        // the machine's descriptor.
        again("give the machine memory", || unsafe {
            self.fd.set_user_memory_region(region)
        })?;
        self.slots.push(region);
        Ok(())
    }

    /// Deletes all slots and adds them again: KVM drops every shadow page and translation.
    pub(super) fn rebuild_slots(&mut self) -> Result<()> {
        for region in &self.slots {
            for memory_size in [0, region.memory_size] {
                let region = kvm_userspace_memory_region {
                    memory_size,
                    ..*region
                };
                // SAFETY: as in `add_slot`: the same range, or none.
                again("rebuild a slot", || unsafe {
                    self.fd.set_user_memory_region(region)
                })?;
            }
        }
        Ok(())
    }
}

/// What to flush for sorted stale pages of `start..end`, in runs of a piece or less: others may take the lock in between.
fn to_flush(pages: impl Iterator<Item = u64>, start: u64, end: u64) -> Vec<Run> {
    let mut runs = Vec::new();
    pages.for_each(|page| push_run(&mut runs, page, PAGE));
    if runs.len() > FLUSH_RUNS {
        return pieces(&runs, start, end);
    }
    runs.iter()
        .flat_map(|run| {
            let end = run.start + run.length;
            (run.start..end)
                .step_by(FLUSH_PIECE as usize)
                .map(move |start| Run {
                    start,
                    length: FLUSH_PIECE.min(end - start),
                })
        })
        .collect()
}

/// The pieces of `start..end` that sorted runs touch.
fn pieces(runs: &[Run], start: u64, end: u64) -> Vec<Run> {
    let mut pieces: Vec<Run> = Vec::new();
    for run in runs {
        let first = run.start / FLUSH_PIECE;
        let last = (run.start + run.length - 1) / FLUSH_PIECE;
        for index in first..=last {
            let from = (index * FLUSH_PIECE).max(start);
            let to = ((index + 1) * FLUSH_PIECE).min(end);
            if from < to && pieces.last().is_none_or(|last| last.start < from) {
                let length = to - from;
                pieces.push(Run { start: from, length });
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_are_flushed_as_they_are_and_long_ones_in_parts() {
        let run = |start: u64, length: u64| Run { start, length };
        let flushed = |runs: &[Run]| {
            let pages = runs
                .iter()
                .flat_map(|run| (run.start..run.start + run.length).step_by(PAGE as usize));
            to_flush(pages, 0, u64::MAX)
        };
        let few = [
            run(0, PAGE),
            run(7 * PAGE, 2 * PAGE),
            run(FLUSH_PIECE - PAGE, FLUSH_PIECE),
        ];
        assert_eq!(flushed(&few), few);
        let long = [run(PAGE, PAGE), run(5 * PAGE, 2 * FLUSH_PIECE + PAGE)];
        assert_eq!(
            flushed(&long),
            [
                run(PAGE, PAGE),
                run(5 * PAGE, FLUSH_PIECE),
                run(5 * PAGE + FLUSH_PIECE, FLUSH_PIECE),
                run(5 * PAGE + 2 * FLUSH_PIECE, PAGE),
            ]
        );
        let many: Vec<Run> = (0..=FLUSH_RUNS as u64).map(|i| run(2 * i * PAGE, PAGE)).collect();
        assert_eq!(flushed(&many), [run(0, FLUSH_PIECE)]);
        assert_eq!(flushed(&[]), []);
    }

    #[test]
    fn pieces_cover_all_runs_and_nothing_that_no_run_touches() {
        let run = |start: u64, length: u64| Run { start, length };
        let end = 5 * FLUSH_PIECE + 3 * PAGE;
        let runs = [
            run(LOW_END, PAGE),
            run(FLUSH_PIECE - PAGE, 2 * PAGE),
            run(2 * FLUSH_PIECE - PAGE, PAGE),
            run(4 * FLUSH_PIECE, PAGE),
            run(5 * FLUSH_PIECE, 3 * PAGE),
        ];
        assert_eq!(
            pieces(&runs, LOW_END, end),
            [
                run(LOW_END, FLUSH_PIECE - LOW_END),
                run(FLUSH_PIECE, FLUSH_PIECE),
                run(4 * FLUSH_PIECE, FLUSH_PIECE),
                run(5 * FLUSH_PIECE, 3 * PAGE),
            ]
        );
        let long = [run(PAGE, 3 * FLUSH_PIECE)];
        assert_eq!(pieces(&long, 0, end).len(), 4);
        assert_eq!(pieces(&[], 0, end), []);
        assert_eq!(pieces(&[run(6 * FLUSH_PIECE, PAGE)], 0, end), [], "not in a slot");
    }
}
