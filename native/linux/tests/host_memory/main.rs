//! What a hostile guest makes the host hold: never more than the guest's memory, all of it counted, and all of it given back by a reset.

mod counted;

use mayfly_linux::action::Action;
use mayfly_linux::clock::ClockBase;
use mayfly_linux::fs::stdio::OutputMode;
use mayfly_linux::kernel::{Config, Kernel, Snapshot};
use mayfly_linux::limits::Limits;
use mayfly_linux::machine::mock::MockMachine;
use mayfly_linux::machine::{Machine, PAGE, Registers};
use mayfly_linux::syscall::number as n;

/// The guest's memory.
const MEMORY: u64 = 24 << 20;
/// What is there whatever a guest does, and what a call has in hand.
const SLACK: i64 = 1 << 20;

const ENOMEM: i64 = -12;
const ENOSPC: i64 = -28;
const ENFILE: i64 = -23;

struct Guest {
    kernel: Kernel,
    machine: MockMachine,
    snapshot: Snapshot,
    /// Pages for arguments.
    scratch: u64,
}

impl Guest {
    fn new() -> Self {
        let mut kernel = Kernel::new(&Config {
            limits: Limits {
                descriptors: 65_536,
                threads: 1024,
                sockets: 3000,
                ..Limits::default()
            },
            output: OutputMode::Stream,
            clock: ClockBase {
                ticks: 0,
                scale: 1 << 32,
                realtime: 0,
                grain: 0,
            },
            seed: [7; 32],
            jump_when_idle: false,
        });
        let mut machine = MockMachine::new(MEMORY / PAGE);
        machine.set_call(n::mmap, [0, 256 * PAGE, 3, 0x22, u64::MAX, 0]);
        assert_eq!(kernel.syscall(&mut machine), Action::Resume);
        let scratch = machine.registers().rax;
        let snapshot = kernel.snapshot();
        Self {
            kernel,
            machine,
            snapshot,
            scratch,
        }
    }

