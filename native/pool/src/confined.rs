//! Threads that run machines, and what they hold of the host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mayfly_guard::{Bell, Filter, VmThread, confine};
use mayfly_vmm::{Alarm, Error, Holdings, page_map_descriptor};

use crate::spec::BootError;

/// The host's descriptors, mappings and timers of one thread's machines, listed where a crash of the thread does not reach.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    next: u64,
    kept: BTreeMap<u64, Holdings>,
}

/// Keeps a list on a shelf. Dropped before what the list is of.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    shelf: &'a Shelf,
    key: u64,
}

impl Shelf {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a list until the result is dropped.
    pub fn keep(&self, holdings: Holdings) -> Kept<'_> {
        let mut lists = self.lists();
        let key = lists.next;
        lists.next += 1;
        lists.kept.insert(key, holdings);
        Kept { shelf: self, key }
    }

    /// Releases all that is listed.
    ///
    /// # Safety
    /// The thread that kept the lists is gone without having dropped what they are of, as `Holdings::release` asks.
    pub unsafe fn release(&self) {
        let kept = std::mem::take(&mut self.lists().kept);
        for holdings in kept.into_values() {
            // SAFETY: a list is on the shelf only while its machine or alarm exists; the thread that had it is gone.
            unsafe { holdings.release() };
        }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.shelf.lists().kept.remove(&self.key);
    }
}

/// Puts the calling thread under its filter. A thread that also boots may size and seal its snapshot.
pub(crate) fn confine_vm_thread(snapshot: bool) -> mayfly_vmm::Result<()> {
    let filter = Filter {
        page_map: page_map_descriptor()?,
        snapshot,
    };
    confine(filter).map_err(|source| Error::Host {
        attempt: "put a thread that runs machines under its system-call filter",
        source,
    })
}

/// Runs `body` on a thread of its own whose crash is contained, and waits for it. The body confines itself.
pub(crate) fn on_vm_thread<T: Send>(
    name: &str,
    body: impl FnOnce(&Shelf) -> T + Send,
) -> Result<T, BootError> {
    let (mut result, shelf) = (None, Shelf::default());
    let run = || result = Some(body(&shelf));
    // SAFETY: what it borrows is not touched before `bury` below has waited for its end.
    let thread = unsafe { VmThread::spawn_unchecked(name, &Arc::new(Bell::default()), run) };
    let thread = thread.map_err(|source| Error::Host {
        attempt: "start a thread that runs machines",
        source,
    })?;
    thread.wait();
    // Told before the thread goes: its own deadline covers the symbols as well.
    let crash = thread.take_crash().map(|crash| format!("{crash:#}"));
    thread.bury();
    match (crash, result) {
        (None, Some(result)) => Ok(result),
        (crash, _) => {
            // SAFETY: the thread is gone; what it dropped itself is not listed any more.
            unsafe { shelf.release() };
            Err(BootError::Crashed(crash.unwrap_or_default()))
        }
    }
}

/// Runs `body` as requests are run: on a thread of its own, under the filter of the pool's workers, with an alarm of that thread.
pub fn run_confined<T: Send>(name: &str, body: impl FnOnce(&mut Alarm) -> T + Send) -> Result<T, BootError> {
    on_vm_thread(name, |_| {
        let mut alarm = Alarm::new()?;
        confine_vm_thread(false)?;
        Ok(body(&mut alarm))
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayfly_vmm::{Backing, Exit, Host, Protection, Registers, USER_START, Vm, monotonic_ns};

    #[test]
    fn a_program_that_loads_segment_selectors_does_not_cost_the_thread() {
        let host = match Host::open() {
            Ok(host) => Arc::new(host),
            Err(Error::Unavailable(u)) => return eprintln!("SKIPPED: {}; {}", u.reason, u.mend),
            Err(e) => panic!("{e}"),
        };
        // 1: mov $0x2b,%eax; mov %eax,%ds; %es; %fs; %gs; syscall; jmp 1b
        let code = [
            0xb8, 0x2b, 0, 0, 0, 0x8e, 0xd8, 0x8e, 0xc0, 0x8e, 0xe0, 0x8e, 0xe8, 0x0f, 0x05, 0xeb, 0xef,
        ];
        let mut vm = Vm::new(&host, 1 << 20).unwrap();
        vm.space()
            .map(USER_START, 1, Backing::Bytes(&code), Protection::READ_EXECUTE)
            .unwrap();
        vm.set_registers(&Registers {
            rip: USER_START,
            ..Default::default()
        });
        let exits = run_confined("selectors", |alarm| {
            alarm.set(Some(monotonic_ns() + 60_000_000_000)).unwrap();
            [(); 3].map(|()| vm.run(alarm).unwrap())
        });
        assert_eq!(exits.unwrap(), [Exit::Syscall; 3]);
    }
}
