//! What is free in an address space: the ranges between mappings, in a tree that finds the highest one that is long enough.

/// No node.
const NONE: u32 = u32::MAX;

/// A free range, and the tree of those below and above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    start: u64,
    end: u64,
    /// Length of the longest range in this tree.
    longest: u64,
    /// Nodes of the trees with lower and with higher addresses.
    lower: u32,
    higher: u32,
    /// Nodes on the longest way down, this one included.
    height: u32,
}

/// Free ranges, none of which touch: an AVL tree (Knuth, 6.2.3) by address, whose nodes know the longest range below them. Its nodes lie in
/// one array, so that a copy is one move of bytes.
///
/// ```text
///                  [40..50) longest 25
///                  /                 \
///     [10..35) longest 25     [60..61) longest 9
///                                       \
///                                   [70..79) longest 9
/// ```
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    nodes: Vec<Gap>,
    root: u32,
    /// Nodes that are not in the tree.
    spare: Vec<u32>,
}

impl Gaps {
    /// One free range.
    pub fn new(start: u64, end: u64) -> Self {
        let mut gaps = Self {
            nodes: Vec::new(),
            root: NONE,
            spare: Vec::new(),
        };
        gaps.free(start, end);
        gaps
    }

    /// The highest range that starts at or below the address.
    fn at_or_below(&self, address: u64) -> Option<(u64, u64)> {
        let (mut at, mut found) = (self.root, None);
        while let Some(gap) = self.nodes.get(at as usize) {
            if gap.start <= address {
                (found, at) = (Some((gap.start, gap.end)), gap.higher);
            } else {
                at = gap.lower;
            }
        }
        found
    }

    /// The lowest range that starts at or above the address.
    fn at_or_above(&self, address: u64) -> Option<(u64, u64)> {
        let (mut at, mut found) = (self.root, None);
        while let Some(gap) = self.nodes.get(at as usize) {
            if gap.start >= address {
                (found, at) = (Some((gap.start, gap.end)), gap.lower);
            } else {
                at = gap.higher;
            }
        }
        found
    }

    /// Where the highest free range of this length, which is above 0, starts that ends at or below `top`.
    pub fn highest(&self, top: u64, length: u64) -> Option<u64> {
        // The range that `top` may cut, then those below it, whole.
        let (start, end) = self.at_or_below(top.checked_sub(1)?)?;
        let cut = end.min(top);
        if cut - start >= length {
            return Some(cut - length);
        }
        self.highest_before(self.root, start, length)
            .map(|end| end - length)
    }

    /// The end of the highest range in a tree that starts below an address and is long enough.
    fn highest_before(&self, at: u32, before: u64, length: u64) -> Option<u64> {
        let gap = self.nodes.get(at as usize).filter(|gap| gap.longest >= length)?;
        if gap.start >= before {
            return self.highest_before(gap.lower, before, length);
        }
        // All that is lower is before the address: there the longest range tells at once whether one will do. So this looks twice into
        // one node of each height at most.
        self.highest_before(gap.higher, before, length)
            .or_else(|| (gap.end - gap.start >= length).then_some(gap.end))
            .or_else(|| self.highest_before(gap.lower, before, length))
    }

    /// Whether no byte of a range, which is not empty, is free.
    pub fn is_taken(&self, start: u64, end: u64) -> bool {
        self.at_or_below(end - 1)
            .is_none_or(|(_, its_end)| its_end <= start)
    }

    /// Adds what became free, which joins the ranges that it touches or shares bytes with.
    pub fn free(&mut self, start: u64, end: u64) {
        let (mut low, mut high) = (start, end);
        if let Some((below, its_end)) = self.at_or_below(start)
            && its_end >= start
        {
            (low, high) = (below, high.max(its_end));
            self.root = self.remove(self.root, below);
        }
        while let Some((above, its_end)) = self.at_or_above(start).filter(|&(above, _)| above <= end) {
            high = high.max(its_end);
            self.root = self.remove(self.root, above);
        }
        self.root = self.insert(self.root, low, high);
    }

    /// Takes a range that is free.
    pub fn take(&mut self, start: u64, end: u64) {
        let Some((low, high)) = self.at_or_below(start) else {
            return;
        };
        debug_assert!(end <= high, "{start:#x}..{end:#x} is not free");
        self.root = self.remove(self.root, low);
        if low < start {
            self.root = self.insert(self.root, low, start);
        }
        if end < high {
            self.root = self.insert(self.root, end, high);
        }
    }

    fn height(&self, at: u32) -> u32 {
        self.nodes.get(at as usize).map_or(0, |gap| gap.height)
    }

    /// Computes what a node says of its tree.
    fn update(&mut self, at: u32) {
        let Gap {
            start,
            end,
            lower,
            higher,
            ..
        } = self.nodes[at as usize];
        let longest = |at: u32| self.nodes.get(at as usize).map_or(0, |gap| gap.longest);
        let longest = longest(lower).max(longest(higher)).max(end - start);
        let height = 1 + self.height(lower).max(self.height(higher));
        let gap = &mut self.nodes[at as usize];
        (gap.longest, gap.height) = (longest, height);
    }

