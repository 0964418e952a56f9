//! What the leak check and the tests need: a look at everything in an instance and a program, and a reset that leaves a step out. No
//! request uses it.

use std::fmt::Debug;

#[cfg(feature = "mutations")]
use mayfly_linux::state::step::Step;
#[cfg(feature = "mutations")]
use mayfly_vmm::ResetStep;
use mayfly_vmm::Vm;

use crate::program::Program;
use crate::program::instance::Instance;

#[cfg(feature = "mutations")]
/// A step of the reset of machine and kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// One of the machine's.
    Machine(ResetStep),
    /// One of the kernel's.
    Kernel(Step),
}

#[cfg(feature = "mutations")]
impl LeftOut {
    /// All steps.
    pub fn all() -> impl Iterator<Item = LeftOut> {
        let machine = ResetStep::ALL.into_iter().map(LeftOut::Machine);
        machine.chain(Step::ALL.into_iter().map(LeftOut::Kernel))
    }
}

/// The kernel's tables by name, each to be printed.
pub type Tables<'a> = Vec<(&'static str, Box<dyn Debug + 'a>)>;

impl Instance {
    /// A reset without one of its steps. The instance is to be dropped afterwards.
    #[cfg(feature = "mutations")]
    pub fn reset_without(&mut self, left_out: LeftOut) -> mayfly_vmm::Result<()> {
        let (machine, kernel) = match left_out {
            LeftOut::Machine(step) => (Some(step), None),
            LeftOut::Kernel(step) => (None, Some(step)),
        };
        let running = &mut self.running;
        running.kernel.restore_without(&self.program.kernel, kernel);
        running.guest.vm().reset_without(machine).map(drop)
    }

    /// The machine.
    #[doc(hidden)]
    pub fn machine(&mut self) -> &mut Vm {
        self.running.guest.vm()
    }

    /// The kernel's tables as they are now.
    #[doc(hidden)]
    pub fn tables(&self) -> Tables<'_> {
        self.running.kernel.tables()
    }

    /// The kernel's tables in the snapshot.
    #[doc(hidden)]
    pub fn snapshot_tables(&self) -> Tables<'_> {
        self.program.kernel.tables()
    }
}

impl Program {
    /// Every page of the snapshot's own file, base not included, that is not all zeros, by its place there. To be asked on a thread
    /// without a filter.
    #[doc(hidden)]
    pub fn visit_own_pages(&self, visit: &mut dyn FnMut(u64, &[u8])) -> mayfly_vmm::Result<()> {
        self.machine.visit_own_pages(visit)
    }
}
