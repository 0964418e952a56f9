//! Open files: descriptors, the open file descriptions behind them, and when each is ready.
//!
//! A description knows whether it can be read or written now; nothing pushes. Who waits is asked again when the scheduler runs. An edge
//! (EPOLLET) is a count of what has happened to a description, compared with the count at the last report.

mod audit;
mod dialed;
pub mod event;
mod granted;
mod host_ends;
mod ready;
mod restore;
mod sets;
mod sockets;
mod stored;
mod streams;
mod texts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::fs::granted::GrantedFile;
use crate::fs::stdio::Stdio;
use crate::fs::vfs::Device;
use crate::net::address::Address;
use crate::net::netlink::Netlink;
use crate::net::socket::Socket;
use crate::state::account;
use crate::state::tracked::{Slab, Tracked};

pub use dialed::DIALED_MAX;
pub use host_ends::{HOST_ENDS_MAX, HostEnd};
pub use ready::Readiness;
pub use sockets::Connected;

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

/// One direction of readiness.
const READING: usize = 0;
const WRITING: usize = 1;

/// One end of a pipe or socket pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Bytes that wait to be read here; `None` for a pipe's writing end.
    pub incoming: Option<VecDeque<u8>>,
    /// Bytes that are counted for them, of which their buffer has no more.
    pub buffered: usize,
    /// The other end's description, until it is closed.
    pub peer: Option<usize>,
    /// Whether this end writes to the other.
    pub writes: bool,
    /// Whether it is a socket.
    pub socket: bool,
    /// A socket on which no more can be read (`shutdown`, or the peer's).
    pub read_shut: bool,
    /// Names and options; a pair of sockets has none.
    pub names: Option<Box<Socket>>,
}

/// One file in an epoll set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Interest {
    /// What a file in an epoll set, and the set in the file's own tree, take of the host.
    const COST: u64 = account::entry(16 + size_of::<Interest>()) + account::leaf(16);
}

/// What an open file description refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        /// Place of the entry to be listed next: `.` 0, `..` 1, then as [`crate::fs::vfs::Folder`] has them.
        listed: u64,
        /// Place at which the listing ends.
        end: u64,
    },
    /// Text made when the file was opened.
    Text {
        /// The text.
        bytes: Arc<Vec<u8>>,
        /// Where the next read starts; while the text is made, where its next piece starts.
        offset: u64,
    },
    /// A character device.
    Device(Device),
    /// A socket that is not connected.
    Socket(Box<Socket>),
    /// A socket that tells of the guest's interfaces.
    Netlink(Netlink),
    /// One end of a pipe, or a connected socket.
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
    /// A file of a granted folder. Last, as no file holds it and serde counts it on one way alone.
    #[serde(skip)]
    Granted(Box<GrantedFile>),
}

/// An open file description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    /// What it refers to.
    pub kind: FileKind,
    /// Access mode and status flags of `open`.
    pub flags: u32,
    /// Descriptors that refer to it.
    references: u32,
    /// How often something became readable, and writable.
    activity: [u64; 2],
    /// The epoll sets that watch it, and by which descriptors.
    watchers: BTreeSet<(usize, i32)>,
}

impl OpenFile {
    /// What one more slot for descriptions takes of the host, the tree of an epoll set included.
    const COST: u64 =
        account::slot(size_of::<Option<OpenFile>>()) + account::leaf(16 + size_of::<Interest>());

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The description.
    pub file: usize,
    /// `FD_CLOEXEC`.
    pub close_on_exec: bool,
}

impl Descriptor {
    /// What one more slot for descriptors takes of the host.
    const COST: u64 = account::slot(size_of::<Option<Descriptor>>());
}

/// All open files of the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Files {
    descriptors: Slab<Descriptor>,
    open: Slab<OpenFile>,
    /// Most descriptors; the highest number is one less.
    limit: usize,
    /// Files in all epoll sets together.
    interests: usize,
    /// Bytes in pipes, sockets and texts, which the host holds for the guest.
    held: usize,
    /// Most of them.
    held_limit: usize,
    /// Bytes of the host that may still be taken in this call.
    room: u64,
    /// Sockets with names.
    sockets: usize,
    /// Most of them.
    socket_limit: usize,
    /// Whether the host connects to the guest.
    serves: bool,
    /// The host's ends of its connections.
    host_ends: BTreeSet<usize>,
    /// Those of them that the guest began, with where they lead until the host knows of it.
    dialed: BTreeMap<usize, Option<Address>>,
    /// The guest wrote to one of them, or closed it, and the host has not looked yet.
    news: bool,
    /// The bytes behind fds 0, 1 and 2.
    pub stdio: Tracked<Stdio>,
}

