//! The seam between the personality and the virtual machine below it.
//!
//! [`Machine`] is all that this crate may ask of the outside: guest memory by guest-virtual address, page mappings, the registers of the
//! running thread, and one monotonic counter. The KVM crate implements it over page tables and `kvm_run`; the tests implement it over a
//! `BTreeMap` ([`crate::machine::mock`]).
//!
//! Rules that hold for every method: an address or length the guest chose never panics; a range is page-aligned and lies below
//! [`USER_END`] (the personality checked both); the work is bounded by the length asked for.

use serde::{Deserialize, Serialize};

pub mod mock;

/// Bytes in a page.
pub const PAGE: u64 = 4096;

/// Lowest address that a guest may map. Everything below belongs to the machine (stubs, descriptor tables) or stays empty.
pub const USER_START: u64 = 0x1_0000;

/// First address that no guest may map: the last page of the lower half stays empty, or SYSRET could fault in ring 0.
pub const USER_END: u64 = 0x7fff_ffff_f000;

/// What ring 3 may do with a page. `NONE` keeps the content out of reach without losing it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Protection {
    /// Loads are allowed. On x86-64 a page that can be written or executed can also be read.
    pub read: bool,
    /// Stores are allowed.
    pub write: bool,
    /// Instruction fetches are allowed.
    pub execute: bool,
}

impl Protection {
    /// No access at all.
    pub const NONE: Self = Self {
        read: false,
        write: false,
        execute: false,
    };
    /// Loads only.
    pub const READ: Self = Self {
        read: true,
        write: false,
        execute: false,
    };
    /// Loads and stores.
    pub const READ_WRITE: Self = Self {
        read: true,
        write: true,
        execute: false,
    };
    /// Loads and instruction fetches.
    pub const READ_EXECUTE: Self = Self {
        read: true,
        write: false,
        execute: true,
    };

    /// Whether any access is allowed.
    #[must_use]
    pub fn any(self) -> bool {
        self.read || self.write || self.execute
    }

    /// The low three bits of Linux's `PROT_*`.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self {
            read: bits & 1 != 0,
            write: bits & 2 != 0,
            execute: bits & 4 != 0,
        }
    }
}

/// Names a read-only host file that every VM of a program shares in its own memory slot (the `deno` binary).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SlotId(pub u32);

/// What a page holds when it is mapped for the first time.
#[derive(Clone, Copy, Debug)]
pub enum Backing<'a> {
    /// A private page of zeros.
    Zero,
    /// Private pages filled from these bytes, first page first; what the bytes do not reach is zero.
    Bytes(&'a [u8]),
    /// Pages of a shared read-only slot, from this page of the slot on. Never writable, whatever the protection asks for:
    /// the first store faults and the personality answers with [`Machine::make_private`].
    Slot(SlotId, u64),
}

/// What the page tables hold for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Nothing was mapped yet.
    Absent,
    /// A page of this VM (possibly hidden by [`Protection::NONE`]).
    Private,
    /// A page of a shared slot (possibly hidden by [`Protection::NONE`]).
    Shared,
}

/// A copy into or out of guest memory met a page that is absent or does not allow the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// The first byte that could not be reached.
    pub address: u64,
}

/// The machine has no free page left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// The integer registers of ring 3.
///
/// At a system call `rip` is the address after the `syscall` instruction and `rflags` the flags before it, on every flavour of KVM;
/// `rcx` and `r11` are whatever the flavour leaves there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the processor's")]
pub struct Registers {
    pub rax: u64,
    pub rbx: u64,
    pub rcx: u64,
    pub rdx: u64,
    pub rsi: u64,
    pub rdi: u64,
    pub rbp: u64,
    pub rsp: u64,
    pub r8: u64,
    pub r9: u64,
    pub r10: u64,
    pub r11: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    pub rip: u64,
    pub rflags: u64,
}

/// What the personality needs of a virtual machine with one vCPU.
pub trait Machine {
    /// Copies guest memory at `address` into `into`, as a load by ring 3 would see it.
    ///
    /// # Errors
    /// [`PageFault`] with the first byte that is not readable now; the bytes before it have been copied.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), PageFault>;

    /// Copies `from` to guest memory at `address`, as stores by ring 3 would.
    ///
    /// # Errors
    /// [`PageFault`] with the first byte that is not writable now; the bytes before it have been copied.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), PageFault>;

