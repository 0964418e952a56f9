//! What a vCPU is given once: modes, segments, the system-call MSRs, its counter.

use std::os::fd::AsRawFd;

use kvm_bindings::{Msrs, kvm_device_attr, kvm_msr_entry, kvm_segment, kvm_sregs};
use kvm_ioctls::VcpuFd;

use crate::error::{Error, Result, kvm};
use crate::flavour::Entry;
use crate::host::Host;
use crate::layout::*;
use crate::sys;

pub(super) const MSR_STAR: u32 = 0xc000_0081;
pub(super) const MSR_LSTAR: u32 = 0xc000_0082;
pub(super) const MSR_CSTAR: u32 = 0xc000_0083;
pub(super) const MSR_SFMASK: u32 = 0xc000_0084;
/// TF, IF, DF, IOPL, NT, AC: none survives into ring 0.
const SFMASK: u64 = 0x4_7700;

const CR0: u64 = 0x8005_0033; // PG AM WP NE ET MP PE
const CR4_BASE: u64 = 0x4_0620; // OSXSAVE OSXMMEXCPT OSFXSR PAE
/// The counter is ring 0's alone.
pub(super) const CR4_TSD: u64 = 1 << 2;
const CR4_FSGSBASE: u64 = 1 << 16;
const CR4_SMEP: u64 = 1 << 20;
const CR4_SMAP: u64 = 1 << 21;
const CR4_UMIP: u64 = 1 << 11;
const EFER: u64 = 0xd01; // NXE LMA LME SCE

pub(super) fn code_segment(selector: u16, ring: u8) -> kvm_segment {
    let limit = 0xffff_ffff;
    kvm_segment {
        limit,
        selector,
        type_: 11,
        present: 1,
        dpl: ring,
        s: 1,
        l: 1,
        g: 1,
        ..Default::default()
    }
}

pub(super) fn data_segment(selector: u16, ring: u8) -> kvm_segment {
    let limit = 0xffff_ffff;
    kvm_segment {
        limit,
        selector,
        type_: 3,
        present: 1,
        dpl: ring,
        db: 1,
        s: 1,
        g: 1,
        ..Default::default()
    }
}

/// Ring 3 in 64-bit mode with our tables.
pub(super) fn user_sregs(mut sregs: kvm_sregs) -> kvm_sregs {
    (sregs.cr0, sregs.cr2, sregs.cr3, sregs.cr4, sregs.efer) = (CR0, 0, PML4, CR4_BASE, EFER);
    sregs.cs = code_segment(USER_CODE, 3);
    sregs.ss = data_segment(USER_DATA, 3);
    (sregs.ds, sregs.es, sregs.fs, sregs.gs) = (sregs.ss, sregs.ss, sregs.ss, sregs.ss);
    (sregs.gdt.base, sregs.gdt.limit) = (GDT, GDT_LIMIT);
    (sregs.idt.base, sregs.idt.limit) = (IDT, IDT_LIMIT);
    sregs.tr = kvm_segment {
        base: TSS,
        limit: TASK_LIMIT,
        selector: TASK,
        type_: 11,
        present: 1,
        ..Default::default()
    };
    sregs
}

/// The same without what only some CPUs have.
pub(crate) fn probe_sregs(sregs: kvm_sregs) -> kvm_sregs {
    let mut sregs = user_sregs(sregs);
    sregs.cr4 = 0x220; // OSFXSR PAE
    sregs
}

/// FSGSBASE, SMEP, SMAP and UMIP where the CPU has them. Where `syscall` stays in ring 3 the program sees the real CPU, whatever
/// KVM's CPUID says: FSGSBASE works there in any case, and programs expect it.
pub(super) fn cpu_bits(host: &Host) -> u64 {
    let [_, ebx, ecx, _] = host.leaf(7, 0);
    match host.flavour().entry {
        Entry::Ring3 => CR4_FSGSBASE,
        Entry::Ring0 => {
            let bits = [
                (ebx, CR4_FSGSBASE),
                (ebx >> 7, CR4_SMEP),
                (ebx >> 20, CR4_SMAP),
                (ecx >> 2, CR4_UMIP),
            ];
            bits.iter()
                .filter(|(has, _)| has & 1 == 1)
                .map(|(_, bit)| bit)
                .sum()
        }
    }
}

pub(crate) fn set_syscall_msrs(fd: &VcpuFd, entry: Entry) -> Result<()> {
    // STAR: kernel code 8; user base 0x18 with RPL 3, since a CPU may leave SS with the RPL found here.
    let star = u64::from(KERNEL_CODE) << 32 | 0x1b << 48;
    // Where `syscall` stays in ring 3 there is no stub for 32-bit code; the mask holds for both.
    let cstar = if entry == Entry::Ring0 { SYSCALL_STUB } else { 0 };
    let values = [
        (MSR_STAR, star),
        (MSR_LSTAR, SYSCALL_STUB),
        (MSR_CSTAR, cstar),
        (MSR_SFMASK, SFMASK),
    ];
    let entries = values.map(|(index, data)| kvm_msr_entry {
        index,
        data,
        ..Default::default()
    });
    let list = Msrs::from_entries(&entries).map_err(|_| Error::Broken {
        what: "a list of four MSRs",
    })?;
    match fd.set_msrs(&list).map_err(kvm("set the system-call MSRs"))? {
        4 => Ok(()),
        _ => Err(Error::Broken {
            what: "KVM took only some of the system-call MSRs",
        }),
    }
}

/// Makes the guest's time-stamp counter the host's. (`kvm-ioctls` has this ioctl for Arm only.)
pub(super) fn level_counter(fd: &VcpuFd) -> Result<()> {
    const KVM_SET_DEVICE_ATTR: libc::Ioctl = 0x4018_aee1;
    const KVM_VCPU_TSC_CTRL: u32 = 0;
    const KVM_VCPU_TSC_OFFSET: u64 = 0;
    let offset = 0u64;
    let attribute = kvm_device_attr {
        group: KVM_VCPU_TSC_CTRL,
        attr: KVM_VCPU_TSC_OFFSET,
        addr: &raw const offset as u64,
        ..Default::default()
    };
    // SAFETY: the descriptor is a vCPU's; the attribute has the kernel's layout and points to eight bytes that outlive the call.
    let r = unsafe { libc::ioctl(fd.as_raw_fd(), KVM_SET_DEVICE_ATTR, &attribute) };
    sys::check(r).map_err(|source| Error::Host {
        attempt: "level the time-stamp counter",
        source,
    })
}
