//! A parked request that leaves its machine to another one, and goes on in a third.

use std::sync::Arc;

use mayfly_linux::kernel::Kernel;

use super::{Course, Instance};
use crate::channel::Channel;

/// A request without a machine.
#[derive(Debug)]
pub(crate) struct AwayRequest {
    machine: mayfly_vmm::Away,
    kernel: Kernel,
    channel: Option<Arc<Channel>>,
    heard: u64,
    /// Times that it left ring 3 so far.
    exits: u64,
}

impl Instance {
    /// Takes a parked request out. The instance is to be made clean ([`Instance::clean_emptied`]). `None`: it has to stay.
    ///
    /// # Errors
    /// The request is still here.
    pub(crate) fn take_out(
        &mut self,
        course: &Course,
        spare: Option<Kernel>,
    ) -> mayfly_vmm::Result<Option<AwayRequest>> {
        let running = &mut self.running;
        if self.program.service.is_some() || self.exchange.is_some() || running.outgoing.is_some() {
            return Ok(None);
        }
        let Some(machine) = running.guest.vm().take_out()? else {
            return Ok(None);
        };
        let clean = spare.unwrap_or_else(|| self.program.fresh_kernel());
        Ok(Some(AwayRequest {
            machine,
            kernel: std::mem::replace(&mut running.kernel, clean),
            channel: running.channel.take(),
            heard: std::mem::take(&mut running.heard),
            exits: running.exits - course.exits,
        }))
    }

    /// Readies a machine whose request was taken out.
    pub(crate) fn clean_emptied(&mut self, check: bool) -> mayfly_vmm::Result<()> {
        self.running.guest.vm().reset()?;
        if check { self.check() } else { Ok(()) }
    }

    /// Goes on with a request that was taken out: this one is clean, and of the same program. Gives its own kernel, which is clean as well.
    ///
    /// # Errors
    /// Machine and request are lost.
    pub(crate) fn put_in(&mut self, away: AwayRequest, course: &mut Course) -> mayfly_vmm::Result<Kernel> {
        let AwayRequest {
            machine,
            kernel,
            channel,
            heard,
            exits,
        } = away;
        let running = &mut self.running;
        running.guest.vm().put_in(&machine)?;
        // As if they had been here.
        course.exits = running.exits;
        running.exits += exits;
        (running.channel, running.heard, running.hears) = (channel, heard, true);
        Ok(std::mem::replace(&mut running.kernel, kernel))
    }
}
