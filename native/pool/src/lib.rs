//! Programs in virtual machines.

mod machine;

pub use machine::Guest;
