//! The vDSO: a shared object of one page that every program finds in memory, with the clock functions of `vdso.S`.
//!
//! The image is built here, field by field. glibc ignores a vDSO that has more than one PT_LOAD or one that is not at address 0. The symbols
//! have Linux's version: Go follows the table of versions without asking whether there is one.

use crate::machine::PAGE;

/// Where the clock page lies: right below the image, for `vdso.S` reaches it relative to its own code.
pub const CLOCK_PAGE: u64 = 0x7fff_f7ff_e000;
/// Where the image lies.
pub const IMAGE: u64 = CLOCK_PAGE + PAGE;

const HEADERS: usize = 64 + 2 * 56;
const CODE: usize = 0x400;
const SONAME: &str = "linux-vdso.so.1";
/// Bytes of a version's definition, and of the entry behind it that has its name.
const DEFINITION: u32 = 20;
const DEFINITION_NAME: u32 = 8;

/// The bytes of `vdso.S`; a test compares them with what the assembler makes of it.
#[rustfmt::skip]
const CODE_BYTES: [u8; 284] = [
    // clock_gettime, at 0x0
    0x4c, 0x8d, 0x05, 0xf9, 0xeb, 0xff, 0xff, 0x4d, 0x8b, 0x48, 0x18, 0x4d, 0x85, 0xc9, 0x74, 0x2f, 0x83, 0xff, 0x07, 0x77,
    0x2a, 0x4d, 0x8b, 0x10, 0xb8, 0xd2, 0x00, 0x00, 0x00, 0x0f, 0xa3, 0xf8, 0x72, 0x0e, 0x4d, 0x8b, 0x50, 0x08, 0xb8, 0x21,
    0x00, 0x00, 0x00, 0x0f, 0xa3, 0xf8, 0x73, 0x0f, 0xe8, 0xbb, 0x00, 0x00, 0x00, 0x48, 0x89, 0x06, 0x48, 0x89, 0x56, 0x08,
    0x31, 0xc0, 0xc3, 0xb8, 0xe4, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xc3, 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00,
    // gettimeofday, at 0x50
    0x4c, 0x8d, 0x05, 0xa9, 0xeb, 0xff, 0xff, 0x4d, 0x8b, 0x48, 0x18, 0x4d, 0x85, 0xc9, 0x74, 0x31, 0x48, 0x85, 0xff, 0x74,
    0x1d, 0x4d, 0x8b, 0x50, 0x08, 0xe8, 0x82, 0x00, 0x00, 0x00, 0x48, 0x89, 0x07, 0x48, 0x89, 0xd0, 0x31, 0xd2, 0xb9, 0xe8,
    0x03, 0x00, 0x00, 0x48, 0xf7, 0xf1, 0x48, 0x89, 0x47, 0x08, 0x48, 0x85, 0xf6, 0x74, 0x07, 0x48, 0xc7, 0x06, 0x00, 0x00,
    0x00, 0x00, 0x31, 0xc0, 0xc3, 0xb8, 0x60, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xc3, 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00,
    // time, at 0xa0
    0x4c, 0x8d, 0x05, 0x59, 0xeb, 0xff, 0xff, 0x4d, 0x8b, 0x48, 0x18, 0x4d, 0x85, 0xc9, 0x74, 0x12, 0x4d, 0x8b, 0x50, 0x08,
    0xe8, 0x37, 0x00, 0x00, 0x00, 0x48, 0x85, 0xff, 0x74, 0x03, 0x48, 0x89, 0x07, 0xc3, 0xb8, 0xc9, 0x00, 0x00, 0x00, 0x0f,
    0x05, 0xc3, 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00,
    // getcpu, at 0xd0
    0x31, 0xc0, 0x48, 0x85, 0xff, 0x74, 0x02, 0x89, 0x07, 0x48, 0x85, 0xf6, 0x74, 0x02, 0x89, 0x06, 0xc3, 0x66, 0x66, 0x2e,
    0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x1f, 0x40, 0x00,
    // now, at 0xf0
    0x0f, 0xae, 0xe8, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x31, 0xc9, 0x49, 0x2b, 0x40, 0x10, 0x48, 0x0f,
    0x42, 0xc1, 0x49, 0xf7, 0xe1, 0x48, 0x0f, 0xac, 0xd0, 0x20, 0x4c, 0x01, 0xd0, 0x31, 0xd2, 0xb9, 0x00, 0xca, 0x9a, 0x3b,
    0x48, 0xf7, 0xf1, 0xc3,
];

