//! What lies in the low 64 KiB: descriptor tables, the task segment, the few instructions of ring 0, and the stub of ring 3
//! that loads the vector registers.
//!
//! No stub reads or writes memory at a user's address, and none uses a user's stack.

use crate::error::Result;
use crate::flavour::Entry;
use crate::layout::*;
use crate::memory::Memory;
use crate::pte::Pte;

/// `out %al, $port`.
const OUT: u8 = 0xe6;
/// Length of that instruction.
pub(crate) const OUT_LENGTH: u64 = 2;
const SYSRETQ: [u8; 3] = [0x48, 0x0f, 0x07];
const IRETQ: [u8; 2] = [0x48, 0xcf];
/// `jmp *%rcx`.
const JUMP_RCX: [u8; 2] = [0xff, 0xe1];
const UD2: [u8; 2] = [0x0f, 0x0b];
/// `push %rax; mov %cr3, %rax; mov %rax, %cr3; pop %rax`.
const RELOAD_CR3: [u8; 8] = [0x50, 0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8, 0x58];

/// Null, kernel code, kernel data, null (no 32-bit code for ring 3), user data, user code, and the task segment's two words.
/// The accessed bits are preset: the CPU never writes the table.
fn descriptors() -> [u64; 8] {
    let task = 0x0000_8900_0000_0000 | (TSS & 0xff_ffff) << 16 | TASK_LIMIT as u64;
    [
        0,
        0x00af_9b00_0000_ffff,
        0x00cf_9300_0000_ffff,
        0,
        0x00cf_f300_0000_ffff,
        0x00af_fb00_0000_ffff,
        task,
        0,
    ]
}

/// Where the stub of a vector starts.
pub(crate) fn vector_stub(vector: u8) -> u64 {
    STUBS + vector as u64 * STUB_STRIDE
}

/// An interrupt gate of ring 0 with its own stack. Breakpoint and overflow may be raised by instruction, as on Linux; every other
/// `int` is a general protection fault.
fn gate(vector: u8) -> [u64; 2] {
    let handler = vector_stub(vector);
    let by_instruction = if matches!(vector, 3 | 4) { 0x6000 } else { 0 };
    let kind = 0x8e00u64 | by_instruction | stack_of(vector);
    [
        handler & 0xffff | (KERNEL_CODE as u64) << 16 | kind << 32 | (handler >> 16 & 0xffff) << 48,
        handler >> 32,
    ]
}

/// The 64-bit task segment: stacks, then the I/O bitmap. Where `syscall` stays in ring 3 the stub's port is open to ring 3.
fn task_segment(entry: Entry) -> Vec<u8> {
    let mut task = vec![0u8; TASK_LIMIT as usize + 1];
    task[4..12].copy_from_slice(&(STACKS + 6 * STACK_SIZE).to_le_bytes());
    for stack in 1..=7u64 {
        let at = 0x24 + 8 * (stack as usize - 1);
        let top = STACKS + stack.min(6) * STACK_SIZE;
        task[at..at + 8].copy_from_slice(&top.to_le_bytes());
    }
    task[0x66..0x68].copy_from_slice(&0x68u16.to_le_bytes());
    task[0x68..].fill(0xff);
    if entry == Entry::Ring3 {
        task[0x68] = !1;
    }
    task
}

/// Machine code of the system-call stub. In ring 3 the second instruction is never reached by our own hand: the machine sets
/// RIP; it is there for a forged entry, which it sends back where it came from.
fn syscall_stub(entry: Entry) -> Vec<u8> {
    match entry {
        Entry::Ring3 => [&[OUT, SYSCALL_PORT as u8][..], &JUMP_RCX].concat(),
        Entry::Ring0 => [&[OUT, SYSCALL_PORT as u8][..], &SYSRETQ].concat(),
    }
}

