//! `mmap` and its family.

use std::ops::Range;

use super::{Answer, ZERO, value};
use crate::bounds;
use crate::errno::Errno;
use crate::fs::files::FileKind;
use crate::fs::host_file::HostFile;
use crate::fs::vfs::NodeKind;
use crate::kernel::Kernel;
use crate::machine::{Machine, PAGE, PageState, Protection, USER_START};
use crate::mem::space::{Place, Wanted};
use crate::mem::vma::{Mapping, Purpose, Source};
use crate::state::account;

const MAP_SHARED: u64 = 1;
const MAP_TYPE: u64 = 0xf;
const MAP_FIXED: u64 = 0x10;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_32BIT: u64 = 0x40;
/// Where MAP_32BIT puts mappings.
const LOW: Range<u64> = 0x4000_0000..0x8000_0000;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const MREMAP_MAYMOVE: u64 = 1;
const MREMAP_FIXED: u64 = 2;
/// PROT_GROWSDOWN and PROT_GROWSUP: no mapping here grows by itself.
const PROT_GROWS: u64 = 0x0300_0000;

impl Kernel {
    pub(super) fn sys_mmap(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [address, length, protection, flags, fd, offset] = a;
        // 1 shared, 2 private, 3 shared and checked.
        if !offset.is_multiple_of(PAGE) || length == 0 || !(1..=3).contains(&(flags & MAP_TYPE)) {
            return Err(Errno::EINVAL);
        }
        let shared = flags & MAP_SHARED != 0;
        let wanted = Protection::from_bits(protection);
        let source = if flags & MAP_ANONYMOUS != 0 {
            Source::Anonymous
        } else {
            self.file_source(fd, offset, length, wanted, shared)?
        };
        // It may cut two mappings and stand beside them; a file's name is copied.
        let name = match &source {
            Source::File { name, .. } => account::bytes(name.len()),
            Source::Anonymous => 0,
        };
        self.ask_room(3 * Mapping::COST + name)?;
        let place = match () {
            () if flags & MAP_FIXED_NOREPLACE != 0 => Place::FixedFree(address),
            () if flags & MAP_FIXED != 0 => Place::Fixed(address),
            () => self.low_place(address, length, flags & MAP_32BIT != 0)?,
        };
        value(self.space.map(
            m,
            place,
            length,
            Wanted {
                protection: wanted,
                source,
                purpose: Purpose::General,
                shared,
            },
        )?)
    }

    /// Where what names no address lies. Hints are not taken, for fewer page tables, and equal ones in every VM, unless they are below 4 GiB:
    /// runtimes give those that keep addresses in 32 bits, and some go on with no other place. `low` is MAP_32BIT.
    fn low_place(&self, hint: u64, length: u64, low: bool) -> Result<Place, Errno> {
        let top = if low { LOW.end } else { 1 << 32 };
        let hint = hint & !(PAGE - 1);
        if let Some(end) = hint.checked_add(length)
            && hint >= USER_START
            && end <= top
            && self.space.tree.is_free(hint..end.next_multiple_of(PAGE))
        {
            return Ok(Place::FixedFree(hint));
        }
        if !low {
            return Ok(Place::Any);
        }
        let length = length.checked_next_multiple_of(PAGE).ok_or(Errno::ENOMEM)?;
        match self.space.tree.gap_below(LOW.end, length) {
            Some(at) if at >= LOW.start => Ok(Place::FixedFree(at)),
            _ => Err(Errno::ENOMEM),
        }
    }

    fn file_source(
        &self,
        fd: u64,
        offset: u64,
        length: u64,
        protection: Protection,
        shared: bool,
    ) -> Result<Source, Errno> {
        let open = self.files.file(self.files.get(fd)?).ok_or(Errno::EBADF)?;
        let node = match open.kind {
            FileKind::Regular { node, .. } => node,
            FileKind::Device(crate::fs::vfs::Device::Zero) => return Ok(Source::Anonymous),
            _ => return Err(Errno::ENODEV),
        };
        // No byte of a file lies at or behind `i64::MAX`. Offsets within a mapping never overflow then.
        let last = length
            .checked_next_multiple_of(PAGE)
            .and_then(|length| (i64::MAX as u64).checked_sub(length));
        if last.is_none_or(|last| offset > last) {
            return Err(Errno::EOVERFLOW);
        }
        if !open.readable() || shared && protection.write && !open.writable() {
            return Err(Errno::EACCES);
        }
        if shared && protection.write {
            // Nothing would carry the stores back into the file.
            return Err(Errno::ENODEV);
        }
        let name =
            String::from_utf8_lossy(&self.name_of(node).unwrap_or_else(|_| b"?".to_vec())).into_owned();
        let file = self.vfs.mappable(node)?;
        if matches!(
            self.vfs.node(node).map(|node| &node.kind),
            Some(NodeKind::Memory(_))
        ) {
            self.room_for_versions(&file)?;
            // A copy is made when the file is written to next: the version stays beside it.
            self.ask_room(file.held)?;
        }
        Ok(Source::File {
            file,
            offset,
            name: name.into(),
            inode: node as u64 + 1,
        })
    }

