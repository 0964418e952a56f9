//! What a program may add to its granted folders, and what it has added.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mayfly_linux::errno::Errno;
use rustix::fs::Stat;

/// Most files that all machines of a program have open there: the host has descriptors for other things too.
pub(super) const OPEN_MAX: usize = 512;

/// The counts. What is taken away gives room back, but never more than was added: the folders never take more of the host than at the start
/// and the bounds.
#[derive(Debug)]
pub(super) struct Ledger {
    bytes_max: u64,
    files_max: u64,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    bytes: u64,
    files: u64,
    /// How often each file is open, by device and inode.
    open: HashMap<(u64, u64), usize>,
    opened: usize,
}

impl Ledger {
    pub fn new(bytes_max: u64, files_max: u64) -> Ledger {
        Ledger {
            bytes_max,
            files_max,
            counts: Mutex::default(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes by which files may still grow.
    pub fn room(&self) -> u64 {
        self.bytes_max.saturating_sub(self.counts().bytes)
    }

    /// Counts what a file grew by or lost.
    pub fn resized(&self, from: u64, to: u64) {
        let bytes = &mut self.counts().bytes;
        *bytes = match to.checked_sub(from) {
            Some(more) => bytes.saturating_add(more),
            None => bytes.saturating_sub(from - to),
        };
    }

    /// # Errors
    /// ENOSPC when as many files were added as may be.
    pub fn may_add(&self) -> Result<(), Errno> {
        match self.counts().files < self.files_max {
            true => Ok(()),
            false => Err(Errno::ENOSPC),
        }
    }

    pub fn added(&self) {
        self.counts().files += 1;
    }

    /// Counts a name that was taken away. A file that is still open keeps its bytes until it is closed.
    pub fn removed(&self, file: &Stat) {
        let mut counts = self.counts();
        counts.files = counts.files.saturating_sub(1);
        if file.st_nlink <= 1 && is_regular(file) && !counts.open.contains_key(&key(file)) {
            counts.bytes = counts.bytes.saturating_sub(length(file));
        }
    }

    /// # Errors
    /// ENFILE when as many files are open as may be.
    pub fn may_open(&self) -> Result<(), Errno> {
        match self.counts().opened < OPEN_MAX {
            true => Ok(()),
            false => Err(Errno::ENFILE),
        }
    }

    pub fn opened(&self, file: &Stat) {
        let mut counts = self.counts();
        counts.opened += 1;
        *counts.open.entry(key(file)).or_default() += 1;
    }

    /// Counts one that is about to be closed.
    pub fn closed(&self, file: &Stat) {
        let mut counts = self.counts();
        counts.opened = counts.opened.saturating_sub(1);
        let Some(times) = counts.open.get_mut(&key(file)) else {
            return;
        };
        *times -= 1;
        if *times == 0 {
            counts.open.remove(&key(file));
            if file.st_nlink == 0 && is_regular(file) {
                counts.bytes = counts.bytes.saturating_sub(length(file));
            }
        }
    }

    /// Bytes, files and open files.
    #[cfg(test)]
    pub fn figures(&self) -> (u64, u64, usize) {
        let counts = self.counts();
        (counts.bytes, counts.files, counts.opened)
    }
}

fn key(file: &Stat) -> (u64, u64) {
    (file.st_dev, file.st_ino)
}

pub(super) fn length(file: &Stat) -> u64 {
    u64::try_from(file.st_size).unwrap_or(0)
}

pub(super) fn is_regular(file: &Stat) -> bool {
    file.st_mode & 0o170_000 == 0o100_000
}
