//! A machine: one vCPU, one address space, the slots between them and KVM; fork and reset.

use std::fs::File;
use std::sync::Arc;

use kvm_bindings::{KVM_MEM_READONLY, kvm_enable_cap, kvm_userspace_memory_region};
use kvm_ioctls::VmFd;

use crate::alarm::Alarm;
use crate::dirty::{PageMap, Run, push_run};
use crate::error::{Error, Result, kvm};
use crate::host::Host;
use crate::layout::{FILES, LOW_END, PAGE, page_up};
use crate::memory::{FileId, HostFile, Memory};
use crate::probe::Flush;
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::stubs;
use crate::sys::{self, Mapping};
use crate::vcpu::{CpuState, Exit, Reference, Registers, Vcpu, XsaveArea};

/// Slots grow by this much while a program boots.
const BOOT_SLOT: u64 = 64 << 20;
/// Slots of a fork grow by this much: KVM keeps about 2 bytes for each 1000 of a slot.
const FORK_SLOT: u64 = 16 << 20;
/// Room that a fork's first slot has beyond the snapshot.
const FORK_ROOM: u64 = 2 << 20;
/// Runs of stale pages above which the whole private range is flushed at once.
const FLUSH_RUNS: usize = 48;
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
    /// All private pages were given back.
    pub trimmed: bool,
    /// The slots were rebuilt to unlink added tables.
    pub rebuilt: bool,
}

/// A machine that boots, or a fork of a snapshot.
///
/// Life of a fork: `Snapshot::fork` → (`run`* → `reset`)* → drop. After an error whose survival is `Discard` it is dropped.
#[derive(Debug)]
pub struct Vm {
    // Dropped in this order: nothing may use guest memory after it is unmapped.
    vcpu: Vcpu,
    fd: VmFd,
    space: Space,
    host: Arc<Host>,
    /// Private memory below this has slots.
    covered: u64,
    slots: Vec<kvm_userspace_memory_region>,
    /// A present translation changed and the guest has not reloaded CR3 since ([`Flush::ReloadCr3`] only).
    flush_owed: bool,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Boot(File),
    Fork(Box<Fork>),
}

#[derive(Debug)]
struct Fork {
    snapshot: Arc<Snapshot>,
    map: PageMap,
    /// Private pages that resets copy back, sorted; tables are not among them.
    working: Vec<Run>,
    working_pages: u64,
    /// Page faults of this thread when `working` was complete; -1: it is not.
    faults: i64,
    thread: i32,
    /// Size of the working set that requests usually need.
    usual: u64,
    strikes: u32,
    since_trim: u64,
    reference: Option<Reference>,
}

impl Vm {
    /// An empty machine whose program may use `limit` bytes of memory.
    pub fn new(host: &Arc<Host>, limit: u64) -> Result<Vm> {
        // Tables come on top: at worst three for each page, in practice one for each 512.
        let length = page_up(limit + limit / 256 + (4 << 20)).ok_or(Error::OutOfMemory { limit })?;
        let file = sys::memory_file(length)?;
        let mut memory = Memory::new(Mapping::shared(&file, length as usize, true)?);
        stubs::install(&mut memory, host.flavour().entry)?;
        let space = Space::new(memory, limit);
        Vm::build(host, space, Kind::Boot(file), BOOT_SLOT.min(length))
    }

    fn build(host: &Arc<Host>, space: Space, kind: Kind, covered: u64) -> Result<Vm> {
        let fd = host.kvm().create_vm().map_err(kvm("create a machine"))?;
        disable_quirks(&fd);
        let vcpu = Vcpu::new(host, &fd)?;
        let mut vm = Vm {
            vcpu,
            fd,
            space,
            host: host.clone(),
            covered: 0,
            slots: Vec::new(),
            flush_owed: false,
            kind,
        };
        vm.cover(covered)?;
        for window in 0..vm.space.memory().windows().len() {
            vm.cover_window(window)?;
        }
        Ok(vm)
    }

    /// The address space.
    pub fn space(&mut self) -> &mut Space {
        &mut self.space
    }

    /// The address space, to look at.
    pub fn space_ref(&self) -> &Space {
        &self.space
    }

