//! Sockets among the guest's threads, and between the guest and the host: names, options, and what a socket is before it is connected.
//!
//! A connected socket is a stream as a pipe is ([`crate::fs::files`]). Nothing here is a socket of the host's.

pub mod address;
pub mod netlink;
pub mod options;
pub mod permits;
pub mod socket;
