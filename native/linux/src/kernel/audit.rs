//! A walk over all tables of a kernel that checks what must hold after every exit: bounds, counts, and references that lead somewhere.
//! For tests and fuzzing; it costs as much as the tables are long.

use std::collections::BTreeSet;

use crate::kernel::Kernel;
use crate::machine::{Protection, USER_END};
use crate::mem::vma::Source;
use crate::state::ensure::ensure;

impl Kernel {
    /// Checks every table against its limit and against the others.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub fn audit(&self) -> Result<(), String> {
        self.audit_space()?;
        ensure(self.waits() == self.waiting, || {
            format!(
                "{} bytes of waits are counted, {} are",
                self.waiting,
                self.waits()
            )
        })?;
        self.audit_threads()?;
        self.files.audit()?;
        let mut holds = self.files.nodes_held();
        *holds.entry(self.process.folder).or_default() += 1;
        self.vfs.audit(&holds)
    }

    /// Checks what a machine has mapped (address, protection, whether it is a page of a shared slot) against the mappings.
    ///
    /// # Errors
    /// The first page that no mapping, or another one, allows.
    pub fn audit_pages(&self, pages: impl Iterator<Item = (u64, Protection, bool)>) -> Result<(), String> {
        for (page, protection, shared) in pages {
            let Some((_, mapping)) = self.space.tree.find(page) else {
                return Err(format!("page {page:#x} is there and not mapped"));
            };
            ensure(protection == mapping.protection, || {
                format!(
                    "page {page:#x} allows {protection:?}, its mapping {:?}",
                    mapping.protection
                )
            })?;
            let slot = matches!(&mapping.source, Source::File { file, .. } if file.slot.is_some());
            ensure(slot || !shared, || {
                format!("page {page:#x} is shared, its mapping has no slot")
            })?;
        }
        Ok(())
    }

    fn audit_space(&self) -> Result<(), String> {
        let tree = &self.space.tree;
        tree.audit()?;
        let (mappings, reserved) = (tree.len(), tree.reserved());
        ensure(mappings <= self.limits.mappings, || {
            format!("{mappings} mappings, wanted at most {}", self.limits.mappings)
        })?;
        ensure(reserved <= self.limits.reserved_bytes, || {
            format!(
                "{reserved} bytes mapped, wanted at most {}",
                self.limits.reserved_bytes
            )
        })?;
        let kept = tree.bytes_of_guest();
        ensure(kept <= self.limits.file_bytes, || {
            format!(
                "mappings keep {kept} bytes of files, wanted at most {}",
                self.limits.file_bytes
            )
        })
    }

    fn audit_threads(&self) -> Result<(), String> {
        let count = self.threads.count();
        ensure(self.threads.agrees(), || {
            "the threads' slots are counted wrong".into()
        })?;
        ensure(count <= self.limits.threads, || {
            format!("{count} threads, wanted at most {}", self.limits.threads)
        })?;
        let ids: BTreeSet<i32> = self.threads.iter().map(|(_, thread)| thread.tid).collect();
        ensure(ids.len() == count, || "two threads have the same id".into())?;
        for (slot, thread) in self.threads.iter() {
            let r = &thread.registers;
            ensure(r.rip < USER_END, || {
                format!("thread {slot} would go on at {:#x}", r.rip)
            })?;
            ensure(thread.fs_base < USER_END && thread.gs_base < USER_END, || {
                format!(
                    "thread {slot} has bases {:#x} and {:#x}",
                    thread.fs_base, thread.gs_base
                )
            })?;
            ensure(thread.mask & crate::task::signal::UNBLOCKABLE == 0, || {
                format!("thread {slot} blocks {:#x}", thread.mask)
            })?;
        }
        Ok(())
    }
}
