//! Readiness: what `poll` and `epoll` report, and what waits for time.

use super::dialed::is_connecting;
use super::{FileKind, Files, Interest, OpenFile, PIPE_BUF, READING, WRITING, event};

/// An epoll set, and sets within it: no deeper.
pub(super) const EPOLL_DEPTH: u32 = 2;

/// What holds of files at one instant, asked for many: each file is looked at once, and each epoll set looked through once, however often
/// it is asked for and in whatever sets it is. So all answers together cost no more than there are files and files in sets.
#[derive(Debug)]
pub struct Readiness<'a> {
    files: &'a Files,
    now: u64,
    /// What is known, by description; [`UNKNOWN`] where nothing is. Empty for the first few looks.
    known: Vec<u32>,
    looks: usize,
}

/// No events that hold: `event` has no such bits.
const UNKNOWN: u32 = u32::MAX;
/// Looks before answers are kept: who asks for few files and no set has no use for it.
const KEPT_FROM: usize = 16;

impl Readiness<'_> {
    /// The poll events that hold for a description.
    pub fn of(&mut self, file: usize) -> u32 {
        self.within(file, EPOLL_DEPTH)
    }

    /// Looks at files so far: a measure of work.
    #[must_use]
    pub fn looks(&self) -> usize {
        self.looks
    }

    fn within(&mut self, file: usize, depth: u32) -> u32 {
        if let Some(&known) = self.known.get(file).filter(|&&known| known != UNKNOWN) {
            return known;
        }
        self.looks += 1;
        let is_set = matches!(
            self.files.open.get(file),
            Some(OpenFile {
                kind: FileKind::Epoll { .. },
                ..
            })
        );
        let events = self.look(file, depth);
        if is_set || self.looks > KEPT_FROM {
            if self.known.is_empty() {
                self.known = vec![UNKNOWN; self.files.open.end()];
            }
            self.known
                .get_mut(file)
                .into_iter()
                .for_each(|known| *known = events);
        }
        events
    }

    fn look(&mut self, file: usize, depth: u32) -> u32 {
        use event::{ERR, HUP, IN, OUT, RDHUP, RDNORM, WRNORM};
        let (files, now) = (self.files, self.now);
        let Some(open) = files.open.get(file) else {
            return event::NVAL;
        };
        let if_so = |holds, events| if holds { events } else { 0 };
        match &open.kind {
            FileKind::Input => if_so(files.stdio.unread() > 0 || files.stdio.ended, IN | RDNORM),
            FileKind::Output | FileKind::Log => OUT | WRNORM,
            FileKind::Regular { .. }
            | FileKind::Directory { .. }
            | FileKind::Text { .. }
            | FileKind::Granted(_)
            | FileKind::Device(_) => IN | OUT | RDNORM | WRNORM,
            FileKind::Socket(socket) => match &socket.listening {
                Some(listening) => {
                    if_so(!listening.queue.is_empty(), IN | RDNORM) | if_so(socket.has_room(), event::ROOM)
                }
                None => OUT | WRNORM | HUP | if_so(socket.error.is_some(), IN | RDNORM | RDHUP | ERR),
            },
            FileKind::Netlink(netlink) => OUT | WRNORM | if_so(netlink.has_answer(), IN | RDNORM),
            FileKind::Stream(stream) if is_connecting(stream) => 0,
            FileKind::Stream(stream) => {
                let incoming = stream.incoming.as_ref();
                let ended = incoming.is_some() && (stream.peer.is_none() || stream.read_shut);
                let readable = incoming.is_some_and(|bytes| !bytes.is_empty());
                let mut events = if_so(readable, IN | RDNORM);
                if stream.socket {
                    let error = stream.names.as_deref().and_then(|names| names.error);
                    events |= if_so(error.is_some(), ERR);
                    events |= if_so(ended, IN | RDNORM | RDHUP);
                    events |= if_so(stream.peer.is_none() || stream.read_shut && !stream.writes, HUP);
                    events |= if_so(files.room(stream).is_none_or(|room| room > 0), OUT | WRNORM);
                } else if stream.writes {
                    events |= if_so(
                        files.room(stream).is_none_or(|room| room >= PIPE_BUF),
                        OUT | WRNORM,
                    );
                    events |= if_so(stream.peer.is_none(), ERR);
                } else {
                    events |= if_so(ended, HUP);
                }
                events
            }
            FileKind::Event { count, .. } => {
                if_so(*count > 0, IN | RDNORM) | if_so(*count < u64::MAX - 1, OUT | WRNORM)
            }
            FileKind::Timer { next, .. } => if_so(*next != 0 && *next <= now, IN | RDNORM),
            FileKind::Epoll { interests, .. } => {
                let any = depth > 0
                    && interests
                        .iter()
                        .any(|(&(_, file), interest)| self.reportable(file, interest, depth - 1) != 0);
                if_so(any, IN | RDNORM)
            }
        }
    }

    /// The events that an epoll set would report for one file.
    fn reportable(&mut self, file: usize, interest: &Interest, depth: u32) -> u32 {
        use event::{ERR, HUP, IN, OUT, RDHUP, RDNORM, WRNORM};
        let ready = self.within(file, depth) & (interest.events | ERR | HUP);
        if ready == 0
            || interest.events & !(event::EDGE | event::ONESHOT | event::WAKEUP | event::EXCLUSIVE) == 0
        {
            return 0;
        }
        if interest.events & event::EDGE != 0 && !interest.fresh {
            let Some(open) = self.files.open.get(file) else {
                return 0;
            };
            // An inner epoll set or a timer has no count of its own: its level is its edge.
            let counts = !matches!(open.kind, FileKind::Epoll { .. });
            let moved = |direction: usize| !counts || open.activity[direction] != interest.seen[direction];
            let reading = moved(READING) && ready & (IN | RDNORM | RDHUP | HUP | ERR) != 0;
            let writing = moved(WRITING) && ready & (OUT | WRNORM | HUP | ERR) != 0;
            let expired = matches!(open.kind, FileKind::Timer { next, .. } if next > interest.seen[WRITING]);
            if !reading && !writing && !expired {
                return 0;
            }
        }
        ready
    }
}

