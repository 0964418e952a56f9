//! What a watched thread, its signal handler and its owner share.

use std::cell::UnsafeCell;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::crash::{Crash, Record};
use crate::notifier::{Notifier, futex_wake};

/// The thread runs.
pub(crate) const RUNNING: u32 = 0;
/// Its body is over; it leaves by itself.
pub(crate) const ENDED: u32 = 1;
/// A signal met it. Its registers are recorded.
pub(crate) const CRASHED: u32 = 2;
/// Its return addresses are recorded as well, as far as they could be read.
pub(crate) const TRACED: u32 = 3;
/// Its owner has done with it: it may leave.
pub(crate) const REAPED: u32 = 4;

/// An owner needs some milliseconds to reap one, unless a lock is lost.
const PATIENCE_MS: u64 = 10_000;
/// Most return addresses kept.
pub(crate) const FRAMES: usize = 64;
/// Most watched threads at a time.
const THREADS: usize = 1024;
/// Bytes of a signal stack: the handler, the unwinder, and the registers that the kernel saves (11 KiB with AMX).
const STACK_BYTES: usize = 128 << 10;
/// Bytes of an allocation that every allocator takes from its arena under the arena's lock, and never from a thread's cache.
const CANARY_BYTES: usize = 64 << 10;

/// See the module. Owned by the thread's owner; the thread sees it until it is joined.
#[derive(Debug)]
pub(crate) struct Slot {
    /// One of the states above; a futex.
    pub state: AtomicU32,
    pub notifier: Arc<Notifier>,
    pub name: String,
    /// Left by a panic.
    pub panic: Mutex<Option<Crash>>,
    /// How long the thread, crashed, waits to be reaped.
    pub patience_ms: AtomicU64,
    /// Set by the handler on its first entry: the second is a fault of the handler's own.
    pub entered: AtomicBool,
    record: UnsafeCell<Record>,
    frames: [AtomicUsize; FRAMES],
    frame_count: AtomicUsize,
    /// Where this thread stands in the table.
    place: usize,
    stack: SignalStack,
    canary: AtomicPtr<Vec<u8>>,
}

// SAFETY: `record` is written by the thread's handler before it sets CRASHED (release) and read by others only after they
// saw that state (acquire); all else is Sync by itself.
unsafe impl Sync for Slot {}
// SAFETY: nothing in it depends on the thread that made it; the pointers are to allocations of its own.
unsafe impl Send for Slot {}

/// Thread ids and slots of watched threads, side by side. A handler reads the slot of its own thread alone, which outlives the
/// thread: that is why it looks for its id first and follows no other pointer. 0 is a free place, -1 one that is taken.
static IDS: [AtomicI32; THREADS] = [const { AtomicI32::new(0) }; THREADS];
static SLOTS: [AtomicPtr<Slot>; THREADS] = [const { AtomicPtr::new(ptr::null_mut()) }; THREADS];

impl Slot {
    /// A slot with a place in the table.
    pub fn new(name: String, notifier: Arc<Notifier>) -> io::Result<Box<Slot>> {
        let stack = SignalStack::new()?;
        let claimed = |id: &AtomicI32| {
            id.compare_exchange(0, -1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        };
        let place = IDS
            .iter()
            .position(claimed)
            .ok_or_else(|| io::Error::other(format!("{THREADS} threads run machines, want fewer")))?;
        Ok(Box::new(Slot {
            state: AtomicU32::new(RUNNING),
            notifier,
            name,
            panic: Mutex::default(),
            patience_ms: AtomicU64::new(PATIENCE_MS),
            entered: AtomicBool::new(false),
            record: UnsafeCell::default(),
            frames: [const { AtomicUsize::new(0) }; FRAMES],
            frame_count: AtomicUsize::new(0),
            place,
            stack,
            canary: AtomicPtr::new(ptr::null_mut()),
        }))
    }

    /// On the thread itself: its crashes are its slot's from now on.
    pub fn enter(&self) -> io::Result<()> {
        self.stack.use_it()?;
        let canary = Box::new(Vec::with_capacity(CANARY_BYTES));
        self.canary.store(Box::into_raw(canary), Ordering::Release);
        SLOTS[self.place].store(ptr::from_ref(self).cast_mut(), Ordering::Release);
        IDS[self.place].store(thread_id(), Ordering::Release);
        Ok(())
    }

    /// On the thread itself: its crashes are the process's again.
    pub fn leave(&self) {
        self.probe_allocator();
        IDS[self.place].store(-1, Ordering::Release);
        self.set_state(ENDED);
        self.notifier.notify();
    }

    /// The slot of the calling thread, if it is watched. May be called in a signal handler.
    pub fn mine() -> Option<&'static Slot> {
        let id = thread_id();
        let place = IDS.iter().position(|i| i.load(Ordering::Acquire) == id)?;
        // SAFETY: the slot of a thread that runs is alive: its owner joins the thread before it drops the slot.
        unsafe { SLOTS[place].load(Ordering::Acquire).as_ref() }
    }

