//! What is laid into memory when a program starts.

pub mod elf;
pub mod vdso;
