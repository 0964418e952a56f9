//! The address space against a map of single pages, and its edges.

use std::collections::BTreeMap;

use super::*;
use crate::fs::host_file::HostFile;
use crate::machine::mock::MockMachine;
use crate::machine::{PageState, SlotId};

const LIMITS: SpaceLimits = SpaceLimits {
    mappings: 1000,
    reserved: 1 << 40,
    fault_around: 3,
};

fn anonymous(protection: Protection) -> Wanted {
    Wanted {
        protection,
        source: Source::Anonymous,
        purpose: Purpose::General,
        shared: false,
    }
}

#[test]
fn random_calls_agree_with_a_map_of_single_pages() {
    const BASE: u64 = 0x10_0000;
    const PAGES: u64 = 32;
    let mut rng = crate::test_rng::TestRng::new(11);
    let mut next = move |end| rng.below(end);
    for _ in 0..150 {
        let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(10_000));
        // Oracle: page -> (protection, first byte).
        let mut oracle: BTreeMap<u64, (Protection, u8)> = BTreeMap::new();
        for _ in 0..80 {
            let first = next(PAGES);
            let count = 1 + next(PAGES - first);
            let (start, length) = (BASE + first * PAGE, count * PAGE);
            let range = start..start + length;
            let inside = |oracle: &BTreeMap<u64, _>| oracle.range(range.clone()).count() as u64 == count;
            let protection = [Protection::NONE, Protection::READ, Protection::READ_WRITE][next(3) as usize];
            match next(7) {
                0 => {
                    assert_eq!(
                        space.map(&mut m, Place::Fixed(start), length, anonymous(protection)),
                        Ok(start)
                    );
                    oracle.extend(
                        range
                            .clone()
                            .step_by(PAGE as usize)
                            .map(|page| (page, (protection, 0))),
                    );
                }
                1 => {
                    assert_eq!(space.unmap(&mut m, start, length), Ok(()));
                    oracle.retain(|page, _| !range.contains(page));
                }
                2 => {
                    let expected = if inside(&oracle) {
                        Ok(())
                    } else {
                        Err(Errno::ENOMEM)
                    };
                    assert_eq!(space.protect(&mut m, start, length, protection, &mut 0), expected);
                    if expected.is_ok() {
                        oracle.range_mut(range).for_each(|(_, page)| page.0 = protection);
                    }
                }
                3 => {
                    assert_eq!(
                        space.forget(&mut m, start, length, &mut 0).is_ok(),
                        inside(&oracle)
                    );
                    oracle.range_mut(range).for_each(|(_, page)| page.1 = 0);
                }
                4 => {
                    // Move into a fixed place far off and back, which must carry content and protection along.
                    let far = BASE + 0x100_0000;
                    match space.remap(&mut m, start, length, length, Some(Place::Fixed(far)), &mut 0) {
                        Ok(at) => {
                            assert_eq!(at, far);
                            assert!(inside(&oracle));
                            assert_eq!(
                                space.remap(&mut m, far, length, length, Some(Place::Fixed(start)), &mut 0),
                                Ok(start)
                            );
                        }
                        Err(errno) => assert_eq!(errno, Errno::EFAULT),
                    }
                }
                _ => {
                    let value = next(255) as u8 + 1;
                    let writable = oracle.get(&start).is_some_and(|page| page.0.write);
                    assert_eq!(space.write(&mut m, start, &[value]).is_ok(), writable);
                    if writable {
                        oracle.entry(start).and_modify(|page| page.1 = value);
                    }
                }
            }
            for index in 0..PAGES {
                let page = BASE + index * PAGE;
                let found = space.read_array::<1>(&mut m, page);
                match oracle.get(&page) {
                    Some((protection, value)) if protection.any() => {
                        assert_eq!(found, Ok([*value]), "{page:x}")
                    }
                    _ => assert_eq!(found, Err(Errno::EFAULT), "{page:x}"),
                }
            }
        }
    }
}

#[test]
fn remap_grows_in_place_or_moves_and_keeps_content() {
    let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(100));
    let high = space
        .map(&mut m, Place::Any, 2 * PAGE, anonymous(Protection::READ_WRITE))
        .expect("room");
    space.write(&mut m, high, b"here").expect("writable");
    assert_eq!(
        space.remap(&mut m, high, 2 * PAGE, 4 * PAGE, None, &mut 0),
        Ok(high),
        "the gap above it is free"
    );
    let low = space
        .map(
            &mut m,
            Place::Fixed(high - PAGE),
            PAGE,
            anonymous(Protection::READ),
        )
        .expect("room");
    assert_eq!(
        space.remap(&mut m, low, PAGE, 3 * PAGE, None, &mut 0),
        Err(Errno::ENOMEM)
    );
    assert_eq!(space.remap(&mut m, high, 4 * PAGE, PAGE, None, &mut 0), Ok(high));
    assert!(space.tree.is_free(high + PAGE..high + 4 * PAGE));
    space
        .map(
            &mut m,
            Place::FixedFree(high + PAGE),
            PAGE,
            anonymous(Protection::READ),
        )
        .expect("room");
    let moved = space
        .remap(&mut m, high, PAGE, 8 * PAGE, Some(Place::Any), &mut 0)
        .expect("room");
    assert_ne!(moved, high);
    assert_eq!(space.read_array(&mut m, moved), Ok(*b"here"));
    assert_eq!(space.read_array(&mut m, moved + 7 * PAGE), Ok([0; 4]));
    assert_eq!(space.read_array::<1>(&mut m, high), Err(Errno::EFAULT));
}

