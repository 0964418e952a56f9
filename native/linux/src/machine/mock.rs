//! A machine of plain Rust data, for tests and fuzzing: pages in a map, registers in a struct.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::machine::{Backing, Machine, OutOfMemory, PAGE, PageFault, PageState, Protection, Registers};

/// One mapped page. Clones of a machine share its bytes until one of them writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    bytes: Arc<[u8]>,
    protection: Protection,
    shared: bool,
}

/// A [`Machine`] without a processor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MockMachine {
    pages: BTreeMap<u64, Page>,
    capacity: u64,
    slots: Vec<Vec<u8>>,
    registers: Registers,
    fs_base: u64,
    gs_base: u64,
    vector: Vec<u8>,
    ticks: u64,
    looks: u64,
    work: u64,
    copied: u64,
    /// Pages that are not shared.
    private: u64,
    charged: u64,
}

impl MockMachine {
    /// A machine with so many private pages.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        let mut vector = vec![0; 576];
        vector[24..28].copy_from_slice(&0x1f80_u32.to_le_bytes());
        Self {
            capacity,
            vector,
            ..Self::default()
        }
    }

    /// Adds a shared slot; its number is the count of slots before it.
    pub fn add_slot(&mut self, bytes: Vec<u8>) {
        self.slots.push(bytes);
    }

    /// Lets so many ticks pass.
    pub fn pass(&mut self, ticks: u64) {
        self.ticks = self.ticks.saturating_add(ticks);
    }

    /// How often the counter was read: a measure of work that is the same on every host.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// Protection of a mapped page.
    #[must_use]
    pub fn protection(&self, page: u64) -> Option<Protection> {
        self.pages.get(&page).map(|page| page.protection)
    }

    /// How many pages are mapped.
    #[must_use]
    pub fn mapped(&self) -> usize {
        self.pages.len()
    }

    /// Every mapped page with its protection, and whether it is shared.
    pub fn pages(&self) -> impl Iterator<Item = (u64, Protection, bool)> {
        self.pages
            .iter()
            .map(|(&page, one)| (page, one.protection, one.shared))
    }

    /// Puts a system call into the registers.
    pub fn set_call(&mut self, number: u64, [rdi, rsi, rdx, r10, r8, r9]: [u64; 6]) {
        self.registers = Registers {
            rax: number,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.registers
        };
    }

    /// The first `most` mapped pages of a range, which count as work, and the address before which there are no others.
    fn chosen(&mut self, start: u64, pages: u64, most: u64) -> (Vec<u64>, u64) {
        let end = start + pages * PAGE;
        let mut mapped = self.pages.range(start..end).map(|(&page, _)| page);
        let chosen: Vec<u64> = mapped.by_ref().take(most as usize).collect();
        let reached = mapped.next().unwrap_or(end);
        self.work += chosen.len() as u64;
        (chosen, reached)
    }

    /// Bytes that were copied into and out of the guest so far.
    #[must_use]
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// Walks a copy page by page: `(page, offset in it, offset in the copy, length)`.
    fn each_part(
        address: u64,
        length: usize,
        mut visit: impl FnMut(u64, usize, usize, usize) -> bool,
    ) -> Result<(), PageFault> {
        let mut done = 0;
        while done < length {
            let at = address.checked_add(done as u64).ok_or(PageFault { address })?;
            let inside = (at % PAGE) as usize;
            let part = (PAGE as usize - inside).min(length - done);
            if !visit(at - at % PAGE, inside, done, part) {
                return Err(PageFault { address: at });
            }
            done += part;
        }
        Ok(())
    }

    fn store(&mut self, address: u64, from: &[u8], forced: bool) -> Result<(), PageFault> {
        let (pages, copied) = (&mut self.pages, &mut self.copied);
        Self::each_part(address, from.len(), |page, inside, done, part| {
            match pages.get_mut(&page) {
                Some(page) if !page.shared && (forced || page.protection.write) => {
                    *copied += part as u64;
                    Arc::make_mut(&mut page.bytes)[inside..inside + part]
                        .copy_from_slice(&from[done..done + part]);
                    true
                }
                _ => false,
            }
        })
    }
}

