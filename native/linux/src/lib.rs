//! A Linux personality in plain Rust data.
#![forbid(unsafe_code)]

pub mod machine;
