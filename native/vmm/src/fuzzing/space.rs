//! Any operations on the page tables of a fork, against a map of pages; also of a fork of a program that was derived from a base.
//!
//! What must hold: nothing panics; every page reads, writes and counts as the map says; each frame whose cached translation became
//! wrong is named by [`Space::take_stale`]; a rewind takes everything back; the snapshot of a derived program reads as the program
//! did, and its base as before; tables that were overwritten are reported, not followed.

mod model;

use std::io::Write;
use std::sync::{Arc, OnceLock};

use crate::backing::{self, BackingSegment};
use crate::error::{Error, Survival};
use crate::layout::{LOW_END, PAGE, USER_END, USER_START};
use crate::memory::{FileId, HostFile, Memory};
use crate::pte::{Protection, Pte};
use crate::space::{Access, Backing, Frozen, Space};
use crate::sys::{Mapping, Overlay, memory_file};
use crate::vm::derive::{BaseImage, freeze_over};
use model::Model;

const STEPS_MAX: usize = 50;
/// Bytes of guest-physical memory, most of them never touched.
const MEMORY_BYTES: usize = 4 << 20;
/// Frames that a program may use.
const FRAMES: u64 = 60;
/// The attached host file.
const LENT: FileId = FileId(0);
/// Bytes of it.
const FILE_BYTES: usize = 5 * PAGE as usize + 100;

/// First bytes from here on choose a fork of a derived program.
const DERIVED: u8 = 0xc0;

/// A space at its snapshot.
struct Base {
    segments: Vec<BackingSegment>,
    host: Arc<HostFile>,
    frozen: Frozen,
    image: Mapping,
    /// The image again, to be read by frames.
    content: Memory,
    model: Model,
}

fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let file = memory_file(MEMORY_BYTES as u64).expect("a memory file");
        let mut lent = memory_file(0).expect("a memory file");
        lent.write_all(&[b'f'; FILE_BYTES]).expect("room");
        let host = Arc::new(HostFile::new(lent).expect("a regular file"));
        let mapping = Mapping::shared(&file, MEMORY_BYTES, true).expect("a mapping");
        let mut space = Space::new(Memory::new(mapping), 2 * FRAMES * PAGE);
        let lent = space.memory_mut().attach(&host).expect("a window");
        assert_eq!(lent, LENT);
        let mut model = Model::default();
        for (place, pages, protection) in [
            (0x00, 6, Protection::READ_WRITE),
            (0x23, 4, Protection::READ_EXECUTE),
            (0x40, 3, Protection::NONE),
            (0x61, 5, Protection::READ),
        ] {
            let bytes = vec![place + 1; pages * PAGE as usize];
            model.map(
                &mut space,
                address(place),
                pages as u64,
                Backing::Bytes(&bytes),
                protection,
            );
        }
        model.map(
            &mut space,
            address(0x30),
            3,
            Backing::File(lent, 1),
            Protection::READ_EXECUTE,
        );
        model.unmap(&mut space, address(0x01), 1);
        let (frozen, _) = space.freeze(FRAMES * PAGE);
        space.take_stale();
        let segment = BackingSegment {
            file: Arc::new(file),
            offset: 0,
            start: 0,
            end: frozen.end,
        };
        model.freeze(&space);
        Base::new(vec![segment], host, frozen, model)
    })
}

impl Base {
    fn new(segments: Vec<BackingSegment>, host: Arc<HostFile>, frozen: Frozen, model: Model) -> Self {
        let image = || backing::image(&segments, frozen.end).expect("a mapping");
        Self {
            image: image(),
            content: Memory::new(image()),
            segments,
            host,
            frozen,
            model,
        }
    }

    fn fork(&self) -> Space {
        let mut private = Mapping::anonymous(MEMORY_BYTES).expect("a mapping");
        backing::overlay(&self.segments, &mut private, Overlay::Private).expect("a mapping over it");
        let mut memory = Memory::new(private);
        memory.attach(&self.host).expect("a window");
        Space::forked(memory, &self.frozen)
    }