/// Function names with their offsets in the code.
const FUNCTIONS: [(&str, u64); 4] = [
    ("__vdso_clock_gettime", 0),
    ("__vdso_gettimeofday", 0x50),
    ("__vdso_time", 0xa0),
    ("__vdso_getcpu", 0xd0),
];

/// The version of all functions.
const VERSION: &str = "LINUX_2.6";
/// Its index; 1 is the object itself.
const VERSION_INDEX: u16 = 2;

/// The hash of a name as ELF has it.
fn elf_hash(name: &str) -> u32 {
    name.bytes().fold(0, |hash: u32, byte| {
        let sum = (hash << 4).wrapping_add(byte.into());
        let high = sum & 0xf000_0000;
        (sum ^ high >> 24) & !high
    })
}

fn words16(image: &mut Vec<u8>, words: &[u16]) {
    words.iter().for_each(|word| image.extend(word.to_le_bytes()));
}

fn words64(image: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| image.extend(word.to_le_bytes()));
}

fn words32(image: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| image.extend(word.to_le_bytes()));
}

/// The image: headers, symbols, strings, hash table, versions, dynamic section, code. Less than a page.
#[must_use]
pub fn image() -> Vec<u8> {
    let mut strings = vec![0_u8];
    let mut name = |text: &str| {
        let at = strings.len() as u64;
        strings.extend(text.bytes());
        strings.push(0);
        at
    };
    let soname = name(SONAME);
    let names = FUNCTIONS.map(|(function, _)| name(function));
    let version = name(VERSION);

    let symbols_at = HEADERS;
    let strings_at = symbols_at + 24 * (FUNCTIONS.len() + 1);
    let hash_at = (strings_at + strings.len()).next_multiple_of(8);
    let definitions_at = hash_at + 4 * (2 + 1 + 1 + FUNCTIONS.len());
    let indexes_at = definitions_at + 2 * (DEFINITION + DEFINITION_NAME) as usize;
    let dynamic_at = (indexes_at + 2 * (FUNCTIONS.len() + 1)).next_multiple_of(8);
    let dynamic = [
        [14, soname],
        [4, hash_at as u64],
        [5, strings_at as u64],
        [6, symbols_at as u64],
        [10, strings.len() as u64],
        [11, 24],
        [0x6fff_fff0, indexes_at as u64],
        [0x6fff_fffc, definitions_at as u64],
        [0x6fff_fffd, 2],
        [0, 0],
    ];
    let end = (CODE + CODE_BYTES.len()) as u64;

    let mut image = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    words32(&mut image, &[3 | 62 << 16, 1]);
    words64(&mut image, &[0, 64, 0]);
    words32(&mut image, &[0, 64 | 56 << 16, 2 | 64 << 16, 0]);
    words32(&mut image, &[1, 5]);
    words64(&mut image, &[0, 0, 0, end, end, PAGE]);
    words32(&mut image, &[2, 4]);
    let (at, length) = (dynamic_at as u64, size_of_val(&dynamic) as u64);
    words64(&mut image, &[at, at, at, length, length, 8]);
    debug_assert_eq!(image.len(), symbols_at);

    image.extend([0; 24]);
    for ((_, offset), name) in FUNCTIONS.into_iter().zip(names) {
        // A global function in section 1 (there are no sections; 0 would mean undefined).
        words32(&mut image, &[name as u32, 0x12 | 1 << 16]);
        words64(&mut image, &[CODE as u64 + offset, 16]);
    }
    image.extend(&strings);
    image.resize(hash_at, 0);
    // One bucket: all symbols in one chain.
    let count = FUNCTIONS.len() as u32;
    words32(&mut image, &[1, count + 1, 1, 0]);
    words32(&mut image, &[2, 3, 4, 0]);
    // The object's own definition (flag 1), then the functions'.
    let own = (1, 1, SONAME, soname, DEFINITION + DEFINITION_NAME);
    for (flags, index, text, name, next) in [own, (0, VERSION_INDEX, VERSION, version, 0)] {
        words16(&mut image, &[1, flags, index, 1]);
        words32(&mut image, &[elf_hash(text), DEFINITION, next]);
        words32(&mut image, &[name as u32, 0]);
    }
    words16(&mut image, &[0]);
    words16(&mut image, &[VERSION_INDEX; FUNCTIONS.len()]);
    image.resize(dynamic_at, 0);
    words64(&mut image, dynamic.as_flattened());
    debug_assert!(image.len() <= CODE);
    image.resize(CODE, 0);
    image.extend(CODE_BYTES);
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_is_a_program_with_one_segment_at_address_0() {
        let image = image();
        assert!(image.len() < PAGE as usize);
        let program = crate::image::elf::parse(&image).expect("a well-formed object");
        assert!(program.relocatable);
        assert_eq!((program.segments.len(), program.segments[0].address), (1, 0));
        assert_eq!(image[CODE..CODE + 4], [0x4c, 0x8d, 0x05, 0xf9]);
    }

    fn word(image: &[u8], at: usize, bytes: usize) -> usize {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&image[at..at + bytes]);
        u64::from_le_bytes(word) as usize
    }

    fn text(image: &[u8], at: usize) -> &str {
        let rest = &image[at..];
        let end = rest.iter().position(|&byte| byte == 0).expect("an end");
        std::str::from_utf8(&rest[..end]).expect("a name")
    }

    /// As Go's runtime looks for its functions (`vdsoFindVersion`): through the definitions, without asking whether there are any.
    #[test]
    fn every_function_has_the_version_of_linux() {
        let image = image();
        let at = word(&image, 64 + 56 + 8, 8);
        let entry = |tag: usize| {
            (0..16)
                .map(|i| at + i * 16)
                .find(|&at| word(&image, at, 8) == tag)
                .map(|at| word(&image, at + 8, 8))
        };
        let strings = entry(5).expect("strings");
        let mut definition = entry(0x6fff_fffc).expect("definitions of versions");
        let index = loop {
            let name = definition + word(&image, definition + 12, 4);
            let is_own = word(&image, definition + 2, 2) & 1 != 0;
            let hash = word(&image, definition + 8, 4);
            let found = text(&image, strings + word(&image, name, 4));
            if !is_own && (hash, found) == (0x3ae_75f6, "LINUX_2.6") {
                break word(&image, definition + 4, 2);
            }
            let next = word(&image, definition + 16, 4);
            assert!(next != 0, "the definitions end before LINUX_2.6");
            definition += next;
        };
        let indexes = entry(0x6fff_fff0).expect("versions of symbols");
        let symbols = entry(6).expect("symbols");
        for (at, (name, _)) in (1..).zip(FUNCTIONS) {
            assert_eq!(word(&image, indexes + 2 * at, 2), index, "{name}");
            assert_eq!(text(&image, strings + word(&image, symbols + 24 * at, 4)), name);
        }
    }

    #[test]
    fn code_bytes_are_what_the_assembler_makes_of_the_source() {
        let folder = std::env::temp_dir().join(format!("mayfly-vdso-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let object = folder.join("vdso.o");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/image/vdso.S");
        let status = std::process::Command::new("as")
            .arg("-o")
            .arg(&object)
            .arg(source)
            .status();
        let bytes = std::fs::read(&object);
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
        let Ok(status) = status else {
            println!("skipped: this machine has no assembler (as)");
            return;
        };
        assert!(status.success());
        let bytes = bytes.expect("an object file");
        assert!(
            bytes.windows(CODE_BYTES.len()).any(|window| window == CODE_BYTES),
            "vdso.S and CODE_BYTES differ"
        );
    }
}
