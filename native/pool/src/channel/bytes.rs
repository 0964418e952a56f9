//! The channel of a request to a program that serves: plain bytes of its connection, both ways, with backpressure instead of refusal.

use super::{Channel, Said};

/// Bytes of an answer that wait for the host: with as many the program is parked, and goes on when the host has heard them.
const OUTBOX_FULL: usize = 256 << 10;
/// Bytes of a request that wait for the program: with as many the host is refused, and told when there is room.
const INBOX_FULL: usize = 256 << 10;

/// What only such a channel has.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The host has said all.
    whole: bool,
    /// The program has not been told so.
    whole_untold: bool,
    /// The program is parked until the outbox has room.
    full: bool,
    /// The host waits until the inbox has room.
    refused: bool,
}

/// What the host said, for the program.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub bytes: Vec<u8>,
    /// Nothing comes behind it.
    pub whole: bool,
    /// The host waits to be told that there is room.
    pub tell: bool,
}

impl super::State {
    pub(super) fn has_room_again(&self) -> bool {
        self.bytes.full && self.outbox.len() < OUTBOX_FULL
    }

    pub(super) fn has_news(&self) -> bool {
        !self.inbox.is_empty() || self.bytes.whole_untold
    }
}

impl Channel {
    /// Keeps a piece of the answer. True when none waited before: the host is to be told.
    pub(crate) fn put_bytes(&self, bytes: Vec<u8>) -> bool {
        let mut state = self.lock();
        let first = state.outbox.is_empty() && !bytes.is_empty();
        match first {
            true => state.outbox = bytes,
            false => state.outbox.extend_from_slice(&bytes),
        }
        first
    }

    /// Whether the program is to be parked until the host has heard it.
    pub(crate) fn is_full(&self) -> bool {
        let mut state = self.lock();
        state.bytes.full = state.outbox.len() >= OUTBOX_FULL;
        state.bytes.full
    }

    /// Takes what the program answered. True when it is parked for that, or is to be: then [`Channel::park`] sees the room.
    pub(crate) fn hear_bytes(&self) -> (Vec<u8>, bool) {
        let mut state = self.lock();
        (std::mem::take(&mut state.outbox), state.bytes.full)
    }

    /// The program goes on.
    pub(crate) fn resume(&self) {
        self.lock().bytes.full = false;
    }

    /// Keeps a piece of the request; one of any length while there is any room.
    pub(crate) fn say_bytes(&self, bytes: &[u8]) -> Said {
        let mut state = self.lock();
        if state.ended || state.inbox.len() >= INBOX_FULL {
            state.bytes.refused = true;
            return Said::Refused;
        }
        state.inbox.extend_from_slice(bytes);
        if state.deaf { Said::Kept } else { Said::Wakes }
    }

    /// The host has said all.
    pub(crate) fn finish(&self) -> Said {
        let mut state = self.lock();
        (state.bytes.whole, state.bytes.whole_untold) = (true, true);
        if state.deaf { Said::Kept } else { Said::Wakes }
    }

    /// Takes what the host said.
    pub(crate) fn take_bytes(&self) -> Taken {
        let mut state = self.lock();
        state.bytes.whole_untold = false;
        Taken {
            bytes: std::mem::take(&mut state.inbox),
            whole: state.bytes.whole,
            tell: std::mem::take(&mut state.bytes.refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_waits_for_the_host_and_the_program_for_room() {
        let channel = Channel::default();
        assert!(channel.put_bytes(vec![1; 1000]) && !channel.put_bytes(vec![2; 10]));
        assert!(!channel.is_full());
        channel.put_bytes(vec![3; OUTBOX_FULL]);
        assert!(channel.is_full() && !channel.park(true));
        let (bytes, parked) = channel.hear_bytes();
        assert_eq!((bytes.len(), parked), (1010 + OUTBOX_FULL, true));
        channel.resume();
        assert_eq!(channel.hear_bytes(), (Vec::new(), false));
        // It was heard between the look and the parking.
        channel.put_bytes(vec![3; OUTBOX_FULL]);
        assert!(channel.is_full());
        channel.hear_bytes();
        assert!(channel.park(true));
    }

    #[test]
    fn a_request_is_refused_over_the_bound_and_the_host_told_of_room() {
        let channel = Channel::default();
        while channel.say_bytes(&[7; 1000]) == Said::Wakes {}
        let taken = channel.take_bytes();
        assert!(taken.bytes.len() >= INBOX_FULL && taken.bytes.len() < INBOX_FULL + 1000);
        assert!(taken.tell && !taken.whole);
        assert_eq!(channel.say_bytes(&[7]), Said::Wakes);
        assert_eq!(channel.finish(), Said::Wakes);
        assert!(channel.park(false), "its end is news");
        let taken = channel.take_bytes();
        assert!(taken.whole && !taken.tell && taken.bytes == [7]);
        assert!(!channel.park(false));
        channel.end();
        assert_eq!(channel.say_bytes(&[7]), Said::Refused);
    }
}
