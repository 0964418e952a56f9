//! The tables put back to their reference, and shown to the leak check.

use std::fmt::Debug;

use super::Files;
use crate::state::step::Step;

impl Files {
    /// Notes that all state is now the reference.
    pub fn mark_clean(&mut self) {
        self.descriptors.mark_clean();
        self.open.mark_clean();
        self.stdio.mark_clean();
    }

    /// Makes all state equal to `reference`'s, copying only what was touched. `left_out` is for the leak check.
    #[inline]
    pub(crate) fn restore_but(&mut self, reference: &Self, left_out: Option<Step>) {
        if Step::Descriptors.is_done(left_out) {
            self.descriptors.restore(&reference.descriptors);
        }
        if Step::OpenFiles.is_done(left_out) {
            self.open.restore(&reference.open);
            self.interests = reference.interests;
            (self.sockets, self.serves, self.news) = (reference.sockets, reference.serves, reference.news);
            if self.host_ends != reference.host_ends {
                self.host_ends.clone_from(&reference.host_ends);
            }
            if self.dialed != reference.dialed {
                self.dialed.clone_from(&reference.dialed);
            }
        }
        if Step::Streams.is_done(left_out) {
            self.stdio.restore(&reference.stdio);
        }
        if Step::HeldBytes.is_done(left_out) {
            (self.held, self.room) = (reference.held, reference.room);
        }
        (self.limit, self.held_limit, self.socket_limit) =
            (reference.limit, reference.held_limit, reference.socket_limit);
    }

    /// All state by table, for the leak check.
    pub(crate) fn tables(&self) -> Vec<(&'static str, Box<dyn Debug + '_>)> {
        // Without `..`: a new field does not compile until it is named here.
        let Self {
            descriptors,
            open,
            limit,
            interests,
            held,
            held_limit,
            room,
            sockets,
            socket_limit,
            serves,
            host_ends,
            dialed,
            news,
            stdio,
        } = self;
        vec![
            ("descriptors", Box::new(descriptors.iter().collect::<Vec<_>>())),
            ("open files", Box::new(open.iter().collect::<Vec<_>>())),
            ("standard streams", Box::new(&**stdio)),
            ("bytes held", Box::new((held, limit, held_limit, interests, room))),
            (
                "sockets",
                Box::new((sockets, socket_limit, serves, host_ends, dialed, news)),
            ),
        ]
    }
}
