//! Files: descriptors and what they refer to, the tree of names, what the host lends and grants.

pub mod blocks;
pub mod files;
pub mod granted;
pub mod host_file;
pub mod stdio;
pub mod vfs;
