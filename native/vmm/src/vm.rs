//! A machine: one vCPU, one address space, the slots between them and KVM; fork and reset.

mod away;
mod decay;
pub(crate) mod derive;
mod held;
mod inspect;
mod reset;
mod slots;

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use kvm_bindings::{kvm_enable_cap, kvm_userspace_memory_region};
use kvm_ioctls::VmFd;

use crate::ahead::Ahead;
use crate::alarm::Alarm;
use crate::backing::{self, BackingSegment};
use crate::dirty::push_run;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::layout::{PAGE, page_up};
use crate::memory::{FileId, HostFile, Memory};
use crate::snapshot::Snapshot;
use crate::space::{Frozen, Space};
use crate::stubs;
use crate::sys::{self, Mapping};
use crate::vcpu::{Exit, Registers, Vcpu, VectorImage, XsaveArea};

pub use away::Away;

#[cfg(feature = "mutations")]
pub use inspect::Unreachable;
use reset::Fork;
pub use reset::ResetReport;
use slots::BOOT_SLOT;

/// A machine that boots, or a fork of a snapshot.
///
/// Life of a fork: `Snapshot::fork` → (`run`* → `reset`)* → drop. After an error whose survival is `Discard` it is dropped.
#[derive(Debug)]
pub struct Vm {
    // Dropped in this order: nothing may use guest memory after it is unmapped.
    pub(crate) vcpu: Vcpu,
    pub(crate) fd: VmFd,
    pub(crate) space: Space,
    host: Arc<Host>,
    /// Private memory below this has slots.
    covered: u64,
    slots: Vec<kvm_userspace_memory_region>,
    /// A present translation changed and the guest has not reloaded CR3 since ([`Flush::ReloadCr3`] only).
    flush_pending: bool,
    /// [`Space::went_stale`] at the last flush that surely happened.
    flushed: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Boot(Box<Boot>),
    Fork(Box<Fork>),
}

