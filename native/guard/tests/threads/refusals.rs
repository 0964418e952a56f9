//! The filter.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::mpsc;

use mayfly_guard::{Cause, Filter, confine};

use crate::crash_of;

const SERVE: Filter = Filter {
    page_map: 999,
    snapshot: false,
};
const BOOT: Filter = Filter {
    snapshot: true,
    ..SERVE
};

/// What a confined thread's attempt came to: its result with `errno`, or the number of the refused call.
fn attempt(filter: Filter, call: impl FnOnce() -> i64 + Send + 'static) -> Result<(i64, i32), u64> {
    let (tell, told) = mpsc::channel();
    let crash = crash_of(move || {
        confine(filter).unwrap();
        let result = call();
        tell.send((result, io::Error::last_os_error().raw_os_error().unwrap_or(0)))
            .unwrap();
    });
    match crash.map(|c| c.cause) {
        None => Ok(told.recv().unwrap()),
        Some(Cause::Call { number, .. }) => Err(number),
        Some(other) => panic!("{other:?}"),
    }
}

/// A raw call with up to four arguments.
fn call(number: libc::c_long, a: i64, b: i64, c: i64, d: i64) -> impl FnOnce() -> i64 + Send {
    // SAFETY: the tests pass null, numbers, or addresses of constants; most calls are refused before they do anything.
    move || unsafe { libc::syscall(number, a, b, c, d, 0, 0) }
}

#[test]
fn calls_outside_of_the_filter_crash_the_thread_and_name_themselves() {
    let path = c"/bin/true".as_ptr() as i64;
    let cases = [
        (
            libc::SYS_socket,
            [libc::AF_INET as i64, libc::SOCK_STREAM as i64, 0],
        ),
        (libc::SYS_connect, [0, 0, 0]),
        (libc::SYS_execve, [path, 0, 0]),
        (libc::SYS_execveat, [libc::AT_FDCWD as i64, path, 0]),
        (libc::SYS_fork, [0; 3]),
        (libc::SYS_vfork, [0; 3]),
        (libc::SYS_clone, [libc::SIGCHLD as i64, 0, 0]),
        (libc::SYS_clone3, [0, 88, 0]),
        (libc::SYS_ptrace, [libc::PTRACE_TRACEME as i64, 0, 0]),
        (libc::SYS_process_vm_readv, [1, 0, 0]),
        (libc::SYS_kill, [0, 0, 0]),
        (libc::SYS_tgkill, [1, 1, libc::SIGKILL as i64]),
        (libc::SYS_prctl, [libc::PR_GET_DUMPABLE as i64, 0, 0]),
        (libc::SYS_rt_sigaction, [libc::SIGSEGV as i64, 0, 0]),
        (libc::SYS_openat2, [libc::AT_FDCWD as i64, path, 0]),
        (libc::SYS_creat, [path, 0, 0]),
        (libc::SYS_unlink, [path, 0, 0]),
        (libc::SYS_rename, [path, path, 0]),
        (libc::SYS_stat, [path, 0, 0]),
        (libc::SYS_readlink, [path, 0, 0]),
        (libc::SYS_memfd_create, [path, 0, 0]),
        (libc::SYS_dup, [0, 0, 0]),
        (libc::SYS_read, [0, 0, 0]),
        (libc::SYS_pread64, [0, 0, 0]),
        (libc::SYS_write, [1, 0, 0]),
        (libc::SYS_sendto, [0, 0, 0]),
        (libc::SYS_mount, [path, path, 0]),
        (libc::SYS_bpf, [0, 0, 0]),
        (libc::SYS_seccomp, [0, 0, 0]),
        (libc::SYS_io_uring_setup, [1, 0, 0]),
        (libc::SYS_userfaultfd, [0, 0, 0]),
        (libc::SYS_unshare, [libc::CLONE_NEWUSER as i64, 0, 0]),
        (libc::SYS_pidfd_getfd, [0, 0, 0]),
        (libc::SYS_ftruncate, [0, 0, 0]),
        (libc::SYS_fallocate, [0, 3, 0]),
        (libc::SYS_fcntl, [0, libc::F_DUPFD as i64, 0]),
        (libc::SYS_fcntl, [0, libc::F_ADD_SEALS as i64, 0]),
        (libc::SYS_arch_prctl, [0x1012, 0, 0]), // ARCH_CET_..., ARCH_REQ_XCOMP_PERM and their like
        (libc::SYS_arch_prctl, [0x1023, 18, 0]),
        // Requests on other descriptors.
        (libc::SYS_ioctl, [0, libc::TIOCSTI as i64, path]),
        (libc::SYS_ioctl, [0, libc::FIONBIO as i64, path]),
        (libc::SYS_ioctl, [0, 0xc060_6610, 0]), // the page map's scan, on another file
        (libc::SYS_ioctl, [0, 0xae4e, 0]),      // a request of KVM that no machine needs
        // Rights to execute.
        (
            libc::SYS_mprotect,
            [0x1000, 0, (libc::PROT_READ | libc::PROT_EXEC) as i64],
        ),
        (
            libc::SYS_mmap,
            [0, 4096, (libc::PROT_WRITE | libc::PROT_EXEC) as i64],
        ),
        (libc::SYS_pkey_mprotect, [0x1000, 0, libc::PROT_EXEC as i64]),
        (libc::SYS_mremap, [0x1000, 4096, 4096]),
        // The other calling convention of this CPU (x32).
        (libc::SYS_getpid | 0x4000_0000, [0; 3]),
    ];
    for (number, [a, b, c]) in cases {
        let private = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as i64;
        let seen = attempt(SERVE, call(number, a, b, c, private));
        assert_eq!(
            seen,
            Err(number as u64),
            "call {number} with {a:#x} {b:#x} {c:#x}"
        );
    }
}

