//! A request: slices of its frame.

use alloc::borrow::Cow;
use core::ops::Range;
use core::str;

use crate::Guest;
use crate::call::{CallError, Value};
use crate::json::Texts;
use crate::response::Response;
use crate::stdio::{Stdio, Streams};

/// Where the parts of a request lie in the input.
#[derive(Clone, Debug)]
pub struct Parts {
    method: Range<usize>,
    url: Range<usize>,
    path: Range<usize>,
    ip: Range<usize>,
    extras: Range<usize>,
    headers: Range<usize>,
    body: Range<usize>,
}

impl Parts {
    /// Takes a header's lines apart; see `src/isolate/wire/request_line.ts`.
    pub fn find(input: &[u8], head: Range<usize>, body: Range<usize>) -> Self {
        let mut at = head.start;
        let mut field = |stop: u8| {
            let length = input[at..head.end]
                .iter()
                .position(|&byte| byte == stop)
                .expect("the host writes whole headers");
            let found = at..at + length;
            at += length + 1;
            found
        };
        field(b'\t'); // The handler: there is one.
        let (method, url, path, ip) = (field(b'\t'), field(b'\t'), field(b'\t'), field(b'\t'));
        field(b'\t'); // The peer.
        let (extras, headers) = (field(b'\n'), field(b'\n'));
        Self {
            method,
            url,
            path,
            ip,
            extras,
            headers,
            body,
        }
    }
}

/// A request. One that is dropped without an answer gets a 500.
#[derive(Debug)]
pub struct Request<'a, S: Streams = Stdio> {
    guest: &'a mut Guest<S>,
    parts: Parts,
    answered: bool,
}

impl<'a, S: Streams> Request<'a, S> {
    pub(crate) fn new(guest: &'a mut Guest<S>, parts: Parts) -> Self {
        Self {
            guest,
            parts,
            answered: false,
        }
    }

    fn text(&self, range: &Range<usize>) -> &str {
        str::from_utf8(&self.guest.input[range.clone()]).unwrap_or("")
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.text(&self.parts.method)
    }

    /// The URL, with scheme and host.
    #[must_use]
    pub fn url(&self) -> &str {
        self.text(&self.parts.url)
    }

    /// The path: percent-encoded, without dot segments.
    #[must_use]
    pub fn path(&self) -> &str {
        self.text(&self.parts.path)
    }

    /// The client's address; '' where it is not known.
    #[must_use]
    pub fn ip(&self) -> &str {
        self.text(&self.parts.ip)
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.guest.input[self.parts.body.clone()]
    }

    /// All headers, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        pairs(self.text(&self.parts.headers))
    }

    /// A header by its name in lower case; the first one of that name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.headers()
            .find_map(|(found, value)| (found == name).then_some(value))
    }

    /// A parameter of the route, decoded.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<Cow<'_, str>> {
        let extras = self.text(&self.parts.extras).strip_prefix('[')?;
        pairs(extras).find_map(|(found, value)| (found == name).then_some(value))
    }

    /// Calls a function of the host, as `NAME` or `NAME.member`, and waits for what it gives; the machine is parked meanwhile. `arguments`
    /// are a JSON array, and `bytes` the last argument behind them.
    ///
    /// # Errors
    /// What the function threw, why the host refused the call, or that the program is warmed up.
    ///
    /// # Panics
    /// On bytes that are no message of this version, and at the end of the input.
    pub fn call(
        &mut self,
        function: &str,
        arguments: &str,
        bytes: Option<&[u8]>,
    ) -> Result<Value<'_>, CallError> {
        let Guest { streams, talk, .. } = &mut *self.guest;
        talk.call(streams, function, arguments, bytes)
    }

    /// Answers.
    pub fn respond(mut self, response: Response<'_>) {
        self.answered = true;
        let header = response.header_json();
        self.guest.send(header.as_bytes(), response.body_bytes());
    }

    /// Answers with the host's error page of 500. The client does not see the message; the host's log does.
    pub fn fail(mut self, message: &str) {
        self.answered = true;
        self.guest.fail(message);
    }
}

impl<S: Streams> Drop for Request<'_, S> {
    fn drop(&mut self) {
        if !self.answered {
            self.guest.fail("the program left a request without an answer");
        }
    }
}

fn pairs(json: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let mut texts = Texts::of(json);
    core::iter::from_fn(move || Some((texts.next()?, texts.next()?)))
}
