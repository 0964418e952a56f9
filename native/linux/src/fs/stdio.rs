//! The guest's three standard streams: bytes that the host pushed in, bytes that wait for the host.

use serde::{Deserialize, Serialize};

use mayfly_wire::{FrameError, HEAD_BYTES, Head, Kind, Limits, MESSAGE_LIMITS, Progress, progress};

/// Most bytes of messages that wait for the host, one that is not whole included: the host takes them after each call.
const SAID_MAX: usize = 4 << 20;
/// Where a frame's kind lies in its head.
const KIND: usize = 5;

/// How the bytes on fd 1 are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputMode {
    /// As they come: a program that a person started.
    Stream,
    /// As one frame for each request, within these limits.
    Framed(#[serde(with = "FrameLimits")] Limits),
}

/// The fields of [`Limits`], whose crate knows nothing of files.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Limits")]
struct FrameLimits {
    header: u32,
    body: u32,
}

/// Bounds on the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StdioLimits {
    /// Most bytes on fd 1 that may wait for the host.
    pub output: usize,
    /// Most bytes on fd 2 that are kept; the rest is counted and dropped.
    pub log: usize,
}

/// What became of bytes written to fd 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// They wait; more must come before the host cares.
    Waiting,
    /// The host should fetch them now.
    Ready,
    /// Messages wait, and no answer: the host should fetch them now, and the program goes on.
    Said,
    /// They are not a frame.
    Broken(FrameError),
    /// More than the limit.
    TooMuch,
}

/// The standard streams' state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stdio {
    mode: OutputMode,
    limits: StdioLimits,
    input: Vec<u8>,
    /// Bytes of `input` that were read.
    consumed: usize,
    /// No more input will come: a read at its end gives 0.
    pub ended: bool,
    output: Vec<u8>,
    /// Whether messages are taken on fd 1, beside the answer.
    pub messages: bool,
    /// Whole messages that wait for the host.
    said: Vec<u8>,
    log: Vec<u8>,
    /// Bytes on fd 2 that were not kept.
    pub log_dropped: u64,
}

impl StdioLimits {
    /// Those of a guest.
    #[must_use]
    pub fn of(limits: &crate::limits::Limits) -> Self {
        Self {
            output: limits.output_bytes,
            log: limits.log_bytes,
        }
    }
}

impl Stdio {
    /// Empty streams.
    #[must_use]
    pub fn new(mode: OutputMode, limits: StdioLimits) -> Self {
        Self {
            mode,
            limits,
            input: Vec::new(),
            consumed: 0,
            ended: false,
            output: Vec::new(),
            messages: false,
            said: Vec::new(),
            log: Vec::new(),
            log_dropped: 0,
        }
    }

    /// How fd 1 is judged.
    #[must_use]
    pub fn mode(&self) -> OutputMode {
        self.mode
    }

    /// Sets other bounds, and another way to judge fd 1.
    pub fn set_limits(&mut self, mode: OutputMode, limits: StdioLimits) {
        (self.mode, self.limits) = (mode, limits);
    }

    /// Adds bytes for the guest to read on fd 0.
    pub fn push_input(&mut self, mut bytes: Vec<u8>) {
        if self.unread() == 0 {
            self.input = bytes;
        } else {
            self.input.drain(..self.consumed);
            self.input.append(&mut bytes);
        }
        self.consumed = 0;
    }

