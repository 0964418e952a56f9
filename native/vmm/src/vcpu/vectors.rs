//! The vector registers: all that XSAVE knows, x87 and MXCSR included.
//!
//! A reset loads the snapshot's. `KVM_SET_XSAVE` would take 5 us of a request's 45 (PVM), so the guest does it: its first entry
//! leads to a stub of ring 3 that executes `xrstor` and jumps to the program.
//!
//! ```text
//!          reset                 entry                    exit, of whichever kind
//! Loaded ────────> Due ──> vector stub, program ──> Loaded
//!                   │        └─ kicked in the stub ──> Due: nothing of the program ran
//!                   │        └─ refused ──> KVM_SET_XSAVE, and the program is entered directly
//!                   └─ set by the owner ──> Loaded
//! ```
//!
//! While they are due KVM holds those of the request before. Nobody is shown them: whoever asks is given the snapshot's.

use std::arch::x86_64::__cpuid_count;
use std::sync::Arc;

use kvm_bindings::kvm_xsave;

use super::{Registers, Vcpu, XsaveArea};
use crate::error::{Error, Result, kvm};
use crate::flavour::Entry;
use crate::host::Host;
use crate::layout::{VECTOR_DATA, VECTOR_SLOTS, VECTOR_STUB};
use crate::memory::Memory;
use crate::stubs;

/// The header of an XSAVE image: XSTATE_BV; then XCOMP_BV and reserved words, all zero in the standard format.
const COMPONENTS: std::ops::Range<usize> = 512..520;
const HEADER_REST: std::ops::Range<usize> = 520..576;
/// EFLAGS.TF.
const TRAP_FLAG: u64 = 1 << 8;

/// A snapshot's vector registers in the two forms in which they are loaded.
#[derive(Debug)]
pub(crate) struct VectorImage {
    area: Box<kvm_xsave>,
    /// As the vector stub loads it, where it may.
    by_stub: Option<XsaveArea>,
}

impl VectorImage {
    /// Of an image that KVM gave.
    pub fn new(host: &Host, image: &[u8]) -> VectorImage {
        VectorImage {
            area: Box::new(xsave_area(image)),
            by_stub: stub_image(image, host.xcr0()).filter(|_| ring_3_loads_vectors(host)),
        }
    }

    /// Lays it where the stub loads it from.
    pub fn install(&self, memory: &mut Memory) -> Result<()> {
        match &self.by_stub {
            Some(image) => {
                memory.zero(VECTOR_DATA)?;
                memory.write(VECTOR_DATA, 0, image)
            }
            None => Ok(()),
        }
    }

    /// Whether the stub loads it.
    #[cfg(test)]
    pub fn is_by_stub(&self) -> bool {
        self.by_stub.is_some()
    }
}

/// An image that `xrstor` takes in a guest with this XCR0: components that the guest does not have left out. `None` where it has no
/// place in front of the slots, or is not in the standard format.
fn stub_image(image: &[u8], xcr0: u64) -> Option<XsaveArea> {
    let standard = image.get(HEADER_REST)?.iter().all(|b| *b == 0);
    if !standard || image.len() > VECTOR_SLOTS as usize {
        return None;
    }
    let mut image = image.to_vec();
    let components = u64::from_le_bytes(image[COMPONENTS].try_into().ok()?) & xcr0;
    image[COMPONENTS].copy_from_slice(&components.to_le_bytes());
    Some(image)
}

/// Whether ring 3 can read the image whatever the program did. Where `syscall` stays in ring 3 the guest has the host's CR4, and
/// with protection keys on a program may deny itself all memory. Elsewhere they are off.
fn ring_3_loads_vectors(host: &Host) -> bool {
    let keys = __cpuid_count(7, 0).ecx >> 4 & 1 == 1;
    host.flavour().entry == Entry::Ring0 || !keys
}

/// Where the program's vector registers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vectors {
    /// With KVM.
    Loaded,
    /// In the image: the next entry loads them.
    Due,
}

/// What the program is entered with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    pub user: Registers,
    /// By the vector stub.
    pub by_stub: bool,
}

impl Entered {
    /// Whether the program, now at `rip`, was never reached. (One that jumps back into the stub starts again where it was entered.)
    pub fn is_not_past_stub(&self, rip: u64) -> bool {
        self.by_stub && stubs::in_vector_stub(rip)
    }
}

impl Vcpu {
    /// Gives it the image that resets load.
    pub fn adopt(&mut self, image: &Arc<VectorImage>) {
        self.image = Some(image.clone());
    }

