//! How much work a piece of a call is, counted: bytes that are copied, and work on pages. And that nothing comes between the pieces.

use super::*;
use crate::bounds;
use crate::fs::files::event;
use crate::syscall::Call;

const MIB: u64 = 1 << 20;

/// Bytes copied beside those of the call itself: a path, a vector, a table of a poll.
const BESIDE: u64 = 40 << 10;
/// Work of the page faults of one copy more than the piece has: fault-around, in pages.
const AROUND: u64 = 2 * 16;

impl Guest {
    fn memory(&mut self, bytes: u64) -> u64 {
        self.call(number::mmap, [0, bytes, 3, 0x22, u64::MAX, 0])
            .cast_unsigned()
    }

    fn opened(&mut self, path: &[u8], flags: u64) -> u64 {
        self.put(self.scratch, path);
        self.call(number::open, [self.scratch, flags, 0o600, 0, 0, 0])
            .cast_unsigned()
    }

    /// Makes a call, checks each of its pieces against the bounds, and gives how many there were.
    fn pieces(&mut self, number: u64, a: [u64; 6]) -> usize {
        let mut count = 0;
        loop {
            let (copied, work) = (self.machine.copied(), self.machine.work());
            let action = match count {
                0 => Some(self.act_once(number, a)),
                _ => self.piece(),
            };
            let Some(action) = action else { return count };
            assert!(
                matches!(action, Action::Resume | Action::Output),
                "{number} {a:x?}: {action:?}"
            );
            let (copied, work) = (self.machine.copied() - copied, self.machine.work() - work);
            assert!(
                copied <= bounds::BYTES + BESIDE,
                "{number} {a:x?}: {copied} bytes"
            );
            assert!(work <= bounds::WORK + AROUND, "{number} {a:x?}: {work} pages");
            count += 1;
        }
    }

    /// The pieces of a call that succeeds with a result.
    fn whole(&mut self, number: u64, a: [u64; 6], result: u64) -> usize {
        let pieces = self.pieces(number, a);
        assert_eq!(self.result().cast_unsigned(), result, "{number} {a:x?}");
        pieces
    }
}

#[test]
fn copies_go_on_piece_by_piece_and_are_whole_in_the_end() {
    let mut guest = Guest::new();
    let fds = [&b"/dev/zero\0"[..], b"/dev/urandom\0", b"/tmp/file\0"].map(|path| guest.opened(path, 0o102));
    let [zero, random, file] = fds;
    let at = guest.memory(4 * MIB);
    assert!(guest.whole(number::read, [zero, at, 4 * MIB, 0, 0, 0], 4 * MIB) >= 16);
    assert!(guest.whole(number::read, [random, at, 2 * MIB, 0, 0, 0], 2 * MIB) >= 16);
    assert!(guest.whole(number::getrandom, [at, 2 * MIB, 0, 0, 0, 0], 2 * MIB) >= 16);
    assert!(guest.whole(number::write, [file, at, 4 * MIB, 0, 0, 0], 4 * MIB) >= 16);
    assert!(guest.whole(number::pwrite64, [file, at, 3 * MIB, 5, 0, 0], 3 * MIB) >= 12);
    let other = guest.memory(4 * MIB);
    assert!(guest.whole(number::pread64, [file, other, 4 * MIB, 5, 0, 0], 4 * MIB - 5) >= 16);
    assert_eq!(guest.get::<64>(at), guest.get::<64>(other));
    assert_eq!(
        guest.get::<64>(at + 3 * MIB - 64),
        guest.get::<64>(other + 3 * MIB - 64)
    );
    assert_eq!(guest.call(number::lseek, [file, 0, 1, 0, 0, 0]), 4 << 20);
    assert!(guest.whole(number::write, [1, at, 3 * MIB, 0, 0, 0], 3 * MIB) >= 12);
    assert_eq!(guest.kernel.take_output().len() as u64, 3 * MIB);
    assert!(guest.whole(number::write, [2, at, 3 * MIB, 0, 0, 0], 3 * MIB) >= 12);
}

