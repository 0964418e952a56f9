//! Who lets a guest connect to addresses that nothing in it answers to.

use std::fmt::Debug;

use super::address::Address;
use crate::errno::Errno;

/// Permission to connect to the outside. It is the host's, and no state of the guest's.
pub trait Permits: Debug + Send + Sync {
    /// Whether the guest may connect there now. It is asked on the guest's thread, which waits for it.
    ///
    /// # Errors
    /// What `connect` answers where it may not; ECONNREFUSED in its place for an address of the guest's own.
    fn permit(&self, to: &Address) -> Result<(), Errno>;
}
