//! A file of a granted folder that is open.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use mayfly_linux::errno::Errno;
use mayfly_linux::fs::granted::{HostOpen, HostStatus, Listed};
use rustix::fs::{FileType, Mode, RawDir, SeekFrom, fchmod, fstat, fsync, ftruncate, seek};
use rustix::io::{ReadWriteFlags, pread, pwrite, pwritev2};

use super::beneath::seen;
use super::broker::Broker;
use super::ledger::{Ledger, length};

/// An open file, on the thread of the files.
#[derive(Debug)]
pub(super) struct File {
    file: OwnedFd,
    ledger: Arc<Ledger>,
}

/// What the host tells of an open file.
pub(super) fn status(file: impl AsFd) -> Result<HostStatus, Errno> {
    let found = fstat(file).map_err(seen)?;
    let seconds = u64::try_from(found.st_mtime).unwrap_or(0);
    Ok(HostStatus {
        inode: found.st_ino,
        mode: found.st_mode,
        links: u32::try_from(found.st_nlink).unwrap_or(u32::MAX),
        bytes: length(&found),
        modified: seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(found.st_mtime_nsec),
    })
}

impl File {
    pub fn new(file: OwnedFd, ledger: &Arc<Ledger>) -> Result<File, Errno> {
        let found = fstat(&file).map_err(seen)?;
        ledger.opened(&found);
        Ok(File {
            file,
            ledger: ledger.clone(),
        })
    }

    /// Counts it as closed; the last reference closes it.
    fn close(&self) {
        if let Ok(found) = fstat(&self.file) {
            self.ledger.closed(&found);
        }
    }

    fn read(&self, at: u64, count: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; count];
        let got = pread(&self.file, &mut bytes[..], at).map_err(seen)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    fn write(&self, at: Option<u64>, bytes: &[u8]) -> Result<(u64, u64), Errno> {
        let old = length(&fstat(&self.file).map_err(seen)?);
        let start = at.unwrap_or(old);
        let end = start.checked_add(bytes.len() as u64).ok_or(Errno::EFBIG)?;
        let fits = end.min(old.saturating_add(self.ledger.room()).max(start));
        // As much of them as there is room for.
        let bytes = &bytes[..(fits - start) as usize];
        if bytes.is_empty() || start > old.saturating_add(self.ledger.room()) {
            return Err(Errno::ENOSPC);
        }
        let wrote = match at {
            Some(at) => pwrite(&self.file, bytes, at),
            None => {
                let part = [std::io::IoSlice::new(bytes)];
                pwritev2(&self.file, &part, 0, ReadWriteFlags::APPEND)
            }
        };
        let count = wrote.map_err(seen)? as u64;
        // Another process may have written meanwhile: what it wrote is not counted.
        self.ledger.resized(old, old.max(start + count));
        let end = match at {
            Some(at) => at + count,
            None => length(&fstat(&self.file).map_err(seen)?),
        };
        Ok((count, end))
    }

    fn set_length(&self, bytes: u64) -> Result<(), Errno> {
        let old = length(&fstat(&self.file).map_err(seen)?);
        if bytes.saturating_sub(old) > self.ledger.room() {
            return Err(Errno::ENOSPC);
        }
        ftruncate(&self.file, bytes).map_err(seen)?;
        self.ledger.resized(old, bytes);
        Ok(())
    }

    fn set_mode(&self, mode: u32) -> Result<(), Errno> {
        fchmod(&self.file, Mode::from_raw_mode(mode & 0o777)).map_err(seen)
    }

    fn sync(&self) -> Result<(), Errno> {
        fsync(&self.file).map_err(seen)
    }

    fn list(&self, at: u64, room: usize) -> Result<Listed, Errno> {
        // The machines of a program may share it: its place is set each time.
        seek(&self.file, SeekFrom::Start(at)).map_err(seen)?;
        let mut buffer = vec![MaybeUninit::uninit(); room];
        let mut names = RawDir::new(&self.file, &mut buffer);
        let mut listed = Listed {
            entries: Vec::new(),
            next: at,
        };
        while let Some(entry) = names.next() {
            let entry = entry.map_err(seen)?;
            let name = entry.file_name().to_bytes();
            let size = (19 + name.len() + 1).next_multiple_of(8);
            let start = listed.entries.len();
            // The kernel's own entries are as long, so they fit.
            listed.entries.extend(entry.ino().to_le_bytes());
            listed.entries.extend(entry.next_entry_cookie().to_le_bytes());
            listed.entries.extend((size as u16).to_le_bytes());
            listed.entries.push(kind_of(entry.file_type()));
            listed.entries.extend(name);
            listed.entries.resize(start + size, 0);
            listed.next = entry.next_entry_cookie();
            if names.is_buffer_empty() {
                break;
            }
        }
        Ok(listed)
    }
}

/// `d_type` of an entry.
fn kind_of(kind: FileType) -> u8 {
    match kind {
        FileType::Unknown => 0,
        known => (known.as_raw_mode() >> 12) as u8,
    }
}

/// An open file, as threads that run machines ask for it.
pub(super) struct Opened {
    file: Arc<File>,
    broker: Arc<Broker>,
}

impl Opened {
    pub fn new(file: Arc<File>, broker: Arc<Broker>) -> Opened {
        Opened { file, broker }
    }

    fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce(&File) -> Result<T, Errno> + Send + 'static,
    ) -> Result<T, Errno> {
        let file = self.file.clone();
        self.broker.ask(move || what(&file))
    }
}

impl HostOpen for Opened {
    fn status(&self) -> Result<HostStatus, Errno> {
        self.ask(|file| status(&file.file))
    }

    fn read(&self, at: u64, count: usize) -> Result<Vec<u8>, Errno> {
        self.ask(move |file| file.read(at, count))
    }

    fn write(&self, at: Option<u64>, bytes: Vec<u8>) -> Result<(u64, u64), Errno> {
        self.ask(move |file| file.write(at, &bytes))
    }

    fn set_length(&self, bytes: u64) -> Result<(), Errno> {
        self.ask(move |file| file.set_length(bytes))
    }

    fn set_mode(&self, mode: u32) -> Result<(), Errno> {
        self.ask(move |file| file.set_mode(mode))
    }

    fn sync(&self) -> Result<(), Errno> {
        self.ask(File::sync)
    }

    fn list(&self, at: u64, room: usize) -> Result<Listed, Errno> {
        self.ask(move |file| file.list(at, room))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let file = self.file.clone();
        self.broker.tell(move || file.close());
    }
}
