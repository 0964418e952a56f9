//! Host system calls that the standard library does not wrap.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result, last};
use crate::layout::PAGE;

/// How a file is laid over a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlay {
    /// Writable; a page that is written becomes a private copy.
    Private,
    /// Writable; what is written is the file's.
    Shared,
    /// Not writable, ever.
    ReadOnly,
}

/// A range of host addresses that this value owns: reserved at once, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the range belongs to the value alone, and no address in it depends on the thread that made it.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` gives out addresses only; whoever dereferences one answers for the access.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Private zero pages, taken when touched, never huge ones: one write must cost one page.
    pub fn anonymous(length: usize) -> Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let mapping = Mapping::new(length, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
        mapping.refuse_huge_pages();
        Ok(mapping)
    }

    /// Has the range mapped page by page.
    pub fn refuse_huge_pages(&self) {
        // SAFETY: the range is ours; the advice changes no content. Kernels without huge pages refuse it, which is as good.
        unsafe { libc::madvise(self.base.as_ptr().cast(), self.length, libc::MADV_NOHUGEPAGE) };
    }

    /// The first `length` bytes of `file`, shared.
    pub fn shared(file: &File, length: usize, write: bool) -> Result<Mapping> {
        let protection = if write {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        Mapping::new(
            length,
            protection,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            file.as_raw_fd(),
        )
    }

    fn new(length: usize, protection: i32, flags: i32, fd: i32) -> Result<Mapping> {
        // SAFETY: no fixed address, so no existing mapping is touched; the kernel checks the rest.
        let p = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, fd, 0) };
        match NonNull::new(p.cast::<u8>()) {
            Some(base) if p != libc::MAP_FAILED => Ok(Mapping { base, length }),
            _ => Err(last("map host memory")),
        }
    }

    /// Lays `length` bytes of `file` from `offset` over this mapping from `at`.
    pub fn overlay(
        &mut self,
        at: u64,
        (file, offset): (&File, u64),
        length: usize,
        how: Overlay,
    ) -> Result<()> {
        let target = self.at(at, length).ok_or(Error::Broken {
            what: "an overlay outside of the mapping",
        })?;
        let (protection, flags) = match how {
            Overlay::Private => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE),
            Overlay::Shared => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED),
            Overlay::ReadOnly => (libc::PROT_READ, libc::MAP_SHARED),
        };
        // SAFETY: the target range is inside of this mapping (checked above), which `&mut self` borrows alone.
        let p = unsafe {
            libc::mmap(
                target.cast(),
                length,
                protection,
                flags | libc::MAP_NORESERVE | libc::MAP_FIXED,
                file.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if p == libc::MAP_FAILED {
            Err(last("map a part of guest memory"))
        } else {
            Ok(())
        }
    }

    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// The host address of a byte range; `None` unless all of it is inside.
    pub fn at(&self, offset: u64, length: usize) -> Option<*mut u8> {
        let start = usize::try_from(offset).ok()?;
        if start.checked_add(length)? > self.length {
            return None;
        }
        // SAFETY: start + length <= self.length, so the result stays inside of the one mapped object.
        Some(unsafe { self.base.as_ptr().add(start) })
    }

    /// Makes KVM forget every translation to this range, by its MMU notifier, and keeps the content: all rights are taken
    /// and given back.
    pub fn forget_translations(&self, offset: u64, length: usize, writable: bool) -> Result<()> {
        let address = self.at(offset, length).ok_or(Error::Broken {
            what: "flush outside of the mapping",
        })?;
        let rights = if writable {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        for protection in [libc::PROT_NONE, rights] {
            // SAFETY: the range is inside of this mapping. No reference into it exists: guest memory is reached by copies
            // only, on the thread that runs this.
            if unsafe { libc::mprotect(address.cast(), length, protection) } != 0 {
                return Err(last("flush guest translations"));
            }
        }
        Ok(())
    }

    /// Makes the pages of a range private ahead of a write. Does nothing where the kernel cannot: older than 5.14, or out of memory.
    pub fn copy_ahead(&self, offset: u64, length: usize) {
        let Some(address) = self.at(offset, length) else {
            return;
        };
        // SAFETY: the range is inside of this mapping; its bytes stay as they are.
        unsafe { libc::madvise(address.cast(), length, libc::MADV_POPULATE_WRITE) };
    }

    /// Drops the private pages of a range: they read as the file below (or zero) again.
    pub fn discard(&self, offset: u64, length: usize) -> Result<()> {
        let address = self.at(offset, length).ok_or(Error::Broken {
            what: "discard outside of the mapping",
        })?;
        // SAFETY: the range is inside of this mapping and no reference into it exists (see `forget_translations`).
        if unsafe { libc::madvise(address.cast(), length, libc::MADV_DONTNEED) } == 0 {
            Ok(())
        } else {
            Err(last("discard guest pages"))
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are what mmap gave, and nothing outlives the value that could use them.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// A memory file that can be sealed.
pub(crate) fn memory_file(length: u64) -> Result<File> {
    // SAFETY: the name is a C string; the flags are constants.
    let fd = unsafe {
        libc::memfd_create(
            c"mayfly-guest".as_ptr(),
            libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING,
        )
    };
    if fd < 0 {
        return Err(last("create guest memory"));
    }
    // SAFETY: the descriptor is new and nobody else's.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(length).map_err(|source| Error::Host {
        attempt: "size guest memory",
        source,
    })?;
    Ok(file)
}

/// Gives the pages of a range back and leaves a hole that reads as zero.
pub(crate) fn punch_hole(file: &File, offset: u64, length: u64) -> Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    loop {
        // SAFETY: plain numbers on a descriptor that we own.
        let r = unsafe {
            libc::fallocate(
                file.as_raw_fd(),
                mode,
                offset as libc::off_t,
                length as libc::off_t,
            )
        };
        match check(r) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(Error::Host {
                    attempt: "give freed guest pages back",
                    source,
                });
            }
            Ok(()) => return Ok(()),
        }
    }
}

