//! Where blocks lie.

use std::ops::Range;
use std::ptr;

use super::class::{self, ALIGNED, CLASSES, HEADER, MAPPED};

const PAGE: usize = 4096;
/// Address space of the hot zone.
const HOT_BYTES: usize = 4 << 20;
/// Address space of all zones: more than a machine may have memory.
const REGION_BYTES: usize = 16 << 30;
/// What may lie behind the mark before free blocks from before it are taken again.
const BEHIND_BYTES: usize = 1 << 20;
/// What is touched behind the mark, so that a request meets its pages there.
const TOUCHED_BYTES: usize = 64 << 10;
/// Bytes in front of a block with a mapping of its own; its length is in the first word, the header in the last.
const MAPPED_FRONT: usize = 16;

/// Blocks up to that size that grow get twice what is asked for.
const ROOMY_BYTES: usize = 512;

/// Memory that is given out from the front on.
#[derive(Clone, Copy)]
struct Zone {
    next: usize,
    end: usize,
}

/// Free blocks of each class; a block's first word is the next one.
type Lists = [usize; CLASSES];

/// All zones of a heap.
pub struct Zones {
    /// The thread that it belongs to; 0 before the first call.
    thread: usize,
    start: usize,
    rest: Zone,
    mark: usize,
    /// Free blocks behind the mark, and from before it.
    behind: Lists,
    before: Lists,
    hot: Zone,
    hot_free: Lists,
    /// Which part of the start it is, and its blocks of each class so far; counted up to the mark.
    phase: u32,
    counts: [u32; CLASSES],
    /// Numbers of hot blocks, ascending, and for each class which comes next.
    layout: &'static [u32],
    next_hot: [u32; CLASSES],
    /// A number for each 16 bytes of the region, or null.
    numbers: *mut u32,
}

impl Zones {
    pub const EMPTY: Zones = Zones {
        thread: 0,
        start: 0,
        rest: Zone { next: 0, end: 0 },
        mark: 0,
        behind: [0; CLASSES],
        before: [0; CLASSES],
        hot: Zone { next: 0, end: 0 },
        hot_free: [0; CLASSES],
        phase: 0,
        counts: [0; CLASSES],
        layout: &[],
        next_hot: [0; CLASSES],
        numbers: ptr::null_mut(),
    };

    /// Makes it the heap of `thread`, or ends the process where it is another's.
    #[inline]
    pub fn claim(&mut self, thread: usize) {
        if self.thread != thread {
            if self.thread != 0 {
                // No message: whatever makes one allocates.
                std::process::abort();
            }
            self.thread = thread;
        }
    }

    pub fn begin(&mut self, layout: &'static [u32]) {
        self.layout = layout;
        self.begin_phase(0);
    }

    pub fn next_phase(&mut self) {
        self.begin_phase(self.phase + 1);
    }

    fn begin_phase(&mut self, phase: u32) {
        (self.phase, self.counts) = (phase, [0; CLASSES]);
        for class in 0..CLASSES {
            let first = number_of(phase, class, 0);
            self.next_hot[class] = self.layout.partition_point(|number| *number < first) as u32;
        }
    }

    pub fn mark(&mut self) {
        for class in 0..CLASSES {
            // What is free behind the old mark is from before the new one.
            while self.behind[class] != 0 {
                let block = pop(&mut self.behind[class]);
                push(&mut self.before[class], block);
            }
        }
        self.rest.next = self.rest.next.next_multiple_of(PAGE);
        self.mark = self.rest.next;
        let touched = self.mark..(self.mark + TOUCHED_BYTES).min(self.rest.end);
        for page in touched.step_by(PAGE) {
            // SAFETY: inside the region, which is readable. Volatile: the reading is what is wanted.
            unsafe { ptr::read_volatile(page as *const u8) };
        }
    }

    pub fn is_marked(&self) -> bool {
        self.mark != 0
    }

    pub fn grown(&self) -> usize {
        self.rest.next - self.mark
    }

    pub fn note(&mut self) -> Result<(), String> {
        let numbers = reserve(REGION_BYTES / 4);
        if numbers == 0 {
            return Err("cannot note blocks: no address space for their numbers".to_owned());
        }
        self.numbers = numbers as *mut u32;
        Ok(())
    }

    pub fn used(&self) -> Range<usize> {
        self.start + HOT_BYTES..self.rest.next
    }

    pub fn number_at(&self, address: usize) -> Option<u32> {
        if self.numbers.is_null() || !self.used().contains(&address) {
            return None;
        }
        let last = (address - self.start) / 16;
        // SAFETY: `numbers` has one for each 16 bytes from `start` on.
        (0..=last)
            .rev()
            .map(|at| unsafe { *self.numbers.add(at) })
            .find(|&number| number != 0)
    }

