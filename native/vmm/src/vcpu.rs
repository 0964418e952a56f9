//! The one vCPU of a machine: its registers, how it enters ring 3 and what it says when it leaves.
//!
//! Between runs the vCPU rests in one of two places, and each has its way back:
//!
//! | rest | reached by | way back |
//! |---|---|---|
//! | ring 3 | `syscall` where it stays in ring 3, a kick, a loaded state | registers are set directly |
//! | ring 0, in a stub | `syscall` on hardware, an exception | `sysretq` if RCX and R11 allow it, else `iretq` from a frame |
//!
//! The owner sees only the registers of ring 3 and never knows which.

use std::os::fd::AsRawFd;

use kvm_bindings::{
    Msrs, kvm_device_attr, kvm_msr_entry, kvm_regs, kvm_segment, kvm_sregs, kvm_vcpu_events, kvm_xcrs,
    kvm_xsave,
};
use kvm_ioctls::{SyncReg, VcpuExit, VcpuFd, VmFd};

use crate::alarm::Alarm;
use crate::error::{Error, Result, kvm};
use crate::host::Host;
use crate::layout::*;
use crate::memory::Memory;
use crate::probe::Entry;
use crate::stubs::{OUT_LENGTH, vector_stub};
use crate::sys;

/// The integer registers of ring 3, with `rip` and `rflags`.
pub type Registers = kvm_regs;

/// The image of the vector registers in XSAVE's standard format.
pub type XsaveArea = Vec<u8>;

/// All of ring 3's registers.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuState {
    /// Integer registers.
    pub registers: Registers,
    /// Base of FS.
    pub fs_base: u64,
    /// Base of GS.
    pub gs_base: u64,
    /// Vector registers.
    pub xsave: XsaveArea,
}

/// An exception in ring 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Its vector: 14 is a page fault.
    pub vector: u8,
    /// Its error code, or 0.
    pub error: u64,
    /// The address that a page fault was at, else 0.
    pub address: u64,
}

/// Why the guest stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It executed `syscall`; RIP is behind it.
    Syscall,
    /// It faulted; RIP is at the instruction.
    Exception(Exception),
    /// Its deadline passed.
    Kicked,
}

const MSR_STAR: u32 = 0xc000_0081;
const MSR_LSTAR: u32 = 0xc000_0082;
const MSR_CSTAR: u32 = 0xc000_0083;
const MSR_SFMASK: u32 = 0xc000_0084;
/// TF, IF, DF, IOPL, NT, AC: none survives into ring 0.
const SFMASK: u64 = 0x4_7700;

/// The flags that a program may hold: CF PF AF ZF SF TF DF OF AC ID. IF is always set, IOPL never.
const USER_FLAGS: u64 = 0x24_0dd5;

const CR0: u64 = 0x8005_0033; // PG AM WP NE ET MP PE
const CR4_BASE: u64 = 0x4_0620; // OSXSAVE OSXMMEXCPT OSFXSR PAE
const CR4_FSGSBASE: u64 = 1 << 16;
const CR4_SMEP: u64 = 1 << 20;
const CR4_SMAP: u64 = 1 << 21;
const CR4_UMIP: u64 = 1 << 11;
const EFER: u64 = 0xd01; // NXE LMA LME SCE

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Ring3,
    Stub,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Vcpu {
    fd: VcpuFd,
    entry: Entry,
    /// System registers as they are while the program runs; FS and GS bases are those last set.
    sregs: kvm_sregs,
    rest: Rest,
    user: Registers,
    /// FS and GS bases, unless the program ran since they were read.
    bases: Option<(u64, u64)>,
    sregs_dirty: bool,
    /// The program was stopped at any place: KVM may hold half an event.
    events_dirty: bool,
    xsave_length: usize,
}

impl Vcpu {
    pub fn new(host: &Host, vm: &VmFd) -> Result<Vcpu> {
        let entry = host.flavour().entry;
        let mut fd = vm.create_vcpu(0).map_err(kvm("create the vCPU"))?;
        fd.set_cpuid2(host.cpuid()).map_err(kvm("set CPUID"))?;
        let mut sregs = user_sregs(fd.get_sregs().map_err(kvm("read system registers"))?);
        sregs.cr4 |= cpu_bits(host);
        fd.set_sregs(&sregs).map_err(kvm("set system registers"))?;
        set_syscall_msrs(&fd, entry)?;
        let mut xcrs = kvm_xcrs {
            nr_xcrs: 1,
            ..Default::default()
        };
        xcrs.xcrs[0].value = host.xcr0();
        fd.set_xcrs(&xcrs).map_err(kvm("set XCR0"))?;
        level_counter(&fd)?;
        fd.set_sync_valid_reg(SyncReg::Register);
        if cfg!(debug_assertions) {
            fd.set_sync_valid_reg(SyncReg::SystemRegister);
        }
        Ok(Vcpu {
            fd,
            entry,
            sregs,
            rest: Rest::Ring3,
            user: Registers {
                rflags: 0x202,
                ..Default::default()
            },
            bases: Some((0, 0)),
            sregs_dirty: false,
            events_dirty: false,
            xsave_length: host.xsave_length(),
        })
    }

