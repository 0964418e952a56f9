//! What a request, or a boot, left beside its outcome and its times.

use mayfly_linux::kernel::Kernel;
use mayfly_linux::kernel::denials::{Denial, Reason};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// What it wrote to fd 2, up to the limit.
    pub log: Vec<u8>,
    /// Bytes of it that were over the limit.
    pub log_dropped: u64,
    /// System calls that it was refused.
    pub denials: Vec<Denial>,
}

impl Traces {
    /// Takes them from the kernel, which forgets them.
    pub(crate) fn take(kernel: &mut Kernel) -> Traces {
        Traces {
            log: kernel.take_log(),
            log_dropped: kernel.take_log_dropped(),
            denials: kernel.take_denials(),
        }
    }

    /// Whether it asked for another process.
    #[must_use]
    pub fn wanted_processes(&self) -> bool {
        self.denials.iter().any(|denial| denial.reason == Reason::Process)
    }
}
