//! A Linux personality in plain Rust data.
#![forbid(unsafe_code)]

pub mod action;
pub mod calls;
pub mod clock;
mod delivery;
pub mod elf;
pub mod errno;
pub mod exec;
pub mod files;
#[cfg(test)]
mod guest_tests;
pub mod host_file;
pub mod kernel;
pub mod limits;
pub mod machine;
pub mod mock;
pub mod random;
mod schedule;
pub mod signal;
pub mod space;
pub mod stdio;
pub mod threads;
pub mod tracked;
pub mod vdso;
pub mod vfs;
pub mod vma;
