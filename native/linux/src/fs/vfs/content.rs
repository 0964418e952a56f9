//! The bytes of files.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Node, NodeKind, Vfs};
use crate::errno::Errno;
use crate::fs::blocks::Blocks;
use crate::fs::host_file::HostFile;
use crate::state::account::Account;

impl Vfs {
    /// The length of a file (host or memory).
    ///
    /// # Errors
    /// EISDIR for a directory, EINVAL for what has no bytes of its own.
    pub fn length(&self, number: usize) -> Result<u64, Errno> {
        match &self.nodes.get(number).ok_or(Errno::ENOENT)?.kind {
            NodeKind::Host(file) => Ok(file.length()),
            NodeKind::Memory(blocks) => Ok(blocks.length()),
            NodeKind::Directory { .. } => Err(Errno::EISDIR),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The bytes of a file from `offset` on, at most so many.
    ///
    /// # Errors
    /// As [`Vfs::length`].
    pub fn part(&self, number: usize, offset: u64, most: u64) -> Result<Cow<'_, [u8]>, Errno> {
        let range = offset..offset.saturating_add(most);
        match &self.nodes.get(number).ok_or(Errno::ENOENT)?.kind {
            NodeKind::Host(file) => Ok(file.part(range)),
            NodeKind::Memory(blocks) => Ok(blocks.part(range)),
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
            NodeKind::Memory(blocks) => Ok(HostFile::of_guest(Arc::clone(blocks))),
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

    /// A memory file's bytes, with the account that they are counted on. From now on they are changed.
    fn memory_file(&mut self, number: usize, now: u64) -> Result<(&mut Blocks, &mut Account), Errno> {
        match self.nodes.get_mut(number) {
            Some(Node {
                kind: NodeKind::Memory(blocks),
                modified,
                ..
            }) => {
                *modified = now;
                Ok((Arc::make_mut(blocks), &mut self.account))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Sets the length of a memory file.
    ///
    /// # Errors
    /// ENOSPC over the limit, EINVAL for other nodes.
    pub fn set_length(&mut self, number: usize, length: u64, now: u64) -> Result<(), Errno> {
        let old = self.length(number)?;
        let sum = (self.memory_bytes - old.min(self.memory_bytes)).saturating_add(length);
        if length > old && (length > self.memory_limit || sum > self.memory_limit) {
            return Err(Errno::ENOSPC);
        }
        let (blocks, account) = self.memory_file(number, now)?;
        blocks.set_length(length, account)?;
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
        let old = self.length(number)?;
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
        let (blocks, account) = self.memory_file(number, now)?;
        let done = blocks.write(offset, from, account);
        let reached = done.map_or(old, |done| old.max(offset + done as u64));
        if end > reached {
            // Not all of it had room: the file ends with what was written.
            self.set_length(number, reached, now)?;
        }
        done
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
