//! What a hostile program may have prepared before it makes one call, and the calls that are dear then.

use mayfly_linux::machine::PAGE;
use mayfly_linux::syscall::number as n;

use super::subject::{Call, Subject};

const MIB: u64 = 1 << 20;

/// A prepared machine: what its calls may be about, and those that are known to be dear.
#[derive(Default)]
pub struct Props {
    pub values: Vec<u64>,
    pub dear: Vec<Call>,
}

/// A scene: its name, and what prepares it.
type Scene = (&'static str, fn(&mut Subject) -> Props);

/// All scenes.
pub const SCENES: [Scene; 8] = [
    ("pages", pages),
    ("scattered pages", scattered),
    ("mappings", mappings),
    ("bytes", bytes),
    ("sets", sets),
    ("waiters", waiters),
    ("paths", paths),
    ("signals", signals),
];

/// The calls over a range of memory.
fn over(start: u64, length: u64, spare: u64) -> Vec<Call> {
    vec![
        (n::munmap, [start, length, 0, 0, 0, 0]),
        (n::mprotect, [start, length, 1, 0, 0, 0]),
        (n::mprotect, [start, length, 0, 0, 0, 0]),
        (n::madvise, [start, length, 4, 0, 0, 0]),
        (n::madvise, [start, length, 3, 0, 0, 0]),
        (n::mmap, [start, length, 3, 0x32, u64::MAX, 0]),
        (n::mremap, [start, length, length, 3, spare, 0]),
        (n::mremap, [start, length, 2 * length, 1, 0, 0]),
        (n::msync, [start, length, 4, 0, 0, 0]),
        (n::mincore, [start, length, spare, 0, 0, 0]),
        (n::mincore, [start, 1 << 32, start, 0, 0, 0]),
    ]
}

fn touched(s: &mut Subject, bytes: u64) -> u64 {
    let at = s.map(bytes, 3);
    s.put(at, &vec![1; bytes as usize]);
    at
}

/// A large range, all of it touched, and a heap.
fn pages(s: &mut Subject) -> Props {
    let length = 96 * MIB;
    let at = touched(s, length);
    let spare = s.map(length, 3);
    s.call(n::munmap, [spare, length, 0, 0, 0, 0]);
    let huge = s.map(1 << 40, 3);
    let mut dear = over(at, length, spare);
    dear.extend(over(huge, 1 << 40, spare));
    Props {
        values: vec![at, at + length / 2, length, length / 2, spare, huge, 1 << 40],
        dear,
    }
}

/// Pages whose frames lie far apart: each is flushed by itself.
fn scattered(s: &mut Subject) -> Props {
    let length = 128 * MIB;
    let at = touched(s, length);
    for mib in 0..128 {
        s.call(n::munmap, [at + mib * MIB + PAGE, MIB - PAGE, 0, 0, 0, 0]);
    }
    let spare = 0x10_0000_0000;
    Props {
        values: vec![at, length, spare],
        dear: over(at, length, spare),
    }
}

/// As many mappings as there may be, whose neighbours have other rights.
fn mappings(s: &mut Subject) -> Props {
    let length = 65_500 * PAGE;
    let at = s.map(length, 1);
    for page in (0..65_500).step_by(2) {
        s.call(n::mprotect, [at + page * PAGE, PAGE, 3, 0, 0, 0]);
    }
    let maps = s.scratch;
    s.put(maps, b"/proc/self/maps\0");
    let mut dear = over(at, length, 0x10_0000_0000);
    dear.push((n::open, [maps, 0, 0, 0, 0, 0]));
    dear.push((n::munmap, [0x1_0000, at + length / 2 - 0x1_0000, 0, 0, 0, 0]));
    Props {
        values: vec![at, at + PAGE, length, length / 2, maps],
        dear,
    }
}

/// Files, devices, pipes and sockets, and vectors of a thousand parts over memory that nobody has touched.
fn bytes(s: &mut Subject) -> Props {
    let path = s.scratch;
    let opened = |s: &mut Subject, name: &[u8], flags: u64| {
        s.put(path, name);
        s.call(n::open, [path, flags, 0o600, 0, 0, 0]).cast_unsigned()
    };
    let fds = [
        opened(s, b"/dev/zero\0", 2),
        opened(s, b"/dev/urandom\0", 2),
        opened(s, b"/large\0", 0),
        opened(s, b"/tmp/file\0", 0o102),
        opened(s, b"/tmp/small\0", 0o102),
    ];
    let [zero, random, large, file, small] = fds;
    s.call(n::ftruncate, [file, 15 * MIB, 0, 0, 0, 0]);
    let pair = s.scratch + PAGE;
    s.call(n::socketpair, [1, 1, 0, pair, 0, 0]);
    s.call(n::pipe2, [pair + 8, 0o4000, 0, 0, 0, 0]);
    let (socket, pipe) = (8, 11);
    let fresh = s.map(1 << 33, 3);
    let full = touched(s, 32 * MIB);
    // Its bytes are the snapshot's from then on.
    s.call(n::pwrite64, [file, full, 15 * MIB, 0, 0, 0]);
    let (large_parts, small_parts, message) =
        (s.scratch + 8 * PAGE, s.scratch + 16 * PAGE, s.scratch + 24 * PAGE);
    let vector = |at: &dyn Fn(u64) -> [u64; 2]| -> Vec<u64> { (0..1024).flat_map(at).collect() };
    s.put_words(large_parts, &vector(&|i| [fresh + i * MIB, MIB]));
    s.put_words(small_parts, &vector(&|i| [fresh + i * MIB, 4]));
    s.put_words(message, &[0, 0, small_parts, 1024, 0, 0, 0]);
    let mut dear = Vec::new();
    for fd in [zero, random, large, file] {
        dear.push((n::readv, [fd, large_parts, 1024, 0, 0, 0]));
        dear.push((n::readv, [fd, small_parts, 1024, 0, 0, 0]));
        dear.push((n::read, [fd, fresh, 64 * MIB, 0, 0, 0]));
        dear.push((n::read, [fd, full, 32 * MIB, 0, 0, 0]));
        dear.push((n::pread64, [fd, full, 32 * MIB, 0, 0, 0]));
    }
    dear.push((n::getrandom, [full, 32 * MIB, 0, 0, 0, 0]));
    dear.push((n::getrandom, [fresh, 32 * MIB, 0, 0, 0, 0]));
    for fd in [1, 2, file, small] {
        dear.push((n::write, [fd, full, 15 * MIB, 0, 0, 0]));
        dear.push((n::write, [fd, fresh, 15 * MIB, 0, 0, 0]));
        dear.push((n::writev, [fd, large_parts, 1024, 0, 0, 0]));
        dear.push((n::writev, [fd, small_parts, 1024, 0, 0, 0]));
    }
    for fd in [socket, pipe] {
        dear.push((n::writev, [fd, small_parts, 1024, 0, 0, 0]));
        dear.push((n::write, [fd, full, 32 * MIB, 0, 0, 0]));
    }
    dear.push((n::sendmsg, [socket, message, 0x40, 0, 0, 0]));
    dear.push((n::pwrite64, [file, full, 1, 0, 0, 0]));
    dear.push((n::pwrite64, [small, full, 1, MIB - 1, 0, 0]));
    dear.push((n::ftruncate, [file, 1, 0, 0, 0, 0]));
    dear.push((n::ftruncate, [file, 16 * MIB, 0, 0, 0, 0]));
    dear.push((n::ftruncate, [small, MIB, 0, 0, 0, 0]));
    dear.push((n::fallocate, [file, 0, 0, 16 * MIB, 0, 0]));
    dear.push((n::close, [file, 0, 0, 0, 0, 0]));
    dear.push((n::mmap, [0, 15 * MIB, 1, 2, file, 0]));
    let mut values = fds.to_vec();
    values.extend([
        socket,
        pipe,
        fresh,
        full,
        large_parts,
        small_parts,
        message,
        path,
        MIB,
        16 * MIB,
        1024,
    ]);
    Props { values, dear }
}

/// Epoll sets in a set, as many files in them as may be, and questions about all of them.
fn sets(s: &mut Subject) -> Props {
    let event = s.scratch;
    s.put(event, &[1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    let outer = s.call(n::epoll_create1, [0; 6]).cast_unsigned();
    let inner: Vec<u64> = (0..63)
        .map(|_| s.call(n::epoll_create1, [0; 6]).cast_unsigned())
        .collect();
    let files: Vec<u64> = (0..400)
        .map(|_| s.call(n::eventfd2, [0, 0o4000, 0, 0, 0, 0]).cast_unsigned())
        .collect();
    for &set in &inner {
        s.call(n::epoll_ctl, [outer, 1, set, event, 0, 0]);
        for &file in &files {
            s.call(n::epoll_ctl, [set, 1, file, event, 0, 0]);
        }
    }
    let last = (0..1024).fold(outer, |last, _| {
        u64::try_from(s.call(n::dup, [outer, 0, 0, 0, 0, 0])).unwrap_or(last)
    });
    let polls = s.scratch + PAGE;
    let asked: Vec<u64> = (0..1024)
        .map(|i| last.saturating_sub(i % 500) | 1 << 32)
        .collect();
    s.put_words(polls, &asked);
    let masks = s.scratch + 4 * PAGE;
    s.put_words(masks, &[u64::MAX; 48]);
    let events = s.scratch + 8 * PAGE;
    let dear = vec![
        (n::poll, [polls, 1024, 0, 0, 0, 0]),
        (n::select, [1024, masks, masks + 128, masks + 256, events, 0]),
        (n::epoll_wait, [outer, events, 1024, 0, 0, 0]),
        (n::epoll_wait, [inner[0], events, 1024, 0, 0, 0]),
        (n::epoll_ctl, [outer, 1, files[0], event, 0, 0]),
        (n::close, [files[0], 0, 0, 0, 0, 0]),
        (n::close, [inner[0], 0, 0, 0, 0, 0]),
        (n::close_range, [3, u64::from(u32::MAX), 0, 0, 0, 0]),
        (n::poll, [polls, 1024, 1, 0, 0, 0]),
    ];
    Props {
        values: vec![outer, inner[0], files[0], polls, masks, event, 1024],
        dear,
    }
}

/// As many threads as there may be, each of which waits for a thousand files.
fn waiters(s: &mut Subject) -> Props {
    let props = sets(s);
    let (polls, fds) = (props.values[3], s.scratch + 16 * PAGE);
    let file = props.values[2];
    let asked: Vec<u64> = (0..1024).map(|i| (file + i % 400) | (1 << 32)).collect();
    s.put_words(fds, &asked);
    let stack = s.scratch + 62 * PAGE;
    for _ in 0..63 {
        s.call(n::clone, [0x0005_0f00, stack, 0, 0, 0, 0]);
        s.call(n::poll, [fds, 1024, u64::from(u32::MAX), 0, 0, 0]);
    }
    let word = s.scratch + 40 * PAGE;
    let mut dear = props.dear;
    dear.extend([
        (n::sched_yield, [0; 6]),
        (n::poll, [polls, 1024, 1, 0, 0, 0]),
        (n::futex, [word, 1, u64::from(u32::MAX), 0, 0, 0]),
        (n::kill, [100, 10, 0, 0, 0, 0]),
    ]);
    Props { dear, ..props }
}

/// Long and deep paths, links of links, and a directory of many long names.
fn paths(s: &mut Subject) -> Props {
    let at = s.scratch;
    let by = |s: &mut Subject, number: u64, path: &[u8], rest: [u64; 2]| {
        s.put(at, &[path, b"\0"].concat());
        s.call(number, [at, rest[0], rest[1], 0, 0, 0])
    };
    by(s, n::mkdir, b"/tmp/wide", [0o700, 0]);
    let long = "n".repeat(240);
    for name in 0..28_000 {
        let fd = by(
            s,
            n::open,
            format!("/tmp/wide/{long}{name:06}").as_bytes(),
            [0o101, 0o600],
        );
        s.call(n::close, [fd.cast_unsigned(), 0, 0, 0, 0, 0]);
    }
    // A chain of directories, and links that lead down it: each starts with the link before it.
    by(s, n::chdir, b"/tmp", [0; 2]);
    for _ in 0..2500 {
        by(s, n::mkdir, b"d", [0o700, 0]);
        by(s, n::chdir, b"d", [0; 2]);
    }
    let deep = [b"/tmp".to_vec(), b"/d".repeat(2040)].concat();
    let (first, second) = (s.scratch + 4 * PAGE, s.scratch + 8 * PAGE);
    let down_and_up = "wide/../".repeat(500);
    for link in 0..40 {
        let before = match link {
            0 => "/tmp".to_owned(),
            link => format!("/tmp/l{}", link - 1),
        };
        s.put(
            first,
            &[before.as_bytes(), b"/", down_and_up.as_bytes(), b"\0"].concat(),
        );
        s.put(second, format!("/tmp/l{link}\0").as_bytes());
        s.call(n::symlink, [first, second, 0, 0, 0, 0]);
    }
    s.put(first, &[&deep[..], b"\0"].concat());
    s.put(
        second,
        &[&b"/tmp/l39/"[..], &b"wide/../".repeat(500), b"\0"].concat(),
    );
    let third = s.scratch + 12 * PAGE;
    s.put(third, b"/tmp/wide\0");
    let name = s.scratch + 13 * PAGE;
    s.put(name, format!("/tmp/wide/{long}{:06}\0", 9999).as_bytes());
    let wide = s.call(n::open, [third, 0, 0, 0, 0, 0]).cast_unsigned();
    let into = s.scratch + 16 * PAGE;
    let here = s.scratch + 15 * PAGE;
    s.put(here, b"d\0");
    let mut dear = vec![
        (n::getdents64, [wide, s.map(4 * MIB, 3), 4 * MIB, 0, 0, 0]),
        (n::getcwd, [into, 8192, 0, 0, 0, 0]),
        (n::mkdir, [here, 0o700, 0, 0, 0, 0]),
        (n::unlink, [name, 0, 0, 0, 0, 0]),
        (n::rename, [third, here, 0, 0, 0, 0]),
    ];
    for path in [first, second, name] {
        dear.push((n::stat, [path, into, 0, 0, 0, 0]));
        dear.push((n::open, [path, 0o102, 0o600, 0, 0, 0]));
        dear.push((n::chdir, [path, 0, 0, 0, 0, 0]));
        dear.push((n::rename, [path, first, 0, 0, 0, 0]));
        dear.push((n::rename, [path, path, 0, 0, 0, 0]));
    }
    Props {
        values: vec![first, second, third, name, here, wide, into, 8192],
        dear,
    }
}

/// Every signal waits, for the thread and for the process, and has a handler.
fn signals(s: &mut Subject) -> Props {
    let (action, set) = (s.scratch, s.scratch + PAGE);
    // A handler that has a restorer, and blocks nothing.
    s.put_words(action, &[0x40_0000, 0x4400_0000, 0x40_0000, 0]);
    s.put_words(set, &[u64::MAX]);
    s.put_words(set + 8, &[0]);
    s.call(n::rt_sigprocmask, [2, set, 0, 8, 0, 0]);
    for signal in (1..=64).filter(|signal| ![9, 19].contains(signal)) {
        s.call(n::rt_sigaction, [signal, action, 0, 8, 0, 0]);
        s.call(n::kill, [100, signal, 0, 0, 0, 0]);
        s.call(n::tgkill, [100, 100, signal, 0, 0, 0]);
    }
    Props {
        values: vec![action, set, set + 8, 100],
        dear: vec![
            (n::rt_sigprocmask, [2, set + 8, 0, 8, 0, 0]),
            (n::rt_sigsuspend, [set + 8, 8, 0, 0, 0, 0]),
        ],
    }
}