    /// The snapshot of a program that boots on from this one: the first byte limits its frames, the second counts its steps.
    fn derive(&self, data: &mut &[u8]) -> Self {
        let (limit, steps) = ((40 + u64::from(take(data) % 32)) * PAGE, take(data) % 24);
        let base_image = BaseImage {
            segments: &self.segments,
            image: &self.image,
            frozen: &self.frozen,
        };
        let host = self.host.clone();
        let (file, mut space) = base_image
            .derive(std::slice::from_ref(&host), limit)
            .expect("a mapping");
        let mut model = self.model.clone();
        model.compare(&space);
        model.remember(&space);
        take_steps(&mut space, &mut model, None, data, steps.into());
        model.freeze(&space);
        let (segments, frozen) = freeze_over(file, base_image, space, limit).expect("a snapshot");
        self.model.compare(&self.fork());
        Self::new(segments, host, frozen, model)
    }
}

/// A page: 16 in a row at each of 8 places where tables begin or end.
fn address(choice: u8) -> u64 {
    const PLACES: [u64; 8] = [
        USER_START,
        0x20_0000 - 8 * PAGE,
        0x4000_0000 - 5 * PAGE,
        0x80_0000_0000 - 7 * PAGE,
        0x7000_0000_0000,
        0x7000_0000_0000 + (1 << 30) - 9 * PAGE,
        0x7fff_f000_0000,
        USER_END - 12 * PAGE,
    ];
    PLACES[usize::from(choice >> 4 & 7)] + u64::from(choice & 15) * PAGE
}

/// The next byte; 0 where the bytes end.
fn take(data: &mut &[u8]) -> u8 {
    let (&first, rest) = data.split_first().unwrap_or((&0, &[]));
    *data = rest;
    first
}

/// The first byte says how many of the last ones overwrite tables, and whether the program is derived; those between are steps.
pub(crate) fn run(mut data: &[u8]) {
    let first = take(&mut data);
    let words = usize::from(first % 32);
    let (mut data, words) = data.split_at(data.len() - words.min(data.len()));
    let derived = (first >= DERIVED).then(|| base().derive(&mut data));
    let base = derived.as_ref().unwrap_or_else(|| base());
    let mut space = base.fork();
    let mut model = base.model.clone();
    model.compare(&space);
    model.remember(&space);
    take_steps(&mut space, &mut model, Some(base), &mut data, STEPS_MAX);
    model.compare(&space);
    rewind(&mut space, &mut model, base);
    overwrite(&mut space, words);
}

/// At most so many steps. A processor may keep each translation that there was.
fn take_steps(space: &mut Space, model: &mut Model, base: Option<&Base>, data: &mut &[u8], most: usize) {
    for _ in 0..most {
        if data.is_empty() {
            break;
        }
        let changes = data[0] & 15 < 10;
        step(space, model, base, data);
        if changes {
            model.remember(space);
        }
        assert_eq!(space.used_bytes(), model.private_pages() * PAGE);
    }
}