    pub fn registers(&self) -> &Registers {
        &self.user
    }

    pub fn set_registers(&mut self, registers: &Registers) {
        self.user = *registers;
        self.user.rflags = user_flags(registers.rflags);
    }

    pub fn bases(&mut self) -> Result<(u64, u64)> {
        if let Some(bases) = self.bases {
            return Ok(bases);
        }
        let sregs = self.fd.get_sregs().map_err(kvm("read system registers"))?;
        let bases = (sregs.fs.base, sregs.gs.base);
        self.bases = Some(bases);
        Ok(bases)
    }

    pub fn set_bases(&mut self, fs: u64, gs: u64) {
        self.bases = Some((fs, gs));
        self.sregs_dirty = true;
    }

    pub fn xsave(&self, into: &mut XsaveArea) -> Result<()> {
        let area = self.fd.get_xsave().map_err(kvm("read the vector registers"))?;
        into.clear();
        into.extend(
            area.region
                .iter()
                .flat_map(|w| w.to_le_bytes())
                .take(self.xsave_length),
        );
        Ok(())
    }

    /// An error of EINVAL means that the image holds what no CPU accepts.
    pub fn set_xsave(&mut self, image: &[u8]) -> Result<()> {
        let mut area = kvm_xsave::default();
        for (word, bytes) in area.region.iter_mut().zip(image.chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        // SAFETY: without permission for AMX, which this process never asks for, the kernel reads 4096 bytes: the size of
        // `region`.
        unsafe { self.fd.set_xsave(&area) }.map_err(kvm("set the vector registers"))
    }

    /// All of ring 3's registers.
    pub fn state(&mut self) -> Result<CpuState> {
        let (fs_base, gs_base) = self.bases()?;
        let mut xsave = Vec::new();
        self.xsave(&mut xsave)?;
        Ok(CpuState {
            registers: self.user,
            fs_base,
            gs_base,
            xsave,
        })
    }

    /// Puts the vCPU into ring 3 with exactly this state, whatever it did before.
    pub fn load(&mut self, state: &CpuState) -> Result<()> {
        self.set_registers(&state.registers);
        self.set_bases(state.fs_base, state.gs_base);
        self.rest = Rest::Ring3;
        if self.events_dirty {
            let events = kvm_vcpu_events::default();
            self.fd
                .set_vcpu_events(&events)
                .map_err(kvm("clear pending events"))?;
            self.events_dirty = false;
        }
        self.set_xsave(&state.xsave)
    }

    /// Runs ring 3 until it leaves. With `flush` the guest reloads CR3 on its way in; the second result says that this may
    /// not have happened and is still owed.
    pub fn run(&mut self, memory: &mut Memory, alarm: &mut Alarm, flush: bool) -> Result<(Exit, bool)> {
        let entered = self.prepare(memory, flush)?;
        let exit = loop {
            let byte = &raw mut self.fd.get_kvm_run().immediate_exit;
            if !alarm.enter(byte)? {
                alarm.leave();
                break None;
            }
            let exit = self.fd.run();
            let exit = match exit {
                Ok(VcpuExit::IoOut(port, [_])) => Ok(Some(port)),
                Ok(other) => Err(Error::UnexpectedExit {
                    what: format!("{other:?}"),
                }),
                Err(e) if matches!(e.errno(), libc::EINTR | libc::EAGAIN) => Ok(None),
                Err(e) => Err(kvm("run the vCPU")(e)),
            };
            alarm.leave();
            if let Some(port) = exit? {
                break Some(port);
            }
        };
        self.bases = None;
        match exit {
            Some(port) => Ok((self.left_by(port, memory)?, false)),
            None => {
                self.kicked(memory, entered)?;
                Ok((Exit::Kicked, flush))
            }
        }
    }

    /// Brings the registers into the shared page and returns what the program is entered with.
    fn prepare(&mut self, memory: &mut Memory, flush: bool) -> Result<Registers> {
        let user = self.user;
        if user.rip >= USER_END {
            return Err(Error::BadInstructionPointer { rip: user.rip });
        }
        if flush && self.rest == Rest::Ring3 {
            self.rest = Rest::Stub;
            self.sregs_dirty = true;
        }
        let mut regs = user;
        if self.rest == Rest::Stub {
            regs.rflags = 2;
            let by_sysret = self.entry == Entry::Ring0 && user.rcx == user.rip && user.r11 == user.rflags;
            if by_sysret && !flush && !self.sregs_dirty {
                regs.rip = SYSCALL_STUB + OUT_LENGTH;
            } else {
                let frame = [
                    user.rip,
                    USER_CODE as u64,
                    user.rflags,
                    user.rsp,
                    USER_DATA as u64,
                ];
                for (i, word) in frame.iter().enumerate() {
                    memory.set_word(
                        RETURN_FRAME & !(PAGE - 1),
                        ((RETURN_FRAME % PAGE) / 8) as usize + i,
                        *word,
                    );
                }
                regs.rip = if flush { FLUSH_STUB } else { RETURN_STUB };
                regs.rsp = RETURN_FRAME;
            }
        }
        if self.sregs_dirty {
            let (fs, gs) = self.bases()?;
            self.sregs.fs.base = fs;
            self.sregs.gs.base = gs;
            let mut sregs = self.sregs;
            if self.rest == Rest::Stub {
                (sregs.cs, sregs.ss) = (code_segment(KERNEL_CODE, 0), data_segment(KERNEL_DATA, 0));
            }
            self.fd.sync_regs_mut().sregs = sregs;
            self.fd.set_sync_dirty_reg(SyncReg::SystemRegister);
            self.sregs_dirty = false;
        }
        self.fd.sync_regs_mut().regs = regs;
        self.fd.set_sync_dirty_reg(SyncReg::Register);
        Ok(user)
    }

    /// Checks and names an exit by port. Ring 3 may hold a port open (where `syscall` stays there), so an exit counts only if
    /// RIP and RSP are those of the stub that owns the port.
    fn left_by(&mut self, port: u16, memory: &Memory) -> Result<Exit> {
        let regs = self.fd.sync_regs().regs;
        if port == SYSCALL_PORT {
            return self.left_by_syscall(&regs);
        }
        let vector = port.wrapping_sub(VECTOR_PORT);
        if u64::from(vector) >= VECTORS {
            return Err(forged(port, &regs));
        }
        let vector = vector as u8;
        let stub = vector_stub(vector);
        let at_stub = regs.rip == stub || regs.rip == stub + OUT_LENGTH;
        if !at_stub || regs.rsp != stack_pointer_in_stub(vector) {
            return Err(forged(port, &regs));
        }
        self.check_ring(0)?;
        self.rest = Rest::Stub;
        let error = self.take_frame(&regs, vector, memory)?;
        let address = if vector == 14 {
            let sregs = self.fd.get_sregs().map_err(kvm("read the fault's address"))?;
            self.bases = Some((sregs.fs.base, sregs.gs.base));
            sregs.cr2
        } else {
            0
        };
        Ok(Exit::Exception(Exception {
            vector,
            error,
            address,
        }))
    }

    fn left_by_syscall(&mut self, regs: &Registers) -> Result<Exit> {
        let at_stub = regs.rip == SYSCALL_STUB || regs.rip == SYSCALL_STUB + OUT_LENGTH;
        self.user = *regs;
        if !at_stub || regs.rcx >= USER_END {
            if self.entry == Entry::Ring0 {
                return Err(forged(SYSCALL_PORT, regs));
            }
            // A port write of the program's own: what Linux answers with a general protection fault.
            self.rest = Rest::Ring3;
            return Ok(Exit::Exception(Exception {
                vector: 13,
                error: 0,
                address: 0,
            }));
        }
        self.user.rip = regs.rcx;
        self.user.rflags = user_flags(regs.r11);
        self.rest = match self.entry {
            Entry::Ring0 => Rest::Stub,
            Entry::Ring3 => Rest::Ring3,
        };
        self.check_ring(if self.entry == Entry::Ring0 { 0 } else { 3 })?;
        Ok(Exit::Syscall)
    }

    /// Reads the frame that the CPU pushed in an exception stub: sets the user's registers, returns the error code.
    fn take_frame(&mut self, regs: &Registers, vector: u8, memory: &Memory) -> Result<u64> {
        let first = ((regs.rsp % PAGE) / 8) as usize;
        let word = |i: usize| memory.word(STACKS, first + i);
        let (error, frame) = if has_error_code(vector) {
            (word(0), 1)
        } else {
            (0, 0)
        };
        let (rip, cs) = (word(frame), word(frame + 1));
        if cs & 3 != 3 {
            return Err(Error::UnexpectedExit {
                what: format!("exception {vector} in ring 0 at {rip:#x}, error {error:#x}"),
            });
        }
        self.user = *regs;
        self.user.rip = rip;
        self.user.rflags = user_flags(word(frame + 2));
        self.user.rsp = word(frame + 3);
        Ok(error)
    }

    /// Finds out where a kick met the program.
    fn kicked(&mut self, memory: &Memory, entered: Registers) -> Result<()> {
        self.events_dirty = true;
        // Completes the port write of the exit before, if one is pending, and refreshes the shared page.
        self.fd.get_kvm_run().immediate_exit = 1;
        match self.fd.run() {
            Err(e) if matches!(e.errno(), libc::EINTR | libc::EAGAIN) => {}
            Err(e) => return Err(kvm("stop the vCPU")(e)),
            Ok(other) => {
                return Err(Error::UnexpectedExit {
                    what: format!("while stopping: {other:?}"),
                });
            }
        }
        let regs = self.fd.sync_regs().regs;
        let sregs = self.fd.get_sregs().map_err(kvm("read system registers"))?;
        self.bases = Some((sregs.fs.base, sregs.gs.base));
        self.user = regs;
        if sregs.cs.dpl == 3 {
            self.rest = Rest::Ring3;
            self.user.rflags = user_flags(regs.rflags);
            return Ok(());
        }
        self.rest = Rest::Stub;
        match regs.rip {
            // The system call has not been told yet: let it happen again.
            SYSCALL_STUB => {
                self.user.rip = regs.rcx.wrapping_sub(2);
                self.user.rflags = user_flags(regs.r11);
            }
            // On the way in; nothing of the program ran.
            rip if rip == SYSCALL_STUB + OUT_LENGTH || (RETURN_STUB..FLUSH_STUB_END).contains(&rip) => {
                self.user = entered
            }
            // The exception has not been told yet: the instruction will fault again.
            rip if rip >= STUBS && rip < vector_stub(VECTORS as u8) => {
                let vector = ((rip - STUBS) / STUB_STRIDE) as u8;
                self.take_frame(&regs, vector, memory)?;
            }
            rip => {
                return Err(Error::UnexpectedExit {
                    what: format!("a kick in ring 0 at {rip:#x}"),
                });
            }
        }
        Ok(())
    }

    /// In debug builds: the ring at this exit.
    fn check_ring(&self, want: u8) -> Result<()> {
        if cfg!(debug_assertions) {
            let sregs = self.fd.sync_regs().sregs;
            if sregs.cs.dpl != want {
                return Err(Error::UnexpectedExit {
                    what: format!("ring {}, want {want}", sregs.cs.dpl),
                });
            }
        }
        Ok(())
    }

    /// Makes KVM take the registers that wait in the shared page, without running the program.
    fn apply(&mut self, memory: &mut Memory) -> Result<()> {
        self.prepare(memory, false)?;
        self.fd.get_kvm_run().immediate_exit = 1;
        match self.fd.run() {
            Err(e) if matches!(e.errno(), libc::EINTR | libc::EAGAIN) => Ok(()),
            Err(e) => Err(kvm("load the vCPU")(e)),
            Ok(other) => Err(Error::UnexpectedExit {
                what: format!("while loading: {other:?}"),
            }),
        }
    }

    /// The reference of a vCPU whose state was just loaded.
    pub fn settled_reference(&mut self, memory: &mut Memory) -> Result<Reference> {
        self.apply(memory)?;
        self.reference()
    }

    /// Compares all that KVM holds with `state` and with the system registers, debug registers and MSRs of `reference`.
    pub fn compare(&mut self, memory: &mut Memory, state: &CpuState, reference: &Reference) -> Result<()> {
        self.apply(memory)?;
        let regs = self.fd.get_regs().map_err(kvm("read registers"))?;
        if regs != state.registers {
            return Err(Error::Impure {
                what: format!("registers are {regs:x?}, not {:x?}", state.registers),
            });
        }
        let mut xsave = Vec::new();
        self.xsave(&mut xsave)?;
        if let Some(at) = differing_byte(&xsave, &state.xsave) {
            return Err(Error::Impure {
                what: format!("byte {at} of the vector registers differs"),
            });
        }
        let now = self.reference()?;
        now.compare(reference)
    }

    /// Registers outside of [`CpuState`] as KVM holds them.
    fn reference(&mut self) -> Result<Reference> {
        let mut sregs = self.fd.get_sregs().map_err(kvm("read system registers"))?;
        sregs.cr2 = 0;
        let debug = self.fd.get_debug_regs().map_err(kvm("read debug registers"))?;
        let xcrs = self.fd.get_xcrs().map_err(kvm("read XCR0"))?;
        let mut msrs = Vec::new();
        for index in COMPARED_MSRS {
            let one = [kvm_msr_entry {
                index,
                ..Default::default()
            }];
            let mut one = Msrs::from_entries(&one).map_err(|_| Error::Broken {
                what: "an MSR list of one entry",
            })?;
            if self.fd.get_msrs(&mut one).is_ok_and(|n| n == 1) {
                msrs.push((index, one.as_slice()[0].data));
            }
        }
        Ok(Reference {
            sregs,
            debug: (debug.db, debug.dr7),
            xcr0: xcrs.xcrs[0].value,
            msrs,
        })
    }
}

/// System calls, segment bases, sysenter, PAT, TSC_AUX, XSS, speculation control, misc enable, power of the vector units.
const COMPARED_MSRS: [u32; 16] = [
    MSR_STAR,
    MSR_LSTAR,
    MSR_CSTAR,
    MSR_SFMASK,
    0xc000_0100,
    0xc000_0101,
    0xc000_0102,
    0xc000_0103,
    0xc000_0080,
    0x174,
    0x175,
    0x176,
    0x277,
    0xda0,
    0x48,
    0x1a0,
];

/// Registers that no program can change but by a bug: compared by the strict check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference {
    sregs: kvm_sregs,
    debug: ([u64; 4], u64),
    xcr0: u64,
    msrs: Vec<(u32, u64)>,
}