impl Files {
    /// The table of a process that starts with fds 0, 1 and 2.
    #[must_use]
    pub fn new(limit: usize, held_limit: usize, stdio: Stdio) -> Self {
        let mut files = Self {
            descriptors: Slab::default(),
            open: Slab::default(),
            limit,
            interests: 0,
            held: 0,
            held_limit,
            room: u64::MAX,
            sockets: 0,
            socket_limit: 0,
            serves: false,
            host_ends: BTreeSet::new(),
            dialed: BTreeMap::new(),
            news: false,
            stdio: Tracked::new(stdio),
        };
        for (kind, flags) in [(FileKind::Input, 0), (FileKind::Output, 1), (FileKind::Log, 1)] {
            let file = files.add(kind, flags);
            files.attach(file, 0, false).unwrap_or_default();
        }
        files
    }

    /// Sets other bounds. What is over them stays.
    pub fn set_limits(&mut self, descriptors: usize, held: usize) {
        (self.limit, self.held_limit) = (descriptors, held);
    }

    /// Bytes of the host that all of it takes.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.descriptors.end() as u64 * Descriptor::COST
            + self.open.end() as u64 * OpenFile::COST
            + self.interests as u64 * Interest::COST
            + self.held as u64
    }

    /// Sets how many bytes of the host may still be taken.
    pub fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// Bytes that pipes, sockets and texts may still take.
    fn spare(&self) -> usize {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        self.held_limit.saturating_sub(self.held).min(room)
    }

    /// Counts bytes of pipes, sockets and texts that [`Files::spare`] had room for.
    fn hold(&mut self, bytes: usize) {
        self.held += bytes;
        self.room = self.room.saturating_sub(bytes as u64);
    }

    /// What one more descriptor takes, with all slots below it and the description that it may lead to.
    fn cost_of(&self, number: usize) -> u64 {
        let slots = (number + 1).saturating_sub(self.descriptors.end());
        slots as u64 * Descriptor::COST + OpenFile::COST
    }

    /// Makes a description that no descriptor refers to yet. [`Files::attach`] must follow.
    pub fn add(&mut self, kind: FileKind, flags: u32) -> usize {
        self.open.insert(OpenFile {
            kind,
            flags,
            references: 0,
            activity: [1, 1],
            watchers: BTreeSet::new(),
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
        if self.cost_of(from) > self.room {
            self.drop_unused(file);
            return Err(Errno::ENOMEM);
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
        if self.cost_of(number) > self.room {
            return Err(Errno::ENOMEM);
        }
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
        self.forget_interests(file, &closed);
        match &closed.kind {
            FileKind::Socket(socket) => self.drop_socket(socket),
            FileKind::Netlink(_) => self.uncount_socket(),
            FileKind::Stream(Stream {
                names: Some(socket), ..
            }) => self.drop_socket(socket),
            _ => {}
        }
        self.held -= match &closed.kind {
            FileKind::Stream(stream) => stream.buffered,
            FileKind::Text { bytes, .. } => bytes.capacity(),
            FileKind::Granted(granted) => granted.cost(),
            _ => 0,
        };
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
                self.tell_host(peer);
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
        let input = self.input();
        input.into_iter().for_each(|input| self.note(input, READING));
    }

    /// The description that fd 0 of the start refers to, until it is closed.
    fn input(&self) -> Option<usize> {
        self.open
            .iter()
            .find(|(_, open)| open.kind == FileKind::Input)
            .map(|(number, _)| number)
    }

    /// Notes that an eventfd or timer changed, so that edges are seen.
    pub fn note_change(&mut self, file: usize) {
        self.note(file, READING);
        self.note(file, WRITING);
    }
}
