//! Which pages of a private mapping were copied by a write: the host kernel's page map.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::layout::PAGE;
use crate::sys::Mapping;

/// A run of pages: offset and length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub start: u64,
    pub length: u64,
}

/// Appends a page range to a sorted list of runs.
pub(crate) fn push_run(runs: &mut Vec<Run>, start: u64, length: u64) {
    match runs.last_mut() {
        Some(last) if last.start + last.length == start => last.length += length,
        _ => runs.push(Run { start, length }),
    }
}

/// `struct pm_scan_arg` of linux/fs.h.
#[repr(C)]
#[derive(Default)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vector: u64,
    vector_length: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_any_of_mask: u64,
    return_mask: u64,
}

/// `struct page_region` of linux/fs.h.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const _: () = assert!(
    size_of::<ScanArgument>() == 96,
    "dirty.rs: see struct pm_scan_arg in linux/fs.h"
);

const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;
const PAGE_IS_PFNZERO: u64 = 1 << 5;
/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::Ioctl = 0xc060_6610u32 as libc::Ioctl;

/// The page map of this process: opened once, since threads that run machines may open nothing.
fn page_map_file() -> Result<&'static File> {
    static FILE: OnceLock<File> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(file);
    }
    let file = File::open("/proc/self/pagemap").map_err(|source| Error::Host {
        attempt: "open the page map",
        source,
    })?;
    // Of two that open it at the same time, one closes its own.
    Ok(FILE.get_or_init(|| file))
}

/// The descriptor of `/proc/self/pagemap`, which resets read: the one file that a thread's filter has to let it read.
pub fn page_map_descriptor() -> Result<RawFd> {
    page_map_file().map(AsRawFd::as_raw_fd)
}

/// Finds private pages.
#[derive(Debug)]
pub(crate) struct PageMap {
    file: &'static File,
    regions: Vec<Region>,
    /// The kernel is older than 6.7: read the map entry by entry.
    plain: bool,
}

impl PageMap {
    pub fn open() -> Result<PageMap> {
        Ok(PageMap {
            file: page_map_file()?,
            regions: vec![Region::default(); 512],
            plain: false,
        })
    }

    /// The pages among the first `length` bytes of `mapping` that belong to this process alone (copied by a write, or swapped
    /// out after it), sorted.
    pub fn private_pages(&mut self, mapping: &Mapping, length: u64, runs: &mut Vec<Run>) -> Result<()> {
        runs.clear();
        if !self.plain {
            match self.scan(mapping, length, runs) {
                Ok(()) => return Ok(()),
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => self.plain = true,
                Err(source) => {
                    return Err(Error::Host {
                        attempt: "scan the page map",
                        source,
                    });
                }
            }
        }
        runs.clear();
        self.read(mapping, length, runs).map_err(|source| Error::Host {
            attempt: "read the page map",
            source,
        })
    }

    fn scan(&mut self, mapping: &Mapping, length: u64, runs: &mut Vec<Run>) -> io::Result<()> {
        let base = mapping.base() as u64;
        let mut start = base;
        let end = base + length.min(mapping.length() as u64);
        while start < end {
            let mut argument = ScanArgument {
                size: size_of::<ScanArgument>() as u64,
                start,
                end,
                vector: self.regions.as_mut_ptr() as u64,
                vector_length: self.regions.len() as u64,
                category_inverted: PAGE_IS_FILE | PAGE_IS_PFNZERO,
                category_mask: PAGE_IS_FILE | PAGE_IS_PFNZERO,
                category_any_of_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
                return_mask: PAGE_IS_PRESENT,
                ..ScanArgument::default()
            };
            // SAFETY: the argument has the kernel's layout (size asserted above) and names a vector of ours with its length.
            let n = unsafe { libc::ioctl(self.file.as_raw_fd(), PAGEMAP_SCAN, &mut argument) };
            if n < 0 {
                match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::Interrupted => continue,
                    e => return Err(e),
                }
            }
            for r in &self.regions[..(n as usize).min(self.regions.len())] {
                push_run(runs, r.start - base, r.end - r.start);
            }
            if argument.walk_end <= start {
                break;
            }
            start = argument.walk_end;
        }
        Ok(())
    }

    fn read(&mut self, mapping: &Mapping, length: u64, runs: &mut Vec<Run>) -> io::Result<()> {
        let first = mapping.base() as u64 / PAGE;
        let pages = length.min(mapping.length() as u64) / PAGE;
        let mut entries = [0u8; 4096];
        let mut page = 0;
        while page < pages {
            let n = (pages - page).min(512) as usize;
            self.file
                .read_exact_at(&mut entries[..8 * n], (first + page) * 8)?;
            for (i, entry) in entries[..8 * n].chunks_exact(8).enumerate() {
                let entry = u64::from_le_bytes(entry.try_into().expect("eight bytes"));
                // Bits 63 present, 62 swapped, 61 file page or shared. The zero page counts as private here: harmless, its
                // copy is what it was.
                if entry >> 62 != 0 && entry >> 61 & 1 == 0 {
                    push_run(runs, (page + i as u64) * PAGE, PAGE);
                }
            }
            page += n as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{self, Overlay};

    fn written(mapping: &Mapping, page: u64) {
        let p = mapping.at(page * PAGE, 1).unwrap();
        // SAFETY: the byte is inside of a writable mapping of the test's own.
        unsafe { p.write_volatile(7) };
    }

    fn setup() -> Mapping {
        let file = sys::memory_file(64 * PAGE).unwrap();
        let mut m = Mapping::anonymous(128 * PAGE as usize).unwrap();
        m.overlay(0, (&file, 0), 64 * PAGE as usize, Overlay::Private)
            .unwrap();
        m
    }

    fn pages(runs: &[Run]) -> Vec<u64> {
        runs.iter()
            .flat_map(|r| (r.start / PAGE)..((r.start + r.length) / PAGE))
            .collect()
    }

    #[test]
    fn scan_and_read_find_exactly_the_written_pages() {
        let m = setup();
        for p in [0, 1, 7, 63, 64, 100, 127] {
            written(&m, p);
        }
        // SAFETY: the byte is inside of the mapping: reading it maps the file's page, which must not count.
        unsafe { m.at(20 * PAGE, 1).unwrap().read_volatile() };
        let mut map = PageMap::open().unwrap();
        let mut runs = Vec::new();
        for plain in [map.plain, true] {
            map.plain = plain;
            map.private_pages(&m, 128 * PAGE, &mut runs).unwrap();
            assert_eq!(pages(&runs), [0, 1, 7, 63, 64, 100, 127], "plain {plain}");
            map.private_pages(&m, 64 * PAGE, &mut runs).unwrap();
            assert_eq!(pages(&runs), [0, 1, 7, 63]);
        }
    }

    #[test]
    fn scan_of_more_runs_than_its_vector_holds_finds_all() {
        let m = Mapping::anonymous(4096 * PAGE as usize).unwrap();
        for p in (0..4096).step_by(2) {
            written(&m, p);
        }
        let mut runs = Vec::new();
        PageMap::open()
            .unwrap()
            .private_pages(&m, 4096 * PAGE, &mut runs)
            .unwrap();
        assert_eq!(runs.len(), 2048);
    }

    #[test]
    fn discarded_pages_are_private_no_more() {
        let m = setup();
        written(&m, 3);
        m.discard(3 * PAGE, PAGE as usize).unwrap();
        let mut runs = Vec::new();
        PageMap::open()
            .unwrap()
            .private_pages(&m, 128 * PAGE, &mut runs)
            .unwrap();
        assert!(runs.is_empty());
    }
}
