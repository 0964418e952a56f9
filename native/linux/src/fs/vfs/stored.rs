//! The tree of names in a snapshot's file, and what is checked of one that was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::folder::{Entry, FIRST_PLACE, Folder};
use super::{NodeKind, ROOT, Vfs};
use crate::fs::host_file::HostFile;
use crate::state::ensure::ensure;

impl Serialize for Folder {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let entries: Vec<(&[u8], Entry)> = self
            .by_name
            .iter()
            .map(|(name, entry)| (&**name, *entry))
            .collect();
        (self.next, entries).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Folder {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (next, entries) = <(u64, Vec<(Vec<u8>, Entry)>)>::deserialize(from)?;
        let mut folder = Self {
            by_name: BTreeMap::new(),
            by_place: BTreeMap::new(),
            next,
        };
        // Far from an overflow, however long the guest lives.
        if !(FIRST_PLACE..1 << 62).contains(&next) {
            return Err(D::Error::custom("a directory without a next place"));
        }
        for (name, entry) in entries {
            let name = Arc::<[u8]>::from(name);
            folder.by_place.insert(entry.place, Arc::clone(&name));
            folder.by_name.insert(name, entry);
        }
        if !folder.agrees() {
            return Err(D::Error::custom("a directory with a name or a place twice"));
        }
        Ok(folder)
    }
}

impl Vfs {
    /// Puts another file in the place of each that the host lent.
    ///
    /// # Errors
    /// Those of `other`.
    pub(crate) fn replace_files(
        &mut self,
        other: &mut dyn FnMut(&HostFile) -> Result<HostFile, String>,
    ) -> Result<(), String> {
        for number in 0..self.nodes.end() {
            if !matches!(
                self.nodes.get(number).map(|node| &node.kind),
                Some(NodeKind::Host(_))
            ) {
                continue;
            }
            if let Some(node) = self.nodes.get_mut(number)
                && let NodeKind::Host(file) = &mut node.kind
            {
                *file = other(file)?;
            }
        }
        self.nodes.mark_clean();
        Ok(())
    }

    /// Counts again what the files take of the host, as buffers are of other sizes now.
    pub(crate) fn recount_all(&mut self) {
        let names = |kind: &NodeKind| match kind {
            NodeKind::Directory { entries, .. } => entries
                .iter()
                .map(|(name, _)| Folder::name_cost(name.len()))
                .sum(),
            _ => 0,
        };
        let taken: u64 = self
            .nodes
            .iter()
            .map(|(_, node)| Self::cost(&node.kind) + names(&node.kind))
            .sum();
        self.account.give(self.account.used());
        self.account.count(taken);
    }

    /// What [`Vfs::audit`] takes for granted: the root is a directory, and the way up from each directory ends.
    pub(crate) fn audit_stored(&self) -> Result<(), String> {
        ensure(self.is_directory(ROOT), || "the root is no directory".into())?;
        let unsound = |kind: &NodeKind| matches!(kind, NodeKind::Memory(blocks) if !blocks.is_sound());
        if let Some((number, _)) = self.nodes.iter().find(|(_, node)| unsound(&node.kind)) {
            return Err(format!("the bytes of file {number} are not as long as it is"));
        }
        // Of each directory: unknown, on the way that is walked, known to end.
        let mut state = vec![0_u8; self.nodes.end()];
        for (number, _) in self.nodes.iter() {
            let (mut at, mut way) = (number, Vec::new());
            while let Some(NodeKind::Directory { parent, .. }) = self.nodes.get(at).map(|node| &node.kind) {
                if state[at] == 2 {
                    break;
                }
                ensure(state[at] == 0 && (at != ROOT || *parent == ROOT), || {
                    format!("directory {at} is above itself")
                })?;
                if at == ROOT {
                    state[at] = 2;
                    break;
                }
                state[at] = 1;
                way.push(at);
                at = *parent;
            }
            way.into_iter().for_each(|at| state[at] = 2);
        }
        Ok(())
    }
}
