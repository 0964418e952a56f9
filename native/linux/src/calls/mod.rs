//! The system calls, one file for each of their families.
//!
//! A call that must wait answers [`Done::Wait`]; when the wait is over it is made again from the same registers, with a [`Retry`] that
//! holds the first attempt's deadline. So no call keeps state of its own while it waits.

mod connections;
mod descriptors;
mod epoll;
mod events;
mod futexes;
mod granted;
mod io;
mod listing;
mod memory;
mod netlink;
mod paths;
mod proc_text;
mod process;
mod signals;
mod sockets;
mod status;
mod tasks;
mod time;
mod timers;
mod vectors;

use crate::action::Stop;
use crate::errno::Errno;
use crate::kernel::Kernel;
use crate::kernel::answer::{Answer, Done};
use crate::machine::Machine;
use crate::syscall::{Call, number};
use crate::task::process::{PID, UID};
use crate::task::threads::{Retry, WaitFor};

/// A plain result.
fn value(result: impl Into<u64>) -> Answer {
    Ok(Done::Value(result.into()))
}

/// Result 0.
const ZERO: Answer = Ok(Done::Value(0));

impl Kernel {
    /// Answers a system call of the running thread.
    pub(crate) fn answer<M: Machine>(&mut self, m: &mut M, call: &Call, retry: Option<Retry>) -> Answer {
        use number as n;
        let a = call.arguments;
        match call.number {
            // Input and output.
            n::read => self.sys_read(m, a[0], a[1], a[2]),
            n::write => self.sys_write(m, a[0], a[1], a[2]),
            n::readv => self.sys_readv(m, a[0], a[1], a[2], None),
            n::writev => self.sys_writev(m, a[0], a[1], a[2], None),
            n::pread64 => self.sys_pread(m, a[0], a[1], a[2], a[3]),
            n::pwrite64 => self.sys_pwrite(m, a[0], a[1], a[2], a[3]),
            n::preadv => self.sys_readv(m, a[0], a[1], a[2], Some(a[3])),
            n::pwritev => self.sys_writev(m, a[0], a[1], a[2], Some(a[3])),
            n::preadv2 if a[5] == 0 => {
                self.sys_readv(m, a[0], a[1], a[2], Some(a[3]).filter(|&at| at != u64::MAX))
            }
            n::pwritev2 if a[5] == 0 => {
                self.sys_writev(m, a[0], a[1], a[2], Some(a[3]).filter(|&at| at != u64::MAX))
            }
            n::preadv2 | n::pwritev2 => Err(Errno::EOPNOTSUPP),
            n::lseek => self.sys_lseek(a[0], a[1], a[2]),
            n::close => self.sys_close(a[0]),
            n::close_range => self.sys_close_range(a[0], a[1], a[2]),
            n::dup => self.sys_dup(a[0], 0, false),
            n::dup2 => self.sys_dup_to(a[0], a[1], None),
            n::dup3 => self.sys_dup_to(a[0], a[1], Some(a[2])),
            n::fcntl => self.sys_fcntl(m, a[0], a[1], a[2]),
            n::ioctl => self.sys_ioctl(m, a[0], a[1], a[2]),
            n::pipe => self.sys_pipe(m, a[0], 0),
            n::pipe2 => self.sys_pipe(m, a[0], a[1]),
            n::fsync | n::fdatasync => self.sys_fsync(a[0]),
            n::flock => self.sys_flock(a[0]),
            n::fadvise64 => self.files.get(a[0]).and(ZERO),
            n::sync => ZERO,
            n::ftruncate => self.sys_ftruncate(a[0], a[1], m),
            n::truncate => self.sys_truncate(m, a[0], a[1]),
            n::fallocate => self.sys_fallocate(m, a[0], a[1], a[2], a[3]),
            n::getdents64 => self.sys_getdents(m, a[0], a[1], a[2]),
            n::memfd_create => self.sys_memfd_create(m, a[0], a[1]),

            // Paths.
            n::open => self.sys_open(m, paths::CURRENT, a[0], a[1], a[2]),
            n::creat => self.sys_open(m, paths::CURRENT, a[0], 0o1101, a[1]),
            n::openat => self.sys_open(m, a[0], a[1], a[2], a[3]),
            n::stat => self.sys_stat(m, paths::CURRENT, a[0], a[1], 0),
            n::lstat => self.sys_stat(m, paths::CURRENT, a[0], a[1], paths::NO_FOLLOW),
            n::fstat => self.sys_fstat(m, a[0], a[1]),
            n::newfstatat => self.sys_stat(m, a[0], a[1], a[2], a[3]),
            n::statx => self.sys_statx(m, a[0], a[1], a[2], a[3], a[4]),
            n::statfs => self.sys_statfs(m, a[0], a[1]),
            n::fstatfs => self.sys_fstatfs(m, a[0], a[1]),
            n::access => self.sys_access(m, paths::CURRENT, a[0], a[1]),
            n::faccessat | n::faccessat2 => self.sys_access(m, a[0], a[1], a[2]),
            n::readlink => self.sys_readlink(m, paths::CURRENT, a[0], a[1], a[2]),
            n::readlinkat => self.sys_readlink(m, a[0], a[1], a[2], a[3]),
            n::getcwd => self.sys_getcwd(m, a[0], a[1]),
            n::chdir => self.sys_chdir(m, a[0]),
            n::fchdir => self.sys_fchdir(a[0]),
            n::mkdir => self.sys_mkdir(m, paths::CURRENT, a[0], a[1]),
            n::mkdirat => self.sys_mkdir(m, a[0], a[1], a[2]),
            n::rmdir => self.sys_unlink(m, paths::CURRENT, a[0], 0x200),
            n::unlink => self.sys_unlink(m, paths::CURRENT, a[0], 0),
            n::unlinkat => self.sys_unlink(m, a[0], a[1], a[2]),
            n::rename => self.sys_rename(m, [paths::CURRENT, a[0]], [paths::CURRENT, a[1]], 0),
            n::renameat => self.sys_rename(m, [a[0], a[1]], [a[2], a[3]], 0),
            n::renameat2 => self.sys_rename(m, [a[0], a[1]], [a[2], a[3]], a[4]),
            n::symlink => self.sys_symlink(m, a[0], paths::CURRENT, a[1]),
            n::symlinkat => self.sys_symlink(m, a[0], a[1], a[2]),
            n::chmod => self.sys_chmod(m, paths::CURRENT, a[0], a[1]),
            n::fchmodat => self.sys_chmod(m, a[0], a[1], a[2]),
            n::fchmod => self.sys_fchmod(a[0], a[1]),
            n::umask => value(u64::from(std::mem::replace(
                &mut self.process.umask,
                a[0] as u32 & 0o777,
            ))),

            // Memory.
            n::brk => self.sys_brk(m, a[0]),
            n::mmap => self.sys_mmap(m, a),
            n::munmap => self.sys_munmap(m, a[0], a[1]),
            n::mprotect => self.sys_mprotect(m, a[0], a[1], a[2]),
            n::pkey_mprotect if a[3] as i32 == -1 => self.sys_mprotect(m, a[0], a[1], a[2]),
            n::pkey_mprotect | n::pkey_alloc | n::pkey_free => Err(Errno::EINVAL),
            n::mremap => self.sys_mremap(m, a),
            n::madvise => self.sys_madvise(m, a[0], a[1], a[2]),
            n::msync => self.sys_msync(a[0], a[1], a[2]),
            n::mincore => self.sys_mincore(m, a[0], a[1], a[2]),
            n::mlock | n::munlock | n::mlock2 => ZERO,

            // Readiness.
            n::poll => self.sys_poll(m, a[0], a[1], events::poll_timeout(a[2]), retry),
            n::ppoll => self.sys_ppoll(m, a, retry),
            n::select => self.sys_select(m, a, false, retry),
            n::pselect6 => self.sys_select(m, a, true, retry),
            n::epoll_create if (a[0] as i32) <= 0 => Err(Errno::EINVAL),
            n::epoll_create => self.sys_epoll_create(0),
            n::epoll_create1 => self.sys_epoll_create(a[0]),
            n::epoll_ctl => self.sys_epoll_ctl(m, a[0], a[1], a[2], a[3]),
            n::epoll_wait => self.sys_epoll_wait(m, a, events::poll_timeout(a[3]), retry),
            n::epoll_pwait => self.sys_epoll_pwait(m, a, events::poll_timeout(a[3]), retry),
            n::epoll_pwait2 => self.sys_epoll_pwait2(m, a, retry),
            n::eventfd => self.sys_eventfd(a[0], 0),
            n::eventfd2 => self.sys_eventfd(a[0], a[1]),
            n::timerfd_create => self.sys_timerfd_create(a[0], a[1]),
            n::timerfd_settime => self.sys_timerfd_settime(m, a),
            n::timerfd_gettime => self.sys_timerfd_gettime(m, a[0], a[1]),

            // Sockets.
            n::socket => self.sys_socket(a),
            n::socketpair => self.sys_socketpair(m, a),
            n::sendto => self.sys_sendto(m, a),
            n::recvfrom => self.sys_recvfrom(m, a),
            n::sendmsg => self.sys_sendmsg(m, a[0], a[1], a[2]),
            n::recvmsg => self.sys_recvmsg(m, a[0], a[1], a[2]),
            n::shutdown => self.sys_shutdown(a[0], a[1]),
            n::getsockopt => self.sys_getsockopt(m, a),
            n::setsockopt => self.sys_setsockopt(m, a),
            n::bind => self.sys_bind(m, a),
            n::connect => self.sys_connect(m, a, retry),
            n::listen => self.sys_listen(a[0], a[1]),
            n::accept => self.sys_accept(m, a, 0),
            n::accept4 => self.sys_accept(m, a, a[3]),
            n::getsockname => self.sys_socket_name(m, a, false),
            n::getpeername => self.sys_socket_name(m, a, true),
            n::sendmmsg => self.sys_many_messages(m, a, true),
            n::recvmmsg => self.sys_many_messages(m, a, false),
            n::sendfile => self.sys_sendfile(m, a),

            // Threads and processes.
            n::clone => self.sys_clone(m, a),
            n::clone3 => self.sys_clone3(m, a[0], a[1]),
            n::exit => self.sys_exit(m, a[0]),
            n::exit_group => Ok(Done::Stop(Stop::Exit(a[0] as u8))),
            n::set_tid_address => self.sys_set_tid_address(a[0]),
            n::set_robust_list => self.sys_set_robust_list(a[0], a[1]),
            n::get_robust_list => self.sys_get_robust_list(m, a),
            n::futex => self.sys_futex(m, a, retry),
            n::sched_yield => Ok(Done::Yield),
            n::sched_getaffinity => self.sys_sched_getaffinity(m, a[0], a[1], a[2]),
            n::sched_setaffinity => self.sys_sched_setaffinity(m, a[0], a[1], a[2]),
            n::sched_getscheduler => self.known_task(a[0]).and(ZERO),
            n::sched_getparam => self.sys_sched_getparam(m, a[0], a[1]),
            n::sched_setscheduler => {
                self.known_task(a[0])
                    .and(if a[1] == 0 { ZERO } else { Err(Errno::EPERM) })
            }
            n::sched_get_priority_max | n::sched_get_priority_min => match a[0] {
                0 | 3 | 5 => ZERO,
                1 | 2 => value(if call.number == n::sched_get_priority_max {
                    99_u64
                } else {
                    1
                }),
                _ => Err(Errno::EINVAL),
            },
            n::getpriority => value(20_u64),
            n::membarrier => value(0_u64),
            n::getcpu => self.sys_getcpu(m, a[0], a[1]),
            n::getpid | n::getpgrp => value(PID as u64),
            n::getpgid | n::getsid => self.known_task(a[0]).and(value(PID as u64)),
            n::gettid => value(self.thread().map_or(0, |thread| thread.tid as u64)),
            n::getppid => value(1_u64),
            n::getuid | n::geteuid | n::getgid | n::getegid => value(u64::from(UID)),
            n::getresuid | n::getresgid => self.sys_getresuid(m, a[0], a[1], a[2]),
            n::getgroups => ZERO,
            n::capget => self.sys_capget(m, a[0], a[1]),
            n::arch_prctl => self.sys_arch_prctl(m, a[0], a[1]),
            n::prctl => self.sys_prctl(m, a),
            n::uname => self.sys_uname(m, a[0]),
            n::sysinfo => self.sys_sysinfo(m, a[0]),
            n::getrusage => self.sys_getrusage(m, a[0], a[1]),
            n::times => self.sys_times(m, a[0]),
            n::getrlimit => self.sys_prlimit(m, a[0], 0, a[1]),
            n::setrlimit => self.sys_prlimit(m, a[0], a[1], 0),
            n::prlimit64 => self
                .known_task(a[0])
                .and_then(|()| self.sys_prlimit(m, a[1], a[2], a[3])),
            n::personality => value(0_u64),
            n::wait4 | n::waitid => Err(Errno::ECHILD),
            n::execve | n::ptrace | n::setsid | n::seccomp => Err(Errno::EPERM),
            n::getrandom => self.sys_getrandom(m, a[0], a[1], a[2]),

            // Signals.
            n::rt_sigaction => self.sys_sigaction(m, a),
            n::rt_sigprocmask => self.sys_sigprocmask(m, a),
            n::rt_sigpending => self.sys_sigpending(m, a[0], a[1]),
            n::rt_sigsuspend => self.sys_sigsuspend(m, a[0], a[1]),
            n::rt_sigtimedwait => self.sys_sigtimedwait(m, a, retry),
            n::rt_sigreturn => self.signal_return(m),
            n::sigaltstack => self.sys_sigaltstack(m, a[0], a[1]),
            n::pause => Ok(Done::Wait(WaitFor::Time, None)),
            n::kill => self.sys_kill(a[0], a[1]),
            n::tkill => self.sys_tgkill(None, a[0], a[1]),
            n::tgkill => self.sys_tgkill(Some(a[0]), a[1], a[2]),
            n::rt_sigqueueinfo | n::rt_tgsigqueueinfo => self.sys_sigqueue(m, call),

            // Time.
            n::clock_gettime => self.sys_clock_gettime(m, a[0], a[1]),
            n::clock_getres => self.sys_clock_getres(m, a[0], a[1]),
            n::gettimeofday => self.sys_gettimeofday(m, a[0], a[1]),
            n::time => self.sys_time(m, a[0]),
            n::nanosleep => self.sys_nanosleep(m, [1, 0, a[0], a[1]], retry),
            n::clock_nanosleep => self.sys_nanosleep(m, [a[0], a[1], a[2], a[3]], retry),
            n::alarm => self.sys_alarm(m, a[0]),
            n::setitimer => self.sys_setitimer(m, a[0], a[1], a[2]),
            n::getitimer => self.sys_getitimer(m, a[0], a[1]),
            n::timer_create => self.sys_timer_create(m, a[0], a[1], a[2]),
            n::timer_settime => self.sys_timer_settime(m, a),
            n::timer_gettime => self.sys_timer_gettime(m, a[0], a[1]),
            n::timer_getoverrun => self.sys_timer_getoverrun(a[0]),
            n::timer_delete => self.sys_timer_delete(a[0]),

            // Known, and every libc does without.
            n::rseq | n::io_uring_setup => Err(Errno::ENOSYS),

            other => {
                self.statistics.count_unknown(other);
                Err(Errno::ENOSYS)
            }
        }
    }
}
