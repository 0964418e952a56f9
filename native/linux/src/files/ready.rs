//! Readiness: what `poll` and `epoll` report, and what waits for fd 0 or for time.

use super::{FileKind, Files, Interest, OpenFile, PIPE_BUF, READING, WRITING, event};
use crate::errno::Errno;

/// An epoll set, and sets within it: no deeper, so that asking one set never costs more than all descriptors squared.
const EPOLL_DEPTH: u32 = 2;
/// Most sets that are within others.
const NESTED_MAX: usize = 64;
/// Most files in all sets together, per descriptor allowed.
const INTERESTS_PER_DESCRIPTOR: usize = 16;

impl Files {
    /// The poll events that hold for a description at monotonic time `now`.
    #[must_use]
    pub fn ready(&self, file: usize, now: u64) -> u32 {
        self.ready_within(file, now, EPOLL_DEPTH)
    }

    /// Whether the counter of an eventfd has room for so much. What is no eventfd any more keeps nobody waiting.
    #[must_use]
    pub fn event_takes(&self, file: usize, added: u64) -> bool {
        match self.open.get(file).map(|open| &open.kind) {
            Some(FileKind::Event { count, .. }) => *count <= (u64::MAX - 1).saturating_sub(added),
            _ => true,
        }
    }

    fn ready_within(&self, file: usize, now: u64, depth: u32) -> u32 {
        use event::{ERR, HUP, IN, OUT, RDHUP, RDNORM, WRNORM};
        let Some(open) = self.open.get(file) else {
            return event::NVAL;
        };
        let if_so = |holds, events| if holds { events } else { 0 };
        match &open.kind {
            FileKind::Input => if_so(self.stdio.unread() > 0 || self.stdio.ended, IN | RDNORM),
            FileKind::Output | FileKind::Log => OUT | WRNORM,
            FileKind::Regular { .. }
            | FileKind::Directory { .. }
            | FileKind::Text { .. }
            | FileKind::Device(_) => IN | OUT | RDNORM | WRNORM,
            FileKind::Stream(stream) => {
                let incoming = stream.incoming.as_ref();
                let ended = incoming.is_some() && (stream.peer.is_none() || stream.read_shut);
                let readable = incoming.is_some_and(|bytes| !bytes.is_empty());
                let mut events = if_so(readable, IN | RDNORM);
                if stream.socket {
                    events |= if_so(ended, IN | RDNORM | RDHUP);
                    events |= if_so(stream.peer.is_none() || stream.read_shut && !stream.writes, HUP);
                    events |= if_so(self.room(stream).is_none_or(|room| room > 0), OUT | WRNORM);
                } else if stream.writes {
                    events |= if_so(
                        self.room(stream).is_none_or(|room| room >= PIPE_BUF),
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
                        .any(|(&(_, file), interest)| self.reportable(file, interest, now, depth - 1) != 0);
                if_so(any, IN | RDNORM)
            }
        }
    }

    /// The events that an epoll set would report for one file.
    fn reportable(&self, file: usize, interest: &Interest, now: u64, depth: u32) -> u32 {
        use event::{ERR, HUP, IN, OUT, RDHUP, RDNORM, WRNORM};
        let ready = self.ready_within(file, now, depth) & (interest.events | ERR | HUP);
        if ready == 0
            || interest.events & !(event::EDGE | event::ONESHOT | event::WAKEUP | event::EXCLUSIVE) == 0
        {
            return 0;
        }
        if interest.events & event::EDGE != 0 && !interest.fresh {
            let Some(open) = self.open.get(file) else { return 0 };
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
        let reports: Vec<_> = after
            .chain(interests.range(..=*last))
            .filter_map(|(&key, interest)| {
                let events = self.reportable(key.1, interest, now, EPOLL_DEPTH);
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

    /// `epoll_ctl`: operation 1 adds, 2 removes, 3 changes.
    ///
    /// # Errors
    /// EINVAL, EEXIST, ENOENT, EPERM for files that cannot be polled, ELOOP for sets that contain each other, ENOSPC over the limit.
    pub fn epoll_control(
        &mut self,
        epoll: usize,
        operation: u64,
        fd: u64,
        events: u32,
        data: u64,
    ) -> Result<(), Errno> {
        let file = self.get(fd)?;
        if file == epoll
            || !matches!(
                self.open.get(epoll),
                Some(OpenFile {
                    kind: FileKind::Epoll { .. },
                    ..
                })
            )
        {
            return Err(Errno::EINVAL);
        }
        match self.open.get(file).ok_or(Errno::EBADF)?.kind {
            FileKind::Regular { .. }
            | FileKind::Directory { .. }
            | FileKind::Text { .. }
            | FileKind::Device(_) => {
                return Err(Errno::EPERM);
            }
            FileKind::Epoll { .. } if operation == 1 => self.may_nest(epoll, file)?,
            _ => {}
        }
        let full = self.interests().count() >= self.limit * INTERESTS_PER_DESCRIPTOR;
        let Some(OpenFile {
            kind: FileKind::Epoll { interests, .. },
            ..
        }) = self.open.get_mut(epoll)
        else {
            return Err(Errno::EINVAL);
        };
        let key = (fd as i32, file);
        let interest = Interest {
            events,
            data,
            seen: [0, 0],
            fresh: true,
        };
        match operation {
            1 if interests.contains_key(&key) => Err(Errno::EEXIST),
            1 if full => Err(Errno::ENOSPC),
            1 => {
                interests.insert(key, interest);
                Ok(())
            }
            2 => interests.remove(&key).map(|_| ()).ok_or(Errno::ENOENT),
            3 => interests
                .get_mut(&key)
                .map(|old| *old = interest)
                .ok_or(Errno::ENOENT),
            _ => Err(Errno::EINVAL),
        }
    }

    /// All files in all sets: the set and the file.
    fn interests(&self) -> impl Iterator<Item = (usize, usize)> {
        self.open.iter().flat_map(|(set, open)| {
            let interests = match &open.kind {
                FileKind::Epoll { interests, .. } => Some(interests.keys()),
                _ => None,
            };
            interests.into_iter().flatten().map(move |&(_, file)| (set, file))
        })
    }

    /// Whether one set may be put into another.
    fn may_nest(&self, outer: usize, inner: usize) -> Result<(), Errno> {
        let is_set = |file| {
            matches!(
                self.open.get(file),
                Some(OpenFile {
                    kind: FileKind::Epoll { .. },
                    ..
                })
            )
        };
        let mut nested = 0;
        for (set, file) in self.interests().filter(|&(_, file)| is_set(file)) {
            if file == outer || set == inner {
                return Err(Errno::ELOOP);
            }
            nested += 1;
        }
        if nested >= NESTED_MAX {
            Err(Errno::ENOSPC)
        } else {
            Ok(())
        }
    }

    /// Whether waiting for this description means waiting for fd 0.
    #[must_use]
    pub fn watches_input(&self, file: usize) -> bool {
        match self.open.get(file).map(|open| &open.kind) {
            Some(FileKind::Input) => true,
            Some(FileKind::Epoll { interests, .. }) => interests.keys().any(|&(_, inner)| {
                matches!(
                    self.open.get(inner),
                    Some(OpenFile {
                        kind: FileKind::Input,
                        ..
                    })
                )
            }),
            _ => false,
        }
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
