//! Where things lie in the guest: the low 64 KiB, user space, guest-physical windows.
//!
//! ```text
//! 0x0000  nothing, never mapped            0x6000  TSS and its I/O bitmap
//! 0x1000  PML4                             0x7000  exception stacks, return frame
//! 0x2000  PDPT of the low 512 GiB          0x8000  system-call stub
//! 0x3000  PD of the low 1 GiB              0x9000  exception and return stubs
//! 0x4000  PT of the low 2 MiB              0xa000  vector stub: xrstor in ring 3
//! 0x5000  GDT, IDT                         0xb000  what it loads: XSAVE image, RIP, RAX, RDX
//!                                          0xc000  probe code (probe machines only)
//!                                          0x10000 first frame of the program
//! ```
//! Virtual equals physical there. Ring 3 may execute the vector stub and read what it loads, and execute the system-call stub
//! where `syscall` stays in ring 3; all else is the supervisor's. The page tables themselves are mapped nowhere.

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Lowest address a program may map.
pub const USER_START: u64 = 0x1_0000;
/// First address above user space. The last page of the lower half is kept out: on Intel a `sysret` to the non-canonical
/// address behind it faults in ring 0 on the guest's stack.
pub const USER_END: u64 = 0x7fff_ffff_f000;

pub(crate) const PML4: u64 = 0x1000;
pub(crate) const LOW_PDPT: u64 = 0x2000;
pub(crate) const LOW_PD: u64 = 0x3000;
pub(crate) const LOW_PT: u64 = 0x4000;
pub(crate) const GDT: u64 = 0x5000;
pub(crate) const IDT: u64 = 0x5400;
pub(crate) const TSS: u64 = 0x6000;
pub(crate) const STACKS: u64 = 0x7000;
pub(crate) const SYSCALL_STUB: u64 = 0x8000;
pub(crate) const STUBS: u64 = 0x9000;
pub(crate) const VECTOR_STUB: u64 = 0xa000;
/// What the vector stub loads: the XSAVE image, and at its end what the program is entered with.
pub(crate) const VECTOR_DATA: u64 = 0xb000;
/// Offset in that page of RIP, RAX and RDX. The image ends before.
pub(crate) const VECTOR_SLOTS: u64 = 0xfc0;
pub(crate) const LOW_END: u64 = 0x1_0000;

/// Vectors that have a stub of their own.
pub(crate) const VECTORS: u64 = 32;
/// Bytes between two exception stubs.
pub(crate) const STUB_STRIDE: u64 = 16;
/// `iretq`.
pub(crate) const RETURN_STUB: u64 = STUBS + 0x800;
/// Reload CR3, then `iretq`.
pub(crate) const FLUSH_STUB: u64 = STUBS + 0x810;
/// End of the flush stub.
pub(crate) const FLUSH_STUB_END: u64 = STUBS + 0x820;

/// Bytes of each exception stack; stack `i` (1 to 7, as in the IDT) ends at `STACKS + i * STACK_SIZE`.
pub(crate) const STACK_SIZE: u64 = 0x200;
/// Where the frame for a return by `iretq` is laid: five words, and a word below it for the flush stub.
pub(crate) const RETURN_FRAME: u64 = STACKS + 0xf80;

pub(crate) const KERNEL_CODE: u16 = 0x08;
pub(crate) const KERNEL_DATA: u16 = 0x10;
pub(crate) const USER_DATA: u16 = 0x23;
pub(crate) const USER_CODE: u16 = 0x2b;
pub(crate) const TASK: u16 = 0x30;
/// Limit of the task segment: 0x68 bytes and 256 bytes of I/O bitmap (ports 0 to 2047, the rest is denied by the limit).
pub(crate) const TASK_LIMIT: u32 = 0x167;
pub(crate) const GDT_LIMIT: u16 = 63;
pub(crate) const IDT_LIMIT: u16 = (VECTORS * 16 - 1) as u16;

/// Port of the system-call stub.
pub(crate) const SYSCALL_PORT: u16 = 0;
/// Port of the stub of vector 0; vector `v` writes to this plus `v`.
pub(crate) const VECTOR_PORT: u16 = 0x80;

/// Guest-physical address of the first host file; private memory lies below it.
pub(crate) const FILES: u64 = 1 << 36;

/// The exception stack of a vector: those that could arrive while another is handled have their own.
pub(crate) fn stack_of(vector: u8) -> u64 {
    match vector {
        14 => 1,
        13 => 2,
        8 => 3,
        18 => 4,
        2 => 5,
        _ => 6,
    }
}

/// Whether the CPU pushes an error code for this vector.
pub(crate) fn has_error_code(vector: u8) -> bool {
    matches!(vector, 8 | 10 | 11 | 12 | 13 | 14 | 17 | 21)
}

/// RSP in the stub of `vector`: below the five words of the frame and the error code.
pub(crate) fn stack_pointer_in_stub(vector: u8) -> u64 {
    let words = if has_error_code(vector) { 6 } else { 5 };
    STACKS + stack_of(vector) * STACK_SIZE - 8 * words
}

const _: () = assert!(
    LOW_END == USER_START,
    "layout.rs: the program starts where the stubs end"
);
const _: () = assert!(
    STACKS + 6 * STACK_SIZE <= RETURN_FRAME - 64,
    "layout.rs: stacks and return frame overlap"
);
const _: () = assert!(IDT + VECTORS * 16 <= TSS, "layout.rs: the IDT leaves its page");

/// Rounds up to whole pages; `None` on overflow.
pub(crate) fn page_up(x: u64) -> Option<u64> {
    Some(x.checked_add(PAGE - 1)? & !(PAGE - 1))
}
