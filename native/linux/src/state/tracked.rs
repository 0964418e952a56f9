//! State that remembers whether it was touched, so that a reset copies no more than a request changed.

mod numbers;
mod stored;

use std::ops::{Deref, DerefMut};

use numbers::Numbers;

/// A value that notes every mutable borrow.
///
/// Invariant: a value that is not touched equals the one it was last restored from (or snapshotted as).
#[derive(Clone, Debug, Default)]
pub struct Tracked<T> {
    value: T,
    touched: bool,
}

impl<T: Clone> Tracked<T> {
    /// A value that counts as touched until it is first restored.
    pub fn new(value: T) -> Self {
        Self { value, touched: true }
    }

    /// Notes that the value is now the reference: later restores copy only if it is touched after this.
    pub fn mark_clean(&mut self) {
        self.touched = false;
    }

    /// Makes the value equal to `reference`'s, copying only if it was touched.
    pub fn restore(&mut self, reference: &Self) {
        if self.touched {
            self.value.clone_from(&reference.value);
            self.touched = false;
        }
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Tracked<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.touched = true;
        &mut self.value
    }
}

impl<T: PartialEq> PartialEq for Tracked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// Numbered values, lowest free number first; each remembers whether it was touched.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    slots: Vec<Option<T>>,
    /// The numbers of the slots that are in use.
    used: Numbers,
    /// Numbers whose slot may differ from the reference, each at most once.
    touched: Vec<usize>,
    /// For each slot, whether its number is in `touched`. At least as long as `slots`.
    marked: Vec<bool>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            used: Numbers::default(),
            touched: Vec::new(),
            marked: Vec::new(),
        }
    }
}

impl<T: PartialEq> PartialEq for Slab<T> {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots
    }
}

impl<T: Clone> Slab<T> {
    fn touch(&mut self, number: usize) {
        if self.marked.len() <= number {
            self.marked.resize(number + 1, false);
        }
        if !self.marked[number] {
            self.marked[number] = true;
            self.touched.push(number);
        }
    }

    /// Puts a value into the lowest free slot that is not below `from` and gives its number.
    pub fn insert_from(&mut self, from: usize, value: T) -> usize {
        let number = self.used.lowest_missing(from);
        self.put(number, value);
        number
    }

    /// Puts a value into the lowest free slot and gives its number.
    pub fn insert(&mut self, value: T) -> usize {
        self.insert_from(0, value)
    }

    /// Puts a value into this slot. The caller bounds the number.
    pub fn put(&mut self, number: usize, value: T) -> Option<T> {
        if self.slots.len() <= number {
            self.slots.resize_with(number + 1, || None);
        }
        self.touch(number);
        self.used.set(number, true);
        self.slots[number].replace(value)
    }

    /// Takes the value out of this slot.
    pub fn remove(&mut self, number: usize) -> Option<T> {
        if self.slots.get(number)?.is_none() {
            return None;
        }
        self.touch(number);
        self.used.set(number, false);
        let value = self.slots[number].take();
        while self.slots.last().is_some_and(Option::is_none) {
            self.slots.pop();
        }
        self.shrink();
        value
    }

    /// Gives memory back that the slots do not need any more, once it is most of all.
    fn shrink(&mut self) {
        if self.slots.capacity() > 64 && self.slots.len() < self.slots.capacity() / 4 {
            self.slots.shrink_to(self.slots.len() * 2);
        }
    }

    /// The value in this slot.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&T> {
        self.slots.get(number)?.as_ref()
    }

    /// The value in this slot, which counts as touched from now on.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        if self.slots.get(number)?.is_none() {
            return None;
        }
        self.touch(number);
        self.slots[number].as_mut()
    }

    /// One more than the highest number in use.
    #[must_use]
    pub fn end(&self) -> usize {
        self.slots.len()
    }

    /// How many slots are in use.
    #[must_use]
    pub fn count(&self) -> usize {
        self.used.count()
    }

    /// Whether the numbers that count as used are those of the slots with a value: for audits.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let filled = self.iter().filter(|&(number, _)| self.used.holds(number));
        self.used.count() == filled.count() && self.used.count() == self.iter().count()
    }

    /// All values with their numbers, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(n, slot)| Some((n, slot.as_ref()?)))
    }

    /// Notes that all values are now the reference.
    pub fn mark_clean(&mut self) {
        for number in self.touched.drain(..) {
            self.marked[number] = false;
        }
    }

    /// Makes all slots equal to `reference`'s, copying only those that were touched.
    pub fn restore(&mut self, reference: &Self) {
        for number in self.touched.drain(..) {
            self.marked[number] = false;
            let used = reference.slots.get(number).is_some_and(Option::is_some);
            self.used.set(number, used);
            match reference.slots.get(number) {
                Some(value) => {
                    if self.slots.len() <= number {
                        self.slots.resize_with(number + 1, || None);
                    }
                    self.slots[number].clone_from(value);
                }
                None => {
                    if let Some(slot) = self.slots.get_mut(number) {
                        *slot = None;
                    }
                }
            }
        }
        self.slots.truncate(reference.slots.len());
        self.shrink();
        let numbers = self.slots.len();
        if self.marked.capacity() > 64 && numbers < self.marked.capacity() / 4 {
            self.marked.truncate(numbers);
            self.marked.shrink_to_fit();
            self.touched.shrink_to(numbers);
            self.used = reference.used.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rng::TestRng;

    #[test]
    fn slab_restore_equals_the_reference_after_any_operations() {
        let mut rng = TestRng::new(7);
        let mut next = move |end| rng.below(end) as usize;
        for _ in 0..300 {
            let mut slab = Slab::default();
            for n in 0..next(10) {
                slab.put(n * 2, n);
            }
            slab.mark_clean();
            let reference = slab.clone();
            for _ in 0..3 {
                for _ in 0..next(40) {
                    match next(4) {
                        0 => drop(slab.remove(next(24))),
                        1 => {
                            let from = next(24);
                            let free = (from..).find(|&number| slab.get(number).is_none());
                            assert_eq!(Some(slab.insert_from(from, 1000)), free);
                        }
                        2 => slab.get_mut(next(24)).into_iter().for_each(|value| *value += 1),
                        _ => drop(slab.put(next(24), 77)),
                    }
                }
                assert!(slab.agrees());
                slab.restore(&reference);
                assert_eq!(slab, reference);
                assert!(slab.agrees());
                assert_eq!(slab.insert(5), reference.clone().insert(5));
                slab.restore(&reference);
            }
        }
    }

    #[test]
    fn slab_insert_takes_the_lowest_free_number() {
        let mut slab = Slab::default();
        assert_eq!((slab.insert('a'), slab.insert('b'), slab.insert('c')), (0, 1, 2));
        assert_eq!(slab.remove(1), Some('b'));
        assert_eq!(
            (
                slab.insert_from(2, 'd'),
                slab.insert('e'),
                slab.insert_from(9, 'f')
            ),
            (3, 1, 9)
        );
        assert_eq!(slab.remove(5), None);
    }
}
