//! Which arguments Linux declares as 32-bit integers. It does not look at what lies above them in the register, where programs leave
//! sign bits and rubbish.

use super::number as n;

/// Cuts the arguments that are integers to their 32 bits; as signed ones they are read by `as i32`.
#[inline]
pub(super) fn cut(number: u64, mut arguments: [u64; 6]) -> [u64; 6] {
    let integers = integers(number);
    for (index, argument) in arguments.iter_mut().enumerate() {
        if integers & 1 << index != 0 {
            *argument = u64::from(*argument as u32);
        }
    }
    arguments
}

/// Bit `i` is set when argument `i` of the call is an `int`, `unsigned` or shorter (`pid_t`, `mode_t`, `clockid_t`).
fn integers(number: u64) -> u8 {
    match number {
        // A descriptor, a process, a signal or a set of flags comes first, then words.
        n::read | n::write | n::pread64 | n::pwrite64 | n::readv | n::writev | n::preadv | n::pwritev => 0b1,
        n::bind | n::connect => 0b101,
        n::close | n::dup | n::fstat | n::fstatfs | n::fchdir | n::ftruncate | n::fsync | n::fdatasync => 0b1,
        n::accept | n::getsockname | n::getpeername | n::timerfd_gettime => 0b1,
        n::epoll_create | n::epoll_create1 | n::eventfd | n::umask | n::alarm | n::exit | n::exit_group => {
            0b1
        }
        n::clock_gettime | n::clock_getres | n::getitimer | n::setitimer | n::getrusage => 0b1,
        n::getpgid | n::getsid | n::sched_getscheduler | n::sched_getparam | n::sched_get_priority_max => 0b1,
        n::sched_get_priority_min
        | n::arch_prctl
        | n::prctl
        | n::getrlimit
        | n::setrlimit
        | n::personality => 0b1,
        n::rt_sigaction | n::rt_sigprocmask | n::get_robust_list | n::select | n::pselect6 => 0b1,
        // Two, three or four of them.
        n::dup2
        | n::flock
        | n::fcntl
        | n::ioctl
        | n::fchmod
        | n::shutdown
        | n::listen
        | n::kill
        | n::tkill => 0b11,
        n::timer_create | n::timer_gettime | n::timer_getoverrun | n::timer_delete => 0b1,
        n::clock_nanosleep
        | n::timer_settime
        | n::timerfd_create
        | n::timerfd_settime
        | n::eventfd2
        | n::fallocate => 0b11,
        n::prlimit64 | n::sched_getaffinity | n::sched_setaffinity | n::sched_setscheduler => 0b11,
        n::rt_sigqueueinfo | n::getpriority => 0b11,
        n::dup3 | n::close_range | n::tgkill | n::socket | n::socketpair | n::rt_tgsigqueueinfo => 0b111,
        n::epoll_ctl | n::getsockopt => 0b111,
        n::setsockopt => 0b1_0111,
        // A descriptor and, behind words, flags, a mode or a count.
        n::lseek | n::getdents64 | n::mkdirat | n::faccessat | n::fchmodat | n::unlinkat => 0b101,
        n::sendmsg | n::recvmsg => 0b101,
        n::sendmmsg | n::recvmmsg => 0b1101,
        n::sendfile => 0b11,
        n::openat => 0b1101,
        n::newfstatat | n::readlinkat | n::accept4 | n::sendto | n::recvfrom | n::fadvise64 => 0b1001,
        n::faccessat2 => 0b1101,
        n::statx => 0b1101,
        n::epoll_wait | n::epoll_pwait => 0b1101,
        n::epoll_pwait2 => 0b101,
        n::preadv2 | n::pwritev2 => 0b10_0001,
        n::renameat => 0b101,
        n::renameat2 => 0b1_0101,
        // Words first.
        n::open | n::poll => 0b110,
        n::ppoll | n::creat | n::chmod | n::mkdir | n::access | n::pipe2 | n::memfd_create => 0b10,
        n::symlinkat => 0b10,
        n::readlink | n::madvise | n::msync | n::getrandom | n::mlock2 => 0b100,
        n::pkey_mprotect => 0b1000,
        n::futex => 0b10_0110,
        _ => 0,
    }
}
