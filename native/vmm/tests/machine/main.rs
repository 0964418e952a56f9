//! Tiny ring-3 programs on the real KVM. Skipped aloud where there is none.

mod closed;
mod forged;
mod mappings;
mod pkru;
mod reset;
mod run;

use std::sync::Arc;

use mayfly_vmm::{
    Access, Alarm, Backing, Entry, Error, Exception, Exit, Host, HostFile, PAGE, Protection, Registers,
    Snapshot, Survival, USER_START, Vm, monotonic_ns,
};

const CODE: u64 = USER_START;

const DATA: u64 = 0x4000_0000;

const STACK: u64 = 0x7fff_0000_0000;

/// The host, or `None` with a line that says why.
fn host() -> Option<Arc<Host>> {
    match Host::open() {
        Ok(host) => Some(Arc::new(host)),
        Err(Error::Unavailable(u)) => {
            eprintln!("SKIPPED: no /dev/kvm: {}; {}", u.reason, u.hint);
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn alarm(milliseconds: u64) -> Alarm {
    let mut alarm = Alarm::new().unwrap();
    alarm
        .set(Some(monotonic_ns() + milliseconds * 1_000_000))
        .unwrap();
    alarm
}

/// Rings only where something hangs: emulated machines take minutes for what the host does in one second.
fn patient() -> Alarm {
    alarm(180_000)
}

/// A machine with code, a page of data and a stack.
fn machine(host: &Arc<Host>, code: &[u8]) -> Vm {
    let mut vm = Vm::new(host, 64 << 20).unwrap();
    let space = vm.space();
    space
        .map(CODE, 1, Backing::Bytes(code), Protection::READ_EXECUTE)
        .unwrap();
    space.map(DATA, 4, Backing::Zero, Protection::READ_WRITE).unwrap();
    space
        .map(STACK - 4 * PAGE, 4, Backing::Zero, Protection::READ_WRITE)
        .unwrap();
    vm.set_registers(&Registers {
        rip: CODE,
        rsp: STACK,
        rdi: DATA,
        ..Default::default()
    });
    vm
}

fn forked(vm: Vm) -> (Arc<Snapshot>, Vm) {
    let snapshot = Arc::new(vm.snapshot(32 << 20).unwrap());
    let fork = snapshot.fork().unwrap();
    (snapshot, fork)
}

const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// `jmp .`
const SPIN: [u8; 2] = [0xeb, 0xfe];

/// Writes to data, counts in memory, touches vector registers and FS, then asks.
const COUNTER: [u8; 25] = [
    0x48, 0xff, 0x07, // inc (%rdi)
    0xf3, 0x0f, 0x6f, 0x07, // movdqu (%rdi),%xmm0
    0xf3, 0x48, 0x0f, 0xae, 0xd7, // wrfsbase %rdi
    0xf3, 0x48, 0x0f, 0xae, 0xdf, // wrgsbase %rdi
    0x48, 0x8b, 0x07, // mov (%rdi),%rax
    0x0f, 0x05, // syscall
    0xeb, 0xfc, 0x90, // jmp to the syscall
];

/// `mov (%rdi),%rax; syscall; jmp` to the start.
const READER: [u8; 7] = [0x48, 0x8b, 0x07, 0x0f, 0x05, 0xeb, 0xf9];

fn read_at(vm: &mut Vm, alarm: &mut Alarm, address: u64) -> Result<u64, Exit> {
    let regs = Registers {
        rip: CODE,
        rdi: address,
        ..*vm.registers()
    };
    vm.set_registers(&regs);
    match vm.run(alarm).unwrap() {
        Exit::Syscall => Ok(vm.registers().rax),
        other => Err(other),
    }
}