    /// Copies the program's vector registers.
    pub fn xsave(&self, into: &mut XsaveArea) -> Result<()> {
        if self.vectors == Vectors::Loaded {
            return self.xsave_of_kvm(into);
        }
        let image = self.due()?;
        copy_area(&image.area, self.xsave_length, into);
        Ok(())
    }

    /// Copies what KVM holds, the program's or not.
    pub(super) fn xsave_of_kvm(&self, into: &mut XsaveArea) -> Result<()> {
        let area = self.fd.get_xsave().map_err(kvm("read the vector registers"))?;
        copy_area(&area, self.xsave_length, into);
        Ok(())
    }

    /// An error of EINVAL means that the image holds what no CPU accepts; nothing changed.
    pub fn set_xsave(&mut self, image: &[u8]) -> Result<()> {
        self.set_area(&xsave_area(image))
    }

    fn set_area(&mut self, area: &kvm_xsave) -> Result<()> {
        // SAFETY: without permission for AMX, which this process never asks for, the kernel reads 4096 bytes: the size of
        // `region`.
        unsafe { self.fd.set_xsave(area) }.map_err(kvm("set the vector registers"))?;
        self.vectors = Vectors::Loaded;
        Ok(())
    }

    fn due(&self) -> Result<Arc<VectorImage>> {
        self.image.clone().ok_or(Error::Broken {
            what: "a vCPU without the image that it is to load",
        })
    }

    /// The vector registers are the image's from now on.
    pub(super) fn load_image(&mut self) -> Result<()> {
        match &self.image {
            Some(image) if image.by_stub.is_some() => {
                self.vectors = Vectors::Due;
                Ok(())
            }
            Some(_) | None => self.load_image_by_kvm(),
        }
    }

    #[cfg(test)]
    pub fn vectors_are_due(&self) -> bool {
        self.vectors == Vectors::Due
    }

    /// Without the stub.
    pub(super) fn load_image_by_kvm(&mut self) -> Result<()> {
        let image = self.due()?;
        self.set_area(&image.area)
    }

    /// Before an entry with the registers `user`: the registers to enter with, and whether they lead through the vector stub.
    #[inline]
    pub(super) fn enter_by_stub(&mut self, memory: &mut Memory) -> Result<(Registers, bool)> {
        let user = self.user;
        if self.vectors == Vectors::Loaded {
            return Ok((user, false));
        }
        // A trap after the stub's first instruction would be told to the program.
        if user.rflags & TRAP_FLAG != 0 {
            self.load_image_by_kvm()?;
            return Ok((user, false));
        }
        stubs::set_vector_slots(memory, [user.rip, user.rax, user.rdx]);
        let all = u64::from(u32::MAX);
        let regs = Registers {
            rip: VECTOR_STUB,
            rax: all,
            rdx: all,
            ..user
        };
        Ok((regs, true))
    }
}

/// The kernel's form of a vector state image.
fn xsave_area(image: &[u8]) -> kvm_xsave {
    let mut area = kvm_xsave::default();
    for (word, bytes) in area.region.iter_mut().zip(image.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    area
}

/// Its first `length` bytes.
fn copy_area(area: &kvm_xsave, length: usize, into: &mut XsaveArea) {
    into.clear();
    into.extend(area.region.iter().flat_map(|w| w.to_le_bytes()).take(length));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stubs_image_has_no_component_that_the_guest_lacks() {
        let mut image = vec![7; 2696];
        image[HEADER_REST].fill(0);
        image[COMPONENTS].copy_from_slice(&0x6_02e7_u64.to_le_bytes());
        let stubs = stub_image(&image, 0x67).unwrap();
        assert_eq!(stubs[COMPONENTS], 0x67_u64.to_le_bytes());
        assert!((0..2696).all(|i| COMPONENTS.contains(&i) || stubs[i] == image[i]));
    }

    #[test]
    fn an_image_that_xrstor_refuses_or_that_is_too_long_is_not_the_stubs() {
        for at in HEADER_REST {
            let mut image = vec![0; 832];
            assert!(stub_image(&image, 7).is_some());
            image[at] = 1;
            assert!(stub_image(&image, 7).is_none(), "byte {at} of the header");
        }
        assert!(stub_image(&[0; 575], 7).is_none());
        assert!(stub_image(&[0; VECTOR_SLOTS as usize], 7).is_some());
        assert!(stub_image(&[0; VECTOR_SLOTS as usize + 1], 7).is_none());
    }
}
