//! The versions of a guest's own files that mappings keep: bytes that the host holds until the last mapping is gone.

use std::collections::BTreeMap;

use super::Source;
use crate::fs::host_file::HostFile;

/// Versions by the address of their bytes: how many mappings show each, and its length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Versions {
    kept: BTreeMap<usize, (usize, u64)>,
    /// Sum of the lengths.
    bytes: u64,
    /// Sum of what they take of the host.
    held: u64,
    /// What the names of all mappings take of it.
    names: u64,
}

fn key(file: &HostFile) -> usize {
    file.address()
}

fn of_guest(source: &Source) -> Option<&HostFile> {
    match source {
        Source::File { file, .. } => Some(file).filter(|file| file.is_of_guest()),
        Source::Anonymous => None,
    }
}

/// What the name of a mapping takes of the host.
fn name_cost(source: &Source) -> u64 {
    match source {
        Source::File { name, .. } => crate::state::account::bytes(name.len()),
        Source::Anonymous => 0,
    }
}

impl Versions {
    /// What mappings with these sources keep.
    pub fn of<'a>(sources: impl Iterator<Item = &'a Source>) -> Self {
        let mut versions = Self::default();
        sources.for_each(|source| versions.add(source));
        versions
    }

    /// Counts one mapping more.
    pub fn add(&mut self, source: &Source) {
        self.names += name_cost(source);
        let Some(file) = of_guest(source) else { return };
        let length = file.length();
        let (mappings, _) = self.kept.entry(key(file)).or_insert((0, length));
        if *mappings == 0 {
            self.bytes += length;
            self.held += file.held;
        }
        *mappings += 1;
    }

    /// Counts one mapping less.
    pub fn drop(&mut self, source: &Source) {
        self.names -= name_cost(source);
        let Some(file) = of_guest(source) else { return };
        if let Some((mappings, length)) = self.kept.get_mut(&key(file)) {
            *mappings -= 1;
            if *mappings == 0 {
                self.bytes -= *length;
                self.held -= file.held;
                self.kept.remove(&key(file));
            }
        }
    }

    /// Bytes of all versions, were this one among them.
    pub fn bytes_with(&self, file: &HostFile) -> u64 {
        if self.kept.contains_key(&key(file)) {
            self.bytes
        } else {
            self.bytes + file.length()
        }
    }

    /// Bytes of the host that versions and names take.
    pub fn held(&self) -> u64 {
        self.held + self.names
    }

    /// Bytes of all versions.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
