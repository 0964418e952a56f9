//! What a snapshot, a fork and the tables must be, and that the audit finds each way in which they are not.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::tests::{DATA, host, machine, reader, run};
use super::*;
use crate::flavour::Entry;
use crate::layout::{GDT, IDT, LOW_PT, PML4, STACKS, STUBS, SYSCALL_STUB, TSS, USER_END, USER_START};
use crate::memory::tests::temporary_file;
use crate::pte::{Protection, Pte};
use crate::space::Backing;

/// The rights of the mapping at an address, as in `/proc/self/maps`.
fn rights(address: *const u8) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let holds = |line: &&str| {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |hex| usize::from_str_radix(hex, 16).unwrap();
        (number(start)..number(end)).contains(&address.addr())
    };
    let line = maps.lines().find(holds).expect("a mapping");
    line.split(' ').nth(1).unwrap().into()
}

#[test]
fn a_snapshot_is_sealed_and_mapped_read_only_and_forks_map_it_privately() {
    let Some(vm) = reader() else { return };
    let snapshot = Arc::new(vm.snapshot(1 << 20).unwrap());
    let file: &File = &snapshot.segments[0].file;
    // SAFETY: plain numbers on a descriptor of ours.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    let all = libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    assert_eq!(seals & all, all);
    let refused = |r: std::io::Result<()>| r.unwrap_err().raw_os_error();
    assert_eq!(refused(file.write_all_at(b"x", 0)), Some(libc::EPERM));
    assert_eq!(refused(file.set_len(1 << 30)), Some(libc::EPERM));
    assert_eq!(refused(file.set_len(0)), Some(libc::EPERM));
    assert!(
        Mapping::shared(file, PAGE as usize, true).is_err(),
        "a writable shared mapping"
    );
    assert_eq!(rights(snapshot.image.base()), "r--s");
    // SAFETY: changes no right if it is refused, as it must be.
    let r = unsafe { libc::mprotect(snapshot.image.base().cast(), PAGE as usize, libc::PROT_WRITE) };
    assert_eq!(
        (r, sys::check(r).unwrap_err().raw_os_error()),
        (-1, Some(libc::EACCES))
    );
    let mut fork = snapshot.fork().unwrap();
    assert_eq!(rights(fork.space.memory().private().base()), "rw-p");
    let before = snapshot.image.at(0, PAGE as usize).map(|p| p.cast_const());
    fork.space().write(DATA, b"B").unwrap_err();
    fork.space().write_protected(DATA, b"B").unwrap();
    assert_eq!(
        before,
        snapshot.image.at(0, PAGE as usize).map(|p| p.cast_const())
    );
    let mut other = snapshot.fork().unwrap();
    let mut byte = [0];
    other.space().read(DATA, &mut byte).unwrap();
    assert_eq!(&byte, b"A", "another fork, and the snapshot, keep theirs");
}

#[test]
fn host_files_are_mapped_read_only_for_guest_and_host() {
    let Some(mut vm) = reader() else { return };
    let id = vm.attach(&temporary_file(&[7; 5000])).unwrap();
    let window = &vm.space.memory().windows()[id.0 as usize];
    assert_eq!(rights(window.mapping.base()), "r--s");
    vm.space()
        .map(2 * DATA, 1, Backing::File(id, 0), Protection::READ_WRITE)
        .unwrap();
    vm.space().protect(2 * DATA, 1, Protection::READ_WRITE).unwrap();
    vm.audit().unwrap();
    assert_eq!(vm.space().write(2 * DATA, b"x").unwrap_err().address, 2 * DATA);
}

