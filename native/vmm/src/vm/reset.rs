//! Fork and reset.

use std::sync::Arc;

use super::decay::{self, Decay};
use super::held::Held;
use super::{Kind, Vm};
use crate::backing;
use crate::dirty::{PageMap, Run, push_run};
use crate::error::{Error, Result};
use crate::flavour::Flush;
use crate::layout::{PAGE, page_up};
use crate::memory::Memory;
use crate::snapshot::Snapshot;
use crate::space::{FrameSet, Space};
use crate::step::ResetStep;
use crate::sys::{self, Mapping, Overlay};
use crate::vcpu::{CpuState, Reference};

/// Room that a fork's first slot has beyond the snapshot.
const FORK_ROOM: u64 = 2 << 20;
/// Tables added by requests above which a reset rebuilds the slot to unlink them.
const KEPT_TABLES: u64 = 64;
/// Working sets below this many pages are never trimmed.
const TRIM_PAGES: u64 = 1024;
/// Outliers in a row after which a large working set is taken for normal.
const TRIM_STRIKES: u32 = 4;
/// Resets after which a large working set is trimmed anyway, to learn anew what requests need.
const TRIM_EVERY: u64 = 1024;

/// What a reset did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResetReport {
    /// Pages copied back or zeroed.
    pub pages: u64,
    /// Pages whose translations were flushed.
    pub flushed: u64,
    /// The page map was scanned for new private pages.
    pub scanned: bool,
    /// Pages that requests no longer write and that were given back.
    pub idle: u64,
    /// All private pages were given back.
    pub trimmed: bool,
    /// The slots were rebuilt to unlink added tables.
    pub rebuilt: bool,
}

#[derive(Debug)]
pub(super) struct Fork {
    snapshot: Arc<Snapshot>,
    pub(super) map: PageMap,
    /// Private pages that resets copy back, sorted; tables are not among them.
    working: Vec<Run>,
    working_pages: u64,
    /// Those of them that are zero in the snapshot: filling one costs less than half of copying it, as nothing is read.
    blank: FrameSet,
    /// Frames of which it is known whether they are.
    looked_at: FrameSet,
    /// Page faults of this thread when `working` was complete; -1: it is not.
    faults: i64,
    pub(super) held: Held,
    thread: u64,
    /// Size of the working set that requests usually need.
    usual: u64,
    strikes: u32,
    since_trim: u64,
    decay: Decay,
    reference: Option<Reference>,
}

impl Vm {
    /// Puts memory, page tables and registers back to the snapshot's.
    pub fn reset(&mut self) -> Result<ResetReport> {
        self.reset_but(None)
    }

    /// A reset that leaves a step out: for the leak check alone. The machine is to be dropped afterwards.
    #[cfg(feature = "mutations")]
    pub fn reset_without(&mut self, left_out: Option<ResetStep>) -> Result<ResetReport> {
        self.reset_but(left_out)
    }

    #[inline]
    pub(super) fn reset_but(&mut self, left_out: Option<ResetStep>) -> Result<ResetReport> {
        let Kind::Fork(_) = self.kind else {
            return Err(Error::WrongKind {
                attempt: "reset a machine that is no fork",
            });
        };
        let mut report = ResetReport::default();
        if ResetStep::Tables.is_done(left_out) {
            self.rewind_tables(&mut report, left_out)?;
        }
        if ResetStep::Pages.is_done(left_out) {
            self.copy_back(&mut report)?;
        }
        let Kind::Fork(fork) = &self.kind else {
            unreachable!("checked above")
        };
        self.vcpu.load(&fork.snapshot.state, left_out)?;
        if cfg!(debug_assertions) && left_out.is_none() {
            self.audit()?;
        }
        Ok(report)
    }

    fn rewind_tables(&mut self, report: &mut ResetReport, left_out: Option<ResetStep>) -> Result<()> {
        let Kind::Fork(fork) = &mut self.kind else {
            return Ok(());
        };
        // Not a counted reference of its own: forks on other threads count on the same line.
        let snapshot = &fork.snapshot;
        self.space.rewind(&snapshot.frozen, &snapshot.image)?;
        if self.space.added_tables() > KEPT_TABLES {
            // Every page, tables included, becomes the snapshot's again, and KVM forgets what it knew.
            self.space.forget_tables(&snapshot.frozen);
            let private = self.space.memory().private();
            private.discard(0, private.length())?;
            fork.working.clear();
            (fork.working_pages, fork.faults) = (0, -1);
            fork.held.forget();
            self.rebuild_slots()?;
            match self.host.flavour().flush {
                Flush::ReloadCr3 => self.flush_pending = true,
                Flush::Notifier => self.flushed = self.space.went_stale(),
            }
            report.rebuilt = true;
            return Ok(());
        }
        if !ResetStep::Flush.is_done(left_out) {
            // Or the next entry would flush, and debug builds would stop there: the second and the third line of defence.
            self.space.take_stale();
            self.flushed = self.space.went_stale();
            return Ok(());
        }
        report.flushed = self.settle()?;
        Ok(())
    }

