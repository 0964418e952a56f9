use std::collections::BTreeMap;

use super::rewind::image_word;
use super::*;
use crate::dirty::{PageMap, Run};
use crate::memory::tests::temporary_file;
use crate::sys::{Mapping, Overlay};

const BASE: u64 = 0x7000_0000_0000;

fn space() -> Space {
    Space::new(Memory::new(Mapping::anonymous(64 << 20).unwrap()), 32 << 20)
}

fn byte(s: &Space, address: u64) -> Option<u8> {
    let mut b = [0];
    s.read(address, &mut b).ok().map(|()| b[0])
}

#[test]
fn copies_cross_pages_and_stop_at_the_first_absent_byte() {
    let mut s = space();
    s.map(BASE, 2, Backing::Bytes(&[7; 5000]), Protection::READ_WRITE)
        .unwrap();
    let mut b = [1u8; 4096];
    s.read(BASE + 4000, &mut b).unwrap();
    assert_eq!((b[999], b[1000]), (7, 0));
    s.write(BASE + 4090, b"0123456789").unwrap();
    assert_eq!(byte(&s, BASE + 4099), Some(b'9'));
    let fault = s.read(BASE + 8000, &mut [0; 500]).unwrap_err();
    assert_eq!(fault.address, BASE + 8192);
    assert_eq!(
        s.write(u64::MAX - 3, &[0; 8]),
        Err(PageFault {
            address: u64::MAX - 3
        })
    );
    assert_eq!(s.read(0x8000, &mut b), Err(PageFault { address: 0x8000 }));
    s.audit().unwrap();
}

#[test]
fn ranges_outside_of_user_space_are_refused() {
    let mut s = space();
    for (start, pages) in [
        (0, 1),
        (0xf000, 1),
        (BASE + 1, 1),
        (USER_END, 1),
        (USER_END - PAGE, 2),
        (BASE, u64::MAX),
        (u64::MAX - 4095, 1),
    ] {
        assert!(matches!(
            s.map(start, pages, Backing::Zero, Protection::READ),
            Err(Error::BadRange { .. })
        ));
        assert!(s.unmap(start, pages).is_err() && s.protect(start, pages, Protection::NONE).is_err());
        assert!(s.discard(start, pages).is_err() && s.remap(start, BASE, pages).is_err());
    }
    s.map(USER_END - PAGE, 1, Backing::Zero, Protection::READ)
        .unwrap();
    s.audit().unwrap();
}

#[test]
fn protect_none_keeps_the_content_and_marks_it_stale() {
    let mut s = space();
    s.map(BASE, 1, Backing::Bytes(b"x"), Protection::READ_WRITE)
        .unwrap();
    assert!(!s.has_stale(), "a first mapping needs no flush");
    s.protect(BASE, 1, Protection::NONE).unwrap();
    assert_eq!(byte(&s, BASE), None);
    assert_eq!(s.take_stale().len(), 1);
    s.protect(BASE, 1, Protection::READ).unwrap();
    assert_eq!(byte(&s, BASE), Some(b'x'));
    assert!(s.write(BASE, b"y").is_err());
    assert!(!s.has_stale(), "more rights need no flush");
    s.write_protected(BASE, b"z").unwrap();
    assert_eq!(byte(&s, BASE), Some(b'z'));
}

#[test]
fn map_leaves_mapped_pages_alone_and_recycled_frames_are_zero() {
    let mut s = space();
    s.map(BASE, 1, Backing::Bytes(b"a"), Protection::NONE).unwrap();
    s.map(BASE, 2, Backing::Bytes(&[b'b'; 8192]), Protection::READ)
        .unwrap();
    assert_eq!((byte(&s, BASE), byte(&s, BASE + PAGE)), (None, Some(b'b')));
    let used = s.used_bytes();
    s.unmap(BASE, 2).unwrap();
    assert_eq!(s.used_bytes(), used - 2 * PAGE);
    s.map(BASE, 2, Backing::Zero, Protection::READ).unwrap();
    assert_eq!((byte(&s, BASE), byte(&s, BASE + PAGE)), (Some(0), Some(0)));
}