impl Reference {
    fn compare(&self, want: &Reference) -> Result<()> {
        if self.sregs != want.sregs {
            return Err(Error::Impure {
                what: format!("system registers are {:x?}, not {:x?}", self.sregs, want.sregs),
            });
        }
        if self != want {
            return Err(Error::Impure {
                what: format!("debug registers or MSRs are {self:x?}, not {want:x?}"),
            });
        }
        Ok(())
    }
}

/// The first byte in which two vector state images differ in meaning. The header's first word does not count: it says which
/// components are in their initial state, which KVM may note or spell out, and it fills in their bytes either way.
fn differing_byte(a: &[u8], b: &[u8]) -> Option<usize> {
    let component_bits = 512..520;
    let differs = |i: &usize| !component_bits.contains(i) && a.get(*i) != b.get(*i);
    (0..a.len().max(b.len())).find(differs)
}

fn forged(port: u16, regs: &Registers) -> Error {
    Error::UnexpectedExit {
        what: format!("port {port:#x} from rip {:#x}, rsp {:#x}", regs.rip, regs.rsp),
    }
}

fn user_flags(flags: u64) -> u64 {
    flags & USER_FLAGS | 0x202
}

fn code_segment(selector: u16, ring: u8) -> kvm_segment {
    let limit = 0xffff_ffff;
    kvm_segment {
        limit,
        selector,
        type_: 11,
        present: 1,
        dpl: ring,
        s: 1,
        l: 1,
        g: 1,
        ..Default::default()
    }
}

