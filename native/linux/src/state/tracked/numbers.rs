//! A set of small numbers that knows its lowest gap.

const BITS: usize = u64::BITS as usize;

/// Numbers, as bits. A bit of a higher level says that all of a word below are set, so that the lowest number that is not there is
/// found by one word a level:
///
/// ```text
/// level 1:  0 0 1 0 ...            bit w: word w of level 0 is full
/// level 0:  1011.. 1110.. 1111.. 0010.. ...      bit n: n is in the set
/// ```
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Words of each level, the lowest first; the highest has one word, or there are none. Words that are missing are empty.
    levels: Vec<Vec<u64>>,
    count: usize,
}

impl Numbers {
    /// How many numbers are in the set.
    pub fn count(&self) -> usize {
        self.count
    }

    fn word(&self, level: usize, index: usize) -> u64 {
        let words = self.levels.get(level).map_or(&[][..], Vec::as_slice);
        words.get(index).copied().unwrap_or(0)
    }

    /// Whether a number is in the set.
    pub fn holds(&self, number: usize) -> bool {
        self.word(0, number / BITS) >> (number % BITS) & 1 != 0
    }

    /// Puts a number in, or takes it out.
    pub fn set(&mut self, number: usize, there: bool) {
        if self.holds(number) == there {
            return;
        }
        if there {
            self.count += 1;
        } else {
            self.count -= 1;
        }
        let (mut index, mut level) = (number, 0);
        loop {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let words = &mut self.levels[level];
            if words.len() <= index / BITS {
                words.resize(index / BITS + 1, 0);
            }
            let word = &mut words[index / BITS];
            let was_full = *word == u64::MAX;
            *word = *word & !(1 << (index % BITS)) | u64::from(there) << (index % BITS);
            // What is above tells of full words alone.
            if (*word == u64::MAX) == was_full {
                return;
            }
            (index, level) = (index / BITS, level + 1);
        }
    }

    /// The lowest number from `from` on that is not in the set.
    pub fn lowest_missing(&self, from: usize) -> usize {
        let (mut index, mut level) = (from, 0);
        // Up, until a word has room at or behind the place.
        loop {
            let room = !self.word(level, index / BITS) & u64::MAX << (index % BITS);
            if room != 0 {
                index = index / BITS * BITS + room.trailing_zeros() as usize;
                break;
            }
            (index, level) = (index / BITS + 1, level + 1);
        }
        // Down to the number: each word on the way has room.
        while level > 0 {
            level -= 1;
            index = index * BITS + (!self.word(level, index)).trailing_zeros() as usize;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::test_rng::TestRng;

    #[test]
    fn numbers_agree_with_a_set() {
        let mut rng = TestRng::new(3);
        for round in 0..60 {
            let end = [5, 70, 4200, 300_000][round % 4];
            let (mut numbers, mut set) = (Numbers::default(), BTreeSet::new());
            // Long runs fill words and levels.
            for _ in 0..40 {
                let (start, there) = (rng.below(end) as usize, rng.below(3) != 0);
                let length = 1 + rng.below(end.min(9000)) as usize;
                for number in start..(start + length).min(end as usize) {
                    numbers.set(number, there);
                    if there {
                        set.insert(number);
                    } else {
                        set.remove(&number);
                    }
                }
                assert_eq!(numbers.count(), set.len());
                let from = rng.below(end + 10) as usize;
                let wanted = (from..).find(|number| !set.contains(number));
                assert_eq!(Some(numbers.lowest_missing(from)), wanted, "from {from}");
            }
        }
    }
}
