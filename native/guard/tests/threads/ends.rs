//! What must end the process, or was never ours: seen from outside, in a process of its own.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::ptr;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use mayfly_guard::{Filter, Notifier, VmThread, confine};

const CHILD: &str = "MAYFLY_GUARD_CHILD";

/// Runs one of the children below in a process of its own.
fn run_child(name: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends::child", "--nocapture"])
        .env(CHILD, name)
        .output()
        .unwrap()
}

/// The other side of [`run_child`]; as a test of its own it has nothing to do.
#[test]
fn child() {
    match std::env::var(CHILD).as_deref() {
        Ok("lost lock") => lost_lock(),
        Ok("fault elsewhere") => fault_elsewhere(),
        Ok("many crashes") => many_crashes(),
        Ok("handler before") => handler_before(),
        Ok("trims its heap") => trims_its_heap(),
        Ok("refused at its end") => refused_at_its_end(),
        Ok(other) => panic!("{other}"),
        Err(_) => {}
    }
}

fn read_nothing() {
    // SAFETY: none: the tests are about what happens.
    unsafe { ptr::without_provenance::<u8>(64).read_volatile() };
}

/// An owner that never buries its thread, as one that waits for a lock of the thread's.
fn lost_lock() {
    let (go, wait) = mpsc::channel();
    let body = move || {
        wait.recv().unwrap();
        read_nothing();
    };
    let thread = VmThread::spawn("stuck", &Arc::new(Notifier::default()), body).unwrap();
    thread.set_patience(Duration::from_millis(100));
    go.send(()).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

/// With the handler installed, a thread that is not watched faults.
fn fault_elsewhere() {
    drop(VmThread::spawn("quiet", &Arc::new(Notifier::default()), || {}).unwrap());
    read_nothing();
}

/// As above, in a process that had a handler of its own.
fn handler_before() {
    extern "C" fn theirs(_: libc::c_int) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(42) };
    }
    // SAFETY: the handler has the signature of a plain one, and only ends the process.
    let before = unsafe { libc::signal(libc::SIGSEGV, theirs as extern "C" fn(_) as usize) };
    assert_ne!(before, libc::SIG_ERR, "{}", io::Error::last_os_error());
    let thread = VmThread::spawn("watched", &Arc::new(Notifier::default()), read_nothing).unwrap();
    thread.wait();
    assert!(thread.take_crash().is_some(), "a watched thread's fault is ours");
    thread.reap();
    fault_elsewhere();
}

/// A confined thread whose last piece of memory, beside the top of its heap, is freed behind its body: glibc shrinks the heap then, and
/// asks `/proc/sys/vm/overcommit_memory` whether it may.
fn trims_its_heap() {
    let thread = VmThread::spawn("confined", &Arc::new(Notifier::default()), || {
        confine(filter()).unwrap();
        let mut pieces: Vec<Vec<u8>> = (0..30_000).map(|_| vec![1; 1000]).collect();
        // The last piece waits in the thread's cache, and is freed with that.
        drop(pieces.pop());
        drop(pieces);
    });
    drop(thread.unwrap());
}

/// A confined thread that makes a call which its filter refuses, behind its body.
fn refused_at_its_end() {
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            // SAFETY: the call takes nothing.
            unsafe { libc::getppid() };
        }
    }
    thread_local!(static LAST: Last = const { Last });
    let thread = VmThread::spawn("confined", &Arc::new(Notifier::default()), || {
        confine(filter()).unwrap();
        LAST.with(|_| {});
    });
    drop(thread.unwrap());
}

fn filter() -> Filter {
    Filter {
        page_map: -1,
        snapshot: false,
    }
}

/// Descriptors, threads and mappings of this process.
fn resources() -> [usize; 3] {
    let count = |path: &str| std::fs::read_dir(path).unwrap().count();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    [
        count("/proc/self/fd"),
        count("/proc/self/task"),
        maps.lines().count(),
    ]
}

fn many_crashes() {
    let threads = resources()[1];
    let crashes = |n: usize| {
        (0..n).for_each(|_| drop(crate::crash_of(read_nothing).expect("a crash")));
        // The last one may still be on its way out.
        let deadline = Instant::now() + Duration::from_secs(10);
        while resources()[1] > threads && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    // The allocator gives each new thread an arena, and a crashed one keeps its: up to eight a CPU, then they are shared.
    crashes(8 * std::thread::available_parallelism().unwrap().get() + 10);
    let before = resources();
    crashes(100);
    let after = resources();
    assert_eq!(before[..2], after[..2], "descriptors, threads");
    assert!(after[2] < before[2] + 20, "mappings: {before:?}, then {after:?}");
}

#[test]
fn crashes_leave_no_descriptor_no_thread_and_no_mapping() {
    let output = run_child("many crashes");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_thread_that_nobody_buries_takes_a_lock_for_lost_and_aborts_with_its_report() {
    let output = run_child("lost lock");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{words}");
    assert!(
        words.contains("mayfly: stuck crashed by SIGSEGV at rip 0x"),
        "{words}"
    );
    assert!(words.contains("a lock may be lost"), "{words}");
}

#[test]
fn a_fault_of_another_thread_ends_the_process_as_ever() {
    let output = run_child("fault elsewhere");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{words}");
}

#[test]
fn a_handler_from_before_gets_the_faults_of_other_threads() {
    let output = run_child("handler before");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(42), "{words}");
}

#[test]
fn a_confined_thread_may_shrink_its_heap_at_its_end() {
    let output = run_child("trims its heap");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {words}", output.status);
}

#[test]
fn a_call_that_is_refused_behind_the_body_ends_the_process_and_is_named() {
    let output = run_child("refused at its end");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{words}");
    assert!(words.contains("system call 110"), "{words}");
}