#[test]
fn unmap_of_a_huge_empty_range_is_quick_and_frees_what_is_there() {
    let mut s = space();
    s.map(BASE + (40 << 30), 3, Backing::Zero, Protection::READ)
        .unwrap();
    s.unmap(BASE, (48 << 30) / PAGE).unwrap();
    assert_eq!(s.page(BASE + (40 << 30)), Access::Absent);
    assert_eq!(s.used_bytes(), 0);
    assert_eq!(s.take_stale().len(), 3);
}

#[test]
fn file_pages_are_read_only_until_made_private() {
    let mut s = space();
    let file = s.memory_mut().attach(&temporary_file(&[5; 6000])).unwrap();
    s.map(BASE, 2, Backing::File(file, 0), Protection::READ_WRITE)
        .unwrap();
    assert_eq!((s.page(BASE), byte(&s, BASE)), (Access::File, Some(5)));
    assert!(s.write(BASE, b"x").is_err() && s.write_protected(BASE, b"x").is_err());
    s.protect(BASE, 2, Protection::READ_WRITE).unwrap();
    assert!(s.write(BASE, b"x").is_err());
    s.make_private(BASE, Protection::READ_WRITE).unwrap();
    s.write(BASE, b"x").unwrap();
    assert_eq!(
        (s.page(BASE), byte(&s, BASE), byte(&s, BASE + 1)),
        (Access::Private, Some(b'x'), Some(5))
    );
    assert_eq!(s.take_stale(), [FILES], "the file's page is reached no more");
    assert!(s.make_private(BASE, Protection::READ).is_err());
    assert!(
        s.map(BASE + 2 * PAGE, 1, Backing::File(file, 2), Protection::READ)
            .is_err()
    );
    s.discard(BASE, 2).unwrap();
    assert_eq!((byte(&s, BASE), byte(&s, BASE + PAGE)), (Some(0), Some(5)));
    s.audit().unwrap();
}

#[test]
fn memory_ends_at_the_limit_and_comes_back() {
    let mut s = space();
    let e = s.map(BASE, 10_000, Backing::Zero, Protection::READ).unwrap_err();
    assert!(matches!(e, Error::OutOfMemory { .. }));
    assert_eq!(s.used_bytes(), 32 << 20);
    s.unmap(BASE, 10_000).unwrap();
    s.map(BASE, 8192, Backing::Zero, Protection::READ).unwrap();
    s.audit().unwrap();
}

/// A small deterministic generator.
fn rng(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut x = seed;
    move |n| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % n
    }
}

fn random_step(s: &mut Space, r: &mut impl FnMut(u64) -> u64, model: &mut BTreeMap<u64, (u8, bool)>) {
    let page = |n: u64| BASE + (n % 40) * PAGE + (n / 40) * (1 << 30);
    let (n, at) = (1 + r(8), r(80));
    let pages = || (0..n).map(|i| page(at) + i * PAGE);
    match r(6) {
        0 | 1 => {
            let fill = r(250) as u8 + 1;
            s.map(
                page(at),
                n,
                Backing::Bytes(&vec![fill; (n * PAGE) as usize]),
                Protection::READ_WRITE,
            )
            .unwrap();
            for p in pages() {
                model.entry(p).or_insert((fill, true));
            }
        }
        2 => {
            s.unmap(page(at), n).unwrap();
            for p in pages() {
                model.remove(&p);
            }
        }
        3 => {
            let visible = r(2) == 0;
            let protection = if visible {
                Protection::READ_WRITE
            } else {
                Protection::NONE
            };
            s.protect(page(at), n, protection).unwrap();
            for p in pages() {
                model.entry(p).and_modify(|m| m.1 = visible);
            }
        }
        4 => {
            s.discard(page(at), n).unwrap();
            for p in pages() {
                model.entry(p).and_modify(|m| m.0 = 0);
            }
        }
        _ => {
            let to = BASE + (5 << 30) + r(40) * PAGE;
            for p in 0..n {
                s.unmap(to + p * PAGE, 1).unwrap();
                model.remove(&(to + p * PAGE));
            }
            s.remap(page(at), to, n).unwrap();
            for (i, p) in pages().enumerate() {
                if let Some(m) = model.remove(&p) {
                    model.insert(to + i as u64 * PAGE, m);
                }
            }
        }
    }
}

fn matches_model(s: &Space, model: &BTreeMap<u64, (u8, bool)>) {
    for gib in [0, 1, 5] {
        for p in 0..60 {
            let address = BASE + (gib << 30) + p * PAGE;
            let want = model.get(&address);
            assert_eq!(s.page(address) == Access::Absent, want.is_none(), "{address:#x}");
            let visible = want.filter(|m| m.1).map(|m| m.0);
            assert_eq!(byte(s, address), visible, "{address:#x}");
            assert_eq!(byte(s, address + 4095), visible, "{address:#x}");
        }
    }
}