    /// Sets the state and wakes who waits for it.
    pub fn set_state(&self, state: u32) {
        self.state.store(state, Ordering::Release);
        futex_wake(&self.state);
    }

    /// In the handler, once: what it saw.
    ///
    /// # Safety
    /// The state is RUNNING, and the caller is the thread's own handler on its first entry.
    pub unsafe fn set_record(&self, record: Record) {
        // SAFETY: nobody else writes (first entry only), nobody reads before CRASHED.
        unsafe { *self.record.get() = record };
    }

    /// What the handler saw; the state is CRASHED or later.
    pub fn record(&self) -> Record {
        assert!(self.state.load(Ordering::Acquire) >= CRASHED);
        // SAFETY: the state says that the record is written, and it is written once.
        unsafe { *self.record.get() }
    }

    /// In the handler: adds a return address; false when there is no room.
    pub fn push_frame(&self, address: usize) -> bool {
        let at = self.frame_count.load(Ordering::Relaxed);
        let Some(frame) = self.frames.get(at) else {
            return false;
        };
        frame.store(address, Ordering::Relaxed);
        self.frame_count.store(at + 1, Ordering::Release);
        true
    }

    pub fn frames(&self) -> Vec<usize> {
        let count = self.frame_count.load(Ordering::Acquire);
        self.frames[..count]
            .iter()
            .map(|f| f.load(Ordering::Relaxed))
            .collect()
    }

    /// Frees memory of the thread's arena, which takes the arena's lock: the caller is stuck if the thread crashed with it.
    pub fn probe_allocator(&self) {
        if let Some(canary) = NonNull::new(self.canary.swap(ptr::null_mut(), Ordering::AcqRel)) {
            // SAFETY: `enter` made it by Box::into_raw, and the swap gave it to this caller alone.
            drop(unsafe { Box::from_raw(canary.as_ptr()) });
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.probe_allocator();
        SLOTS[self.place].store(ptr::null_mut(), Ordering::Release);
        IDS[self.place].store(0, Ordering::Release);
    }
}

/// A stack for signal handlers with a page below it that faults.
#[derive(Debug)]
struct SignalStack {
    base: NonNull<libc::c_void>,
}

const GUARD_BYTES: usize = 4096;

impl SignalStack {
    fn new() -> io::Result<SignalStack> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: no fixed address, so no existing mapping is touched.
        let p = unsafe {
            libc::mmap(
                ptr::null_mut(),
                GUARD_BYTES + STACK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        let base = NonNull::new(p).filter(|_| p != libc::MAP_FAILED);
        let stack = SignalStack {
            base: base.ok_or_else(io::Error::last_os_error)?,
        };
        // SAFETY: the page is the start of the mapping above.
        match unsafe { libc::mprotect(p, GUARD_BYTES, libc::PROT_NONE) } {
            0 => Ok(stack),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn use_it(&self) -> io::Result<()> {
        // SAFETY: the range is this mapping behind its guard page, and it outlives the thread.
        let r = unsafe {
            let stack = libc::stack_t {
                ss_sp: self.base.as_ptr().byte_add(GUARD_BYTES),
                ss_flags: 0,
                ss_size: STACK_BYTES,
            };
            libc::sigaltstack(&stack, ptr::null_mut())
        };
        match r {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and the thread that used it is gone.
        unsafe { libc::munmap(self.base.as_ptr(), GUARD_BYTES + STACK_BYTES) };
    }
}

fn thread_id() -> i32 {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::gettid() }
}
