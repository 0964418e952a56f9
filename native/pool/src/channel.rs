//! What a request and the host say to each other while the request is under way: whole message frames, kept until the other side hears them.
//!
//! ```text
//! guest: write(1) -> Channel::put -> outbox -> Pool::hear -> host
//! guest: read(0)  <- Channel::take <- inbox <- Pool::say  <- host
//! ```

mod bytes;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mayfly_vmm::monotonic_ns;
use mayfly_wire::{HEAD_BYTES, Kind, MESSAGE_LIMITS, Progress, progress};

/// Bytes and messages of a guest that wait for the host: over it the request ends.
pub(crate) const OUTBOX_BYTES: usize = 8 << 20;
pub(crate) const OUTBOX_MESSAGES: u32 = 16_384;
/// Bytes and messages of the host that wait for a guest: over it the host is refused.
pub(crate) const INBOX_BYTES: usize = 4 << 20;
pub(crate) const INBOX_MESSAGES: u32 = 4096;

/// One request's messages, both ways.
#[derive(Debug, Default)]
pub struct Channel {
    /// It opens with the first message of the guest, and the request counts as one without a channel until then.
    late: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    inbox: Vec<u8>,
    inbox_messages: u32,
    outbox: Vec<u8>,
    outbox_messages: u32,
    /// The guest has bytes on fd 0 that it does not read: more need not wake it.
    deaf: bool,
    ended: bool,
    called_off: bool,
    bytes: bytes::State,
    /// When the request ends, in place of the deadline that it began with.
    deadline: Option<u64>,
}

/// Whether the host said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It waits in the inbox; the guest need not be woken for it.
    Kept,
    /// The guest may be woken for it.
    Wakes,
    /// The request has ended, or the inbox is full.
    Refused,
}

impl Channel {
    /// A channel that opens with the first message of the guest.
    pub fn late() -> Channel {
        Channel {
            late: true,
            state: Mutex::default(),
        }
    }

    pub(crate) fn is_late(&self) -> bool {
        self.late
    }

    /// Gives the request so much time from now on. A parked one learns of less than it had where it goes on.
    pub fn extend(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.lock().deadline = Some(monotonic_ns().saturating_add(time));
    }

    /// When it ends, by [`monotonic_ns`], where [`Channel::extend`] said so.
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.lock().deadline
    }

    /// Each critical section leaves the state whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps messages of the guest, and gives their count. True when none waited before: the host is to be told. `None` over the bounds.
    pub(crate) fn put(&self, messages: Vec<u8>) -> Option<(bool, u32)> {
        let mut state = self.lock();
        let count = count(&messages);
        if state.outbox.len() + messages.len() > OUTBOX_BYTES
            || state.outbox_messages + count > OUTBOX_MESSAGES
        {
            return None;
        }
        let first = state.outbox.is_empty();
        state.outbox_messages += count;
        if first {
            state.outbox = messages;
        } else {
            state.outbox.extend_from_slice(&messages);
        }
        Some((first, count))
    }

    /// Takes what the guest said, whole frames back to back: as many of them as fit into `room`, which has place for any one.
    pub fn hear(&self, room: usize) -> Vec<u8> {
        let mut state = self.lock();
        if state.outbox.len() <= room {
            state.outbox_messages = 0;
            return std::mem::take(&mut state.outbox);
        }
        let mut end = 0;
        let mut messages = 0;
        while let Some(next) = frame_end(&state.outbox[end..]).map(|length| end + length)
            && next <= room
        {
            (end, messages) = (next, messages + 1);
        }
        state.outbox_messages -= messages;
        let rest = state.outbox.split_off(end);
        std::mem::replace(&mut state.outbox, rest)
    }

    /// Bytes that wait for the host.
    pub fn unheard(&self) -> usize {
        self.lock().outbox.len()
    }

    /// Keeps a message of the host, which is a whole frame.
    pub(crate) fn say(&self, message: &[u8]) -> Said {
        let mut state = self.lock();
        if state.ended
            || state.inbox.len() + message.len() > INBOX_BYTES
            || state.inbox_messages >= INBOX_MESSAGES
        {
            return Said::Refused;
        }
        state.inbox_messages += 1;
        state.inbox.extend_from_slice(message);
        if state.deaf { Said::Kept } else { Said::Wakes }
    }

    /// Takes what the host said, for a guest that has read all that it was given. `None` when there is nothing.
    pub(crate) fn take(&self) -> Option<(Vec<u8>, u32)> {
        let mut state = self.lock();
        if state.inbox.is_empty() {
            return None;
        }
        let count = std::mem::take(&mut state.inbox_messages);
        Some((std::mem::take(&mut state.inbox), count))
    }

    /// Notes whether the guest has unread bytes, as it is parked; true when there is something to wake it for already.
    pub(crate) fn park(&self, deaf: bool) -> bool {
        let mut state = self.lock();
        state.deaf = deaf;
        state.called_off || state.has_room_again() || (!deaf && state.has_news())
    }

    /// The request has ended: nothing can be said any more. What the guest said stays to be heard.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.inbox = Vec::new();
    }

    /// The request is to end.
    pub(crate) fn call_off(&self) {
        self.lock().called_off = true;
    }

    /// Whether the request is to end.
    pub(crate) fn is_called_off(&self) -> bool {
        self.lock().called_off
    }
}

