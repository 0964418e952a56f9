//! An answer.

use alloc::format;
use alloc::string::String;

use crate::json::push_text;

/// An answer: status, headers, body.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    status: u16,
    /// The headers, as JSON writes pairs.
    pairs: String,
    body: &'a [u8],
}

impl<'a> Response<'a> {
    /// One without headers or a body. A status outside of 200 to 599 is refused by the host, with 502.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self {
            status,
            pairs: String::new(),
            body: b"",
        }
    }

    /// 200 with a text.
    #[must_use]
    pub fn text(body: &'a str) -> Self {
        Self::new(200)
            .header("content-type", "text/plain; charset=utf-8")
            .body(body.as_bytes())
    }

    /// 200 with JSON that is written already.
    #[must_use]
    pub fn json(body: &'a str) -> Self {
        Self::new(200)
            .header("content-type", "application/json")
            .body(body.as_bytes())
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.pairs
            .push_str(if self.pairs.is_empty() { "[" } else { ",[" });
        push_text(&mut self.pairs, name);
        self.pairs.push(',');
        push_text(&mut self.pairs, value);
        self.pairs.push(']');
        self
    }

    /// With this body.
    #[must_use]
    pub fn body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }

    /// The header of its frame.
    pub(crate) fn header_json(&self) -> String {
        format!("{{\"status\":{},\"headers\":[{}]}}", self.status, self.pairs)
    }

    pub(crate) fn body_bytes(&self) -> &[u8] {
        self.body
    }
}

/// The header of a frame that says that the program failed.
pub fn error_header(message: &str) -> String {
    let mut json = String::from("{\"error\":{\"name\":\"Error\",\"message\":");
    push_text(&mut json, message);
    json.push_str("}}");
    json
}