    /// A block of `bytes`, and whether it was never used and so is zero; 0 where there is no memory.
    #[inline]
    pub fn allocate(&mut self, bytes: usize) -> (usize, bool) {
        let Some(class) = class::of(bytes) else {
            return (map(bytes), true);
        };
        // What requests make.
        if self.mark != 0 {
            if self.behind[class] != 0 {
                return (pop(&mut self.behind[class]), false);
            }
        } else if self.is_next_hot(class)
            && let Some(block) = self.allocate_hot(class)
        {
            return block;
        }
        if self.behind[class] != 0 {
            let block = pop(&mut self.behind[class]);
            self.tell(block, class);
            return (block, false);
        }
        if self.before[class] != 0 && (self.mark == 0 || self.rest.next - self.mark >= BEHIND_BYTES) {
            let block = pop(&mut self.before[class]);
            self.tell(block, class);
            return (block, false);
        }
        if self.start == 0 && !self.reserve() {
            return (0, false);
        }
        let block = self.rest.take(class);
        if block == 0 && self.before[class] != 0 {
            return (pop(&mut self.before[class]), false);
        }
        self.tell(block, class);
        (block, true)
    }

    /// Counts a block before the mark.
    #[inline]
    fn is_next_hot(&mut self, class: usize) -> bool {
        self.counts[class] += 1;
        let next = self.layout.get(self.next_hot[class] as usize);
        let is_hot = next == Some(&number_of(self.phase, class, self.counts[class]));
        self.next_hot[class] += u32::from(is_hot);
        is_hot
    }

    #[cold]
    fn allocate_hot(&mut self, class: usize) -> Option<(usize, bool)> {
        if self.hot_free[class] != 0 {
            return Some((pop(&mut self.hot_free[class]), false));
        }
        if self.start == 0 && !self.reserve() {
            return None;
        }
        let block = self.hot.take(class);
        (block != 0).then_some((block, true))
    }

    #[cold]
    fn reserve(&mut self) -> bool {
        self.start = reserve(REGION_BYTES);
        if self.start == 0 {
            return false;
        }
        let (hot, end) = (self.start + HOT_BYTES, self.start + REGION_BYTES);
        // Headers end at multiples of 16, where blocks begin.
        self.hot = Zone {
            next: self.start + HEADER,
            end: hot,
        };
        self.rest = Zone {
            next: hot + HEADER,
            end,
        };
        true
    }

    #[inline]
    fn tell(&mut self, block: usize, class: usize) {
        if self.mark == 0 && !self.numbers.is_null() && block != 0 {
            // SAFETY: `numbers` has one for each 16 bytes from `start` on, and the block lies in the region.
            unsafe {
                *self.numbers.add((block - self.start) / 16) =
                    number_of(self.phase, class, self.counts[class])
            };
        }
    }

    /// Gives a block back. `block` came from this heap and is given back once.
    #[inline]
    pub unsafe fn free(&mut self, block: usize) {
        // SAFETY: blocks have headers.
        let header = unsafe { *((block - HEADER) as *const u64) };
        match header & 0xff {
            // SAFETY: as asked of the caller.
            MAPPED => unsafe { unmap(block) },
            // SAFETY: the header tells where the block begins that it is part of.
            ALIGNED => unsafe { self.free(block - (header >> 8) as usize) },
            class => {
                let lists = if block < self.hot.end {
                    &mut self.hot_free
                } else if block >= self.mark {
                    &mut self.behind
                } else {
                    &mut self.before
                };
                push(&mut lists[class as usize], block);
            }
        }
    }

    /// A block of `bytes` at a multiple of `alignment`, a power of two; 0 where there is no memory.
    pub fn allocate_aligned(&mut self, alignment: usize, bytes: usize) -> usize {
        if alignment <= 16 {
            return self.allocate(bytes).0;
        }
        let Some(with_play) = bytes.checked_add(alignment) else {
            return 0;
        };
        let (block, _) = self.allocate(with_play);
        let aligned = block.next_multiple_of(alignment);
        if aligned != block {
            let header = to_header(ALIGNED, aligned - block);
            // SAFETY: `aligned` lies in the block, 16 bytes behind its begin at least.
            unsafe { *((aligned - HEADER) as *mut u64) = header };
        }
        aligned
    }