#[test]
fn file_pages_come_from_the_slot_until_written_and_end_with_the_file() {
    let content: Vec<u8> = (0..5000_u32).map(|i| i as u8).collect();
    let mut m = MockMachine::new(100);
    m.add_slot(content.clone());
    let mut file = HostFile::new(content.clone());
    file.slot = Some(SlotId(0));
    let mut space = AddressSpace::new(LIMITS);
    let source = Source::File {
        file,
        offset: 0,
        name: "f".into(),
        inode: 1,
    };
    let wanted = Wanted {
        protection: Protection::READ,
        source,
        purpose: Purpose::General,
        shared: false,
    };
    let at = space.map(&mut m, Place::Any, 3 * PAGE, wanted).expect("room");
    assert_eq!(
        space.read_array(&mut m, at + 4090),
        Ok(*content[4090..].first_chunk::<16>().expect("long"))
    );
    assert_eq!((m.page_state(at), m.free_pages()), (PageState::Shared, 100));
    assert_eq!(space.read_array(&mut m, at + 4999), Ok([content[4999], 0]));
    assert_eq!(
        space.fault(&mut m, at + 2 * PAGE, Access::Read),
        Err(FaultError::BeyondFile)
    );
    assert_eq!(space.write(&mut m, at, b"x"), Err(Errno::EFAULT));
    space
        .protect(&mut m, at, PAGE, Protection::READ_WRITE, &mut 0)
        .expect("mapped");
    space.write(&mut m, at + 1, b"x").expect("writable now");
    assert_eq!(
        (m.page_state(at), space.read_array(&mut m, at)),
        (PageState::Private, Ok([0, b'x', 2]))
    );
    space.forget(&mut m, at, PAGE, &mut 0).expect("mapped");
    assert_eq!(space.read_array(&mut m, at), Ok([0, 1, 2]));
}

#[test]
fn limits_hold_at_the_limit_and_refuse_one_above() {
    let limits = SpaceLimits {
        mappings: 3,
        reserved: 16 * PAGE,
        fault_around: 1,
    };
    let (mut space, mut m) = (AddressSpace::new(limits), MockMachine::new(2));
    let place = |n: u64| Place::Fixed(0x10_0000 + n * 0x10_0000);
    let wanted = || anonymous(Protection::READ_WRITE);
    assert!(space.map(&mut m, place(0), 14 * PAGE, wanted()).is_ok());
    assert_eq!(
        space.map(&mut m, place(1), 3 * PAGE, wanted()),
        Err(Errno::OVER_RESERVED)
    );
    assert!(space.map(&mut m, place(1), 2 * PAGE, wanted()).is_ok());
    assert_eq!(
        space.protect(&mut m, 0x10_0000 + PAGE, PAGE, Protection::READ, &mut 0),
        Err(Errno::OVER_MAPPINGS)
    );
    assert_eq!(space.unmap(&mut m, 0x10_0000 + PAGE, PAGE), Ok(()));
    assert_eq!(
        space.map(&mut m, place(2), PAGE, wanted()),
        Err(Errno::OVER_MAPPINGS)
    );
    let enomem = Errno::ENOMEM.as_result();
    assert_eq!(Errno::OVER_MAPPINGS.as_result(), enomem);
    assert_eq!(Errno::OVER_RESERVED.as_result(), enomem);
    assert_eq!(space.write(&mut m, 0x10_0000, &[1]), Ok(()));
    assert_eq!(space.write(&mut m, 0x20_0000, &[1]), Ok(()));
    assert_eq!(
        space.write(&mut m, 0x20_0000 + PAGE, &[1]),
        Err(Errno::OUT_OF_MEMORY)
    );
}

#[test]
fn brk_moves_within_its_bounds_and_zeroes_what_it_gives_anew() {
    let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(100));
    space.set_heap(0x100_0000);
    assert_eq!(space.brk(&mut m, 0), Ok(0x100_0000));
    assert_eq!(space.brk(&mut m, 0x100_1234), Ok(0x100_1234));
    space
        .write(&mut m, 0x100_1000, b"x")
        .expect("the last page is whole");
    assert_eq!(space.brk(&mut m, 0x100_0500), Ok(0x100_0500));
    assert_eq!(space.brk(&mut m, 0x100_2000), Ok(0x100_2000));
    assert_eq!(space.read_array(&mut m, 0x100_1000), Ok([0]));
    assert_eq!(space.brk(&mut m, u64::MAX), Ok(0x100_2000));
}

#[test]
fn addresses_and_lengths_at_the_ends_are_refused_without_a_panic() {
    let (mut space, mut m) = (AddressSpace::new(LIMITS), MockMachine::new(100));
    let edges = [
        0,
        1,
        PAGE,
        USER_START,
        USER_END - PAGE,
        USER_END,
        1 << 47,
        1 << 63,
        u64::MAX - 4095,
        u64::MAX,
    ];
    for a in edges {
        for b in edges {
            let _ = space.unmap(&mut m, a, b);
            let _ = space.protect(&mut m, a, b, Protection::READ, &mut 0);
            let _ = space.forget(&mut m, a, b, &mut 0);
            let _ = space.read(&mut m, a, &mut [0; 100]);
            let _ = space.read_string(&mut m, a, 100);
            for c in edges {
                let _ = space.remap(&mut m, a, b, c, Some(Place::Any), &mut 0);
                let _ = space.remap(&mut m, a, b, b, Some(Place::Fixed(c)), &mut 0);
            }
            if b <= 1 << 40 {
                let _ = space.map(&mut m, Place::Fixed(a), b, anonymous(Protection::READ));
            }
        }
    }
    assert!(
        space
            .tree
            .overlapping(0..u64::MAX)
            .all(|(start, mapping)| start >= USER_START && mapping.end <= USER_END)
    );
}
