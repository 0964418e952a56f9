//! The program's address space: mappings, and the pages of the machine behind them.

pub mod space;
pub mod vma;
