//! The steps of a restore, by table.

/// A step of [`crate::kernel::Kernel::restore`]. The leak check leaves each out in turn: a check that stays green then proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the table of its name")]
pub enum Step {
    AddressSpace,
    Threads,
    Descriptors,
    OpenFiles,
    Streams,
    HeldBytes,
    FileTree,
    FileBytes,
    Process,
    RunningThread,
    Clock,
    Randomness,
    Request,
    LastFault,
}

impl Step {
    /// All steps.
    #[cfg(feature = "mutations")]
    pub const ALL: [Self; 14] = [
        Self::AddressSpace,
        Self::Threads,
        Self::Descriptors,
        Self::OpenFiles,
        Self::Streams,
        Self::HeldBytes,
        Self::FileTree,
        Self::FileBytes,
        Self::Process,
        Self::RunningThread,
        Self::Clock,
        Self::Randomness,
        Self::Request,
        Self::LastFault,
    ];

    /// Whether it is done: always, but where the feature `mutations` lets the leak check leave it out.
    pub(crate) fn is_done(self, left_out: Option<Self>) -> bool {
        !cfg!(any(test, feature = "mutations")) || left_out != Some(self)
    }
}
