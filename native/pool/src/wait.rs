//! How long threads of a pool wait, and for what.

pub(crate) mod busy_poll;
pub(crate) mod deadlines;
pub(crate) mod event;
