//! Open files: descriptors, the open file descriptions behind them, and when each is ready.
//!
//! A description knows whether it can be read or written now; nothing pushes. Who waits is asked again when the scheduler runs. An edge
//! (EPOLLET) is a count of what has happened to a description, compared with the count at the last report.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::errno::Errno;
use crate::stdio::Stdio;
use crate::tracked::{Slab, Tracked};
use crate::vfs::Device;

/// `EPOLLIN`, equal to `POLLIN`, and so on.
#[allow(missing_docs, reason = "the names are Linux's (epoll_ctl(2), poll(2))")]
pub mod event {
    pub const IN: u32 = 0x1;
    pub const OUT: u32 = 0x4;
    pub const ERR: u32 = 0x8;
    pub const HUP: u32 = 0x10;
    pub const NVAL: u32 = 0x20;
    pub const RDNORM: u32 = 0x40;
    pub const WRNORM: u32 = 0x100;
    pub const RDHUP: u32 = 0x2000;
    pub const EXCLUSIVE: u32 = 1 << 28;
    pub const WAKEUP: u32 = 1 << 29;
    pub const ONESHOT: u32 = 1 << 30;
    pub const EDGE: u32 = 1 << 31;
}

/// `O_NONBLOCK`.
pub const O_NONBLOCK: u32 = 0o4000;
/// `O_PATH`: a name, not its content.
pub const O_PATH: u32 = 0o1000_0000;
/// `O_APPEND`.
pub const O_APPEND: u32 = 0o2000;
/// Bytes that a pipe or socket holds.
pub const STREAM_BYTES: usize = 65_536;
/// Writes up to this length to a pipe are not split.
pub const PIPE_BUF: usize = 4096;
/// Epoll sets within epoll sets, at most.
const EPOLL_DEPTH: u32 = 5;

/// One direction of readiness.
const READING: usize = 0;
const WRITING: usize = 1;

/// One end of a pipe or socket pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// Bytes that wait to be read here; `None` for a pipe's writing end.
    pub incoming: Option<VecDeque<u8>>,
    /// The other end's description, until it is closed.
    pub peer: Option<usize>,
    /// Whether this end writes to the other.
    pub writes: bool,
    /// Whether it is a socket.
    pub socket: bool,
    /// A socket on which no more can be read (`shutdown`, or the peer's).
    pub read_shut: bool,
}

/// One file in an epoll set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Wanted events and flags; no events after a one-shot report.
    events: u32,
    /// The guest's own word.
    data: u64,
    /// Activity counts at the last report.
    seen: [u64; 2],
    /// Added or changed since: report a level once, whatever the counts.
    fresh: bool,
}

/// What an open file description refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// fd 0 of the start.
    Input,
    /// fd 1 of the start.
    Output,
    /// fd 2 of the start.
    Log,
    /// A file in the tree.
    Regular {
        /// Its node, which this description holds.
        node: usize,
        /// Where the next read or write starts.
        offset: u64,
    },
    /// A directory in the tree.
    Directory {
        /// Its node, which this description holds.
        node: usize,
        /// Entries already listed.
        listed: u64,
    },
    /// Text made when the file was opened.
    Text {
        /// The text.
        bytes: Arc<[u8]>,
        /// Where the next read starts.
        offset: u64,
    },
    /// A character device.
    Device(Device),
    /// One end of a pipe or socket pair.
    Stream(Stream),
    /// `eventfd`.
    Event {
        /// The counter.
        count: u64,
        /// Whether a read takes 1.
        semaphore: bool,
    },
    /// `timerfd`.
    Timer {
        /// Whether it counts realtime.
        realtime: bool,
        /// Monotonic time of the next expiry, 0 when not armed.
        next: u64,
        /// Nanoseconds between expiries, 0 for one only.
        interval: u64,
    },
    /// `epoll`: the files it watches, by descriptor and description.
    Epoll {
        /// The files.
        interests: BTreeMap<(i32, usize), Interest>,
        /// The file reported last: the next report starts after it.
        last: (i32, usize),
    },
}

/// An open file description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// What it refers to.
    pub kind: FileKind,
    /// Access mode and status flags of `open`.
    pub flags: u32,
    /// Descriptors that refer to it.
    references: u32,
    /// How often something became readable, and writable.
    activity: [u64; 2],
}

impl OpenFile {
    /// Whether calls on it answer EAGAIN instead of waiting.
    #[must_use]
    pub fn nonblocking(&self) -> bool {
        self.flags & O_NONBLOCK != 0
    }

