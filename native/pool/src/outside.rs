//! Connections that programs make to the outside: whoever makes them on the host, and the way between them and a machine.
//!
//! ```text
//! guest: connect, write ── kernel ── Outgoing::sync ──> Link ── Outside::dial, Outside::changed ──> a task of the host's
//! guest: read           <─ kernel ── Outgoing::sync <── Link <─ made, give, end, fail ──────────────┘
//!                                                        └──> Bell: lets the machine's request go on, if it is parked
//! ```
//! A machine has its links. They end with its reset; a machine that keeps its state keeps them between requests.

mod bell;
mod link;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use mayfly_linux::errno::Errno;
use mayfly_linux::fs::files::HostEnd;
use mayfly_linux::kernel::Kernel;
use mayfly_linux::net::address::Address;
use mayfly_linux::net::permits::Permits;

pub(crate) use bell::{Bell, Requests};
pub use link::{LINK_BYTES, Link, LinkError, Written};

/// Whoever makes connections for programs. It is called on machines' threads, which wait for it, and may compute, lock and wake other
/// threads there, and nothing else (`mayfly_guard`).
pub trait Outside: Debug + Send + Sync {
    /// Whether a program may connect there. `booted` is false before its snapshot, which holds no connections, but in requests of a
    /// warm-up that may have some.
    fn permit(&self, to: SocketAddr, booted: bool) -> bool;

    /// Makes a connection that was permitted.
    fn dial(&self, to: SocketAddr, link: Arc<Link>);

    /// There is something new of a program on a link.
    fn changed(&self, link: &Link);
}

/// Permission by [`Outside`].
#[derive(Debug)]
pub(crate) struct Permitted {
    pub outside: Arc<dyn Outside>,
    pub booted: bool,
}

impl Permits for Permitted {
    fn permit(&self, to: &Address) -> Result<(), Errno> {
        let to = socket_address(to).ok_or(Errno::EAFNOSUPPORT)?;
        match self.outside.permit(to, self.booted) {
            true => Ok(()),
            false => Err(Errno::EACCES),
        }
    }
}

fn socket_address(address: &Address) -> Option<SocketAddr> {
    match address.unmapped() {
        Address::Unix(_) => None,
        Address::V4(ip, port) => Some((ip, port).into()),
        Address::V6(ip, port) => Some((ip, port).into()),
    }
}

/// The links of a machine, for whoever cleans up when its thread has crashed.
#[derive(Debug)]
pub(crate) struct Links {
    outside: Arc<dyn Outside>,
    all: Mutex<Vec<Weak<Link>>>,
}

impl Links {
    fn add(&self, link: &Arc<Link>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|link| link.strong_count() > 0);
        all.push(Arc::downgrade(link));
    }

    /// Ends all of them.
    pub fn close(&self) {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for link in all.iter().filter_map(Weak::upgrade) {
            if link.close() {
                self.outside.changed(&link);
            }
        }
    }
}

/// The connections to the outside of one machine.
#[derive(Debug)]
pub(crate) struct Outgoing {
    permitted: Arc<Permitted>,
    bell: Arc<Bell>,
    open: BTreeMap<HostEnd, Arc<Link>>,
    links: Arc<Links>,
}

impl Outgoing {
    pub fn new(outside: &Arc<dyn Outside>, requests: Weak<dyn Requests>) -> Outgoing {
        Outgoing {
            permitted: Arc::new(Permitted {
                outside: outside.clone(),
                booted: true,
            }),
            bell: Arc::new(Bell::new(requests)),
            open: BTreeMap::new(),
            links: Arc::new(Links {
                outside: outside.clone(),
                all: Mutex::default(),
            }),
        }
    }

    pub fn links(&self) -> &Arc<Links> {
        &self.links
    }

    pub fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// Lets the guest connect from now on.
    pub fn permit(&self, kernel: &mut Kernel) {
        kernel.set_permits(Some(self.permitted.clone()));
    }

    /// Whether anything may come of the links: then a guest that waits does not wait in vain.
    pub fn is_live(&self) -> bool {
        self.open.values().any(|link| link.is_live())
    }

    /// Moves what there is both ways, and tells the host of what the guest did. True when there is something new for the guest.
    pub fn sync(&mut self, kernel: &mut Kernel) -> bool {
        for (end, to) in kernel.take_dialed() {
            let Some(to) = socket_address(&to) else {
                kernel.host_fail(end, Errno::EAFNOSUPPORT);
                continue;
            };
            let link = Link::new(self.bell.clone());
            self.permitted.outside.dial(to, link.clone());
            self.links.add(&link);
            self.open.insert(end, link);
        }
        // Before the look: what comes behind it rings again.
        self.bell.heard();
        let outside = &self.permitted.outside;
        let mut is_new = false;
        self.open.retain(|&end, link| {
            let passed = link.pass(kernel, end);
            if passed.tells {
                outside.changed(link);
            }
            is_new |= passed.is_new;
            !passed.is_over
        });
        is_new
    }

    /// Ends all of them for both sides: the guest reads their ends, and hears that those cannot be made which are not.
    pub fn hang_up(&mut self, kernel: &mut Kernel) {
        for (end, _) in kernel.take_dialed() {
            kernel.host_fail(end, Errno::ECONNREFUSED);
        }
        for (end, link) in &self.open {
            match link.is_made() {
                true => kernel.host_close(*end),
                false => kernel.host_fail(*end, Errno::ECONNREFUSED),
            }
        }
        self.close();
    }

    /// Ends all of them: their machine has no end of them any more, or will have none.
    pub fn close(&mut self) {
        for link in std::mem::take(&mut self.open).into_values() {
            if link.close() {
                self.permitted.outside.changed(&link);
            }
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.close();
    }
}
