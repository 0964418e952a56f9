//! One step of a run, as bytes say it.

use mayfly_linux::machine::{PAGE, USER_END};
use mayfly_linux::syscall::number;
use mayfly_linux::task::process::PID;

use super::guest::{AREA_PAGES, PLACE};
use crate::Input;

/// What happens to the guest next.
#[derive(Clone, Debug)]
pub(super) enum Step<'a> {
    /// It makes a system call.
    Call(u64, [u64; 6]),
    /// It stores these bytes.
    Store(u64, &'a [u8]),
    /// It jumps, with this stack pointer.
    Jump { rip: u64, rsp: u64, rflags: u64 },
    /// The processor raises an exception: vector, error code, address.
    Fault(u8, u64, u64),
    /// The host stops it in ring 3 and lets another thread run.
    Preempt,
    /// Time passes.
    Pass(u64),
}

/// What the host does while no thread can run.
#[derive(Clone, Debug)]
pub(super) enum Waiting<'a> {
    /// Gives it a request.
    Request(&'a [u8]),
    /// Gives it bytes on fd 0.
    Input(&'a [u8]),
    /// Connects to what listens, or talks on.
    Connect(&'a [u8]),
    /// Ends fd 0.
    End,
    /// Lets time pass, as much as the guest waits for.
    Pass,
}

/// What the values of arguments refer to.
pub(super) struct World {
    /// Where the area starts.
    pub area: u64,
    /// Results of the last calls, the latest first.
    pub results: [u64; 8],
    /// The numbers of the calls that have a name.
    pub numbers: &'static [u64],
}

impl World {
    pub fn step<'a>(&self, input: &mut Input<'a>) -> Step<'a> {
        match input.byte() {
            op if let Some(&number) = self.numbers.get(usize::from(op)) => self.call(number, input),
            op if op < 0xe8 => {
                let number = u64::from(u16::from_le_bytes(input.array()));
                self.call(number, input)
            }
            0xe8..0xf0 => {
                let (address, length) = (self.value(input), usize::from(input.byte()));
                Step::Store(address, input.bytes(length))
            }
            0xf0..0xf4 => Step::Fault(14, u64::from(input.byte()) & 0x17, self.value(input)),
            0xf4 => Step::Fault(input.byte(), u64::from(input.byte()), self.value(input)),
            // Ring 3 runs below the end of user space, with user flags only, wherever its stack pointer points.
            0xf5..0xf8 => Step::Jump {
                rip: self.value(input) % USER_END,
                rsp: self.value(input),
                rflags: 0x202 | (u64::from(input.byte()) << 4) & 0xdd5,
            },
            0xf8..0xfc => Step::Preempt,
            _ => Step::Pass(1 << input.below(48)),
        }
    }

    fn call<'a>(&self, number: u64, input: &mut Input<'a>) -> Step<'a> {
        let count = number::name(number).map_or(6, arguments);
        let mut all = [0; 6];
        all[..count].fill_with(|| self.value(input));
        Step::Call(number, all)
    }

    pub fn waiting<'a>(input: &mut Input<'a>) -> Waiting<'a> {
        let (choice, length) = (input.byte(), usize::from(input.byte()));
        match choice % 8 {
            0 | 1 => Waiting::Request(input.bytes(length)),
            2 | 3 => Waiting::Input(input.bytes(length)),
            4 => Waiting::End,
            5 => Waiting::Connect(input.bytes(length)),
            _ => Waiting::Pass,
        }
    }

    /// A value that some call takes seriously.
    fn value(&self, input: &mut Input<'_>) -> u64 {
        const EDGES: [u64; 16] = [
            PAGE - 1,
            PAGE + 1,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x7fff_f000,
            USER_END - 1,
            USER_END,
            USER_END - PAGE,
            1 << 47,
            1 << 62,
            i64::MAX as u64,
            1 << 63,
            u64::MAX - PAGE + 1,
            u64::MAX - 1,
        ];
        // What a thread, a file to write, a mapping, a signal's handler and waits are asked for with.
        const FLAGS: [u64; 12] = [
            0x0035_0f00,
            0x0000_0042,
            0x0000_0022,
            0x0000_0032,
            0x0010_0022,
            100_u64.wrapping_neg(),
            64,
            0x0000_0800,
            0x0008_0000,
            0x0000_0080,
            0x0000_0081,
            0x4000_0001,
        ];
        let byte = input.byte();
        let low = u64::from(byte & 15);
        match byte >> 4 {
            0 => low,
            1 => low.wrapping_neg(),
            2 => self.area + low * PLACE,
            3 => self.area + (16 + low) * PLACE,
            4 => self.area + (32 + low) * PLACE,
            5 => self.area + u64::from(input.byte()) * PLACE + low,
            6 => self.area + (AREA_PAGES - 2) * PAGE - low * low,
            7 => self.area.wrapping_add(low * PAGE).wrapping_sub(4 * PAGE),
            8 => self.results[low as usize % 8].wrapping_add(low / 8 * PAGE),
            9 => low * PAGE,
            10 => 1 << (low * 4 + u64::from(input.byte() & 3)),
            11 => u64::from(input.byte()) << (low / 2 * 8 % 32),
            12 => u64::from(u16::from_le_bytes(input.array())) << low,
            13 => EDGES[low as usize],
            14 if low < 8 => PID as u64 + low,
            14 => u64::from(u32::from_le_bytes(input.array())),
            _ if low < 12 => FLAGS[low as usize],
            _ if low < 14 => 0x40_0000 + (low - 12) * PAGE,
            _ => input.word(),
        }
    }
}