#[test]
fn files_cannot_be_opened_and_the_thread_goes_on() {
    let path = c"/proc/self/environ".as_ptr() as i64;
    for filter in [SERVE, BOOT] {
        for made in [
            call(libc::SYS_open, path, 0, 0, 0),
            call(libc::SYS_openat, libc::AT_FDCWD as i64, path, 0, 0),
        ] {
            assert_eq!(attempt(filter, made), Ok((-1, libc::EPERM)));
        }
    }
    let refused = attempt(SERVE, || {
        i64::from(File::open("/proc/self/environ").is_err_and(|e| e.raw_os_error() == Some(libc::EPERM)))
    });
    assert_eq!(refused.unwrap().0, 1);
}

#[test]
fn what_a_machine_needs_is_allowed() {
    let worked = attempt(SERVE, || {
        // The allocator, small and large, and back.
        let mut blocks: Vec<Vec<u8>> = (10..24).map(|bits| vec![1; 1 << bits]).collect();
        blocks.iter_mut().for_each(|b| b.resize(2 * b.len(), 2));
        drop(blocks);
        let time = std::time::Instant::now();
        std::thread::yield_now();
        let lock = std::sync::Mutex::new(0);
        let waited = std::sync::Condvar::new();
        let guard = lock.lock().unwrap();
        let _ = waited
            .wait_timeout(guard, std::time::Duration::from_millis(2))
            .unwrap();
        i64::from(time.elapsed().as_millis() >= 1)
    });
    assert_eq!(worked.unwrap().0, 1);
    // SAFETY: an anonymous page of the thread's own, read and written, then returned.
    let mapped = attempt(SERVE, || unsafe {
        let (rights, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let page = libc::mmap(ptr::null_mut(), 4096, rights, kind, -1, 0);
        assert_ne!(page, libc::MAP_FAILED);
        page.cast::<u8>().write_volatile(7);
        assert_eq!(libc::mprotect(page, 4096, libc::PROT_READ), 0);
        libc::munmap(page, 4096).into()
    });
    assert_eq!(mapped.unwrap().0, 0);
    let based = attempt(SERVE, || {
        let mut base = 0u64;
        let read = call(libc::SYS_arch_prctl, 0x1003, &raw mut base as i64, 0, 0)();
        read + call(libc::SYS_arch_prctl, 0x1002, base as i64, 0, 0)()
    });
    assert_eq!(based.unwrap().0, 0);
    // Any request of KVM's may be made; on a file that is none it means nothing.
    assert_eq!(
        attempt(SERVE, call(libc::SYS_ioctl, 0, 0xae80, 0, 0)).unwrap(),
        (-1, libc::ENOTTY)
    );
}

#[test]
fn the_page_map_alone_is_read() {
    let map = File::open("/proc/self/pagemap").unwrap();
    let filter = Filter {
        page_map: map.as_raw_fd(),
        snapshot: false,
    };
    let fd = i64::from(map.as_raw_fd());
    let (read, _) = attempt(filter, move || {
        let mut entry = [0u8; 8];
        let at = (&raw const entry as i64) / 4096 * 8;
        call(libc::SYS_pread64, fd, entry.as_mut_ptr() as i64, 8, at)()
    })
    .unwrap();
    assert_eq!(read, 8);
    let other = call(libc::SYS_pread64, fd + 1, 0, 8, 0);
    assert_eq!(attempt(filter, other), Err(libc::SYS_pread64 as u64));
}

#[test]
fn a_boot_may_seal_and_size_what_it_has() {
    let seal = (libc::F_SEAL_WRITE | libc::F_SEAL_GROW) as i64;
    // SAFETY: the name is a C string.
    let file = unsafe { libc::memfd_create(c"test".as_ptr(), libc::MFD_ALLOW_SEALING) };
    assert!(file >= 0);
    let file = i64::from(file);
    for made in [
        call(libc::SYS_ftruncate, file, 8192, 0, 0),
        call(libc::SYS_fcntl, file, libc::F_ADD_SEALS as i64, seal, 0),
    ] {
        assert_eq!(attempt(BOOT, made).unwrap().0, 0);
    }
    // SAFETY: the descriptor is this test's.
    unsafe { libc::close(file as i32) };
    let socket = call(
        libc::SYS_socket,
        libc::AF_UNIX as i64,
        libc::SOCK_STREAM as i64,
        0,
        0,
    );
    assert_eq!(attempt(BOOT, socket), Err(libc::SYS_socket as u64));
}

#[test]
fn the_rest_of_the_process_is_not_confined() {
    attempt(SERVE, || 0).unwrap();
    assert!(File::open("/proc/self/environ").is_ok());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    assert!(status.contains("\nSeccomp:\t0\n"), "{status}");
    assert!(status.contains("\nNoNewPrivs:\t0\n"), "{status}");
}

#[test]
fn dropping_privileges_reaches_confined_threads() {
    let (go, wait) = mpsc::channel::<()>();
    let (ready, confined) = mpsc::channel();
    let changer = std::thread::spawn(move || {
        confined.recv().unwrap();
        // SAFETY: sets the id that the process has. The C library makes every thread do it.
        let r = unsafe { libc::setuid(libc::getuid()) };
        drop(go);
        r
    });
    let crash = crash_of(move || {
        confine(SERVE).unwrap();
        ready.send(()).unwrap();
        let _ = wait.recv();
    });
    assert_eq!(crash, None);
    assert_eq!(changer.join().unwrap(), 0);
}
