//! The state at an instant, the way back to it, and the comparison with it.

use std::fmt::Debug;

use super::Kernel;
use crate::state::step::Step;

/// The state of a kernel at an instant.
#[derive(Clone, Debug)]
pub struct Snapshot(pub(super) Kernel);

impl Kernel {
    /// Takes the state to come back to. The kernel goes on from the same state.
    pub fn snapshot(&mut self) -> Snapshot {
        self.denials.take();
        self.space.mark_clean();
        self.threads.mark_clean();
        self.files.mark_clean();
        self.vfs.mark_clean();
        self.process.mark_clean();
        Snapshot(self.clone())
    }

    /// A kernel in the state of a snapshot.
    #[must_use]
    pub fn from_snapshot(snapshot: &Snapshot) -> Self {
        snapshot.0.clone()
    }

    /// Goes back to the snapshot that this kernel took or was made from, copying what was touched since. Statistics stay.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.restore_but(snapshot, None);
    }

    /// A restore that leaves a step out: for the leak check alone. The kernel is to be dropped afterwards.
    #[cfg(feature = "mutations")]
    pub fn restore_without(&mut self, snapshot: &Snapshot, left_out: Option<Step>) {
        self.restore_but(snapshot, left_out);
    }

    #[inline]
    fn restore_but(&mut self, snapshot: &Snapshot, left_out: Option<Step>) {
        let old = &snapshot.0;
        let does = |step: Step| step.is_done(left_out);
        if does(Step::AddressSpace) {
            self.space.restore(&old.space);
        }
        if does(Step::Threads) {
            self.threads.restore(&old.threads);
        }
        self.files.restore_but(&old.files, left_out);
        self.vfs.restore_but(&old.vfs, left_out);
        if does(Step::Process) {
            self.process.restore(&old.process);
        }
        if does(Step::RunningThread) {
            (self.current, self.loaded) = (old.current, old.loaded);
        }
        if does(Step::Clock) {
            self.clock.clone_from(&old.clock);
            self.paused = old.paused;
        }
        if does(Step::Randomness) {
            self.random.clone_from(&old.random);
        }
        if does(Step::Request) {
            (self.in_flight, self.said) = (old.in_flight, old.said);
            self.calls_left = old.calls_left;
            (self.room, self.waiting) = (old.room, old.waiting);
            self.denials.take();
        }
        if does(Step::LastFault) {
            self.last_fault = old.last_fault;
        }
    }

    /// The parts of the state that differ from a snapshot's: after [`Kernel::restore`], none.
    #[must_use]
    pub fn differences(&self, snapshot: &Snapshot) -> Vec<&'static str> {
        let old = &snapshot.0;
        let parts = [
            ("address space", self.space == old.space),
            ("threads", self.threads == old.threads),
            (
                "running thread",
                (self.current, self.loaded) == (old.current, old.loaded),
            ),
            ("open files", self.files == old.files),
            ("file system", self.vfs == old.vfs),
            ("process", self.process == old.process),
            ("clock", (&self.clock, self.paused) == (&old.clock, old.paused)),
            ("randomness", self.random == old.random),
            (
                "limits",
                (self.limits, self.calls_left, self.room, self.waiting)
                    == (old.limits, old.calls_left, old.room, old.waiting),
            ),
            (
                "request",
                (self.in_flight, self.said, self.last_fault, &self.denials)
                    == (old.in_flight, old.said, old.last_fault, &old.denials),
            ),
        ];
        parts
            .into_iter()
            .filter(|&(_, same)| !same)
            .map(|(part, _)| part)
            .collect()
    }

    /// All state that a restore puts back, by table, to be printed and searched: `Debug` shows every byte and number of it.
    /// Statistics are no state of the guest's.
    #[doc(hidden)]
    #[must_use]
    pub fn tables(&self) -> Vec<(&'static str, Box<dyn Debug + '_>)> {
        // Without `..`: a new field does not compile until it is named here.
        let Self {
            limits,
            space,
            threads,
            current,
            loaded,
            files,
            vfs,
            process,
            clock,
            random,
            jump_when_idle,
            in_flight,
            said,
            paused,
            calls_left,
            room,
            waiting,
            last_fault,
            denials,
            // The host's, and counts for it, which a reset leaves.
            permits: _,
            most_held: _,
            statistics: _,
        } = self;
        let mut parts: Vec<(&'static str, Box<dyn Debug + '_>)> = vec![
            ("limits", Box::new((limits, jump_when_idle))),
            ("address space", Box::new(&**space)),
            ("threads", Box::new(threads.iter().collect::<Vec<_>>())),
            ("running thread", Box::new((current, loaded))),
            ("process", Box::new(&**process)),
            ("clock", Box::new((clock, paused))),
            ("randomness", Box::new(random)),
            (
                "request",
                Box::new((in_flight, said, calls_left, room, waiting, denials)),
            ),
            ("last fault", Box::new(last_fault)),
        ];
        parts.extend(files.tables());
        parts.extend(vfs.tables());
        parts
    }
}

impl Snapshot {
    /// As [`Kernel::tables`].
    #[doc(hidden)]
    #[must_use]
    pub fn tables(&self) -> Vec<(&'static str, Box<dyn Debug + '_>)> {
        self.0.tables()
    }
}
