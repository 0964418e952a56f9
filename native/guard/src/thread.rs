//! A watched thread and its owner's hold on it.

use std::ffi::CString;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::crash::Crash;
use crate::notifier::{Notifier, wait_while};
use crate::slot::{CRASHED, ENDED, RUNNING, Slot, TRACED};
use crate::{handler, panics, slot};

/// How long the owner waits for the return addresses of a crashed thread.
const TRACE: Duration = Duration::from_secs(3);
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 2 << 20;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It ended, or panicked.
    Ended,
    /// A fault or a refused call met it; it waits for [`VmThread::reap`].
    Crashed,
}

/// A thread whose crashes are contained. Dropping it waits for its end.
///
/// ```text
/// Running ──> Ended ── take_crash (a panic, or none) ── drop
///    └──────> Crashed ── take_crash ── reap
/// ```
#[derive(Debug)]
pub struct VmThread {
    /// `Some` until it is joined. Not one of the standard library's threads: it would leak what those keep for signals.
    thread: Option<libc::pthread_t>,
    slot: Box<Slot>,
}

/// The slot as the thread itself sees it.
struct Theirs(*const Slot);

// SAFETY: a Slot is Sync, and its owner keeps it until the thread is joined.
unsafe impl Send for Theirs {}

impl VmThread {
    /// Starts a thread that notifies `notifier` when it ends or crashes. Signals meant for the process are blocked on it.
    pub fn spawn(
        name: &str,
        notifier: &Arc<Notifier>,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<VmThread> {
        // SAFETY: the body borrows nothing.
        unsafe { VmThread::spawn_unchecked(name, notifier, body) }
    }

    /// The same for a body that borrows.
    ///
    /// # Safety
    /// What the body borrows lives, and is not touched, until the thread was dropped or reaped.
    pub unsafe fn spawn_unchecked<'a>(
        name: &str,
        notifier: &Arc<Notifier>,
        body: impl FnOnce() + Send + 'a,
    ) -> io::Result<VmThread> {
        handler::install()?;
        let slot = Slot::new(name.into(), notifier.clone())?;
        let theirs = Theirs(&*slot);
        let run = move || {
            let theirs = theirs;
            // SAFETY: see Theirs.
            let slot = unsafe { &*theirs.0 };
            panics::watch();
            let result = catch_unwind(AssertUnwindSafe(|| {
                set_name(&slot.name);
                block_signals().expect("a thread blocks its signals");
                slot.enter().expect("a thread takes its signal stack");
                // The unwinder sets itself up here and not in a signal handler.
                backtrace::trace(|_| true);
                body();
            }));
            if result.is_err() {
                *slot.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panics::take(&slot.name));
            }
            slot.leave();
        };
        let run: Box<dyn FnOnce() + Send + 'a> = Box::new(run);
        // SAFETY: the caller's promise lengthens the body's life, and drop and reap join the thread.
        let run = unsafe { mem::transmute::<Box<dyn FnOnce() + Send + 'a>, Box<dyn FnOnce() + Send>>(run) };
        Ok(VmThread {
            thread: Some(start(Box::new(run))?),
            slot,
        })
    }

    /// How long the thread, once crashed, waits for [`VmThread::reap`] before it takes a lock for lost and aborts the process:
    /// 10 s unless set.
    pub fn set_patience(&self, patience: Duration) {
        let patience = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        self.slot.patience_ms.store(patience, Ordering::Relaxed);
    }

    /// What it does now.
    pub fn state(&self) -> State {
        match self.slot.state.load(Ordering::Acquire) {
            RUNNING => State::Running,
            ENDED => State::Ended,
            _ => State::Crashed,
        }
    }

    /// Waits until it does not run any more.
    pub fn wait(&self) {
        while !wait_while(&self.slot.state, |s| s == RUNNING, Duration::from_secs(3600)) {}
    }

    /// Why it crashed or panicked, if it did. Aborts the process, with the report, if the thread cannot tell where it was; gets
    /// stuck, and is aborted by the thread, if the thread holds the allocator's lock.
    pub fn take_crash(&self) -> Option<Crash> {
        match self.state() {
            State::Running => None,
            State::Ended => self
                .slot
                .panic
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
            State::Crashed => {
                if !wait_while(&self.slot.state, |s| s == CRASHED, TRACE) {
                    handler::last_words(&self.slot, "its trace does not end: a lock may be lost");
                }
                self.slot.probe_allocator();
                Some(Crash::new(
                    &self.slot.name,
                    &self.slot.record(),
                    self.slot.frames(),
                ))
            }
        }
    }

    /// Lets a crashed thread go, by a bare `exit`: nothing on its stack is dropped. Then waits for it.
    pub fn reap(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        self.wait();
        if self.state() == State::Crashed {
            wait_while(&self.slot.state, |s| s < TRACED, TRACE);
            self.slot.set_state(slot::REAPED);
        }
        // SAFETY: the thread was not joined before. The kernel clears its id at any kind of exit, for which this waits.
        unsafe { libc::pthread_join(thread, ptr::null_mut()) };
    }
}

impl Drop for VmThread {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts a thread of the system's.
fn start(run: Box<Box<dyn FnOnce() + Send>>) -> io::Result<libc::pthread_t> {
    extern "C" fn enter(run: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: `start` made it by Box::into_raw for this call alone.
        let run = unsafe { Box::from_raw(run.cast::<Box<dyn FnOnce() + Send>>()) };
        run();
        ptr::null_mut()
    }
    let run = Box::into_raw(run);
    let mut thread = 0;
    // SAFETY: the attributes are initialised before use and destroyed after; `enter` takes what it is given.
    let errno = unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        match libc::pthread_attr_init(&mut attributes) {
            0 => {
                libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
                let errno = libc::pthread_create(&mut thread, &attributes, enter, run.cast());
                libc::pthread_attr_destroy(&mut attributes);
                errno
            }
            errno => errno,
        }
    };
    if errno == 0 {
        return Ok(thread);
    }
    // SAFETY: no thread was made that could have it.
    drop(unsafe { Box::from_raw(run) });
    Err(io::Error::from_raw_os_error(errno))
}

/// The name in the system's lists, where 15 bytes have room.
fn set_name(name: &str) {
    if let Ok(name) = CString::new(&name.as_bytes()[..name.len().min(15)]) {
        // SAFETY: the name is a C string; the thread is the calling one.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
    }
}

/// Blocks what other code of the process handles: its handlers make calls that the filter refuses.
fn block_signals() -> io::Result<()> {
    // SAFETY: the set is initialised before use, and the calls change this thread's mask alone.
    let r = unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&mut set);
        for signal in handler::SIGNALS.into_iter().chain([libc::SIGABRT, libc::SIGTRAP]) {
            libc::sigdelset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &set, ptr::null_mut())
    };
    match r {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
