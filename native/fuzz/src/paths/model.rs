//! A second file system: every file under its whole path, in one map. Slow, and short enough to be believed.

use std::collections::BTreeMap;

use mayfly_linux::errno::Errno;

/// A path from the root, name by name.
pub(super) type Path = Vec<Vec<u8>>;

/// What lies at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory { writable: bool },
    File(Vec<u8>),
    Link(Vec<u8>),
}

/// Where a path leads: the place of its last name, whether something is there, and whether a name leads to it (not `..` or `/`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub at: Path,
    pub there: bool,
    pub named: bool,
    pub slash: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub files: BTreeMap<Path, Kind>,
}

impl Model {
    fn directory(&self, at: &[Vec<u8>]) -> bool {
        at.is_empty() || matches!(self.files.get(at), Some(Kind::Directory { .. }))
    }

    fn writable(&self, at: &[Vec<u8>]) -> bool {
        matches!(self.files.get(at), Some(Kind::Directory { writable: true }))
    }

    fn empty(&self, at: &[Vec<u8>]) -> bool {
        !self
            .files
            .keys()
            .any(|path| path.len() > at.len() && path.starts_with(at))
    }

    /// path_resolution(7), with the names still to go in a list that links are put in front of.
    pub fn resolve(&self, path: &[u8], follow: bool) -> Result<Place, Errno> {
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        let names = |path: &[u8]| -> Vec<Vec<u8>> {
            // A slash at the end asks for a directory, as "." behind it would.
            let parts = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
            parts.map(<[u8]>::to_vec).collect()
        };
        let slash = path.ends_with(b"/");
        let mut todo = names(path);
        todo.reverse();
        let mut place = Place {
            at: Vec::new(),
            there: true,
            named: false,
            slash,
        };
        // How many names of the path itself are left when a link's target, which ended in a slash, is behind us.
        let mut asked: Vec<usize> = Vec::new();
        let mut links = 0;
        loop {
            while asked.last().is_some_and(|&left| todo.len() == left) {
                asked.pop();
                if place.there && !self.directory(&place.at) {
                    return Err(Errno::ENOTDIR);
                }
            }
            let Some(name) = todo.pop() else { break };
            if !place.there {
                return Err(Errno::ENOENT);
            }
            if !self.directory(&place.at) {
                return Err(Errno::ENOTDIR);
            }
            if name.len() > 255 {
                return Err(Errno::ENAMETOOLONG);
            }
            if name == b"." || name == b".." {
                if name == b".." {
                    place.at.pop();
                }
                place.named = false;
                continue;
            }
            let folder = place.at.clone();
            place.at.push(name);
            (place.there, place.named) = (self.files.contains_key(&place.at), true);
            if let Some(Kind::Link(target)) = self.files.get(&place.at)
                && (follow || slash || !todo.is_empty())
            {
                links += 1;
                if links > 40 {
                    return Err(Errno::ELOOP);
                }
                if target.ends_with(b"/") {
                    asked.push(todo.len());
                }
                place.at = if target.starts_with(b"/") {
                    Vec::new()
                } else {
                    folder
                };
                (place.there, place.named) = (true, false);
                todo.extend(names(target).into_iter().rev());
            }
        }
        if slash && place.there && !self.directory(&place.at) {
            return Err(Errno::ENOTDIR);
        }
        Ok(place)
    }

    pub fn create(&mut self, place: &Place, kind: Kind) -> bool {
        let good = !place.there
            && place
                .at
                .split_last()
                .is_some_and(|(_, folder)| self.writable(folder));
        if good {
            self.files.insert(place.at.clone(), kind);
        }
        good
    }

    pub fn remove(&mut self, place: &Place, directory: bool) -> bool {
        let Some((_, folder)) = place.at.split_last().filter(|_| place.there && place.named) else {
            return false;
        };
        let good = self.writable(folder)
            && self.directory(&place.at) == directory
            && self.empty(&place.at)
            && (directory || !place.slash);
        if good {
            self.files.remove(&place.at);
        }
        good
    }

    pub fn rename(&mut self, from: &Place, to: &Place, replace: bool) -> bool {
        let (Some((_, old)), Some((_, new))) = (from.at.split_last(), to.at.split_last()) else {
            return false;
        };
        let directory = self.directory(&from.at);
        if !from.there || !from.named || !to.named || !self.writable(old) || !self.writable(new) {
            return false;
        }
        if directory && new.starts_with(&from.at) || !directory && to.slash || to.there && !replace {
            return false;
        }
        if from.at == to.at {
            return true;
        }
        if to.there && (self.directory(&to.at) != directory || !self.empty(&to.at)) {
            return false;
        }
        self.files.remove(&to.at);
        let moved: Vec<Path> = self
            .files
            .keys()
            .filter(|path| path.starts_with(&from.at))
            .cloned()
            .collect();
        for path in moved {
            let kind = self.files.remove(&path).expect("it was just listed");
            let target = [&to.at[..], &path[from.at.len()..]].concat();
            self.files.insert(target, kind);
        }
        true
    }
}