    /// The host that it runs on.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Attaches a host file, so that its pages can be mapped.
    pub fn attach(&mut self, file: &Arc<HostFile>) -> Result<FileId> {
        match self.kind {
            Kind::Boot(_) => {}
            Kind::Fork(_) => {
                return Err(Error::WrongKind {
                    attempt: "attach a file to a fork",
                });
            }
        }
        let id = self.space.memory_mut().attach(file)?;
        self.cover_window(id.0 as usize)?;
        Ok(id)
    }

    /// Ring 3's integer registers.
    pub fn registers(&self) -> &Registers {
        self.vcpu.registers()
    }

    /// Sets them; flags that a program may not hold are dropped.
    pub fn set_registers(&mut self, registers: &Registers) {
        self.vcpu.set_registers(registers);
    }

    /// Bases of FS and GS.
    pub fn bases(&mut self) -> Result<(u64, u64)> {
        self.vcpu.bases()
    }

    /// Sets the bases of FS and GS.
    pub fn set_bases(&mut self, fs: u64, gs: u64) {
        self.vcpu.set_bases(fs, gs);
    }

    /// Copies the vector registers out.
    pub fn xsave(&self, into: &mut XsaveArea) -> Result<()> {
        self.vcpu.xsave(into)
    }

    /// Sets the vector registers. A host error of `EINVAL` means that the image holds what the CPU refuses; nothing changed.
    pub fn set_xsave(&mut self, image: &[u8]) -> Result<()> {
        self.vcpu.set_xsave(image)
    }

    /// Runs the program until it leaves ring 3 or `alarm` rings.
    pub fn run(&mut self, alarm: &mut Alarm) -> Result<Exit> {
        self.settle()?;
        debug_assert!(
            !self.space.has_stale(),
            "a present entry changed and nothing was flushed"
        );
        let flush = std::mem::take(&mut self.flush_owed);
        let (exit, owed) = self.vcpu.run(self.space.memory_mut(), alarm, flush)?;
        self.flush_owed = owed;
        Ok(exit)
    }

