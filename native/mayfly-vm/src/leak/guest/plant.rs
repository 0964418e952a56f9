//! Puts a secret into every place.

use std::cell::Cell;

use mayfly_linux::syscall::number as n;
use mayfly_wire::{HEAD_BYTES, Head, Kind};

use super::calls::{Shared, call, call3, map};
use super::registers::{ANSWER, GENERAL, LOAD, SELECTORS, WAITING, finish, wait};
use super::{BODY, REMAPPED, REPORT, level};
use crate::leak::places::{PLACES, Place};
use crate::leak::protocol::{Ending, MASK, REPORT_WORDS};

const PAGE: u64 = 4096;
const SIGUSR1: u64 = 10;
const SIGUSR2: u64 = 12;
/// Pages that are given back: more than later faults can take.
const FREED_PAGES: u64 = 64;

static ZEROED: Shared<[u64; 2]> = Shared::new([0; 2]);
static STATIC: Shared<[u64; 2]> = Shared::new([1; 2]);
thread_local! {
    static LOCAL: Cell<[u64; 2]> = const { Cell::new([1; 2]) };
}
/// The main thread is about to wait.
static READY: Shared<u64> = Shared::new(0);

unsafe extern "C" {
    /// The C library's pointer to the environment block.
    static environ: *const *mut u8;
}

/// A secret word, made to fit.
fn word(place: Place, index: usize) -> u64 {
    let at = 1 + 8 * (place.range().start + index);
    // SAFETY: the body holds all words behind its first byte, and nobody writes it now.
    let masked = unsafe { BODY.at().cast::<u8>().add(at).cast::<u64>().read_unaligned() };
    place.description().shape.fit(masked ^ MASK)
}

/// Notes where a place's secret lies, or the error that kept it away.
fn note(place: Place, address: i64) {
    // SAFETY: one word for each place.
    unsafe {
        REPORT
            .at()
            .cast::<i64>()
            .add(place as usize)
            .write_volatile(address)
    };
}

/// Writes all words of a place to `address` and notes it.
fn put(place: Place, address: *mut u64) {
    for index in 0..place.description().words {
        // SAFETY: the callers give memory of this many words.
        unsafe { address.add(index).write_volatile(word(place, index)) };
    }
    note(place, address as i64);
}

/// The words of a place, in memory for a call.
fn words<const N: usize>(place: Place) -> [u64; N] {
    std::array::from_fn(|index| word(place, index))
}

/// Notes a call's failure; gives its result.
fn must(place: Place, result: i64) -> u64 {
    if result < 0 {
        note(place, result);
    }
    result.max(0) as u64
}

/// Plants everywhere and ends the request.
pub fn plant(ending: u8) -> ! {
    // SAFETY: the report has this many words.
    unsafe { std::ptr::write_bytes(REPORT.at().cast::<u64>(), 0, REPORT_WORDS) };
    pass_time();
    files();
    queues();
    process();
    let level = level();
    let page = word(Place::LastFault, 0);
    must(Place::LastFault, map(page & !(PAGE - 1), PAGE));
    registers();
    // The other thread ends the request while this one waits: each has its own registers, and another than at first runs.
    let other = std::thread::Builder::new().spawn(move || {
        // A turn may pass before the first thread ran at all, on a machine that is slow and busy.
        let mut turns = 100;
        while turns > 0 {
            // SAFETY: the call has no arguments; the word is read whole.
            unsafe {
                call3(n::sched_yield, 0, 0, 0);
                turns -= u32::from(READY.at().read_volatile() == 1);
            }
        }
        finish(level, fsgsbase(), ending.into(), page);
    });
    if other.is_err() {
        note(Place::Running, -11);
    }
    this_thread();
    streams(ending);
    let mut stack = [0_u64; 2];
    put(Place::Stack, (&raw mut stack).cast());
    memory();
    let futex = word(Place::Futex, 0);
    must(Place::Futex, map(futex & !(PAGE - 1), PAGE));
    // SAFETY: the page was just mapped; zero is what the wait expects.
    unsafe {
        (futex as *mut u32).write_volatile(0);
        READY.at().write_volatile(1);
    }
    wait(futex)
}