    /// Makes a call with all its pieces, and gives the result.
    fn call(&mut self, number: u64, a: [u64; 6]) -> i64 {
        let place = 0x40_0002;
        self.machine.set_registers(&Registers {
            rip: place,
            ..self.machine.registers()
        });
        self.machine.set_call(number, a);
        loop {
            self.kernel.syscall(&mut self.machine);
            let registers = self.machine.registers();
            if registers.rip != place - 2 {
                return registers.rax.cast_signed();
            }
            // What the `syscall` instruction does.
            self.machine.set_registers(&Registers {
                rip: place,
                ..registers
            });
        }
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> u64 {
        let at = self.scratch + offset;
        for page in (at & !(PAGE - 1)..at + bytes.len() as u64).step_by(PAGE as usize) {
            self.call(n::clock_gettime, [1, page, 0, 0, 0, 0]);
        }
        self.machine.write(at, bytes).expect("mapped pages");
        at
    }

    fn path(&mut self, path: &[u8]) -> u64 {
        self.put(0, &[path, b"\0"].concat())
    }

    /// Opens a file that it makes.
    fn make(&mut self, path: &[u8]) -> i64 {
        let path = self.path(path);
        self.call(n::open, [path, 0o102, 0o644, 0, 0, 0])
    }

    fn resize(&mut self, fd: i64, length: u64) -> i64 {
        self.call(n::ftruncate, [fd.cast_unsigned(), length, 0, 0, 0, 0])
    }

    fn close(&mut self, fd: i64) {
        self.call(n::close, [fd.cast_unsigned(), 0, 0, 0, 0, 0]);
    }

    /// Goes down into folders whose names are as long as may be.
    fn descend(&mut self, depth: usize) {
        for _ in 0..depth {
            let path = self.path(&[b'd'; 255]);
            self.call(n::mkdir, [path, 0o755, 0, 0, 0, 0]);
            assert_eq!(self.call(n::chdir, [path, 0, 0, 0, 0, 0]), 0);
        }
    }
}

/// Runs an attack, and looks at what the host holds: while it lasts, behind it, and behind the reset.
fn attack(name: &str, run: impl FnOnce(&mut Guest)) {
    let fresh = {
        let Guest { kernel, .. } = Guest::new();
        let before = counted::live();
        drop(kernel);
        before - counted::live()
    };
    let mut guest = Guest::new();
    let (before, _) = (counted::live(), counted::most());
    run(&mut guest);
    let most = counted::most() - before;
    assert!(
        most <= MEMORY as i64 + SLACK,
        "{name}: the host held {most} bytes for a guest of {MEMORY}"
    );
    guest.kernel.audit().expect(name);
    let mut copy = Guest::new();
    std::mem::swap(&mut copy.kernel, &mut guest.kernel);
    let (counted, before) = (copy.kernel.held() as i64, counted::live());
    let Guest {
        mut kernel, machine, ..
    } = copy;
    let snapshot = guest.snapshot;
    drop(machine);
    let machine_gone = counted::live();
    let _ = before;
    kernel.restore(&snapshot);
    let taken = machine_gone - counted::live() + fresh;
    assert!(
        taken <= counted + SLACK,
        "{name}: {taken} bytes were taken, {counted} counted"
    );
    assert_eq!(kernel.differences(&snapshot), Vec::<&str>::new());
    let before = counted::live();
    drop(kernel);
    let kept = before - counted::live();
    assert!(
        kept <= fresh + fresh / 20 + 16_384,
        "{name}: {kept} bytes stay behind a reset, {fresh} were there before"
    );
}

#[test]
fn files_that_shrank_keep_no_memory() {
    attack("shrunk files", |guest| {
        for index in 0..300 {
            let fd = guest.make(format!("/tmp/{index}").as_bytes());
            assert!(fd >= 0);
            assert_eq!(guest.resize(fd, 8 << 20), 0, "file {index}");
            assert_eq!(guest.resize(fd, 1), 0);
            guest.close(fd);
        }
    });
}

#[test]
fn mappings_with_long_names_are_counted() {
    attack("named mappings", |guest| {
        guest.put(0, b"/tmp\0");
        guest.call(n::chdir, [guest.scratch, 0, 0, 0, 0, 0]);
        guest.descend(15);
        let fd = guest.make(b"f");
        assert_eq!(guest.resize(fd, PAGE), 0);
        let map = |guest: &mut Guest, flags| guest.call(n::mmap, [0, PAGE, flags, 2, fd.cast_unsigned(), 0]);
        let ended = (0..70_000)
            .map(|index| map(guest, 1 + (index & 1)))
            .find(|&at| at < 0);
        assert_eq!(ended, Some(ENOMEM));
        // Their text is far more than there is room for.
        let path = guest.path(b"/proc/self/maps");
        assert_eq!(guest.call(n::open, [path, 0, 0, 0, 0, 0]), ENOMEM);
    });
}

#[test]
fn the_text_of_mappings_is_bounded_before_it_is_made() {
    attack("maps", |guest| {
        let path = guest.path(b"/proc/self/maps");
        for index in 0..40_000 {
            let at = guest.call(n::mmap, [0, PAGE, 1 + (index & 1), 0x22, u64::MAX, 0]);
            assert!(at > 0, "mapping {index} is one too many");
        }
        let opened = (0..100)
            .map(|_| guest.call(n::open, [path, 0, 0, 0, 0, 0]))
            .find(|&fd| fd < 0);
        assert_eq!(opened, Some(ENOMEM));
    });
}

#[test]
fn links_names_and_folders_are_counted() {
    attack("links", |guest| {
        let target = guest.put(PAGE, &[[b't'; 4090].as_slice(), b"\0"].concat());
        let made = (0..40_000).map(|index: u32| {
            let path = guest.path(format!("/tmp/{index}").as_bytes());
            guest.call(n::symlink, [target, path, 0, 0, 0, 0])
        });
        assert_eq!(made.into_iter().find(|&made| made < 0), Some(ENOSPC));
    });
    attack("folders", |guest| {
        let made = (0..40_000).map(|index: u32| {
            let path = guest.path(format!("/tmp/{index:0>255}").as_bytes());
            guest.call(n::mkdir, [path, 0o755, 0, 0, 0, 0])
        });
        assert_eq!(made.into_iter().find(|&made| made < 0), Some(ENOSPC));
    });
}

#[test]
fn versions_of_a_file_are_counted() {
    attack("versions", |guest| {
        let fd = guest.make(b"/tmp/f");
        let bytes = guest.put(PAGE, b"x");
        assert_eq!(guest.resize(fd, 1 << 20), 0);
        let ended = (0..1000).find_map(|_| {
            let at = guest.call(n::mmap, [0, PAGE, 1, 2, fd.cast_unsigned(), 0]);
            let written = guest.call(n::pwrite64, [fd.cast_unsigned(), bytes, 1, 0, 0, 0]);
            [at, written].into_iter().find(|&result| result < 0)
        });
        assert!(matches!(ended, Some(ENOMEM | ENOSPC)));
    });
}

#[test]
fn buffers_of_streams_are_counted_and_go_when_they_are_empty() {
    attack("drained pipes", |guest| {
        let (at, bytes) = (guest.scratch, guest.scratch + PAGE);
        guest.put(PAGE, &[b'x'; 65_536]);
        for index in 0..8000 {
            if guest.call(n::pipe, [at, 0, 0, 0, 0, 0]) < 0 {
                break;
            }
            let mut ends = [0; 8];
            guest.machine.read(at, &mut ends).expect("a mapped page");
            let [r, w] = [0, 4].map(|at| u64::from(ends[at]) | u64::from(ends[at + 1]) << 8);
            assert_eq!(
                guest.call(n::write, [w, bytes, 65_536, 0, 0, 0]),
                65_536,
                "pipe {index}"
            );
            assert_eq!(guest.call(n::read, [r, bytes, 65_536, 0, 0, 0]), 65_536);
        }
    });
}

#[test]
fn sockets_names_and_what_waits_at_them_are_counted() {
    attack("sockets", |guest| {
        let name = |index: u32| [&b"\x01\0\0"[..], format!("{index:0>107}").as_bytes()].concat();
        let mut listens = 0;
        let ended = (0..4000).find_map(|index| {
            let fd = guest.call(n::socket, [1, 1 | 0o4000, 0, 0, 0, 0]);
            let fd_number = fd.cast_unsigned();
            let at = guest.put(0, &name(index));
            let bound = guest.call(n::bind, [fd_number, at, 110, 0, 0, 0]);
            let done = if index % 100 == 0 {
                listens = index;
                guest.call(n::listen, [fd_number, 128, 0, 0, 0, 0])
            } else {
                let at = guest.put(0, &name(listens));
                guest.call(n::connect, [fd_number, at, 110, 0, 0, 0])
            };
            [fd, bound, done].into_iter().find(|&result| result < 0)
        });
        assert!(matches!(ended, Some(ENOMEM | ENFILE)), "{ended:?}");
    });
}

#[test]
fn descriptors_and_sets_are_counted() {
    attack("the last descriptor", |guest| {
        assert_eq!(guest.call(n::dup2, [0, 65_535, 0, 0, 0, 0]), 65_535);
    });
    attack("events", |guest| {
        let ended = (0..70_000)
            .map(|_| guest.call(n::eventfd2, [0; 6]))
            .find(|&fd| fd < 0);
        assert!(ended.is_some());
    });
    attack("epoll", |guest| {
        let event = guest.put(0, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let file = guest.call(n::eventfd2, [0; 6]);
        let ended = (0..70_000).find_map(|_| {
            let set = guest.call(n::epoll_create1, [0; 6]);
            let added = guest.call(
                n::epoll_ctl,
                [set.cast_unsigned(), 1, file.cast_unsigned(), event, 0, 0],
            );
            [set, added].into_iter().find(|&result| result < 0)
        });
        assert!(ended.is_some());
    });
}

#[test]
fn what_threads_wait_for_is_counted() {
    attack("threads that poll", |guest| {
        let stack = guest.scratch + PAGE;
        for _ in 0..200 {
            guest.call(n::clone, [0x0005_0f00, stack, 0, 0, 0, 0]);
        }
        // The timer of an eventfd that nobody sets is never ready.
        let fd = guest.call(n::eventfd2, [0; 6]);
        let entry = (fd.cast_unsigned() | 1 << 32).to_le_bytes();
        let entries = guest.put(PAGE, &entry.repeat(60_000));
        for _ in 0..150 {
            guest.call(n::poll, [entries, 60_000, u64::MAX, 0, 0, 0]);
        }
    });
}