    /// A block of `bytes` with what `block` has; that one is given back. 0, and `block` stays, where there is no memory.
    pub unsafe fn reallocate(&mut self, block: usize, bytes: usize) -> usize {
        // SAFETY: as asked of the caller.
        let room = unsafe { room(block) };
        if bytes <= room && bytes >= room / 2 {
            return block;
        }
        // SAFETY: blocks have headers.
        let is_mapped = unsafe { *((block - HEADER) as *const u64) } & 0xff == MAPPED;
        if is_mapped && class::of(bytes).is_none() {
            // SAFETY: it came from `map`.
            return unsafe { remap(block, bytes) };
        }
        // What grew once grows again: parsers append to a buffer item by item.
        let roomy = if bytes > room && bytes <= ROOMY_BYTES {
            bytes * 2
        } else {
            bytes
        };
        let (new, _) = self.allocate(roomy);
        if new != 0 {
            // SAFETY: both blocks are that long, and they are two.
            unsafe { ptr::copy_nonoverlapping(block as *const u8, new as *mut u8, room.min(bytes)) };
            // SAFETY: as asked of the caller.
            unsafe { self.free(block) };
        }
        new
    }
}

/// Bytes that a block has room for. `block` came from a heap.
#[inline]
pub unsafe fn room(block: usize) -> usize {
    // SAFETY: blocks have headers.
    let header = unsafe { *((block - HEADER) as *const u64) };
    let upper = (header >> 8) as usize;
    if header & 0xff == ALIGNED {
        // SAFETY: the header tells where the block begins that it is part of.
        return unsafe { room(block - upper) - upper };
    }
    upper
}

/// A header: a class, or what stands for one, and the block's room, or an aligned part's distance.
#[inline]
fn to_header(class: u64, upper: usize) -> u64 {
    (upper as u64) << 8 | class
}

/// The number of the n-th block of a class in a phase.
fn number_of(phase: u32, class: usize, nth: u32) -> u32 {
    phase << 28 | (class as u32) << 20 | nth & 0xf_ffff
}

impl Zone {
    #[inline]
    fn take(&mut self, class: usize) -> usize {
        let size = class::size(class);
        // The first header of a page-aligned zone begins 8 bytes into it.
        let header = (self.next + 7) & !15 | 8;
        if self.end.saturating_sub(header) < size {
            return 0;
        }
        self.next = header + size;
        // SAFETY: inside the region, and nobody else's.
        unsafe { *(header as *mut u64) = to_header(class as u64, size - HEADER) };
        header + HEADER
    }
}

#[inline]
fn pop(list: &mut usize) -> usize {
    let block = *list;
    // SAFETY: the first word of a free block is the next one of its list.
    *list = unsafe { *(block as *const usize) };
    block
}

#[inline]
fn push(list: &mut usize, block: usize) {
    // SAFETY: a free block has room for a word, and nobody else's.
    unsafe { *(block as *mut usize) = *list };
    *list = block;
}

/// Address space that is zero and takes memory when it is written to; 0 where there is none.
fn reserve(bytes: usize) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, wherever there is room.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED { 0 } else { at as usize }
}

/// Bytes of a mapping for a block.
fn mapped_length(bytes: usize) -> Option<usize> {
    Some(bytes.checked_add(MAPPED_FRONT + PAGE - 1)? & !(PAGE - 1))
}

fn map(bytes: usize) -> usize {
    let Some(length) = mapped_length(bytes) else {
        return 0;
    };
    let start = reserve(length);
    if start == 0 {
        return 0;
    }
    // SAFETY: a mapping of its own, of a page at least.
    unsafe {
        *(start as *mut usize) = length;
        *((start + HEADER) as *mut u64) = to_header(MAPPED, length - MAPPED_FRONT);
    }
    start + MAPPED_FRONT
}

/// Moves pages and no bytes. `block` came from `map`; it stays where there is no room, which 0 tells.
unsafe fn remap(block: usize, bytes: usize) -> usize {
    let Some(length) = mapped_length(bytes) else {
        return 0;
    };
    let start = block - MAPPED_FRONT;
    // SAFETY: the mapping of `map`, whose length is its first word, and nobody else's.
    let moved = unsafe {
        libc::mremap(
            start as *mut _,
            *(start as *const usize),
            length,
            libc::MREMAP_MAYMOVE,
        )
    };
    if moved == libc::MAP_FAILED {
        return 0;
    }
    // SAFETY: the first two words of that mapping, of which the second is the header.
    unsafe {
        *moved.cast::<usize>() = length;
        *moved.cast::<u64>().add(1) = to_header(MAPPED, length - MAPPED_FRONT);
    }
    moved as usize + MAPPED_FRONT
}

/// `block` came from `map`.
unsafe fn unmap(block: usize) {
    let start = block - MAPPED_FRONT;
    // SAFETY: the mapping of `map`, whose length is its first word.
    unsafe { libc::munmap(start as *mut _, *(start as *const usize)) };
}

#[cfg(test)]
mod tests;
