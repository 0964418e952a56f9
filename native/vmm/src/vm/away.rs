//! A program in the middle of a request, taken out of its machine, and put into another fork of the same snapshot later: a machine costs
//! twenty times as much to make as what a request changed costs to copy out.
//!
//! It holds the lines of the private pages that differ from the snapshot's, the registers, and what is known of frames. One that changed
//! its page tables stays in its machine. The machine that it left is to be reset, as after the end of a request: nothing here makes it
//! clean. The machine that it comes to is clean before, and its reset finds the pages as it finds those that the program wrote to.

use std::sync::Arc;

use super::reset::Fork;
use super::{Kind, Vm};
use crate::error::{Error, Result};
use crate::layout::PAGE;
use crate::snapshot::Snapshot;
use crate::space::SpaceState;
use crate::vcpu::CpuState;

/// Bytes of the pieces of a page that are compared and kept.
const LINE: usize = 64;
/// One bit of a page's mask stands for one line.
const _: () = assert!(PAGE as usize / LINE == u64::BITS as usize);
/// Private pages above which a program stays in its machine.
const MOST_PAGES: u64 = 512;

/// A page of the program, and which lines of it differ from the snapshot's.
#[derive(Clone, Copy, Debug)]
struct Changed {
    frame: u64,
    lines: u64,
}

/// What a program changed of its machine.
#[derive(Debug)]
pub struct Away {
    snapshot: Arc<Snapshot>,
    pages: Vec<Changed>,
    /// The lines of these pages, one behind the other.
    bytes: Vec<u8>,
    space: Option<SpaceState>,
    state: CpuState,
}

impl Vm {
    /// Copies out what the program changed, which goes on elsewhere ([`Vm::put_in`]); this machine is to be reset. `None`: it has to stay.
    ///
    /// # Errors
    /// The host's page map or the registers cannot be read; the program is still here.
    pub fn take_out(&mut self) -> Result<Option<Away>> {
        let Kind::Fork(fork) = &mut self.kind else {
            return Ok(None);
        };
        if self.flush_pending || !self.space.has_tables_of_snapshot() {
            return Ok(None);
        }
        fork.learn_private(&self.space)?;
        if fork.private_pages() > MOST_PAGES {
            return Ok(None);
        }
        let state = self.vcpu.state()?;
        let (mut pages, mut bytes) = (Vec::new(), Vec::new());
        for frame in fork.each_private() {
            let mut now = [0; PAGE as usize];
            self.space.memory().read(frame, 0, &mut now)?;
            let mut then = [0; PAGE as usize];
            fork.snapshot().read(frame, &mut then);
            let lines = differing(&now, &then);
            if lines != 0 {
                pages.push(Changed { frame, lines });
                each_line(lines).for_each(|at| bytes.extend_from_slice(&now[at..at + LINE]));
            }
        }
        Ok(Some(Away {
            snapshot: fork.snapshot().clone(),
            pages,
            bytes,
            space: self.space.changed_state(),
            state,
        }))
    }

    /// Goes on with what was taken out of a machine: this one is another fork of the same snapshot, as it was made or reset.
    ///
    /// # Errors
    /// It is no such machine, or the host refuses the registers; the machine is to be dropped, and the program is lost.
    pub fn put_in(&mut self, away: &Away) -> Result<()> {
        let Kind::Fork(fork) = &mut self.kind else {
            return Err(Error::WrongKind {
                attempt: "put a program into a machine that is no fork",
            });
        };
        if !Arc::ptr_eq(fork.snapshot(), &away.snapshot) {
            return Err(Error::WrongKind {
                attempt: "put a program into a fork of another snapshot",
            });
        }
        fork.held.forget();
        let mut lines = away.bytes.chunks_exact(LINE);
        for page in &away.pages {
            for (at, line) in each_line(page.lines).zip(&mut lines) {
                self.space.memory_mut().write(page.frame, at as u64, line)?;
            }
        }
        if let Some(state) = &away.space {
            self.space.set_state(state.clone());
        }
        self.vcpu.load(&away.state, None)?;
        if away.state.xsave != away.snapshot.state.xsave {
            self.vcpu.set_xsave(&away.state.xsave)?;
        }
        Ok(())
    }
}

impl Snapshot {
    /// A page as it was, or zeros behind the end.
    fn read(&self, frame: u64, into: &mut [u8; PAGE as usize]) {
        if let Some(page) = self.image.at(frame, PAGE as usize) {
            // SAFETY: `at` checked the page, which nobody writes.
            unsafe { std::ptr::copy_nonoverlapping(page, into.as_mut_ptr(), into.len()) };
        }
    }
}

impl Fork {
    /// Frames of the private pages that hold content.
    fn each_private(&self) -> impl Iterator<Item = u64> {
        super::decay::pages(self.private_runs())
    }
}

/// A bit for each line in which two pages differ.
fn differing(now: &[u8; PAGE as usize], then: &[u8; PAGE as usize]) -> u64 {
    let lines = now.chunks_exact(LINE).zip(then.chunks_exact(LINE));
    lines
        .enumerate()
        .fold(0, |mask, (i, (now, then))| mask | u64::from(now != then) << i)
}

/// Offsets of the lines whose bits are set.
fn each_line(lines: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize)
        .filter(move |i| lines >> i & 1 == 1)
        .map(|i| i * LINE)
}
