//! The Linux personality of Mayfly's virtual machines: an unmodified x86-64 program's system calls, answered from plain Rust data.
//!
//! There is no guest kernel, and no host call on the guest's behalf but in folders that the host granted ([`fs::granted`], a seam). The machine below (KVM, in another crate; plain data, in the tests)
//! hands over each exit; [`kernel::Kernel`] answers it from its own tables and says what comes next ([`action::Action`]).
//!
//! ```text
//!    exit: system call, fault, kick            Action: Resume, Idle, Wait, Output, Frame, Stop
//!               |                                                  ^
//!   +-----------v--------------------------------------------------+-----------+
//!   | kernel    calls/*: one file a family      schedule: who runs, who waits   |
//!   |           delivery: signals               exec: ELF, stack, vDSO          |
//!   +---+-----------+------------+-------------+-----------+----------+---------+
//!   | mem         | task       | fs::files   | fs::vfs   | clock    | state      |
//!   | mappings,   | registers, | descriptors,| tree of   | bases,   | ChaCha20,  |
//!   | faults,     | waits,     | pipes,epoll,| mounts    | jumps,   | a seed a   |
//!   | copies      | masks      | readiness   | and /tmp  | vDSO page| request    |
//!   +-----------------------------+--------------------------------------------+
//!                                 | machine::Machine: the seam
//!                                 v
//!               pages, page tables, registers, one counter
//! ```
//!
//! # Rules that hold everywhere
//! - What a guest can write is copied once ([`mem::space::AddressSpace::read`]), then checked, then used. No reference into guest memory.
//! - Every table has a bound ([`limits::Limits`]), and what the host holds for a guest (pipes, texts, files, versions of mapped files)
//!   is counted in bytes. What a call does at once is bounded ([`bounds`]); what is more goes on behind a look at the deadline.
//! - An unknown call answers ENOSYS and is counted ([`limits::Statistics::unknown`]); what a guest may not have is noted for the host ([`kernel::denials`]); nothing a guest does ends the host.
//! - A call that waits keeps no state but how far it has come: when its wait is over it is made again from the same registers
//!   ([`task::threads::Retry`]).
//! - State is cloned for a snapshot and copied back by what was touched ([`state::tracked`]); [`kernel::Kernel::differences`] names any part
//!   that is not as it was.
//! - No `unsafe`.
//!
//! # How it is tested
//! - Beside the code: the mapping tree against a map of single pages; the address space likewise; ELF, frames and wire heads with changed
//!   bytes; ChaCha20 by its RFC; the vDSO's bytes against the assembler.
//! - `guest_tests`: a kernel on a machine of plain data: waits, futexes, signals, limits (at, below, above), requests, and random calls
//!   with random memory, reset and compared after each round (`MAYFLY_FUZZ_ROUNDS` makes it longer).
//! - `tests/programs`: seventy C programs that print the same natively and in a machine, `tests/hostile`: a flood of random calls;
//!   `mayfly-vm/tests/programs.rs` runs them, and says so when it cannot.
//!
//! # What is not here
//! - Processes (`fork`, `execve`, `wait`), sockets of datagrams, descriptors in messages, `signalfd`, `inotify`, `splice`,
//!   timers of processor time, extended attributes, hard links, priority-inheriting and robust futexes.
//! - Shared writable mappings of files answer ENODEV: nothing would carry the stores back.
//! - Permission bits are kept and shown, not enforced; every file belongs to the one user or to root.
//! - `madvise(MADV_WIPEONFORK)` is refused: see `calls/memory.rs` for what that does to WebCrypto.
//! - One signal of each number waits at a time, real-time signals too.
//! - Addresses that are only hints to `mmap` are not taken. `madvise(MADV_FREE)` zeroes at once.
//! - Epoll sets nest one level deep (Linux: five).
//! - Stopping signals (SIGSTOP, SIGTSTP) are ignored: nobody could continue the process.
#![forbid(unsafe_code)]

pub mod action;
pub mod bounds;
pub mod calls;
pub mod clock;
pub mod errno;
pub mod fs;
#[cfg(test)]
mod guest_tests;
pub mod image;
pub mod kernel;
pub mod limits;
pub mod machine;
pub mod mem;
pub mod net;
pub mod state;
pub mod syscall;
pub mod task;
#[cfg(test)]
mod test_rng;
