//! Guest-physical memory: one private range from zero, and read-only windows on host files.

use std::fs::File;
use std::ptr;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::layout::{FILES, PAGE};
use crate::sys::{self, Mapping};

/// Names a host file that was attached to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A host file whose pages guests may map read-only. The file must not change while it is in use.
#[derive(Debug)]
pub struct HostFile {
    file: File,
    length: u64,
}

impl HostFile {
    /// Takes an open regular file.
    pub fn new(file: File) -> Result<HostFile> {
        let meta = file.metadata().map_err(|source| Error::Host {
            attempt: "look at a host file",
            source,
        })?;
        Ok(HostFile {
            file,
            length: meta.len(),
        })
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// A window of guest-physical memory on a host file. Each machine maps it anew: flushing a translation takes the mapping's
/// rights for a moment, which another machine's vCPU must not meet.
#[derive(Debug)]
pub(crate) struct FileWindow {
    pub file: Arc<HostFile>,
    pub mapping: Mapping,
    pub start: u64,
}

/// Guest memory as the host sees it. Only copies go in and out; no reference into it is ever made, since the guest writes it.
#[derive(Debug)]
pub(crate) struct Memory {
    private: Mapping,
    windows: Vec<FileWindow>,
}

impl Memory {
    pub fn new(private: Mapping) -> Memory {
        Memory {
            private,
            windows: Vec::new(),
        }
    }

    pub fn private(&self) -> &Mapping {
        &self.private
    }

    pub fn windows(&self) -> &[FileWindow] {
        &self.windows
    }

    /// Adds a window behind the last one.
    pub fn attach(&mut self, file: &Arc<HostFile>) -> Result<FileId> {
        let length = sys::whole_pages(file.length).ok_or(Error::BadFilePage { page: 0 })?;
        if length == 0 {
            return Err(Error::BadFilePage { page: 0 });
        }
        let start = self
            .windows
            .last()
            .map_or(FILES, |w| w.start + w.mapping.length() as u64);
        let mapping = Mapping::shared(&file.file, length, false)?;
        self.windows.push(FileWindow {
            file: file.clone(),
            mapping,
            start,
        });
        Ok(FileId((self.windows.len() - 1) as u32))
    }

    /// The guest-physical address of a file's page.
    pub fn file_page(&self, file: FileId, page: u64) -> Result<u64> {
        let window = self
            .windows
            .get(file.0 as usize)
            .ok_or(Error::BadFilePage { page })?;
        if page >= window.mapping.length() as u64 / PAGE {
            return Err(Error::BadFilePage { page });
        }
        Ok(window.start + page * PAGE)
    }

    /// The host address of a frame, private or of a file.
    pub fn frame(&self, frame: u64) -> Option<*const u8> {
        if frame < FILES {
            return self.private.at(frame, PAGE as usize).map(<*mut u8>::cast_const);
        }
        let window = self.windows.iter().rfind(|w| w.start <= frame)?;
        window
            .mapping
            .at(frame - window.start, PAGE as usize)
            .map(<*mut u8>::cast_const)
    }

    /// Copies out of a frame. `offset + into.len()` is at most a page.
    pub fn read(&self, frame: u64, offset: u64, into: &mut [u8]) -> Result<()> {
        let source = self.frame(frame).filter(|_| offset + into.len() as u64 <= PAGE);
        let source = source.ok_or(Error::Broken {
            what: "read outside of guest memory",
        })?;
        // SAFETY: `frame` checked that a whole page lies at `source`, and the range ends inside of it. No vCPU runs while the
        // host copies: there is one vCPU and it runs on this thread.
        unsafe { ptr::copy_nonoverlapping(source.add(offset as usize), into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies into a private frame. `offset + from.len()` is at most a page.
    pub fn write(&mut self, frame: u64, offset: u64, from: &[u8]) -> Result<()> {
        let target = self
            .private
            .at(frame, PAGE as usize)
            .filter(|_| offset + from.len() as u64 <= PAGE);
        let target = target.ok_or(Error::Broken {
            what: "write outside of private guest memory",
        })?;
        // SAFETY: as in `read`; the private mapping is writable.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), target.add(offset as usize), from.len()) };
        Ok(())
    }

    /// Fills a private frame with zeros.
    pub fn zero(&mut self, frame: u64) -> Result<()> {
        let target = self.private.at(frame, PAGE as usize).ok_or(Error::Broken {
            what: "zero outside of guest memory",
        })?;
        // SAFETY: a whole page lies at `target` in the writable private mapping.
        unsafe { ptr::write_bytes(target, 0, PAGE as usize) };
        Ok(())
    }

    /// Copies one frame over a private one.
    pub fn copy_frame(&mut self, from: u64, to: u64) -> Result<()> {
        let mut page = [0u8; PAGE as usize];
        self.read(from, 0, &mut page)?;
        self.write(to, 0, &page)
    }

    /// One word of a private frame.
    pub fn word(&self, frame: u64, index: usize) -> u64 {
        debug_assert!(index < 512);
        match self.private.at(frame + 8 * index as u64, 8) {
            // SAFETY: eight bytes lie at `p`; frames are page aligned, so the word is aligned.
            Some(p) => unsafe { p.cast::<u64>().read_volatile() },
            None => 0,
        }
    }

    /// Sets one word of a private frame.
    pub fn set_word(&mut self, frame: u64, index: usize, value: u64) {
        debug_assert!(index < 512);
        if let Some(p) = self.private.at(frame + 8 * index as u64, 8) {
            // SAFETY: eight aligned bytes lie at `p` in the writable private mapping.
            unsafe { p.cast::<u64>().write_volatile(value) };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    pub fn temporary_file(bytes: &[u8]) -> Arc<HostFile> {
        let mut file = sys::memory_file(0).unwrap();
        file.write_all(bytes).unwrap();
        Arc::new(HostFile::new(file).unwrap())
    }

    #[test]
    fn copies_reach_the_frame_and_stay_inside() {
        let mut m = Memory::new(Mapping::anonymous(1 << 20).unwrap());
        m.write(0x3000, 4090, b"abcdef").unwrap();
        let mut b = [0u8; 6];
        m.read(0x3000, 4090, &mut b).unwrap();
        assert_eq!(&b, b"abcdef");
        assert!(m.write(0x3000, 4091, b"abcdef").is_err());
        assert!(m.write(1 << 20, 0, b"a").is_err());
        assert!(m.read(u64::MAX - 4095, 0, &mut b).is_err());
    }

    #[test]
    fn file_windows_lie_behind_each_other_and_cannot_be_written() {
        let mut m = Memory::new(Mapping::anonymous(1 << 20).unwrap());
        let a = m.attach(&temporary_file(&[1; 5000])).unwrap();
        let b = m.attach(&temporary_file(&[2; 100])).unwrap();
        let (pa, pb) = (m.file_page(a, 1).unwrap(), m.file_page(b, 0).unwrap());
        assert_eq!(pb, pa + PAGE);
        let mut x = [9u8; 1000];
        m.read(pa, 0, &mut x).unwrap();
        assert_eq!((x[903], x[904]), (1, 0));
        m.read(pb, 0, &mut x).unwrap();
        assert_eq!(x[99], 2);
        assert!(m.write(pa, 0, b"a").is_err());
        assert!(matches!(m.file_page(a, 2), Err(Error::BadFilePage { page: 2 })));
        assert!(m.file_page(FileId(7), 0).is_err());
    }
}
