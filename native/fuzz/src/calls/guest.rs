//! The guest that every run starts from: a small program with memory that calls take seriously.

use std::sync::Arc;

use mayfly_linux::action::Action;
use mayfly_linux::clock::ClockBase;
use mayfly_linux::errno::Errno;
use mayfly_linux::fs::host_file::HostFile;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::kernel::exec::Exec;
use mayfly_linux::kernel::{Config, Kernel, Snapshot};
use mayfly_linux::limits::Limits;
use mayfly_linux::machine::mock::MockMachine;
use mayfly_linux::machine::{Machine, PAGE, SlotId};
use mayfly_linux::net::address::Address;
use mayfly_linux::net::permits::Permits;
use mayfly_linux::syscall::number;

use crate::program::tiny;

/// Lets a guest connect to wherever it likes.
#[derive(Debug)]
pub(super) struct Anywhere;

impl Permits for Anywhere {
    fn permit(&self, _: &Address) -> Result<(), Errno> {
        Ok(())
    }
}

/// One tick is one nanosecond.
pub(crate) const CLOCK: ClockBase = ClockBase {
    ticks: 0,
    scale: 1 << 32,
    realtime: 1_700_000_000_000_000_000,
    grain: 0,
};

/// Small, so that short sequences reach them.
pub(super) const LIMITS: Limits = Limits {
    descriptors: 24,
    threads: 5,
    mappings: 40,
    reserved_bytes: 1 << 30,
    file_bytes: 50_000,
    file_nodes: 90,
    held_bytes: 80_000,
    sockets: 9,
    output_bytes: 10_000,
    log_bytes: 1000,
    calls: 100,
    fault_around: 4,
};

/// Pages of private memory that the machine has.
const MACHINE_PAGES: u64 = 120;
/// Pages of the area that arguments point into: the last two are read-only and out of reach.
pub(super) const AREA_PAGES: u64 = 6;
/// Bytes of one place in the area.
pub(super) const PLACE: u64 = 64;

/// A guest at its snapshot.
pub(super) struct Guest {
    pub kernel: Kernel,
    pub snapshot: Snapshot,
    pub machine: MockMachine,
    /// Where the area starts.
    pub area: u64,
    /// What it holds at the snapshot is within its limits.
    pub within_limits: bool,
    /// The host's files that it sees.
    pub lent: Vec<HostFile>,
}

impl Guest {
    pub fn new(output: OutputMode, jump_when_idle: bool) -> Self {
        let config = Config {
            limits: LIMITS,
            output,
            clock: CLOCK,
            seed: [7; 32],
            jump_when_idle,
        };
        let mut kernel = Kernel::new(&config);
        kernel.set_permits(Some(Arc::new(Anywhere)));
        let mut machine = MockMachine::new(MACHINE_PAGES);
        let program = tiny();
        machine.add_slot(program.clone());
        let mut file = HostFile::new(program);
        file.slot = Some(SlotId(0));
        let lent = vec![file, HostFile::new(vec![b'x'; 9000])];
        for (path, file) in ["/bin/tiny", "/lib/text"].into_iter().zip(&lent) {
            kernel.vfs_mut().mount_file(path, file.clone());
        }
        let exec = Exec {
            path: "/bin/tiny".into(),
            arguments: vec!["tiny".into()],
            environment: vec!["NAME=value".into()],
            ..Exec::default()
        };
        kernel.exec(&mut machine, &exec).expect("a program that starts");
        let mut call = |number, a: [u64; 6]| {
            machine.set_call(number, a);
            assert_eq!(kernel.syscall(&mut machine), Action::Resume);
            machine.registers().rax
        };
        let area = call(number::mmap, [0, AREA_PAGES * PAGE, 3, 0x22, u64::MAX, 0]);
        // Everything in reach is mapped before it is filled: a store here serves no fault.
        for page in 0..AREA_PAGES {
            call(number::clock_gettime, [1, area + page * PAGE, 0, 0, 0, 0]);
        }
        for (index, bytes) in places(area).iter().enumerate() {
            machine
                .write(area + index as u64 * PLACE, bytes)
                .expect("a mapped page");
        }
        let mut call = |number, a: [u64; 6]| {
            machine.set_call(number, a);
            assert_eq!(kernel.syscall(&mut machine), Action::Resume);
        };
        call(
            number::mprotect,
            [area + (AREA_PAGES - 2) * PAGE, PAGE, 1, 0, 0, 0],
        );
        call(
            number::mprotect,
            [area + (AREA_PAGES - 1) * PAGE, PAGE, 0, 0, 0, 0],
        );
        let snapshot = kernel.snapshot();
        Self {
            kernel,
            snapshot,
            machine,
            area,
            within_limits: true,
            lent,
        }
    }
}