    fn copy_back(&mut self, report: &mut ResetReport) -> Result<()> {
        let Kind::Fork(fork) = &mut self.kind else {
            return Ok(());
        };
        let (thread, faults) = (sys::thread_mark(), sys::page_faults());
        report.scanned = !fork.knows_private((thread, faults));
        if report.scanned {
            fork.rescan(&self.space)?;
        }
        report.pages = fork.working_pages;
        if fork.wants_trim() {
            for run in &fork.working {
                self.space
                    .memory()
                    .private()
                    .discard(run.start, run.length as usize)?;
            }
            fork.working.clear();
            (fork.working_pages, fork.since_trim, fork.faults) = (0, 0, -1);
            fork.held.forget();
            fork.thread = thread;
            report.trimmed = true;
            return Ok(());
        }
        if fork.decay.is_due() {
            report.idle = fork.give_back_idle(&self.space)?;
        }
        restore(&self.space, &fork.snapshot, &fork.working, &fork.blank)?;
        fork.since_trim += 1;
        fork.thread = thread;
        if report.idle > 0 {
            fork.faults = -1;
            return Ok(());
        }
        // The copy faults only where a page was swapped out since; that shows at the next reset.
        fork.faults = if report.scanned {
            sys::page_faults()
        } else {
            faults
        };
        Ok(())
    }

    /// Compares every byte of private memory, every translation and all registers with the snapshot. To be called right after
    /// a reset; slow.
    pub fn check(&mut self) -> Result<()> {
        self.audit()?;
        let Kind::Fork(fork) = &mut self.kind else {
            return Err(Error::WrongKind {
                attempt: "compare a machine that is no fork",
            });
        };
        let snapshot = fork.snapshot.clone();
        self.space.compare_tables(&snapshot.frozen, &snapshot.image)?;
        let kept = snapshot.frozen.fork_tables..snapshot.frozen.fork_tables_end;
        let covered = self.covered;
        let is_content = |f: &u64| !self.space.is_table(*f) && !kept.contains(f);
        for frame in (0..covered).step_by(PAGE as usize).filter(is_content) {
            if !frame_is_restored(&self.space, &snapshot, frame) {
                return Err(Error::Impure {
                    what: format!("page {frame:#x} differs"),
                });
            }
        }
        let state: &CpuState = &snapshot.state;
        let reference = fork.reference.as_ref().ok_or(Error::Broken {
            what: "a fork without its reference",
        })?;
        self.vcpu.compare(self.space.memory_mut(), state, reference)
    }
}

impl Snapshot {
    /// A machine that continues from the snapshot.
    pub fn fork(self: &Arc<Self>) -> Result<Vm> {
        let frozen = &self.frozen;
        let limit = frozen.state.frames.limit_bytes();
        let top = frozen.fork_tables_end;
        let length = page_up(top + limit).ok_or(Error::OutOfMemory { limit })?;
        let mut private = Mapping::anonymous(length as usize)?;
        backing::overlay(&self.segments, &mut private, Overlay::Private)?;
        let mut memory = Memory::new(private);
        for file in &self.files {
            memory.attach(file)?;
        }
        let space = Space::forked(memory, frozen);
        let fork = Fork {
            snapshot: self.clone(),
            map: PageMap::open()?,
            working: Vec::new(),
            working_pages: 0,
            blank: FrameSet::default(),
            looked_at: FrameSet::default(),
            faults: -1,
            held: Held::default(),
            thread: sys::thread_mark(),
            usual: 0,
            strikes: 0,
            since_trim: 0,
            decay: Decay::new(),
            reference: None,
        };
        let mut vm = Vm::build(
            &self.host,
            space,
            Kind::Fork(Box::new(fork)),
            (top + FORK_ROOM).min(length),
        )?;
        if self.traps_counter {
            vm.trap_counter();
        }
        vm.vcpu.adopt(&self.vectors);
        vm.vcpu.load(&self.state, None)?;
        let (vcpu, memory) = (&mut vm.vcpu, vm.space.memory_mut());
        let reference = vcpu.settled_reference(memory)?;
        let Kind::Fork(fork) = &mut vm.kind else {
            unreachable!("built as a fork")
        };
        fork.reference = Some(reference);
        self.ahead.copy(vm.space.memory().private());
        Ok(vm)
    }
}

