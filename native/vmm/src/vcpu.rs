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

mod compare;
mod exits;
mod inspect;
mod selectors;
mod setup;
mod vectors;

use std::cell::Cell;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::sync::Arc;

use kvm_bindings::{kvm_regs, kvm_sregs, kvm_xcrs};
use kvm_ioctls::{SyncReg, VcpuExit, VcpuFd, VmFd};

use crate::alarm::Alarm;
use crate::error::{Error, Result, again, kvm};
use crate::flavour::Entry;
use crate::host::Host;
use crate::layout::*;
use crate::memory::Memory;
use crate::step::ResetStep;
use crate::stubs::OUT_LENGTH;

pub(crate) use compare::Reference;
use setup::{CR4_TSD, code_segment, cpu_bits, data_segment, level_counter, user_sregs};
pub(crate) use setup::{probe_sregs, set_syscall_msrs};
pub(crate) use vectors::VectorImage;
use vectors::{Entered, Vectors};

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

/// The flags that a program may hold: CF PF AF ZF SF TF DF OF AC ID. IF is always set, IOPL never.
const USER_FLAGS: u64 = 0x24_0dd5;

/// How KVM came back.
enum Left {
    /// A write to this port.
    ByPort(u16),
    /// A read of the port that is open to ring 3.
    Reading,
    Kicked,
}

/// Where a kick met the program.
enum Kick {
    /// On the way in: nothing of it ran.
    Before,
    /// In it, or at what it will do again.
    Program,
    /// Behind a trap, which its instruction does not raise again: that counts, and the kick is the next entry's.
    Trap(Exception),
}

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
    /// Each exit tells the system registers, and so the ring. Where `syscall` stays in ring 3 it is needed: KVM emulates the
    /// instruction at times (with a stack pointer that is no address, for one), and then it arrives in ring 0.
    tells_ring: bool,
    /// System registers as they are while the program runs; FS and GS bases are those last set.
    sregs: kvm_sregs,
    rest: Rest,
    user: Registers,
    /// FS and GS bases, unless the program ran since they were read.
    bases: Cell<Option<(u64, u64)>>,
    sregs_dirty: bool,
    xsave_length: usize,
    vectors: Vectors,
    /// What resets load into the vector registers: a fork's.
    image: Option<Arc<VectorImage>>,
}

impl Vcpu {
    pub fn new(host: &Host, vm: &VmFd) -> Result<Vcpu> {
        let entry = host.flavour().entry;
        let mut fd = again("create the vCPU", || vm.create_vcpu(0))?;
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
        let tells_ring = entry == Entry::Ring3 || cfg!(debug_assertions);
        if tells_ring {
            fd.set_sync_valid_reg(SyncReg::SystemRegister);
        }
        Ok(Vcpu {
            fd,
            entry,
            tells_ring,
            sregs,
            rest: Rest::Ring3,
            user: Registers {
                rflags: 0x202,
                ..Default::default()
            },
            bases: Cell::new(Some((0, 0))),
            sregs_dirty: false,
            xsave_length: host.xsave_length(),
            vectors: Vectors::Loaded,
            image: None,
        })
    }

    /// Its descriptor, and address and length of the page that it shares with the host kernel.
    pub fn host_side(&mut self, vm: &VmFd) -> (RawFd, usize, usize) {
        let page = ptr::from_mut(self.fd.get_kvm_run()) as usize;
        (self.fd.as_raw_fd(), page, vm.run_size())
    }

    pub fn registers(&self) -> &Registers {
        &self.user
    }

    pub fn set_registers(&mut self, registers: &Registers) {
        self.user = *registers;
        self.user.rflags = user_flags(registers.rflags);
    }

    pub fn trap_counter(&mut self) {
        self.sregs.cr4 |= CR4_TSD;
        self.sregs_dirty = true;
    }

    pub fn traps_counter(&self) -> bool {
        self.sregs.cr4 & CR4_TSD != 0
    }

    pub fn bases(&self) -> Result<(u64, u64)> {
        if let Some(bases) = self.bases.get() {
            return Ok(bases);
        }
        let sregs = self.system_registers()?;
        self.note_bases(&sregs);
        Ok((sregs.fs.base, sregs.gs.base))
    }

    /// The system registers as the program left them.
    fn system_registers(&self) -> Result<kvm_sregs> {
        match self.tells_ring {
            true => Ok(self.fd.sync_regs().sregs),
            false => self.fd.get_sregs().map_err(kvm("read system registers")),
        }
    }

    pub fn set_bases(&mut self, fs: u64, gs: u64) {
        self.bases.set(Some((fs, gs)));
        self.sregs_dirty = true;
    }

