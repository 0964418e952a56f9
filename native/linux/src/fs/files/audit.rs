//! The tables of open files, checked.

use std::collections::BTreeMap;

use super::{FileKind, Files, HOST_ENDS_MAX, STREAM_BYTES, Stream};
use crate::net::socket::Socket;
use crate::state::ensure::ensure;

impl Files {
    /// How many descriptions hold each node of the file system.
    pub(crate) fn nodes_held(&self) -> BTreeMap<usize, u32> {
        let mut holds = BTreeMap::new();
        for (_, open) in self.open.iter() {
            if let FileKind::Regular { node, .. } | FileKind::Directory { node, .. } = open.kind {
                *holds.entry(node).or_default() += 1;
            }
        }
        holds
    }

    /// Checks that descriptors lead to descriptions, that references, ends of streams and held bytes are counted right, and the limits.
    pub(crate) fn audit(&self) -> Result<(), String> {
        ensure(self.descriptors.end() <= self.limit, || {
            format!(
                "descriptor {} is open, wanted less than {}",
                self.descriptors.end() - 1,
                self.limit
            )
        })?;
        ensure(self.descriptors.agrees() && self.open.agrees(), || {
            "the files' slots are counted wrong".into()
        })?;
        let mut references = BTreeMap::<usize, u32>::new();
        for (number, descriptor) in self.descriptors.iter() {
            ensure(self.open.get(descriptor.file).is_some(), || {
                format!(
                    "descriptor {number} leads to description {}, which is gone",
                    descriptor.file
                )
            })?;
            *references.entry(descriptor.file).or_default() += 1;
        }
        for (_, open) in self.open.iter() {
            if let FileKind::Socket(socket) = &open.kind {
                for waiting in socket.listening.iter().flat_map(|listening| &listening.queue) {
                    *references.entry(*waiting).or_default() += 1;
                }
            }
        }
        for end in &self.host_ends {
            *references.entry(*end).or_default() += 1;
        }
        let (mut held, mut watching, mut sockets) = (0, 0, 0);
        for (file, open) in self.open.iter() {
            let found = references.get(&file).copied().unwrap_or_default();
            ensure(found > 0 && found == open.references, || {
                format!(
                    "description {file} counts {} descriptors, {found} lead to it",
                    open.references
                )
            })?;
            match &open.kind {
                FileKind::Stream(stream) => {
                    held += self.audit_stream(file, stream)?;
                    sockets += usize::from(stream.names.is_some());
                }
                FileKind::Socket(_) | FileKind::Netlink(_) => sockets += 1,
                FileKind::Text { bytes, .. } => held += bytes.capacity(),
                FileKind::Granted(granted) => held += granted.cost(),
                FileKind::Epoll { interests, .. } => {
                    watching += interests.len();
                    for &(number, watched) in interests.keys() {
                        let known = self.open.get(watched);
                        ensure(
                            known.is_some_and(|open| open.watchers.contains(&(file, number))),
                            || {
                                format!(
                                    "epoll set {file} watches description {watched} ({number}), which does not know"
                                )
                            },
                        )?;
                    }
                }
                _ => {}
            }
        }
        let watched: usize = self.open.iter().map(|(_, open)| open.watchers.len()).sum();
        ensure(watching == self.interests && watched == watching, || {
            format!(
                "{} files are counted in epoll sets, {watching} are, and {watched} know of it",
                self.interests
            )
        })?;
        held += sockets * Socket::COST;
        ensure(sockets == self.sockets && sockets <= self.socket_limit, || {
            format!(
                "{} sockets are counted, {sockets} are, wanted at most {}",
                self.sockets, self.socket_limit
            )
        })?;
        let made = self.host_ends.len().saturating_sub(self.dialed.len());
        ensure(made <= HOST_ENDS_MAX, || {
            format!("the host has {made} connections, wanted at most {HOST_ENDS_MAX}")
        })?;
        self.audit_dialed()?;
        ensure(held == self.held && held <= self.held_limit, || {
            format!(
                "{} bytes are counted as held, {held} are, wanted at most {}",
                self.held, self.held_limit
            )
        })?;
        self.stdio.audit()
    }

    fn audit_stream(&self, file: usize, stream: &Stream) -> Result<usize, String> {
        if let Some(peer) = stream.peer {
            let back = match self.open.get(peer).map(|open| &open.kind) {
                Some(FileKind::Stream(other)) => other.peer,
                _ => None,
            };
            ensure(back == Some(file), || {
                format!("the end {peer} of stream {file} leads to {back:?}")
            })?;
        }
        let buffer = stream
            .incoming
            .as_ref()
            .map_or(0, std::collections::VecDeque::capacity);
        let counted = stream.buffered;
        ensure(counted <= STREAM_BYTES && buffer <= counted, || {
            format!("stream {file} has a buffer of {buffer} bytes and counts {counted}")
        })?;
        Ok(counted)
    }
}
