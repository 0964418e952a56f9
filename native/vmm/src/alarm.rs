//! A deadline that stops the guest.
//!
//! A timer sends a signal to the thread that runs the machine. The handler sets `immediate_exit` in the shared page of the
//! vCPU, so a signal that lands between the last check and `KVM_RUN` is not lost: the call returns at once.

use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use crate::error::{Error, Result};
use crate::sys;

/// What the signal handler touches. Leaked, since a signal may still be queued when its timer is gone.
#[derive(Debug, Default)]
struct Notifier {
    fired: AtomicBool,
    /// `immediate_exit` of the vCPU that is running, or null.
    immediate_exit: AtomicPtr<AtomicU8>,
}

/// The timer of one thread. It stays armed over many requests and is set anew only when it fired too early.
#[derive(Debug)]
pub struct Alarm {
    notifier: &'static Notifier,
    timer: libc::timer_t,
    deadline: Option<u64>,
    /// When the timer will fire (nanoseconds, monotonic); 0 when it is not armed.
    armed: u64,
    thread: i32,
    /// Bound to its thread: the signal goes there.
    _thread: PhantomData<*const ()>,
}

impl Alarm {
    /// A timer for the calling thread.
    pub fn new() -> Result<Alarm> {
        let signal = install_handler()?;
        let notifier: &'static Notifier = Box::leak(Box::default());
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: all zero is a valid sigevent; the fields that matter are set below. The notifier lives for ever.
        let created = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_value = libc::sigval {
                sival_ptr: ptr::from_ref(notifier).cast_mut().cast(),
            };
            event.sigev_notify_thread_id = sys::thread_id();
            sys::check(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer))
        };
        created.map_err(|source| Error::Host {
            attempt: "create a deadline timer",
            source,
        })?;
        let alarm = Alarm {
            notifier,
            timer,
            deadline: None,
            armed: 0,
            thread: sys::thread_id(),
            _thread: PhantomData,
        };
        // SAFETY: the set is initialised before use; unblocking one signal of this thread is what the timer needs.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, ptr::null_mut());
        }
        Ok(alarm)
    }

    /// Sets when the guest is to be stopped ([`crate::monotonic_ns`]), or never.
    pub fn set(&mut self, deadline: Option<u64>) -> Result<()> {
        self.deadline = deadline;
        match deadline {
            Some(at) if self.armed == 0 || at < self.armed => self.arm(at),
            Some(_) | None => Ok(()),
        }
    }

    /// The system's name of the timer.
    pub(crate) fn timer(&self) -> libc::timer_t {
        self.timer
    }

    /// Whether the deadline has passed.
    pub fn is_due(&self) -> bool {
        self.deadline.is_some_and(|at| sys::monotonic_ns() >= at)
    }

    /// Before a `KVM_RUN`: from now on the signal stops this vCPU. Returns false when the deadline has passed already.
    pub(crate) fn enter(&mut self, immediate_exit: *mut u8) -> Result<bool> {
        debug_assert_eq!(
            self.thread,
            sys::thread_id(),
            "an alarm fires on the thread that made it"
        );
        self.notifier
            .immediate_exit
            .store(immediate_exit.cast(), Ordering::Release);
        // SAFETY: the pointer is to a byte of the vCPU's shared page, mapped as long as the caller's vCPU lives.
        unsafe { AtomicU8::from_ptr(immediate_exit) }.store(0, Ordering::Release);
        // A signal before the store above was overwritten; it shows here. A later one sets the byte again.
        if self.notifier.fired.swap(false, Ordering::AcqRel) {
            self.armed = 0;
            if self.is_due() {
                return Ok(false);
            }
            if let Some(at) = self.deadline {
                self.arm(at)?;
            }
        }
        Ok(true)
    }

    /// After a `KVM_RUN`: the vCPU's page may go away.
    pub(crate) fn leave(&mut self) {
        self.notifier
            .immediate_exit
            .store(ptr::null_mut(), Ordering::Release);
    }

    /// The next entry is stopped as if the signal came again: something else than the kick counted at this one.
    pub(crate) fn put_off(&self) {
        self.notifier.fired.store(true, Ordering::Release);
    }

    /// The signal came and no entry has looked yet.
    #[cfg(test)]
    pub(crate) fn has_fired(&self) -> bool {
        self.notifier.fired.load(Ordering::Acquire)
    }

    fn arm(&mut self, at: u64) -> Result<()> {
        let value = libc::timespec {
            tv_sec: (at / 1_000_000_000) as i64,
            tv_nsec: (at % 1_000_000_000) as i64,
        };
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // An all-zero time would disarm it.
        let value = if at == 0 {
            libc::timespec {
                tv_sec: 0,
                tv_nsec: 1,
            }
        } else {
            value
        };
        let spec = libc::itimerspec {
            it_interval: zero,
            it_value: value,
        };
        // SAFETY: the timer is ours until drop; spec outlives the call.
        let r = unsafe { libc::timer_settime(self.timer, libc::TIMER_ABSTIME, &spec, ptr::null_mut()) };
        sys::check(r).map_err(|source| Error::Host {
            attempt: "arm the deadline timer",
            source,
        })?;
        self.armed = at.max(1);
        Ok(())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.leave();
        // SAFETY: the timer is ours and used by nobody after this.
        unsafe { libc::timer_delete(self.timer) };
    }
}

