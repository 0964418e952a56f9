//! The bytes of files.

use std::sync::Arc;

use super::{Node, NodeKind, Vfs};
use crate::errno::Errno;
use crate::host_file::HostFile;

impl Vfs {
    /// The bytes of a file (host or memory).
    ///
    /// # Errors
    /// EISDIR for a directory, EINVAL for what has no bytes of its own.
    pub fn bytes(&self, number: usize) -> Result<&[u8], Errno> {
        match &self.nodes.get(number).ok_or(Errno::ENOENT)?.kind {
            NodeKind::Host(file) => Ok(file.bytes()),
            NodeKind::Memory(bytes) => Ok(bytes),
            NodeKind::Directory { .. } => Err(Errno::EISDIR),
            _ => Err(Errno::EINVAL),
        }
    }

    /// What a mapping of the file shows: the host file, or the bytes as they are now.
    ///
    /// # Errors
    /// ENODEV for anything but a file.
    pub fn mappable(&self, number: usize) -> Result<HostFile, Errno> {
        match &self.nodes.get(number).ok_or(Errno::EBADF)?.kind {
            NodeKind::Host(file) => Ok(file.clone()),
            NodeKind::Memory(bytes) => Ok(HostFile::of_guest(Arc::clone(bytes))),
            _ => Err(Errno::ENODEV),
        }
    }

    /// Whether the guest may write to the node's bytes.
    #[must_use]
    pub fn is_writable(&self, number: usize) -> bool {
        match self.nodes.get(number).map(|node| &node.kind) {
            Some(NodeKind::Memory(_) | NodeKind::Device(_)) => true,
            Some(NodeKind::Directory { writable, .. }) => *writable,
            _ => false,
        }
    }

    /// A memory file's bytes, and when they were changed.
    fn memory_file(&mut self, number: usize) -> Result<(&mut Arc<Vec<u8>>, &mut u64), Errno> {
        match self.nodes.get_mut(number) {
            Some(Node {
                kind: NodeKind::Memory(bytes),
                modified,
                ..
            }) => Ok((bytes, modified)),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Sets the length of a memory file.
    ///
    /// # Errors
    /// ENOSPC over the limit, EINVAL for other nodes.
    pub fn set_length(&mut self, number: usize, length: u64, now: u64) -> Result<(), Errno> {
        let old = self.bytes(number)?.len() as u64;
        let sum = (self.memory_bytes - old.min(self.memory_bytes)).saturating_add(length);
        if length > old && (length > self.memory_limit || sum > self.memory_limit) {
            return Err(Errno::ENOSPC);
        }
        let (bytes, modified) = self.memory_file(number)?;
        Arc::make_mut(bytes).resize(length as usize, 0);
        *modified = now;
        self.memory_bytes = sum;
        Ok(())
    }

    /// Writes into a memory file at `offset`, as many of the bytes as the limit allows.
    ///
    /// # Errors
    /// ENOSPC when not one byte fits, EINVAL for other nodes.
    pub fn write_at(&mut self, number: usize, offset: u64, from: &[u8], now: u64) -> Result<usize, Errno> {
        if from.is_empty() {
            return Ok(0);
        }
        let old = self.bytes(number)?.len() as u64;
        let room = self.memory_limit.saturating_sub(self.memory_bytes) + old;
        let end = offset
            .checked_add(from.len() as u64)
            .ok_or(Errno::EFBIG)?
            .min(room.max(old));
        if end <= offset {
            return Err(Errno::ENOSPC);
        }
        if end > old {
            self.set_length(number, end, now)?;
        }
        let (bytes, modified) = self.memory_file(number)?;
        let count = (end - offset) as usize;
        Arc::make_mut(bytes)[offset as usize..end as usize].copy_from_slice(&from[..count]);
        *modified = now;
        Ok(count)
    }

    /// Sets permission bits.
    ///
    /// # Errors
    /// EROFS for what the guest may not write.
    pub fn set_mode(&mut self, number: usize, mode: u32) -> Result<(), Errno> {
        if !self.is_writable(number) {
            return Err(Errno::EROFS);
        }
        if let Some(node) = self.nodes.get_mut(number) {
            node.mode = mode & 0o7777;
        }
        Ok(())
    }
}