#[test]
fn random_operations_agree_with_a_map_of_pages() {
    let (mut s, mut model, mut r) = (space(), BTreeMap::new(), rng(0x1234_5678_9abc));
    for step in 0..3000 {
        random_step(&mut s, &mut r, &mut model);
        if step % 100 == 0 {
            matches_model(&s, &model);
            s.audit().unwrap();
        }
    }
}

/// A frozen space and its image, and a fork over a private copy of it, without KVM.
fn frozen() -> (Frozen, Mapping, Space, BTreeMap<u64, (u8, bool)>) {
    let file = crate::sys::memory_file(64 << 20).unwrap();
    let mut s = Space::new(
        Memory::new(Mapping::shared(&file, 64 << 20, true).unwrap()),
        32 << 20,
    );
    let (mut model, mut r) = (BTreeMap::new(), rng(99));
    for _ in 0..300 {
        random_step(&mut s, &mut r, &mut model);
    }
    let (frozen, _) = s.freeze(16 << 20);
    let image = Mapping::shared(&file, frozen.end as usize, false).unwrap();
    let mut private = Mapping::anonymous(64 << 20).unwrap();
    private
        .overlay(0, (&file, 0), frozen.end as usize, Overlay::Private)
        .unwrap();
    let fork = Space::forked(Memory::new(private), &frozen);
    (frozen, image, fork, model)
}

/// Puts the content of frames back, tables aside.
fn restore_frames(s: &mut Space, frozen: &Frozen, image: &Mapping) {
    for frame in (LOW_END..s.top())
        .step_by(PAGE as usize)
        .filter(|f| !s.is_table(*f))
        .collect::<Vec<_>>()
    {
        let mut page = [0u8; 4096];
        if frame < frozen.end {
            for (i, w) in page.chunks_exact_mut(8).enumerate() {
                w.copy_from_slice(&image_word(image, frame, i).unwrap().to_le_bytes());
            }
        }
        s.memory_mut().write(frame, 0, &page).unwrap();
    }
}

#[test]
fn rewind_restores_every_translation_and_names_the_stale_ones() {
    let (frozen, image, mut fork, model) = frozen();
    matches_model(&fork, &model);
    let mut r = rng(7);
    for round in 0..30 {
        let mut scratch = model.clone();
        for _ in 0..60 {
            random_step(&mut fork, &mut r, &mut scratch);
        }
        fork.map(
            BASE + ((100 + round % 5) << 30),
            3,
            Backing::Zero,
            Protection::READ,
        )
        .unwrap();
        fork.take_stale();
        let before: Vec<(u64, Pte)> = all_entries(&fork);
        let top = fork.top();
        fork.rewind(&frozen, &image).unwrap();
        assert!(fork.top() <= top);
        let stale = fork.take_stale();
        for (address, entry) in before {
            let now = fork.entry_at(address).unwrap_or(Pte::EMPTY);
            assert!(
                !entry.goes_stale(now) || stale.contains(&entry.frame()),
                "{address:#x} in round {round}"
            );
        }
        fork.compare_tables(&frozen, &image).unwrap();
        fork.audit().unwrap();
        restore_frames(&mut fork, &frozen, &image);
        matches_model(&fork, &model);
    }
    assert_eq!(fork.added_tables(), 10, "five directories and five tables, kept");
}

#[test]
fn compare_tables_sees_a_changed_entry_and_a_leftover() {
    let (frozen, image, mut fork, model) = frozen();
    let first = *model.iter().find(|m| m.1.1).unwrap().0;
    fork.protect(first, 1, Protection::READ).unwrap();
    assert!(matches!(
        fork.compare_tables(&frozen, &image),
        Err(Error::Impure { .. })
    ));
    fork.rewind(&frozen, &image).unwrap();
    fork.compare_tables(&frozen, &image).unwrap();
    fork.map(BASE + (300 << 30), 1, Backing::Zero, Protection::READ)
        .unwrap();
    assert!(matches!(
        fork.compare_tables(&frozen, &image),
        Err(Error::Impure { .. })
    ));
}

