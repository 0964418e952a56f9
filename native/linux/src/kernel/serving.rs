//! The host as a client: connections that it makes to what the guest listens on.

use std::sync::Arc;

use super::Kernel;
use crate::action::Action;
use crate::errno::Errno;
use crate::fs::files::HostEnd;
use crate::machine::Machine;
use crate::net::address::Address;
use crate::net::permits::Permits;

impl Kernel {
    /// From now on a guest that waits for connections waits for the host: [`Action::Idle`].
    pub fn serve_host(&mut self) {
        self.files.serve_host();
    }

    /// What the guest listens on, by age.
    #[must_use]
    pub fn listening(&self) -> Vec<Address> {
        self.files.listening()
    }

    /// Makes a connection to what listens by this name; [`Kernel::run`] or [`Kernel::begin_request`] lets the guest accept it.
    ///
    /// # Errors
    /// ECONNREFUSED when nothing listens there or too many wait, EMFILE when the host has too many, ENFILE and ENOMEM over the guest's
    /// limits.
    pub fn host_connect(&mut self, to: &Address) -> Result<HostEnd, Errno> {
        self.files.host_connect(to)
    }

    /// Gives the guest bytes to read on a connection; how many it had room for.
    pub fn host_send(&mut self, end: HostEnd, bytes: &[u8]) -> usize {
        self.files.host_send(end, bytes)
    }

    /// Takes what the guest wrote to a connection.
    pub fn host_receive(&mut self, end: HostEnd) -> Vec<u8> {
        self.files.host_receive(end, usize::MAX)
    }

    /// Takes up to so many bytes that the guest wrote to a connection.
    pub fn host_receive_some(&mut self, end: HostEnd, most: usize) -> Vec<u8> {
        self.files.host_receive(end, most)
    }

    /// Whether bytes that the guest wrote to a connection wait for the host.
    #[must_use]
    pub fn host_has_bytes(&self, end: HostEnd) -> bool {
        self.files.host_has_bytes(end)
    }

    /// Whether the guest has closed its end of a connection.
    #[must_use]
    pub fn host_is_left(&self, end: HostEnd) -> bool {
        self.files.host_is_left(end)
    }

    /// From now on, whoever lets the guest connect to the outside, if anybody: whoever does takes what it dials.
    pub fn set_permits(&mut self, permits: Option<Arc<dyn Permits>>) {
        self.permits = permits;
    }

    /// The connections to the outside that the guest began since they were taken, and where to: the host is to make them.
    pub fn take_dialed(&mut self) -> Vec<(HostEnd, Address)> {
        self.files.take_dialed()
    }

    /// The host has made a connection that the guest began.
    pub fn host_establish(&mut self, end: HostEnd) {
        self.files.host_establish(end);
    }

    /// A connection that the guest began cannot be made, or has broken: the guest is told, and the host's end is closed.
    pub fn host_fail(&mut self, end: HostEnd, why: Errno) {
        self.files.host_fail(end, why);
    }

    /// Whether the guest will write no more to a connection.
    #[must_use]
    pub fn host_ended(&self, end: HostEnd) -> bool {
        self.files.host_ended(end)
    }

    /// The host's ends of all its connections.
    #[must_use]
    pub fn host_ends(&self) -> Vec<HostEnd> {
        self.files.host_ends()
    }

    /// Tells the guest that nothing more comes on a connection.
    pub fn host_finish(&mut self, end: HostEnd) {
        self.files.host_finish(end);
    }

    /// Closes the host's end of a connection.
    pub fn host_close(&mut self, end: HostEnd) {
        self.files.host_close(end);
    }

    /// Tells whether the guest has all that it needs to go on. While it has, its waits cost no real time, if they do not in requests.
    pub fn set_in_flight(&mut self, in_flight: bool) {
        self.in_flight = in_flight;
    }

    /// From now on waits of the request take real time: somebody follows its answer as it comes, or sends more.
    pub fn pace(&mut self) {
        (self.in_flight, self.said) = (true, true);
    }

    /// Moves the bytes on fd 1 to the log: what a server prints is told with its request.
    pub fn log_output(&mut self) {
        let bytes = self.files.stdio.take_output();
        self.files.stdio.write_log(&bytes);
    }

    /// Lets the guest's clock pass a wait that [`Action::Idle`] told, in no real time, and lets a thread run.
    pub fn pass<M: Machine>(&mut self, m: &mut M, wait: u64) -> Action {
        self.clock.jump(wait);
        self.write_clock_page(m);
        self.schedule(m)
    }
}