#[test]
fn vectors_of_a_thousand_parts_over_memory_that_is_not_there_yet_are_many_pieces() {
    let mut guest = Guest::new();
    let zero = guest.opened(b"/dev/zero\0", 2);
    let file = guest.opened(b"/tmp/file\0", 0o102);
    let (vector, fresh) = (guest.memory(4 * PAGE), guest.memory(1 << 30));
    // Each part has pages of its own, and its neighbours come with it.
    let parts: Vec<u8> = (0..200)
        .flat_map(|i| [fresh + i * MIB, 8].map(u64::to_le_bytes).concat())
        .collect();
    guest.put(vector, &parts);
    assert!(guest.whole(number::readv, [zero, vector, 200, 0, 0, 0], 1600) >= 3);
    guest.call(number::madvise, [fresh, 1 << 30, 4, 0, 0, 0]);
    assert_eq!(guest.whole(number::writev, [file, vector, 200, 0, 0, 0], 1600), 1);
    for writes in [number::writev, number::pwritev] {
        guest.call(number::munmap, [fresh, 1 << 30, 0, 0, 0, 0]);
        guest.call(number::mmap, [fresh, 1 << 30, 3, 0x32, u64::MAX, 0]);
        assert!(guest.whole(writes, [file, vector, 200, 0, 0, 0], 1600) >= 3);
    }
    // A pipe takes a short write whole or not at all: it begins anew, with more pages each time.
    guest.call(number::pipe2, [guest.scratch, 0o4000, 0, 0, 0, 0]);
    guest.call(number::munmap, [fresh, 1 << 30, 0, 0, 0, 0]);
    guest.call(number::mmap, [fresh, 1 << 30, 3, 0x32, u64::MAX, 0]);
    let writer = u64::from(guest.word(guest.scratch + 4));
    assert!(guest.whole(number::writev, [writer, vector, 200, 0, 0, 0], 1600) >= 3);
    // All parts are one place: as much as one call moves, of which the machine has little.
    let parts: Vec<u8> = [fresh, MIB].map(u64::to_le_bytes).concat().repeat(1024);
    guest.put(vector, &parts[..16 * 1024]);
    for _ in 0..3 {
        guest
            .machine
            .set_call(number::readv, [zero, vector, 1024, 0, 0, 0]);
        guest.kernel.syscall(&mut guest.machine);
        for _ in 0..20 {
            assert_eq!(guest.piece(), Some(Action::Resume));
        }
        let moved = guest.kernel.moved();
        assert!((4 * MIB..8 * MIB).contains(&moved), "{moved} bytes in 21 pieces");
        // The deadline ends it here; the machine would be reset.
        guest.machine.set_call(number::getpid, [0; 6]);
        guest.kernel.syscall(&mut guest.machine);
        assert_eq!(guest.result(), 100, "another call does not go on with it");
        assert_eq!(guest.kernel.moved(), 0);
    }
}

#[test]
fn changes_of_memory_go_on_page_by_page() {
    const PAGES: u64 = 3000;
    let length = PAGES * PAGE;
    let mut guest = Guest::new();
    let at = guest.memory(length);
    guest.put(at, &vec![7; length as usize]);
    assert!(guest.whole(number::mprotect, [at, length, 1, 0, 0, 0], 0) >= 3);
    assert!(guest.whole(number::mprotect, [at, length, 3, 0, 0, 0], 0) >= 3);
    let to = 0x10_0000_0000;
    assert!(guest.whole(number::mremap, [at, length, length, 3, to, 0], to) >= 3);
    assert_eq!(guest.get(to + length - 1), [7]);
    assert!(guest.whole(number::madvise, [to, length, 4, 0, 0, 0], 0) >= 3);
    assert_eq!(guest.get(to + length - 1), [0]);
    guest.put(to, &vec![7; length as usize]);
    assert!(guest.whole(number::mmap, [to, length, 3, 0x32, u64::MAX, 0], to) >= 3);
    assert_eq!(guest.get(to + length - 1), [0]);
    guest.put(to, &vec![7; length as usize]);
    assert!(guest.whole(number::munmap, [to, length, 0, 0, 0, 0], 0) >= 3);
    assert_eq!(
        guest.call(number::munmap, [to, length, 0, 0, 0, 0]),
        0,
        "nothing is there"
    );
    let heap = guest.call(number::brk, [0; 6]).cast_unsigned();
    guest.call(number::brk, [heap + length, 0, 0, 0, 0, 0]);
    guest.put(heap, &vec![7; length as usize]);
    assert!(guest.whole(number::brk, [heap, 0, 0, 0, 0, 0], heap) >= 3);
    guest.call(number::brk, [heap + length, 0, 0, 0, 0, 0]);
    assert_eq!(guest.get(heap + length - 1), [0]);
    let huge = guest.memory(1 << 30);
    assert!(guest.pieces(number::mincore, [huge, 1 << 30, at, 0, 0, 0]) >= 1);
    guest.kernel.audit().expect("as it must be");
}

