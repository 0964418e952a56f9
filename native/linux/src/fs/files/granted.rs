//! Descriptions of files that lie in granted folders.

use super::{FileKind, Files, OpenFile};
use crate::errno::Errno;
use crate::fs::granted::GrantedFile;

impl Files {
    /// Makes a description of such a file. [`Files::attach`] must follow.
    ///
    /// # Errors
    /// ENOMEM over the limit on bytes held.
    pub fn add_granted(&mut self, file: GrantedFile, flags: u32) -> Result<usize, Errno> {
        let cost = file.cost();
        if cost > self.spare() {
            return Err(Errno::ENOMEM);
        }
        self.hold(cost);
        Ok(self.add(FileKind::Granted(Box::new(file)), flags))
    }

    /// The file behind a description, if it lies in a granted folder.
    #[must_use]
    pub fn granted(&self, file: usize) -> Option<&GrantedFile> {
        match &self.open.get(file)?.kind {
            FileKind::Granted(granted) => Some(granted),
            _ => None,
        }
    }

    /// Sets where the next read, write or listing starts.
    pub fn set_granted_offset(&mut self, file: usize, to: u64) {
        if let Some(OpenFile {
            kind: FileKind::Granted(granted),
            ..
        }) = self.open.get_mut(file)
        {
            granted.offset = to;
        }
    }

    /// How many such files are open: no snapshot's file can hold them.
    pub(crate) fn count_granted(&self) -> usize {
        let granted = |open: &OpenFile| matches!(open.kind, FileKind::Granted(_));
        self.open.iter().filter(|(_, open)| granted(open)).count()
    }
}
