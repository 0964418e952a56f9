//! The tree put back to its reference, and shown to the leak check.

use std::fmt::Debug;

use super::Vfs;
use crate::state::step::Step;

impl Vfs {
    /// Notes that all nodes are now the reference.
    pub fn mark_clean(&mut self) {
        self.nodes.mark_clean();
    }

    /// Makes the tree equal to `reference`'s, copying only nodes that were touched.
    pub fn restore(&mut self, reference: &Self) {
        self.restore_but(reference, None);
    }

    /// [`Vfs::restore`], but for one step. `left_out` is for the leak check.
    #[inline]
    pub(crate) fn restore_but(&mut self, reference: &Self, left_out: Option<Step>) {
        if Step::FileTree.is_done(left_out) {
            self.nodes.restore(&reference.nodes);
        }
        if Step::FileBytes.is_done(left_out) {
            self.memory_bytes = reference.memory_bytes;
            self.account.clone_from(&reference.account);
        }
        self.memory_limit = reference.memory_limit;
    }

    /// All state by table, for the leak check.
    pub(crate) fn tables(&self) -> Vec<(&'static str, Box<dyn Debug + '_>)> {
        // Without `..`: a new field does not compile until it is named here.
        let Self {
            nodes,
            memory_bytes,
            memory_limit,
            node_limit,
            account,
        } = self;
        vec![
            ("file tree", Box::new(nodes.iter().collect::<Vec<_>>())),
            (
                "bytes of files",
                Box::new((memory_bytes, memory_limit, node_limit, account)),
            ),
        ]
    }
}
