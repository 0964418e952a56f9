//! What a thread that runs machines may ask of the host kernel.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// The calls that a thread may make from [`confine`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// `/proc/self/pagemap`: the one file that may be read, and scanned by its own ioctl.
    pub page_map: RawFd,
    /// The thread also takes a snapshot: it sizes, punches and seals the memory file that it was given. A thread that serves
    /// requests does not.
    pub snapshot: bool,
}

/// `KVM_RUN`: first, for it is the one call of a request that every figure counts.
const KVM_RUN: u32 = 0xae80;
/// Every other request on the three kinds of KVM descriptors (linux/kvm.h): what forks, resets and checks use.
///
/// They are bound by their number, not by descriptor: a filter is made before the guest's first instruction and can only be narrowed
/// afterwards, and the machines that the thread forks later get descriptors that nobody knows yet. What this leaves open are the machines
/// of other threads, whose memory and `kvm_run` pages lie in the same address space anyway. No other driver answers to these numbers.
const KVM_REQUESTS: [u32; 22] = [
    0x5000_aea5, // KVM_SET_XSAVE: once a switch of threads
    0x8138_ae83, // KVM_GET_SREGS: once a page fault on AMD-V and VT-x
    0x8040_ae9f, // KVM_GET_VCPU_EVENTS: once a kick
    0x4040_aea0, // KVM_SET_VCPU_EVENTS: once a kick
    0x9000_aea4, // KVM_GET_XSAVE
    0xae01,      // KVM_CREATE_VM
    0xae03,      // KVM_CHECK_EXTENSION
    0xae04,      // KVM_GET_VCPU_MMAP_SIZE
    0xae41,      // KVM_CREATE_VCPU
    0x4020_ae46, // KVM_SET_USER_MEMORY_REGION
    0x4068_aea3, // KVM_ENABLE_CAP
    0xaea3,      // KVM_GET_TSC_KHZ
    0x4008_ae90, // KVM_SET_CPUID2
    0x8090_ae81, // KVM_GET_REGS
    0x4090_ae82, // KVM_SET_REGS
    0x4138_ae84, // KVM_SET_SREGS
    0xc008_ae88, // KVM_GET_MSRS
    0x4008_ae89, // KVM_SET_MSRS
    0x8188_aea6, // KVM_GET_XCRS
    0x4188_aea7, // KVM_SET_XCRS
    0x8080_aea1, // KVM_GET_DEBUGREGS
    0x4018_aee1, // KVM_SET_DEVICE_ATTR
];
/// `PAGEMAP_SCAN`.
const PAGE_MAP_SCAN: u32 = 0xc060_6610;

/// `ARCH_SET_GS`, `ARCH_SET_FS`, `ARCH_GET_FS`, `ARCH_GET_GS` of asm/prctl.h.
const ARCH_BASES: [u64; 4] = [0x1001, 0x1002, 0x1003, 0x1004];

/// Calls allowed with any argument. The kernel answers these from a bitmap and does not run the filter.
const PLAIN: [libc::c_long; 28] = [
    // Memory: the allocator's, and discarding guest pages. None of them gives a right that a mapping lacks.
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_brk,
    // Waiting, time, randomness, accounting.
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_restart_syscall,
    libc::SYS_gettid,
    libc::SYS_getpid,
    // The deadline's timer, made before.
    libc::SYS_timer_settime,
    libc::SYS_timer_delete,
    // Signals of this thread, and its end.
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Forks come and go.
    libc::SYS_close,
    // When a process drops its privileges, the C library does it on every thread: this one too.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_set_robust_list,
];

/// Puts the calling thread, and no other, under a filter for the rest of its life. It cannot gain privileges by `execve`
/// either (`no_new_privs`). A call outside of the filter raises `SIGSYS` on the thread.
pub fn confine(filter: Filter) -> io::Result<()> {
    let program = compile(filter).map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

fn compile(filter: Filter) -> Result<BpfProgram, seccompiler::BackendError> {
    let executable = libc::PROT_EXEC as u64;
    let not_executable = || all(vec![masked(2, executable, 0)?]);
    let mut ioctls = vec![all(vec![equal(1, KVM_RUN.into())?])?];
    for request in KVM_REQUESTS {
        ioctls.push(all(vec![equal(1, request.into())?])?);
    }
    let base_codes = ARCH_BASES.map(|code| all(vec![equal(0, code)?]));
    let base_codes = base_codes.into_iter().collect::<Result<Vec<_>, _>>()?;
    let page_map = equal(0, filter.page_map as u32 as u64)?;
    ioctls.push(all(vec![equal(1, PAGE_MAP_SCAN.into())?, page_map.clone()])?);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = PLAIN.map(|call| (call, Vec::new())).into();
    let process = u64::from(std::process::id());
    rules.extend([
        (libc::SYS_ioctl, ioctls),
        (libc::SYS_mmap, vec![not_executable()?]),
        (libc::SYS_mprotect, vec![not_executable()?]),
        (
            libc::SYS_mremap,
            vec![all(vec![equal(3, libc::MREMAP_MAYMOVE as u64)?])?],
        ),
        (libc::SYS_pread64, vec![all(vec![page_map])?]),
        // The length of this thread's own time slice.
        (libc::SYS_sched_getattr, vec![all(vec![equal(0, 0)?])?]),
        (libc::SYS_sched_setattr, vec![all(vec![equal(0, 0)?])?]),
        // A program under PVM that loaded FS or GS changed this thread's: `vmm` puts the selector back, and the base with it.
        (libc::SYS_arch_prctl, base_codes),
        // Debug builds look at a descriptor before they close it.
        (libc::SYS_fcntl, vec![all(vec![equal(1, libc::F_GETFD as u64)?])?]),
        // The last words of a crash that cannot be contained, and the signal behind them.
        (libc::SYS_write, vec![all(vec![equal(0, 2)?])?]),
        (
            libc::SYS_tgkill,
            vec![all(vec![equal(0, process)?, equal(2, libc::SIGABRT as u64)?])?],
        ),
    ]);
    if filter.snapshot {
        let hole = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u64;
        rules.extend([
            (libc::SYS_ftruncate, Vec::new()),
            (libc::SYS_fallocate, vec![all(vec![equal(1, hole)?])?]),
        ]);
        let seal = all(vec![equal(1, libc::F_ADD_SEALS as u64)?])?;
        rules.entry(libc::SYS_fcntl).or_default().push(seal);
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Trap,
        SeccompAction::Allow,
        TargetArch::x86_64,
    )?
    .try_into()
}

fn all(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions)
}

/// The low half of an argument, which is all that the kernel looks at in these.
fn equal(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(mask),
        value,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_fits_and_its_lists_hold_nothing_twice() {
        let filter = Filter {
            page_map: 9,
            snapshot: true,
        };
        assert!(compile(filter).unwrap().len() < 400);
        for mut list in [
            PLAIN.map(|n| n as u64).to_vec(),
            KVM_REQUESTS.map(u64::from).to_vec(),
        ] {
            let length = list.len();
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), length);
        }
    }
}