/// `fnclex; emms`: no x87 exception is pending and its stack is empty.
const CLEAR_X87: [u8; 4] = [0xdb, 0xe2, 0x0f, 0x77];
/// `fildl disp(%rip)`, `xrstor64 disp(%rip)`, `mov disp(%rip),%rax`, `mov disp(%rip),%rdx`, `jmp *disp(%rip)`: the displacement
/// follows.
const LOAD_X87: [u8; 2] = [0xdb, 0x05];
const XRSTOR64: [u8; 4] = [0x48, 0x0f, 0xae, 0x2d];
const LOAD_RAX: [u8; 3] = [0x48, 0x8b, 0x05];
const LOAD_RDX: [u8; 3] = [0x48, 0x8b, 0x15];
const JUMP: [u8; 2] = [0xff, 0x25];
const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// Length of the vector stub's part that runs before the program: the instructions above.
const VECTOR_STUB_LENGTH: u64 = 4 + 6 + 8 + 7 + 7 + 6;
/// Behind it: a `syscall`, for the check of a reset to see what the stub loaded before anything of the program runs.
pub(crate) const VECTOR_LANDING: u64 = VECTOR_STUB + VECTOR_STUB_LENGTH;

/// Whether an address is in the vector stub, before the jump to the program was made.
pub(crate) fn in_vector_stub(rip: u64) -> bool {
    (VECTOR_STUB..VECTOR_LANDING).contains(&rip)
}

/// Ring 3's way into the program when its vector registers are due. Entered with EDX:EAX all ones: every component that XCR0 has
/// is loaded, or initialised where the image holds none. It changes nothing but vector registers, RAX, RDX and RIP.
///
/// AMD's CPUs before Zen 2 leave the addresses and the opcode of the last x87 instruction as they are if the image has no exception
/// pending (CPUID's XSAVEERPTR says which; AMD's manual, volume 2, 11.5.9), so an instruction of the stub's own becomes the last one
/// before. Linux does the same where it loads a thread's.
fn vector_stub_code() -> Vec<u8> {
    let mut code = Vec::new();
    let mut put = |instruction: &[u8], target: u64| {
        code.extend(instruction);
        let next = VECTOR_STUB + code.len() as u64 + 4;
        code.extend((target.wrapping_sub(next) as u32).to_le_bytes());
    };
    put(&[&CLEAR_X87[..], &LOAD_X87].concat(), VECTOR_DATA);
    put(&XRSTOR64, VECTOR_DATA);
    put(&LOAD_RAX, VECTOR_DATA + VECTOR_SLOTS + 8);
    put(&LOAD_RDX, VECTOR_DATA + VECTOR_SLOTS + 16);
    put(&JUMP, VECTOR_DATA + VECTOR_SLOTS);
    debug_assert_eq!(code.len() as u64, VECTOR_STUB_LENGTH);
    code.extend([SYSCALL, UD2].concat());
    code
}

/// Sets what the program is entered with by the vector stub.
pub(crate) fn set_vector_slots(memory: &mut Memory, [rip, rax, rdx]: [u64; 3]) {
    const FIRST: usize = (VECTOR_SLOTS / 8) as usize;
    for (i, word) in [rip, rax, rdx].into_iter().enumerate() {
        memory.set_word(VECTOR_DATA, FIRST + i, word);
    }
}

/// A page of the low 64 KiB: where it lies, what it starts with (zeros follow), and its entry.
struct Page {
    address: u64,
    content: Vec<u8>,
    entry: Pte,
}

/// All pages that are mapped there. None is both writable and executable.
fn pages(entry: Entry) -> Vec<Page> {
    let words = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let mut tables = words(&descriptors());
    tables.resize((IDT - GDT) as usize, 0);
    let mut stubs = vec![0; (FLUSH_STUB_END - STUBS) as usize];
    let mut put = |address: u64, code: &[u8]| {
        let at = (address - STUBS) as usize;
        stubs[at..at + code.len()].copy_from_slice(code);
    };
    for vector in 0..VECTORS as u8 {
        tables.extend(words(&gate(vector)));
        put(
            vector_stub(vector),
            &[&[OUT, VECTOR_PORT as u8 + vector][..], &UD2].concat(),
        );
    }
    put(RETURN_STUB, &IRETQ);
    put(FLUSH_STUB, &[&RELOAD_CR3[..], &IRETQ].concat());
    let page = |address, content, user, write, execute| Page {
        address,
        content,
        entry: Pte::system(address, user, write, execute),
    };
    vec![
        page(GDT, tables, false, false, false),
        page(TSS, task_segment(entry), false, false, false),
        page(STACKS, Vec::new(), false, true, false),
        page(
            SYSCALL_STUB,
            syscall_stub(entry),
            entry == Entry::Ring3,
            false,
            true,
        ),
        page(STUBS, stubs, false, false, true),
        page(VECTOR_STUB, vector_stub_code(), true, false, true),
        page(VECTOR_DATA, Vec::new(), true, false, false),
    ]
}