/// Whether the program may write the bases by itself (AT_HWCAP2, bit 1).
fn fsgsbase() -> bool {
    unsafe extern "C" {
        fn getauxval(kind: u64) -> u64;
    }
    const AT_HWCAP2: u64 = 26;
    // SAFETY: the C library's function has no precondition.
    unsafe { getauxval(AT_HWCAP2) & 2 != 0 }
}

/// Waits for 400 days, which costs nothing: the clock jumps.
fn pass_time() {
    let until = [400 * 86_400_u64, 0];
    // SAFETY: a `timespec`; TIMER_ABSTIME of CLOCK_MONOTONIC needs no second.
    let result = unsafe { call(n::clock_nanosleep, [1, 1, (&raw const until) as u64, 0, 0, 0]) };
    must(Place::Clock, result);
}

fn files() {
    let read_write_create = 0o102;
    // SAFETY: paths end with NUL; buffers have the lengths given. So below.
    unsafe {
        let file = must(
            Place::FileContent,
            call3(n::open, c"/tmp/leak".as_ptr() as u64, read_write_create, 0o600),
        );
        let bytes: [u64; 2] = words(Place::FileContent);
        must(
            Place::FileContent,
            call3(n::write, file, (&raw const bytes) as u64, 16),
        );
        must(Place::Offset, call3(n::lseek, file, word(Place::Offset, 0), 0));
        let duplicate = 300 + word(Place::FileContent, 0) % 500;
        const DUPFD_CLOEXEC: u64 = 1030;
        must(Place::Numbers, call3(n::fcntl, file, DUPFD_CLOEXEC, duplicate));
        let unnamed = must(
            Place::UnnamedFile,
            call3(n::memfd_create, c"leak".as_ptr() as u64, 0, 0),
        );
        let bytes: [u64; 2] = words(Place::UnnamedFile);
        must(
            Place::UnnamedFile,
            call3(n::write, unnamed, (&raw const bytes) as u64, 16),
        );
        let mut folder = *b"/tmp/................\0";
        let name: [u64; 2] = words(Place::Folder);
        folder[5..21].copy_from_slice(name.map(u64::to_le_bytes).as_flattened());
        must(Place::Folder, call3(n::mkdir, folder.as_ptr() as u64, 0o700, 0));
        must(Place::Folder, call3(n::chdir, folder.as_ptr() as u64, 0, 0));
        let mut target = [0_u8; 17];
        let name: [u64; 2] = words(Place::Link);
        target[..16].copy_from_slice(name.map(u64::to_le_bytes).as_flattened());
        let link = c"/tmp/link".as_ptr() as u64;
        must(Place::Link, call3(n::symlink, target.as_ptr() as u64, link, 0));
    }
}