fn data_segment(selector: u16, ring: u8) -> kvm_segment {
    let limit = 0xffff_ffff;
    kvm_segment {
        limit,
        selector,
        type_: 3,
        present: 1,
        dpl: ring,
        db: 1,
        s: 1,
        g: 1,
        ..Default::default()
    }
}

/// Ring 3 in 64-bit mode with our tables.
fn user_sregs(mut sregs: kvm_sregs) -> kvm_sregs {
    (sregs.cr0, sregs.cr2, sregs.cr3, sregs.cr4, sregs.efer) = (CR0, 0, PML4, CR4_BASE, EFER);
    sregs.cs = code_segment(USER_CODE, 3);
    sregs.ss = data_segment(USER_DATA, 3);
    (sregs.ds, sregs.es, sregs.fs, sregs.gs) = (sregs.ss, sregs.ss, sregs.ss, sregs.ss);
    (sregs.gdt.base, sregs.gdt.limit) = (GDT, GDT_LIMIT);
    (sregs.idt.base, sregs.idt.limit) = (IDT, IDT_LIMIT);
    sregs.tr = kvm_segment {
        base: TSS,
        limit: TASK_LIMIT,
        selector: TASK,
        type_: 11,
        present: 1,
        ..Default::default()
    };
    sregs
}