    /// Lifts the higher (or the lower) child of a node into its place.
    fn rotate(&mut self, at: u32, higher: bool) -> u32 {
        let gap = self.nodes[at as usize];
        let lifted = if higher { gap.higher } else { gap.lower };
        if higher {
            self.nodes[at as usize].higher = self.nodes[lifted as usize].lower;
            self.nodes[lifted as usize].lower = at;
        } else {
            self.nodes[at as usize].lower = self.nodes[lifted as usize].higher;
            self.nodes[lifted as usize].higher = at;
        }
        self.update(at);
        self.update(lifted);
        lifted
    }

    /// Makes a tree, whose children differ by two in height at most, one whose children differ by one at most; gives its root.
    fn balance(&mut self, at: u32) -> u32 {
        let Gap { lower, higher, .. } = self.nodes[at as usize];
        let (below, above) = (self.height(lower), self.height(higher));
        if below.abs_diff(above) < 2 {
            self.update(at);
            return at;
        }
        let to_higher = above > below;
        let child = if to_higher { higher } else { lower };
        let Gap { lower, higher, .. } = self.nodes[child as usize];
        let (outer, inner) = if to_higher {
            (higher, lower)
        } else {
            (lower, higher)
        };
        if self.height(inner) > self.height(outer) {
            let child = self.rotate(child, !to_higher);
            let gap = &mut self.nodes[at as usize];
            *(if to_higher {
                &mut gap.higher
            } else {
                &mut gap.lower
            }) = child;
        }
        self.rotate(at, to_higher)
    }

    fn insert(&mut self, at: u32, start: u64, end: u64) -> u32 {
        let Some(&Gap {
            start: here,
            lower,
            higher,
            ..
        }) = self.nodes.get(at as usize)
        else {
            return self.add(start, end);
        };
        if start < here {
            self.nodes[at as usize].lower = self.insert(lower, start, end);
        } else {
            self.nodes[at as usize].higher = self.insert(higher, start, end);
        }
        self.balance(at)
    }

    fn add(&mut self, start: u64, end: u64) -> u32 {
        let gap = Gap {
            start,
            end,
            longest: end - start,
            lower: NONE,
            higher: NONE,
            height: 1,
        };
        match self.spare.pop() {
            Some(at) => {
                self.nodes[at as usize] = gap;
                at
            }
            None => {
                self.nodes.push(gap);
                // As many as there are mappings, and one.
                (self.nodes.len() - 1) as u32
            }
        }
    }

    /// Takes the range that starts at `start` out of a tree and gives the tree's root.
    fn remove(&mut self, at: u32, start: u64) -> u32 {
        let Some(&Gap {
            start: here,
            lower,
            higher,
            ..
        }) = self.nodes.get(at as usize)
        else {
            return NONE;
        };
        if start < here {
            self.nodes[at as usize].lower = self.remove(lower, start);
        } else if start > here {
            self.nodes[at as usize].higher = self.remove(higher, start);
        } else if lower == NONE || higher == NONE {
            self.spare.push(at);
            return if lower == NONE { higher } else { lower };
        } else {
            // The next range takes this one's place.
            let mut next = higher;
            while self.nodes[next as usize].lower != NONE {
                next = self.nodes[next as usize].lower;
            }
            let Gap { start, end, .. } = self.nodes[next as usize];
            let higher = self.remove(higher, start);
            let gap = &mut self.nodes[at as usize];
            (gap.start, gap.end, gap.higher) = (start, end, higher);
        }
        self.balance(at)
    }

    /// Checks the tree, and that it holds these ranges and no others.
    pub fn audit(&self, wanted: impl Iterator<Item = (u64, u64)>) -> Result<(), String> {
        let mut found = Vec::new();
        self.audit_below(self.root, &mut found)?;
        let wanted: Vec<_> = wanted.collect();
        if found == wanted {
            Ok(())
        } else {
            Err(format!("free ranges are {wanted:x?}, the tree has {found:x?}"))
        }
    }

    fn audit_below(&self, at: u32, found: &mut Vec<(u64, u64)>) -> Result<(), String> {
        let Some(gap) = self.nodes.get(at as usize) else {
            return Ok(());
        };
        self.audit_below(gap.lower, found)?;
        found.push((gap.start, gap.end));
        self.audit_below(gap.higher, found)?;
        let longest = |at: u32| self.nodes.get(at as usize).map_or(0, |gap| gap.longest);
        let (below, above) = (self.height(gap.lower), self.height(gap.higher));
        let counted = (
            1 + below.max(above),
            longest(gap.lower)
                .max(longest(gap.higher))
                .max(gap.end - gap.start),
        );
        if below.abs_diff(above) > 1 || counted != (gap.height, gap.longest) {
            return Err(format!(
                "{gap:x?} over trees of {below} and {above}: {counted:x?}"
            ));
        }
        Ok(())
    }
}
