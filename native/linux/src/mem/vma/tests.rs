//! The mapping tree against a map of single pages, and its search for room against the search that it replaces.

use std::sync::Arc;

use super::*;
use crate::fs::blocks::Blocks;
use crate::test_rng::TestRng;

const BASE: u64 = 0x10_0000;
const PAGES: u64 = 48;

/// One page in the oracle: protection, source's offset of this very page, purpose.
type Page = (Protection, Option<u64>, bool);

fn pages(tree: &VmaTree) -> BTreeMap<u64, Page> {
    let mut pages = BTreeMap::new();
    for (start, mapping) in &tree.map {
        for page in (*start..mapping.end).step_by(PAGE as usize) {
            let offset = match &mapping.source {
                Source::Anonymous => None,
                Source::File { offset, .. } => Some(offset + (page - start)),
            };
            assert!(
                pages
                    .insert(page, (mapping.protection, offset, mapping.shared))
                    .is_none(),
                "overlap at {page:x}"
            );
        }
    }
    pages
}

/// Looks at every mapping from the top down, as the tree once did.
fn gap_below_by_search(tree: &VmaTree, top: u64, length: u64) -> Option<u64> {
    let mut high = top;
    for (&start, mapping) in tree.map.range(..top).rev() {
        if mapping.end < high && high - mapping.end >= length {
            break;
        }
        high = high.min(start);
    }
    high.checked_sub(length)
        .filter(|&start| start >= USER_START && tree.is_free(start..high))
}

#[test]
fn tree_agrees_with_a_map_of_single_pages() {
    let file = HostFile::of_guest(Arc::new(Blocks::from(&[0_u8; 10][..])));
    let mut rng = TestRng::new(5);
    let mut next = move |end| rng.below(end);
    for _ in 0..300 {
        let mut tree = VmaTree::default();
        let mut oracle: BTreeMap<u64, Page> = BTreeMap::new();
        for _ in 0..60 {
            let first = next(PAGES);
            let count = 1 + next(PAGES - first);
            let range = BASE + first * PAGE..BASE + (first + count) * PAGE;
            let each = |range: Range<u64>| range.step_by(PAGE as usize);
            let protection = Protection::from_bits(next(4));
            match next(4) {
                0 | 1 => {
                    // A mapping over whatever was there, as MAP_FIXED does.
                    let base = (next(3) == 0).then(|| next(4) * PAGE);
                    tree.remove(range.clone());
                    let source = base.map_or(Source::Anonymous, |offset| Source::File {
                        file: file.clone(),
                        offset,
                        name: "f".into(),
                        inode: 1,
                    });
                    let mapping = Mapping {
                        end: range.end,
                        protection,
                        source,
                        purpose: Purpose::General,
                        shared: false,
                    };
                    tree.insert(range.start, mapping);
                    for page in each(range.clone()) {
                        oracle.insert(
                            page,
                            (protection, base.map(|base| base + page - range.start), false),
                        );
                    }
                }
                2 => {
                    tree.remove(range.clone());
                    oracle.retain(|page, _| !range.contains(page));
                }
                _ => {
                    tree.protect(range.clone(), protection);
                    for (_, page) in oracle.range_mut(range) {
                        page.0 = protection;
                    }
                }
            }
            tree.audit().expect("a tree that keeps its invariants");
            assert_eq!(pages(&tree), oracle);
            let first = next(PAGES);
            let range = BASE + first * PAGE..BASE + (first + 1 + next(PAGES - first)) * PAGE;
            assert_eq!(
                tree.is_free(range.clone()),
                oracle.range(range.clone()).next().is_none()
            );
            assert_eq!(
                tree.covers(range.clone()),
                each(range.clone()).all(|page| oracle.contains_key(&page))
            );
            assert_eq!(
                tree.find(range.start).is_some(),
                oracle.contains_key(&range.start)
            );
            let (top, length) = (BASE + PAGES * PAGE, (1 + next(6)) * PAGE);
            let naive = (USER_START / PAGE..=(top - length) / PAGE)
                .rev()
                .map(|page| page * PAGE)
                .find(|&at| oracle.range(at..at + length).next().is_none());
            assert_eq!(tree.gap_below(top, length), naive);
        }
    }
}

#[test]
fn describe_shows_lines_as_linux_does() {
    let mut tree = VmaTree::default();
    let file = HostFile::new(vec![1_u8]);
    let source = Source::File {
        file,
        offset: 0x1000,
        name: "/bin/x".into(),
        inode: 7,
    };
    let mapping = |end, source, purpose| Mapping {
        end,
        protection: Protection::READ_EXECUTE,
        source,
        purpose,
        shared: false,
    };
    tree.insert(0x40_0000, mapping(0x40_2000, source, Purpose::General));
    tree.insert(0x50_0000, mapping(0x50_1000, Source::Anonymous, Purpose::Heap));
    tree.insert(0x60_0000, mapping(0x60_1000, Source::Anonymous, Purpose::General));
    let (text, next) = tree.describe(0, usize::MAX);
    assert_eq!(next, None);
    let (mut parts, mut from) = (String::new(), Some(0));
    while let Some(at) = from {
        let (part, next) = tree.describe(at, 1);
        parts.push_str(&part);
        from = next;
    }
    assert_eq!(parts, text, "one mapping at a time");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        format!("{:<73}/bin/x", "00400000-00402000 r-xp 00001000 00:01 7 ")
    );
    assert!(
        lines[1].ends_with(" [heap]") && lines[1].starts_with("00500000-00501000 r-xp 00000000 00:00 0 ")
    );
    assert_eq!(lines[2], "00600000-00601000 r-xp 00000000 00:00 0 ");
}

/// Mappings of one page or more, some side by side, all over user space; as many as there may be.
#[test]
fn room_is_found_where_a_search_of_all_mappings_finds_it() {
    let mut rng = TestRng::new(17);
    for round in 0..12 {
        let mut tree = VmaTree::default();
        // Crowded and sparse: where mappings are many, most requests meet another.
        let pages = [60, 3000, 1 << 33][round % 3];
        let base = if round % 2 == 0 {
            USER_START
        } else {
            USER_END - pages * PAGE
        };
        for step in 0..1500 {
            let start = base + rng.below(pages) * PAGE;
            let most = 1 << rng.below(8);
            let end = (start + (1 + rng.below(most)) * PAGE).min(base + pages * PAGE);
            if rng.below(5) < 2 {
                tree.remove(start..end);
            } else if rng.below(3) == 0 {
                let length = (1 + rng.below(9)) * PAGE;
                if let Some(at) = tree.gap_below(base + pages * PAGE, length) {
                    tree.insert(at, anonymous(at + length, rng.below(4)));
                }
            } else {
                tree.remove(start..end);
                tree.insert(start, anonymous(end, rng.below(4)));
            }
            let top = base + rng.below(pages + 1) * PAGE;
            for length in [
                PAGE,
                (1 + rng.below(40)) * PAGE,
                rng.below(pages * 2).max(1) * PAGE,
            ] {
                for top in [top, base + pages * PAGE, 0] {
                    assert_eq!(
                        tree.gap_below(top, length),
                        gap_below_by_search(&tree, top, length),
                        "{top:#x} {length:#x}"
                    );
                }
            }
            if step % 50 == 0 {
                tree.audit().expect("a tree that keeps its invariants");
            }
        }
    }
}

fn anonymous(end: u64, protection: u64) -> Mapping {
    Mapping {
        end,
        protection: Protection::from_bits(protection),
        source: Source::Anonymous,
        purpose: Purpose::General,
        shared: false,
    }
}
