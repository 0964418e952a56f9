use std::collections::BTreeMap;

use super::*;

/// Numbers that look random, the same ones each time (xorshift).
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    /// Mostly small, now and then with a mapping of its own.
    fn size(&mut self) -> usize {
        match self.below(40) {
            0 => self.below(5 << 20),
            1..=4 => self.below(60_000),
            _ => self.below(600),
        }
    }
}

fn free(zones: &mut Zones, block: usize) {
    // SAFETY: the tests give back what they were given, once.
    unsafe { zones.free(block) }
}

fn room_of(block: usize) -> usize {
    // SAFETY: the tests ask for what they were given.
    unsafe { room(block) }
}

fn reallocate(zones: &mut Zones, block: usize, bytes: usize) -> usize {
    // SAFETY: the tests give back what they were given, once.
    unsafe { zones.reallocate(block, bytes) }
}

/// What lives, by address: length and the byte that fills it.
struct Oracle {
    zones: Zones,
    live: BTreeMap<usize, (usize, u8)>,
}

impl Oracle {
    fn add(&mut self, block: usize, length: usize, fill: u8) {
        assert_ne!(block, 0);
        assert!(room_of(block) >= length);
        let before = self.live.range(..=block).next_back();
        assert!(
            before.is_none_or(|(at, (length, _))| at + length <= block),
            "overlaps the one before"
        );
        let after = self.live.range(block..).next();
        assert!(
            after.is_none_or(|(at, _)| block + length <= *at),
            "overlaps the next one"
        );
        // SAFETY: a live block with room for that.
        unsafe { ptr::write_bytes(block as *mut u8, fill, length) };
        self.live.insert(block, (length, fill));
    }

    fn take(&mut self, rng: &mut TestRng) -> Option<(usize, usize, u8)> {
        let nth = rng.below(self.live.len().max(1));
        let (&block, &(length, fill)) = self.live.iter().nth(nth)?;
        self.live.remove(&block);
        assert_filled(block, length, fill);
        Some((block, length, fill))
    }
}

fn assert_filled(block: usize, length: usize, fill: u8) {
    // SAFETY: a live block of that length at least.
    let bytes = unsafe { std::slice::from_raw_parts(block as *const u8, length) };
    assert!(
        bytes.iter().all(|byte| *byte == fill),
        "a block of {length} bytes was written to"
    );
}

#[test]
fn blocks_never_overlap_and_keep_what_is_in_them() {
    for seed in 1..=6 {
        let mut rng = TestRng(seed * 0x9e37_79b9);
        let layout: Vec<u32> = (2..9)
            .flat_map(|class| [number_of(0, class, 3), number_of(0, class, 40)])
            .collect();
        let mut oracle = Oracle {
            zones: Zones::EMPTY,
            live: BTreeMap::new(),
        };
        oracle.zones.begin(layout.leak());
        for step in 0..6000_u32 {
            let (fill, length) = (step as u8, rng.size());
            match rng.below(10) {
                0..=3 => {
                    let (block, zero) = oracle.zones.allocate(length);
                    assert_eq!(block % 16, 0);
                    if zero {
                        assert_filled(block, length, 0);
                    }
                    oracle.add(block, length, fill);
                }
                4 => {
                    let alignment = 1 << rng.below(14);
                    let block = oracle.zones.allocate_aligned(alignment, length);
                    assert_eq!(block % alignment, 0);
                    oracle.add(block, length, fill);
                }
                5 | 6 => {
                    if let Some((block, old, filled)) = oracle.take(&mut rng) {
                        let new = reallocate(&mut oracle.zones, block, length);
                        assert_filled(new, old.min(length), filled);
                        oracle.add(new, length, fill);
                    }
                }
                _ => {
                    if let Some((block, ..)) = oracle.take(&mut rng) {
                        free(&mut oracle.zones, block);
                    }
                }
            }
            if step % 2000 == 1999 {
                oracle.zones.mark();
            }
        }
        while let Some((block, ..)) = oracle.take(&mut rng) {
            free(&mut oracle.zones, block);
        }
    }
}

#[test]
fn blocks_of_the_layout_lie_in_the_hot_zone_and_come_back_to_it() {
    let class = class::of(100).expect("a class");
    let mut zones = Zones::EMPTY;
    zones.begin(
        vec![
            number_of(0, class, 40),
            number_of(1, class, 2),
            number_of(1, class, 4),
        ]
        .leak(),
    );
    zones.allocate(100);
    zones.next_phase();
    let blocks: Vec<usize> = (0..4).map(|_| zones.allocate(100).0).collect();
    let is_hot = |zones: &Zones, block: usize| (zones.start..zones.start + HOT_BYTES).contains(&block);
    assert_eq!(
        blocks
            .iter()
            .map(|block| is_hot(&zones, *block))
            .collect::<Vec<_>>(),
        [false, true, false, true]
    );
    free(&mut zones, blocks[1]);
    let other = zones.allocate(100).0;
    assert!(
        !is_hot(&zones, other),
        "what is not of the layout takes no place there"
    );
}

#[test]
fn what_is_made_behind_the_mark_lies_together() {
    let mut zones = Zones::EMPTY;
    let old: Vec<usize> = (0..100).map(|_| zones.allocate(50).0).collect();
    for block in &old {
        free(&mut zones, *block);
    }
    zones.mark();
    let mark = zones.mark;
    assert_eq!(mark % PAGE, 0);
    let new: Vec<usize> = (0..50).map(|_| zones.allocate(50).0).collect();
    assert!(
        new.iter().all(|block| (mark..mark + PAGE).contains(block)),
        "{new:x?} behind {mark:x}"
    );
    free(&mut zones, new[7]);
    assert_eq!(
        zones.allocate(50),
        (new[7], false),
        "free ones behind the mark come first"
    );
    // Free blocks from before it come back into use before memory grows on.
    let mut block = 0;
    for _ in 0..BEHIND_BYTES / 64 + 10 {
        block = zones.allocate(50).0;
    }
    assert!(block < mark);
}

#[test]
fn noted_blocks_are_found_by_any_address_in_them() {
    let mut zones = Zones::EMPTY;
    zones.note().expect("address space");
    zones.begin(&[]);
    let block = zones.allocate(200).0;
    zones.allocate(200);
    let third = zones.allocate(200).0;
    let class = class::of(200).expect("a class");
    assert_eq!(zones.number_at(block + 150), Some(number_of(0, class, 1)));
    assert_eq!(
        (zones.number_at(third), zones.number_at(zones.used().end)),
        (Some(number_of(0, class, 3)), None)
    );
}

#[test]
#[cfg(target_pointer_width = "64")]
fn what_cannot_be_is_refused() {
    let mut zones = Zones::EMPTY;
    assert_eq!(zones.allocate(usize::MAX).0, 0);
    assert_eq!(zones.allocate(isize::MAX as usize).0, 0);
    assert_eq!(zones.allocate_aligned(4096, usize::MAX - 100), 0);
}
