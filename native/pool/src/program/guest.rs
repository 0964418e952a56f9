//! The personality's machine, on KVM.

use mayfly_linux::machine as seam;
use mayfly_vmm::{Access, Backing, Error, FileId, PAGE, Protection, Registers, Survival, Vm};

/// A machine as the personality sees it.
///
/// The seam has no room for errors of the host. Such an error is kept here, the call answers as if memory had run out, and the
/// owner looks at [`Guest::take_error`] before it goes on: the machine is lost then.
#[derive(Debug)]
pub struct Guest {
    vm: Vm,
    error: Option<Error>,
}

impl Guest {
    /// Wraps a machine.
    pub fn new(vm: Vm) -> Guest {
        Guest { vm, error: None }
    }

    /// The machine.
    pub fn vm(&mut self) -> &mut Vm {
        &mut self.vm
    }

    /// Gives the machine back.
    pub fn into_vm(self) -> Vm {
        self.vm
    }

    /// The first error of the host since the last call.
    pub fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    fn keep(&mut self, error: Error) {
        match error.survival() {
            Survival::Reset => {}
            Survival::Continue | Survival::Discard => drop(self.error.get_or_insert(error)),
        }
    }

    fn or_out_of_memory<T>(&mut self, result: mayfly_vmm::Result<T>) -> Result<T, seam::OutOfMemory> {
        result.map_err(|e| {
            self.keep(e);
            seam::OutOfMemory
        })
    }

    fn or_keep(&mut self, result: mayfly_vmm::Result<()>) {
        if let Err(e) = result {
            self.keep(e);
        }
    }

    /// How far a change of a range came; its end on an error, which the owner meets before anything else happens.
    fn or_all(&mut self, reached: mayfly_vmm::Result<u64>, start: u64, pages: u64) -> u64 {
        reached.unwrap_or_else(|e| {
            self.keep(e);
            start + pages * PAGE
        })
    }
}

/// The same registers, as the other crate's type has them.
macro_rules! convert {
    ($from:expr, $to:path) => {
        convert!($from, $to, rax rbx rcx rdx rbp rsi rdi rsp r8 r9 r10 r11 r12 r13 r14 r15 rip rflags)
    };
    ($from:expr, $to:path, $($name:ident)+) => {{
        let from = $from;
        $to { $($name: from.$name),+ }
    }};
}

impl seam::Machine for Guest {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), seam::PageFault> {
        self.vm.space().read(address, into).map_err(fault)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), seam::PageFault> {
        self.vm.space().write(address, from).map_err(fault)
    }

    fn write_protected(&mut self, address: u64, from: &[u8]) -> Result<(), seam::PageFault> {
        self.vm.space().write_protected(address, from).map_err(fault)
    }

    fn map(
        &mut self,
        start: u64,
        pages: u64,
        backing: seam::Backing<'_>,
        allowed: seam::Protection,
    ) -> Result<(), seam::OutOfMemory> {
        let backing = match backing {
            seam::Backing::Zero => Backing::Zero,
            seam::Backing::Bytes(bytes) => Backing::Bytes(bytes),
            seam::Backing::Slot(slot, page) => Backing::File(FileId(slot.0), page),
        };
        let result = self.vm.space().map(start, pages, backing, protection(allowed));
        self.or_out_of_memory(result)
    }

    fn unmap(&mut self, start: u64, pages: u64, most: u64) -> u64 {
        let result = self.vm.space().unmap_some(start, pages, most);
        self.or_all(result, start, pages)
    }

    fn protect(&mut self, start: u64, pages: u64, allowed: seam::Protection, most: u64) -> u64 {
        let result = self
            .vm
            .space()
            .protect_some(start, pages, protection(allowed), most);
        self.or_all(result, start, pages)
    }

    fn remap(&mut self, from: u64, to: u64, pages: u64, most: u64) -> Result<u64, seam::OutOfMemory> {
        let result = self.vm.space().remap_some(from, to, pages, most);
        self.or_out_of_memory(result)
    }

    fn discard(&mut self, start: u64, pages: u64, most: u64) -> u64 {
        let result = self.vm.space().discard_some(start, pages, most);
        self.or_all(result, start, pages)
    }

    fn work(&self) -> u64 {
        self.vm.space_ref().work()
    }

    fn make_private(&mut self, page: u64, allowed: seam::Protection) -> Result<(), seam::OutOfMemory> {
        let result = self.vm.space().make_private(page, protection(allowed));
        self.or_out_of_memory(result)
    }

    fn page_state(&self, page: u64) -> seam::PageState {
        match self.vm.space_ref().page(page) {
            Access::Absent => seam::PageState::Absent,
            Access::Private => seam::PageState::Private,
            Access::File => seam::PageState::Shared,
        }
    }

    fn free_pages(&self) -> u64 {
        self.vm.space_ref().free_bytes() / PAGE
    }

    fn charge(&mut self, bytes: u64) {
        self.vm.space().charge(bytes);
    }

    fn total_pages(&self) -> u64 {
        self.vm.space_ref().limit_bytes() / PAGE
    }

    fn registers(&self) -> seam::Registers {
        convert!(self.vm.registers(), seam::Registers)
    }

    fn set_registers(&mut self, registers: &seam::Registers) {
        self.vm.set_registers(&convert!(registers, Registers));
    }

    fn fs_base(&self) -> u64 {
        self.vm.bases().map_or(0, |b| b.0)
    }

    fn set_fs_base(&mut self, base: u64) {
        match self.vm.bases() {
            Ok((_, gs)) => self.vm.set_bases(base, gs),
            Err(e) => self.keep(e),
        }
    }

    fn gs_base(&self) -> u64 {
        self.vm.bases().map_or(0, |b| b.1)
    }

    fn set_gs_base(&mut self, base: u64) {
        match self.vm.bases() {
            Ok((fs, _)) => self.vm.set_bases(fs, base),
            Err(e) => self.keep(e),
        }
    }

    fn save_vector_state(&mut self, into: &mut Vec<u8>) {
        let result = self.vm.xsave(into);
        self.or_keep(result);
    }

    fn load_vector_state(&mut self, image: &[u8]) -> Result<(), ()> {
        match self.vm.set_xsave(image) {
            Ok(()) => Ok(()),
            Err(Error::Host { source, .. }) if source.raw_os_error() == Some(libc::EINVAL) => Err(()),
            Err(e) => {
                self.keep(e);
                Ok(())
            }
        }
    }

    fn ticks(&mut self) -> u64 {
        // SAFETY: every x86-64 CPU has the instruction. Guests read the same counter: their offset is zero.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

fn fault(fault: mayfly_vmm::PageFault) -> seam::PageFault {
    seam::PageFault {
        address: fault.address,
    }
}

fn protection(p: seam::Protection) -> Protection {
    Protection {
        read: p.read,
        write: p.write,
        execute: p.execute,
    }
}
