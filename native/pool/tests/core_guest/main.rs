//! The small guest as a base. Skipped aloud without `/dev/kvm`, or where it was not built: the environment's `MAYFLY_GUEST_CORE`, else what
//! `cargo build --release` makes in `native/guest-core`.

#[path = "../support/apart.rs"]
mod apart;
#[path = "../support/rounds.rs"]
mod rounds;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "one test asks by its own means")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use apart::Apart;
use mayfly_pool::{Limits, Load, Mount, Program, Spec, WarmupRequest};
use support::{PATIENCE, frame, host};

const BUILT: &str = "../guest-core/target/x86_64-unknown-linux-gnu/release/guest-core";
const LOAD: &str = "{\"name\":\"/program.js\"}";
/// What the guest runs; the surface is the framework's to make, and empty here.
const FILES: [(&str, &str); 2] = [
    ("/surface.js", ""),
    ("/bootstrap.js", include_str!("bootstrap.js")),
];
/// The program, which keeps a secret from its start.
const PROGRAM: &str = include_str!("guest.js");
const WARM: [&str; 4] = ["hello", "hello", "hello", "settle"];
/// A hello behind that warm-up.
const CLEAN: &str = "4 101 undefined";

fn guest() -> Option<PathBuf> {
    let path = match std::env::var_os("MAYFLY_GUEST_CORE") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(BUILT),
    };
    if path.is_file() {
        return Some(path);
    }
    eprintln!(
        "SKIPPED: no small guest at {}: build native/guest-core, or set MAYFLY_GUEST_CORE",
        path.display()
    );
    None
}

fn limits() -> Limits {
    Limits {
        memory_bytes: 64 << 20,
        output_bytes: 1 << 20,
        boot_ns: PATIENCE,
        ..Limits::default()
    }
}

/// Which blocks of the heap requests write to, as the guest itself finds it out.
fn layout(guest: &Path) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("mayfly-core-guest-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let frames: Vec<u8> = [LOAD, "hello", "hello", "hello"]
        .iter()
        .flat_map(|what| frame(what, b""))
        .collect();
    for (name, text) in FILES.iter().chain(&[("/program.js", PROGRAM)]) {
        std::fs::write(folder.join(&name[1..]), text).unwrap();
    }
    let list = folder.join("frames");
    std::fs::write(&list, frames).unwrap();
    let output = Command::new(guest)
        .arg("--trace")
        .args([&folder, &list])
        .args(FILES.map(|(name, _)| name))
        .env_clear()
        .stdin(Stdio::null())
        .output();
    std::fs::remove_dir_all(&folder).unwrap();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !output.stdout.is_empty(),
        "no layout: {said}"
    );
    output.stdout
}

/// The guest, waiting for a program.
fn base() -> Option<Arc<Program>> {
    let (host, guest) = (host()?, guest()?);
    let mut mounts = vec![
        Mount::bytes("/layout", layout(&guest)),
        Mount::host("/guest-core", guest),
    ];
    mounts.extend(FILES.map(|(name, text)| Mount::bytes(name, text)));
    let spec = Spec {
        path: "/guest-core".into(),
        arguments: ["guest-core", "/surface.js", "/bootstrap.js", "/layout"]
            .map(str::to_owned)
            .to_vec(),
        mounts,
        folder: "/".into(),
        limits: limits(),
        ..Spec::default()
    };
    Some(Arc::new(Program::boot(&host, &spec, &mut |_| None).unwrap()))
}

fn load(base: &Arc<Program>, secret: &str) -> Arc<Program> {
    let load = Load {
        mounts: vec![Mount::bytes("/program.js", PROGRAM.replace("SECRET", secret))],
        frame: frame(LOAD, b""),
        limits: limits(),
        ..Load::default()
    };
    let mut warm = WARM.iter().map(|what| WarmupRequest::new(frame(what, b"")));
    Arc::new(Program::load(base, &load, &mut |_| warm.next()).unwrap())
}

#[test]
fn programs_of_one_base_keep_their_secrets_from_each_other() {
    let Some(base) = base() else { return };
    let load = |secret: &str| load(&base, secret);
    Apart {
        base: &base,
        load: &load,
        asks: &[("hello", CLEAN)],
    }
    .prove();
}
