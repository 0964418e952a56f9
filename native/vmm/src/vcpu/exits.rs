//! Checking and naming the ways out of ring 3.

use kvm_bindings::kvm_vcpu_events;

use super::{Entered, Exception, Exit, Kick, Registers, Rest, Vcpu, user_flags};
use crate::error::{Error, Result, kvm};
use crate::flavour::Entry;
use crate::layout::*;
use crate::memory::Memory;
use crate::stubs::{OUT_LENGTH, vector_stub};

/// The vector of `int3`.
const BREAKPOINT: u8 = 3;

impl Vcpu {
    /// Checks and names an exit by port. Ring 3 may hold a port open (where `syscall` stays there), so an exit counts only if
    /// RIP and RSP are those of the stub that owns the port.
    pub(super) fn left_by(&mut self, port: u16, memory: &Memory) -> Result<Exit> {
        let regs = self.fd.sync_regs().regs;
        if port == SYSCALL_PORT {
            return self.left_by_syscall(&regs);
        }
        let vector = vector_of(port, regs.rip, regs.rsp).ok_or_else(|| forged(port, &regs))?;
        self.check_ring(0)?;
        self.rest = Rest::Stub;
        if let Some(stack) = step_over_call(&regs, vector, memory) {
            self.take_call(&regs, stack, regs.rcx);
            return Ok(Exit::Syscall);
        }
        let error = self.take_frame(&regs, vector, memory)?;
        if vector == BREAKPOINT && self.entry == Entry::Ring3 {
            self.forget_exception()?;
        }
        let address = if vector == 14 {
            let sregs = self.system_registers()?;
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
        self.user = *regs;
        if !is_call(regs.rip, regs.rcx) {
            if self.entry == Entry::Ring0 {
                return Err(forged(SYSCALL_PORT, regs));
            }
            // A port write of the program's own: what Linux answers with a general protection fault.
            self.check_ring(3)?;
            self.rest = Rest::Ring3;
            return Ok(Exit::Exception(Exception {
                vector: 13,
                error: 0,
                address: 0,
            }));
        }
        self.take_call(regs, regs.rsp, regs.rcx);
        self.rest = match self.entry {
            Entry::Ring0 => {
                self.check_ring(0)?;
                Rest::Stub
            }
            Entry::Ring3 if self.fd.sync_regs().sregs.cs.dpl == 3 => Rest::Ring3,
            // Emulated: the stub's instruction ran in ring 0, and the program gets back to ring 3 by `iretq`.
            Entry::Ring3 => {
                self.check_ring(0)?;
                Rest::Stub
            }
        };
        Ok(Exit::Syscall)
    }

    /// Sets the user's registers at a system call, to go on at `rip`.
    fn take_call(&mut self, regs: &Registers, stack: u64, rip: u64) {
        self.user = *regs;
        self.user.rip = rip;
        self.user.rflags = user_flags(regs.r11);
        self.user.rsp = stack;
    }

    /// Reads the frame that the CPU pushed in an exception stub: sets the user's registers, returns the error code.
    fn take_frame(&mut self, regs: &Registers, vector: u8, memory: &Memory) -> Result<u64> {
        let word = pushed_words(regs, memory);
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

    /// Completes the port access of the exit before, if one is pending, and refreshes the shared page. Gives the vector of a trap that KVM
    /// has not delivered.
    fn settle(&mut self) -> Result<Option<u8>> {
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
        // KVM may hold an exception that it did not deliver. Another thread that the owner lets run instead must not get it. The
        // instruction will raise it again, unless the host took a trap behind it; a CPU that delivers traps by itself is at theirs.
        let held = self.fd.get_vcpu_events().map_err(kvm("read pending events"))?;
        self.forget_exception()?;
        let exception = held.exception;
        // Whether it holds a breakpoint KVM does not say, only that this was the last exception (kvm_vcpu_ioctl_x86_get_vcpu_events in
        // arch/x86/kvm/x86.c); those before were forgotten.
        let is_held = exception.nr == BREAKPOINT || (exception.injected, exception.pending) != (0, 0);
        Ok((self.entry == Entry::Ring3 && is_held && is_trap(exception.nr)).then_some(exception.nr))
    }

    fn forget_exception(&mut self) -> Result<()> {
        let none = kvm_vcpu_events::default();
        self.fd
            .set_vcpu_events(&none)
            .map_err(kvm("clear pending events"))
    }

    /// Finds out where a kick met the program.
    pub(super) fn kicked(&mut self, memory: &Memory, entered: &Entered) -> Result<Kick> {
        let trap = self.settle()?;
        let regs = self.fd.sync_regs().regs;
        let sregs = self.system_registers()?;
        self.note_bases(&sregs);
        self.user = regs;
        if sregs.cs.dpl == 3 {
            self.rest = Rest::Ring3;
            self.user.rflags = user_flags(regs.rflags);
            return Ok(match (self.place_of(entered), trap) {
                (Kick::Program, Some(vector)) => Kick::Trap(Exception {
                    vector,
                    error: 0,
                    address: 0,
                }),
                (place, _) => place,
            });
        }
        self.rest = Rest::Stub;
        match regs.rip {
            // The system call has not been told yet: let it happen again.
            SYSCALL_STUB => self.take_call(&regs, regs.rsp, regs.rcx.wrapping_sub(2)),
            // On the way in; nothing of the program ran.
            rip if rip == SYSCALL_STUB + OUT_LENGTH || (RETURN_STUB..FLUSH_STUB_END).contains(&rip) => {
                self.user = entered.user;
                return Ok(Kick::Before);
            }
            // The exception has not been told yet: a fault's instruction will raise it again, a trap's is done.
            rip if rip >= STUBS && rip < vector_stub(VECTORS as u8) => {
                let vector = ((rip - STUBS) / STUB_STRIDE) as u8;
                match step_over_call(&regs, vector, memory) {
                    // As at the system call's own stub.
                    Some(stack) => self.take_call(&regs, stack, regs.rcx.wrapping_sub(2)),
                    None => {
                        let error = self.take_frame(&regs, vector, memory)?;
                        if is_trap(vector) && !entered.is_not_past_stub(self.user.rip) {
                            return Ok(Kick::Trap(Exception {
                                vector,
                                error,
                                address: 0,
                            }));
                        }
                    }
                }
            }
            rip => {
                return Err(Error::UnexpectedExit {
                    what: format!("a kick in ring 0 at {rip:#x}"),
                });
            }
        }
        Ok(self.place_of(entered))
    }

    /// Whether the program was reached. If not it is to be entered again, as it was.
    fn place_of(&mut self, entered: &Entered) -> Kick {
        if entered.is_not_past_stub(self.user.rip) {
            self.user = entered.user;
            return Kick::Before;
        }
        Kick::Program
    }

    /// The ring at this exit, where exits tell it.
    fn check_ring(&self, want: u8) -> Result<()> {
        if self.tells_ring {
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

/// The user's RSP where a step, or a watchpoint, that was due with `syscall` came behind it, in ring 0 (Intel SDM volume 3, 6.8.3;
/// CVE-2018-8897; Bochs). The call counts and the step does not: the program's flags may ask for it again behind the call.
fn step_over_call(regs: &Registers, vector: u8, memory: &Memory) -> Option<u64> {
    if vector != 1 {
        return None;
    }
    let word = pushed_words(regs, memory);
    let (rip, cs) = (word(0), word(1));
    (cs & 3 == 0 && rip == SYSCALL_STUB && is_call(rip, regs.rcx)).then(|| word(3))
}

/// Whether an exception comes behind its instruction, so that nothing raises it again: a step or a watchpoint, and `int3`. (Of what a step
/// and a watchpoint are told apart by, nothing is kept.)
fn is_trap(vector: u8) -> bool {
    matches!(vector, 1 | BREAKPOINT)
}

/// What the CPU pushed in the exception stub that is at RSP, word by word.
fn pushed_words(regs: &Registers, memory: &Memory) -> impl Fn(usize) -> u64 {
    let first = ((regs.rsp % PAGE) / 8) as usize;
    move |i| memory.word(STACKS, first + i)
}

/// Whether an exit by the system call's port comes from its stub, with an address of user space to go back to.
fn is_call(rip: u64, rcx: u64) -> bool {
    (rip == SYSCALL_STUB || rip == SYSCALL_STUB + OUT_LENGTH) && rcx < USER_END
}

/// The vector whose stub left by `port`: only that stub has this RIP, and only the CPU sets this RSP there.
fn vector_of(port: u16, rip: u64, rsp: u64) -> Option<u8> {
    let vector = port.wrapping_sub(VECTOR_PORT);
    if u64::from(vector) >= VECTORS {
        return None;
    }
    let vector = vector as u8;
    let stub = vector_stub(vector);
    let at_stub = rip == stub || rip == stub + OUT_LENGTH;
    (at_stub && rsp == stack_pointer_in_stub(vector)).then_some(vector)
}

fn forged(port: u16, regs: &Registers) -> Error {
    Error::UnexpectedExit {
        what: format!("port {port:#x} from rip {:#x}, rsp {:#x}", regs.rip, regs.rsp),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sys::Mapping;

    #[test]
    fn an_exit_counts_for_the_one_stub_that_can_have_made_it() {
        let places: Vec<u64> = (STUBS - 2..STUBS + 0x900)
            .chain([
                0,
                SYSCALL_STUB,
                SYSCALL_STUB + OUT_LENGTH,
                USER_START,
                USER_END,
                u64::MAX,
            ])
            .collect();
        let stacks: BTreeSet<u64> = (0..VECTORS as u8)
            .flat_map(|v| [-8, 0, 8].map(|by| stack_pointer_in_stub(v).wrapping_add_signed(by)))
            .collect();
        let others = [0, 1, 0x7f, 0xa0, 0xff, 0x100, 0x180, 0x8080, u16::MAX];
        let mut counted = 0;
        for port in (VECTOR_PORT..VECTOR_PORT + VECTORS as u16).chain(others) {
            for rip in &places {
                for rsp in &stacks {
                    let Some(seen) = vector_of(port, *rip, *rsp) else {
                        continue;
                    };
                    counted += 1;
                    assert_eq!(port, VECTOR_PORT + u16::from(seen));
                    assert!([0, OUT_LENGTH].contains(&(*rip - vector_stub(seen))));
                    assert_eq!(*rsp, stack_pointer_in_stub(seen));
                }
            }
        }
        assert_eq!(counted, 2 * VECTORS, "before the instruction and behind it");
    }

    #[test]
    fn a_step_is_a_call_only_where_it_came_to_the_calls_stub_in_ring_0() {
        let mut memory = Memory::new(Mapping::anonymous(LOW_END as usize).unwrap());
        let mut stack = |vector: u8, rip: u64, cs: u16, rcx: u64| {
            let rsp = stack_pointer_in_stub(vector);
            let first = ((rsp % PAGE) / 8) as usize;
            for (i, word) in [rip, u64::from(cs), 0x2, 0x1234].into_iter().enumerate() {
                memory.set_word(STACKS, first + i, word);
            }
            let regs = Registers {
                rsp,
                rcx,
                ..Default::default()
            };
            step_over_call(&regs, vector, &memory)
        };
        let back = USER_START + 2;
        assert_eq!(stack(1, SYSCALL_STUB, KERNEL_CODE, back), Some(0x1234));
        assert_eq!(stack(1, SYSCALL_STUB, USER_CODE, back), None);
        assert_eq!(stack(1, SYSCALL_STUB, KERNEL_CODE, USER_END), None);
        assert_eq!(stack(2, SYSCALL_STUB, KERNEL_CODE, back), None);
        for rip in [
            SYSCALL_STUB - 1,
            SYSCALL_STUB + OUT_LENGTH,
            RETURN_STUB,
            STUBS,
            back,
        ] {
            assert_eq!(stack(1, rip, KERNEL_CODE, back), None, "{rip:x}");
        }
    }

    #[test]
    fn a_call_comes_from_its_stub_and_goes_back_to_user_space() {
        for rip in [
            SYSCALL_STUB - 1,
            SYSCALL_STUB + 1,
            SYSCALL_STUB + 3,
            STUBS,
            USER_START,
            0,
        ] {
            assert!(!is_call(rip, USER_START));
        }
        for rip in [SYSCALL_STUB, SYSCALL_STUB + OUT_LENGTH] {
            assert!(is_call(rip, USER_START) && is_call(rip, USER_END - 1));
            for rcx in [USER_END, USER_END + PAGE, 1 << 63, u64::MAX] {
                assert!(!is_call(rip, rcx));
            }
        }
    }
}
