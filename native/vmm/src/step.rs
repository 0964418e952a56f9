//! The steps of a reset.

/// A step of a reset. The leak check leaves each out in turn: a check that stays green then proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetStep {
    /// Page tables and the list of free frames are rewound.
    Tables,
    /// Stale translations are flushed.
    Flush,
    /// Pages are copied back or zeroed.
    Pages,
    /// Integer registers and flags.
    Integers,
    /// Segment bases and with them all system registers.
    Segments,
    /// Vector registers.
    Vectors,
}

impl ResetStep {
    /// All steps.
    #[cfg(feature = "mutations")]
    pub const ALL: [ResetStep; 6] = [
        ResetStep::Tables,
        ResetStep::Flush,
        ResetStep::Pages,
        ResetStep::Integers,
        ResetStep::Segments,
        ResetStep::Vectors,
    ];

    /// Whether it is done: always, but where the feature `mutations` lets the leak check leave it out.
    pub(crate) fn is_done(self, left_out: Option<Self>) -> bool {
        !cfg!(any(test, feature = "mutations")) || left_out != Some(self)
    }
}