/// Writes all of it into fresh memory and maps it.
pub(crate) fn install(memory: &mut Memory, entry: Entry) -> Result<()> {
    for page in pages(entry) {
        memory.write(page.address, 0, &page.content)?;
        memory.set_word(LOW_PT, (page.address / PAGE) as usize, page.entry.0);
    }
    Ok(())
}

/// Checks that all of it is as installed, but for what is written later (the stacks, what the vector stub loads), and that
/// nothing else is mapped below user space.
pub(crate) fn audit(memory: &Memory, entry: Entry) -> std::result::Result<(), String> {
    let pages = pages(entry);
    for at in (0..USER_START).step_by(PAGE as usize) {
        let now = Pte(memory.word(LOW_PT, (at / PAGE) as usize));
        let page = pages.iter().find(|p| p.address == at);
        if now != page.map_or(Pte::EMPTY, |p| p.entry) {
            return Err(format!("{at:#x}: not the entry that was installed: {:#x}", now.0));
        }
        let Some(page) = page.filter(|p| ![STACKS, VECTOR_DATA].contains(&p.address)) else {
            continue;
        };
        let (mut now, mut then) = ([0; PAGE as usize], page.content.clone());
        then.resize(PAGE as usize, 0);
        if memory.read(at, 0, &mut now).is_err() || now[..] != then[..] {
            return Err(format!("{at:#x}: not the bytes that were installed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Mapping;

    #[test]
    fn task_segment_opens_one_port_only_where_the_stub_runs_in_ring_3() {
        for (entry, first) in [(Entry::Ring3, 0xfe), (Entry::Ring0, 0xff)] {
            let t = task_segment(entry);
            assert_eq!(t.len(), 0x168);
            assert_eq!(t[0x68], first);
            assert!(t[0x69..].iter().all(|b| *b == 0xff));
            assert_eq!(u16::from_le_bytes([t[0x66], t[0x67]]), 0x68);
        }
    }

    #[test]
    fn no_low_page_is_writable_and_executable_and_only_ring_3s_stub_is_the_users() {
        for entry in [Entry::Ring3, Entry::Ring0] {
            let mut m = Memory::new(Mapping::anonymous(1 << 20).unwrap());
            install(&mut m, entry).unwrap();
            let pages: Vec<Pte> = (0..512).map(|i| Pte(m.word(LOW_PT, i))).collect();
            assert!(
                pages
                    .iter()
                    .all(|p| !(p.is_present() && p.is_writable() && p.is_executable()))
            );
            let users: Vec<u64> = pages
                .iter()
                .filter(|p| p.is_present() && p.is_user())
                .map(|p| p.frame())
                .collect();
            let of_both = [VECTOR_STUB, VECTOR_DATA];
            assert_eq!(
                users,
                match entry {
                    Entry::Ring3 => [&[SYSCALL_STUB][..], &of_both].concat(),
                    Entry::Ring0 => of_both.to_vec(),
                }
            );
            for page in of_both {
                assert!(!Pte(m.word(LOW_PT, (page / PAGE) as usize)).is_writable());
            }
            for table in [0, PML4, LOW_PDPT, LOW_PD, LOW_PT] {
                assert!(
                    !pages[(table / PAGE) as usize].is_present(),
                    "tables are mapped nowhere"
                );
            }
        }
    }

    #[test]
    fn exception_stacks_do_not_overlap_and_match_the_stubs() {
        for vector in 0..32 {
            let top = STACKS + stack_of(vector) * STACK_SIZE;
            let low = stack_pointer_in_stub(vector);
            assert!(top - low == if has_error_code(vector) { 48 } else { 40 });
            assert!(low > top - STACK_SIZE && top <= RETURN_FRAME - 64);
        }
    }
}
