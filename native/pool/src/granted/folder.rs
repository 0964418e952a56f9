//! What the host does with the names of a granted folder.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use mayfly_linux::errno::Errno;
use mayfly_linux::fs::granted::{HostFolder, HostOpened, HostStatus, How};
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Stat, chmod, fstat, ftruncate, mkdirat, open, readlink, readlinkat,
    renameat_with, statat, unlinkat,
};

use super::beneath::{open_beneath, reopen, seen, way_to};
use super::broker::Broker;
use super::ledger::{Ledger, is_regular, length};
use super::opened::{File, Opened, status};

/// Times that a name is looked for again which came or went meanwhile.
const TRIES: u32 = 16;

/// A granted folder, on the thread of the files.
#[derive(Debug)]
pub(super) struct Root {
    folder: OwnedFd,
    ledger: Arc<Ledger>,
}

/// The folder and the name of a path's last part.
fn split(path: &[u8]) -> Result<(&[u8], &[u8]), Errno> {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |at| at + 1);
    let path = &path[..end];
    let (folder, name) = match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&b"."[..], path),
    };
    match name {
        b"" | b"." | b".." => Err(Errno::EINVAL),
        _ => Ok((folder, name)),
    }
}

fn ends_in_slash(path: &[u8]) -> bool {
    path.last() == Some(&b'/')
}

fn is_folder(file: &Stat) -> bool {
    file.st_mode & 0o170_000 == 0o040_000
}

impl Root {
    /// # Errors
    /// It is no folder, or the kernel has no `openat2`.
    pub fn open(path: &Path, ledger: &Arc<Ledger>) -> io::Result<Arc<Root>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty())?;
        open_beneath(&folder, b".", flags, 0)
            .map_err(|_| io::Error::other("openat2 cannot hold paths below it, want Linux 5.6 or later"))?;
        Ok(Arc::new(Root {
            folder,
            ledger: ledger.clone(),
        }))
    }

    fn named(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        open_beneath(&self.folder, path, flags | OFlags::PATH, 0)
    }

    /// The folder that holds a path's last name, and the name: what is done with both stays in that folder.
    fn parent<'a>(&self, path: &'a [u8]) -> Result<(OwnedFd, &'a [u8]), Errno> {
        let (folder, name) = split(path)?;
        Ok((self.named(folder, OFlags::DIRECTORY)?, name))
    }

    pub fn open_file(self: &Arc<Self>, path: &[u8], how: How) -> Result<Arc<File>, Errno> {
        self.ledger.may_open()?;
        for _ in 0..TRIES {
            let found = match how.create && how.exclusive {
                true => Err(Errno::ENOENT),
                false => self.open_existing(path, how),
            };
            let file = match found {
                Err(Errno::ENOENT) if how.create => match self.make_file(path, how) {
                    // It came meanwhile, or a link leads to nothing.
                    Err(Errno::EEXIST) if !how.exclusive => continue,
                    made => made?,
                },
                found => found?,
            };
            return File::new(file, &self.ledger).map(Arc::new);
        }
        Err(Errno::ENOENT)
    }

    fn open_existing(&self, path: &[u8], how: How) -> Result<OwnedFd, Errno> {
        let mut flags = OFlags::empty();
        flags.set(OFlags::NOFOLLOW, how.no_link);
        flags.set(OFlags::DIRECTORY, how.folder);
        let named = self.named(path, flags)?;
        let found = fstat(&named).map_err(seen)?;
        if is_folder(&found) {
            if how.write || how.create || how.truncate {
                return Err(Errno::EISDIR);
            }
            return reopen(&named, OFlags::RDONLY | OFlags::DIRECTORY).map_err(seen);
        }
        if !is_regular(&found) {
            let is_link = found.st_mode & 0o170_000 == 0o120_000;
            // Devices and pipes do things when they are opened.
            return Err(if is_link { Errno::ELOOP } else { Errno::EACCES });
        }
        if how.truncate {
            let written = reopen(&named, OFlags::WRONLY).map_err(seen)?;
            let old = fstat(&written).map_err(seen)?;
            ftruncate(&written, 0).map_err(seen)?;
            self.ledger.resized(length(&old), 0);
        }
        reopen(&named, access(how)).map_err(seen)
    }

    fn make_file(&self, path: &[u8], how: How) -> Result<OwnedFd, Errno> {
        // What is there already is no matter of bounds.
        if let Err(full) = self.ledger.may_add() {
            let there = self.named(path, OFlags::NOFOLLOW).is_ok();
            return Err(if there { Errno::EEXIST } else { full });
        }
        let flags = access(how) | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = open_beneath(&self.folder, path, flags, how.mode)?;
        self.ledger.added();
        Ok(file)
    }

    pub fn status(&self, path: &[u8], follow: bool) -> Result<HostStatus, Errno> {
        let mut flags = OFlags::empty();
        flags.set(OFlags::NOFOLLOW, !follow);
        status(self.named(path, flags)?)
    }

    pub fn real_path(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let folder = self.named(path, OFlags::DIRECTORY)?;
        let place = |of: &OwnedFd| readlink(way_to(of), Vec::new()).map_err(seen);
        let (root, place) = (place(&self.folder)?.into_bytes(), place(&folder)?.into_bytes());
        let below = place.strip_prefix(&root[..]).ok_or(Errno::EACCES)?;
        match (below, root.ends_with(b"/")) {
            ([], _) => Ok(Vec::new()),
            (below, true) => Ok(below.to_vec()),
            ([b'/', below @ ..], false) => Ok(below.to_vec()),
            _ => Err(Errno::EACCES),
        }
    }

    pub fn link_target(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let link = self.named(path, OFlags::NOFOLLOW)?;
        match readlinkat(link, "", Vec::new()) {
            Ok(target) => Ok(target.into_bytes()),
            // As it says of what is no link.
            Err(rustix::io::Errno::NOENT) => Err(Errno::EINVAL),
            Err(errno) => Err(seen(errno)),
        }
    }

    pub fn make_folder(&self, path: &[u8], mode: u32) -> Result<(), Errno> {
        if split(path).is_err() {
            return Err(Errno::EEXIST);
        }
        let (parent, name) = self.parent(path)?;
        if let Err(full) = self.ledger.may_add() {
            let there = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            return Err(if there { Errno::EEXIST } else { full });
        }
        mkdirat(&parent, name, Mode::from_raw_mode(mode & 0o777)).map_err(seen)?;
        self.ledger.added();
        Ok(())
    }

    pub fn remove(&self, path: &[u8], folder: bool) -> Result<(), Errno> {
        let (parent, name) = self.parent(path)?;
        let old = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(seen)?;
        if !folder && ends_in_slash(path) && !is_folder(&old) {
            return Err(Errno::ENOTDIR);
        }
        let flags = match folder {
            true => AtFlags::REMOVEDIR,
            false => AtFlags::empty(),
        };
        unlinkat(&parent, name, flags).map_err(seen)?;
        self.ledger.removed(&old);
        Ok(())
    }

    pub fn rename(&self, from: &[u8], to: &[u8], replace: bool) -> Result<(), Errno> {
        let slash = ends_in_slash(from) || ends_in_slash(to);
        let ((from, old_name), (to, new_name)) = (self.parent(from)?, self.parent(to)?);
        let moved = statat(&from, old_name, AtFlags::SYMLINK_NOFOLLOW).map_err(seen)?;
        if slash && !is_folder(&moved) {
            return Err(Errno::ENOTDIR);
        }
        let replaced = statat(&to, new_name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let flags = match replace {
            true => RenameFlags::empty(),
            false => RenameFlags::NOREPLACE,
        };
        renameat_with(&from, old_name, &to, new_name, flags).map_err(seen)?;
        let same = |old: &Stat| (old.st_dev, old.st_ino) == (moved.st_dev, moved.st_ino);
        if let Some(old) = replaced.filter(|old| !same(old)) {
            self.ledger.removed(&old);
        }
        Ok(())
    }

    pub fn set_mode(&self, path: &[u8], mode: u32) -> Result<(), Errno> {
        let named = self.named(path, OFlags::empty())?;
        let found = fstat(&named).map_err(seen)?;
        if !is_regular(&found) && !is_folder(&found) {
            return Err(Errno::EACCES);
        }
        chmod(way_to(&named), Mode::from_raw_mode(mode & 0o777)).map_err(seen)
    }
}

