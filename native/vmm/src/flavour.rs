//! How a host's KVM behaves. `probe` finds it out.

/// Where `syscall` arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// In ring 0: AMD-V and VT-x. The stub returns by `sysretq`.
    Ring0,
    /// It stays in ring 3: PVM. The stub is a page that the program may execute, and RIP is checked at every exit.
    Ring3,
}

/// What makes KVM see a page-table entry that the host changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// A reload of CR3 in the guest: nested paging.
    ReloadCr3,
    /// Only the host's MMU notifier, page by page: shadow paging.
    Notifier,
}

/// The two answers. They are independent: AMD-V without nested paging is `Ring0` and `Notifier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flavour {
    /// Chooses the stub.
    pub entry: Entry,
    /// Chooses the flush.
    pub flush: Flush,
}

impl Flavour {
    /// Before the probes: nothing may run on it but them.
    pub(crate) const UNKNOWN: Flavour = Flavour {
        entry: Entry::Ring3,
        flush: Flush::Notifier,
    };
}
