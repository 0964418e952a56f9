//! What the memory of a snapshot consists of.
//!
//! ```text
//! guest-physical   a base              a program that was derived from it
//! 0                base's file         its own file, from 0            (stubs, top page table)
//! LOW_END          base's file         base's file                     shared by all programs of the base
//! base's end       -                   its own file, from LOW_END      (what differs, and what is new)
//! ```

use std::fs::File;
use std::sync::Arc;

use crate::error::Result;
use crate::sys::{Mapping, Overlay};

/// A run of guest-physical memory whose content is a part of a sealed memory file.
#[derive(Clone, Debug)]
pub(crate) struct BackingSegment {
    pub file: Arc<File>,
    /// Where the run begins in the file.
    pub offset: u64,
    pub start: u64,
    pub end: u64,
}

/// Overlays them on a mapping of guest-physical memory; later ones cover earlier ones.
pub(crate) fn overlay(segments: &[BackingSegment], over: &mut Mapping, how: Overlay) -> Result<()> {
    for segment in segments.iter().filter(|l| l.start < l.end) {
        let length = (segment.end - segment.start) as usize;
        over.overlay(segment.start, (&segment.file, segment.offset), length, how)?;
    }
    Ok(())
}

/// All of them, read-only, as one range of `end` bytes. What has no file is zero: a snapshot that was read from disk leaves empty pages out.
pub(crate) fn image(segments: &[BackingSegment], end: u64) -> Result<Mapping> {
    let mut image = Mapping::anonymous(end as usize)?;
    overlay(segments, &mut image, Overlay::ReadOnly)?;
    Ok(image)
}
