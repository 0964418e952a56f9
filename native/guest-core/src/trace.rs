//! Finds out which blocks requests write to: `guest-core --trace FOLDER FRAMES SURFACE MAIN`, on the host and with a program of ours.
//!
//! The guest runs as in a machine, but paths lead into FOLDER and frames come from the file FRAMES; answers go nowhere. Requests behind the
//! last control frame are traced: the heap is read-only, and each write to it is a fault that tells the address, after which one
//! instruction runs with that page open.
//!
//! ```text
//! write -> SIGSEGV: note the address, open the page, set TF -> the instruction again -> SIGTRAP: close the page, clear TF -> on
//! ```
//!
//! At the end of the frames the numbers of the written blocks that the runtime itself made, before it loaded the program, leave on fd 1:
//! ascending, 32 bits each, little-endian. That is a layout (see [`heap`]).

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::io::Write;
use std::path::Path;
use std::ptr;

use mayfly_wire::{HEAD_BYTES, Head, Kind, Limits};

use crate::heap;

const PAGE: usize = 4096;
/// Pages that one instruction may write to.
const OPEN_MAX: usize = 4;
/// The trap flag: a trap after each instruction.
const TF: i64 = 1 << 8;

/// What the handlers of signals see.
struct Watch {
    start: usize,
    end: usize,
    /// A byte for each 16 of the watched ones: whether it was written to.
    written: Vec<u8>,
    open: [usize; OPEN_MAX],
    opened: usize,
}

struct Tracing {
    frames: Vec<Vec<u8>>,
    next: usize,
    /// The first frame that is traced.
    from: usize,
    /// The part of the heap that the runtime filled before it loaded a program.
    own: std::ops::Range<usize>,
    watch: Watch,
}

struct State(UnsafeCell<Option<Tracing>>);

// SAFETY: there is one thread; the handlers run on it, outside of the functions here.
unsafe impl Sync for State {}

static STATE: State = State(UnsafeCell::new(None));

fn state() -> Option<&'static mut Tracing> {
    // SAFETY: one thread, and no reference is kept.
    unsafe { (*STATE.0.get()).as_mut() }
}

/// Where a path of the guest leads. Allocates nothing, so that blocks count alike whether it is traced or not.
pub fn to_host(path: &Path) -> &Path {
    match state() {
        Some(_) => path.strip_prefix("/").unwrap_or(path),
        None => path,
    }
}

/// Prepares the tracing.
pub fn begin(folder: &str, frames: &str) -> Result<(), String> {
    let bytes = std::fs::read(frames).map_err(|error| format!("cannot read {frames}: {error}"))?;
    let frames = split(&bytes).ok_or(format!("cannot trace {frames}: no frames, wanted whole ones"))?;
    let is_control = |frame: &Vec<u8>| frame.get(HEAD_BYTES) == Some(&b'{');
    let from = frames.iter().rposition(is_control).map_or(0, |last| last + 1);
    std::env::set_current_dir(folder).map_err(|error| format!("cannot go to {folder}: {error}"))?;
    for (signal, handler) in [
        (libc::SIGSEGV, on_fault as extern "C" fn(_, _, _) as usize),
        (libc::SIGTRAP, on_trap as extern "C" fn(_, _, _) as usize),
    ] {
        // SAFETY: all zeros is a valid action, and both handlers have the signature that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            (action.sa_sigaction, action.sa_flags) = (handler, libc::SA_SIGINFO);
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
    heap::note()?;
    let watch = Watch {
        start: 0,
        end: 0,
        written: Vec::new(),
        open: [0; OPEN_MAX],
        opened: 0,
    };
    let tracing = Tracing {
        frames,
        next: 0,
        from,
        own: 0..0,
        watch,
    };
    // SAFETY: one thread, and no handler runs before something is watched.
    unsafe { *STATE.0.get() = Some(tracing) };
    Ok(())
}

fn split(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let head = Head::decode(
            bytes.first_chunk::<HEAD_BYTES>()?,
            Kind::Request,
            Limits::default(),
        )
        .ok()?;
        let length = HEAD_BYTES + head.header_bytes as usize + head.body_bytes as usize;
        let (frame, rest) = bytes.split_at_checked(length)?;
        frames.push(frame.to_vec());
        bytes = rest;
    }
    Some(frames)
}

/// In place of `read(0)`: the next frame, whole. `None` where nothing is traced. At the end it writes the layout and ends the process.
pub fn read(into: &mut [u8]) -> Option<u32> {
    let tracing = state()?;
    tracing.pause();
    if tracing.next == 0 {
        heap::mark_once();
        tracing.own = heap::used();
    }
    let Some(frame) = tracing.frames.get(tracing.next) else {
        std::process::exit(tracing.finish());
    };
    let length = frame.len().min(into.len());
    into[..length].copy_from_slice(&frame[..length]);
    if tracing.next >= tracing.from {
        tracing.watch();
    }
    tracing.next += 1;
    Some(length as u32)
}

/// In place of `write(1)`: nothing is written. `None` where nothing is traced.
pub fn write(bytes: &[u8]) -> Option<u32> {
    state().map(|_| bytes.len() as u32)
}

impl Tracing {
    fn watch(&mut self) {
        if self.watch.written.is_empty() {
            (self.watch.start, self.watch.end) = (self.own.start, self.own.end & !(PAGE - 1));
            self.watch.written = vec![0; (self.watch.end - self.watch.start) / 16];
        }
        protect(self.watch.start, self.watch.end - self.watch.start, false);
    }

    fn pause(&mut self) {
        if self.watch.end != 0 {
            protect(self.watch.start, self.watch.end - self.watch.start, true);
        }
    }

    fn finish(&self) -> c_int {
        let written = self
            .watch
            .written
            .iter()
            .enumerate()
            .filter(|(_, written)| **written != 0);
        let mut numbers: Vec<u32> = written
            .filter_map(|(at, _)| heap::number_at(self.watch.start + at * 16))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        match std::io::stdout().write_all(&bytes) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("guest-core: cannot write the layout: {error}");
                1
            }
        }
    }
}

fn protect(start: usize, length: usize, writable: bool) {
    let rights = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: pages of the heap, which stay readable; writes to them are faults that `on_fault` lets through.
    unsafe { libc::mprotect(start as *mut c_void, length, rights) };
}

extern "C" fn on_fault(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives what SA_SIGINFO promises.
    let (address, context) = unsafe {
        (
            (*information).si_addr() as usize,
            &mut *context.cast::<libc::ucontext_t>(),
        )
    };
    let watch = state().map(|tracing| &mut tracing.watch);
    let Some(watch) =
        watch.filter(|watch| (watch.start..watch.end).contains(&address) && watch.opened < OPEN_MAX)
    else {
        // A real one: the second time it ends the process.
        // SAFETY: a signal that came, and the default action.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    };
    watch.written[(address - watch.start) / 16] = 1;
    let page = address & !(PAGE - 1);
    protect(page, PAGE, true);
    watch.open[watch.opened] = page;
    watch.opened += 1;
    context.uc_mcontext.gregs[libc::REG_EFL as usize] |= TF;
}

extern "C" fn on_trap(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives what SA_SIGINFO promises.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TF;
    let Some(tracing) = state() else { return };
    let watch = &mut tracing.watch;
    for page in &watch.open[..watch.opened] {
        protect(*page, PAGE, false);
    }
    watch.opened = 0;
}