/// How many arguments a call looks at; 6 where it is not worth a line.
fn arguments(name: &str) -> usize {
    match name {
        "getpid" | "gettid" | "getuid" | "sched_yield" | "pause" | "rt_sigreturn" | "sync" | "getppid" => 0,
        "close" | "exit" | "exit_group" | "brk" | "pipe" | "dup" | "unlink" | "rmdir" | "chdir"
        | "fchdir" | "umask" | "alarm" | "uname" | "sysinfo" | "times" | "epoll_create" | "epoll_create1"
        | "eventfd" | "time" | "set_tid_address" | "fsync" => 1,
        "munmap" | "dup2" | "kill" | "tkill" | "stat" | "fstat" | "lstat" | "access" | "mkdir" | "rename"
        | "symlink" | "creat" | "ftruncate" | "truncate" | "getcwd" | "nanosleep" | "sigaltstack"
        | "rt_sigpending" | "chmod" | "rt_sigsuspend" | "pipe2" | "eventfd2" | "timerfd_create"
        | "timerfd_gettime" | "clock_gettime" | "memfd_create" | "shutdown" | "listen" | "clone3"
        | "getitimer" | "arch_prctl" | "gettimeofday" => 2,
        "read" | "write" | "readv" | "writev" | "open" | "poll" | "lseek" | "mprotect" | "madvise"
        | "mincore" | "msync" | "fcntl" | "ioctl" | "dup3" | "getdents64" | "sendmsg" | "recvmsg"
        | "socket" | "bind" | "connect" | "accept" | "getsockname" | "getpeername" | "readlink"
        | "unlinkat" | "mkdirat" | "symlinkat" | "close_range" | "tgkill" | "setitimer" | "getrandom"
        | "rt_sigqueueinfo" => 3,
        "openat" | "pread64" | "pwrite64" | "preadv" | "pwritev" | "rt_sigaction" | "rt_sigprocmask"
        | "epoll_ctl" | "epoll_wait" | "newfstatat" | "fallocate" | "renameat" | "socketpair" | "accept4"
        | "sendfile" | "sendmmsg" | "timerfd_settime" | "clock_nanosleep" | "rt_sigtimedwait"
        | "prlimit64" | "readlinkat" => 4,
        _ => 6,
    }
}
