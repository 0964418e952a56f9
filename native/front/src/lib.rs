//! HTTP in front of programs in virtual machines.
//!
//! ```text
//! client ── HTTP/1.1, HTTP/2, TLS; kept alive ──> server ── request: HTTP/1.1, `connection: close` ──> machines ──> a pool's worker
//!        <──────────────── hyper ──────────────── server <── answer: read as a guest's bytes are, bounded ──┘
//! ```
//! The front's own HTTP is what clients meet: framing, keep-alive, limits and times are hyper's. The guest sees one well-formed request on
//! a fresh connection, and what it answers is parsed, bounded and framed anew, as it comes ([`way`]).

pub mod admin;
pub mod answer;
pub mod body;
pub mod descriptors;
pub mod front;
pub mod listen;
pub mod machines;
pub mod outgoing;
pub mod problem;
pub mod raw;
pub mod request;
pub mod server;
pub mod tls;
pub mod tunnel;
pub mod way;
pub mod words;
