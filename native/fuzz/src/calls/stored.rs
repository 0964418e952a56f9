//! Kernels in snapshots' files: the state that any calls lead to, as bytes, some of them changed, and read again.
//!
//! What must hold:
//! - nothing panics, whatever the bytes are, and reading them allocates a bounded amount;
//! - a state that is not changed is read again, and gives the same bytes once more;
//! - a kernel of a state that was let through takes any steps as the kernels of guests do, and its tables agree afterwards.

use std::borrow::Cow;
use std::sync::Arc;

use mayfly_linux::fs::host_file::HostFile;
use mayfly_linux::kernel::{Fresh, Kernel, Snapshot};
use mayfly_linux::machine::mock::MockMachine;

use super::guest::{Anywhere, CLOCK, Guest};
use super::{Phase, go_on, new_guest};
use crate::Input;
use crate::meter::measure;

const FRESH: Fresh = Fresh {
    clock: CLOCK,
    seed: [9; 32],
};
/// Most bytes that reading a state of a few KiB may allocate: a slab has as many slots as its highest number.
const READ_BYTES: usize = 256 << 20;

/// A byte chooses the guest, one the length of the steps before, one the count of changes, with a place and a value each; the rest are the
/// steps behind. With the first bit of the second byte set, the bytes behind are the state itself.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let (choice, length, changes) = (input.byte(), input.byte(), input.byte() % 9);
    let changes: Vec<(u16, u8)> = (0..changes)
        .map(|_| (u16::from_le_bytes(input.array()), input.byte()))
        .collect();
    let mut guest = new_guest(choice);
    let mut machine = guest.machine.clone();
    let steps = input.bytes(usize::from(length >> 1));
    go_on(
        &mut guest,
        &mut machine,
        steps,
        Phase::Repeated,
        Kernel::begin_request,
    );
    let lent = guest.lent();
    let Ok(stored) = guest.kernel.clone().snapshot().store(&lent) else {
        return;
    };
    let mut bytes = match length & 1 {
        0 => Cow::Borrowed(&stored),
        _ => Cow::Owned(input.bytes(usize::MAX).to_vec()),
    };
    for (place, value) in &changes {
        let place = usize::from(*place) % bytes.len().max(1);
        if let Some(byte) = bytes.to_mut().get_mut(place) {
            *byte = *value;
        }
    }
    let (read, spent) = measure(|| Snapshot::load(&bytes, &lent, FRESH));
    assert!(spent.bytes <= READ_BYTES, "{spent:?}");
    let snapshot = match read {
        Ok(snapshot) => snapshot,
        Err(why) => {
            let same = *bytes == stored && guest.within_limits && guest.kernel.audit().is_ok();
            assert!(!same, "a state of a guest's own is refused: {why}");
            return;
        }
    };
    let again = snapshot.store(&lent).expect("what was read can be stored");
    let second = Snapshot::load(&again, &lent, FRESH).expect("and read again");
    assert_eq!(second.store(&lent).expect("and stored again"), again);
    // A machine whose pages are others is refused as well.
    if snapshot.allows(machine.pages()).is_ok() {
        go_on_from(&mut guest, &mut machine, snapshot, input.0);
    }
}

fn go_on_from(guest: &mut Guest, machine: &mut MockMachine, snapshot: Snapshot, steps: &[u8]) {
    guest.kernel = Kernel::from_snapshot(&snapshot);
    guest.kernel.set_permits(Some(Arc::new(Anywhere)));
    go_on(guest, machine, steps, Phase::Repeated, Kernel::begin_request);
    guest.kernel.restore(&snapshot);
    assert_eq!(guest.kernel.differences(&snapshot), [""; 0]);
    guest.kernel.audit().expect("tables that agree after a restore");
}

impl Guest {
    /// Its files, as the host has them.
    fn lent(&self) -> Vec<HostFile> {
        self.lent.clone()
    }
}
