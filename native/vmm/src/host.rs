//! The host's KVM: opened once. `Host::open` stands with the probes.

use std::io;
use std::sync::OnceLock;

use kvm_bindings::{CpuId, KVM_MAX_CPUID_ENTRIES};
use kvm_ioctls::{Cap, Kvm, VmFd};

use crate::error::{Error, Result, Unavailable, again};
use crate::flavour::{Entry, Flavour};
use crate::host_facts::HostFacts;

/// What a guest's XCR0 may hold: x87, SSE, AVX, AVX-512.
const XCR0_WANTED: u64 = 0xe7;

/// An open `/dev/kvm` whose flavour is known. Shared by all machines.
#[derive(Debug)]
pub struct Host {
    kvm: Kvm,
    cpuid: CpuId,
    flavour: Flavour,
    xcr0: u64,
    xsave_length: usize,
    facts: OnceLock<HostFacts>,
}

impl Host {
    /// Opens KVM and takes the flavour as given: for the probes.
    pub(crate) fn open_as(flavour: Flavour) -> Result<Host> {
        let kvm = Kvm::new()
            .map_err(|e| Error::Unavailable(why_closed(&io::Error::from_raw_os_error(e.errno()))))?;
        if kvm.get_api_version() != 12 {
            return Err(unavailable(
                "/dev/kvm is no KVM device",
                "look what lies in its place: it must be the character device 10:232 of the host",
            ));
        }
        for (cap, name) in [
            (Cap::UserMemory, "user memory"),
            (Cap::ReadonlyMem, "read-only memory"),
            (Cap::SyncRegs, "synchronised registers"),
            (Cap::ImmediateExit, "immediate exit"),
            (Cap::SyncMmu, "a synchronous MMU"),
            (Cap::ExtCpuid, "extended CPUID"),
            (Cap::Xcrs, "XCRs"),
        ] {
            if !kvm.check_extension(cap) {
                return Err(unavailable(
                    &format!("KVM lacks {name}"),
                    "use Linux 5.10 or later",
                ));
            }
        }
        let mut cpuid = again("ask for CPUID", || kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES))?;
        let mut supported = 0;
        for e in cpuid.as_mut_slice() {
            match (e.function, e.index) {
                (1, _) => e.ecx |= 1 << 27, // OSXSAVE follows CR4, which sets it
                (0xd, 0) => supported = u64::from(e.edx) << 32 | u64::from(e.eax),
                _ => {}
            }
        }
        let xcr0 = supported & XCR0_WANTED;
        if xcr0 & 3 != 3 {
            return Err(unavailable(
                "the CPU lacks XSAVE",
                "use a CPU made after 2015, or the worker fallback",
            ));
        }
        let xsave_length = xsave_length(&cpuid, xcr0);
        Ok(Host {
            kvm,
            cpuid,
            flavour,
            xcr0,
            xsave_length,
            facts: OnceLock::new(),
        })
    }

    /// The same, with the flavour that the probes found.
    pub(crate) fn with_flavour(self, flavour: Flavour) -> Host {
        // The facts follow from the flavour.
        Host {
            flavour,
            facts: OnceLock::new(),
            ..self
        }
    }

    /// What of this host a program depends on.
    pub fn facts(&self) -> &HostFacts {
        let vectors = (self.xcr0, self.xsave_length);
        let leaf = |function, index| self.leaf(function, index);
        self.facts
            .get_or_init(|| HostFacts::of(self.flavour, vectors, &leaf))
    }

    /// How this KVM behaves.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    pub(crate) fn kvm(&self) -> &Kvm {
        &self.kvm
    }

    pub(crate) fn cpuid(&self) -> &CpuId {
        &self.cpuid
    }

    pub(crate) fn xcr0(&self) -> u64 {
        self.xcr0
    }

    /// Bytes of a vector state image.
    pub fn xsave_length(&self) -> usize {
        self.xsave_length
    }

    /// One register of a CPUID leaf: (eax, ebx, ecx, edx).
    pub(crate) fn leaf(&self, function: u32, index: u32) -> [u32; 4] {
        let found = self
            .cpuid
            .as_slice()
            .iter()
            .find(|e| e.function == function && e.index == index);
        found.map_or([0; 4], |e| [e.eax, e.ebx, e.ecx, e.edx])
    }

    /// EDX of CPUID leaf 1, which Linux shows as AT_HWCAP, and whether ring 3 may use RDFSBASE and its like.
    pub fn program_features(&self) -> (u32, bool) {
        let fsgsbase = self.flavour.entry == Entry::Ring3 || self.leaf(7, 0)[1] & 1 == 1;
        (self.leaf(1, 0)[3], fsgsbase)
    }

    /// An empty machine. KVM gives up on one when a signal comes meanwhile, such as an alarm's or a profiler's.
    pub(crate) fn create_machine(&self) -> Result<VmFd> {
        again("create a machine", || self.kvm.create_vm())
    }

    /// Nanoseconds per tick of the guest's counter as a 32.32 fixed-point number.
    pub fn nanoseconds_per_tick_32(&self) -> Result<u64> {
        // KVM says the rate in kHz for a vCPU only; any machine's will do.
        let vm = self.create_machine()?;
        let vcpu = again("create a vCPU", || vm.create_vcpu(0))?;
        let khz = again("ask for the counter's rate", || vcpu.get_tsc_khz())?;

        if khz == 0 {
            return Err(Error::Broken {
                what: "KVM says that the time-stamp counter stands still",
            });
        }
        Ok(((1_000_000u128 << 32) / u128::from(khz)) as u64)
    }
}

