//! The file system's tree, checked.

use std::collections::BTreeMap;

use super::{Folder, NodeKind, ROOT, Vfs};
use crate::state::ensure::ensure;

impl Vfs {
    /// Checks that names lead to nodes, that names, holds (given by node) and bytes are counted right, and the limits.
    pub fn audit(&self, holds: &BTreeMap<usize, u32>) -> Result<(), String> {
        let mut names = BTreeMap::<usize, u32>::from([(ROOT, 1)]);
        let (mut bytes, mut taken) = (0, 0);
        for (folder, node) in self.nodes.iter() {
            taken += Self::cost(&node.kind);
            match &node.kind {
                NodeKind::Directory { entries, .. } => {
                    ensure(entries.agrees(), || {
                        format!("directory {folder} does not agree with itself: {entries:?}")
                    })?;
                    for (name, entry) in entries.iter() {
                        *names.entry(entry).or_default() += 1;
                        taken += Folder::name_cost(name.len());
                        self.audit_entry(folder, name, entry)?;
                    }
                }
                NodeKind::Memory(blocks) => bytes += blocks.length(),
                _ => {}
            }
        }
        for (number, node) in self.nodes.iter() {
            let (links, held) = (names.get(&number), holds.get(&number));
            let found = (links.copied().unwrap_or(0), held.copied().unwrap_or(0));
            let counted = (node.links, node.holds);
            ensure(found == counted && found != (0, 0), || {
                format!("node {number} counts {counted:?} names and holds, has {found:?}")
            })?;
        }
        if let Some(gone) = holds.keys().find(|&&node| self.nodes.get(node).is_none()) {
            return Err(format!("node {gone} is held and gone"));
        }
        ensure(self.nodes.agrees(), || "the nodes are counted wrong".into())?;
        ensure(taken == self.account.used(), || {
            let counted = self.account.used();
            format!("{counted} bytes of the host are counted for files, {taken} are taken")
        })?;
        let nodes = self.nodes.count();
        ensure(nodes <= self.node_limit, || {
            format!("{nodes} nodes, wanted at most {}", self.node_limit)
        })?;
        ensure(bytes == self.memory_bytes && bytes <= self.memory_limit, || {
            let (counted, limit) = (self.memory_bytes, self.memory_limit);
            format!("{counted} bytes are counted in files, {bytes} are, wanted at most {limit}")
        })
    }

    fn audit_entry(&self, folder: usize, name: &[u8], entry: usize) -> Result<(), String> {
        let shown = || String::from_utf8_lossy(name).into_owned();
        let good = !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/');
        ensure(
            good && !name.contains(&0) && name.len() <= super::NAME_MAX,
            || format!("directory {folder} has the name {:?}", shown()),
        )?;
        let known = self.nodes.get(entry).and_then(|node| {
            let (folder, place) = node.entry?;
            match &self.nodes.get(folder)?.kind {
                NodeKind::Directory { entries, .. } => Some((folder, entries.name_at(place)?)),
                _ => None,
            }
        });
        ensure(known == Some((folder, name)), || {
            format!("{} in directory {folder} is {known:?} to its node", shown())
        })?;
        match self.nodes.get(entry).map(|node| &node.kind) {
            None => Err(format!(
                "{} in directory {folder} leads to node {entry}, which is gone",
                shown()
            )),
            Some(NodeKind::Directory { parent, .. }) => ensure(*parent == folder, || {
                format!(
                    "directory {entry} has the parent {parent}, but is {} in {folder}",
                    shown()
                )
            }),
            Some(_) => Ok(()),
        }
    }
}
