//! Demand faults, and copies between guest and host. Every copy of guest memory goes through here.

use super::{Access, AddressSpace, FaultError};
use crate::errno::Errno;
use crate::machine::{Backing, Machine, PAGE, PageFault, PageState, Protection, USER_END};
use crate::mem::vma::{Purpose, Source};

impl AddressSpace {
    /// The `brk` area.
    #[must_use]
    pub fn heap(&self) -> std::ops::Range<u64> {
        self.heap.clone()
    }

    /// Gives the guest the page at `address` (and neighbours that it will touch next), or says why not.
    ///
    /// # Errors
    /// Why the access is not allowed or cannot be served.
    pub fn fault(&self, m: &mut impl Machine, address: u64, access: Access) -> Result<(), FaultError> {
        let page = address - address % PAGE;
        let (start, mapping) = self.tree.find(address).ok_or(FaultError::Unmapped)?;
        let Protection { read, write, execute } = mapping.protection;
        let allowed = match access {
            Access::Read => read || write || execute,
            Access::Write => write,
            Access::Execute => execute,
        };
        if !allowed {
            return Err(FaultError::Denied);
        }
        let protection = mapping.protection;
        let done = match m.page_state(page) {
            PageState::Shared if access == Access::Write => m.make_private(page, protection),
            PageState::Private | PageState::Shared => Ok(()),
            PageState::Absent => {
                let around = self.limits.fault_around.max(1);
                match &mapping.source {
                    Source::Anonymous if mapping.purpose == Purpose::Stack => {
                        // A stack grows downwards: the pages below are touched next.
                        let first = page.saturating_sub((around.min(4) - 1) * PAGE).max(start);
                        m.map(first, (page - first) / PAGE + 1, Backing::Zero, protection)
                    }
                    Source::Anonymous => m.map(
                        page,
                        around.min((mapping.end - page) / PAGE),
                        Backing::Zero,
                        protection,
                    ),
                    Source::File { file, offset, .. } => {
                        let at = offset + (page - start);
                        let rest = file.length();
                        if at >= rest {
                            return Err(FaultError::BeyondFile);
                        }
                        let count = around
                            .min((mapping.end - page) / PAGE)
                            .min((rest - at).div_ceil(PAGE));
                        match file.slot {
                            Some(slot) if !write => {
                                m.map(page, count, Backing::Slot(slot, at / PAGE), protection)
                            }
                            _ => {
                                let bytes = file.part(at..at + count * PAGE);
                                m.map(page, count, Backing::Bytes(&bytes), protection)
                            }
                        }
                    }
                }
            }
        };
        // Fault-around may have met the end of memory beyond the page that matters.
        if done.is_err() && m.page_state(page) != PageState::Private {
            return Err(FaultError::OutOfMemory);
        }
        Ok(())
    }

    /// Runs a copy, giving the guest the pages that it misses, until it is done or a page cannot be given.
    fn copy<M: Machine>(
        &self,
        m: &mut M,
        range: (u64, usize),
        access: Access,
        mut step: impl FnMut(&mut M, u64, usize) -> Result<(), PageFault>,
    ) -> Result<(), Errno> {
        let (start, length) = range;
        let end = start
            .checked_add(length as u64)
            .filter(|&end| end <= USER_END)
            .ok_or(Errno::EFAULT)?;
        let mut at = start;
        let mut last = None;
        loop {
            let Err(PageFault { address }) = step(m, at, (at - start) as usize) else {
                return Ok(());
            };
            // Each fault must be further on than the last, or the mapping allows what the page does not.
            if !(at..end).contains(&address) || last.is_some_and(|last| address <= last) {
                return Err(Errno::EFAULT);
            }
            self.fault(m, address, access).map_err(|error| match error {
                FaultError::OutOfMemory => Errno::OUT_OF_MEMORY,
                _ => Errno::EFAULT,
            })?;
            (at, last) = (address, Some(address));
        }
    }

    /// Copies guest memory at `address` into `into`.
    ///
    /// # Errors
    /// EFAULT when a byte is not readable.
    pub fn read(&self, m: &mut impl Machine, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.copy(m, (address, into.len()), Access::Read, |m, at, done| {
            m.read(at, &mut into[done..])
        })
    }

    /// Copies `from` to guest memory at `address`.
    ///
    /// # Errors
    /// EFAULT when a byte is not writable; bytes before it may have been written.
    pub fn write(&self, m: &mut impl Machine, address: u64, from: &[u8]) -> Result<(), Errno> {
        self.copy(m, (address, from.len()), Access::Write, |m, at, done| {
            m.write(at, &from[done..])
        })
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_array<const N: usize>(&self, m: &mut impl Machine, address: u64) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        self.read(m, address, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a 32-bit integer.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_u32(&self, m: &mut impl Machine, address: u64) -> Result<u32, Errno> {
        self.read_array(m, address).map(u32::from_le_bytes)
    }

    /// Reads a 64-bit integer.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_u64(&self, m: &mut impl Machine, address: u64) -> Result<u64, Errno> {
        self.read_array(m, address).map(u64::from_le_bytes)
    }

    /// Reads `N` 64-bit integers that lie back to back.
    ///
    /// # Errors
    /// As [`AddressSpace::read`].
    pub fn read_words<const N: usize>(&self, m: &mut impl Machine, address: u64) -> Result<[u64; N], Errno> {
        let mut bytes = [[0; 8]; N];
        self.read(m, address, bytes.as_flattened_mut())?;
        Ok(bytes.map(u64::from_le_bytes))
    }

    /// Writes 64-bit integers back to back.
    ///
    /// # Errors
    /// As [`AddressSpace::write`].
    pub fn write_words<const N: usize>(
        &self,
        m: &mut impl Machine,
        address: u64,
        words: [u64; N],
    ) -> Result<(), Errno> {
        self.write(m, address, words.map(u64::to_le_bytes).as_flattened())
    }

    /// Reads a string up to its NUL, which is not part of the result and must be among the first `limit` bytes.
    ///
    /// # Errors
    /// EFAULT when it is not readable up to its NUL, ENAMETOOLONG when there is none.
    pub fn read_string(&self, m: &mut impl Machine, address: u64, limit: usize) -> Result<Vec<u8>, Errno> {
        let mut text = Vec::new();
        while text.len() < limit {
            let at = address.checked_add(text.len() as u64).ok_or(Errno::EFAULT)?;
            // Never beyond the page that the string is known to reach.
            let mut chunk = [0; 256];
            let length = chunk
                .len()
                .min((PAGE - at % PAGE) as usize)
                .min(limit - text.len());
            self.read(m, at, &mut chunk[..length])?;
            match chunk[..length].iter().position(|&byte| byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&chunk[..end]);
                    return Ok(text);
                }
                None => text.extend_from_slice(&chunk[..length]),
            }
        }
        Err(Errno::ENAMETOOLONG)
    }
}
