//! The signal handler: a fault of a watched thread becomes a record, any other is handed on to whoever had the signal before.

use std::cell::UnsafeCell;
use std::fmt::Arguments;
use std::io::{self, Write};
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use libc::{c_int, c_void, siginfo_t, ucontext_t};

use crate::crash::{REGISTERS, Record, signal_name};
use crate::notifier::wait_while;
use crate::slot::{CRASHED, REAPED, Slot, TRACED};

/// What a bug of ours can raise by an instruction, and a refused system call.
pub(crate) const SIGNALS: [c_int; 5] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGSYS,
];
/// Handlers from before ours. Written before ours is installed, read after.
struct Previous(UnsafeCell<[mem::MaybeUninit<libc::sigaction>; SIGNALS.len()]>);

// SAFETY: see the type.
unsafe impl Sync for Previous {}

static PREVIOUS: Previous = Previous(UnsafeCell::new(
    [const { mem::MaybeUninit::zeroed() }; SIGNALS.len()],
));

/// Installs the handler once.
pub(crate) fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        stay_loaded();
        for (i, signal) in SIGNALS.into_iter().enumerate() {
            // SAFETY: all zero is a valid sigaction. The handler has the signature that SA_SIGINFO asks for; the previous one is
            // in its place before ours can run.
            let installed = unsafe {
                let previous = (&raw mut (*PREVIOUS.0.get())[i]).cast();
                let mut action: libc::sigaction = mem::zeroed();
                action.sa_sigaction = on_signal as extern "C" fn(_, _, _) as usize;
                // NODEFER: a fault of the handler itself must reach it.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigaction(signal, ptr::null(), previous) == 0
                    && libc::sigaction(signal, &action, ptr::null_mut()) == 0
            };
            if !installed {
                return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
            }
        }
        Ok(())
    });
    installed.map_err(io::Error::from_raw_os_error)
}

