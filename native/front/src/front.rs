//! What is served, how, and within which bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::StatusCode;
use rustls::ServerConfig;
use tokio::sync::Semaphore;

use crate::machines::Machines;
use crate::outgoing::Outgoing;
use crate::words::Words;

/// Most requests at a time whose bodies come while their machines wait, of those that may be under way.
pub const UPLOADS_SHARE: usize = 2;

/// Bounds on clients.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// Connections at a time, of all threads together.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body_bytes: u64,
    /// Time for the head of a request, for its body, and for a TLS handshake.
    pub patience: Duration,
}

/// What is served, how.
#[derive(Debug)]
pub struct Front {
    /// Who answers.
    pub machines: Machines,
    /// Bounds on clients.
    pub limits: ClientLimits,
    /// What is counted.
    pub counts: Counts,
    /// Connections of the program's to the outside.
    pub outgoing: Arc<Outgoing>,
    /// Places for requests whose bodies come while their machines wait.
    pub uploads: Arc<Semaphore>,
    /// Whether connections go to the program as they are: no HTTP is spoken here.
    pub raw: bool,
    /// TLS, if any.
    pub tls: Option<Arc<ServerConfig>>,
    /// What the operator hears of the program.
    pub words: Words,
}

/// What the front counts itself.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections of clients that are open.
    pub connections: AtomicUsize,
    /// Answers by the hundreds of their status, from 100 on.
    answers: [AtomicU64; 5],
}

impl Counts {
    /// Answers by the hundreds of their status, from 100 on.
    pub(crate) fn answers(&self) -> impl Iterator<Item = u64> {
        self.answers.iter().map(|count| count.load(Ordering::Relaxed))
    }

    /// Counts an answer.
    pub fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).wrapping_sub(1);
        if let Some(count) = self.answers.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
