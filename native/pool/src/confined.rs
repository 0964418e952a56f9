//! Threads that run machines, and what they hold of the host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mayfly_guard::{Filter, Notifier, VmThread, confine};
use mayfly_vmm::{Alarm, Error, HostResources, page_map_descriptor};

use crate::spec::BootError;

/// The host's descriptors, mappings and timers of one thread's machines, listed where a crash of the thread does not reach.
#[derive(Debug, Default)]
pub(crate) struct ResourceLists {
    lists: Mutex<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    next: u64,
    listed: BTreeMap<u64, HostResources>,
}

/// Keeps a list there. Dropped before what the list is of.
#[derive(Debug)]
pub(crate) struct Listed<'a> {
    resources: &'a ResourceLists,
    key: u64,
}

impl ResourceLists {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a list until the result is dropped.
    pub fn list(&self, host_resources: HostResources) -> Listed<'_> {
        let mut lists = self.lists();
        let key = lists.next;
        lists.next += 1;
        lists.listed.insert(key, host_resources);
        Listed { resources: self, key }
    }

    /// Releases all that is listed.
    ///
    /// # Safety
    /// The thread that made the lists is gone without having dropped what they are of, as `HostResources::release` asks.
    pub unsafe fn release(&self) {
        let listed = std::mem::take(&mut self.lists().listed);
        for host_resources in listed.into_values() {
            // SAFETY: a list is kept only while its machine or alarm exists; the thread that had it is gone.
            unsafe { host_resources.release() };
        }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.resources.lists().listed.remove(&self.key);
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
    body: impl FnOnce(&ResourceLists) -> T + Send,
) -> Result<T, BootError> {
    let (mut result, resources) = (None, ResourceLists::default());
    let run = || result = Some(body(&resources));
    // SAFETY: what it borrows is not touched before `reap` below has waited for its end.
    let thread = unsafe { VmThread::spawn_unchecked(name, &Arc::new(Notifier::default()), run) };
    let thread = thread.map_err(|source| Error::Host {
        attempt: "start a thread that runs machines",
        source,
    })?;
    thread.wait();
    // Told before the thread goes: its own deadline covers the symbols as well.
    let crash = thread.take_crash().map(|crash| format!("{crash:#}"));
    thread.reap();
    match (crash, result) {
        (None, Some(result)) => Ok(result),
        (crash, _) => {
            // SAFETY: the thread is gone; what it dropped itself is not listed any more.
            unsafe { resources.release() };
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
            Err(Error::Unavailable(u)) => return eprintln!("SKIPPED: {}; {}", u.reason, u.hint),
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