impl Files {
    /// What holds of files at monotonic time `now`, for many of them.
    #[must_use]
    pub fn readiness(&self, now: u64) -> Readiness<'_> {
        Readiness {
            files: self,
            now,
            known: Vec::new(),
            looks: 0,
        }
    }

    /// Whether the counter of an eventfd has room for so much. What is no eventfd any more keeps nobody waiting.
    #[must_use]
    pub fn event_takes(&self, file: usize, added: u64) -> bool {
        match self.open.get(file).map(|open| &open.kind) {
            Some(FileKind::Event { count, .. }) => *count <= (u64::MAX - 1).saturating_sub(added),
            _ => true,
        }
    }

    /// Takes up to `limit` events out of an epoll set: events and the guest's word.
    pub fn epoll_take(&mut self, epoll: usize, limit: usize, now: u64) -> Vec<(u32, u64)> {
        let Some(OpenFile {
            kind: FileKind::Epoll { interests, last },
            ..
        }) = self.open.get(epoll)
        else {
            return Vec::new();
        };
        let after = interests.range((std::ops::Bound::Excluded(*last), std::ops::Bound::Unbounded));
        let mut readiness = self.readiness(now);
        let reports: Vec<_> = after
            .chain(interests.range(..=*last))
            .filter_map(|(&key, interest)| {
                let events = readiness.reportable(key.1, interest, EPOLL_DEPTH);
                (events != 0).then_some((key, events, interest.data))
            })
            .take(limit)
            .collect();
        for &(key, ..) in &reports {
            let (activity, expiry) = match self.open.get(key.1) {
                Some(OpenFile {
                    kind: FileKind::Timer { next, .. },
                    activity,
                    ..
                }) => (*activity, Some(*next)),
                Some(open) => (open.activity, None),
                None => continue,
            };
            if let Some(OpenFile {
                kind: FileKind::Epoll { interests, last },
                ..
            }) = self.open.get_mut(epoll)
                && let Some(interest) = interests.get_mut(&key)
            {
                *last = key;
                interest.fresh = false;
                interest.seen = [activity[READING], expiry.unwrap_or(activity[WRITING])];
                if interest.events & event::ONESHOT != 0 {
                    interest.events &= event::EDGE | event::ONESHOT;
                }
            }
        }
        reports
            .into_iter()
            .map(|(_, events, data)| (events, data))
            .collect()
    }

    /// The earliest expiry of an armed timer that is still to come.
    #[must_use]
    pub fn next_timer(&self, now: u64) -> Option<u64> {
        let timers = self.open.iter().filter_map(|(_, open)| match open.kind {
            FileKind::Timer { next, .. } if next > now => Some(next),
            _ => None,
        });
        timers.min()
    }
}
