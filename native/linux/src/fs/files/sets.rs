//! Epoll sets: which files each watches, and which sets watch a file.

use super::{FileKind, Files, Interest, OpenFile, event};
use crate::bounds::INTERESTS;
use crate::errno::Errno;

/// Most sets that are within others.
const NESTED_MAX: usize = 64;

impl Files {
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
        if file == epoll || !self.is_set(epoll) {
            return Err(Errno::EINVAL);
        }
        match self.open.get(file).ok_or(Errno::EBADF)?.kind {
            FileKind::Regular { .. }
            | FileKind::Directory { .. }
            | FileKind::Text { .. }
            | FileKind::Granted(_)
            | FileKind::Device(_) => {
                return Err(Errno::EPERM);
            }
            FileKind::Epoll { .. } if operation == 1 => self.may_nest(epoll, file)?,
            _ => {}
        }
        let full = self.interests >= self.limit * INTERESTS;
        let crowded = Interest::COST > self.room;
        let Some(OpenFile {
            kind: FileKind::Epoll { interests, .. },
            ..
        }) = self.open.get_mut(epoll)
        else {
            return Err(Errno::EINVAL);
        };
        let key = (fd as i32, file);
        let interest = Interest {
            events: events & !event::ROOM,
            data,
            seen: [0, 0],
            fresh: true,
        };
        match operation {
            1 if interests.contains_key(&key) => Err(Errno::EEXIST),
            1 if full => Err(Errno::ENOSPC),
            1 if crowded => Err(Errno::ENOMEM),
            1 => {
                interests.insert(key, interest);
                self.interests += 1;
                if let Some(open) = self.open.get_mut(file) {
                    open.watchers.insert((epoll, key.0));
                }
                Ok(())
            }
            2 => {
                interests.remove(&key).ok_or(Errno::ENOENT)?;
                self.interests -= 1;
                if let Some(open) = self.open.get_mut(file) {
                    open.watchers.remove(&(epoll, key.0));
                }
                Ok(())
            }
            3 => interests
                .get_mut(&key)
                .map(|old| *old = interest)
                .ok_or(Errno::ENOENT),
            _ => Err(Errno::EINVAL),
        }
    }

    fn is_set(&self, file: usize) -> bool {
        matches!(
            self.open.get(file),
            Some(OpenFile {
                kind: FileKind::Epoll { .. },
                ..
            })
        )
    }

    /// Whether one set may be put into another: only if that is in none, and itself has none.
    fn may_nest(&self, outer: usize, inner: usize) -> Result<(), Errno> {
        let watchers = |file| self.open.get(file).map_or(0, |open| open.watchers.len());
        let has_sets = match self.open.get(inner).map(|open| &open.kind) {
            Some(FileKind::Epoll { interests, .. }) => interests.keys().any(|&(_, file)| self.is_set(file)),
            _ => false,
        };
        if has_sets || watchers(outer) > 0 {
            return Err(Errno::ELOOP);
        }
        let sets = self.open.iter().filter(|&(file, _)| self.is_set(file));
        if sets.map(|(file, _)| watchers(file)).sum::<usize>() >= NESTED_MAX {
            Err(Errno::ENOSPC)
        } else {
            Ok(())
        }
    }

    /// Takes a description that is no more out of the sets that watch it, and what it watches out of itself.
    pub(super) fn forget_interests(&mut self, file: usize, closed: &OpenFile) {
        self.interests -= closed.watchers.len();
        for &(set, number) in &closed.watchers {
            if let Some(OpenFile {
                kind: FileKind::Epoll { interests, .. },
                ..
            }) = self.open.get_mut(set)
            {
                interests.remove(&(number, file));
            }
        }
        if let FileKind::Epoll { interests, .. } = &closed.kind {
            self.interests -= interests.len();
            for &(number, watched) in interests.keys() {
                if let Some(open) = self.open.get_mut(watched) {
                    open.watchers.remove(&(file, number));
                }
            }
        }
    }

    /// By description, whether to wait for it is to wait for the host: fd 0, sockets that listen to the host and connections of its, the sets
    /// that watch one of them, and the sets that watch those. What lies behind the end is none.
    #[must_use]
    pub fn input_watchers(&self) -> Vec<bool> {
        let mut next = self.hosts();
        next.extend(self.input());
        if next.is_empty() {
            return Vec::new();
        }
        let mut found = vec![false; self.open.end()];
        for _ in 0..=super::ready::EPOLL_DEPTH {
            let files: Vec<usize> = std::mem::take(&mut next);
            for file in files {
                if !std::mem::replace(&mut found[file], true)
                    && let Some(open) = self.open.get(file)
                {
                    next.extend(open.watchers.iter().map(|&(set, _)| set));
                }
            }
        }
        found
    }
}
