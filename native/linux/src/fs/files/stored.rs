//! Open files that were read from a snapshot's file: what is counted again, and what is checked.

use std::collections::VecDeque;

use super::{FileKind, Files, O_PATH, Stream};
use crate::net::socket::{BACKLOG_MAX, Socket};
use crate::state::ensure::ensure;

/// Largest offset in a file, as `lseek` has it.
const OFFSET_MAX: u64 = i64::MAX as u64;

impl Files {
    /// Counts again what the files take of the host, as buffers are of other sizes now.
    pub(crate) fn recount(&mut self) {
        let mut held = 0;
        for file in 0..self.open.end() {
            let Some(open) = self.open.get_mut(file) else {
                continue;
            };
            held += match &mut open.kind {
                FileKind::Stream(stream) => {
                    let buffer = stream.incoming.as_mut().map_or(0, |bytes| {
                        bytes.shrink_to_fit();
                        bytes.capacity()
                    });
                    stream.buffered = stream.buffered.max(buffer);
                    stream.buffered
                }
                FileKind::Text { bytes, .. } => bytes.capacity(),
                FileKind::Granted(granted) => granted.cost(),
                _ => 0,
            };
        }
        self.held = held + self.sockets * Socket::COST;
        (self.room, self.news) = (u64::MAX, false);
        self.mark_clean();
    }

    /// Connections of the host that are open: their other ends are no state of the guest's.
    pub(crate) fn count_host_ends(&self) -> usize {
        self.host_ends.len()
    }

    /// What [`Files::audit`] takes for granted.
    pub(crate) fn audit_stored(&self) -> Result<(), String> {
        for (file, open) in self.open.iter() {
            let good = match &open.kind {
                FileKind::Regular { offset, .. } | FileKind::Text { offset, .. } => *offset <= OFFSET_MAX,
                FileKind::Event { count, .. } => *count < u64::MAX,
                FileKind::Netlink(netlink) => netlink.is_sound(),
                FileKind::Socket(socket) => self.is_sound(file, socket),
                FileKind::Stream(stream) => {
                    let names = stream.names.as_deref();
                    stream.peer != Some(file)
                        && names.is_none_or(|names| names.listening.is_none() && !names.connecting)
                        && stream.incoming.as_ref().map_or(0, VecDeque::len) <= stream.buffered
                }
                FileKind::Input
                | FileKind::Output
                | FileKind::Log
                | FileKind::Directory { .. }
                | FileKind::Device(_)
                | FileKind::Timer { .. }
                | FileKind::Epoll { .. } => true,
                // No file holds one.
                FileKind::Granted(_) => false,
            };
            ensure(good, || format!("description {file} cannot be: {:?}", open.kind))?;
        }
        self.stdio.audit()
    }

    fn is_sound(&self, file: usize, socket: &Socket) -> bool {
        let is_waiting = |other: &usize| {
            matches!(
                self.open.get(*other).map(|open| &open.kind),
                Some(FileKind::Stream(Stream { socket: true, .. }))
            ) && *other != file
        };
        socket.listening.as_ref().is_none_or(|listening| {
            listening.backlog <= BACKLOG_MAX && listening.queue.iter().all(is_waiting)
        })
    }

    /// Whether a description is a directory's, a file's, or neither, as its node is.
    pub(crate) fn audit_nodes(&self, is_directory: impl Fn(usize) -> bool) -> Result<(), String> {
        for (file, open) in self.open.iter() {
            let good = match open.kind {
                FileKind::Regular { node, .. } => open.flags & O_PATH != 0 || !is_directory(node),
                FileKind::Directory { node, .. } => is_directory(node),
                _ => true,
            };
            ensure(good, || {
                format!("description {file} is another kind than its node")
            })?;
        }
        Ok(())
    }
}
