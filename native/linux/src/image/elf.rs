//! Reading an ELF64 program for x86-64: headers to plain values, every field checked.
//!
//! [`parse`] takes hostile bytes: it never panics, allocates at most one entry per program header, and gives ranges that lie within the
//! file and below [`USER_END`]. Mapping them is [`crate::kernel::exec`]'s work.

use std::fmt;

use crate::machine::{PAGE, Protection, USER_END, USER_START};

/// No program has more program headers than this.
const HEADERS_MAX: u16 = 64;
/// Longest path of an interpreter.
const INTERPRETER_MAX: u64 = 4096;
/// Highest address a program may ask for (its load bias comes on top).
const ADDRESS_MAX: u64 = 1 << 46;

/// One PT_LOAD segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it starts in memory, before the load bias.
    pub address: u64,
    /// Where it starts in the file; congruent to `address` modulo the page size.
    pub offset: u64,
    /// Bytes that come from the file.
    pub file_bytes: u64,
    /// Bytes in memory; what is beyond `file_bytes` is zero.
    pub memory_bytes: u64,
    /// Access of ring 3.
    pub protection: Protection,
}

/// A program as its headers describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Whether it may be loaded at any address (ET_DYN).
    pub relocatable: bool,
    /// The first instruction, before the load bias.
    pub entry: u64,
    /// Where its program headers lie in memory, before the load bias; 0 when no segment holds them.
    pub headers_address: u64,
    /// How many program headers there are.
    pub header_count: u64,
    /// Segments by ascending address; none overlap.
    pub segments: Vec<Segment>,
    /// Path of the interpreter (PT_INTERP), without its NUL.
    pub interpreter: Option<Vec<u8>>,
    /// Whether the stack asks to be executable (PT_GNU_STACK).
    pub executable_stack: bool,
}

/// Why bytes are not a program that can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfError {
    what: &'static str,
    found: u64,
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading an ELF program: {} is {:#x}", self.what, self.found)
    }
}

impl std::error::Error for ElfError {}

fn bad<T>(what: &'static str, found: u64) -> Result<T, ElfError> {
    Err(ElfError { what, found })
}

/// Little-endian fields at an offset of a slice; absent ones are an error, never a panic.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&self, offset: u64) -> Result<[u8; N], ElfError> {
        usize::try_from(offset)
            .ok()
            .and_then(|start| self.0.get(start..)?.first_chunk().copied())
            .ok_or(ElfError {
                what: "a field beyond the end of the file, at offset",
                found: offset,
            })
    }
    fn u16(&self, offset: u64) -> Result<u16, ElfError> {
        self.array(offset).map(u16::from_le_bytes)
    }
    fn u32(&self, offset: u64) -> Result<u32, ElfError> {
        self.array(offset).map(u32::from_le_bytes)
    }
    fn u64(&self, offset: u64) -> Result<u64, ElfError> {
        self.array(offset).map(u64::from_le_bytes)
    }
}

/// Reads the headers of an ELF64 program.
///
/// # Errors
/// The first field that is not as an x86-64 Linux program has it, with its value.
pub fn parse(file: &[u8]) -> Result<Program, ElfError> {
    let reader = Reader(file);
    let length = file.len() as u64;
    let ident: [u8; 8] = reader.array(0)?;
    if ident[..7] != [0x7f, b'E', b'L', b'F', 2, 1, 1] {
        return bad("the identification", u64::from_be_bytes(ident));
    }
    let relocatable = match reader.u16(16)? {
        2 => false,
        3 => true,
        other => return bad("the file type", other.into()),
    };
    match reader.u16(18)? {
        62 => {}
        other => return bad("the machine", other.into()),
    }
    let (entry, table) = (reader.u64(24)?, reader.u64(32)?);
    match reader.u16(54)? {
        56 => {}
        other => return bad("the size of a program header", other.into()),
    }
    let count = reader.u16(56)?;
    if count == 0 || count > HEADERS_MAX {
        return bad("the number of program headers", count.into());
    }
    if table
        .checked_add(u64::from(count) * 56)
        .is_none_or(|end| end > length)
    {
        return bad("the offset of the program headers", table);
    }
    if entry >= ADDRESS_MAX {
        return bad("the entry point", entry);
    }

    let mut program = Program {
        relocatable,
        entry,
        headers_address: 0,
        header_count: count.into(),
        segments: Vec::new(),
        interpreter: None,
        executable_stack: false,
    };
    for index in 0..u64::from(count) {
        let at = table + index * 56;
        match reader.u32(at)? {
            1 => load_segment(&reader, at, length, &mut program)?,
            3 => program.interpreter = Some(interpreter(&reader, at, file)?),
            0x6474_e551 => program.executable_stack = reader.u32(at + 4)? & 1 != 0,
            _ => {}
        }
    }
    let (Some(first), Some(last)) = (program.segments.first(), program.segments.last()) else {
        return bad("the number of segments to load", 0);
    };
    if !relocatable && first.address < USER_START {
        return bad("the lowest segment's address", first.address);
    }
    if last.address + last.memory_bytes > USER_END {
        return bad("the highest segment's address", last.address);
    }
    program.headers_address = program
        .segments
        .iter()
        .find(|s| s.offset <= table && table + u64::from(count) * 56 <= s.offset + s.file_bytes)
        .map_or(0, |s| s.address + (table - s.offset));
    Ok(program)
}