    /// Like [`Machine::write`], but the page's protection does not count: for pages that the guest may only read (clock data).
    ///
    /// # Errors
    /// [`PageFault`] where no private page is mapped.
    fn write_protected(&mut self, address: u64, from: &[u8]) -> Result<(), PageFault>;

    /// Maps `pages` pages from `start`. A page that is mapped already (also one hidden by [`Protection::NONE`]) is left as it is.
    ///
    /// # Errors
    /// [`OutOfMemory`]; pages before the one that failed stay mapped.
    fn map(
        &mut self,
        start: u64,
        pages: u64,
        backing: Backing<'_>,
        protection: Protection,
    ) -> Result<(), OutOfMemory>;

    /// Removes the mappings of the range and frees its private pages, until `most` [`Machine::work`] is done, lowest first. Absent pages are no error.
    /// Cost follows the pages present, not the length: the range may be many GiB. Gives the address before which all is done.
    fn unmap(&mut self, start: u64, pages: u64, most: u64) -> u64;

    /// Gives the mapped pages of the range this protection, until `most` [`Machine::work`] is done, lowest first. Cost follows the pages present. Gives
    /// the address before which all is done.
    fn protect(&mut self, start: u64, pages: u64, protection: Protection, most: u64) -> u64;

    /// Moves the mappings of `from..` to `to..`, which has none but those of an earlier call, `most` of them at most. The ranges do not
    /// overlap. Gives the address of `from..` before which all is done.
    ///
    /// # Errors
    /// [`OutOfMemory`] when a page table is missing; nothing was moved then. A call that goes on with an earlier one's work has all.
    fn remap(&mut self, from: u64, to: u64, pages: u64, most: u64) -> Result<u64, OutOfMemory>;

    /// Makes the private pages of the range read as zeros from now on (in place, or by unmapping them), `most` of them at most, lowest
    /// first. Gives the address before which all is done.
    fn discard(&mut self, start: u64, pages: u64, most: u64) -> u64;

    /// Replaces one shared page by a private copy of it with this protection.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the shared page stays.
    fn make_private(&mut self, page: u64, protection: Protection) -> Result<(), OutOfMemory>;

    /// Work on pages so far, in units of one that is unmapped or protected. What is dearer counts more (a new page, one that is filled with
    /// zeros, one far from the last); a thousand units are within a millisecond.
    fn work(&self) -> u64;

    /// What is mapped at `page`.
    fn page_state(&self, page: u64) -> PageState;

    /// Private pages that can still be handed out.
    fn free_pages(&self) -> u64;

    /// Counts so many bytes of the host, which the guest's kernel state takes, against the machine's memory, in place of those of the
    /// last call.
    fn charge(&mut self, bytes: u64);

    /// The pages that this machine has in all, used and free.
    fn total_pages(&self) -> u64;

    /// The integer registers of the running thread.
    fn registers(&self) -> Registers;

    /// Sets the integer registers. `rip` is below [`USER_END`] and `rflags` holds user flags only; the personality saw to both.
    fn set_registers(&mut self, registers: &Registers);

    /// The FS base of the running thread.
    fn fs_base(&self) -> u64;

    /// Sets the FS base; it is below [`USER_END`].
    fn set_fs_base(&mut self, base: u64);

    /// The GS base of the running thread.
    fn gs_base(&self) -> u64;

    /// Sets the GS base; it is below [`USER_END`].
    fn set_gs_base(&mut self, base: u64);

    /// The running thread's XSAVE image in standard (not compacted) format: 512 bytes legacy region, 64 bytes header, components at the
    /// offsets of CPUID leaf 0xd. `into` is replaced. Dear (5 us on PVM): asked for only at a thread switch or a signal.
    fn save_vector_state(&mut self, into: &mut Vec<u8>);

    /// Loads an image that [`Machine::save_vector_state`] gave, or one of the same length that the guest edited.
    ///
    /// # Errors
    /// `Err(())` when the processor would refuse it (reserved bits in the header or MXCSR); the old state stays.
    #[allow(
        clippy::result_unit_err,
        reason = "there is one way to fail and one answer to it"
    )]
    fn load_vector_state(&mut self, image: &[u8]) -> Result<(), ()>;

    /// A counter that never goes backwards: what `rdtsc` reads in the guest.
    fn ticks(&mut self) -> u64;
}
