//! What a machine holds of the host, in plain numbers: for whoever has to release it from outside.

use std::os::fd::{AsRawFd, RawFd};

use crate::alarm::Alarm;
use crate::vm::Vm;

/// Descriptors, host mappings and timers of a machine or an alarm. A list: it owns nothing.
///
/// A thread that crashed in the middle of a change leaves values whose destructors cannot be trusted. What the host kernel gave
/// them can be returned all the same. Memory of the allocator, and references to a snapshot, stay lost.
#[derive(Debug, Default)]
pub struct HostResources {
    descriptors: Vec<RawFd>,
    mappings: Vec<(usize, usize)>,
    timers: Vec<usize>,
}

impl HostResources {
    /// Of a machine. Valid until the next [`Vm::attach`], and until the machine is dropped or snapshotted.
    pub fn of_machine(vm: &mut Vm) -> HostResources {
        let (vcpu, run, run_length) = vm.vcpu.host_side(&vm.fd);
        let memory = vm.space.memory();
        let mappings = memory.windows().iter().map(|w| &w.mapping);
        let mappings = mappings.chain([memory.private()]);
        let mappings = mappings.map(|m| (m.base() as usize, m.length()));
        HostResources {
            descriptors: [vm.fd.as_raw_fd(), vcpu]
                .into_iter()
                .chain(vm.boot_file())
                .collect(),
            mappings: mappings.chain([(run, run_length)]).collect(),
            timers: Vec::new(),
        }
    }

    /// Of an alarm. Valid until it is dropped.
    pub fn of_alarm(alarm: &Alarm) -> HostResources {
        HostResources {
            timers: vec![alarm.timer() as usize],
            ..HostResources::default()
        }
    }

    /// Closes, unmaps and deletes all of it.
    ///
    /// # Safety
    /// The list is still valid (see its makers), and no code will ever use, or drop, the machine or alarm that it is of: the
    /// thread that had it is gone.
    pub unsafe fn release(self) {
        // The descriptors first: KVM may use the memory as long as its own are open.
        for descriptor in self.descriptors {
            // SAFETY: the caller's promise: the machine's own, still open, and used by nobody.
            unsafe { libc::close(descriptor) };
        }
        for (base, length) in self.mappings {
            // SAFETY: as above: the machine's own, still mapped.
            unsafe { libc::munmap(base as *mut libc::c_void, length) };
        }
        for timer in self.timers {
            // SAFETY: as above: the alarm's own, not yet deleted.
            unsafe { libc::timer_delete(timer as libc::timer_t) };
        }
    }
}
