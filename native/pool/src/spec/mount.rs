//! Host files that a guest may read.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayfly_linux::fs::host_file::HostFile as GuestFile;
use mayfly_linux::fs::vfs::Vfs;
use mayfly_linux::machine::SlotId;
use mayfly_vmm::{HostFile, Vm};

use crate::spec::lent::{Identity, Lent, MappedFile, Origin};

/// Files from this size on get a memory slot, which all machines share with the host's page cache. Smaller ones are copied.
const SLOT_BYTES: u64 = 8 << 20;
/// Most entries of a mounted directory, in all depths.
const ENTRIES_MAX: usize = 20_000;
/// Deepest mounted directory.
const DEPTH_MAX: usize = 32;

/// A file or directory and where the guest sees it, read-only.
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

    /// A host path that is the same in the guest.
    pub fn same(path: &str) -> Mount {
        Mount::host(path, path)
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
    vm: &mut Vm,
    vfs: &mut Vfs,
    lent: &mut Vec<Lent>,
) -> Result<(), MountError> {
    let mut entries = 0;
    for mount in mounts {
        match &mount.source {
            Source::Host(host) => mount_one(&mount.guest, host, vm, vfs, (lent, &mut entries), 0)?,
            Source::Bytes(bytes) => {
                let file = GuestFile::new(bytes.clone());
                lent.push(Lent {
                    file: file.clone(),
                    origin: None,
                });
                vfs.mount_file(&mount.guest, file);
            }
        }
    }
    Ok(())
}

fn mount_one(
    guest: &str,
    host: &Path,
    vm: &mut Vm,
    vfs: &mut Vfs,
    (lent, entries): (&mut Vec<Lent>, &mut usize),
    depth: usize,
) -> Result<(), MountError> {
    *entries += 1;
    if *entries > ENTRIES_MAX || depth > DEPTH_MAX {
        let why = format!("over {ENTRIES_MAX} entries or {DEPTH_MAX} levels");
        return Err(MountError::new(host, why));
    }
    let meta = fs::metadata(host).map_err(|e| MountError::new(host, e))?;
    if meta.is_file() {
        let file = open_file(host, vm).map_err(|e| MountError::new(host, e))?;
        vfs.mount_file(guest, file.file.clone());
        lent.push(file);
        return Ok(());
    }
    if !meta.is_dir() {
        return Err(MountError::new(host, "neither file nor directory"));
    }
    vfs.mount_directory(guest);
    let mut names: Vec<_> = fs::read_dir(host)
        .and_then(Iterator::collect::<io::Result<_>>)
        .map_err(|e| MountError::new(host, e))?;
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let name = entry.file_name();
        let name = name
            .to_str()
            .ok_or_else(|| MountError::new(&entry.path(), "a name that is not UTF-8"))?;
        let guest = format!("{}/{name}", guest.trim_end_matches('/'));
        let kind = entry.file_type().map_err(|e| MountError::new(&entry.path(), e))?;
        if kind.is_symlink() {
            // Shown as it is: what it leads to is there only if it is mounted as well.
            let target = fs::read_link(entry.path()).map_err(|e| MountError::new(&entry.path(), e))?;
            if let Some(target) = target.to_str() {
                vfs.mount_link(&guest, target);
            }
        } else if kind.is_file() || kind.is_dir() {
            mount_one(&guest, &entry.path(), vm, vfs, (lent, entries), depth + 1)?;
        }
    }
    Ok(())
}

fn open_file(path: &Path, vm: &mut Vm) -> Result<Lent, Box<dyn std::error::Error>> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    let mut window = None;
    let mut guest = if meta.len() >= SLOT_BYTES {
        let bytes = MappedFile::new(&file, meta.len())?;
        let host_file = Arc::new(HostFile::new(file)?);
        let slot = vm.attach(&host_file)?;
        window = Some(host_file);
        let mut guest = GuestFile::new(bytes);
        guest.slot = Some(SlotId(slot.0));
        guest
    } else {
        GuestFile::new(fs::read(path)?)
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