/// One step; a program that boots, and has no base to go back to, compares instead.
fn step(space: &mut Space, model: &mut Model, base: Option<&Base>, data: &mut &[u8]) {
    let (choice, at, length) = (take(data), address(take(data)), take(data));
    let pages = match length {
        0xff => u64::MAX / PAGE,
        0xfe => 1 << 34,
        0xfd => 130,
        other => u64::from(other % 20),
    };
    let protection = Protection {
        read: choice & 0x10 != 0,
        write: choice & 0x20 != 0,
        execute: choice & 0x40 != 0,
    };
    // A machine maps what its caller bounded; only what costs by pages present may be asked for everything.
    let few = pages.min(130);
    match choice & 15 {
        0 => model.map(space, at, few, Backing::Zero, protection),
        1 | 2 => {
            let bytes = vec![take(data); usize::from(take(data)) * 300];
            model.map(space, at, few, Backing::Bytes(&bytes), protection);
        }
        3 => model.map(
            space,
            at,
            few,
            Backing::File(LENT, u64::from(take(data) % 8)),
            protection,
        ),
        4 => model.unmap(space, at, pages),
        5 | 6 => model.protect(space, at, pages, protection),
        7 => model.remap(space, at, address(take(data)), pages),
        8 => model.discard(space, at, pages),
        9 => model.make_private(space, at, protection),
        10 | 11 => {
            let (offset, fill, many) = (u64::from(take(data)) * 16, take(data), take(data));
            model.write(
                space,
                at + offset,
                &vec![fill; usize::from(many) * 50],
                choice & 15 == 11,
            );
        }
        12 => model.flush(space),
        13 => {
            model.compare(space);
            if let Some(base) = base {
                rewind(space, model, base);
            }
        }
        14 => model.compare(space),
        // Ranges that are not in user space change nothing.
        _ => {
            let start =
                [0, USER_START - PAGE, at + 1, USER_END, 1 << 63, u64::MAX - 4095][usize::from(length % 6)];
            for done in [
                space.unmap(start, pages.max(1)),
                space.protect(start, pages.max(1), protection),
                space.discard(start, pages.max(1)),
                space.map(start, few.max(1), Backing::Zero, protection),
                space.remap(start, at, few.max(1)),
                space.make_private(start, protection),
            ] {
                assert!(
                    matches!(done, Err(Error::BadRange { .. })),
                    "{start:#x}: {done:?}"
                );
            }
        }
    }
}

/// Goes back to the snapshot, as a machine's reset does.
fn rewind(space: &mut Space, model: &mut Model, base: &Base) {
    let top = space.top();
    space.rewind(&base.frozen, &base.image).expect("a rewind");
    model.flush(space);
    space
        .compare_tables(&base.frozen, &base.image)
        .expect("the snapshot's tables");
    // Frames that the fork added end as zeros, the others as the image has them.
    for frame in (LOW_END..top).step_by(PAGE as usize) {
        let reserved = (base.frozen.fork_tables..base.frozen.fork_tables_end).contains(&frame);
        if reserved || space.is_table(frame) {
            continue;
        }
        let (mut now, mut then) = ([0; PAGE as usize], [0; PAGE as usize]);
        space.memory().read(frame, 0, &mut now).expect("a private frame");
        if frame < base.frozen.end {
            base.content
                .read(frame, 0, &mut then)
                .expect("inside of the image");
        }
        if now != then {
            space
                .memory_mut()
                .write(frame, 0, &then)
                .expect("a private frame");
        }
    }
    model.restore(&base.model);
    model.compare(space);
}

/// Writes words over a table, as no program can: the walks end, and stay inside of memory.
fn overwrite(space: &mut Space, mut data: &[u8]) {
    while !data.is_empty() {
        let (table, index) = (u64::from(take(&mut data)), usize::from(take(&mut data)));
        let frame = (table * PAGE) % space.top();
        if !space.is_table(frame) {
            continue;
        }
        let word = match take(&mut data) % 4 {
            0 => 0x67 | (u64::from(take(&mut data)) * PAGE),
            1 => 0x67 | (1 << (12 + take(&mut data) % 40)),
            2 => (u64::from(take(&mut data)) << 56) | 0x8000_0000_0067,
            _ => u64::from_le_bytes(std::array::from_fn(|_| take(&mut data))),
        };
        space.memory_mut().set_word(frame, index * 2 % 512, word);
    }
    // Whatever it says: it says it.
    let _ = space.audit();
    for choice in 0..128 {
        let (at, mut page) = (address(choice), [0; PAGE as usize]);
        let found = space.page(at);
        assert!(space.read(at, &mut page).is_err() || found != Access::Absent);
    }
}

/// Every entry of user space, by its address.
fn entries(space: &Space) -> Vec<(u64, Pte)> {
    let (mut at, mut all) = (USER_START, Vec::new());
    while let Some((address, entry)) = space.next_entry(at, USER_END) {
        all.push((address, entry));
        at = address + PAGE;
    }
    all
}

/// Whether the machine could go on after a reset.
fn is_full(error: &Error) -> bool {
    matches!(error, Error::OutOfMemory { .. }) && error.survival() == Survival::Reset
}
