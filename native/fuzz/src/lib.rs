//! What is fuzzed: one function of bytes for each target. It panics when a promise is broken.
//!
//! libFuzzer calls these functions from the workspace in `libfuzzer/`; `tests/replay.rs` calls them with the inputs that were worth
//! keeping, in every `cargo test`. Nothing here needs `/dev/kvm`.

pub mod calls;
pub mod elf;
mod input;
mod meter;
pub mod paths;
mod program;
pub mod walker;
pub mod wire;

use input::Input;

/// A target: its name, which is that of its folders in `seeds` and `regressions`, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 6] = [
    ("calls", calls::run),
    ("elf", elf::run),
    ("paths", paths::run),
    ("stored", calls::stored::run),
    ("walker", walker::run),
    ("wire", wire::run),
];
