//! Checking and naming the ways out of ring 3.

use kvm_bindings::kvm_vcpu_events;

use super::{Exception, Exit, Registers, Rest, Vcpu, user_flags};
use crate::error::{Error, Result, kvm};
use crate::layout::*;
use crate::memory::Memory;
use crate::probe::Entry;
use crate::stubs::{OUT_LENGTH, vector_stub};

impl Vcpu {
    /// Checks and names an exit by port. Ring 3 may hold a port open (where `syscall` stays there), so an exit counts only if
    /// RIP and RSP are those of the stub that owns the port.
    pub(super) fn left_by(&mut self, port: u16, memory: &Memory) -> Result<Exit> {
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
            self.note_bases(&sregs);
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
        // A CPU that took SS from STAR without ring 3's RPL would show it here, and fail at the next `iretq`.
        let ss = word(frame + 4);
        if cfg!(debug_assertions) && self.entry == Entry::Ring0 && ss != u64::from(USER_DATA) {
            return Err(Error::UnexpectedExit {
                what: format!("exception {vector} with SS {ss:#x}, want {USER_DATA:#x}"),
            });
        }
        self.user = *regs;
        self.user.rip = rip;
        self.user.rflags = user_flags(word(frame + 2));
        self.user.rsp = word(frame + 3);
        Ok(error)
    }

    /// Ring 3 read the port that is open to it for its calls: what Linux answers with a general protection fault. KVM would finish
    /// the read at the next entry, whatever the registers are by then, so it is finished here.
    pub(super) fn refuse_read(&mut self) -> Result<Exit> {
        self.settle()?;
        self.check_ring(3)?;
        self.user = self.fd.sync_regs().regs;
        self.user.rflags = user_flags(self.user.rflags);
        self.rest = Rest::Ring3;
        Ok(Exit::Exception(Exception {
            vector: 13,
            error: 0,
            address: 0,
        }))
    }

    /// Completes the port access of the exit before, if one is pending, and refreshes the shared page.
    fn settle(&mut self) -> Result<()> {
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
        // KVM may hold an exception that it did not deliver. The instruction will raise it again; another thread that the owner
        // lets run instead must not get it.
        let events = kvm_vcpu_events::default();
        self.fd
            .set_vcpu_events(&events)
            .map_err(kvm("clear pending events"))
    }

    /// Finds out where a kick met the program.
    pub(super) fn kicked(&mut self, memory: &Memory, entered: Registers) -> Result<()> {
        self.settle()?;
        let regs = self.fd.sync_regs().regs;
        let sregs = self.fd.get_sregs().map_err(kvm("read system registers"))?;
        self.note_bases(&sregs);
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
}

fn forged(port: u16, regs: &Registers) -> Error {
    Error::UnexpectedExit {
        what: format!("port {port:#x} from rip {:#x}, rsp {:#x}", regs.rip, regs.rsp),
    }
}
