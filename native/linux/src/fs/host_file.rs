//! Files that the host opened beforehand and lends to guests, read-only.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fs::blocks::Blocks;
use crate::machine::SlotId;

/// Bytes that stay readable and unchanged for as long as the value lives (a `Vec`, or a private mapping of a file).
pub trait FileBytes: Send + Sync {
    /// All the bytes.
    fn bytes(&self) -> &[u8];
}

impl FileBytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Where the bytes are.
#[derive(Clone, Serialize, Deserialize)]
enum Content {
    /// Somewhere else, by this number: in a snapshot's file, while one is written or read. First, as serde counts those that it skips on one way alone.
    Placed(u32),
    /// The host lends them.
    #[serde(skip)]
    Lent(Arc<dyn FileBytes>),
    /// The guest wrote them.
    #[serde(skip)]
    OfGuest(Arc<Blocks>),
}

/// A read-only file. Cloning it clones a reference.
#[derive(Clone, Serialize, Deserialize)]
pub struct HostFile {
    content: Content,
    /// The memory slot that holds the same bytes, when every VM shares one.
    pub slot: Option<SlotId>,
    /// Permission bits (`0o555` and the like).
    pub mode: u32,
    /// Time of the last change, in seconds since 1970.
    pub modified: u64,
    /// Bytes of the host that they take for it.
    pub held: u64,
}

impl HostFile {
    /// A file of these bytes, `0o444`, in no slot.
    #[must_use]
    pub fn new(bytes: impl FileBytes + 'static) -> Self {
        Self {
            content: Content::Lent(Arc::new(bytes)),
            slot: None,
            mode: 0o444,
            modified: 0,
            held: 0,
        }
    }

    /// A file that the guest wrote.
    #[must_use]
    pub fn of_guest(blocks: Arc<Blocks>) -> Self {
        Self {
            slot: None,
            mode: 0o444,
            modified: 0,
            held: blocks.cost(),
            content: Content::OfGuest(blocks),
        }
    }

    /// What the guest sees of this file beside its bytes, with the bytes of another.
    #[must_use]
    pub(crate) fn with_bytes_of(&self, other: &Self) -> Self {
        Self {
            content: other.content.clone(),
            held: other.held,
            ..self.clone()
        }
    }

    /// The same, with a place in a snapshot's file instead of its bytes.
    #[must_use]
    pub(crate) fn placed(&self, place: u32) -> Self {
        Self {
            content: Content::Placed(place),
            ..self.clone()
        }
    }

    /// Its place in a snapshot's file, if it has one in place of bytes.
    #[must_use]
    pub(crate) fn place(&self) -> Option<u32> {
        match self.content {
            Content::Placed(place) => Some(place),
            Content::Lent(_) | Content::OfGuest(_) => None,
        }
    }

    /// What the guest wrote, if it did.
    #[must_use]
    pub(crate) fn blocks(&self) -> Option<&Arc<Blocks>> {
        match &self.content {
            Content::OfGuest(blocks) => Some(blocks),
            Content::Lent(_) | Content::Placed(_) => None,
        }
    }

    /// Whether the guest wrote these bytes itself; its limit on files counts them while they are mapped.
    #[must_use]
    pub fn is_of_guest(&self) -> bool {
        matches!(self.content, Content::OfGuest(_))
    }

    /// The number of its bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match &self.content {
            Content::Lent(bytes) => bytes.bytes().len() as u64,
            Content::OfGuest(blocks) => blocks.length(),
            Content::Placed(_) => 0,
        }
    }

    /// The bytes of a range, as far as the file has them.
    #[must_use]
    pub fn part(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        match &self.content {
            Content::Lent(bytes) => {
                let bytes = bytes.bytes();
                let end = range.end.min(bytes.len() as u64) as usize;
                Cow::Borrowed(&bytes[range.start.min(end as u64) as usize..end])
            }
            Content::OfGuest(blocks) => blocks.part(range),
            Content::Placed(_) => Cow::Borrowed(&[]),
        }
    }

    /// Where the bytes are: the same for two files only if they are the same bytes.
    #[must_use]
    pub(crate) fn address(&self) -> usize {
        match &self.content {
            Content::Lent(bytes) => bytes.bytes().as_ptr() as usize,
            Content::OfGuest(blocks) => Arc::as_ptr(blocks) as usize,
            Content::Placed(place) => *place as usize,
        }
    }
}

impl PartialEq for HostFile {
    /// Two files are equal when they are the same bytes in the same place.
    fn eq(&self, other: &Self) -> bool {
        let bytes = |file: &Self| (file.address(), file.length(), file.is_of_guest());
        bytes(self) == bytes(other) && self.slot == other.slot && self.mode == other.mode
    }
}

impl Eq for HostFile {}

impl fmt::Debug for HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostFile({} bytes, {:?}", self.length(), self.slot)?;
        // What the guest wrote is its state: the leak check searches this text.
        if let Content::OfGuest(blocks) = &self.content {
            write!(f, ", {blocks:?}")?;
        }
        f.write_str(")")
    }
}