fn access(how: How) -> OFlags {
    match (how.read, how.write) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    }
}

/// A granted folder, as threads that run machines ask for it.
pub(super) struct Folder {
    root: Arc<Root>,
    broker: Arc<Broker>,
}

impl Folder {
    pub fn new(root: Arc<Root>, broker: &Arc<Broker>) -> Folder {
        Folder {
            root,
            broker: broker.clone(),
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        path: &[u8],
        what: impl FnOnce(&Arc<Root>, &[u8]) -> Result<T, Errno> + Send + 'static,
    ) -> Result<T, Errno> {
        let (root, path) = (self.root.clone(), path.to_vec());
        self.broker.ask(move || what(&root, &path))
    }
}

impl HostFolder for Folder {
    fn open(&self, path: &[u8], how: How) -> Result<HostOpened, Errno> {
        let broker = self.broker.clone();
        // Made there: where nobody waits any more, it is closed as any other.
        let opened = self.ask(path, move |root, path| {
            Ok(Opened::new(root.open_file(path, how)?, broker))
        })?;
        Ok(HostOpened(Arc::new(opened)))
    }

    fn status(&self, path: &[u8], follow: bool) -> Result<HostStatus, Errno> {
        self.ask(path, move |root, path| root.status(path, follow))
    }

    fn real_path(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.ask(path, |root, path| root.real_path(path))
    }

    fn link_target(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.ask(path, |root, path| root.link_target(path))
    }

    fn make_folder(&self, path: &[u8], mode: u32) -> Result<(), Errno> {
        self.ask(path, move |root, path| root.make_folder(path, mode))
    }

    fn remove(&self, path: &[u8], folder: bool) -> Result<(), Errno> {
        self.ask(path, move |root, path| root.remove(path, folder))
    }

    fn rename(&self, from: &[u8], to: &[u8], replace: bool) -> Result<(), Errno> {
        let to = to.to_vec();
        self.ask(from, move |root, from| root.rename(from, &to, replace))
    }

    fn set_mode(&self, path: &[u8], mode: u32) -> Result<(), Errno> {
        self.ask(path, move |root, path| root.set_mode(path, mode))
    }
}
