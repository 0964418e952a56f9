//! What of a host a program has seen, or depends on: a snapshot goes on only where it is the same.

use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};

use serde::{Deserialize, Serialize};

use crate::flavour::{Entry, Flavour, Flush};

/// Leaves whose numbers are a CPU model's and not a core's: features, and the layout of what a guest's XCR0 may have. Few: in a virtual
/// machine each costs an exit.
const LEAVES: [(u32, u32); 13] = [
    (0, 0),
    (1, 0),
    (7, 0),
    (7, 1),
    (0xd, 0),
    (0xd, 1),
    (0xd, 2),
    (0xd, 5),
    (0xd, 6),
    (0xd, 7),
    (0xd, 9),
    (0x8000_0001, 0),
    (0x8000_0008, 0),
];

/// The facts. Equal facts: a snapshot of one host runs on the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// The CPU's name.
    cpu: String,
    /// What CPUID tells the host itself, and what KVM lets a guest have: function, index, EAX EBX ECX EDX.
    host_leaves: Vec<(u32, u32, [u32; 4])>,
    guest_leaves: Vec<(u32, u32, [u32; 4])>,
    /// `syscall` stays in ring 3.
    syscall_in_ring_3: bool,
    /// Translations are flushed by a reload of CR3.
    flush_by_cr3: bool,
    xcr0: u64,
    xsave_bytes: usize,
}

impl HostFacts {
    /// Those of this host: how its KVM behaves, a guest's XCR0 and bytes of vector registers, and what `guest` is told by CPUID.
    pub(crate) fn of(
        flavour: Flavour,
        (xcr0, xsave_bytes): (u64, usize),
        guest: &dyn Fn(u32, u32) -> [u32; 4],
    ) -> HostFacts {
        let indexes = LEAVES.iter().copied();
        let highest = [0, 0x8000_0000].map(|range| __get_cpuid_max(range).0);
        let own = |leaf: u32, index| {
            if leaf > highest[usize::from(leaf >= 0x8000_0000)] {
                return [0; 4];
            }
            let r = __cpuid_count(leaf, index);
            [r.eax, r.ebx, r.ecx, r.edx]
        };
        let told = |of: &dyn Fn(u32, u32) -> [u32; 4]| {
            let leaves = indexes
                .clone()
                .map(|(leaf, index)| (leaf, index, of_model(leaf, index, of(leaf, index))));
            leaves.collect()
        };
        HostFacts {
            cpu: name(&own),
            host_leaves: told(&own),
            guest_leaves: told(guest),
            syscall_in_ring_3: flavour.entry == Entry::Ring3,
            flush_by_cr3: flavour.flush == Flush::ReloadCr3,
            xcr0,
            xsave_bytes,
        }
    }

    /// What of `self`, a snapshot's, is otherwise on this host.
    pub fn difference(&self, here: &HostFacts) -> Option<String> {
        if self.cpu != here.cpu {
            return Some(format!(
                "it was made on the CPU {:?}, this is {:?}",
                self.cpu, here.cpu
            ));
        }
        let leaves = self.host_leaves.iter().zip(&here.host_leaves);
        let leaves = leaves.chain(self.guest_leaves.iter().zip(&here.guest_leaves));
        let other = leaves.into_iter().find(|(then, now)| then != now);
        if let Some(((leaf, index, then), (.., now))) = other {
            return Some(format!(
                "the CPU's features are others: CPUID {leaf:#x}.{index} was {then:x?} and is {now:x?}"
            ));
        }
        let same = self.host_leaves.len() == here.host_leaves.len()
            && self.guest_leaves.len() == here.guest_leaves.len();
        if (self.syscall_in_ring_3, self.flush_by_cr3) != (here.syscall_in_ring_3, here.flush_by_cr3) {
            return Some("it was made on another kind of KVM".into());
        }
        let state = (self.xcr0, self.xsave_bytes) != (here.xcr0, here.xsave_bytes);
        (state || !same).then(|| "the CPU's vector registers are others".into())
    }
}

/// A leaf without what differs among the cores of one CPU, or follows what the kernel has turned on.
fn of_model(leaf: u32, index: u32, [eax, ebx, ecx, edx]: [u32; 4]) -> [u32; 4] {
    match (leaf, index) {
        // The core's number; OSXSAVE and OSPKE.
        (1, _) => [eax, ebx & 0xffff, ecx & !(1 << 27), edx],
        (7, 0) => [eax, ebx, ecx & !(1 << 4), edx],
        // The size of what XCR0 and XSS have on now.
        (0xd, 0 | 1) => [eax, 0, ecx, edx],
        // The number of cores.
        (0x8000_0008, _) => [eax, ebx, 0, 0],
        _ => [eax, ebx, ecx, edx],
    }
}

fn name(own: &dyn Fn(u32, u32) -> [u32; 4]) -> String {
    let words = (0x8000_0002..=0x8000_0004).flat_map(|leaf| own(leaf, 0));
    let bytes: Vec<u8> = words
        .flat_map(u32::to_le_bytes)
        .filter(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