impl Fork {
    /// Whether no page can have become private since the last scan: this thread ran the machine all along, and had no page fault.
    fn knows_private(&self, (thread, faults): (u64, i64)) -> bool {
        self.faults == faults && self.thread == thread
    }

    /// Finds the private pages that hold content, unless they are known. Only reads of the machine's memory may come between it and a
    /// reset that is to do without a scan.
    pub(super) fn learn_private(&mut self, space: &Space) -> Result<()> {
        let thread = sys::thread_mark();
        if !self.knows_private((thread, sys::page_faults())) {
            self.rescan(space)?;
            (self.thread, self.faults) = (thread, sys::page_faults());
        }
        Ok(())
    }

    /// What the last scan found.
    pub(super) fn private_runs(&self) -> &[Run] {
        &self.working
    }

    pub(super) fn private_pages(&self) -> u64 {
        self.working_pages
    }

    pub(super) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Finds all private pages anew and leaves tables out.
    fn rescan(&mut self, space: &Space) -> Result<()> {
        let mut all = Vec::new();
        self.map.private_pages(
            space.memory().private(),
            space.memory().private().length() as u64,
            &mut all,
        )?;
        self.held.learn(&all);
        let frozen = &self.snapshot.frozen;
        let kept = frozen.fork_tables..frozen.fork_tables_end;
        let image = self.snapshot.base_image();
        self.working.clear();
        self.working_pages = 0;
        for run in all {
            for frame in (run.start..run.start + run.length).step_by(PAGE as usize) {
                if !space.is_table(frame) && !kept.contains(&frame) {
                    push_run(&mut self.working, frame, PAGE);
                    self.working_pages += 1;
                    if self.looked_at.insert(frame) && image.holds(frame, &[0; PAGE as usize]) {
                        self.blank.insert(frame);
                    }
                }
            }
        }
        self.snapshot.ahead.note(&self.working, self.working_pages);
        Ok(())
    }

    /// Looks which pages are still written; gives back those that are not, when it pays, and says how many.
    fn give_back_idle(&mut self, space: &Space) -> Result<u64> {
        let snapshot = &self.snapshot;
        let is_changed = |page| !frame_is_restored(space, snapshot, page);
        let idle = self.decay.look(&self.working, is_changed);
        for run in &idle {
            space.memory().private().discard(run.start, run.length as usize)?;
        }
        let count = decay::pages(&idle).count() as u64;
        if count > 0 {
            self.working = decay::without(&self.working, &idle);
            self.working_pages -= count;
            self.held.forget();
        }
        Ok(count)
    }

    /// Whether this request's working set is an outlier, or it is time to learn anew. An outlier that repeats becomes usual.
    fn wants_trim(&mut self) -> bool {
        let n = self.working_pages;
        if n > TRIM_PAGES && n > 4 * self.usual && self.strikes < TRIM_STRIKES {
            self.strikes += 1;
            return true;
        }
        self.strikes = 0;
        self.usual = n;
        n > TRIM_PAGES && self.since_trim >= TRIM_EVERY
    }
}

/// Copies runs of pages back from the snapshot; those that are zero there are filled, as are those behind its end.
fn restore(space: &Space, snapshot: &Snapshot, runs: &[Run], blank: &FrameSet) -> Result<()> {
    let (private, image) = (space.memory().private(), &snapshot.image);
    let mut following = decay::pages(runs).skip(1);
    for page in decay::pages(runs) {
        let outside = Error::Broken {
            what: "the working set leaves guest memory",
        };
        let target = private.at(page, PAGE as usize).ok_or(outside)?;
        let next = following.next().unwrap_or(page);
        let next_target = private.base().wrapping_add(next as usize).cast_const();
        let next_source = match blank.contains(next) {
            true => next_target,
            false => image.base().wrapping_add(next as usize).cast_const(),
        };
        match image.at(page, PAGE as usize).filter(|_| !blank.contains(page)) {
            // SAFETY: `at` checked both pages; they are of different mappings; the vCPU does not run.
            Some(source) => unsafe { sys::copy_page(source, target, (next_source, next_target)) },
            // SAFETY: `at` checked the page.
            None => unsafe { std::ptr::write_bytes(target, 0, PAGE as usize) },
        }
    }
    Ok(())
}

/// Whether a page equals the snapshot's, or is zero behind its end.
fn frame_is_restored(space: &Space, snapshot: &Snapshot, frame: u64) -> bool {
    let mut now = [0; PAGE as usize];
    space.memory().read(frame, 0, &mut now).is_ok() && snapshot.base_image().holds(frame, &now)
}
