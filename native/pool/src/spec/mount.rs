//! Host files that a guest may read, and folders that it may write.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mayfly_linux::fs::granted::{Granted, HostFolder};
use mayfly_linux::fs::host_file::HostFile as GuestFile;
use mayfly_linux::fs::vfs::Vfs;
use mayfly_linux::machine::SlotId;
use mayfly_vmm::{HostFile, Vm};
use rustix::fs::{FileType, Mode, OFlags, fstat, open, readlinkat};

use crate::granted::{Grants, open_entry, reopen, way_to};
use crate::spec::Limits;
use crate::spec::lent::{Identity, Lent, MappedFile, Origin};

/// Files from this size on get a memory slot, which all machines share with the host's page cache. Smaller ones are copied.
const SLOT_BYTES: u64 = 8 << 20;
/// Most entries of a mounted directory, in all depths.
const ENTRIES_MAX: usize = 20_000;
/// Deepest mounted directory.
const DEPTH_MAX: usize = 32;

/// A file or directory and where the guest sees it, read-only unless it is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Absolute path in the guest.
    pub guest: String,
    /// What is there.
    pub source: Source,
}

/// What a mount shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A path on the host. It must not change while programs use it; replacing it by a rename is fine.
    Host(PathBuf),
    /// A file of these bytes.
    Bytes(Vec<u8>),
    /// A folder of the host, read and written where it lies, by all machines: no reset touches it.
    Granted(PathBuf),
}

impl Mount {
    /// A host path.
    pub fn host(guest: impl Into<String>, host: impl Into<PathBuf>) -> Mount {
        Mount {
            guest: guest.into(),
            source: Source::Host(host.into()),
        }
    }

    /// A file of bytes.
    pub fn bytes(guest: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Mount {
        Mount {
            guest: guest.into(),
            source: Source::Bytes(bytes.into()),
        }
    }

    /// A folder that the guest writes.
    pub fn writable(guest: &str, host: impl Into<PathBuf>) -> Mount {
        Mount {
            guest: guest.trim_end_matches('/').into(),
            source: Source::Granted(host.into()),
        }
    }

    /// A folder that the guest writes, under the path by which it is named here.
    ///
    /// # Errors
    /// There is none.
    pub fn same_writable(path: &Path) -> io::Result<Mount> {
        let real = path.canonicalize()?;
        let named = std::path::absolute(path)?;
        // A name above another one is where the host's links lead.
        let shown = match named.components().any(|part| part == Component::ParentDir) {
            true => &real,
            false => &named,
        };
        Ok(Mount::writable(&shown.display().to_string(), &real))
    }

    fn granted(&self) -> Option<(&Mount, &Path)> {
        match &self.source {
            Source::Granted(host) => Some((self, host)),
            Source::Host(_) | Source::Bytes(_) => None,
        }
    }

    /// A host path that is the same in the guest.
    pub fn same(path: &str) -> Mount {
        Mount::host(path, path)
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Host(host) | Source::Granted(host) if host.to_str() == Some(&self.guest) => {
                f.write_str(&self.guest)
            }
            Source::Host(host) | Source::Granted(host) => write!(f, "{} ({})", host.display(), self.guest),
            Source::Bytes(_) => f.write_str(&self.guest),
        }
    }
}

/// A mount that cannot be made.
#[derive(Debug)]
pub struct MountError {
    path: PathBuf,
    why: String,
}

impl MountError {
    fn new(path: &Path, why: impl fmt::Display) -> MountError {
        MountError {
            path: path.into(),
            why: why.to_string(),
        }
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "mount {}: {}, want a readable file or directory",
            self.path.display(),
            self.why
        )
    }
}

impl std::error::Error for MountError {}

/// Opens all mounts, gives large files slots and shows everything to the guest. `lent` gets the files.
pub(crate) fn mount_all(
    mounts: &[Mount],
    limits: &Limits,
    vm: &mut Vm,
    vfs: &mut Vfs,
    lent: &mut Vec<Lent>,
) -> Result<(), MountError> {
    let granted: Vec<(&Mount, &Path)> = mounts.iter().filter_map(Mount::granted).collect();
    for (grant, host) in &granted {
        let inside = mounts.iter().find(|other| is_below(&other.guest, &grant.guest));
        let names = grant.guest.strip_prefix('/').map(|path| path.split('/'));
        let is_normal = names.is_some_and(|mut names| names.all(|name| !["", ".", ".."].contains(&name)));
        if !is_normal {
            let why = format!(
                "as {} in the guest, want an absolute path without . and ..",
                grant.guest
            );
            return Err(MountError::new(host, why));
        }
        if let Some(other) = inside {
            let why = format!("{} would lie in it, and it is written where it lies", other.guest);
            return Err(MountError::new(host, why));
        }
    }
    let mut attach = |file: &Arc<HostFile>| Ok(SlotId(vm.attach(file)?.0));
    let mut mounting = Mounting {
        attach: &mut attach,
        vfs,
        lent,
        entries: 0,
        left_out: granted.iter().map(|(grant, _)| grant.guest.as_str()).collect(),
    };
    for mount in mounts {
        match &mount.source {
            Source::Host(host) => mounting.path(&mount.guest, host)?,
            Source::Granted(_) => {}
            Source::Bytes(bytes) => {
                let file = GuestFile::new(bytes.clone());
                mounting.lent.push(Lent {
                    file: file.clone(),
                    origin: None,
                });
                mounting.vfs.mount_file(&mount.guest, file);
            }
        }
    }
    for (guest, folder) in grant_all(mounts, limits)? {
        vfs.mount_granted(guest, Granted::new(folder));
    }
    Ok(())
}