    /// Whether `read` is allowed.
    #[must_use]
    pub fn readable(&self) -> bool {
        self.flags & 3 != 1 && self.flags & O_PATH == 0
    }

    /// Whether `write` is allowed.
    #[must_use]
    pub fn writable(&self) -> bool {
        self.flags & 3 != 0 && self.flags & O_PATH == 0
    }
}

/// A descriptor: a number's reference to a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The description.
    pub file: usize,
    /// `FD_CLOEXEC`.
    pub close_on_exec: bool,
}

/// All open files of the process.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    descriptors: Slab<Descriptor>,
    open: Slab<OpenFile>,
    /// Most descriptors; the highest number is one less.
    limit: usize,
    /// The bytes behind fds 0, 1 and 2.
    pub stdio: Tracked<Stdio>,
}

impl Files {
    /// The table of a process that starts with fds 0, 1 and 2.
    #[must_use]
    pub fn new(limit: usize, stdio: Stdio) -> Self {
        let mut files = Self {
            descriptors: Slab::default(),
            open: Slab::default(),
            limit,
            stdio: Tracked::new(stdio),
        };
        for (kind, flags) in [(FileKind::Input, 0), (FileKind::Output, 1), (FileKind::Log, 1)] {
            let file = files.add(kind, flags);
            files.attach(file, 0, false).unwrap_or_default();
        }
        files
    }

    /// Makes a description that no descriptor refers to yet. [`Files::attach`] must follow.
    pub fn add(&mut self, kind: FileKind, flags: u32) -> usize {
        self.open.insert(OpenFile {
            kind,
            flags,
            references: 0,
            activity: [1, 1],
        })
    }

    /// Gives a description the lowest free descriptor from `from` on.
    ///
    /// # Errors
    /// EMFILE at the limit; a description without other references is gone then.
    pub fn attach(&mut self, file: usize, from: usize, close_on_exec: bool) -> Result<u64, Errno> {
        if from >= self.limit
            || self.descriptors.end() >= self.limit && self.descriptors.count() >= self.limit
        {
            self.drop_unused(file);
            return Err(Errno::EMFILE);
        }
        let number = self
            .descriptors
            .insert_from(from, Descriptor { file, close_on_exec });
        if number >= self.limit {
            self.descriptors.remove(number);
            self.drop_unused(file);
            return Err(Errno::EMFILE);
        }
        if let Some(open) = self.open.get_mut(file) {
            open.references += 1;
        }
        Ok(number as u64)
    }

    /// `dup2`: makes `number` refer to the description, closing what it referred to.
    ///
    /// # Errors
    /// EBADF for a number at or over the limit.
    pub fn attach_at(
        &mut self,
        file: usize,
        number: u64,
        close_on_exec: bool,
    ) -> Result<Option<usize>, Errno> {
        let number = usize::try_from(number)
            .ok()
            .filter(|&n| n < self.limit)
            .ok_or(Errno::EBADF)?;
        if let Some(open) = self.open.get_mut(file) {
            open.references += 1;
        }
        let old = self.descriptors.put(number, Descriptor { file, close_on_exec });
        Ok(old.and_then(|old| self.unreference(old.file)))
    }

    /// `close`. Gives the node that the last reference to a description held, to be released.
    ///
    /// # Errors
    /// EBADF when the descriptor is not open.
    pub fn close(&mut self, fd: u64) -> Result<Option<usize>, Errno> {
        let number = usize::try_from(fd as u32).map_err(|_| Errno::EBADF)?;
        let old = self.descriptors.remove(number).ok_or(Errno::EBADF)?;
        Ok(self.unreference(old.file))
    }

    fn unreference(&mut self, file: usize) -> Option<usize> {
        let open = self.open.get_mut(file)?;
        open.references = open.references.saturating_sub(1);
        self.drop_unused(file)
    }

    fn drop_unused(&mut self, file: usize) -> Option<usize> {
        if self.open.get(file)?.references > 0 {
            return None;
        }
        let closed = self.open.remove(file)?;
        let epolls: Vec<usize> = self
            .open
            .iter()
            .filter(|(_, open)| matches!(&open.kind, FileKind::Epoll { interests, .. } if interests.keys().any(|k| k.1 == file)))
            .map(|(number, _)| number)
            .collect();
        for epoll in epolls {
            if let Some(OpenFile {
                kind: FileKind::Epoll { interests, .. },
                ..
            }) = self.open.get_mut(epoll)
            {
                interests.retain(|key, _| key.1 != file);
            }
        }
        match closed.kind {
            FileKind::Stream(Stream { peer: Some(peer), .. }) => {
                if let Some(OpenFile {
                    kind: FileKind::Stream(other),
                    ..
                }) = self.open.get_mut(peer)
                {
                    other.peer = None;
                }
                self.note(peer, READING);
                self.note(peer, WRITING);
                None
            }
            FileKind::Regular { node, .. } | FileKind::Directory { node, .. } => Some(node),
            _ => None,
        }
    }

