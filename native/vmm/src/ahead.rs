//! Pages that a fork copies before its first request, because requests of other forks of its snapshot wrote to them.
//!
//! A page that a request writes to first costs an exit, and twice the host's work where it was read before: it is mapped, and then copied
//! behind the backs of all machines of the process. Copied ahead, many at once, it costs a tenth. It is a guess and no more: the pages hold
//! the snapshot's bytes either way, and a reset finds for itself which pages are private.

use std::sync::{Mutex, PoisonError};

use crate::dirty::Run;
use crate::sys::Mapping;

/// Most pages that are copied ahead: what a large request wrote to is not every fork's to hold.
const MOST_PAGES: u64 = 512;

/// What forks of a snapshot last wrote to.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    runs: Mutex<Vec<Run>>,
}

impl Ahead {
    /// Notes the working set of a fork, of so many pages.
    pub fn note(&self, runs: &[Run], pages: u64) {
        if pages <= MOST_PAGES {
            let mut noted = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            noted.clear();
            noted.extend_from_slice(runs);
        }
    }

    /// Copies the pages in a fork's memory. What the host's kernel does not do for it, requests do.
    pub fn copy(&self, memory: &Mapping) {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for run in runs {
            memory.copy_ahead(run.start, run.length as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::layout::PAGE;

    use super::*;

    #[test]
    fn what_a_large_request_wrote_to_is_not_copied_ahead() {
        let ahead = Ahead::default();
        let runs = |pages: u64| {
            vec![Run {
                start: 0,
                length: pages * PAGE,
            }]
        };
        ahead.note(&runs(3), 3);
        ahead.note(&runs(MOST_PAGES + 1), MOST_PAGES + 1);
        assert_eq!(*ahead.runs.lock().unwrap(), runs(3));
    }
}