    fn note_bases(&self, sregs: &kvm_sregs) {
        self.bases.set(Some((sregs.fs.base, sregs.gs.base)));
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

    /// Puts the vCPU into ring 3 with exactly this state, whatever it did before. The state's vector registers are the adopted
    /// image. `left_out` is for the leak check.
    #[inline]
    pub fn load(&mut self, state: &CpuState, left_out: Option<ResetStep>) -> Result<()> {
        if ResetStep::Integers.is_done(left_out) {
            self.set_registers(&state.registers);
        }
        if ResetStep::Segments.is_done(left_out) {
            // Marks all system registers to be loaded with the bases.
            self.set_bases(state.fs_base, state.gs_base);
            self.rest = Rest::Ring3;
        }
        if !ResetStep::Vectors.is_done(left_out) {
            return Ok(());
        }
        self.load_image()
    }

    /// Runs ring 3 until it leaves. With `flush` the guest reloads CR3 on its way in; the second result says that this may
    /// not have happened and is still pending.
    pub fn run(&mut self, memory: &mut Memory, alarm: &mut Alarm, mut flush: bool) -> Result<(Exit, bool)> {
        loop {
            let entered = self.prepare(memory, flush)?;
            let left = self.enter(alarm)?;
            self.bases.set(None);
            let exit = match left {
                Left::ByPort(port) => self.left_by(port, memory)?,
                Left::Reading => self.refuse_read()?,
                Left::Kicked => {
                    let exit = match self.kicked(memory, &entered)? {
                        Kick::Before => return Ok((Exit::Kicked, flush)),
                        Kick::Program => Exit::Kicked,
                        Kick::Trap(exception) => {
                            alarm.put_off();
                            Exit::Exception(exception)
                        }
                    };
                    self.vectors = Vectors::Loaded;
                    return Ok((exit, flush));
                }
            };
            if matches!(exit, Exit::Exception(_)) && entered.is_not_past_stub(self.user.rip) {
                self.user = entered.user;
                self.load_image_by_kvm()?;
                flush = false;
                continue;
            }
            self.vectors = Vectors::Loaded;
            return Ok((exit, false));
        }
    }

    /// Runs the vCPU until it leaves by a port or is kicked.
    fn enter(&mut self, alarm: &mut Alarm) -> Result<Left> {
        loop {
            let byte = &raw mut self.fd.get_kvm_run().immediate_exit;
            if !alarm.enter(byte)? {
                alarm.leave();
                return Ok(Left::Kicked);
            }
            let exit = self.fd.run();
            if self.entry == Entry::Ring3 {
                selectors::make_null();
            }
            let exit = match exit {
                Ok(VcpuExit::IoOut(port, [_])) => Ok(Some(Left::ByPort(port))),
                Ok(VcpuExit::IoIn(SYSCALL_PORT, _)) if self.entry == Entry::Ring3 => Ok(Some(Left::Reading)),
                Ok(other) => Err(Error::UnexpectedExit {
                    what: format!("{other:?}"),
                }),
                Err(e) if matches!(e.errno(), libc::EINTR | libc::EAGAIN) => Ok(None),
                Err(e) => Err(kvm("run the vCPU")(e)),
            };
            alarm.leave();
            if let Some(left) = exit? {
                return Ok(left);
            }
        }
    }

    /// Brings the registers into the shared page and returns what the program is entered with. Vector registers that are due are
    /// loaded on the way.
    fn prepare(&mut self, memory: &mut Memory, flush: bool) -> Result<Entered> {
        let user = self.user;
        if user.rip >= USER_END {
            return Err(Error::BadInstructionPointer { rip: user.rip });
        }
        let (goal, by_stub) = self.enter_by_stub(memory)?;
        self.prepare_entry(memory, flush, &goal)?;
        Ok(Entered { user, by_stub })
    }

    /// Brings these registers of ring 3 into the shared page, by the way that the vCPU's rest and `flush` ask for.
    fn prepare_entry(&mut self, memory: &mut Memory, flush: bool, user: &Registers) -> Result<()> {
        if flush && self.rest == Rest::Ring3 {
            self.rest = Rest::Stub;
            self.sregs_dirty = true;
        }
        let mut regs = *user;
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
            self.sregs_dirty = false;
            // Where each exit tells them they need not be loaded again if none is another.
            if !self.tells_ring || self.fd.sync_regs_mut().sregs != sregs {
                self.fd.sync_regs_mut().sregs = sregs;
                self.fd.set_sync_dirty_reg(SyncReg::SystemRegister);
            }
        }
        self.fd.sync_regs_mut().regs = regs;
        self.fd.set_sync_dirty_reg(SyncReg::Register);
        Ok(())
    }
}

fn user_flags(flags: u64) -> u64 {
    flags & USER_FLAGS | 0x202
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
}