/// What lies in the area, one place after the other: paths, then structures of words that calls read.
fn places(area: u64) -> Vec<Vec<u8>> {
    let at = |place: u64| area + place * PLACE;
    let words = |words: &[u64]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let paths: [&[u8]; 16] = [
        b"/tmp/a\0",
        b"/tmp/b\0",
        b"/tmp/b/c\0",
        b"/tmp/b/c/d\0",
        b"a\0",
        b"..\0",
        b".\0",
        b"/\0",
        b"/proc/self/maps\0",
        b"/dev/zero\0",
        b"/bin/tiny\0",
        b"/lib/text\0",
        b"/tmp/b/\0",
        b"../a/./b\0",
        b"/proc/self/exe\0",
        b"\0",
    ];
    let mut places: Vec<Vec<u8>> = paths.iter().map(|path| path.to_vec()).collect();
    let bytes = |parts: [&[u8]; 2]| parts.concat();
    places.extend([
        // 16: two iovecs; one over the end of what can be written; one of nothing and one of far too much.
        words(&[at(64), 100, at(70), 30]),
        words(&[area + (AREA_PAGES - 2) * PAGE - 8, 64]),
        words(&[at(64), 0, at(64), 1 << 40]),
        // 19: msghdr over the vectors above, then one with everything set.
        words(&[0, 0, at(16), 2, 0, 0, 0]),
        words(&[at(64), 16, at(16), 3, at(70), 64, 0]),
        // 21: timespecs and timevals: a millisecond, none, ever, wrong.
        words(&[0, 1_000_000]),
        words(&[0, 0]),
        words(&[u64::MAX >> 1, 999_999_999]),
        words(&[1, u64::MAX]),
        // 25: interval and value.
        words(&[0, 1_000, 0, 1_000]),
        words(&[1, 0, 0, 1]),
        words(&[0, 0, 0, 0]),
        // 28: sigaction of a handler, of one on the other stack that may nest, of none.
        words(&[0x40_00b0, 0x0400_0004, 0x40_00b0, 0]),
        words(&[0x40_00b0, 0x4c00_0004, 0x40_00b0, u64::MAX]),
        words(&[1, 0, 0, 0]),
        // 31: signal sets, and one with its size as pselect6 wants it.
        words(&[u64::MAX]),
        words(&[1 << 9]),
        words(&[at(32), 8]),
        // 34: stack_t in the area, one far too small, none.
        words(&[at(128), 0, 4096]),
        words(&[at(128), 0, 100]),
        words(&[0, 2, 0]),
        // 37: epoll_event: in; in, out and edge; one shot.
        bytes([&1_u32.to_le_bytes(), &[1; 8]]),
        bytes([&0x8000_0005_u32.to_le_bytes(), &[2; 8]]),
        bytes([&0x4000_0001_u32.to_le_bytes(), &[3; 8]]),
        // 40: pollfds of 0, 3, 4 and a negative one; fd_set of 0 to 5.
        words(&[1 << 32, 0x5_0000_0003, 0x5_0000_0004, 0x1_ffff_ffff]),
        words(&[0x3f, 0]),
        // 42: clone_args of a thread, and of a process.
        words(&[0x0035_0f00, 0, at(90), at(91), 0, at(128), 4096, 0]),
        words(&[0; 8]),
        // 44: resource limits.
        words(&[16, 16]),
        words(&[1 << 20, u64::MAX]),
        // 46: a futex word of 1, eventfd's counts, a name.
        words(&[1]),
        words(&[u64::MAX - 1]),
        b"name\0".to_vec(),
        // 49: a frame's head of nothing, and of ten bytes.
        b"MAYF\x01\x02\0\0\0\0\0\0\0\0\0\0".to_vec(),
        b"MAYF\x01\x02\0\0\x02\0\0\0\x08\0\0\0{}12345678".to_vec(),
        // 51: names of sockets: port 80 of all addresses and of one, of IPv6's; a name of Linux's own; none; their length.
        bytes([&[2, 0, 0, 80], &[0; 12]]),
        bytes([&[2, 0, 0, 80, 127, 0, 0, 1], &[0; 8]]),
        bytes([&[10, 0, 0, 80], &[0; 24]]),
        b"\x01\0\0name".to_vec(),
        words(&[16]),
        // 56: capability header, siginfo, a long name.
        words(&[0x2008_0522]),
        words(&[0x0000_000a_0000_000a, 0xffff_ffff]),
        vec![b'n'; PLACE as usize],
    ]);
    places
}