    /// Bytes on fd 0 that wait for the guest.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.input.len() - self.consumed
    }

    /// The next bytes on fd 0, at most `limit`.
    #[must_use]
    pub fn peek(&self, limit: usize) -> &[u8] {
        let rest = &self.input[self.consumed..];
        &rest[..rest.len().min(limit)]
    }

    /// Takes bytes that [`Stdio::peek`] gave.
    pub fn consume(&mut self, count: usize) {
        self.consumed = (self.consumed + count).min(self.input.len());
        if self.unread() == 0 {
            (self.input, self.consumed) = (Vec::new(), 0);
        }
    }

    /// Drops the bytes on fd 0.
    pub fn drop_input(&mut self) {
        (self.input, self.consumed) = (Vec::new(), 0);
    }

    /// Takes what the guest wrote to fd 1.
    pub fn write(&mut self, bytes: &[u8]) -> Written {
        // An answer's first bytes need not be looked through for messages.
        let is_answer =
            self.output.is_empty() && bytes.get(KIND).is_some_and(|kind| *kind != Kind::Message as u8);
        if self.messages && !is_answer {
            return self.write_beside_messages(bytes);
        }
        match self.write_answer(bytes) {
            Written::Waiting if !self.said.is_empty() => Written::Said,
            other => other,
        }
    }

    /// The same where messages may come before the answer: they are set apart.
    fn write_beside_messages(&mut self, bytes: &[u8]) -> Written {
        if self.output.len() <= KIND || self.is_message(0) {
            if self.said.len() + self.output.len() + bytes.len() > SAID_MAX {
                return Written::TooMuch;
            }
            self.output.extend_from_slice(bytes);
            if let Err(written) = self.set_messages_apart() {
                return written;
            }
            return match (self.output.is_empty() || self.is_message(0), self.said.is_empty()) {
                (true, true) => Written::Waiting,
                (true, false) => Written::Said,
                // What is left began the answer.
                (false, _) => match self.write_answer(&[]) {
                    Written::Waiting if !self.said.is_empty() => Written::Said,
                    other => other,
                },
            };
        }
        self.write_answer(bytes)
    }

    fn is_message(&self, start: usize) -> bool {
        self.output.get(start + KIND) == Some(&(Kind::Message as u8))
    }

    /// Moves the whole messages at the front of the output to those that wait.
    fn set_messages_apart(&mut self) -> Result<(), Written> {
        let mut start = 0;
        while self.is_message(start) {
            let rest = &self.output[start..];
            let first = &rest[..rest.len().min(HEAD_BYTES)];
            let end = match progress(first, Kind::Message, MESSAGE_LIMITS) {
                Ok(Progress::Head(_)) => break,
                Ok(Progress::Whole(head) | Progress::Parts(head, _)) => start + head.frame_bytes(),
                Err(FrameError::Header(_) | FrameError::Body(_)) => return Err(Written::TooMuch),
                Err(error) => return Err(Written::Broken(error)),
            };
            if end > self.output.len() {
                break;
            }
            start = end;
        }
        self.said.extend(self.output.drain(..start));
        Ok(())
    }

    /// Takes whole messages of the guest, which it did not write to fd 1: [`Written::Said`], or why not.
    pub fn say(&mut self, messages: &[u8]) -> Written {
        if !self.messages {
            return Written::Broken(FrameError::Kind(Kind::Message as u8));
        }
        if self.said.len() + messages.len() > SAID_MAX {
            return Written::TooMuch;
        }
        let mut rest = messages;
        loop {
            let first = &rest[..rest.len().min(HEAD_BYTES)];
            let length = match progress(first, Kind::Message, MESSAGE_LIMITS) {
                Ok(Progress::Whole(head) | Progress::Parts(head, _)) => head.frame_bytes(),
                Ok(Progress::Head(missing)) => return Written::Broken(FrameError::Trailing(missing)),
                Err(error) => return Written::Broken(error),
            };
            let Some(behind) = rest.get(length..) else {
                return Written::Broken(FrameError::Trailing(rest.len()));
            };
            if behind.is_empty() {
                break;
            }
            rest = behind;
        }
        self.said.extend_from_slice(messages);
        Written::Said
    }

    /// Whether messages wait for the host.
    #[must_use]
    pub fn has_said(&self) -> bool {
        !self.said.is_empty()
    }

    /// Takes the messages that wait, whole frames back to back.
    pub fn take_said(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.said)
    }

    fn write_answer(&mut self, bytes: &[u8]) -> Written {
        let bytes = self.without_padding(bytes);
        if self.output.len() + bytes.len() > self.limits.output {
            return Written::TooMuch;
        }
        self.output.extend_from_slice(bytes);
        match self.mode {
            OutputMode::Stream => Written::Ready,
            OutputMode::Framed(limits) => match progress(&self.output, Kind::Response, limits) {
                Ok(Progress::Whole(_)) => Written::Ready,
                Ok(Progress::Parts(_, missing)) => {
                    // At once, or the bytes would be moved as they grow. Memory that nothing is written to is none.
                    self.output.reserve_exact(missing);
                    Written::Waiting
                }
                Ok(Progress::Head(_)) => Written::Waiting,
                // A length over its limit is told as soon as the head is there.
                Err(FrameError::Header(_) | FrameError::Body(_)) => Written::TooMuch,
                Err(error) => Written::Broken(error),
            },
        }
    }

    /// The bytes without a newline that follows the frame's end. Rust's standard output, by which Deno writes, sends what is behind
    /// the last newline by a call of its own: with one at the end an answer is one call, whatever is in it.
    fn without_padding<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let (Some((b'\n', rest)), OutputMode::Framed(limits)) = (bytes.split_last(), self.mode) else {
            return bytes;
        };
        let mut head = [0; HEAD_BYTES];
        let there = self.output.iter().chain(rest).zip(&mut head);
        if there.map(|(from, to)| *to = *from).count() < HEAD_BYTES {
            return bytes;
        }
        match Head::decode(&head, Kind::Response, limits) {
            Ok(head) if head.frame_bytes() == self.output.len() + rest.len() => rest,
            _ => bytes,
        }
    }

    /// Takes what the guest wrote to fd 2.
    pub fn write_log(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(self.limits.log.saturating_sub(self.log.len()));
        self.log.extend_from_slice(&bytes[..kept]);
        self.log_dropped += (bytes.len() - kept) as u64;
    }

    /// Takes the bytes that wait on fd 1.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Takes the bytes that wait on fd 2.
    pub fn take_log(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.log)
    }

    /// Checks the limits.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let (output, log) = (self.output.len(), self.log.len());
        // What is not whole of a message counts as output here.
        let most = if self.messages {
            self.limits.output.max(SAID_MAX)
        } else {
            self.limits.output
        };
        let within = output <= most && self.said.len() <= SAID_MAX && log <= self.limits.log;
        crate::state::ensure::ensure(within && self.consumed <= self.input.len(), || {
            format!(
                "{output} bytes of output and {log} of log wait, wanted at most {:?}",
                self.limits
            )
        })
    }

    /// Whether bytes wait on fd 1 or 2.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty() || !self.log.is_empty()
    }

    /// Whether every byte on fd 1 is for a person, not in frames.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.mode == OutputMode::Stream
    }
}
