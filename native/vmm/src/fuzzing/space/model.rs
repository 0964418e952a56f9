//! A map of pages: what each holds, allows, and which translations of it a processor may have kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{FILE_BYTES, entries, is_full};
use crate::error::Error;
use crate::layout::{PAGE, USER_END};
use crate::memory::FileId;
use crate::pte::{Protection, Pte};
use crate::space::{Access, Backing, PageFault, Space};

/// A page that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    bytes: Arc<[u8]>,
    protection: Protection,
    file: bool,
}

/// All pages, and what a processor may remember of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pages: BTreeMap<u64, Page>,
    /// Translations that existed at some time since the last flush.
    cached: BTreeSet<(u64, u64)>,
}

/// The pages from `start` on, as far as user space goes; none when the length says more.
fn range(start: u64, pages: u64) -> Option<std::ops::Range<u64>> {
    let end = pages
        .checked_mul(PAGE)
        .and_then(|length| start.checked_add(length))?;
    (end <= USER_END).then_some(start..end)
}

fn refused(done: Result<(), Error>) {
    assert!(matches!(done, Err(Error::BadRange { .. })), "{done:?}");
}

impl Model {
    pub fn private_pages(&self) -> u64 {
        self.pages.values().filter(|page| !page.file).count() as u64
    }

    pub fn map(
        &mut self,
        s: &mut Space,
        start: u64,
        pages: u64,
        backing: Backing<'_>,
        protection: Protection,
    ) {
        let done = s.map(start, pages, backing, protection);
        let Some(range) = range(start, pages) else {
            return refused(done);
        };
        for (index, at) in range.step_by(PAGE as usize).enumerate() {
            if self.pages.contains_key(&at) {
                continue;
            }
            // Where it failed, the pages before are there and those behind are not.
            if done.is_err() && s.page(at) == Access::Absent {
                break;
            }
            let first = index * PAGE as usize;
            let (bytes, file) = match backing {
                Backing::Zero => (&[][..], false),
                Backing::Bytes(bytes) => (bytes.get(first..).unwrap_or_default(), false),
                Backing::File(_, page) => (
                    &[b'f'; FILE_BYTES][..][page as usize * PAGE as usize + first..],
                    true,
                ),
            };
            let mut whole = vec![0; PAGE as usize];
            let length = bytes.len().min(whole.len());
            whole[..length].copy_from_slice(&bytes[..length]);
            self.pages.insert(
                at,
                Page {
                    bytes: whole.into(),
                    protection,
                    file,
                },
            );
        }
        match done {
            Ok(()) => {}
            Err(Error::BadFilePage { .. }) => assert!(matches!(backing, Backing::File(FileId(_), _))),
            Err(error) => assert!(is_full(&error), "{error:?}"),
        }
    }

    pub fn unmap(&mut self, s: &mut Space, start: u64, pages: u64) {
        let done = s.unmap(start, pages);
        let Some(range) = range(start, pages) else {
            return refused(done);
        };
        done.expect("unmap");
        self.pages.retain(|at, _| !range.contains(at));
    }

    pub fn protect(&mut self, s: &mut Space, start: u64, pages: u64, protection: Protection) {
        let done = s.protect(start, pages, protection);
        let Some(range) = range(start, pages) else {
            return refused(done);
        };
        done.expect("protect");
        self.pages
            .range_mut(range)
            .for_each(|(_, page)| page.protection = protection);
    }

    pub fn remap(&mut self, s: &mut Space, from: u64, to: u64, pages: u64) {
        let done = s.remap(from, to, pages);
        let (Some(old), Some(new)) = (range(from, pages), range(to, pages)) else {
            return refused(done);
        };
        if old.start < new.end && new.start < old.end {
            return refused(done);
        }
        if let Err(error) = done {
            assert!(is_full(&error), "{error:?}");
            return;
        }
        let moved: Vec<u64> = self.pages.range(old).map(|(&at, _)| at).collect();
        for at in moved {
            let page = self.pages.remove(&at).expect("it was just listed");
            self.pages.insert(to + (at - from), page);
        }
    }

