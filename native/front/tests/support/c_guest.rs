//! What tests of the front begin with: KVM of the host, a folder, and a guest of C in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use mayfly_vmm::Host;

/// KVM of the host; none, and a word about it, where there is none.
pub fn host() -> Option<Host> {
    match Host::open() {
        Ok(host) => Some(host),
        Err(mayfly_vmm::Error::Unavailable(why)) => {
            println!("SKIPPED: {}; {}", why.reason, why.hint);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// A new folder of this process, whose name begins so.
pub fn new_folder(name: &str) -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).expect("a folder");
    path
}

/// Compiles `tests/SOURCE.c`; false, and a word about it, without a compiler.
pub fn compile(source: &str, program: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{source}.c"));
    let built = Command::new("gcc")
        .args(["-O1", "-w", "-static", "-o"])
        .arg(program)
        .arg(source)
        .status();
    match built {
        Ok(status) => assert!(status.success()),
        Err(_) => println!("SKIPPED: gcc is missing"),
    }
    built.is_ok()
}
