//! A Linux personality in plain Rust data.
#![forbid(unsafe_code)]

pub mod clock;
pub mod elf;
pub mod errno;
pub mod host_file;
pub mod machine;
pub mod mock;
pub mod random;
pub mod space;
pub mod tracked;
pub mod vdso;
pub mod vma;