#[test]
fn the_masks_and_modes_of_the_cpu_are_those_of_its_flavour() {
    let Some(host) = host() else { return };
    let mut vm = machine(&host, &[0x0f, 0x05]);
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    let msr = |index| vm.vcpu.read_msr(index).unwrap();
    assert_eq!(msr(0xc000_0082), SYSCALL_STUB, "LSTAR");
    assert_eq!(
        msr(0xc000_0081),
        8 << 32 | 0x1b << 48,
        "STAR: ring 3 for the way back"
    );
    let (trap, interrupt, direction) = (1 << 8, 1 << 9, 1 << 10);
    let (level, nested, alignment) = (3 << 12, 1 << 14, 1 << 18);
    let mask = trap | interrupt | direction | level | nested | alignment;
    assert_eq!(msr(0xc000_0084), mask, "SFMASK");
    if host.flavour().entry == Entry::Ring0 {
        assert_eq!(msr(0xc000_0083), SYSCALL_STUB, "CSTAR");
    }
    assert_eq!(vm.registers().rflags & 0x3000, 0, "IOPL");
}

#[test]
fn no_page_is_writable_and_executable_unless_the_program_asks() {
    let Some(mut vm) = reader() else { return };
    assert_eq!(vm.space.writable_code(), []);
    let both = Protection {
        read: true,
        write: true,
        execute: true,
    };
    vm.space().map(3 * DATA, 2, Backing::Zero, both).unwrap();
    assert_eq!(vm.space.writable_code(), [3 * DATA, 3 * DATA + PAGE]);
    vm.space().protect(3 * DATA, 1, Protection::READ_EXECUTE).unwrap();
    assert_eq!(vm.space.writable_code(), [3 * DATA + PAGE]);
    vm.audit().unwrap();
}

/// The table of level 1 that maps an address, and the entry's place in it.
fn leaf_of(vm: &Vm, address: u64) -> (u64, usize) {
    let mut table = PML4;
    for level in [4, 3, 2] {
        let index = (address >> (12 + 9 * (level - 1)) & 511) as usize;
        table = Pte(vm.space.memory().word(table, index)).frame();
    }
    (table, (address >> 12 & 511) as usize)
}

