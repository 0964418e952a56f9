//! What the pool asks of the scheduler of the host.

pub(crate) mod slice;
