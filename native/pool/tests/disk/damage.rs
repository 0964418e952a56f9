//! Files that are cut, damaged, foreign, or written by somebody who means harm and knows the format.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use mayfly_pool::{DiskError, Program};
use mayfly_vmm::Host;
use xxhash_rust::xxh3::xxh3_128;

use super::support::{Client, frame};
use super::{Folder, open, refusal, saved};

const PAGE: usize = 4096;

/// Damages that must be refused.
const FLIPS: u64 = 10_000;
/// Changes whose checksums fit.
const CHANGES: u64 = 250;
/// How long a request may run in a machine of a changed file, in nanoseconds.
const SOON: u64 = 5_000_000;

/// Numbers that look random and are the same in each run (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % end
    }
}

/// The sections of a file: start and length.
fn sections(bytes: &[u8]) -> Vec<(usize, usize)> {
    let count = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let mut start = PAGE;
    let lengths = (0..count).map(|i| u64::from_le_bytes(bytes[16 + 24 * i..][..8].try_into().unwrap()));
    lengths
        .map(|length| {
            let this = (start, length as usize);
            start += this.1.next_multiple_of(PAGE);
            this
        })
        .collect()
}

/// Makes all checksums fit.
fn reseal(bytes: &mut [u8]) {
    for (i, (start, length)) in sections(bytes).into_iter().enumerate() {
        let sum = xxh3_128(&bytes[start..start + length.next_multiple_of(PAGE)]);
        bytes[24 + 24 * i..][..16].copy_from_slice(&sum.to_le_bytes());
    }
    let seal = xxh3_128(&bytes[..PAGE - 16]);
    bytes[PAGE - 16..PAGE].copy_from_slice(&seal.to_le_bytes());
}

#[test]
fn every_flipped_bit_is_refused() {
    let folder = Folder::new();
    let Some((host, path)) = saved(&folder) else {
        return;
    };
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let (length, mut numbers) = (file.metadata().unwrap().len(), Numbers(1));
    for round in 0..FLIPS {
        // Each other one in the header or in the small sections.
        let end = if round % 2 == 0 { length } else { 64 << 10 };
        let (at, bit) = (numbers.below(end.min(length)), numbers.below(8));
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1 << bit], at).unwrap();
        assert!(!refusal(&host, &path).is_empty());
        file.write_all_at(&byte, at).unwrap();
    }
    assert!(open(&host, &path).is_ok());
}

#[test]
fn every_cut_is_refused() {
    let folder = Folder::new();
    let Some((host, path)) = saved(&folder) else {
        return;
    };
    let whole = fs::read(&path).unwrap();
    let ends = sections(&whole).into_iter().map(|(start, length)| start + length);
    let mut numbers = Numbers(2);
    let some = (0..50).map(|_| numbers.below(whole.len() as u64) as usize);
    for end in [0, 1, 15, PAGE - 1, PAGE, whole.len() - 1]
        .into_iter()
        .chain(ends)
        .chain(some)
    {
        if end < whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert!(refusal(&host, &path).contains("bytes, want"), "{end}");
        }
    }
    fs::write(&path, [&whole[..], &[0; PAGE]].concat()).unwrap();
    assert!(refusal(&host, &path).contains("bytes, want"));
}

/// The file with one text of it changed for another of equal length, and checksums that fit.
fn with_other(whole: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = bytes.windows(from.len()).position(|text| text == from.as_bytes());
    bytes[at.expect("the text")..][..to.len()].copy_from_slice(to.as_bytes());
    reseal(&mut bytes);
    bytes
}

#[test]
fn another_version_build_and_cpu_are_refused_with_the_reason() {
    let folder = Folder::new();
    let Some((host, path)) = saved(&folder) else {
        return;
    };
    let whole = fs::read(&path).unwrap();
    let mut other = whole.clone();
    other[8] += 1;
    reseal(&mut other);
    fs::write(&path, &other).unwrap();
    assert_eq!(refusal(&host, &path), "its format has the version 2, want 1");
    let build = concat!(env!("CARGO_PKG_VERSION"), "-");
    fs::write(&path, with_other(&whole, build, "9.9.9-")).unwrap();
    let why = refusal(&host, &path);
    assert!(why.starts_with("it was made by the build 9.9.9-"), "{why}");
    // The CPU's name, as the kernel tells it.
    let info = fs::read_to_string("/proc/cpuinfo").unwrap();
    let name = info.lines().find_map(|line| line.strip_prefix("model name\t: "));
    if let Some(name) = name
        .map(str::trim)
        .filter(|name| name.len() > 4 && !name.contains("  "))
    {
        fs::write(&path, with_other(&whole, &name[..4], "Z80 ")).unwrap();
        let why = refusal(&host, &path);
        assert!(why.contains("made on the CPU \"Z80 "), "{why}");
    }
    // One feature less.
    let (start, length) = sections(&whole)[0];
    let mut refused = 0;
    for at in start..start + length {
        let mut other = whole.clone();
        other[at] ^= 1;
        reseal(&mut other);
        fs::write(&path, &other).unwrap();
        refused += usize::from(open(&host, &path).is_err());
    }
    assert_eq!(refused, length, "each byte of the facts counts");
    fs::write(&path, &whole).unwrap();
    assert!(open(&host, &path).is_ok());
}

/// Runs what came of a changed file, if anything came.
fn try_out(program: &Arc<Program>) {
    // A machine that fails is lost, and no more.
    let Ok(instance) = mayfly_pool::Instance::new(program) else {
        return;
    };
    let mut client = Client::of(instance);
    for what in ["look", "random", "file /lent"] {
        if client.run(frame(what, b""), SOON).is_err() || client.instance.reset().is_err() {
            return;
        }
    }
}

#[test]
fn a_file_that_fits_its_checksums_is_still_not_believed() {
    let folder = Folder::new();
    let Some((host, path)) = saved(&folder) else {
        return;
    };
    let whole = fs::read(&path).unwrap();
    let places = sections(&whole);
    let (mut numbers, mut opened) = (Numbers(3), 0);
    for round in 0..CHANGES {
        let mut bytes = whole.clone();
        // All sections but the facts, the memory one time in four: most of it is the program's own.
        let (start, length) = match round % 8 {
            0..=3 => places[5],
            4 => places[1 + numbers.below(3) as usize],
            5 => places[6],
            _ => places[7],
        };
        for _ in 0..=numbers.below(3) {
            let at = start + numbers.below(length.max(1) as u64) as usize;
            bytes[at] = match numbers.below(3) {
                0 => bytes[at] ^ 1 << numbers.below(8),
                1 => [0, 1, 0x7f, 0x80, 0xff][numbers.below(5) as usize],
                _ => numbers.below(256) as u8,
            };
        }
        reseal(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        match open(&host, &path) {
            Ok((program, _)) => {
                opened += 1;
                try_out(&program);
            }
            Err(DiskError::Refused { .. } | DiskError::File { .. }) => {}
            Err(DiskError::Machine(e)) => assert!(e.to_string().contains("memory"), "{round}: {e}"),
        }
    }
    assert!(opened > 0, "no change was one of a program's own bytes");
    reopened(&host, &path, &whole);
}

/// After all that a good file is as good as before.
fn reopened(host: &Arc<Host>, path: &Path, whole: &[u8]) {
    fs::write(path, whole).unwrap();
    let (program, _) = open(host, path).unwrap();
    assert_eq!(super::text(&Client::new(&program).ask("look")), "all there");
}
