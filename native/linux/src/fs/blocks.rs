//! The bytes of a file that a guest wrote, in blocks: a copy shares them, and a write to a copy moves the blocks that it meets, never
//! the whole file. What nobody wrote takes nothing.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::errno::Errno;
use crate::state::account::{self, Account};

/// Bytes of a block: all that a write of one byte may have to move.
const BLOCK: u64 = 64 << 10;
/// What the host takes for a block beside its bytes: its place in the list, and the counts of who shares it.
const PLACE: u64 = account::slot(size_of::<Option<Block>>()) + account::bytes(size_of::<Vec<u8>>());

/// The first bytes of a block; those behind them are zero.
type Block = Arc<Vec<u8>>;

/// The bytes.
///
/// Invariants: a block for each begun [`BLOCK`] of the length; none has more bytes than the file has there.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    length: u64,
    list: Vec<Option<Block>>,
}

impl Blocks {
    /// Bytes of the file.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the invariants hold: for what was read from a file.
    pub(crate) fn is_sound(&self) -> bool {
        let rest = |number: usize| self.length - number as u64 * BLOCK;
        let fits = |(number, block): (usize, &Option<Block>)| {
            let length = block.as_ref().map_or(0, |block| block.len() as u64);
            length <= rest(number).min(BLOCK)
        };
        self.list.len() as u64 == self.length.div_ceil(BLOCK) && self.list.iter().enumerate().all(fits)
    }

    /// What they take of the host.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.list.iter().map(cost_of).sum()
    }

    /// The bytes of a range, as far as the file has them.
    #[must_use]
    pub fn part(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        let end = range.end.min(self.length);
        let start = range.start.min(end);
        if let Some(bytes) = self.borrowed(start..end) {
            return Cow::Borrowed(bytes);
        }
        let mut part = vec![0; (end - start) as usize];
        for (number, inside, at) in pieces(start..end) {
            let written = self.written(number);
            let (from, to) = (inside.start.min(written.len()), inside.end.min(written.len()));
            part[at..at + (to - from)].copy_from_slice(&written[from..to]);
        }
        Cow::Owned(part)
    }

    /// The bytes of a range that lie together.
    fn borrowed(&self, range: Range<u64>) -> Option<&[u8]> {
        let (number, inside, _) = pieces(range.clone()).next()?;
        if inside.len() as u64 != range.end - range.start {
            return None;
        }
        self.written(number).get(inside)
    }

    fn written(&self, number: usize) -> &[u8] {
        self.list
            .get(number)
            .and_then(Option::as_ref)
            .map_or(&[], |block| block.as_slice())
    }

    /// Makes the file so long; what is new is zero.
    ///
    /// # Errors
    /// ENOSPC when the account has no room for it.
    pub fn set_length(&mut self, length: u64, account: &mut Account) -> Result<(), Errno> {
        let count = length.div_ceil(BLOCK) as usize;
        if let Some(more) = count.checked_sub(self.list.len()) {
            let cost = more as u64 * PLACE;
            account.ask(cost).or(Err(Errno::ENOSPC))?;
            account.count(cost);
            self.list.resize(count, None);
        } else {
            for block in self.list.drain(count..) {
                account.give(cost_of(&block));
            }
            self.list.shrink_to(2 * count);
        }
        // Only the last block may have bytes behind the end.
        let inside = (length - BLOCK * (count as u64).saturating_sub(1)) as usize;
        if length < self.length
            && let Some(last) = self.list.last_mut()
            && last.as_ref().is_some_and(|block| block.len() > inside)
        {
            account.give(cost_of(last));
            *last = last
                .as_ref()
                .filter(|_| inside > 0)
                .map(|block| Arc::new(block[..inside].to_vec()));
            account.count(cost_of(last));
        }
        self.length = length;
        Ok(())
    }

    /// Writes within the length, as many of the bytes as the account has room for; gives how many.
    ///
    /// # Errors
    /// ENOSPC when there is room for none.
    pub fn write(&mut self, offset: u64, from: &[u8], account: &mut Account) -> Result<usize, Errno> {
        let end = (offset + from.len() as u64).min(self.length);
        let mut done = 0;
        for (number, inside, at) in pieces(offset.min(end)..end) {
            let own = match own(
                &mut self.list[number],
                &inside,
                self.length - number as u64 * BLOCK,
                account,
            ) {
                Ok(own) => own,
                Err(errno) if done == 0 => return Err(errno),
                Err(_) => break,
            };
            done = at + inside.len();
            own[inside].copy_from_slice(&from[at..done]);
        }
        Ok(done)
    }
}

/// The bytes of a block as this file's own, as far as the end of the range at least. A block that grows has half as much again, or each of
/// many appended pieces would move it. `rest`: bytes of the file from the block's first on.
fn own<'a>(
    block: &'a mut Option<Block>,
    range: &Range<usize>,
    rest: u64,
    account: &mut Account,
) -> Result<&'a mut [u8], Errno> {
    let old = block.as_ref().map_or(0, |block| block.len());
    let length = old.max(range.end);
    let is_own = block
        .as_mut()
        .and_then(Arc::get_mut)
        .is_some_and(|own| own.capacity() >= length);
    if !is_own {
        let ample = if length > old {
            (old + old / 2).clamp(length, length.max(BLOCK as usize))
        } else {
            length
        };
        // Both are there while the bytes move.
        let wanted = [ample, length]
            .into_iter()
            .find(|&wanted| account::bytes(wanted) <= account.room());
        let mut moved = Vec::with_capacity(wanted.ok_or(Errno::ENOSPC)?);
        if let Some(block) = &*block {
            moved.extend_from_slice(block);
        }
        account.give(cost_of(block));
        *block = Some(Arc::new(moved));
        account.count(cost_of(block));
    }
    debug_assert!(length as u64 <= rest, "a block ends within the file");
    let own = Arc::make_mut(block.get_or_insert_default());
    own.resize(length, 0);
    Ok(own)
}