/// A folder that is open, by its path in the guest.
type GrantedAt<'a> = (&'a str, Arc<dyn HostFolder>);

/// Opens the folders among the mounts that the guest writes, by their paths in the guest.
pub(crate) fn grant_all<'a>(mounts: &'a [Mount], limits: &Limits) -> Result<Vec<GrantedAt<'a>>, MountError> {
    let mut granted = mounts.iter().filter_map(Mount::granted).peekable();
    let Some((_, first)) = granted.peek() else {
        return Ok(Vec::new());
    };
    let grants = Grants::new(limits.granted_bytes, limits.granted_files);
    let grants = grants.map_err(|e| MountError::new(first, e))?;
    let open = |(grant, host): (&'a Mount, &'a Path)| {
        let folder = grants.folder(host).map_err(|e| MountError::new(host, e))?;
        Ok((grant.guest.as_str(), folder))
    };
    granted.map(open).collect()
}

/// Whether a path lies below another one.
fn is_below(path: &str, folder: &str) -> bool {
    let below = path.strip_prefix(folder.trim_end_matches('/'));
    below.is_some_and(|below| below.starts_with('/') && below.len() > 1)
}

type Attach<'a> = dyn FnMut(&Arc<HostFile>) -> mayfly_vmm::Result<SlotId> + 'a;

/// Shows a path of the host at one of the guest, without a machine.
#[cfg(test)]
pub(crate) fn show(guest: &str, host: &Path, vfs: &mut Vfs) -> Result<(), MountError> {
    let mut mounting = Mounting {
        attach: &mut |_| panic!("there is no machine for slots"),
        vfs,
        lent: &mut Vec::new(),
        entries: 0,
        left_out: Vec::new(),
    };
    mounting.path(guest, host)
}

/// What is mounted, and where to. Below the path that was named, names lead to what lies there: links are shown, not followed, and
/// whoever changes the folder meanwhile cannot make one lead out of it.
struct Mounting<'a> {
    /// Gives a large file a slot.
    attach: &'a mut Attach<'a>,
    vfs: &'a mut Vfs,
    lent: &'a mut Vec<Lent>,
    entries: usize,
    /// Paths in the guest at which something else will be.
    left_out: Vec<&'a str>,
}

impl Mounting<'_> {
    fn path(&mut self, guest: &str, host: &Path) -> Result<(), MountError> {
        let named = open(host, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let named = named.map_err(|e| MountError::new(host, io::Error::from(e)))?;
        self.named(guest, host, named, 0)
    }

    fn named(&mut self, guest: &str, host: &Path, named: OwnedFd, depth: usize) -> Result<(), MountError> {
        let failed = |e: io::Error| MountError::new(host, e);
        if self.left_out.contains(&guest) {
            return Ok(());
        }
        let found = fstat(&named).map_err(|e| failed(e.into()))?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => {
                // Shown as it is: what it leads to is there only if it is mounted as well.
                let target = readlinkat(&named, "", Vec::new()).map_err(|e| failed(e.into()))?;
                if let Ok(target) = target.to_str() {
                    self.vfs.mount_link(guest, target);
                }
                return Ok(());
            }
            FileType::RegularFile | FileType::Directory => {}
            _ if depth > 0 => return Ok(()),
            _ => return Err(MountError::new(host, "neither file nor directory")),
        }
        self.entries += 1;
        if self.entries > ENTRIES_MAX || depth > DEPTH_MAX {
            let why = format!("over {ENTRIES_MAX} entries or {DEPTH_MAX} levels");
            return Err(MountError::new(host, why));
        }
        if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
            let file = reopen(&named, OFlags::RDONLY).map_err(|e| failed(e.into()))?;
            let file = open_file(host, file.into(), self.attach).map_err(|e| MountError::new(host, e))?;
            self.vfs.mount_file(guest, file.file.clone());
            self.lent.push(file);
            return Ok(());
        }
        self.vfs.mount_directory(guest);
        let mut names: Vec<_> = fs::read_dir(way_to(&named))
            .and_then(Iterator::collect::<io::Result<_>>)
            .map_err(failed)?;
        names.sort_by_key(fs::DirEntry::file_name);
        for entry in names {
            let name = entry.file_name();
            let path = host.join(&name);
            let shown = name
                .to_str()
                .ok_or_else(|| MountError::new(&path, "a name that is not UTF-8"))?;
            let guest = format!("{}/{shown}", guest.trim_end_matches('/'));
            let entry = open_entry(&named, name.as_bytes()).map_err(|e| MountError::new(&path, e))?;
            self.named(&guest, &path, entry, depth + 1)?;
        }
        Ok(())
    }
}

fn open_file(
    path: &Path,
    mut file: File,
    attach: &mut Attach<'_>,
) -> Result<Lent, Box<dyn std::error::Error>> {
    let meta = file.metadata()?;
    let mut window = None;
    let mut guest = if meta.len() >= SLOT_BYTES {
        let bytes = MappedFile::new(&file, meta.len())?;
        let host_file = Arc::new(HostFile::new(file)?);
        let slot = attach(&host_file)?;
        window = Some(host_file);
        let mut guest = GuestFile::new(bytes);
        guest.slot = Some(slot);
        guest
    } else {
        let mut bytes = Vec::with_capacity(meta.len() as usize);
        file.read_to_end(&mut bytes)?;
        GuestFile::new(bytes)
    };
    guest.mode = meta.permissions().mode() & 0o555;
    guest.modified = u64::try_from(meta.mtime()).unwrap_or(0);
    Ok(Lent {
        file: guest,
        origin: Some(Origin {
            path: path.into(),
            identity: Identity::of(&meta),
            window,
        }),
    })
}