    /// Mappings keep a memory file as it was when it was mapped: all versions together must stay within the limit on files.
    fn room_for_versions(&self, file: &HostFile) -> Result<(), Errno> {
        if self.space.tree.bytes_of_guest_with(file) > self.limits.file_bytes {
            Err(Errno::ENOMEM)
        } else {
            Ok(())
        }
    }

    /// `munmap`. One that cuts a mapping in two needs room; all else gives room back.
    pub(super) fn sys_munmap(&mut self, m: &mut impl Machine, start: u64, length: u64) -> Answer {
        if self.ask_room(Mapping::COST).is_err() {
            let end = length
                .checked_next_multiple_of(PAGE)
                .and_then(|length| start.checked_add(length))
                .ok_or(Errno::EINVAL)?;
            if start < end && self.space.tree.cuts(start..end) == 2 {
                return Err(Errno::ENOMEM);
            }
        }
        self.space.unmap(m, start, length).and(ZERO)
    }

    pub(super) fn sys_brk(&mut self, m: &mut impl Machine, end: u64) -> Answer {
        if self.ask_room(Mapping::COST).is_err() {
            // It stays where it is, as `brk` says that there is no memory.
            return value(self.space.brk(m, 0)?);
        }
        value(self.space.brk(m, end)?)
    }

    pub(super) fn sys_mprotect(
        &mut self,
        m: &mut impl Machine,
        start: u64,
        length: u64,
        bits: u64,
    ) -> Answer {
        if bits & !(7 | PROT_GROWS) != 0 || bits & PROT_GROWS == PROT_GROWS {
            return Err(Errno::EINVAL);
        }
        self.ask_room(2 * Mapping::COST)?;
        let mut done = self.moved();
        let answer = self
            .space
            .protect(m, start, length, Protection::from_bits(bits), &mut done);
        self.keep_place(answer, done).and(ZERO)
    }

    /// Keeps how far a call has come that is not done.
    fn keep_place<T>(&mut self, answer: Result<T, Errno>, done: u64) -> Result<T, Errno> {
        if matches!(answer, Err(Errno::UNFINISHED)) {
            self.set_moved(done);
        }
        answer
    }

    pub(super) fn sys_mremap(&mut self, m: &mut impl Machine, a: [u64; 6]) -> Answer {
        let [old, old_length, new_length, flags, target, _] = a;
        if flags & !(MREMAP_MAYMOVE | MREMAP_FIXED) != 0 || flags == MREMAP_FIXED {
            return Err(Errno::EINVAL);
        }
        let place = match flags {
            0 => None,
            MREMAP_MAYMOVE => Some(Place::Any),
            _ => Some(Place::Fixed(target)),
        };
        self.ask_room(3 * Mapping::COST)?;
        let mut to = self.moved();
        let answer = self.space.remap(m, old, old_length, new_length, place, &mut to);
        value(self.keep_place(answer, to)?)
    }

    pub(super) fn sys_madvise(
        &mut self,
        m: &mut impl Machine,
        start: u64,
        length: u64,
        advice: u64,
    ) -> Answer {
        match advice as i32 {
            // MADV_DONTNEED, and MADV_FREE, which may be as eager.
            4 | 8 => {
                let mut done = self.moved();
                let answer = self.space.forget(m, start, length, &mut done);
                self.keep_place(answer, done).and(ZERO)
            }
            // MADV_WIPEONFORK is refused: a generator that cannot tell forks apart (AWS-LC in Deno) draws from getrandom each time, so keys
            // are fresh in every request. Zeroing such pages makes it gather jitter for 25 ms instead.
            18 | 19 => Err(Errno::EINVAL),
            // Advice about access, sharing, huge pages, dumps and pageout: taken, and nothing follows from it.
            0..=3 | 10..=17 | 20 | 21 | 23 | 25 => self.check_range(start, length),
            _ => Err(Errno::EINVAL),
        }
    }

    fn check_range(&self, start: u64, length: u64) -> Answer {
        if !start.is_multiple_of(PAGE) {
            return Err(Errno::EINVAL);
        }
        let end = length
            .checked_next_multiple_of(PAGE)
            .and_then(|length| start.checked_add(length))
            .ok_or(Errno::EINVAL)?;
        if start == end || self.space.tree.covers(start..end) {
            ZERO
        } else {
            Err(Errno::ENOMEM)
        }
    }

    pub(super) fn sys_msync(&mut self, start: u64, length: u64, flags: u64) -> Answer {
        // MS_ASYNC 1, MS_INVALIDATE 2, MS_SYNC 4.
        if flags & !7 != 0 || flags & 5 == 5 {
            return Err(Errno::EINVAL);
        }
        self.check_range(start, length)
    }

    pub(super) fn sys_mincore(&mut self, m: &mut impl Machine, start: u64, length: u64, into: u64) -> Answer {
        let done = self.moved();
        if done == 0 {
            self.check_range(start, length)?;
        }
        let pages = length.div_ceil(PAGE).saturating_sub(done).min(bounds::LOOKS);
        for first in (done..done + pages).step_by(4096) {
            let states: Vec<u8> = (first..(first + 4096).min(done + pages))
                .map(|page| u8::from(m.page_state(start + page * PAGE) != PageState::Absent))
                .collect();
            self.space.write(m, into.wrapping_add(first), &states)?;
        }
        if (done + pages) * PAGE < length {
            return self.unfinished(done + pages);
        }
        ZERO
    }
}
