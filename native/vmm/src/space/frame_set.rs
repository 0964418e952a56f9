//! A set of frames.

use crate::layout::PAGE;

/// A set of frames, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameSet(Vec<u64>);

impl FrameSet {
    /// Adds a frame; false if it was there.
    pub fn insert(&mut self, frame: u64) -> bool {
        let (word, bit) = ((frame / PAGE / 64) as usize, frame / PAGE % 64);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] >> bit & 1 == 0;
        self.0[word] |= 1 << bit;
        new
    }

    pub fn remove(&mut self, frame: u64) {
        if let Some(word) = self.0.get_mut((frame / PAGE / 64) as usize) {
            *word &= !(1 << (frame / PAGE % 64));
        }
    }

    pub fn contains(&self, frame: u64) -> bool {
        self.0
            .get((frame / PAGE / 64) as usize)
            .is_some_and(|w| w >> (frame / PAGE % 64) & 1 == 1)
    }
}
