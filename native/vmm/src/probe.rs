//! How this host's KVM behaves, found out by running two tiny programs.

use std::sync::Arc;

use kvm_bindings::{kvm_regs, kvm_userspace_memory_region};
use kvm_ioctls::VcpuExit;

use crate::alarm::Alarm;
use crate::error::{Error, Result, again, kvm};
use crate::flavour::{Entry, Flavour, Flush};
use crate::host::Host;
use crate::layout::*;
use crate::memory::Memory;
use crate::pte::{Protection, Pte};
use crate::space::{Backing, Space};
use crate::stubs;
use crate::sys::{self, Mapping};
use crate::vcpu::{Exit, Registers, probe_sregs, set_syscall_msrs};
use crate::vm::Vm;

const PROBE_CODE: u64 = 0xc000;
const PROBE_STACK_TOP: u64 = 0xcff0;

impl Host {
    /// Opens KVM and runs both probes.
    pub fn open() -> Result<Host> {
        let host = Host::open_as(Flavour::UNKNOWN)?;
        let entry = entry(&host)?;
        let reloads = Flavour {
            entry,
            flush: Flush::ReloadCr3,
        };
        // The same, as KVM takes long to say what it supports.
        let host = Arc::new(host.with_flavour(reloads));
        let flush = flush(&host)?;
        let host = match Arc::into_inner(host) {
            Some(host) => host,
            None => Host::open_as(reloads)?,
        };
        Ok(host.with_flavour(Flavour { entry, flush }))
    }
}

/// Runs one `syscall` from ring 3 with a stub page that every flavour can execute, and looks at the ring at the exit. The
/// wrong stub would fail open on hardware (the program would go on in ring 0), hence no guess and no environment variable.
fn entry(host: &Host) -> Result<Entry> {
    let vm = host.create_machine()?;
    let mut memory = Memory::new(Mapping::anonymous(LOW_END as usize)?);
    stubs::install(&mut memory, Entry::Ring3)?;
    for (table, below) in [(PML4, LOW_PDPT), (LOW_PDPT, LOW_PD), (LOW_PD, LOW_PT)] {
        memory.set_word(table, 0, Pte::table(below).0);
    }
    memory.write(PROBE_CODE, 0, &[0x0f, 0x05])?; // syscall
    memory.set_word(
        LOW_PT,
        (PROBE_CODE / PAGE) as usize,
        Pte::system(PROBE_CODE, true, false, true).0,
    );
    let region = kvm_userspace_memory_region {
        slot: 0,
        flags: 0,
        guest_phys_addr: 0,
        memory_size: LOW_END,
        userspace_addr: memory.private().base() as u64,
    };
    // SAFETY: the region is `memory`'s mapping, which outlives the machine: it is dropped at the end of this function, after
    // `vcpu` and `vm` (declared later).
    again("give the probe machine memory", || unsafe {
        vm.set_user_memory_region(region)
    })?;
    let mut vcpu = again("create the probe vCPU", || vm.create_vcpu(0))?;
    vcpu.set_cpuid2(host.cpuid())
        .map_err(kvm("set the probe's CPUID"))?;
    let sregs = probe_sregs(vcpu.get_sregs().map_err(kvm("read the probe's registers"))?);
    vcpu.set_sregs(&sregs).map_err(kvm("set the probe's registers"))?;
    set_syscall_msrs(&vcpu, Entry::Ring0)?;
    let regs = kvm_regs {
        rip: PROBE_CODE,
        rsp: PROBE_STACK_TOP,
        rflags: 2,
        ..Default::default()
    };
    vcpu.set_regs(&regs).map_err(kvm("set the probe's registers"))?;
    // No alarm is about: whatever interrupts it is a signal of somebody else's.
    let unexpected = again("run the probe", || {
        Ok(match vcpu.run()? {
            VcpuExit::IoOut(SYSCALL_PORT, [_]) => None,
            other => Some(format!("probe: {other:?}")),
        })
    })?;
    if let Some(what) = unexpected {
        return Err(Error::UnexpectedExit { what });
    }
    let regs = vcpu.get_regs().map_err(kvm("read the probe's registers"))?;
    let sregs = vcpu.get_sregs().map_err(kvm("read the probe's registers"))?;
    let at_stub = regs.rip == SYSCALL_STUB || regs.rip == SYSCALL_STUB + stubs::OUT_LENGTH;
    let rings = (sregs.cs.dpl, sregs.ss.dpl);
    match rings {
        (0, 0) if at_stub && regs.rcx == PROBE_CODE + 2 => Ok(Entry::Ring0),
        (3, 3) if at_stub && regs.rcx == PROBE_CODE + 2 => Ok(Entry::Ring3),
        (cs, ss) => {
            let what = format!(
                "probe: rip {:#x}, rcx {:#x}, ring {cs} of cs, {ss} of ss",
                regs.rip, regs.rcx
            );
            Err(Error::UnexpectedExit { what })
        }
    }
}

/// Lets the guest read a page, leads the entry to another frame, and lets it reload CR3 and read again. If it still sees the
/// old frame, only the notifier helps. The host's flavour is that CR3 is reloaded.
fn flush(host: &Arc<Host>) -> Result<Flush> {
    const CODE: u64 = USER_START;
    const DATA: u64 = USER_START + PAGE;
    let mut vm = Vm::new(host, 1 << 20)?;
    let mut alarm = Alarm::new()?;
    alarm.set(Some(sys::monotonic_ns() + 2_000_000_000))?;
    // mov (%rdi),%al; syscall; mov (%rdi),%al; syscall
    let code = [0x8a, 0x07, 0x0f, 0x05, 0x8a, 0x07, 0x0f, 0x05];
    let space = vm.space();
    space.map(CODE, 1, Backing::Bytes(&code), Protection::READ_EXECUTE)?;
    space.map(DATA, 1, Backing::Bytes(b"A"), Protection::READ)?;
    vm.set_registers(&Registers {
        rip: CODE,
        rdi: DATA,
        rflags: 2,
        ..Default::default()
    });
    let first = read_by_guest(&mut vm, &mut alarm)?;
    replace_page(vm.space(), DATA)?;
    let second = read_by_guest(&mut vm, &mut alarm)?;
    match (first, second) {
        (b'A', b'B') => Ok(Flush::ReloadCr3),
        (b'A', b'A') => Ok(Flush::Notifier),
        (a, b) => Err(Error::UnexpectedExit {
            what: format!("paging probe: read {a} and {b}"),
        }),
    }
}

fn replace_page(space: &mut Space, address: u64) -> Result<()> {
    // The old frame must keep its content, so a third page holds it while the second takes its place.
    space.remap(address, address + 2 * PAGE, 1)?;
    space.map(address, 1, Backing::Bytes(b"B"), Protection::READ)
}

fn read_by_guest(vm: &mut Vm, alarm: &mut Alarm) -> Result<u8> {
    match vm.run(alarm)? {
        Exit::Syscall => Ok(vm.registers().rax as u8),
        other => Err(Error::UnexpectedExit {
            what: format!("paging probe: {other:?}"),
        }),
    }
}
