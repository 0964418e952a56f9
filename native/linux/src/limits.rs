//! Bounds on what a guest may use, and what it did use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use mayfly_abi::limits::{DESCRIPTORS_DEFAULT, MAPPINGS_MAX, THREADS_DEFAULT};

/// Bounds on one guest. Each is tested at the limit, one below and one above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Most open descriptors.
    pub descriptors: usize,
    /// Most threads.
    pub threads: usize,
    /// Most mappings.
    pub mappings: usize,
    /// Most bytes of address space, touched or not.
    pub reserved_bytes: u64,
    /// Most bytes in files that the guest made.
    pub file_bytes: u64,
    /// Most files, directories and links, mounts included.
    pub file_nodes: usize,
    /// Most bytes in pipes, sockets and opened texts of `/proc`. Like all that the host holds for the guest they count against its
    /// memory as well: see [`crate::state::account`].
    pub held_bytes: usize,
    /// Most sockets that have names, connections that wait to be accepted included. 0: the guest has none.
    pub sockets: usize,
    /// Most bytes on fd 1 for one request.
    pub output_bytes: usize,
    /// Most bytes on fd 2 that are kept for one request.
    pub log_bytes: usize,
    /// Most system calls for one request, the boot being one; [`crate::kernel::Kernel::limit_calls`] sets it later.
    pub calls: u64,
    /// Pages mapped at once when one is touched.
    pub fault_around: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            descriptors: DESCRIPTORS_DEFAULT as usize,
            threads: THREADS_DEFAULT as usize,
            mappings: MAPPINGS_MAX as usize,
            reserved_bytes: 1 << 42,
            file_bytes: 16 << 20,
            file_nodes: 32_768,
            held_bytes: 16 << 20,
            sockets: 0,
            output_bytes: 64 << 20,
            log_bytes: 1 << 20,
            calls: u64::MAX,
            fault_around: 16,
        }
    }
}

/// Which limit a guest went over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on fd 1.
    Output,
    /// System calls.
    Calls,
}

/// Counts since the kernel was made. They are no state of the guest: a reset leaves them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// System calls.
    pub calls: u64,
    /// Page faults served.
    pub faults: u64,
    /// Switches from one thread to another.
    pub switches: u64,
    /// Signals delivered to a handler.
    pub signals: u64,
    /// System calls that this personality does not know, by number. At most 512 numbers are told apart.
    pub unknown: BTreeMap<u64, u64>,
}

impl Statistics {
    /// Counts a call that is not known.
    pub fn count_unknown(&mut self, number: u64) {
        if self.unknown.len() < 512 || self.unknown.contains_key(&number) {
            *self.unknown.entry(number).or_default() += 1;
        }
    }
}