/// What a block takes of the host, with its place.
fn cost_of(block: &Option<Block>) -> u64 {
    PLACE + block.as_ref().map_or(0, |block| account::bytes(block.capacity()))
}

/// The blocks of a range: number, bytes in it, and where in the range they are.
fn pieces(range: Range<u64>) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    let numbers = range.start / BLOCK..range.end.div_ceil(BLOCK);
    numbers.filter_map(move |number| {
        let base = number * BLOCK;
        let (start, end) = (range.start.max(base), range.end.min(base + BLOCK));
        (start < end).then(|| {
            (
                number as usize,
                (start - base) as usize..(end - base) as usize,
                (start - range.start) as usize,
            )
        })
    })
}

impl From<&[u8]> for Blocks {
    fn from(bytes: &[u8]) -> Self {
        Self {
            length: bytes.len() as u64,
            list: bytes
                .chunks(BLOCK as usize)
                .map(|block| Some(Arc::new(block.to_vec())))
                .collect(),
        }
    }
}

impl fmt::Debug for Blocks {
    /// All bytes in a row: the leak check searches this text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocks({:?})", self.part(0..self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rng::TestRng;

    const LONGEST: u64 = 3 * BLOCK + 100;

    /// Offsets near the ends of blocks, mostly.
    fn place(rng: &mut TestRng) -> u64 {
        let near = rng.below(4) * BLOCK + rng.below(200);
        let places = [near.saturating_sub(100), rng.below(LONGEST), rng.below(50)];
        places[rng.below(3) as usize].min(LONGEST)
    }

    fn agree(blocks: &Blocks, oracle: &[u8], account: &Account) {
        assert_eq!(blocks.length(), oracle.len() as u64);
        assert!(blocks.part(0..u64::MAX) == oracle);
        assert_eq!(blocks.cost(), account.used());
        assert_eq!(blocks.list.len() as u64, blocks.length.div_ceil(BLOCK));
    }

    #[test]
    fn they_are_what_one_vector_would_be_and_copies_stay_as_they_were() {
        let mut rng = TestRng::new(1);
        for _ in 0..20 {
            let (mut blocks, mut oracle, mut account) = (Blocks::default(), Vec::new(), Account::default());
            let mut copies: Vec<(Blocks, Vec<u8>)> = Vec::new();
            for step in 0..60_u8 {
                let (offset, count) = (place(&mut rng), rng.below(2) * BLOCK + rng.below(300));
                match rng.below(4) {
                    0 => {
                        blocks.set_length(offset, &mut account).unwrap();
                        oracle.resize(offset as usize, 0);
                    }
                    1 => copies.push((blocks.clone(), oracle.clone())),
                    _ => {
                        let bytes: Vec<u8> = (0..count).map(|i| step.wrapping_add(i as u8)).collect();
                        let room = oracle.len().saturating_sub(offset as usize).min(bytes.len());
                        assert_eq!(blocks.write(offset, &bytes, &mut account), Ok(room));
                        if room > 0 {
                            oracle[offset as usize..][..room].copy_from_slice(&bytes[..room]);
                        }
                    }
                }
                agree(&blocks, &oracle, &account);
                let (start, end) = (place(&mut rng) as usize, place(&mut rng) as usize);
                let wanted = oracle.get(start..end.min(oracle.len())).unwrap_or_default();
                assert!(*blocks.part(start as u64..end as u64) == *wanted);
            }
            for (copy, wanted) in copies {
                assert!(*copy.part(0..u64::MAX) == wanted, "a write reached a copy");
            }
        }
    }

    #[test]
    fn a_write_to_a_copy_moves_the_block_that_it_meets_and_no_other() {
        let mut account = Account::default();
        let mut blocks = Blocks::default();
        blocks.set_length(256 * BLOCK, &mut account).unwrap();
        assert!(account.used() < 64 * 1024, "a file of holes takes nothing");
        for number in 0..256 {
            blocks
                .write(number * BLOCK, &[1; BLOCK as usize], &mut account)
                .unwrap();
        }
        let before = blocks.clone();
        blocks.write(7 * BLOCK + 5, &[2], &mut account).unwrap();
        let moved = |(own, shared): (&Option<Block>, &Option<Block>)| match (own, shared) {
            (Some(own), Some(shared)) => !Arc::ptr_eq(own, shared),
            _ => true,
        };
        let moves: Vec<usize> = (0..256)
            .filter(|&i| moved((&blocks.list[i], &before.list[i])))
            .collect();
        assert_eq!(moves, [7]);
    }

    #[test]
    fn a_file_without_room_stays_as_it_was() {
        let mut account = Account::default();
        let mut blocks = Blocks::default();
        blocks.set_length(2 * BLOCK, &mut account).unwrap();
        account.set_room(account::bytes(BLOCK as usize));
        assert_eq!(blocks.write(BLOCK - 10, &[1; 20], &mut account), Ok(10));
        assert_eq!(blocks.write(BLOCK, &[1; 20], &mut account), Err(Errno::ENOSPC));
        assert_eq!(blocks.set_length(4 * BLOCK, &mut account), Err(Errno::ENOSPC));
        assert_eq!(
            *blocks.part(BLOCK - 12..BLOCK + 2),
            [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]
        );
        assert_eq!(blocks.cost(), account.used());
    }
}