/// The process keeps this code when its library is closed: the handler stays installed.
fn stay_loaded() {
    // SAFETY: all zero is a valid Dl_info; the address is of our code; the name is a C string of the loader's. A program that
    // is no library is not found by the second call, and needs nothing.
    unsafe {
        let mut info: libc::Dl_info = mem::zeroed();
        if libc::dladdr(on_signal as *const c_void, &mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(
                info.dli_fname,
                libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE,
            );
        }
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo and a ucontext; errno is this thread's.
    unsafe {
        let errno = *libc::__errno_location();
        if (*info).si_code > 0 && is_refused_open(signal, &mut *context.cast::<ucontext_t>()) {
            *libc::__errno_location() = errno;
            return;
        }
        // Sent by a process (code 0 and below), it is no fault of this thread.
        let slot = if (*info).si_code > 0 { Slot::mine() } else { None };
        match slot {
            Some(slot) => contain(slot, signal, &*info, &mut *context.cast::<ucontext_t>()),
            None => hand_on(signal, info, context),
        }
        *libc::__errno_location() = errno;
    }
}

/// Tells a thread that wanted to open a file that it may not, and whether that was it. glibc's allocator looks into
/// `/proc/sys/vm/overcommit_memory` when it first shrinks, and takes no for an answer; it may do so behind the end of a thread's body,
/// where the thread has its filter still, and is not watched any more.
fn is_refused_open(signal: c_int, context: &mut ucontext_t) -> bool {
    let call = &mut context.uc_mcontext.gregs[libc::REG_RAX as usize];
    let is = signal == libc::SIGSYS && matches!(*call, libc::SYS_open | libc::SYS_openat);
    if is {
        *call = -i64::from(libc::EPERM);
    }
    is
}

/// Records a fault of this thread and never returns.
fn contain(slot: &Slot, signal: c_int, info: &siginfo_t, context: &mut ucontext_t) {
    let registers = &mut context.uc_mcontext.gregs;
    if slot.entered.swap(true, Ordering::AcqRel) {
        wait_to_be_reaped(slot); // the trace faulted: what it has is all there is
    }
    let record = Record {
        signal,
        code: info.si_code,
        // SAFETY: a union of the kernel's; for a refused call it holds the address of the call.
        address: unsafe { info.si_addr() } as usize,
        registers: REGISTERS.map(|(_, index)| registers[index as usize] as u64),
    };
    // SAFETY: this is the first entry, on the thread's own handler.
    unsafe { slot.set_record(record) };
    slot.set_state(CRASHED);
    slot.notifier.notify();
    // SAFETY: the caller of this function is a handler of this thread alone; the unwinder keeps no state between threads (it
    // finds tables by `_dl_find_object`, without a lock, from glibc 2.35 on; before, the owner's deadline ends it).
    unsafe { backtrace::trace_unsynchronized(|frame| slot.push_frame(frame.ip() as usize)) };
    wait_to_be_reaped(slot);
}

/// Waits until the owner has answered for this thread, and ends it without any clean-up; ends the process if that does not come.
fn wait_to_be_reaped(slot: &Slot) -> ! {
    slot.set_state(TRACED);
    slot.notifier.notify();
    let patience = Duration::from_millis(slot.patience_ms.load(Ordering::Relaxed));
    if !wait_while(&slot.state, |state| state != REAPED, patience) {
        last_words(slot, "nobody reaped it: a lock may be lost");
    }
    loop {
        // SAFETY: ends this thread only; its stack is freed by whoever joins it.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

/// Writes the signal and the instruction to the standard error, and aborts the process.
pub(crate) fn last_words(slot: &Slot, why: &str) -> ! {
    let record = slot.record();
    abort_with(format_args!(
        "mayfly: {} crashed by {} at rip {:#x}, address {:#x}, and {why}; aborting",
        slot.name,
        signal_name(record.signal),
        record.registers[0],
        record.address
    ));
}

/// Writes a line to the standard error, without allocating, and aborts the process.
fn abort_with(words: Arguments<'_>) -> ! {
    let mut text = [0u8; 512];
    let room = text.len();
    let mut rest = &mut text[..];
    // A text that is cut is better than none.
    let _ = writeln!(rest, "{words}");
    let length = room - rest.len();
    // SAFETY: the text is as long as said; the calls end the process.
    unsafe {
        libc::write(2, text.as_ptr().cast(), length);
        libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), libc::SIGABRT);
        libc::_exit(134);
    }
}

/// Does what would have been done without us.
///
/// # Safety
/// The arguments are those of a signal handler.
unsafe fn hand_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(i) = SIGNALS.iter().position(|s| *s == signal) else {
        return;
    };
    // SAFETY: `install` filled it before this handler could run.
    let previous = unsafe { (*PREVIOUS.0.get())[i].assume_init() };
    // SAFETY: the kernel passes a valid siginfo.
    let is_raised = unsafe { (*info).si_code } > 0;
    match previous.sa_sigaction {
        libc::SIG_IGN => {}
        // The filter refuses to change the action, too: this would never end.
        libc::SIG_DFL if signal == libc::SIGSYS && is_raised => {
            // SAFETY: the kernel passes a ucontext.
            let call = unsafe { (*context.cast::<ucontext_t>()).uc_mcontext.gregs[libc::REG_RAX as usize] };
            abort_with(format_args!(
                "mayfly: a thread that is not watched made the system call {call}, which its filter refuses; aborting"
            ));
        }
        libc::SIG_DFL => {
            // SAFETY: all zero is the default action. The instruction faults again when we return; a signal that was sent is
            // raised again.
            unsafe {
                let action: libc::sigaction = mem::zeroed();
                libc::sigaction(signal, &action, ptr::null_mut());
                if !is_raised {
                    libc::raise(signal);
                }
            }
        }
        // SAFETY: the flags say which of the two signatures the handler has.
        handler => unsafe {
            if previous.sa_flags & libc::SA_SIGINFO != 0 {
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = mem::transmute(handler);
                handler(signal, info, context);
            } else {
                let handler: extern "C" fn(c_int) = mem::transmute(handler);
                handler(signal);
            }
        },
    }
}