/// A machine that boots writes a memory file.
#[derive(Debug)]
struct Boot {
    file: Arc<File>,
    /// What it was derived from, if it was: `file` holds what lies behind the base's end.
    base: Option<Arc<Snapshot>>,
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
        let boot = Boot {
            file: Arc::new(file),
            base: None,
        };
        Vm::build(host, space, Kind::Boot(Box::new(boot)), BOOT_SLOT.min(length))
    }

    fn build(host: &Arc<Host>, space: Space, kind: Kind, covered: u64) -> Result<Vm> {
        let fd = host.create_machine()?;
        disable_quirks(&fd);
        let vcpu = Vcpu::new(host, &fd)?;
        let mut vm = Vm {
            vcpu,
            fd,
            space,
            host: host.clone(),
            covered: 0,
            slots: Vec::new(),
            flush_pending: false,
            flushed: 0,
            kind,
        };
        vm.cover(covered)?;
        for window in 0..vm.space.memory().windows().len() {
            vm.cover_window(window)?;
        }
        Ok(vm)
    }

    /// Makes reading the time-stamp counter a general protection fault in ring 3, here and in the forks of its snapshot. Where
    /// `syscall` stays in ring 3 KVM lets the program read it all the same.
    pub fn trap_counter(&mut self) {
        self.vcpu.trap_counter();
    }

    /// The address space.
    pub fn space(&mut self) -> &mut Space {
        &mut self.space
    }

    /// The address space, to look at.
    pub fn space_ref(&self) -> &Space {
        &self.space
    }

    /// The memory file of a machine that boots.
    pub(crate) fn boot_file(&self) -> Option<RawFd> {
        match &self.kind {
            Kind::Boot(boot) => Some(boot.file.as_raw_fd()),
            Kind::Fork(_) => None,
        }
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

    /// Checks what must hold of page tables and stubs whatever the program did. Debug builds do so after each reset and at the
    /// snapshot, and look at the tables before the guest runs on changed ones.
    pub(crate) fn audit(&self) -> Result<()> {
        let tables = self.space.audit();
        let all = tables.and_then(|()| stubs::audit(self.space.memory(), self.host.flavour().entry));
        all.map_err(|what| Error::Impure { what })
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
    pub fn bases(&self) -> Result<(u64, u64)> {
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
        if cfg!(debug_assertions) {
            self.space.audit_changes();
        }
        let (stale, flush) = (self.space.went_stale(), self.flush_pending);
        // Emulators drop their TLB at every entry: only this shows a flush that was left out.
        debug_assert!(
            flush || self.flushed == stale,
            "a present entry changed and nothing was flushed"
        );
        // An entry that is refused or that a kick swallowed has flushed nothing: the flush stays pending.
        let (exit, pending) = self.vcpu.run(self.space.memory_mut(), alarm, flush)?;
        self.flush_pending = pending;
        if flush && !pending {
            self.flushed = stale;
        }
        Ok(exit)
    }

    /// Ends the boot at this instant. Forks may use `limit` bytes of memory in all.
    pub fn snapshot(mut self, limit: u64) -> Result<Snapshot> {
        self.settle()?;
        if cfg!(debug_assertions) {
            self.audit()?;
        }
        let Vm {
            mut vcpu,
            fd,
            mut space,
            host,
            kind,
            ..
        } = self;
        let Kind::Boot(boot) = kind else {
            return Err(Error::WrongKind {
                attempt: "take a snapshot of a fork",
            });
        };
        let state = vcpu.state()?;
        let traps_counter = vcpu.traps_counter();
        let vectors = Arc::new(VectorImage::new(&host, &state.xsave));
        vectors.install(space.memory_mut())?;
        drop((vcpu, fd));
        let files = space.memory().windows().iter().map(|w| w.file.clone()).collect();
        let (segments, frozen) = match &boot.base {
            None => boot.freeze(space, limit)?,
            Some(base) => boot.freeze_over(base.base_image(), space, limit)?,
        };
        let image = backing::image(&segments, frozen.end)?;
        Ok(Snapshot {
            host,
            segments,
            image,
            frozen,
            files,
            state,
            vectors,
            traps_counter,
            ahead: Ahead::default(),
        })
    }
}

impl Boot {
    /// Ends the writing of a whole machine's memory.
    fn freeze(&self, mut space: Space, limit: u64) -> Result<(Vec<BackingSegment>, Frozen)> {
        let (frozen, holes) = space.freeze(limit);
        drop(space);
        self.punch(&holes, 0)?;
        let segment = self.seal(0, 0..frozen.end)?;
        Ok((vec![segment], frozen))
    }

    /// Gives the pages of these frames back; frame 0 is, or would be, at `offset` before the file's start.
    fn punch(&self, frames: &[u64], offset: u64) -> Result<()> {
        let mut runs = Vec::new();
        frames.iter().for_each(|f| push_run(&mut runs, *f - offset, PAGE));
        for run in runs {
            sys::punch_hole(&self.file, run.start, run.length)?;
        }
        Ok(())
    }

    /// Sizes and seals the file, whose part from `offset` on is the memory `frames`. No writable mapping of it may be left.
    fn seal(&self, offset: u64, frames: Range<u64>) -> Result<BackingSegment> {
        let length = offset + (frames.end - frames.start);
        self.file.set_len(length).map_err(|source| Error::Host {
            attempt: "size the snapshot",
            source,
        })?;
        sys::seal(&self.file)?;
        Ok(BackingSegment {
            file: self.file.clone(),
            offset,
            start: frames.start,
            end: frames.end,
        })
    }
}

/// KVM may patch a foreign hypercall instruction in the program's text; without the quirk it faults instead. Kernels before
/// 5.19 patch always, and cannot be told otherwise: there the write meets a read-only page and the program gets a page fault.
fn disable_quirks(fd: &VmFd) {
    const KVM_X86_QUIRK_FIX_HYPERCALL_INSN: u64 = 1 << 5;
    const KVM_CAP_DISABLE_QUIRKS2: u32 = 213;
    if fd.check_extension_raw(KVM_CAP_DISABLE_QUIRKS2.into()) as u64 & KVM_X86_QUIRK_FIX_HYPERCALL_INSN != 0 {
        let cap = kvm_enable_cap {
            cap: KVM_CAP_DISABLE_QUIRKS2,
            args: [KVM_X86_QUIRK_FIX_HYPERCALL_INSN, 0, 0, 0],
            ..Default::default()
        };
        // A refusal leaves a guest that can hurt only itself.
        let _ = fd.enable_cap(&cap);
    }
}

#[cfg(test)]
mod audit_tests;
#[cfg(test)]
mod away_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;