/// The legacy region and header, or up to the end of the last component.
fn xsave_length(cpuid: &CpuId, xcr0: u64) -> usize {
    let components = cpuid
        .as_slice()
        .iter()
        .filter(|e| e.function == 0xd && e.index >= 2 && e.index < 63);
    let ends = components
        .filter(|e| xcr0 >> e.index & 1 == 1)
        .map(|e| (e.eax + e.ebx) as usize);
    ends.max().unwrap_or(0).clamp(576, 4096)
}

fn unavailable(reason: &str, hint: &str) -> Error {
    Error::Unavailable(Unavailable {
        reason: reason.into(),
        hint: hint.into(),
    })
}

/// Why `/dev/kvm` cannot be opened, and the hint.
fn why_closed(e: &io::Error) -> Unavailable {
    let (reason, hint) = match e.raw_os_error() {
        Some(libc::ENOENT) => (
            "/dev/kvm does not exist".to_string(),
            "enable virtualisation in the firmware and load the module kvm_amd or kvm_intel; in a virtual machine, ask for nested virtualisation; in a container, pass the device in",
        ),
        Some(libc::EACCES | libc::EPERM) => (
            "this user may not open /dev/kvm".to_string(),
            "add the user to the group kvm and log in again",
        ),
        Some(libc::ENODEV | libc::ENXIO) => (
            "/dev/kvm exists, but no driver answers".to_string(),
            "load the module kvm_amd or kvm_intel; if it refuses, enable SVM or VT-x in the firmware",
        ),
        Some(libc::EBUSY) => ("another hypervisor holds the CPU".to_string(), "stop it"),
        Some(_) | None => (format!("/dev/kvm cannot be opened: {e}"), "see the kernel's log"),
    };
    Unavailable {
        reason,
        hint: hint.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Runs `work` on this thread while another sends it signals without a pause, as a profiler does at its own pace.
    fn under_signals<T>(work: impl FnOnce() -> T) -> T {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: the action is zero but for a handler that does nothing; the signal has no other use in the tests.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(_) as usize;
            libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut());
        }
        let (over, me) = (AtomicBool::new(false), this_thread());
        let work = std::panic::AssertUnwindSafe(work);
        let done = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // SAFETY: the thread lives until the scope ends.
                    unsafe { libc::pthread_kill(me, libc::SIGUSR2) };
                    std::thread::sleep(std::time::Duration::from_micros(20));
                }
            });
            let done = std::panic::catch_unwind(work);
            over.store(true, Ordering::Relaxed);
            done
        });
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The calling thread, to be sent signals.
    fn this_thread() -> libc::pthread_t {
        // SAFETY: the call takes nothing and cannot fail.
        unsafe { libc::pthread_self() }
    }

    #[test]
    fn open_finds_the_same_under_signals() {
        let quiet = match Host::open() {
            Ok(host) => host.flavour(),
            Err(Error::Unavailable(u)) => return eprintln!("SKIPPED: {}; {}", u.reason, u.hint),
            Err(e) => panic!("{e}"),
        };
        under_signals(|| {
            for _ in 0..20 {
                assert_eq!(Host::open().unwrap().flavour(), quiet);
            }
        });
    }

    #[test]
    fn why_closed_names_a_hint_for_each_cause() {
        for errno in [libc::ENOENT, libc::EACCES, libc::ENODEV, libc::EBUSY, libc::EIO] {
            let u = why_closed(&io::Error::from_raw_os_error(errno));
            assert!(!u.reason.is_empty() && !u.hint.is_empty());
        }
        assert!(
            why_closed(&io::Error::from_raw_os_error(libc::EACCES))
                .hint
                .contains("group kvm")
        );
    }
}