#[test]
fn the_audit_finds_every_kind_of_corruption() {
    const PRESENT: u64 = 1;
    const WRITE: u64 = 2;
    const USER: u64 = 4;
    const NO_EXECUTE: u64 = 1 << 63;
    let Some(host) = host() else { return };
    type Corruption = fn(&mut Vm) -> (u64, usize, u64);
    /// Changes the entry of DATA.
    fn data(vm: &Vm, change: impl Fn(u64) -> u64) -> (u64, usize, u64) {
        let (table, index) = leaf_of(vm, DATA);
        (table, index, change(vm.space.memory().word(table, index)))
    }
    fn low(vm: &Vm, page: u64, change: impl Fn(u64) -> u64) -> (u64, usize, u64) {
        let index = (page / PAGE) as usize;
        (LOW_PT, index, change(vm.space.memory().word(LOW_PT, index)))
    }
    let cases: [(&str, Corruption); 21] = [
        ("leads to a table", |vm| data(vm, |e| e & !0xf_ffff_f000 | PML4)),
        ("leads to the stubs", |vm| {
            data(vm, |e| e & !0xf_ffff_f000 | STUBS)
        }),
        ("leads behind all frames", |vm| data(vm, |e| e | 0x7_0000_0000)),
        ("leads to another page's frame", |vm| {
            let (table, index) = leaf_of(vm, USER_START);
            let other = Pte(vm.space.memory().word(table, index)).frame();
            data(vm, |e| e & !0xf_ffff_f000 | other)
        }),
        ("a user's page that is the supervisor's", |vm| {
            data(vm, |e| e & !USER)
        }),
        ("Accessed is not set", |vm| data(vm, |e| e & !0x20)),
        ("writable, Dirty is not set", |vm| data(vm, |e| e | WRITE)),
        ("bits in an absent entry", |vm| data(vm, |_| 1 << 20)),
        ("a table linked twice", |vm| {
            (PML4, 1, vm.space.memory().word(PML4, 0))
        }),
        ("a link to a page", |vm| {
            let (table, index) = leaf_of(vm, DATA);
            (
                PML4,
                2,
                Pte::table(Pte(vm.space.memory().word(table, index)).frame()).0,
            )
        }),
        ("a huge page", |vm| {
            let link = vm.space.memory().word(crate::layout::LOW_PD, 0);
            (crate::layout::LOW_PD, 0, link | 0x80)
        }),
        ("the upper half", |_| {
            (PML4, 256, Pte::table(crate::layout::LOW_PDPT).0)
        }),
        ("the last page", |vm| {
            vm.space()
                .map(USER_END - PAGE, 1, Backing::Zero, Protection::READ)
                .unwrap();
            let (table, index) = leaf_of(vm, USER_END - PAGE);
            let entry = vm.space.memory().word(table, index);
            assert_eq!((USER_END >> 12 & 511) as usize, index + 1);
            (table, index + 1, entry)
        }),
        ("tables mapped for ring 0", |vm| {
            low(vm, PML4, |_| PML4 | PRESENT | WRITE | 0x60 | NO_EXECUTE)
        }),
        ("a stub that can be written", |vm| {
            low(vm, STUBS, |e| e | WRITE | 0x40)
        }),
        ("a stub for ring 3", |vm| low(vm, STUBS, |e| e | USER)),
        ("stacks that can be executed", |vm| {
            low(vm, STACKS, |e| e & !NO_EXECUTE)
        }),
        ("page 0", |vm| low(vm, 0, |_| PRESENT | 0x20 | NO_EXECUTE)),
        ("a gate that is changed", |_| {
            (GDT, (IDT - GDT) as usize / 8 + 28, 0)
        }),
        ("a port that is open", |_| (TSS, 0x78 / 8, 0)),
        ("an instruction that is changed", |_| (STUBS, 1, 0x9090)),
    ];
    for (name, corrupt) in cases {
        let mut vm = machine(&host, &[0x0f, 0x05]);
        vm.audit().unwrap();
        let (table, index, value) = corrupt(&mut vm);
        let before = vm.space.memory().word(table, index);
        assert_ne!(before, value, "{name} changes nothing");
        vm.space.memory_mut().set_word(table, index, value);
        assert!(matches!(vm.audit(), Err(Error::Impure { .. })), "{name}");
        vm.space.memory_mut().set_word(table, index, before);
        vm.audit().unwrap();
    }
}

/// Debug builds look before the guest runs on changed tables, and after each reset.
#[cfg(debug_assertions)]
#[test]
fn a_corrupt_table_is_noticed_before_the_guest_runs_on_it() {
    let Some(mut vm) = reader() else { return };
    assert_eq!(run(&mut vm).unwrap(), Exit::Syscall);
    let (table, index) = leaf_of(&vm, DATA);
    let entry = vm.space.memory().word(table, index);
    vm.space
        .memory_mut()
        .set_word(table, index, entry & !0xf_ffff_f000 | PML4);
    vm.space()
        .map(3 * DATA, 1, Backing::Zero, Protection::READ)
        .unwrap();
    let entered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&mut vm)));
    let words = *entered.unwrap_err().downcast::<String>().unwrap();
    assert!(words.starts_with("page tables: 0x40000000: leads to"), "{words}");
}

#[cfg(debug_assertions)]
#[test]
fn a_corrupt_stub_is_noticed_after_a_reset() {
    let Some(vm) = reader() else { return };
    let mut fork = Arc::new(vm.snapshot(1 << 20).unwrap()).fork().unwrap();
    assert_eq!(run(&mut fork).unwrap(), Exit::Syscall);
    fork.reset().unwrap();
    // An entry that no reset rewinds, for nothing of ours writes it.
    let entry = fork.space.memory().word(LOW_PT, (STUBS / PAGE) as usize);
    fork.space
        .memory_mut()
        .set_word(LOW_PT, (STUBS / PAGE) as usize, entry | 2);
    assert!(matches!(fork.reset(), Err(Error::Impure { .. })));
}