    pub fn discard(&mut self, s: &mut Space, start: u64, pages: u64) {
        let done = s.discard(start, pages);
        let Some(range) = range(start, pages) else {
            return refused(done);
        };
        done.expect("discard");
        let private = self.pages.range_mut(range).filter(|(_, page)| !page.file);
        private.for_each(|(_, page)| page.bytes = [0; PAGE as usize].into());
    }

    pub fn make_private(&mut self, s: &mut Space, at: u64, protection: Protection) {
        match (s.make_private(at, protection), self.pages.get_mut(&at)) {
            (Ok(()), Some(page)) if page.file => (page.file, page.protection) = (false, protection),
            (Err(Error::BadRange { .. }), page) => assert!(page.is_none_or(|page| !page.file)),
            (Err(error), Some(page)) if page.file => assert!(is_full(&error), "{error:?}"),
            other => panic!("{other:?}"),
        }
    }

    pub fn write(&mut self, s: &mut Space, start: u64, from: &[u8], forced: bool) {
        let done = if forced {
            s.write_protected(start, from)
        } else {
            s.write(start, from)
        };
        let mut wanted = Ok(());
        for (index, &byte) in from.iter().enumerate() {
            let at = start + index as u64;
            let page = self.pages.get_mut(&(at - at % PAGE));
            match page.filter(|page| !page.file && (forced || page.protection.write)) {
                Some(page) => Arc::make_mut(&mut page.bytes)[(at % PAGE) as usize] = byte,
                None => {
                    wanted = Err(PageFault { address: at });
                    break;
                }
            }
        }
        assert_eq!(done, wanted);
    }

    /// Notes the translations that exist now: a processor may have kept them.
    pub fn remember(&mut self, s: &Space) {
        let present = entries(s).into_iter().filter(|(_, entry)| entry.is_present());
        self.cached.extend(present.map(|(at, entry)| (at, entry.0)));
    }

    /// Every kept translation that is wrong now is named, or the next entry into the guest could use it.
    pub fn flush(&mut self, s: &mut Space) {
        let named = s.take_stale();
        assert!(!s.has_stale() && named.is_sorted());
        for &(at, entry) in &self.cached {
            let (kept, now) = (Pte(entry), s.entry_at(at).unwrap_or(Pte::EMPTY));
            let wrong = kept.goes_stale(now);
            assert!(
                !wrong || named.contains(&kept.frame()),
                "{at:#x}: {entry:#x} is kept, {:#x} is true",
                now.0
            );
        }
        self.cached.clear();
        self.remember(s);
    }

    /// Every page is as the map says, and there are no others.
    pub fn compare(&self, s: &Space) {
        s.audit().expect("tables that are in order");
        let found: Vec<u64> = entries(s).into_iter().map(|(at, _)| at).collect();
        assert!(
            found.iter().eq(self.pages.keys()),
            "{found:x?} are mapped, wanted {:x?}",
            self.pages.keys()
        );
        for (&at, page) in &self.pages {
            let access = if page.file { Access::File } else { Access::Private };
            assert_eq!(s.page(at), access, "{at:#x}");
            let mut bytes = [0xaa; PAGE as usize];
            let done = s.read(at, &mut bytes);
            assert_eq!(done.is_ok(), page.protection.any(), "{at:#x}");
            assert!(done.is_err() || bytes == *page.bytes, "{at:#x} has other bytes");
            let entry = s.entry_at(at).expect("it was just read");
            let rights = (entry.is_writable(), entry.is_executable());
            let wanted = (page.protection.write && !page.file, page.protection.execute);
            assert!(
                !page.protection.any() || rights == wanted && entry.is_user(),
                "{at:#x} allows {rights:?}"
            );
        }
    }

    /// Notes that these are the pages of a snapshot.
    pub fn freeze(&mut self, s: &Space) {
        self.cached.clear();
        self.compare(s);
    }

    /// Back to the pages of a snapshot.
    pub fn restore(&mut self, snapshot: &Self) {
        self.pages.clone_from(&snapshot.pages);
    }
}
