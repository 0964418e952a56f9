//! Machines that boot on from a snapshot, and snapshots that share its pages.
//!
//! A base is a runtime that waits for a program; a machine derived from it loads one. It runs on the base's memory as a fork
//! does: the host kernel copies a page when it is first written. Frames that it takes lie behind the base's end, in a memory
//! file of its own. At its snapshot the copies that differ from the base move there too (their page-table entries are led to
//! them), so that the snapshot is the base's file as it is and one small file behind it:
//!
//! ```text
//! guest-physical  0 .. 64 KiB      64 KiB .. base's end              base's end ..
//! while it boots  private copy     base's file, copied when written  own file, from 64 KiB
//! as a snapshot   own file, 0      base's file                       own file, from 64 KiB
//! ```
//! Forks map the two files in three parts; programs of one base share its pages in the host's page cache.

use std::fs::File;
use std::sync::Arc;

use super::slots::BOOT_SLOT;
use super::{Boot, Kind, Vm};
use crate::backing::{self, BackingSegment};
use crate::dirty::PageMap;
use crate::error::{Error, Result};
use crate::layout::{LOW_END, PAGE, page_up};
use crate::memory::{HostFile, Memory};
use crate::snapshot::Snapshot;
use crate::space::{FrameSet, Frozen, Space};
use crate::sys::{self, Mapping, Overlay};

/// A snapshot's memory, for another machine to lie over.
#[derive(Clone, Copy)]
pub(crate) struct BaseImage<'a> {
    pub segments: &'a [BackingSegment],
    /// Their content, read-only.
    pub image: &'a Mapping,
    pub frozen: &'a Frozen,
}

impl BaseImage<'_> {
    /// The space of a machine that boots on from here, and the file for what lies behind the end. Its program may use `limit` bytes
    /// of memory, what is used here included; it has the same host files attached.
    pub fn derive(self, files: &[Arc<HostFile>], limit: u64) -> Result<(File, Space)> {
        let end = self.frozen.end;
        // Its own frames and tables, as `Vm::new` has them, and room for all frames of the base.
        let own = page_up(limit + limit / 256 + (4 << 20) + end).ok_or(Error::OutOfMemory { limit })?;
        let file = sys::memory_file(LOW_END + own)?;
        let mut private = Mapping::anonymous((end + own) as usize)?;
        backing::overlay(self.segments, &mut private, Overlay::Private)?;
        private.overlay(end, (&file, LOW_END), own as usize, Overlay::Shared)?;
        let mut memory = Memory::new(private);
        for file in files {
            memory.attach(file)?;
        }
        Ok((file, Space::derived(memory, self.frozen, limit)))
    }

    /// Whether a frame holds this; behind the end all is zero.
    pub(super) fn holds(self, frame: u64, page: &[u8; PAGE as usize]) -> bool {
        match self.image.at(frame, PAGE as usize) {
            None => *page == [0; PAGE as usize],
            // SAFETY: a whole page lies at `then`, in a read-only mapping of sealed files; u8 has no alignment.
            Some(then) => page[..] == *unsafe { std::slice::from_raw_parts(then, PAGE as usize) },
        }
    }
}

/// What [`Boot::freeze_over`] does, without a machine.
#[cfg(feature = "fuzzing")]
pub(crate) fn freeze_over(
    file: File,
    base: BaseImage<'_>,
    space: Space,
    limit: u64,
) -> Result<(Vec<BackingSegment>, Frozen)> {
    let boot = Boot {
        file: Arc::new(file),
        base: None,
    };
    boot.freeze_over(base, space, limit)
}

impl Snapshot {
    pub(super) fn base_image(&self) -> BaseImage<'_> {
        BaseImage {
            segments: &self.segments,
            image: &self.image,
            frozen: &self.frozen,
        }
    }

    /// A machine that boots on from this snapshot, to become a snapshot of its own. Its program may use `limit` bytes of memory,
    /// what the base uses included.
    pub fn derive(self: &Arc<Self>, limit: u64) -> Result<Vm> {
        let (file, space) = self.base_image().derive(&self.files, limit)?;
        let length = space.memory().private().length() as u64;
        let boot = Boot {
            file: Arc::new(file),
            base: Some(self.clone()),
        };
        let covered = (self.frozen.end + BOOT_SLOT).min(length);
        let mut vm = Vm::build(&self.host, space, Kind::Boot(Box::new(boot)), covered)?;
        if self.traps_counter {
            vm.trap_counter();
        }
        vm.vcpu.adopt(&self.vectors);
        vm.vcpu.load(&self.state, None)?;
        Ok(vm)
    }
}

impl Boot {
    /// Ends the writing of a machine's memory that was derived from `base`.
    pub(super) fn freeze_over(
        &self,
        base: BaseImage<'_>,
        mut space: Space,
        limit: u64,
    ) -> Result<(Vec<BackingSegment>, Frozen)> {
        let end = base.frozen.end;
        let changed = changed_frames(base, &space)?;
        // Freed frames of the base are the base's again: no table leads there.
        let mut free = space.forget_free();
        free.retain(|f| *f >= end);
        free.sort_unstable();
        let before_file = end - LOW_END;
        self.punch(&free, before_file)?;
        let mut zeros = space.move_up(&changed, end, free)?;
        zeros.sort_unstable();
        self.punch(&zeros, before_file)?;
        if cfg!(debug_assertions) {
            space.audit().map_err(|what| Error::Impure { what })?;
        }
        let mut low = Mapping::shared(&self.file, LOW_END as usize, true)?;
        copy_low(&space, &mut low)?;
        let (frozen, _) = space.freeze(limit);
        drop((space, low));
        let own = self.seal(LOW_END, end..frozen.end)?;
        let mut all = base.segments.to_vec();
        all.push(BackingSegment {
            file: own.file.clone(),
            offset: 0,
            start: 0,
            end: LOW_END,
        });
        all.push(own);
        Ok((all, frozen))
    }
}

/// The frames of the base that this machine wrote and that differ from it.
fn changed_frames(base: BaseImage<'_>, space: &Space) -> Result<FrameSet> {
    let memory = space.memory();
    let (mut runs, mut changed) = (Vec::new(), FrameSet::default());
    PageMap::open()?.private_pages(memory.private(), base.frozen.end, &mut runs)?;
    let mut now = [0; PAGE as usize];
    for run in runs {
        for frame in (run.start..run.start + run.length).step_by(PAGE as usize) {
            memory.read(frame, 0, &mut now)?;
            if frame >= LOW_END && !base.holds(frame, &now) {
                changed.insert(frame);
            }
        }
    }
    Ok(changed)
}

/// Copies the low 64 KiB into a file of zeros.
fn copy_low(space: &Space, low: &mut Mapping) -> Result<()> {
    let mut page = [0; PAGE as usize];
    for frame in (0..LOW_END).step_by(PAGE as usize) {
        space.memory().read(frame, 0, &mut page)?;
        if page == [0; PAGE as usize] {
            continue;
        }
        let target = low.at(frame, PAGE as usize).ok_or(Error::Broken {
            what: "low memory is longer than its file",
        })?;
        // SAFETY: `at` checked the page, which is writable and this function's alone.
        unsafe { std::ptr::copy_nonoverlapping(page.as_ptr(), target, PAGE as usize) };
    }
    Ok(())
}

#[cfg(test)]
mod tests;
