//! The files that a host lends to a program, in a snapshot's file: where each came from, so that it is found again, or seen to be another
//! one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayfly_linux::fs::host_file::HostFile as GuestFile;
use mayfly_linux::machine::SlotId;
use mayfly_vmm::HostFile;
use serde::{Deserialize, Serialize};

use super::format::{Checksum, Fault, refused};
use crate::spec::lent::{Identity, Lent, MappedFile, Origin};

/// The same in a snapshot's file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StoredLent {
    /// The base has it, by its number there.
    OfBase(u32),
    /// So many bytes of the contents.
    Given { bytes: u64, mode: u32, modified: u64 },
    /// A file of the host's.
    Host {
        path: PathBuf,
        identity: Identity,
        checksum: u128,
        slot: Option<u32>,
        mode: u32,
        modified: u64,
    },
}

impl StoredLent {
    pub fn of(lent: &Lent, base: &[Lent]) -> StoredLent {
        let file = &lent.file;
        let same = |other: &Lent| other.file == *file;
        if let Some(number) = base.iter().position(same) {
            return StoredLent::OfBase(number as u32);
        }
        let (mode, modified) = (file.mode, file.modified);
        match &lent.origin {
            None => StoredLent::Given {
                bytes: file.length(),
                mode,
                modified,
            },
            Some(origin) => StoredLent::Host {
                path: origin.path.clone(),
                identity: origin.identity,
                checksum: Checksum::of(&file.part(0..u64::MAX)),
                slot: file.slot.map(|slot| slot.0),
                mode,
                modified,
            },
        }
    }

    /// The file, opened anew. `contents` are those that no other file has taken.
    pub fn lend(self, base: &[Lent], contents: &mut &[u8]) -> Result<Lent, Fault> {
        match self {
            StoredLent::OfBase(number) => match base.get(number as usize) {
                Some(lent) => Ok(lent.clone()),
                None => refused(format!("its base has no file {number}")),
            },
            StoredLent::Given {
                bytes,
                mode,
                modified,
            } => {
                let Some((own, rest)) =
                    contents.split_at_checked(usize::try_from(bytes).unwrap_or(usize::MAX))
                else {
                    return refused("bytes of a file are missing");
                };
                *contents = rest;
                let mut file = GuestFile::new(own.to_vec());
                (file.mode, file.modified) = (mode & 0o777, modified);
                Ok(Lent { file, origin: None })
            }
            StoredLent::Host {
                path,
                identity,
                checksum,
                slot,
                mode,
                modified,
            } => {
                let mut lent = reopen(&path, identity, checksum, slot)?;
                (lent.file.mode, lent.file.modified) = (mode & 0o777, modified);
                Ok(lent)
            }
        }
    }
}

/// Opens a file of the host's if it is still the one that it was.
fn reopen(path: &Path, then: Identity, checksum: u128, slot: Option<u32>) -> Result<Lent, Fault> {
    let other = |what: &str| refused(format!("it was made with another {}: {what}", path.display()));
    let open = File::open(path).and_then(|file| file.metadata().map(|meta| (file, meta)));
    let (file, meta) = match open {
        Ok(open) => open,
        Err(e) => return other(&e.to_string()),
    };
    let identity = Identity::of(&meta);
    if !meta.is_file() || identity.bytes != then.bytes {
        return other(&format!(
            "it had {} bytes, and now has {}",
            then.bytes, identity.bytes
        ));
    }
    let (mut guest, window) = match slot {
        Some(slot) => {
            let mut guest = GuestFile::new(MappedFile::new(&file, meta.len())?);
            guest.slot = Some(SlotId(slot));
            let window = HostFile::new(file).map_err(|e| Fault::Refused(e.to_string()))?;
            (guest, Some(Arc::new(window)))
        }
        None => (GuestFile::new(fs::read(path)?), None),
    };
    guest.held = 0;
    // One that lies in memory is read anyway; a large one is looked through only if something was done to it.
    if (slot.is_none() || identity != then) && Checksum::of(&guest.part(0..u64::MAX)) != checksum {
        return other("it was written since");
    }
    Ok(Lent {
        file: guest,
        origin: Some(Origin {
            path: path.into(),
            identity,
            window,
        }),
    })
}
