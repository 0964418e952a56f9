//! Names that come, go and move.

use std::sync::Arc;

use super::{Folder, Found, NewNode, Node, NodeKind, ROOT, Vfs};
use crate::bounds::DEPTH;
use crate::errno::Errno;

impl Vfs {
    fn writable_folder(&self, folder: usize) -> Result<(), Errno> {
        match self.nodes.get(folder) {
            Some(Node {
                kind: NodeKind::Directory { writable: true, .. },
                links,
                ..
            }) if *links > 0 => Ok(()),
            Some(Node {
                kind: NodeKind::Directory { writable: true, .. },
                ..
            }) => Err(Errno::ENOENT),
            _ => Err(Errno::EROFS),
        }
    }

    /// Makes a file, directory or link under a name that is free. `now` is the realtime in ns.
    ///
    /// # Errors
    /// EEXIST, EROFS, ENOSPC at the limit of nodes.
    pub fn create(&mut self, found: &Found, kind: NewNode, mode: u32, now: u64) -> Result<usize, Errno> {
        if found.node.is_some() {
            return Err(Errno::EEXIST);
        }
        self.writable_folder(found.parent)?;
        if self.nodes.count() >= self.node_limit {
            return Err(Errno::ENOSPC);
        }
        let kind = match kind {
            NewNode::File => NodeKind::Memory(Arc::default()),
            NewNode::Directory => NodeKind::Directory {
                entries: Folder::default(),
                parent: found.parent,
                writable: true,
            },
            NewNode::Link(target) => NodeKind::Link(target.into()),
        };
        let cost = Node::COST + Self::cost(&kind) + Folder::name_cost(found.name.len());
        self.account.ask(cost).or(Err(Errno::ENOSPC))?;
        let node = self.add(kind, mode & 0o7777);
        if let Some(node) = self.nodes.get_mut(node) {
            node.modified = now;
        }
        self.attach(found.parent, &found.name, node);
        Ok(node)
    }

    /// Makes a file without a name (`memfd_create`); it lives as long as it is held.
    ///
    /// # Errors
    /// ENOSPC at the limit of nodes.
    pub fn create_unnamed(&mut self) -> Result<usize, Errno> {
        if self.nodes.count() >= self.node_limit {
            return Err(Errno::ENOSPC);
        }
        self.account.ask(Node::COST).or(Err(Errno::ENOSPC))?;
        Ok(self.add(NodeKind::Memory(Arc::default()), 0o777))
    }

    /// Takes a name away: `directory` says which kind it must be.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, EBUSY, EROFS.
    pub fn remove(&mut self, found: &Found, directory: bool) -> Result<(), Errno> {
        let node = found.node.ok_or(Errno::ENOENT)?;
        match &self.nodes.get(node).ok_or(Errno::ENOENT)?.kind {
            _ if found.name.is_empty() => return Err(if directory { Errno::EBUSY } else { Errno::EISDIR }),
            NodeKind::Directory { .. } if !directory => {
                return Err(if self.writable_folder(found.parent).is_ok() {
                    Errno::EISDIR
                } else {
                    Errno::EROFS
                });
            }
            NodeKind::Directory { entries, .. } if !entries.is_empty() => return Err(Errno::ENOTEMPTY),
            NodeKind::Directory { .. } => {}
            _ if directory || found.slash => return Err(Errno::ENOTDIR),
            _ => {}
        }
        self.writable_folder(found.parent)?;
        self.detach(found.parent, &found.name);
        Ok(())
    }

    /// `rename`: moves a name, over an existing one if `replace`.
    ///
    /// # Errors
    /// ENOENT, EEXIST, EISDIR, ENOTDIR, ENOTEMPTY, EROFS, EINVAL for a directory into itself, ENAMETOOLONG for one to below [`DEPTH`]
    /// others.
    pub fn rename(&mut self, from: &Found, to: &Found, replace: bool) -> Result<(), Errno> {
        let node = from.node.ok_or(Errno::ENOENT)?;
        if from.name.is_empty() || to.name.is_empty() {
            return Err(Errno::EBUSY);
        }
        // It has both names for a moment.
        self.account
            .ask(Folder::name_cost(to.name.len()))
            .or(Err(Errno::ENOSPC))?;
        self.writable_folder(from.parent)?;
        self.writable_folder(to.parent)?;
        let directory = self.is_directory(node);
        if directory {
            let (mut at, mut above) = (to.parent, 0);
            while at != ROOT {
                above += 1;
                if above > DEPTH {
                    return Err(Errno::ENAMETOOLONG);
                }
                if at == node {
                    return Err(Errno::EINVAL);
                }
                let Some(Node {
                    kind: NodeKind::Directory { parent, .. },
                    ..
                }) = self.nodes.get(at)
                else {
                    break;
                };
                at = *parent;
            }
        } else if to.slash {
            return Err(Errno::ENOTDIR);
        }
        if let Some(old) = to.node {
            if !replace {
                return Err(Errno::EEXIST);
            }
            if old == node {
                return Ok(());
            }
            match (directory, &self.nodes.get(old).ok_or(Errno::ENOENT)?.kind) {
                (true, NodeKind::Directory { entries, .. }) if !entries.is_empty() => {
                    return Err(Errno::ENOTEMPTY);
                }
                (false, NodeKind::Directory { .. }) => return Err(Errno::EISDIR),
                (true, kind) if !matches!(kind, NodeKind::Directory { .. }) => return Err(Errno::ENOTDIR),
                _ => {}
            }
            self.detach(to.parent, &to.name);
        }
        self.attach(to.parent, &to.name, node);
        self.detach(from.parent, &from.name);
        if let Some(Node {
            kind: NodeKind::Directory { parent, .. },
            ..
        }) = self.nodes.get_mut(node)
        {
            *parent = to.parent;
        }
        Ok(())
    }
}
