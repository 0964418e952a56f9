//! Files that the host opened beforehand and lends to guests, read-only.

use std::fmt;
use std::sync::Arc;

use crate::machine::SlotId;

/// Bytes that stay readable and unchanged for as long as the value lives (a `Vec`, or a private mapping of a file).
pub trait FileBytes: Send + Sync {
    /// All the bytes.
    fn bytes(&self) -> &[u8];
}

impl FileBytes for Arc<Vec<u8>> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl FileBytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A read-only file. Cloning it clones a reference.
#[derive(Clone)]
pub struct HostFile {
    bytes: Arc<dyn FileBytes>,
    /// The memory slot that holds the same bytes, when every VM shares one.
    pub slot: Option<SlotId>,
    /// Permission bits (`0o555` and the like).
    pub mode: u32,
    /// Time of the last change, in seconds since 1970.
    pub modified: u64,
    /// The guest wrote these bytes itself; its limit on files counts them while they are mapped.
    pub of_guest: bool,
    /// Bytes of the host that they take for it.
    pub held: u64,
}

impl HostFile {
    /// A file of these bytes, `0o444`, in no slot.
    #[must_use]
    pub fn new(bytes: impl FileBytes + 'static) -> Self {
        Self {
            bytes: Arc::new(bytes),
            slot: None,
            mode: 0o444,
            modified: 0,
            of_guest: false,
            held: 0,
        }
    }

    /// A file that the guest wrote.
    #[must_use]
    pub fn of_guest(bytes: Arc<Vec<u8>>) -> Self {
        Self {
            of_guest: true,
            held: crate::state::account::bytes(bytes.capacity()),
            ..Self::new(bytes)
        }
    }

    /// The file's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.bytes()
    }
}

impl PartialEq for HostFile {
    /// Two files are equal when they are the same bytes in the same place.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.bytes(), other.bytes()) && self.slot == other.slot && self.mode == other.mode
    }
}

impl Eq for HostFile {}

impl fmt::Debug for HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFile({} bytes, {:?}", self.bytes().len(), self.slot)?;
        // What the guest wrote is its state: the leak check searches this text.
        if self.of_guest {
            write!(f, ", {:?}", self.bytes())?;
        }
        f.write_str(")")
    }
}
