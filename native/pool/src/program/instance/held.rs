//! What an instance holds of the host's memory, on its thread and beside it.

use super::Instance;

impl Instance {
    /// Bytes that it holds for a request that is to be parked: pages of its own, and what the kernel has beyond the program's.
    pub(crate) fn held(&mut self) -> mayfly_vmm::Result<u64> {
        let kernel = self.running.kernel.held();
        let pages = self.running.guest.vm().private_bytes()?;
        Ok(pages.saturating_add(kernel.saturating_sub(self.kernel_held)))
    }

    /// A request gives way: what runs on its thread meanwhile is another's.
    pub(crate) fn leave_thread(&mut self) {
        self.running.guest.vm().leave_thread();
    }
}