    /// The description behind a descriptor.
    ///
    /// # Errors
    /// EBADF when the descriptor is not open.
    pub fn get(&self, fd: u64) -> Result<usize, Errno> {
        // Linux takes descriptors as 32-bit integers and ignores what is above.
        Ok(self.descriptors.get(fd as u32 as usize).ok_or(Errno::EBADF)?.file)
    }

    /// The descriptor's own state.
    pub fn descriptor_mut(&mut self, fd: u64) -> Option<&mut Descriptor> {
        self.descriptors.get_mut(fd as u32 as usize)
    }

    /// All descriptor numbers.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.descriptors.iter().map(|(number, _)| number)
    }

    /// A description by its number.
    #[must_use]
    pub fn file(&self, file: usize) -> Option<&OpenFile> {
        self.open.get(file)
    }

    /// A description by its number, which counts as touched from now on.
    pub fn file_mut(&mut self, file: usize) -> Option<&mut OpenFile> {
        self.open.get_mut(file)
    }

    fn note(&mut self, file: usize, direction: usize) {
        if let Some(open) = self.open.get_mut(file) {
            open.activity[direction] = open.activity[direction].wrapping_add(1);
        }
    }

    /// Adds bytes to fd 0.
    pub fn push_input(&mut self, bytes: Vec<u8>) {
        self.stdio.push_input(bytes);
        self.note_input();
    }

    /// Ends fd 0: a read at its end gives 0.
    pub fn end_input(&mut self) {
        self.stdio.ended = true;
        self.note_input();
    }

    fn note_input(&mut self) {
        let input = self
            .open
            .iter()
            .find(|(_, open)| open.kind == FileKind::Input)
            .map(|(number, _)| number);
        input.into_iter().for_each(|input| self.note(input, READING));
    }

    /// Makes a pipe: the reading and the writing end.
    pub fn add_pipe(&mut self, flags: u32) -> (usize, usize) {
        let reader = self.add(
            FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                ..Stream::default()
            }),
            flags,
        );
        let writer = self.add(
            FileKind::Stream(Stream {
                peer: Some(reader),
                writes: true,
                ..Stream::default()
            }),
            flags | 1,
        );
        self.set_peer(reader, writer);
        (reader, writer)
    }

    /// Makes a pair of connected sockets.
    pub fn add_socket_pair(&mut self, flags: u32) -> (usize, usize) {
        let end = |peer| {
            FileKind::Stream(Stream {
                incoming: Some(VecDeque::new()),
                peer,
                writes: true,
                socket: true,
                read_shut: false,
            })
        };
        let first = self.add(end(None), flags | 2);
        let second = self.add(end(Some(first)), flags | 2);
        self.set_peer(first, second);
        (first, second)
    }

    fn set_peer(&mut self, file: usize, other: usize) {
        if let Some(OpenFile {
            kind: FileKind::Stream(stream),
            ..
        }) = self.open.get_mut(file)
        {
            stream.peer = Some(other);
        }
    }

    fn stream(&self, file: usize) -> Option<&Stream> {
        match &self.open.get(file)?.kind {
            FileKind::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    fn stream_mut(&mut self, file: usize) -> Option<&mut Stream> {
        match &mut self.open.get_mut(file)?.kind {
            FileKind::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// Whether the end of a stream that `file` writes to can take bytes, and how many; `None` when nobody will read them.
    fn room(&self, stream: &Stream) -> Option<usize> {
        let other = self.stream(stream.peer?)?;
        if other.read_shut {
            return None;
        }
        Some(STREAM_BYTES - other.incoming.as_ref()?.len())
    }

    /// Reads from a stream: up to `limit` bytes, none at its end.
    ///
    /// # Errors
    /// EAGAIN when there is nothing now, EBADF on a writing end.
    pub fn read_stream(&mut self, file: usize, limit: usize, keep: bool) -> Result<Vec<u8>, Errno> {
        let stream = self.stream(file).ok_or(Errno::EBADF)?;
        let incoming = stream.incoming.as_ref().ok_or(Errno::EBADF)?;
        if incoming.is_empty() {
            return if stream.peer.is_none() || stream.read_shut || limit == 0 {
                Ok(Vec::new())
            } else {
                Err(Errno::EAGAIN)
            };
        }
        let count = limit.min(incoming.len());
        if keep {
            return Ok(incoming.iter().take(count).copied().collect());
        }
        let peer = stream.peer;
        let incoming = self
            .stream_mut(file)
            .and_then(|stream| stream.incoming.as_mut())
            .ok_or(Errno::EBADF)?;
        let bytes = incoming.drain(..count).collect();
        peer.into_iter().for_each(|peer| self.note(peer, WRITING));
        Ok(bytes)
    }

    /// How many of `wanted` bytes a write to a stream takes now.
    ///
    /// # Errors
    /// EAGAIN when not one (or, for a short write to a pipe, not all) fits, EPIPE when nobody will read, EBADF on a reading end.
    pub fn stream_takes(&self, file: usize, wanted: usize) -> Result<usize, Errno> {
        let stream = self
            .stream(file)
            .filter(|stream| stream.writes)
            .ok_or(Errno::EBADF)?;
        let room = self.room(stream).ok_or(Errno::EPIPE)?;
        if wanted > 0 && (room == 0 || !stream.socket && wanted <= PIPE_BUF && room < wanted) {
            return Err(Errno::EAGAIN);
        }
        Ok(wanted.min(room))
    }

    /// Writes bytes that [`Files::stream_takes`] allowed.
    pub fn write_stream(&mut self, file: usize, bytes: &[u8]) {
        let Some(peer) = self.stream(file).and_then(|stream| stream.peer) else {
            return;
        };
        if let Some(incoming) = self.stream_mut(peer).and_then(|stream| stream.incoming.as_mut()) {
            incoming.extend(bytes);
        }
        self.note(peer, READING);
    }

    /// `shutdown` of a socket: reading, writing or both.
    ///
    /// # Errors
    /// ENOTSOCK, or ENOTCONN when the other end is gone.
    pub fn shut(&mut self, file: usize, reading: bool, writing: bool) -> Result<(), Errno> {
        let stream = self
            .stream(file)
            .filter(|stream| stream.socket)
            .ok_or(Errno::ENOTSOCK)?;
        let peer = stream.peer.ok_or(Errno::ENOTCONN)?;
        if reading && let Some(stream) = self.stream_mut(file) {
            stream.read_shut = true;
        }
        if writing {
            if let Some(stream) = self.stream_mut(file) {
                stream.writes = false;
            }
            if let Some(other) = self.stream_mut(peer) {
                other.read_shut = true;
            }
        }
        for end in [file, peer] {
            self.note(end, READING);
            self.note(end, WRITING);
        }
        Ok(())
    }

    /// Notes that an eventfd or timer changed, so that edges are seen.
    pub fn note_change(&mut self, file: usize) {
        self.note(file, READING);
        self.note(file, WRITING);
    }

    /// The poll events that hold for a description at monotonic time `now`.
    #[must_use]
    pub fn ready(&self, file: usize, now: u64) -> u32 {
        self.ready_within(file, now, EPOLL_DEPTH)
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
            FileKind::Regular { .. } | FileKind::Directory { .. } | FileKind::Text { .. } => {
                return Err(Errno::EPERM);
            }
            FileKind::Epoll { .. }
                if operation == 1 && self.epoll_depth(file, epoll, EPOLL_DEPTH).is_none() =>
            {
                return Err(Errno::ELOOP);
            }
            _ => {}
        }
        let limit = self.limit;
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
            1 if interests.len() >= limit => Err(Errno::ENOSPC),
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

    /// How deep the sets below `file` go, or `None` when that is too deep or leads to `outer`.
    fn epoll_depth(&self, file: usize, outer: usize, left: u32) -> Option<u32> {
        if file == outer || left == 0 {
            return None;
        }
        let Some(OpenFile {
            kind: FileKind::Epoll { interests, .. },
            ..
        }) = self.open.get(file)
        else {
            return Some(0);
        };
        interests.keys().try_fold(0, |deepest, &(_, inner)| {
            Some(deepest.max(self.epoll_depth(inner, outer, left - 1)? + 1))
        })
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

    /// Notes that all state is now the reference.
    pub fn mark_clean(&mut self) {
        self.descriptors.mark_clean();
        self.open.mark_clean();
        self.stdio.mark_clean();
    }

    /// Makes all state equal to `reference`'s, copying only what was touched.
    pub fn restore(&mut self, reference: &Self) {
        self.descriptors.restore(&reference.descriptors);
        self.open.restore(&reference.open);
        self.stdio.restore(&reference.stdio);
        self.limit = reference.limit;
    }
}
