//! Gives the build a mark of its sources: a snapshot's file is of use to the build that wrote it alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let native = Path::new("..");
    let mut files = BTreeSet::from([native.join("Cargo.lock")]);
    for part in ["abi", "linux", "pool", "vmm", "wire"] {
        add(&native.join(part).join("src"), &mut files);
    }
    // FNV-1a, of 64 bits: it tells builds apart, no more.
    let mut mark = 0xcbf2_9ce4_8422_2325_u64;
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        let content = fs::read(file).unwrap_or_default();
        for byte in file.as_os_str().as_encoded_bytes().iter().chain(&content) {
            mark = (mark ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=MAYFLY_BUILD={mark:016x}");
}

fn add(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            add(&path, files);
        } else {
            files.insert(path);
        }
    }
}
