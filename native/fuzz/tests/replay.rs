//! Gives every kept input to its target, without libFuzzer: the seeds, and the inputs that once found a bug.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mayfly_fuzz::TARGETS;

fn replay(name: &str) {
    let (_, run) = TARGETS
        .into_iter()
        .find(|target| target.0 == name)
        .expect("a target");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !here.join("seeds").is_dir() {
        println!("SKIPPED: {name}: no inputs here (an emulated machine carries the programs alone)");
        return;
    }
    let (mut broken, mut count) = (Vec::new(), 0);
    for kind in ["seeds", "regressions"] {
        let folder = here.join(kind).join(name);
        // A target that never failed has no regressions.
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            let bytes = fs::read(&path).expect("a file");
            count += 1;
            if catch_unwind(AssertUnwindSafe(|| run(&bytes))).is_err() {
                broken.push(path);
            }
        }
    }
    run(&[]);
    println!("{count} inputs");
    assert!(count > 0, "no input for {name}");
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn calls() {
    replay("calls");
}

#[test]
fn elf() {
    replay("elf");
}

#[test]
fn paths() {
    replay("paths");
}

#[test]
fn stored() {
    replay("stored");
}

#[test]
fn walker() {
    replay("walker");
}

#[test]
fn wire() {
    replay("wire");
}

#[test]
fn every_target_is_replayed() {
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.0).collect();
    names.dedup();
    assert_eq!(names, ["calls", "elf", "paths", "stored", "walker", "wire"]);
}
