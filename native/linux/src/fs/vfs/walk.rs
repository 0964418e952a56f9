//! Ways along paths, down to what they lead to and up again.

use super::{Found, LINKS_MAX, NAME_MAX, Node, NodeKind, PATH_MAX, ROOT, Vfs};
use crate::bounds::WALK;
use crate::errno::Errno;
use crate::fs::granted::Below;

/// How far a walk along a path has come.
#[derive(Default)]
struct Walk {
    /// Symbolic links that it followed.
    links: u32,
    /// Names that it looked up, those in links included.
    names: u32,
}

impl Vfs {
    /// Walks a path from `start`, following symbolic links; the last one only if `follow`.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG as path_resolution(7) has them; ELOOP as well when links make the path longer than
    /// [`WALK`] names. A last name that does not exist is no error here.
    pub fn resolve(&self, start: usize, path: &[u8], follow: bool) -> Result<Found, Errno> {
        let start = Below {
            node: start,
            path: Vec::new(),
        };
        self.resolve_from(&start, path, follow)
    }

    /// [`Vfs::resolve`] from a place that may lie in a granted folder.
    ///
    /// # Errors
    /// As [`Vfs::resolve`].
    pub fn resolve_from(&self, start: &Below, path: &[u8], follow: bool) -> Result<Found, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        self.walk(start, path, follow, &mut Walk::default())
    }

    fn walk(&self, start: &Below, path: &[u8], follow: bool, walk: &mut Walk) -> Result<Found, Errno> {
        if path.len() >= PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let absolute = path.first() == Some(&b'/');
        let mut at = if absolute { ROOT } else { start.node };
        // The way below a granted folder, once one was reached.
        let mut below = start.path.clone();
        if absolute {
            below.clear();
        }
        let slash = path.last() == Some(&b'/');
        let mut names = path
            .split(|&byte| byte == b'/')
            .filter(|name| !name.is_empty())
            .peekable();
        // Where the path leads, once its last name is known.
        let found = |parent, name: &[u8], node| Found {
            parent,
            name: name.into(),
            node,
            slash,
            granted: None,
        };
        let mut end = found(at, b"", Some(at));
        while let Some(name) = names.next() {
            walk.names += 1;
            if walk.names > WALK {
                return Err(Errno::ELOOP);
            }
            let last = names.peek().is_none();
            if self.is_granted(at) {
                at = self.step_in_granted(at, &mut below, name)?;
                if last && !self.is_granted(at) {
                    end = found(at, b"", Some(at));
                }
                continue;
            }
            let NodeKind::Directory { entries, parent, .. } = &self.nodes.get(at).ok_or(Errno::ENOENT)?.kind
            else {
                return Err(Errno::ENOTDIR);
            };
            if name.len() > NAME_MAX {
                return Err(Errno::ENAMETOOLONG);
            }
            if name == b"." || name == b".." {
                at = if name == b".." { *parent } else { at };
                if last {
                    end = found(at, b"", Some(at));
                }
                continue;
            }
            let Some(node) = entries.get(name) else {
                return if last {
                    Ok(found(at, name, None))
                } else {
                    Err(Errno::ENOENT)
                };
            };
            let mut next = Some(node);
            if let Some(Node {
                kind: NodeKind::Link(target),
                ..
            }) = self.nodes.get(node)
                && (!last || follow || slash)
            {
                walk.links += 1;
                if walk.links > LINKS_MAX {
                    return Err(Errno::ELOOP);
                }
                let here = Below {
                    node: at,
                    path: Vec::new(),
                };
                end = Found {
                    slash,
                    ..self.walk(&here, target, true, walk)?
                };
                next = end.node;
                if let Some(granted) = &end.granted {
                    next = Some(granted.node);
                    below.clone_from(&granted.path);
                } else if next.is_none() {
                    return if last { Ok(end) } else { Err(Errno::ENOENT) };
                }
            } else if last {
                end = found(at, name, next);
            }
            at = next.unwrap_or(at);
        }
        if self.is_granted(at) {
            let node = below.is_empty().then_some(at);
            // The host sees to it that a folder is there.
            if slash && !below.is_empty() {
                below.push(b'/');
            }
            return Ok(Found {
                granted: Some(Below {
                    node: at,
                    path: below,
                }),
                ..found(at, b"", node)
            });
        }
        if slash && !self.is_directory(at) {
            return Err(Errno::ENOTDIR);
        }
        Ok(end)
    }

    /// Whether the node is a folder that the host granted.
    #[must_use]
    pub fn is_granted(&self, number: usize) -> bool {
        matches!(
            self.nodes.get(number),
            Some(Node {
                kind: NodeKind::Granted(_),
                ..
            })
        )
    }

    /// Goes on by one name from a place in a granted folder; gives the node that the way is at, another one if `..` led out of it.
    /// `..` within is the host's affair, who alone knows where links lead: the depth here leaves them aside.
    fn step_in_granted(&self, at: usize, below: &mut Vec<u8>, name: &[u8]) -> Result<usize, Errno> {
        if name.len() > NAME_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        let mut place = Below {
            node: at,
            path: std::mem::take(below),
        };
        if name == b".." && place.depth() == 0 {
            return Ok(self
                .nodes
                .get(at)
                .and_then(|node| node.entry)
                .map_or(ROOT, |entry| entry.0));
        }
        if name != b"." {
            place.push(name);
        }
        if place.path.len() >= PATH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        *below = place.path;
        Ok(at)
    }

    /// The absolute path of a node.
    ///
    /// # Errors
    /// ENOENT when it has no name, ENAMETOOLONG when the path is longer than one may be.
    pub fn path_of(&self, number: usize) -> Result<Vec<u8>, Errno> {
        let (mut names, mut length): (Vec<&[u8]>, _) = (Vec::new(), 0);
        let mut at = number;
        while at != ROOT {
            let node = self.nodes.get(at).ok_or(Errno::ENOENT)?;
            let (folder, place) = node.entry.ok_or(Errno::ENOENT)?;
            let above = self.nodes.get(folder).ok_or(Errno::ENOENT)?;
            let NodeKind::Directory { entries, .. } = &above.kind else {
                return Err(Errno::ENOENT);
            };
            let name = entries.name_at(place).ok_or(Errno::ENOENT)?;
            length += name.len() + 1;
            if length >= PATH_MAX {
                return Err(Errno::ENAMETOOLONG);
            }
            names.push(name);
            at = folder;
        }
        if names.is_empty() {
            return Ok(b"/".to_vec());
        }
        let mut path = Vec::with_capacity(length);
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        Ok(path)
    }
}
