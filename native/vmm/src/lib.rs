//! One KVM virtual machine without a guest kernel.
//!
//! Ring 3 of the guest runs an unmodified program; ring 0 is a few hundred bytes of stubs that leave the guest by one port
//! write. This crate knows memory, page tables, the vCPU, its exits, snapshot, fork and reset. It knows nothing of Linux:
//! what a system call means is its caller's affair.
//!
//! ```text
//! Host::open ── probes ──> Flavour
//!    │
//! Vm::new ── map pages, set registers, run ──> Vm::snapshot ──> Snapshot (sealed memfd, registers)
//!                                                              │
//!                   Snapshot::fork ── run ── Vm::reset ── run ── Vm::reset ...
//!                   Snapshot::derive ── run ──> Vm::snapshot ──> Snapshot (what differs, over the other's memfd)
//! ```
//!
//! Life of guest memory: a machine that boots writes a memfd. `snapshot` seals it. A fork maps it privately, so the host
//! kernel copies a page when it is first written; `reset` copies those pages back. Page tables are guest memory too, but only
//! this crate writes them: they are rewound entry by entry (see [`Space::rewind`]).

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("mayfly-vmm needs Linux on x86-64");

mod ahead;
mod alarm;
mod backing;
mod dirty;
mod error;
mod flavour;
mod frames;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod host;
mod host_facts;
mod host_resources;
mod layout;
mod memory;
mod probe;
mod pte;
mod snapshot;
mod space;
mod step;
mod stored;
mod stubs;
mod sys;
mod vcpu;
mod vm;

pub use alarm::Alarm;
pub use dirty::page_map_descriptor;
pub use error::{Error, Result, Survival, Unavailable};
pub use flavour::{Entry, Flavour, Flush};
pub use host::Host;
pub use host_facts::HostFacts;
pub use host_resources::HostResources;
pub use layout::{PAGE, USER_END, USER_START};
pub use memory::{FileId, HostFile};
pub use pte::Protection;
pub use snapshot::Snapshot;
pub use space::{Access, Backing, PageFault, Space};
#[cfg(feature = "mutations")]
pub use step::ResetStep;
pub use stored::{MappedPage, Refused, StoredMachine};
pub use sys::{monotonic_ns, thread_cpu_ns, thread_sleeps};
pub use vcpu::{CpuState, Exception, Exit, Registers, XsaveArea};
#[cfg(feature = "mutations")]
pub use vm::Unreachable;
pub use vm::{Away, ResetReport, Vm};
