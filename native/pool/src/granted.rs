//! Folders of the host that a program reads and writes where they lie.
//!
//! ```text
//! thread that runs machines, under its filter          thread of the files, one a program
//! call ── personality ── Folder, Opened ── ask ──────> beneath: openat2 below the granted folder
//!         waits, ANSWER_MAX at most <───────────────── ledger: bytes and files that the program added
//! ```
//! A thread that runs machines may open nothing. So another one does all that the host is asked, one after the other, and each is a
//! bounded piece of a call. The guest's words are a path, a place, a count and bytes.

mod beneath;
mod broker;
mod folder;
mod ledger;
mod opened;
#[cfg(test)]
mod races;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

use mayfly_linux::fs::granted::HostFolder;

pub(crate) use beneath::{open_entry, reopen, way_to};

use broker::Broker;
use folder::{Folder, Root};
use ledger::Ledger;

/// The granted folders of one program.
#[derive(Debug)]
pub(crate) struct Grants {
    broker: Arc<Broker>,
    ledger: Arc<Ledger>,
}

impl Grants {
    /// For a program whose files may grow by so many bytes, and that may add so many files.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(bytes: u64, files: u64) -> io::Result<Grants> {
        Ok(Grants {
            broker: Arc::new(Broker::start()?),
            ledger: Arc::new(Ledger::new(bytes, files)),
        })
    }

    /// Grants a folder.
    ///
    /// # Errors
    /// It is none, cannot be opened, or the host's kernel has no `openat2`.
    pub fn folder(&self, path: &Path) -> io::Result<Arc<dyn HostFolder>> {
        let root = Root::open(path, &self.ledger)?;
        Ok(Arc::new(Folder::new(root, &self.broker)))
    }
}
