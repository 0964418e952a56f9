//! What tables are made of: how they are counted, checked, tracked and put back.

pub mod account;
pub(crate) mod ensure;
pub mod random;
#[cfg(feature = "mutations")]
pub mod step;
#[cfg(not(feature = "mutations"))]
pub(crate) mod step;
pub mod tracked;
