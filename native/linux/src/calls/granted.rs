//! What calls do in folders that the host granted. The host resolves the paths, and does what is asked within its bounds.

use std::sync::Arc;

use super::{Answer, Done, ZERO, value};
use crate::bounds::{BYTES, LISTING};
use crate::errno::Errno;
use crate::fs::files::{O_APPEND, O_NONBLOCK, O_PATH};
use crate::fs::granted::{Below, GrantedFile, HostFolder, HostOpened, How};
use crate::fs::vfs::{Found, Node, NodeKind};
use crate::kernel::Kernel;
use crate::machine::Machine;

/// Where a path leads that must exist.
pub(super) enum Target {
    /// A node of the tree.
    Node(usize),
    /// A place in a granted folder, of which the host alone knows whether something is there.
    Granted(Below),
}

impl Target {
    /// # Errors
    /// ENOENT when there is no node.
    pub fn of(found: Found) -> Result<Self, Errno> {
        match found.granted {
            Some(below) => Ok(Self::Granted(below)),
            None => Ok(Self::Node(found.node.ok_or(Errno::ENOENT)?)),
        }
    }
}

impl Kernel {
    /// The host's folder that a place lies in.
    pub(super) fn host_folder(&self, below: &Below) -> Result<&Arc<dyn HostFolder>, Errno> {
        match self.vfs.node(below.node) {
            Some(Node {
                kind: NodeKind::Granted(granted),
                ..
            }) => granted.folder(),
            _ => Err(Errno::EIO),
        }
    }

    /// What the host has open behind a description.
    pub(super) fn host_opened(&self, file: usize) -> Result<&HostOpened, Errno> {
        self.files.granted(file).ok_or(Errno::EINVAL)?.opened()
    }

    pub(super) fn open_granted(&mut self, below: Below, flags: u64, mode: u32) -> Answer {
        const CLOEXEC: u64 = 0o200_0000;
        const DIRECTORY: u64 = 0o20_0000;
        const UNNAMED: u64 = 0o2000_0000;
        let name_only = flags & u64::from(O_PATH) != 0;
        if flags & UNNAMED != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let how = How {
            read: flags & 3 != 1,
            write: flags & 3 != 0,
            create: flags & 0o100 != 0,
            exclusive: flags & 0o300 == 0o300,
            truncate: flags & 0o1000 != 0,
            folder: flags & DIRECTORY != 0,
            no_link: flags & 0o40_0000 != 0,
            mode,
        };
        let host = self.host_folder(&below)?;
        let (opened, status) = if name_only {
            let status = host.status(below.host_path(), !how.no_link)?;
            if how.folder && !status.is_folder() {
                return Err(Errno::ENOTDIR);
            }
            (None, status)
        } else {
            let opened = host.open(below.host_path(), how)?;
            let status = opened.0.status()?;
            (Some(opened), status)
        };
        let shown = flags as u32 & (3 | O_NONBLOCK | O_APPEND | O_PATH | DIRECTORY as u32) | 0o100_000;
        let mut below = below;
        below.path.shrink_to_fit();
        let opened = GrantedFile {
            below,
            opened,
            folder: status.is_folder(),
            offset: 0,
        };
        let file = self.files.add_granted(opened, shown)?;
        value(self.files.attach(file, 0, flags & CLOEXEC != 0)?)
    }

    /// Reads at most a piece of an open file.
    pub(super) fn read_granted(
        &self,
        m: &mut impl Machine,
        file: usize,
        address: u64,
        count: usize,
        at: u64,
    ) -> Result<u64, Errno> {
        let granted = self.files.granted(file).ok_or(Errno::EBADF)?;
        if granted.folder {
            return Err(Errno::EISDIR);
        }
        let bytes = granted.opened()?.0.read(at, count.min(BYTES as usize))?;
        self.space.write(m, address, &bytes)?;
        Ok(bytes.len() as u64)
    }

    pub(super) fn write_granted(&mut self, file: usize, bytes: &[u8], at: Option<u64>) -> Answer {
        let open = self.files.file(file).ok_or(Errno::EBADF)?;
        let appends = open.flags & O_APPEND != 0;
        let granted = self.files.granted(file).ok_or(Errno::EBADF)?;
        let place = at.or((!appends).then_some(granted.offset));
        if bytes.is_empty() {
            return ZERO;
        }
        let (count, end) = granted.opened()?.0.write(place, bytes.to_vec())?;
        if at.is_none() {
            self.files.set_granted_offset(file, end);
        }
        value(count)
    }

    pub(super) fn list_granted(
        &mut self,
        m: &mut impl Machine,
        file: usize,
        into: u64,
        length: u64,
    ) -> Answer {
        let granted = self.files.granted(file).ok_or(Errno::EBADF)?;
        if !granted.folder {
            return Err(Errno::ENOTDIR);
        }
        let room = length.min(LISTING) as usize;
        let listed = granted.opened()?.0.list(granted.offset, room)?;
        self.space.write(m, into, &listed.entries)?;
        self.files.set_granted_offset(file, listed.next);
        Ok(Done::Value(listed.entries.len() as u64))
    }

    /// `access`: what the bits say, as everywhere here.
    pub(super) fn access_granted(&self, below: &Below, mode: u64) -> Answer {
        let status = self.host_folder(below)?.status(below.host_path(), true)?;
        match mode & 1 != 0 && status.mode & 0o111 == 0 {
            true => Err(Errno::EACCES),
            false => ZERO,
        }
    }

    pub(super) fn remove_granted(&self, below: &Below, folder: bool) -> Answer {
        if below.path.is_empty() {
            return Err(if folder { Errno::EBUSY } else { Errno::EISDIR });
        }
        self.host_folder(below)?.remove(&below.path, folder).and(ZERO)
    }

    /// `rename` where a name lies in a granted folder: within one only.
    pub(super) fn rename_granted(&self, from: &Found, to: &Found, replace: bool) -> Answer {
        let (Some(from), Some(to)) = (&from.granted, &to.granted) else {
            return Err(Errno::EXDEV);
        };
        if from.path.is_empty() || to.path.is_empty() {
            return Err(Errno::EBUSY);
        }
        if from.node != to.node {
            return Err(Errno::EXDEV);
        }
        self.host_folder(from)?
            .rename(&from.path, &to.path, replace)
            .and(ZERO)
    }

    /// The place of a folder in a granted one, by its real path.
    pub(crate) fn real_place(&self, below: Below) -> Result<Below, Errno> {
        let path = self.host_folder(&below)?.real_path(below.host_path())?;
        Ok(Below { path, ..below })
    }

    /// The path of a place, for the eyes of the guest.
    pub(super) fn name_below(&self, below: &Below) -> Result<Vec<u8>, Errno> {
        let mut path = self.vfs.path_of(below.node)?;
        if !below.path.is_empty() {
            if path.last() != Some(&b'/') {
                path.push(b'/');
            }
            path.extend_from_slice(&below.path);
        }
        Ok(path)
    }
}