/// The same without what only some CPUs have.
pub(crate) fn probe_sregs(sregs: kvm_sregs) -> kvm_sregs {
    let mut sregs = user_sregs(sregs);
    sregs.cr4 = 0x220; // OSFXSR PAE
    sregs
}

/// FSGSBASE, SMEP, SMAP and UMIP where the CPU has them. Where `syscall` stays in ring 3 the program sees the real CPU, whatever
/// KVM's CPUID says: FSGSBASE works there in any case, and programs expect it.
fn cpu_bits(host: &Host) -> u64 {
    let [_, ebx, ecx, _] = host.leaf(7, 0);
    match host.flavour().entry {
        Entry::Ring3 => CR4_FSGSBASE,
        Entry::Ring0 => {
            let bits = [
                (ebx, CR4_FSGSBASE),
                (ebx >> 7, CR4_SMEP),
                (ebx >> 20, CR4_SMAP),
                (ecx >> 2, CR4_UMIP),
            ];
            bits.iter()
                .filter(|(has, _)| has & 1 == 1)
                .map(|(_, bit)| bit)
                .sum()
        }
    }
}

pub(crate) fn set_syscall_msrs(fd: &VcpuFd, entry: Entry) -> Result<()> {
    // STAR: kernel code 8; user base 0x18 with RPL 3, since a CPU may leave SS with the RPL found here.
    let star = u64::from(KERNEL_CODE) << 32 | 0x1b << 48;
    let (cstar, mask) = if entry == Entry::Ring0 {
        (SYSCALL_STUB, SFMASK)
    } else {
        (0, 0)
    };
    let values = [
        (MSR_STAR, star),
        (MSR_LSTAR, SYSCALL_STUB),
        (MSR_CSTAR, cstar),
        (MSR_SFMASK, mask),
    ];
    let entries = values.map(|(index, data)| kvm_msr_entry {
        index,
        data,
        ..Default::default()
    });
    let list = Msrs::from_entries(&entries).map_err(|_| Error::Broken {
        what: "a list of four MSRs",
    })?;
    match fd.set_msrs(&list).map_err(kvm("set the system-call MSRs"))? {
        4 => Ok(()),
        _ => Err(Error::Broken {
            what: "KVM took only some of the system-call MSRs",
        }),
    }
}

