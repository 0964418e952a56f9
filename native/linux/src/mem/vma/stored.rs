//! Mappings in a snapshot's file: gaps and versions follow from them.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Mapping, Source, Versions, VmaTree};
use crate::fs::host_file::HostFile;
use crate::machine::{PAGE, USER_END, USER_START};

impl Serialize for VmaTree {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.map.serialize(to)
    }
}

impl<'de> Deserialize<'de> for VmaTree {
    /// The tree's versions are missing until [`VmaTree::replace_files`] has run.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<u64, Mapping>::deserialize(from)?;
        let (mut tree, mut last) = (Self::default(), USER_START);
        for (&start, mapping) in &map {
            let end = mapping.end;
            let aligned = start.is_multiple_of(PAGE) && end.is_multiple_of(PAGE);
            let offset = match &mapping.source {
                Source::File { offset, .. } => *offset,
                Source::Anonymous => 0,
            };
            // An offset's mapping may end anywhere below 2^63.
            if !aligned || start < last || end <= start || end > USER_END {
                return Err(D::Error::custom("mappings that overlap or leave user space"));
            }
            if !offset.is_multiple_of(PAGE) || offset > 1 << 62 {
                return Err(D::Error::custom("a mapping of a file from no page of it"));
            }
            tree.reserved += end - start;
            tree.gaps.take(start, end);
            last = end;
        }
        tree.map = map;
        Ok(tree)
    }
}

impl VmaTree {
    /// Puts another file in the place of each that is mapped.
    ///
    /// # Errors
    /// Those of `other`.
    pub fn replace_files(
        &mut self,
        other: &mut dyn FnMut(&HostFile) -> Result<HostFile, String>,
    ) -> Result<(), String> {
        for mapping in self.map.values_mut() {
            if let Source::File { file, .. } = &mut mapping.source {
                *file = other(file)?;
            }
        }
        self.versions = Versions::of(self.map.values().map(|mapping| &mapping.source));
        Ok(())
    }
}