    /// Gives new frames slots and makes KVM forget stale translations.
    fn settle(&mut self) -> Result<u64> {
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
            Flush::ReloadCr3 => self.flush_owed = true,
            Flush::Notifier => self.flush_by_notifier(&stale)?,
        }
        Ok(stale.len() as u64)
    }

    fn flush_by_notifier(&self, stale: &[u64]) -> Result<()> {
        let memory = self.space.memory();
        let (private, files) = stale.split_at(stale.partition_point(|f| *f < FILES));
        let mut runs = Vec::new();
        private.iter().for_each(|f| push_run(&mut runs, *f, PAGE));
        if runs.len() > FLUSH_RUNS {
            runs = vec![Run {
                start: LOW_END,
                length: self.covered - LOW_END,
            }];
        }
        for run in runs {
            memory
                .private()
                .forget_translations(run.start, run.length as usize, true)?;
        }
        for window in memory.windows() {
            let end = window.start + window.mapping.length() as u64;
            let mut runs = Vec::new();
            files
                .iter()
                .filter(|f| (window.start..end).contains(*f))
                .for_each(|f| push_run(&mut runs, f - window.start, PAGE));
            if runs.len() > FLUSH_RUNS {
                runs = vec![Run {
                    start: 0,
                    length: window.mapping.length() as u64,
                }];
            }
            for run in runs {
                window
                    .mapping
                    .forget_translations(run.start, run.length as usize, false)?;
            }
        }
        Ok(())
    }

    /// Adds a slot for private memory from `covered` to `end`.
    fn cover(&mut self, end: u64) -> Result<()> {
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

    fn cover_window(&mut self, index: usize) -> Result<()> {
        let window = &self.space.memory().windows()[index];
        let (start, length, memory) = (
            window.start,
            window.mapping.length() as u64,
            window.mapping.base() as u64,
        );
        self.add_slot(start, length, memory, KVM_MEM_READONLY)
    }

    fn add_slot(&mut self, start: u64, length: u64, memory: u64, flags: u32) -> Result<()> {
        let region = kvm_userspace_memory_region {
            slot: self.slots.len() as u32,
            flags,
            guest_phys_addr: start,
            memory_size: length,
            userspace_addr: memory,
        };
        // SAFETY: the host range is one of this machine's mappings; they live in `space`, which is dropped after the vCPU and
        // the machine's descriptor.
        unsafe { self.fd.set_user_memory_region(region) }.map_err(kvm("give the machine memory"))?;
        self.slots.push(region);
        Ok(())
    }

    /// Deletes all slots and adds them again: KVM drops every shadow page and translation.
    fn rebuild_slots(&mut self) -> Result<()> {
        for region in &self.slots {
            for memory_size in [0, region.memory_size] {
                let region = kvm_userspace_memory_region {
                    memory_size,
                    ..*region
                };
                // SAFETY: as in `add_slot`: the same range, or none.
                unsafe { self.fd.set_user_memory_region(region) }.map_err(kvm("rebuild a slot"))?;
            }
        }
        Ok(())
    }

    /// Ends the boot at this instant. Forks may use `limit` bytes of memory in all.
    pub fn snapshot(mut self, limit: u64) -> Result<Snapshot> {
        self.settle()?;
        let Vm {
            mut vcpu,
            fd,
            mut space,
            host,
            kind,
            ..
        } = self;
        let Kind::Boot(file) = kind else {
            return Err(Error::WrongKind {
                attempt: "take a snapshot of a fork",
            });
        };
        let state = vcpu.state()?;
        let (frozen, holes) = space.freeze(limit);
        let files = space.memory().windows().iter().map(|w| w.file.clone()).collect();
        drop((vcpu, fd));
        drop(space);
        let mut runs = Vec::new();
        holes.iter().for_each(|f| push_run(&mut runs, *f, PAGE));
        for run in runs {
            sys::punch_hole(&file, run.start, run.length)?;
        }
        file.set_len(frozen.end).map_err(|source| Error::Host {
            attempt: "size the snapshot",
            source,
        })?;
        sys::seal(&file)?;
        let image = Mapping::shared(&file, frozen.end as usize, false)?;
        Ok(Snapshot {
            host,
            file,
            image,
            frozen,
            files,
            state,
        })
    }

    /// Puts memory, page tables and registers back to the snapshot's.
    pub fn reset(&mut self) -> Result<ResetReport> {
        let Kind::Fork(_) = self.kind else {
            return Err(Error::WrongKind {
                attempt: "reset a machine that is no fork",
            });
        };
        let mut report = ResetReport::default();
        self.rewind_tables(&mut report)?;
        self.copy_back(&mut report)?;
        let Kind::Fork(fork) = &self.kind else {
            unreachable!("checked above")
        };
        self.vcpu.load(&fork.snapshot.state)?;
        Ok(report)
    }

    fn rewind_tables(&mut self, report: &mut ResetReport) -> Result<()> {
        let Kind::Fork(fork) = &mut self.kind else {
            return Ok(());
        };
        let snapshot = fork.snapshot.clone();
        self.space.rewind(&snapshot.frozen, &snapshot.image)?;
        if self.space.added_tables() > KEPT_TABLES {
            // Every page, tables included, becomes the snapshot's again, and KVM forgets what it knew.
            self.space.forget_tables(&snapshot.frozen);
            let private = self.space.memory().private();
            private.discard(0, private.length())?;
            fork.working.clear();
            (fork.working_pages, fork.faults) = (0, -1);
            self.rebuild_slots()?;
            self.flush_owed = self.host.flavour().flush == Flush::ReloadCr3;
            report.rebuilt = true;
            return Ok(());
        }
        report.flushed = self.settle()?;
        Ok(())
    }

    fn copy_back(&mut self, report: &mut ResetReport) -> Result<()> {
        let Kind::Fork(fork) = &mut self.kind else {
            return Ok(());
        };
        let thread = sys::thread_id();
        if fork.faults != sys::page_faults() || fork.thread != thread {
            fork.rescan(&self.space)?;
            report.scanned = true;
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
            fork.thread = thread;
            report.trimmed = true;
            return Ok(());
        }
        for run in &fork.working {
            restore(&self.space, &fork.snapshot, *run)?;
        }
        fork.since_trim += 1;
        fork.thread = thread;
        fork.faults = sys::page_faults();
        Ok(())
    }

    /// Compares every byte of private memory, every translation and all registers with the snapshot. To be called right after
    /// a reset; slow.
    pub fn check(&mut self) -> Result<()> {
        let Kind::Fork(fork) = &mut self.kind else {
            return Err(Error::WrongKind {
                attempt: "compare a machine that is no fork",
            });
        };
        let snapshot = fork.snapshot.clone();
        self.space.compare_tables(&snapshot.frozen, &snapshot.image)?;
        self.space.audit().map_err(|what| Error::Impure { what })?;
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
        private.overlay_private(&self.file, frozen.end as usize)?;
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
            faults: -1,
            thread: sys::thread_id(),
            usual: 0,
            strikes: 0,
            since_trim: 0,
            reference: None,
        };
        let mut vm = Vm::build(
            &self.host,
            space,
            Kind::Fork(Box::new(fork)),
            (top + FORK_ROOM).min(length),
        )?;
        vm.vcpu.load(&self.state)?;
        let (vcpu, memory) = (&mut vm.vcpu, vm.space.memory_mut());
        let reference = vcpu.settled_reference(memory)?;
        let Kind::Fork(fork) = &mut vm.kind else {
            unreachable!("built as a fork")
        };
        fork.reference = Some(reference);
        Ok(vm)
    }
}