/// Makes the guest's time-stamp counter the host's. (`kvm-ioctls` has this ioctl for Arm only.)
fn level_counter(fd: &VcpuFd) -> Result<()> {
    const KVM_SET_DEVICE_ATTR: libc::Ioctl = 0x4018_aee1;
    const KVM_VCPU_TSC_CTRL: u32 = 0;
    const KVM_VCPU_TSC_OFFSET: u64 = 0;
    let offset = 0u64;
    let attribute = kvm_device_attr {
        group: KVM_VCPU_TSC_CTRL,
        attr: KVM_VCPU_TSC_OFFSET,
        addr: &raw const offset as u64,
        ..Default::default()
    };
    // SAFETY: the descriptor is a vCPU's; the attribute has the kernel's layout and points to eight bytes that outlive the call.
    let r = unsafe { libc::ioctl(fd.as_raw_fd(), KVM_SET_DEVICE_ATTR, &attribute) };
    sys::check(r).map_err(|source| Error::Host {
        attempt: "level the time-stamp counter",
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_flags_drop_what_a_program_may_not_hold() {
        assert_eq!(user_flags(0), 0x202);
        assert_eq!(user_flags(u64::MAX), USER_FLAGS | 0x202);
        assert_eq!(user_flags(u64::MAX) & 0x3000, 0, "IOPL");
        assert_eq!(user_flags(u64::MAX) & 0x1b_4000, 0, "NT, VM, VIF, VIP, RF");
    }

    #[test]
    fn differing_byte_ignores_the_component_bits_alone() {
        let a = vec![0u8; 832];
        for at in [0, 31, 511, 512, 519, 520, 831] {
            let mut b = a.clone();
            b[at] = 1;
            assert_eq!(
                differing_byte(&a, &b),
                if (512..520).contains(&at) { None } else { Some(at) }
            );
        }
        assert_eq!(differing_byte(&a, &a[..831]), Some(831));
    }
}