/// Length of the frame at the front.
fn frame_end(bytes: &[u8]) -> Option<usize> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    match progress(head, Kind::Message, MESSAGE_LIMITS) {
        Ok(Progress::Whole(head) | Progress::Parts(head, _)) => Some(head.frame_bytes()),
        Ok(Progress::Head(_)) | Err(_) => None,
    }
}

/// How many frames lie back to back.
fn count(bytes: &[u8]) -> u32 {
    let (mut at, mut count) = (0, 0);
    while let Some(length) = bytes.get(at..).and_then(frame_end) {
        (at, count) = (at + length, count + 1);
    }
    count
}

#[cfg(test)]
mod tests {
    use mayfly_wire::Head;

    use super::*;

    fn message(body: usize) -> Vec<u8> {
        let head = Head {
            kind: Kind::Message,
            header_bytes: 4,
            body_bytes: body as u32,
        };
        [&head.encode()[..], &[1, 0, 0, 0], &vec![7; body]].concat()
    }

    #[test]
    fn what_a_guest_says_is_heard_once_in_whole_frames() {
        let channel = Channel::default();
        assert_eq!(channel.put(message(10)), Some((true, 1)));
        assert_eq!(channel.put([message(20), message(30)].concat()), Some((false, 2)));
        assert_eq!(channel.hear(70), [message(10), message(20)].concat());
        assert_eq!(channel.unheard(), 50);
        assert_eq!(channel.hear(1000), message(30));
        assert_eq!(channel.hear(1000), []);
        assert_eq!(channel.put(message(0)), Some((true, 1)));
    }

    #[test]
    fn outbox_and_inbox_are_bounded_in_bytes_and_messages() {
        let channel = Channel::default();
        let large = message(1 << 20);
        let mut kept = 0;
        while channel.put(large.clone()).is_some() {
            kept += 1;
        }
        assert_eq!(kept, OUTBOX_BYTES / large.len());
        let channel = Channel::default();
        for _ in 0..OUTBOX_MESSAGES {
            assert!(channel.put(message(0)).is_some());
        }
        assert_eq!(channel.put(message(0)), None);
        channel.hear(usize::MAX);
        assert_eq!(channel.put(message(0)), Some((true, 1)));
        let mut said = 0;
        while channel.say(&large) == Said::Wakes {
            said += 1;
        }
        assert_eq!(said, INBOX_BYTES / large.len());
        assert_eq!(
            channel.take().map(|(bytes, count)| (bytes.len(), count)),
            Some((said * large.len(), said as u32))
        );
        for _ in 0..INBOX_MESSAGES {
            assert_eq!(channel.say(&message(0)), Said::Wakes);
        }
        assert_eq!(channel.say(&message(0)), Said::Refused);
    }

    #[test]
    fn a_guest_that_does_not_read_is_not_woken_and_an_ended_one_hears_nothing() {
        let channel = Channel::default();
        assert!(!channel.park(true));
        assert_eq!(channel.say(&message(1)), Said::Kept);
        assert!(!channel.park(true) && channel.park(false));
        channel.end();
        assert_eq!(channel.say(&message(1)), Said::Refused);
        assert_eq!(channel.take(), None);
        assert!(!channel.park(false));
        channel.call_off();
        assert!(channel.park(true) && channel.is_called_off());
    }
}