#[test]
fn changes_of_memory_go_on_mapping_by_mapping() {
    let mut guest = Guest::new();
    let count = 3 * bounds::MAPPINGS as u64;
    let at = guest.memory(count * PAGE);
    let split = |guest: &mut Guest| {
        for page in (0..count).step_by(2) {
            guest.call(number::mprotect, [at + page * PAGE, PAGE, 1, 0, 0, 0]);
        }
    };
    split(&mut guest);
    assert_eq!(
        guest.whole(number::mprotect, [at, count * PAGE, 0, 0, 0, 0], 0),
        3
    );
    guest.call(number::mprotect, [at, count * PAGE, 3, 0, 0, 0]);
    split(&mut guest);
    assert!(guest.whole(number::madvise, [at, count * PAGE, 4, 0, 0, 0], 0) >= 3);
    let fd = guest.opened(b"/proc/self/maps\0", 0);
    guest.call(number::close, [fd, 0, 0, 0, 0, 0]);
    guest.put(guest.scratch, b"/proc/self/maps\0");
    assert!(guest.whole(number::open, [guest.scratch, 0, 0, 0, 0, 0], fd) >= 3);
    let text = guest.memory(MIB);
    let read = guest.call(number::read, [fd, text, MIB, 0, 0, 0]) as usize;
    let mut bytes = vec![0; read];
    guest
        .kernel
        .space
        .read(&mut guest.machine, text, &mut bytes)
        .expect("mapped");
    let lines = String::from_utf8(bytes).expect("text").lines().count();
    // The text's own memory came later.
    assert!(
        lines as u64 > count && lines < guest.kernel.space.tree.len() + 2,
        "{lines}"
    );
    assert!(guest.whole(number::munmap, [at, count * PAGE, 0, 0, 0, 0], 0) >= 3);
    guest.kernel.audit().expect("as it must be");
}

#[test]
fn many_descriptors_are_closed_piece_by_piece() {
    let mut guest = Guest::new();
    for _ in 0..300 {
        guest.call(number::eventfd2, [0; 6]);
    }
    assert_eq!(guest.whole(number::close_range, [3, u64::MAX, 4, 0, 0, 0], 0), 1);
    assert_eq!(guest.whole(number::close_range, [3, u64::MAX, 0, 0, 0, 0], 0), 5);
    assert_eq!(guest.call(number::dup, [0; 6]), 3);
}

#[test]
fn nothing_comes_between_the_pieces_of_a_call() {
    let mut guest = Guest::new();
    let zero = guest.opened(b"/dev/zero\0", 2);
    let at = guest.memory(2 * MIB);
    guest.thread();
    let first = guest.tid();
    // A handler for SIGUSR1, which is sent to the process in the middle.
    let action = [0x40_0000_u64, 0x0400_0000, 0x40_0000, 0].map(u64::to_le_bytes);
    guest.put(guest.scratch, action.as_flattened());
    guest.call(number::rt_sigaction, [10, guest.scratch, 0, 8, 0, 0]);
    let calls = guest.kernel.statistics.calls;
    guest.act_once(number::read, [zero, at, 2 * MIB, 0, 0, 0]);
    let instruction = guest.machine.registers().rip;
    let info = crate::task::signal::Info::sent(10, 0, 100, 0);
    guest.kernel.send(None, info);
    for _ in 0..3 {
        assert_eq!(guest.kernel.preempt(&mut guest.machine), Action::Resume);
        assert_eq!((guest.tid(), guest.machine.registers().rip), (first, instruction));
        // Stopped in the stub that the instruction leads to, with the call on its way.
        let (registers, moved) = (guest.machine.registers(), guest.kernel.moved());
        let stub = Registers {
            rip: 0x8000,
            ..registers
        };
        guest.machine.set_registers(&stub);
        assert_eq!(guest.kernel.preempt(&mut guest.machine), Action::Resume);
        assert_eq!((guest.tid(), guest.machine.registers()), (first, stub));
        assert_eq!(guest.kernel.moved(), moved);
        guest.machine.set_registers(&registers);
        assert_eq!(guest.piece(), Some(Action::Resume));
    }
    // The page of the instruction went away: the call goes on all the same.
    let registers = guest.machine.registers();
    assert_eq!((registers.rip, registers.rax), (instruction, number::read));
    let moved = guest.kernel.moved();
    guest.kernel.fault(&mut guest.machine, 14, 0x14, instruction);
    assert!(guest.kernel.moved() > moved);
    while guest.piece().is_some() {}
    assert_eq!(guest.kernel.statistics.calls, calls + 1, "pieces are one call");
    // Now the signal is delivered, and its frame has the call's result.
    assert_eq!(guest.machine.registers().rip, 0x40_0000);
    let result = Call::from_registers(&guest.machine.registers());
    assert_eq!(result.arguments[0], 10, "the handler's argument");
    let frame = guest.machine.registers().rdx;
    assert_eq!(guest.get::<8>(frame + 40 + 13 * 8), (2 * MIB).to_le_bytes());
}

