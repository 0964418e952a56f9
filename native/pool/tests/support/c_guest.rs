//! Guests in C: compiled once for each test program, and what to boot them with.

use std::process::Command;

use mayfly_pool::{Limits, Mount, Spec, library_mounts};

use super::support::PATIENCE;

/// Compiles `tests/FOLDER/guest.c` with a linkage; false, and a word about it, without a compiler.
pub fn compile(folder: &str, linkage: &str) -> bool {
    let source = format!("{}/tests/{folder}/guest.c", env!("CARGO_MANIFEST_DIR"));
    let flag = if linkage.is_empty() { "-pie" } else { linkage };
    let status = Command::new("cc")
        .args([
            "-O1",
            "-w",
            flag,
            "-o",
            &compiled(folder, linkage),
            &source,
            "-lpthread",
        ])
        .status();
    match status {
        Ok(status) => {
            assert!(status.success(), "{source} does not compile with {flag}");
            true
        }
        Err(_) => {
            eprintln!("SKIPPED: no C compiler: install gcc and libc6-dev");
            false
        }
    }
}

/// Where [`compile`] puts the program.
pub fn compiled(folder: &str, linkage: &str) -> String {
    format!("{}/{folder}-guest{linkage}", env!("CARGO_TARGET_TMPDIR"))
}

pub fn spec(path: &str) -> Spec {
    let mut mounts = library_mounts(path.as_ref());
    mounts.push(Mount::host("/program", path));
    Spec {
        path: "/program".into(),
        arguments: vec!["program".into()],
        mounts,
        folder: "/".into(),
        writable: Some("/tmp".into()),
        limits: Limits {
            memory_bytes: 96 << 20,
            output_bytes: 1 << 20,
            boot_ns: PATIENCE,
            ..Limits::default()
        },
        ..Spec::default()
    }
}
