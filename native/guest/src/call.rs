//! Calls of the host while a request is under way: `src/reach/calls/protocol.ts` has the words.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::{fmt, str};

use mayfly_wire::{EXCHANGE_BYTES, HEAD_BYTES, Head, Kind, Limits, MESSAGE_LIMITS};

use crate::json::push_text;
use crate::stdio::Streams;

const EXCHANGE: usize = EXCHANGE_BYTES as usize;

/// What a function of the host gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// JSON; `null` for what has no JSON form.
    Json(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The message of what the function threw, or of the host's refusal.
    Failed(String),
    /// The host hears nothing while a program is warmed up.
    Unheard,
    /// Arguments of more than 1 MiB.
    TooLarge,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) => f.write_str(message),
            Self::Unheard => f.write_str("the host hears nothing while a program is warmed up"),
            Self::TooLarge => f.write_str("the arguments are over 1 MiB"),
        }
    }
}

impl core::error::Error for CallError {}

/// What is said to the host and heard of it.
#[derive(Debug, Default)]
pub struct Talk {
    buffer: Vec<u8>,
    /// Of the last call.
    exchange: u32,
}

impl Talk {
    pub fn call(
        &mut self,
        streams: &mut impl Streams,
        function: &str,
        arguments: &str,
        bytes: Option<&[u8]>,
    ) -> Result<Value<'_>, CallError> {
        let words = words(function, arguments.len(), bytes.is_some());
        let body = arguments.len() + bytes.map_or(0, <[u8]>::len);
        if words.len() + EXCHANGE > MESSAGE_LIMITS.header as usize || body > MESSAGE_LIMITS.body as usize {
            return Err(CallError::TooLarge);
        }
        // The program's own numbers are odd.
        self.exchange = self.exchange.wrapping_add(1) | 1;
        let message = Head {
            kind: Kind::Message,
            header_bytes: (EXCHANGE + words.len()) as u32,
            body_bytes: body as u32,
        };
        let outbox = Head {
            kind: Kind::Outbox,
            header_bytes: 0,
            body_bytes: message.frame_bytes() as u32,
        };
        self.buffer.clear();
        self.buffer.extend_from_slice(&outbox.encode());
        self.buffer.extend_from_slice(&message.encode());
        self.buffer.extend_from_slice(&self.exchange.to_le_bytes());
        self.buffer.extend_from_slice(words.as_bytes());
        self.buffer.extend_from_slice(arguments.as_bytes());
        self.buffer.extend_from_slice(bytes.unwrap_or(b""));
        let said = self.buffer.len();
        self.buffer.resize(said.max(4096), 0);
        let mut have = streams.ask(&mut self.buffer, said);
        loop {
            let message = self.hear(streams, &mut have);
            let exchange =
                u32::from_le_bytes(self.part(HEAD_BYTES, EXCHANGE).try_into().expect("four bytes"));
            let words = HEAD_BYTES + EXCHANGE..HEAD_BYTES + message.header_bytes as usize;
            let body = words.end..message.frame_bytes();
            if exchange == 0 {
                return Err(CallError::Unheard);
            }
            if exchange == self.exchange {
                let body = &self.buffer[body];
                let text = || str::from_utf8(body).unwrap_or("");
                return match &self.buffer[words] {
                    br#"["value"]"# => Ok(Value::Json(text())),
                    br#"["bytes"]"# => Ok(Value::Bytes(body)),
                    _ => Err(CallError::Failed(text().to_owned())),
                };
            }
            self.buffer.copy_within(body.end..have, 0);
            have -= body.end;
        }
    }

    /// Reads until a message is there, at the front of the buffer.
    fn hear(&mut self, streams: &mut impl Streams, have: &mut usize) -> Head {
        let mut wanted = HEAD_BYTES + EXCHANGE;
        loop {
            if *have >= HEAD_BYTES + EXCHANGE {
                let head = self.buffer.first_chunk().expect("it was read");
                let head = Head::decode(head, Kind::Message, Limits::default())
                    .expect("the host speaks this version");
                if *have >= head.frame_bytes() {
                    return head;
                }
                wanted = head.frame_bytes();
            }
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
            let count = streams.read(&mut self.buffer[*have..]);
            assert!(count > 0, "the host answers a call");
            *have += count;
        }
    }

    fn part(&self, at: usize, length: usize) -> &[u8] {
        &self.buffer[at..at + length]
    }
}

/// Head of the message.
fn words(function: &str, json: usize, has_bytes: bool) -> String {
    let mut words = String::from("[\"call\",");
    let (name, member) = match function.split_once('.') {
        Some((name, member)) => (name, Some(member)),
        None => (function, None),
    };
    push_text(&mut words, name);
    words.push(',');
    match member {
        Some(member) => push_text(&mut words, member),
        None => words.push_str("null"),
    }
    words.push_str(&format!(",{json}{}]", if has_bytes { ",\"bytes\"" } else { "" }));
    words
}
