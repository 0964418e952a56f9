//! Descriptions of texts that the personality writes (`/proc/self/maps`), piece by piece.

use std::sync::Arc;

use super::{FileKind, Files, OpenFile};
use crate::errno::Errno;

impl Files {
    /// Makes a description of a text that is empty so far. [`Files::extend_text`] must follow.
    pub fn add_text(&mut self, flags: u32) -> usize {
        let text = FileKind::Text {
            bytes: Arc::default(),
            offset: 0,
        };
        self.add(text, flags)
    }

    /// Where the next piece of a text under way begins, as its last piece said; 0 before that.
    ///
    /// # Errors
    /// EBADF for any other description.
    pub fn text_begun(&self, file: usize) -> Result<u64, Errno> {
        match self.open.get(file) {
            Some(OpenFile {
                kind: FileKind::Text { offset, .. },
                references: 0,
                ..
            }) => Ok(*offset),
            _ => Err(Errno::EBADF),
        }
    }

    /// Adds a piece to a text under way. Without a next one the text is whole, and [`Files::attach`] must follow.
    ///
    /// # Errors
    /// ENOMEM over the limit on bytes held: the description is gone then.
    pub fn extend_text(&mut self, file: usize, piece: &[u8], next: Option<u64>) -> Result<(), Errno> {
        let spare = self.spare();
        let grown = match self.open.get(file).map(|open| &open.kind) {
            Some(FileKind::Text { bytes, .. }) => {
                let (length, old) = (bytes.len() + piece.len(), bytes.capacity());
                // Both are there while the bytes move.
                let fits = |&wanted: &usize| wanted <= old || wanted <= spare;
                let wanted = if length <= old {
                    [old, old]
                } else {
                    [length.max(2 * old), length]
                };
                wanted.into_iter().find(fits)
            }
            _ => Some(0),
        };
        let Some(grown) = grown else {
            self.drop_unused(file);
            return Err(Errno::ENOMEM);
        };
        if let Some(OpenFile {
            kind: FileKind::Text { bytes, offset },
            ..
        }) = self.open.get_mut(file)
        {
            let bytes = Arc::make_mut(bytes);
            let old = bytes.capacity();
            bytes.reserve_exact(grown - bytes.len().min(grown));
            bytes.extend_from_slice(piece);
            *offset = next.unwrap_or(0);
            let grown = bytes.capacity() - old;
            self.hold(grown);
        }
        Ok(())
    }
}