/// Pipes, sockets, counters, timers, sets.
fn queues() {
    let mut ends = [0_u32; 2];
    // SAFETY: the calls write two descriptors, or read what they are given.
    unsafe {
        must(Place::Pipe, call3(n::pipe2, ends.as_mut_ptr() as u64, 0, 0));
        let bytes: [u64; 2] = words(Place::Pipe);
        must(
            Place::Pipe,
            call3(n::write, ends[1].into(), (&raw const bytes) as u64, 16),
        );
        let watched = ends[0];
        must(
            Place::SocketPair,
            call(n::socketpair, [1, 1, 0, ends.as_mut_ptr() as u64, 0, 0]),
        );
        let bytes: [u64; 2] = words(Place::SocketPair);
        must(
            Place::SocketPair,
            call3(n::write, ends[0].into(), (&raw const bytes) as u64, 16),
        );
        for index in 0..2 {
            let event = must(Place::EventCount, call3(n::eventfd2, 0, 0, 0));
            let count = word(Place::EventCount, index);
            must(
                Place::EventCount,
                call3(n::write, event, (&raw const count) as u64, 8),
            );
        }
        let set = must(Place::EpollData, call3(n::epoll_create1, 0, 0, 0));
        for (index, file) in [watched, ends[1]].into_iter().enumerate() {
            let mut entry = [1_u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            entry[4..].copy_from_slice(&word(Place::EpollData, index).to_le_bytes());
            let add = [set, 1, file.into(), entry.as_ptr() as u64, 0, 0];
            must(Place::EpollData, call(n::epoll_ctl, add));
        }
        let timer = must(Place::TimerFile, call3(n::timerfd_create, 1, 0, 0));
        let time = word(Place::TimerFile, 0);
        let pair = [time / 1_000_000_000, time % 1_000_000_000];
        let times = [pair, pair];
        must(
            Place::TimerFile,
            call(n::timerfd_settime, [timer, 0, (&raw const times) as u64, 0, 0, 0]),
        );
        let time = word(Place::Alarm, 0);
        let pair = [time / 1_000_000_000, time % 1_000_000_000 / 1000];
        let times = [pair, pair];
        must(Place::Alarm, call3(n::setitimer, 0, (&raw const times) as u64, 0));
    }
}

/// Signals, limits, masks.
fn process() {
    const RESTORER: u64 = 0x0400_0000;
    let handler: [u64; 2] = words(Place::Handler);
    let action = [handler[0], RESTORER, handler[1], 0];
    let mask = word(Place::SignalMask, 0);
    let mut info = [0_u64; 16];
    info[2..4].copy_from_slice(&words::<2>(Place::Pending));
    let mut limits: [u64; 2] = words(Place::ResourceLimits);
    limits.sort_unstable();
    let pid = mayfly_linux::task::process::PID as u64;
    // SAFETY: each call reads the structure that it is given. The handler is never called: its signal is not sent.
    unsafe {
        must(
            Place::Handler,
            call(n::rt_sigaction, [SIGUSR2, (&raw const action) as u64, 0, 8, 0, 0]),
        );
        must(
            Place::SignalMask,
            call(n::rt_sigprocmask, [2, (&raw const mask) as u64, 0, 8, 0, 0]),
        );
        must(
            Place::Pending,
            call3(n::rt_sigqueueinfo, pid, SIGUSR1, (&raw const info) as u64),
        );
        must(
            Place::ResourceLimits,
            call(n::prlimit64, [0, 6, (&raw const limits) as u64, 0, 0, 0]),
        );
        must(Place::Process, call3(n::umask, 0o157, 0, 0));
        must(Place::Process, call3(n::prctl, 4, 0, 0));
    }
}

/// What the last act and the waiting thread load.
fn registers() {
    // SAFETY: nobody else uses these statics now; the counts are those of the places.
    unsafe {
        let load = &mut *LOAD.at();
        for (index, vector) in load.vectors.iter_mut().enumerate() {
            for (part, target) in vector.iter_mut().enumerate() {
                *target = match (index, part) {
                    (16.., _) => word(Place::HighZmm, (index - 16) * 8 + part),
                    (_, 0..2) => word(Place::Xmm, index * 2 + part),
                    (_, 2..4) => word(Place::Ymm, index * 2 + part - 2),
                    (_, _) => word(Place::Zmm, index * 4 + part - 4),
                };
            }
        }
        load.masks = words(Place::Masks);
        load.mmx = words(Place::Mmx);
        load.bases = words(Place::Bases);
        *GENERAL.at() = words(Place::General);
        let waiting = &mut *WAITING.at();
        waiting[..6].copy_from_slice(&words::<6>(Place::ThreadRegisters));
        waiting[6..].copy_from_slice(&words::<32>(Place::ThreadVectors));
        *ANSWER.at() = head(0);
        note(Place::Selectors, SELECTORS.at() as i64);
    }
}

fn head(body_bytes: u32) -> [u8; HEAD_BYTES] {
    Head {
        kind: Kind::Response,
        header_bytes: 0,
        body_bytes,
    }
    .encode()
}

fn this_thread() {
    let stack = [word(Place::AltStack, 0), 0, 1 << 16];
    let mut name = [0_u8; 16];
    name[..8].copy_from_slice(&word(Place::ThreadName, 0).to_le_bytes());
    // SAFETY: the lists and stacks are never used: the thread waits for ever.
    unsafe {
        must(
            Place::AltStack,
            call3(n::sigaltstack, (&raw const stack) as u64, 0, 0),
        );
        must(Place::ThreadName, call3(n::prctl, 15, name.as_ptr() as u64, 0));
        must(
            Place::RobustList,
            call3(n::set_robust_list, word(Place::RobustList, 0), 24, 0),
        );
        must(
            Place::ClearTid,
            call3(n::set_tid_address, word(Place::ClearTid, 0), 0, 0),
        );
    }
}

fn streams(ending: u8) {
    let log: [u64; 2] = words(Place::Log);
    let mut half = [0_u8; 32];
    half[..16].copy_from_slice(&head(64));
    half[16..].copy_from_slice(words::<2>(Place::Output).map(u64::to_le_bytes).as_flattened());
    // SAFETY: the buffers have the lengths given.
    unsafe {
        must(Place::Log, call3(n::write, 2, (&raw const log) as u64, 16));
        if ending != Ending::Answer as u8 {
            must(Place::Output, call3(n::write, 1, half.as_ptr() as u64, 32));
        }
    }
}

/// The address that a call gave, for [`put`]; the error is noted.
fn page(place: Place, result: i64) -> Option<*mut u64> {
    must(place, result);
    (result > 0).then_some(result as *mut u64)
}

fn memory() {
    put(Place::Heap, Box::leak(Box::new([0_u64; 2])).as_mut_ptr());
    put(Place::Zeroed, ZEROED.at().cast());
    put(Place::Static, STATIC.at().cast());
    LOCAL.with(|local| put(Place::Local, local.as_ptr().cast()));
    environment();
    let mut freed = Box::new([0_u64; 128]);
    // Behind what the allocator writes into a free block.
    put(Place::FreedHeap, freed[64..].as_mut_ptr());
    drop(std::hint::black_box(freed));
    // SAFETY: new mappings, or ones of our own that nobody else uses.
    unsafe {
        let file = call3(n::open, super::PROGRAM.as_ptr() as u64, 0, 0);
        let copy = call(n::mmap, [0, PAGE, 3, 2, file.cast_unsigned(), 0]);
        if let Some(page) = page(Place::FilePage, copy) {
            put(Place::FilePage, page.add(8));
        }
        if let Some(page) = page(Place::NewPage, map(0, PAGE)) {
            put(Place::NewPage, page);
        }
        must(Place::Mapping, map(word(Place::Mapping, 0), PAGE));
        let tables = word(Place::PageTables, 0);
        if page(Place::PageTables, map(tables, PAGE)).is_some() {
            (tables as *mut u8).write_volatile(1);
        }
        // The page gets another frame: the one that it had goes to a page between.
        let remapped = REMAPPED.at().read();
        let between = page(Place::Translation, map(0, PAGE));
        call3(n::munmap, remapped, PAGE, 0);
        if let Some(between) = between {
            between.write_volatile(1);
        }
        if let Some(page) = page(Place::Translation, map(remapped, PAGE)) {
            put(Place::Translation, page);
        }
        if let Some(page) = page(Place::HiddenPage, map(0, PAGE)) {
            put(Place::HiddenPage, page);
            must(Place::HiddenPage, call3(n::mprotect, page as u64, PAGE, 0));
        }
        let end = call3(n::brk, 0, 0, 0).cast_unsigned().next_multiple_of(PAGE);
        let grown = call3(n::brk, end + 4 * PAGE, 0, 0).cast_unsigned();
        match grown == end + 4 * PAGE {
            true => put(Place::BreakPage, end as *mut u64),
            false => note(Place::BreakPage, -12),
        }
        if let Some(first) = page(Place::FreedPage, map(0, FREED_PAGES * PAGE)) {
            for at in 0..FREED_PAGES {
                put(Place::FreedPage, first.byte_add((at * PAGE) as usize));
            }
            must(
                Place::FreedPage,
                call3(n::munmap, first as u64, FREED_PAGES * PAGE, 0),
            );
        }
    }
}

/// Overwrites the value of a variable where the kernel laid it.
fn environment() {
    const NAME: &[u8] = b"MAYFLY_LEAK=";
    // SAFETY: `environ` is a list of strings that ends with a null; the variable's value has sixteen bytes.
    unsafe {
        let mut entry = environ;
        while !(*entry).is_null() {
            let text = std::ffi::CStr::from_ptr((*entry).cast());
            if text.to_bytes().starts_with(NAME) {
                let value = (*entry).add(NAME.len());
                let words: [u64; 2] = words(Place::Environment);
                std::ptr::copy_nonoverlapping((&raw const words).cast(), value, 16);
                return note(Place::Environment, value as i64);
            }
            entry = entry.add(1);
        }
    }
    note(Place::Environment, -2);
}

const _: () = assert!(
    PLACES.len() == REPORT_WORDS,
    "plant.rs: a report word for each place"
);
