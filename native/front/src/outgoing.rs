//! Connections of programs to the outside (`--allow-connect`): who may be reached, and whoever makes them.
//!
//! ```text
//! machine's thread: permit ── dial, changed ── orders ──> thread "mayfly-outgoing" ──> a task for each connection (carry)
//! ```
//! A machine's thread may wake another by a futex alone, so orders go through a thread that waits for them by one.

pub mod allowed;
mod carry;
mod dialer;
mod names;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mayfly_pool::{Link, LinkError, Mount, Outside};

use crate::outgoing::allowed::{Allowed, Host};
use crate::outgoing::carry::Target;
use crate::outgoing::dialer::Order;
use crate::outgoing::names::Names;

/// Most addresses that are told to have been refused.
const TOLD_MAX: usize = 32;

/// Bounds on connections to the outside.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// At a time, of all machines together.
    pub connections: usize,
    /// Time to make one, a name's addresses included.
    pub connect: Duration,
    /// Time in which not a byte moves.
    pub idle: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 1024,
            // Less than a request has by default: a program hears of it in time.
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(300),
        }
    }
}

/// What is counted.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that are open, or about to be.
    pub open: AtomicUsize,
    /// Connections that were made.
    pub made: AtomicU64,
    /// Those that could not be made: nobody answered, or there were too many.
    pub failed: AtomicU64,
    /// Those that were not allowed, or asked for before the snapshot.
    pub refused: AtomicU64,
    /// Bytes to the outside.
    pub sent: AtomicU64,
    /// Bytes from there.
    pub received: AtomicU64,
}

/// What programs may reach, and whoever makes the connections.
#[derive(Debug)]
pub struct Outgoing {
    allowed: Vec<Allowed>,
    names: Names,
    bounds: Bounds,
    orders: Option<Sender<Order>>,
    counts: Arc<Counts>,
    /// Addresses that were told to have been refused, before the snapshot or behind it.
    told: Mutex<BTreeSet<(bool, SocketAddr)>>,
}

impl Outgoing {
    /// Asks the host for the addresses of the names among what is allowed. Where anything is, threads are started that make connections.
    ///
    /// # Errors
    /// The host does not know a name, or no thread could be started.
    pub fn start(allowed: Vec<Allowed>, bounds: Bounds) -> io::Result<Arc<Self>> {
        let names = Names::resolve(&allowed)?;
        let counts = Arc::new(Counts::default());
        let orders = match allowed.is_empty() {
            true => None,
            false => Some(dialer::start(bounds, &counts)?),
        };
        Ok(Arc::new(Self {
            allowed,
            names,
            bounds,
            orders,
            counts,
            told: Mutex::default(),
        }))
    }

    /// What is counted.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What was allowed.
    #[must_use]
    pub fn allowed(&self) -> &[Allowed] {
        &self.allowed
    }

    /// The files by which a program finds the addresses of the allowed names; none where nothing is allowed.
    #[must_use]
    pub fn files(&self) -> Vec<Mount> {
        match self.allowed.is_empty() {
            true => Vec::new(),
            false => self.names.files(),
        }
    }

    /// What is to be noted with a snapshot of a program that has these files.
    #[must_use]
    pub fn notes(&self) -> String {
        self.names.notes()
    }

    /// Takes in what was noted with a snapshot: the program knows the names' addresses of that time. They are names' that are allowed now,
    /// and no connection goes there unless the names still have them.
    pub fn remember(&self, notes: &str) {
        self.names.remember(notes);
    }

    /// What an address is, of all that is allowed.
    fn target(&self, to: SocketAddr) -> Option<Target> {
        let rules = self.allowed.iter().filter(|rule| rule.ports.contains(&to.port()));
        let found = rules.map(|rule| match &rule.host {
            Host::Address(ip) => (*ip == to.ip()).then_some(Target::Address(to)),
            Host::Name(name) => {
                let has = self.names.has(name, to.ip());
                has.then(|| Target::Name(name.clone(), to))
            }
        });
        found.flatten().next()
    }

    /// Tells once of each address that it is refused, and what would allow it.
    fn tell(&self, to: SocketAddr, booted: bool, allowed: bool) {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= TOLD_MAX || !told.insert((booted, to)) {
            return;
        }
        let last = told.len() == TOLD_MAX;
        drop(told);
        match allowed {
            false => eprintln!(
                "mayfly: the program is refused a connection to {to}, which --allow-connect {to} would allow"
            ),
            true => eprintln!(
                "mayfly: the program is refused a connection to {to} before its snapshot, which can hold none; requests may make it, those of the warm-up with --warmup-connect"
            ),
        }
        if last {
            eprintln!("mayfly: further connections that are refused are not told, but counted");
        }
    }
}

impl Outside for Outgoing {
    fn permit(&self, to: SocketAddr, booted: bool) -> bool {
        let allowed = self.target(to).is_some();
        if !allowed || !booted {
            self.tell(to, booted, allowed);
        }
        allowed && booted
    }

    fn dial(&self, to: SocketAddr, link: Arc<Link>) {
        let (Some(target), Some(orders)) = (self.target(to), &self.orders) else {
            return link.fail(LinkError::NetworkUnreachable);
        };
        let place = Place::take(&self.counts, self.bounds.connections);
        let Some(place) = place else {
            self.counts.failed.fetch_add(1, Ordering::Relaxed);
            return link.fail(LinkError::TooMany);
        };
        // The thread that hears it lives as long as this.
        drop(orders.send(Order::Dial(target, link, place)));
    }

    fn changed(&self, link: &Link) {
        if let Some(orders) = &self.orders {
            drop(orders.send(Order::Look(link.number())));
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        if let Some(orders) = &self.orders {
            drop(orders.send(Order::End));
        }
    }
}

/// One of the connections that there may be at a time.
#[derive(Debug)]
struct Place(Arc<Counts>);

impl Place {
    /// One more, if there may be.
    fn take(counts: &Arc<Counts>, most: usize) -> Option<Self> {
        // Without one more it is given back here.
        let place = Self(counts.clone());
        (counts.open.fetch_add(1, Ordering::AcqRel) < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}
