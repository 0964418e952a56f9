//! Listings of directories.

use super::{Answer, Done};
use crate::bounds::LISTING;
use crate::errno::Errno;
use crate::fs::files::FileKind;
use crate::fs::vfs::{Node, NodeKind};
use crate::kernel::Kernel;
use crate::machine::Machine;

impl Kernel {
    pub(super) fn sys_getdents(&mut self, m: &mut impl Machine, fd: u64, into: u64, length: u64) -> Answer {
        let file = self.files.get(fd)?;
        if self.files.granted(file).is_some() {
            return self.list_granted(m, file, into, length);
        }
        let Some(FileKind::Directory { node, listed, end }) = self.files.file(file).map(|open| &open.kind)
        else {
            return Err(Errno::ENOTDIR);
        };
        let (folder, first) = (*node, *listed);
        let Some(Node {
            kind: NodeKind::Directory { entries, parent, .. },
            ..
        }) = self.vfs.node(folder)
        else {
            return Err(Errno::ENOENT);
        };
        // A listing ends where the directory ended when it began, or names that move while it goes on would never end.
        let end = if first == 0 { entries.end() } else { *end };
        let dots = [(0, &b"."[..], folder), (1, &b".."[..], *parent)].into_iter();
        let mut rest = dots
            .filter(|entry| entry.0 >= first)
            .chain(entries.from(first))
            .take_while(|entry| entry.0 < end)
            .peekable();
        let limit = length.min(LISTING) as usize;
        let mut bytes = Vec::new();
        let mut next = first;
        while let Some(&(place, name, node)) = rest.peek() {
            let size = (19 + name.len() + 1).next_multiple_of(8);
            if bytes.len() + size > limit {
                break;
            }
            rest.next();
            next = place + 1;
            let kind = self
                .vfs
                .node(node)
                .map_or(0, |node| super::status::file_type(&node.kind) >> 12);
            let start = bytes.len();
            bytes.extend((node as u64 + 1).to_le_bytes());
            bytes.extend(next.to_le_bytes());
            bytes.extend((size as u16).to_le_bytes());
            bytes.push(kind as u8);
            bytes.extend(name);
            bytes.resize(start + size, 0);
        }
        if bytes.is_empty() && rest.peek().is_some() {
            return Err(Errno::EINVAL);
        }
        self.space.write(m, into, &bytes)?;
        if let Some(open) = self.files.file_mut(file)
            && let FileKind::Directory {
                listed, end: kept, ..
            } = &mut open.kind
        {
            (*listed, *kept) = (next, end);
        }
        Ok(Done::Value(bytes.len() as u64))
    }
}
