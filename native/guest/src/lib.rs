//! Programs that answer requests in a machine of Mayfly, as `include/mayfly.h` is for C.
//!
//! ```no_run
//! use mayfly_guest::{Guest, Response};
//!
//! let mut guest = Guest::new();
//! while let Some(request) = guest.wait_for_request() {
//!     request.respond(Response::text("hello\n"));
//! }
//! ```
//!
//! The program starts once. Where it first waits for a request its snapshot is taken, and each request meets that snapshot. Frames come on
//! fd 0 and go out on fd 1, so nothing else may be written to standard output; standard error is the log.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod call;
mod json;
mod request;
mod response;
mod stdio;

use alloc::vec::Vec;

use mayfly_wire::{HEAD_BYTES, Head, Kind, Limits};

pub use call::{CallError, Value};
pub use request::Request;
pub use response::Response;
pub use stdio::{Stdio, Streams, random};

use call::Talk;
use request::Parts;
use response::error_header;

/// Bytes that are read at a time; most requests are one read.
const CHUNK: usize = 1 << 16;

/// A program's side of the frames.
#[derive(Debug)]
pub struct Guest<S: Streams = Stdio> {
    streams: S,
    /// What was read, the last frame first.
    input: Vec<u8>,
    /// Bytes of `input` that are the last frame's.
    taken: usize,
    /// What was read and is in no frame yet ends here.
    have: usize,
    hook: Option<fn()>,
    talk: Talk,
}

impl Guest {
    /// A program on fd 0 and fd 1. There is one.
    #[must_use]
    pub fn new() -> Self {
        Self::on(Stdio)
    }
}

impl Default for Guest {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Streams> Guest<S> {
    /// A program on other streams.
    #[must_use]
    pub fn on(streams: S) -> Self {
        Self {
            streams,
            input: Vec::new(),
            taken: 0,
            have: 0,
            hook: None,
            talk: Talk::default(),
        }
    }

    /// What is called once, behind the warm-up and before the snapshot that serves: for what the warm-up's requests left. A request of the
    /// warm-up has the header `x-mayfly-warmup`.
    #[must_use]
    pub fn before_snapshot(mut self, hook: fn()) -> Self {
        self.hook = Some(hook);
        self
    }

    /// Waits for a request; `None`: there will be none, and the program should end.
    ///
    /// # Panics
    /// On bytes that are no frame of this version.
    pub fn wait_for_request(&mut self) -> Option<Request<'_, S>> {
        loop {
            let (kind, header) = self.receive()?;
            let body = HEAD_BYTES + header..self.taken;
            let head = HEAD_BYTES..body.start;
            if kind == Kind::Message {
                continue; // What the host says to a request that is over.
            }
            if self.input[head.clone()].first() == Some(&b'{') {
                self.control(head);
                continue;
            }
            let parts = Parts::find(&self.input, head, body);
            return Some(Request::new(self, parts));
        }
    }

    /// Reads one frame to the start of `input`; gives its kind and the length of its header.
    fn receive(&mut self) -> Option<(Kind, usize)> {
        self.input.copy_within(self.taken..self.have, 0);
        self.have -= self.taken;
        self.taken = 0;
        self.read(HEAD_BYTES)?;
        let head: &[u8; HEAD_BYTES] = self.input.first_chunk().expect("it was read");
        let kind = if head[5] == Kind::Message as u8 {
            Kind::Message
        } else {
            Kind::Request
        };
        let head = Head::decode(head, kind, Limits::default()).expect("the host speaks this version");
        self.read(head.frame_bytes())?;
        self.taken = head.frame_bytes();
        Some((kind, head.header_bytes as usize))
    }

    /// Reads until so many bytes are there.
    fn read(&mut self, wanted: usize) -> Option<()> {
        if self.input.len() < wanted.max(CHUNK) {
            self.input.resize(wanted.max(CHUNK), 0);
        }
        while self.have < wanted {
            match self.streams.read(&mut self.input[self.have..]) {
                0 => return None,
                count => self.have += count,
            }
        }
        Some(())
    }

    /// Does what is asked of the program itself.
    fn control(&mut self, head: core::ops::Range<usize>) {
        let json = &self.input[head];
        let asks = |name: &[u8]| {
            json.strip_prefix(b"{\"control\":\"")
                .is_some_and(|rest| rest.starts_with(name))
        };
        // The program is there already when it is told to load one: it waits for what comes next.
        if asks(b"load\"") {
            return;
        }
        let describes = asks(b"describe\"");
        if asks(b"before-snapshot\"")
            && let Some(hook) = self.hook
        {
            hook();
        }
        let answer: &[u8] = if describes { b"{\"handlers\":[]}" } else { b"{}" };
        self.send(answer, b"");
    }

    /// Sends an answer.
    fn send(&mut self, header: &[u8], body: &[u8]) {
        let head = Head {
            kind: Kind::Response,
            header_bytes: header.len() as u32,
            body_bytes: body.len() as u32,
        };
        let frame = [&head.encode()[..], header, body].concat();
        self.streams.write(&frame);
    }

    fn fail(&mut self, message: &str) {
        self.send(error_header(message).as_bytes(), b"");
    }
}

#[cfg(test)]
mod tests;
