//! How much memory a fork holds for itself alone.

use super::{Kind, Vm};
use crate::dirty::Run;
use crate::error::Result;
use crate::layout::PAGE;
use crate::sys;

/// What is known of a fork's private pages, tables among them.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// How many there were at the last look; `None`: there may be more now.
    pages: Option<u64>,
    /// Page faults of the thread when the program last went on.
    faults: i64,
}

impl Held {
    pub fn learn(&mut self, all: &[Run]) {
        self.pages = Some(all.iter().map(|run| run.length / PAGE).sum());
    }

    pub fn forget(&mut self) {
        self.pages = None;
    }
}

impl Vm {
    /// The program goes on: page faults of this thread from here on are its own, until [`Vm::leave_thread`].
    pub fn enter_thread(&mut self) {
        if let Kind::Fork(fork) = &mut self.kind {
            fork.held.faults = sys::page_faults();
        }
    }

    /// The program stops, and other machines run on this thread.
    pub fn leave_thread(&mut self) {
        if let Kind::Fork(fork) = &mut self.kind
            && fork.held.faults != sys::page_faults()
        {
            fork.held.forget();
        }
    }

    /// What is known of its private pages is of no use: it ran on without [`Vm::leave_thread`] or a reset.
    pub fn forget_private(&mut self) {
        if let Kind::Fork(fork) = &mut self.kind {
            fork.held.forget();
        }
    }

    /// Bytes of pages that it shares with nobody: those that it wrote to since it was forked, and that no reset gave back. Looks at the
    /// page map if there was a page fault since the last look; 0 for a machine that boots.
    ///
    /// # Errors
    /// The host's page map cannot be read.
    pub fn private_bytes(&mut self) -> Result<u64> {
        self.leave_thread();
        let Kind::Fork(fork) = &mut self.kind else {
            return Ok(0);
        };
        if let Some(pages) = fork.held.pages {
            return Ok(pages * PAGE);
        }
        let private = self.space.memory().private();
        let mut all = Vec::new();
        fork.map
            .private_pages(private, private.length() as u64, &mut all)?;
        fork.held.learn(&all);
        fork.held.faults = sys::page_faults();
        Ok(fork.held.pages.unwrap_or(0) * PAGE)
    }
}