#[test]
fn tables_of_a_fork_are_kept_and_end_at_their_reserve() {
    let (frozen, image, mut fork, _) = frozen();
    let mut at = BASE + (20 << 30);
    for round in 0..3 {
        fork.map(at, 1, Backing::Zero, Protection::READ).unwrap();
        fork.rewind(&frozen, &image).unwrap();
        assert_eq!(
            fork.added_tables(),
            2,
            "round {round}: page directory and table, kept"
        );
    }
    let refused = loop {
        at += 1 << 30;
        if let Err(e) = fork.map(at, 1, Backing::Zero, Protection::READ) {
            break e;
        }
    };
    assert_eq!(refused.survival(), crate::Survival::Reset);
    fork.rewind(&frozen, &image).unwrap();
    fork.compare_tables(&frozen, &image).unwrap();
}

fn all_entries(s: &Space) -> Vec<(u64, Pte)> {
    let (mut at, mut all) = (USER_START, Vec::new());
    while let Some((address, _, entry)) = s.next_mapped(at, USER_END) {
        all.push((address, entry));
        at = address + PAGE;
    }
    all
}

/// What a machine derived from a frozen space would be at its snapshot, without KVM: its frames behind the base's end, and the base
/// as one reads it through the tables.
#[test]
fn frames_that_move_up_keep_every_translation_and_leave_the_base_alone() {
    let (frozen, image, fork, model) = frozen();
    drop(fork);
    let mut r = rng(3);
    for round in 0..20 {
        let private = Mapping::anonymous(64 << 20).unwrap();
        for frame in (0..frozen.end).step_by(PAGE as usize) {
            let (from, to) = (image.at(frame, 4096).unwrap(), private.at(frame, 4096).unwrap());
            // SAFETY: a page each, of two mappings.
            unsafe { std::ptr::copy_nonoverlapping(from, to, 4096) };
        }
        let mut s = Space::derived(Memory::new(private), &frozen, 32 << 20);
        matches_model(&s, &model);
        let mut mine = model.clone();
        for _ in 0..round * 10 {
            random_step(&mut s, &mut r, &mut mine);
        }
        s.take_stale();
        let mut changed = FrameSet::default();
        let word = |s: &Space, frame, i| s.memory().word(frame, i);
        for frame in (LOW_END..frozen.end).step_by(PAGE as usize) {
            if (0..512).any(|i| word(&s, frame, i) != image_word(&image, frame, i).unwrap()) {
                changed.insert(frame);
            }
        }
        let mut free = s.forget_free();
        free.retain(|f| *f >= frozen.end);
        for frame in &free {
            s.memory_mut().zero(*frame).unwrap();
        }
        s.move_up(&changed, frozen.end, free).unwrap();
        s.audit().unwrap();
        matches_model(&s, &mine);
        // What tables and leaves lead to below the end holds what the base holds.
        for (_, entry) in all_entries(&s) {
            let frame = entry.frame();
            assert!(frame >= frozen.end || !changed.contains(frame));
        }
        for frame in (LOW_END..frozen.end).step_by(PAGE as usize) {
            if s.is_table(frame) {
                assert!((0..512).all(|i| word(&s, frame, i) == image_word(&image, frame, i).unwrap()));
            }
        }
    }
}

/// The first frames of a request get their pages of the host when somebody writes them, the others as they are handed out.
#[test]
fn frames_of_a_request_that_takes_many_are_present_at_once() {
    let (frozen, image, mut fork, _) = frozen();
    let (lazy, eager) = (LAZY_BYTES / PAGE, 40);
    let mut map = PageMap::open().unwrap();
    for _ in 0..2 {
        let first = fork.top();
        fork.map(
            BASE + (40 << 30),
            lazy + eager,
            Backing::Zero,
            Protection::READ_WRITE,
        )
        .unwrap();
        let mut present = Vec::new();
        let private = fork.memory().private();
        map.private_pages(private, private.length() as u64, &mut present)
            .unwrap();
        present.retain(|run| run.start >= first);
        assert_eq!(
            present,
            [Run {
                start: first + LAZY_BYTES,
                length: eager * PAGE
            }]
        );
        assert_eq!(byte(&fork, BASE + (40 << 30) + LAZY_BYTES), Some(0));
        fork.rewind(&frozen, &image).unwrap();
        fork.compare_tables(&frozen, &image).unwrap();
    }
}
