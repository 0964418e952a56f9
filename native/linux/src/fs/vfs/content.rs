//! The bytes of files.

use std::sync::Arc;

use super::{Node, NodeKind, Vfs};
use crate::errno::Errno;
use crate::fs::host_file::HostFile;
use crate::state::account;

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
        self.make_own(number, length as usize)?;
        let (bytes, modified) = self.memory_file(number)?;
        Arc::make_mut(bytes).resize(length as usize, 0);
        *modified = now;
        self.memory_bytes = sum;
        self.shrink(number)
    }

    /// Makes the bytes of a memory file this guest's own, with room for so many. A file that grows has half as much again, or each of
    /// many appended pieces would move it.
    fn make_own(&mut self, number: usize, length: usize) -> Result<(), Errno> {
        let most = usize::try_from(self.memory_limit).unwrap_or(usize::MAX);
        let (bytes, _) = self.memory_file(number)?;
        let (old, kept, shared) = (bytes.capacity(), bytes.len(), Arc::get_mut(bytes).is_none());
        if !shared && old >= length {
            return Ok(());
        }
        let ample = match length > old {
            true => (old + old / 2).min(most).max(length),
            false => kept,
        };
        // Both are there while the bytes move.
        let room = self.account.room();
        let [ample, exact] = [ample, length.max(kept)].map(|wanted| (wanted, account::bytes(wanted)));
        let (wanted, _) = [ample, exact]
            .into_iter()
            .find(|&(_, cost)| cost <= room)
            .ok_or(Errno::ENOSPC)?;
        let (bytes, _) = self.memory_file(number)?;
        match Arc::get_mut(bytes) {
            Some(own) => own.reserve_exact(wanted - kept),
            None => {
                let mut own = Vec::with_capacity(wanted);
                own.extend_from_slice(bytes);
                *bytes = Arc::new(own);
            }
        }
        self.recount(number, old)
    }

    /// Gives back what a memory file has twice and more of.
    fn shrink(&mut self, number: usize) -> Result<(), Errno> {
        let (bytes, _) = self.memory_file(number)?;
        let (old, length) = (bytes.capacity(), bytes.len());
        if length > old / 2 {
            return Ok(());
        }
        if length == 0 {
            *bytes = Arc::default();
        } else {
            Arc::make_mut(bytes).shrink_to_fit();
        }
        self.recount(number, old)
    }

    /// Counts what the bytes of a memory file take, in place of what they took.
    fn recount(&mut self, number: usize, old: usize) -> Result<(), Errno> {
        let (bytes, _) = self.memory_file(number)?;
        let new = bytes.capacity();
        self.account.give(account::bytes(old));
        self.account.count(account::bytes(new));
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
        } else {
            self.make_own(number, old as usize)?;
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