impl Fork {
    /// Finds all private pages anew and leaves tables out.
    fn rescan(&mut self, space: &Space) -> Result<()> {
        let mut all = Vec::new();
        self.map.private_pages(
            space.memory().private(),
            space.memory().private().length() as u64,
            &mut all,
        )?;
        let frozen = &self.snapshot.frozen;
        let kept = frozen.fork_tables..frozen.fork_tables_end;
        self.working.clear();
        self.working_pages = 0;
        for run in all {
            for frame in (run.start..run.start + run.length).step_by(PAGE as usize) {
                if !space.is_table(frame) && !kept.contains(&frame) {
                    push_run(&mut self.working, frame, PAGE);
                    self.working_pages += 1;
                }
            }
        }
        Ok(())
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

/// Copies a run of pages back from the snapshot; behind its end they become zero.
fn restore(space: &Space, snapshot: &Snapshot, run: Run) -> Result<()> {
    let private = space.memory().private();
    let end = run.start + run.length;
    let from_image = end.min(snapshot.frozen.end).saturating_sub(run.start) as usize;
    let zero = run.length as usize - from_image;
    let outside = Error::Broken {
        what: "the working set leaves guest memory",
    };
    let Some(target) = private.at(run.start, run.length as usize) else {
        return Err(outside);
    };
    if from_image > 0 {
        let Some(source) = snapshot.image.at(run.start, from_image) else {
            return Err(outside);
        };
        // SAFETY: `at` checked both ranges; they are different mappings; the vCPU does not run.
        unsafe { std::ptr::copy_nonoverlapping(source, target, from_image) };
    }
    // SAFETY: from_image + zero is the length that `at` checked.
    unsafe { std::ptr::write_bytes(target.add(from_image), 0, zero) };
    Ok(())
}

/// Whether a page equals the snapshot's, or is zero behind its end.
fn frame_is_restored(space: &Space, snapshot: &Snapshot, frame: u64) -> bool {
    const ZERO: [u8; PAGE as usize] = [0; PAGE as usize];
    let mut now = ZERO;
    if space.memory().read(frame, 0, &mut now).is_err() {
        return false;
    }
    match snapshot.image.at(frame, PAGE as usize) {
        None => now == ZERO,
        // SAFETY: a whole page lies at `then`, in a read-only mapping of a sealed file; u8 has no alignment.
        Some(then) => now == *unsafe { std::slice::from_raw_parts(then, PAGE as usize) },
    }
}

/// KVM may patch a foreign hypercall instruction in the program's text; without the quirk it faults instead. Kernels that do
/// not know the quirk do not patch either.
fn disable_quirks(fd: &VmFd) {
    const KVM_X86_QUIRK_FIX_HYPERCALL_INSN: u64 = 1 << 5;
    const KVM_CAP_DISABLE_QUIRKS2: u32 = 213;
    if fd.check_extension_raw(KVM_CAP_DISABLE_QUIRKS2.into()) as u64 & KVM_X86_QUIRK_FIX_HYPERCALL_INSN != 0 {
        let cap = kvm_enable_cap {
            cap: KVM_CAP_DISABLE_QUIRKS2,
            args: [KVM_X86_QUIRK_FIX_HYPERCALL_INSN, 0, 0, 0],
            ..Default::default()
        };
        // A refusal leaves a guest that can hurt only itself: text is a private page or a read-only slot.
        let _ = fd.enable_cap(&cap);
    }
}