extern "C" fn fire(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; a timer's carries the pointer given to timer_create, a leaked Notifier.
    unsafe {
        if info.is_null() || (*info).si_code != libc::SI_TIMER {
            return;
        }
        let notifier = (*info).si_value().sival_ptr.cast::<Notifier>();
        let Some(notifier) = notifier.as_ref() else { return };
        notifier.fired.store(true, Ordering::Release);
        if let Some(byte) = notifier.immediate_exit.load(Ordering::Acquire).as_ref() {
            byte.store(1, Ordering::Release);
        }
    }
}

/// Installs the handler once and returns its signal.
fn install_handler() -> Result<libc::c_int> {
    static SIGNAL: OnceLock<std::result::Result<libc::c_int, i32>> = OnceLock::new();
    let installed = SIGNAL.get_or_init(|| {
        let signal = libc::SIGRTMIN() + 6;
        // SAFETY: all zero is a valid sigaction; the handler has the signature that SA_SIGINFO asks for and is
        // async-signal-safe: it touches atomics only.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = fire as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
            sys::check(libc::sigaction(signal, &action, ptr::null_mut()))
                .map(|()| signal)
                .map_err(|e| e.raw_os_error().unwrap_or(libc::EINVAL))
        }
    });
    installed.map_err(|errno| Error::Host {
        attempt: "install the deadline's signal handler",
        source: std::io::Error::from_raw_os_error(errno),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait_for(mut what: impl FnMut() -> bool) {
        let end = sys::monotonic_ns() + 60_000_000_000;
        while !what() {
            assert!(sys::monotonic_ns() < end, "waited 60 s");
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }

    /// Sets deadlines that are later and later until one has not passed when the vCPU is entered: a busy host may take longer than any.
    fn enter_before(alarm: &mut Alarm, byte: &mut u8, first_ns: u64, set: impl Fn(&mut Alarm, u64)) {
        let mut ns = first_ns;
        loop {
            set(alarm, ns);
            if alarm.enter(byte).unwrap() {
                return;
            }
            alarm.leave();
            assert!(alarm.is_due(), "a deadline of {ns} ns has not passed");
            assert!(ns < 60_000_000_000, "no deadline is late enough");
            ns *= 4;
        }
    }

    #[test]
    fn ring_sets_the_byte_of_the_running_vcpu() {
        let mut byte = 0u8;
        let mut alarm = Alarm::new().unwrap();
        enter_before(&mut alarm, &mut byte, 2_000_000, |alarm, ns| {
            alarm.set(Some(sys::monotonic_ns() + ns)).unwrap();
        });
        let p = &raw mut byte;
        // SAFETY: `byte` lives to the end of the test.
        wait_for(|| unsafe { AtomicU8::from_ptr(p) }.load(Ordering::Acquire) == 1);
        assert!(alarm.is_due());
        alarm.leave();
    }

    #[test]
    fn ring_before_enter_is_not_lost() {
        let mut byte = 0u8;
        let mut alarm = Alarm::new().unwrap();
        alarm.set(Some(sys::monotonic_ns())).unwrap();
        wait_for(|| alarm.has_fired());
        assert!(!alarm.enter(&mut byte).unwrap());
        alarm.leave();
        alarm.set(None).unwrap();
        assert!(alarm.enter(&mut byte).unwrap());
        alarm.leave();
    }

    #[test]
    fn early_ring_of_a_former_deadline_arms_the_next_one() {
        let mut byte = 0u8;
        let mut alarm = Alarm::new().unwrap();
        enter_before(&mut alarm, &mut byte, 500_000_000, |alarm, ns| {
            alarm.set(Some(sys::monotonic_ns() + 1_000_000)).unwrap();
            alarm.set(Some(sys::monotonic_ns() + ns)).unwrap();
            wait_for(|| alarm.has_fired());
        });
        wait_for(|| alarm.is_due() && alarm.has_fired());
        assert!(!alarm.enter(&mut byte).unwrap());
        alarm.leave();
    }
}