impl Machine for MockMachine {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), PageFault> {
        let (pages, copied) = (&self.pages, &mut self.copied);
        Self::each_part(address, into.len(), |page, inside, done, part| {
            match pages.get(&page) {
                Some(page) if page.protection.any() => {
                    *copied += part as u64;
                    into[done..done + part].copy_from_slice(&page.bytes[inside..inside + part]);
                    true
                }
                _ => false,
            }
        })
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), PageFault> {
        self.store(address, from, false)
    }

    fn write_protected(&mut self, address: u64, from: &[u8]) -> Result<(), PageFault> {
        self.store(address, from, true)
    }

    fn map(
        &mut self,
        start: u64,
        pages: u64,
        backing: Backing<'_>,
        protection: Protection,
    ) -> Result<(), OutOfMemory> {
        for index in 0..pages {
            let page = start + index * PAGE;
            if self.pages.contains_key(&page) {
                continue;
            }
            let (shared, bytes) = match backing {
                Backing::Zero => (false, &[][..]),
                Backing::Bytes(bytes) => (false, bytes.get((index * PAGE) as usize..).unwrap_or_default()),
                Backing::Slot(slot, first) => {
                    let slot = &self.slots[slot.0 as usize];
                    (
                        true,
                        slot.get(((first + index) * PAGE) as usize..).unwrap_or_default(),
                    )
                }
            };
            let mut content = vec![0; PAGE as usize];
            let length = bytes.len().min(PAGE as usize);
            content[..length].copy_from_slice(&bytes[..length]);
            if !shared && self.free_pages() == 0 {
                return Err(OutOfMemory);
            }
            self.work += 1;
            self.private += u64::from(!shared);
            self.pages.insert(
                page,
                Page {
                    bytes: content.into(),
                    protection,
                    shared,
                },
            );
        }
        Ok(())
    }

    fn unmap(&mut self, start: u64, pages: u64, most: u64) -> u64 {
        let (chosen, reached) = self.chosen(start, pages, most);
        for page in chosen {
            let old = self.pages.remove(&page);
            self.private -= u64::from(old.is_some_and(|page| !page.shared));
        }
        reached
    }

    fn protect(&mut self, start: u64, pages: u64, protection: Protection, most: u64) -> u64 {
        let (chosen, reached) = self.chosen(start, pages, most);
        for page in chosen {
            self.pages
                .get_mut(&page)
                .into_iter()
                .for_each(|page| page.protection = protection);
        }
        reached
    }

    fn remap(&mut self, from: u64, to: u64, pages: u64, most: u64) -> Result<u64, OutOfMemory> {
        let (chosen, reached) = self.chosen(from, pages, most);
        for page in chosen {
            if let Some(content) = self.pages.remove(&page) {
                assert!(
                    self.pages.insert(page - from + to, content).is_none(),
                    "remap onto a mapped page"
                );
            }
        }
        Ok(reached)
    }

    fn discard(&mut self, start: u64, pages: u64, most: u64) -> u64 {
        let (chosen, reached) = self.chosen(start, pages, most);
        for page in chosen {
            if let Some(page) = self.pages.get_mut(&page).filter(|page| !page.shared) {
                Arc::make_mut(&mut page.bytes).fill(0);
            }
        }
        reached
    }

    fn work(&self) -> u64 {
        self.work
    }

    fn make_private(&mut self, page: u64, protection: Protection) -> Result<(), OutOfMemory> {
        if self.free_pages() == 0 {
            return Err(OutOfMemory);
        }
        self.work += 1;
        if let Some(page) = self.pages.get_mut(&page) {
            self.private += u64::from(page.shared);
            (page.shared, page.protection) = (false, protection);
        }
        Ok(())
    }

    fn page_state(&self, page: u64) -> PageState {
        match self.pages.get(&page) {
            None => PageState::Absent,
            Some(page) if page.shared => PageState::Shared,
            Some(_) => PageState::Private,
        }
    }

    fn free_pages(&self) -> u64 {
        self.capacity
            .saturating_sub(self.private)
            .saturating_sub(self.charged.div_ceil(PAGE))
    }

    fn charge(&mut self, bytes: u64) {
        self.charged = bytes;
    }

    fn total_pages(&self) -> u64 {
        self.capacity
    }

    fn registers(&self) -> Registers {
        self.registers
    }

    fn set_registers(&mut self, registers: &Registers) {
        self.registers = *registers;
    }

    fn fs_base(&self) -> u64 {
        self.fs_base
    }

    fn set_fs_base(&mut self, base: u64) {
        self.fs_base = base;
    }

    fn gs_base(&self) -> u64 {
        self.gs_base
    }

    fn set_gs_base(&mut self, base: u64) {
        self.gs_base = base;
    }

    fn save_vector_state(&mut self, into: &mut Vec<u8>) {
        into.clone_from(&self.vector);
    }

    fn load_vector_state(&mut self, image: &[u8]) -> Result<(), ()> {
        if image.len() != self.vector.len() {
            return Err(());
        }
        self.vector.copy_from_slice(image);
        Ok(())
    }

    fn ticks(&mut self) -> u64 {
        self.ticks = self.ticks.saturating_add(1000);
        self.looks += 1;
        self.ticks
    }
}