/// Seals a memory file for ever: no write, no new size, no other seals. No writable shared mapping may be left.
pub(crate) fn seal(file: &File) -> Result<()> {
    let seals = libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: plain numbers on a descriptor that we own.
    let r = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
    if r == 0 {
        Ok(())
    } else {
        Err(last("seal the snapshot"))
    }
}

/// Page faults of the calling thread so far, minor and major.
pub(crate) fn page_faults() -> i64 {
    let usage = thread_usage();
    usage.ru_minflt + usage.ru_majflt
}

/// Times that the calling thread left its CPU because it had to wait.
pub fn thread_sleeps() -> i64 {
    thread_usage().ru_nvcsw
}

fn thread_usage() -> libc::rusage {
    // SAFETY: all zero is a valid rusage, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    }
}

/// Copies a page and prefetches another pair of pages meanwhile, line by line: resets copy scattered pages that are cold in the
/// first-level cache and the TLB, and the hardware's prefetcher stops at page ends. (A plain `memcpy` takes twice the time there.)
///
/// # Safety
/// `from` is readable and `to` writable for a page, and they do not overlap. The addresses of `next` may be anything.
pub(crate) unsafe fn copy_page(from: *const u8, to: *mut u8, next: (*const u8, *const u8)) {
    use std::arch::x86_64::{__m128i, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch, _mm_storeu_si128};
    for at in (0..PAGE as usize).step_by(64) {
        // SAFETY: at + 64 is at most a page; the caller vouches for both. A prefetch never faults. SSE2 is part of x86-64.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(next.0.wrapping_add(at).cast());
            _mm_prefetch::<_MM_HINT_T0>(next.1.wrapping_add(at).cast());
            let (from, to) = (from.add(at).cast::<__m128i>(), to.add(at).cast::<__m128i>());
            let words = [0, 1, 2, 3].map(|i| _mm_loadu_si128(from.add(i)));
            for (i, word) in words.into_iter().enumerate() {
                _mm_storeu_si128(to.add(i), word);
            }
        }
    }
}

/// A number that no other thread of this process has or had.
pub(crate) fn thread_mark() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MARK: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    MARK.with(|mark| *mark)
}

/// The calling thread's id.
pub(crate) fn thread_id() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds that this thread has had a CPU, its guests included.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// `clock` is one that always exists.
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(clock, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Turns 0 into `Ok` and anything else into `errno`.
pub(crate) fn check(r: libc::c_int) -> io::Result<()> {
    if r == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Rounds a length up to whole pages for the host.
pub(crate) fn whole_pages(length: u64) -> Option<usize> {
    usize::try_from(length.checked_add(PAGE - 1)? & !(PAGE - 1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_page_copies_all_and_no_more() {
        let from: Vec<u8> = (0..4096u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut to = vec![0u8; 4096 + 64];
        // SAFETY: both vectors hold a page and are distinct; a prefetch of a null page is harmless.
        unsafe { copy_page(from.as_ptr(), to.as_mut_ptr(), (ptr::null(), ptr::null())) };
        assert_eq!(to[..4096], from[..]);
        assert!(to[4096..].iter().all(|b| *b == 0));
    }

    #[test]
    fn thread_mark_differs_between_threads() {
        let mine = thread_mark();
        assert_eq!(mine, thread_mark());
        assert_ne!(mine, std::thread::spawn(thread_mark).join().unwrap());
    }
}