#[test]
fn a_poll_looks_at_each_file_once_whatever_sets_it_is_in() {
    let mut guest = Guest::new();
    guest.put(guest.scratch, &[1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    let epoll = |guest: &mut Guest| guest.call(number::epoll_create1, [0; 6]).cast_unsigned();
    let outer = epoll(&mut guest);
    let inner: Vec<u64> = (0..60).map(|_| epoll(&mut guest)).collect();
    let files: Vec<u64> = (0..60)
        .map(|_| guest.call(number::eventfd2, [0; 6]).cast_unsigned())
        .collect();
    let mut watched = 0;
    for &set in &inner {
        let add = [outer, 1, set, guest.scratch, 0, 0];
        assert_eq!(guest.call(number::epoll_ctl, add), 0);
        watched += 1;
        for &file in &files {
            let add = [set, 1, file, guest.scratch, 0, 0];
            watched += usize::from(guest.call(number::epoll_ctl, add) == 0);
        }
    }
    assert_eq!(watched, 60 + 60 * 60);
    let mut readiness = guest.kernel.files.readiness(0);
    for _ in 0..1000 {
        assert_eq!(readiness.of(outer as usize) & event::IN, 0);
        for &set in &inner {
            assert_eq!(readiness.of(set as usize) & event::IN, 0);
        }
    }
    let looks = readiness.looks();
    assert!(looks <= 1 + 60 + 60 + 16, "{looks} looks");
    // What is in sets has a limit.
    let extra: Vec<u64> = (0..200)
        .map(|_| guest.call(number::eventfd2, [0; 6]).cast_unsigned())
        .collect();
    let mut last = 0;
    for &set in &inner {
        for &file in &extra {
            last = guest.call(number::epoll_ctl, [set, 1, file, guest.scratch, 0, 0]);
            watched += usize::from(last == 0);
        }
    }
    assert_eq!((watched, last), (1024 * bounds::INTERESTS, -28));
    // Closing takes files out of the sets.
    guest.call(number::close_range, [files[0], files[59], 0, 0, 0, 0]);
    assert_eq!(
        guest.call(number::epoll_ctl, [inner[59], 1, extra[199], guest.scratch, 0, 0]),
        0
    );
    guest.kernel.audit().expect("as it must be");
}

#[test]
fn paths_end_where_links_make_them_too_long() {
    let mut guest = Guest::new();
    let (path, target) = (guest.scratch, guest.memory(2 * PAGE));
    guest.put(path, b"/tmp/d\0");
    guest.call(number::mkdir, [path, 0o700, 0, 0, 0, 0]);
    // Each link is a walk of 1000 names behind the link before it.
    for link in 0..5 {
        let before = match link {
            0 => "/tmp".to_owned(),
            _ => format!("/tmp/l{}", link - 1),
        };
        guest.put(target, format!("{before}/{}\0", "d/../".repeat(500)).as_bytes());
        guest.put(path, format!("/tmp/l{link}\0").as_bytes());
        assert_eq!(guest.call(number::symlink, [target, path, 0, 0, 0, 0]), 0);
    }
    for (link, result) in [(0, 0), (2, 0), (3, -40), (4, -40)] {
        guest.put(path, format!("/tmp/l{link}\0").as_bytes());
        assert_eq!(
            guest.call(number::stat, [path, target, 0, 0, 0, 0]),
            result,
            "{link}"
        );
    }
    // A listing ends with a part of it, and goes on.
    for name in 0..2000 {
        guest.put(path, format!("/tmp/d/{name:020}\0").as_bytes());
        let fd = guest
            .call(number::creat, [path, 0o600, 0, 0, 0, 0])
            .cast_unsigned();
        guest.call(number::close, [fd, 0, 0, 0, 0, 0]);
    }
    let folder = guest.opened(b"/tmp/d\0", 0);
    let into = guest.memory(MIB);
    let mut listed = 0;
    loop {
        let bytes = guest.call(number::getdents64, [folder, into, MIB, 0, 0, 0]);
        assert!((0..=bounds::LISTING as i64).contains(&bytes), "{bytes}");
        if bytes == 0 {
            break;
        }
        listed += bytes;
    }
    assert_eq!(listed, 2000 * 40 + 2 * 24);
    // A directory deeper than paths are long has no path, and none can be moved below it.
    guest.put(path, b"/tmp\0");
    guest.call(number::chdir, [path, 0, 0, 0, 0, 0]);
    guest.put(path, b"d\0");
    guest.put(target, b"/tmp/other\0");
    guest.call(number::mkdir, [target, 0o700, 0, 0, 0, 0]);
    for depth in 0..2100 {
        guest.call(number::mkdir, [path, 0o700, 0, 0, 0, 0]);
        assert_eq!(guest.call(number::chdir, [path, 0, 0, 0, 0, 0]), 0);
        let named = guest.call(number::getcwd, [into, 8192, 0, 0, 0, 0]) > 0;
        assert_eq!(named, 4 + 2 * (depth + 1) < 4096, "{depth}");
    }
    guest.put(path, b"moved\0");
    assert_eq!(guest.call(number::rename, [target, path, 0, 0, 0, 0]), -36);
}

#[test]
fn signals_behind_the_first_few_are_delivered_at_the_next_exit() {
    let mut guest = Guest::new();
    let action = [0x40_0000_u64, 0x4400_0000, 0x40_0000, 0].map(u64::to_le_bytes);
    let mask = [u64::MAX, 0].map(u64::to_le_bytes);
    guest.put(guest.scratch, action.as_flattened());
    guest.put(guest.scratch + 64, mask.as_flattened());
    guest.call(number::rt_sigprocmask, [2, guest.scratch + 64, 0, 8, 0, 0]);
    for signal in 33..=64 {
        guest.call(number::rt_sigaction, [signal, guest.scratch, 0, 8, 0, 0]);
        guest.call(number::kill, [100, signal, 0, 0, 0, 0]);
    }
    let stack = guest.memory(MIB) + MIB;
    let registers = guest.machine.registers();
    guest.machine.set_registers(&Registers {
        rsp: stack,
        ..registers
    });
    guest.call(number::rt_sigprocmask, [2, guest.scratch + 72, 0, 8, 0, 0]);
    assert_eq!(guest.kernel.statistics.signals, bounds::FRAMES as u64);
    guest.call(number::getpid, [0; 6]);
    assert_eq!(guest.kernel.statistics.signals, 2 * bounds::FRAMES as u64);
}

/// What a piece moves on the host alone is not in [`Guest::pieces`]: blocks of files are counted where they are (`fs/blocks.rs`).
#[test]
fn the_first_write_to_a_large_file_that_is_mapped_is_one_small_piece_and_the_mapping_stays_as_it_was() {
    let mut guest = Guest::new();
    let file = guest.opened(b"/tmp/file\0", 0o102);
    let at = guest.memory(4 * MIB);
    guest.put(at, &vec![7; 4 << 20]);
    guest.whole(number::write, [file, at, 4 * MIB, 0, 0, 0], 4 * MIB);
    let shown = guest
        .call(number::mmap, [0, 4 * MIB, 1, 2, file, 0])
        .cast_unsigned();
    let held = guest.kernel.held();
    guest.put(at, &[9; 4]);
    assert_eq!(guest.whole(number::pwrite64, [file, at, 4, 3 * MIB, 0, 0], 4), 1);
    assert_eq!(
        guest.kernel.held(),
        held,
        "blocks are counted for the file and for the mapping"
    );
    assert_eq!(guest.get(shown + 3 * MIB), [7; 4]);
    assert_eq!(
        guest.whole(number::pread64, [file, at, 4 * MIB, 0, 0, 0], 4 * MIB),
        16
    );
    assert_eq!(
        (guest.get(at + 3 * MIB), guest.get(at + 3 * MIB + 4)),
        ([9; 4], [7; 4])
    );
}