fn load_segment(reader: &Reader<'_>, at: u64, length: u64, program: &mut Program) -> Result<(), ElfError> {
    let flags = reader.u32(at + 4)?;
    let (offset, address) = (reader.u64(at + 8)?, reader.u64(at + 16)?);
    let (file_bytes, memory_bytes) = (reader.u64(at + 32)?, reader.u64(at + 40)?);
    if memory_bytes == 0 {
        return Ok(());
    }
    if offset.checked_add(file_bytes).is_none_or(|end| end > length) {
        return bad("a segment's end beyond the file, its offset", offset);
    }
    if file_bytes > memory_bytes {
        return bad("a segment's size in the file, more than in memory,", file_bytes);
    }
    if address
        .checked_add(memory_bytes)
        .is_none_or(|end| end > ADDRESS_MAX)
    {
        return bad("a segment's address", address);
    }
    if offset % PAGE != address % PAGE {
        return bad("a segment's offset, not congruent to its address,", offset);
    }
    if let Some(last) = program.segments.last() {
        let last_end = (last.address + last.memory_bytes).next_multiple_of(PAGE);
        if address - address % PAGE < last_end {
            return bad("a segment's address, in a page of the one before,", address);
        }
    }
    let protection = Protection {
        read: flags & 4 != 0,
        write: flags & 2 != 0,
        execute: flags & 1 != 0,
    };
    program.segments.push(Segment {
        address,
        offset,
        file_bytes,
        memory_bytes,
        protection,
    });
    Ok(())
}

fn interpreter(reader: &Reader<'_>, at: u64, file: &[u8]) -> Result<Vec<u8>, ElfError> {
    let (offset, bytes) = (reader.u64(at + 8)?, reader.u64(at + 32)?);
    if !(2..=INTERPRETER_MAX).contains(&bytes) {
        return bad("the length of the interpreter's path", bytes);
    }
    let path = usize::try_from(offset)
        .ok()
        .and_then(|start| file.get(start..)?.get(..bytes as usize))
        .ok_or(ElfError {
            what: "the offset of the interpreter's path",
            found: offset,
        })?;
    match path.split_last() {
        Some((0, path)) if !path.contains(&0) => Ok(path.to_vec()),
        _ => bad(
            "the last byte of the interpreter's path, not its only NUL,",
            path[path.len() - 1].into(),
        ),
    }
}

impl Program {
    /// Lowest page address and end of the last page, before the load bias.
    #[must_use]
    pub fn extent(&self) -> (u64, u64) {
        let start = self.segments.first().map_or(0, |s| s.address - s.address % PAGE);
        let end = self
            .segments
            .last()
            .map_or(0, |s| (s.address + s.memory_bytes).next_multiple_of(PAGE));
        (start, end)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A program with one read-execute segment that holds the whole file, its code after the headers, and (for `data`) a writable one.
    pub(crate) fn tiny(kind: u16, address: u64, code: &[u8], bss: u64) -> Vec<u8> {
        let headers = 64 + 2 * 56;
        let total = (headers + code.len()) as u64;
        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        file.extend(kind.to_le_bytes());
        file.extend(62_u16.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend((address + headers as u64).to_le_bytes());
        file.extend(64_u64.to_le_bytes());
        file.extend([0; 8 + 4]);
        for value in [64_u16, 56, 2, 0, 0, 0] {
            file.extend(value.to_le_bytes());
        }
        let segments = [
            (1_u32, 5_u32, 0, address, total, total),
            (1, 6, 0, address + 0x10_000, 16, 16 + bss),
        ];
        for (kind, flags, offset, address, file_bytes, memory_bytes) in segments {
            file.extend(kind.to_le_bytes());
            file.extend(flags.to_le_bytes());
            for value in [offset, address, address, file_bytes, memory_bytes, PAGE] {
                file.extend(u64::to_le_bytes(value));
            }
        }
        file.extend(code);
        file
    }

    #[test]
    fn parse_reads_a_small_program() {
        let file = tiny(2, 0x40_0000, &[0x0f, 0x05], 5000);
        let program = parse(&file).expect("a well-formed program");
        assert!(!program.relocatable);
        assert_eq!(program.entry, 0x40_0000 + 176);
        assert_eq!(program.headers_address, 0x40_0040);
        assert_eq!(program.segments.len(), 2);
        assert_eq!(program.segments[1].protection, Protection::READ_WRITE);
        assert_eq!(program.extent(), (0x40_0000, 0x41_2000));
        assert_eq!(
            parse(&tiny(2, 0x1000, &[], 0)).expect_err("too low").what,
            "the lowest segment's address"
        );
    }

    #[test]
    fn parse_reads_the_interpreter_of_a_real_program_when_there_is_one() {
        let Ok(file) = std::fs::read("/bin/sh") else {
            println!("skipped: this machine has no /bin/sh");
            return;
        };
        let program = parse(&file).expect("a real program");
        let interpreter = program.interpreter.expect("a dynamic program");
        assert!(interpreter.starts_with(b"/lib"), "{interpreter:?}");
    }

    #[test]
    fn parse_refuses_every_truncation() {
        let file = tiny(3, 0, &[1, 2, 3], 0);
        for length in 0..file.len() {
            assert!(parse(&file[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn parse_of_changed_bytes_never_panics_and_keeps_its_promises() {
        let file = tiny(3, 0, &[1, 2, 3], 5000);
        let mut rng = crate::test_rng::TestRng::new(99);
        let mut next = move || rng.next();
        for _ in 0..100_000 {
            let mut bad = file.clone();
            for _ in 0..1 + next() % 4 {
                let at = next() as usize % bad.len();
                bad[at] = [0, 1, 0x7f, 0x80, 0xff, next() as u8][next() as usize % 6];
            }
            let Ok(program) = parse(&bad) else { continue };
            let mut end = 0;
            for segment in &program.segments {
                assert!(segment.address >= end && segment.memory_bytes >= segment.file_bytes);
                assert!(segment.offset + segment.file_bytes <= bad.len() as u64);
                end = segment.address + segment.memory_bytes;
            }
            assert!(end <= USER_END && program.extent().1 >= end);
        }
    }
}
