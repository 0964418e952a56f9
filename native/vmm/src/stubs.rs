//! What lies in the low 64 KiB: descriptor tables, the task segment, and the few instructions of ring 0.
//!
//! No stub reads or writes memory at a user's address, and none uses a user's stack.

use crate::error::Result;
use crate::layout::*;
use crate::memory::Memory;
use crate::probe::Entry;
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

/// Checks that all of it is as installed, but for the stacks, and that nothing else is mapped below user space.
pub(crate) fn audit(memory: &Memory, entry: Entry) -> std::result::Result<(), String> {
    let pages = pages(entry);
    for at in (0..USER_START).step_by(PAGE as usize) {
        let now = Pte(memory.word(LOW_PT, (at / PAGE) as usize));
        let page = pages.iter().find(|p| p.address == at);
        if now != page.map_or(Pte::EMPTY, |p| p.entry) {
            return Err(format!("{at:#x}: not the entry that was installed: {:#x}", now.0));
        }
        let Some(page) = page.filter(|p| p.address != STACKS) else {
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
            assert_eq!(
                users,
                if entry == Entry::Ring3 {
                    vec![SYSCALL_STUB]
                } else {
                    vec![]
                }
            );
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
