//! The entries of a directory.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::state::account;

/// The place of the first entry: `.` and `..` are listed before it.
pub const FIRST_PLACE: u64 = 2;

/// Names to numbers of nodes. Each entry also has a place of its own, in the order in which they were made: a listing that goes on from
/// a place misses no entry and shows none twice, whatever came and went meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    pub(super) by_name: BTreeMap<Arc<[u8]>, Entry>,
    pub(super) by_place: BTreeMap<u64, Arc<[u8]>>,
    /// The place of the next entry.
    pub(super) next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) node: usize,
    pub(super) place: u64,
}

impl Default for Folder {
    fn default() -> Self {
        Self {
            by_name: BTreeMap::new(),
            by_place: BTreeMap::new(),
            next: FIRST_PLACE,
        }
    }
}

impl Folder {
    /// Bytes of an entry of the tree by name.
    const BY_NAME: usize = size_of::<Arc<[u8]>>() + size_of::<Entry>();
    /// Bytes of an entry of the tree by place.
    const BY_PLACE: usize = size_of::<u64>() + size_of::<Arc<[u8]>>();
    /// What its trees take of the host.
    pub(crate) const COST: u64 = account::leaf(Self::BY_NAME) + account::leaf(Self::BY_PLACE);

    /// What a name takes of the host.
    pub(crate) const fn name_cost(length: usize) -> u64 {
        let entries = account::entry(Self::BY_NAME) + account::entry(Self::BY_PLACE);
        length as u64 + 16 + account::BLOCK + entries
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The node of this name.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(name).map(|entry| entry.node)
    }

    /// Adds an entry, in place of one of the same name, and gives its place.
    pub fn insert(&mut self, name: &[u8], node: usize) -> u64 {
        self.remove(name);
        let (name, place) = (Arc::<[u8]>::from(name), self.next);
        // 2^64 entries take longer to make than the guest lives.
        self.next += 1;
        self.by_place.insert(place, Arc::clone(&name));
        self.by_name.insert(name, Entry { node, place });
        place
    }

    /// Takes an entry out and gives its node and its place.
    pub fn remove(&mut self, name: &[u8]) -> Option<(usize, u64)> {
        let Entry { node, place } = self.by_name.remove(name)?;
        self.by_place.remove(&place);
        Some((node, place))
    }

    /// The place behind all entries that there are now.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.next
    }

    /// The name of the entry at a place.
    #[must_use]
    pub fn name_at(&self, place: u64) -> Option<&[u8]> {
        self.by_place.get(&place).map(AsRef::as_ref)
    }

    /// Names and nodes, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.by_name
            .iter()
            .map(|(name, entry)| (name.as_ref(), entry.node))
    }

    /// Places, names and nodes, in the order of places, from this one on.
    pub fn from(&self, place: u64) -> impl Iterator<Item = (u64, &[u8], usize)> {
        self.by_place.range(place..).filter_map(|(&place, name)| {
            let entry = self.by_name.get(name)?;
            Some((place, name.as_ref(), entry.node))
        })
    }

    /// Whether both indexes tell of the same entries.
    pub(super) fn agrees(&self) -> bool {
        let named = |(&place, name)| {
            let entry = self.by_name.get(name);
            entry.is_some_and(|entry| entry.place == place) && (FIRST_PLACE..self.next).contains(&place)
        };
        self.by_name.len() == self.by_place.len() && self.by_place.iter().all(named)
    }
}
