//! The tree's invariants, checked.

use super::VmaTree;
use crate::machine::{PAGE, USER_END, USER_START};
use crate::state::ensure::ensure;

impl VmaTree {
    /// Checks the invariants that the type names, and that all mappings lie in user space.
    ///
    /// # Errors
    /// The first mapping that is not as it must be.
    pub fn audit(&self) -> Result<(), String> {
        let mut sum = 0;
        let mut last: Option<(u64, &super::Mapping)> = None;
        for (&start, mapping) in &self.map {
            let end = mapping.end;
            let aligned = start.is_multiple_of(PAGE) && end.is_multiple_of(PAGE);
            ensure(aligned && start < end, || {
                format!("a mapping of {start:#x}..{end:#x}")
            })?;
            ensure(USER_START <= start && end <= USER_END, || {
                format!("{start:#x}..{end:#x} is mapped outside of user space")
            })?;
            if let Some((before, last)) = last {
                ensure(last.end <= start, || format!("two mappings at {start:#x}"))?;
                ensure(last.end < start || !last.continues_in(before, mapping), || {
                    format!("the mapping at {start:#x} could be one with the mapping before it")
                })?;
            }
            sum += end - start;
            last = Some((start, mapping));
        }
        ensure(sum == self.reserved, || {
            format!("{} bytes are counted as mapped, {sum} are", self.reserved)
        })?;
        let starts = self.map.keys().copied().chain([USER_END]);
        let ends = [USER_START]
            .into_iter()
            .chain(self.map.values().map(|mapping| mapping.end));
        self.gaps
            .audit(ends.zip(starts).filter(|(end, start)| end < start))?;
        let versions = super::Versions::of(self.map.values().map(|mapping| &mapping.source));
        ensure(versions == self.versions, || {
            format!("mappings keep {versions:?}, counted are {:?}", self.versions)
        })
    }
}
