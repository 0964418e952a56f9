//! The guest's randomness: ChaCha20 (RFC 8439) keyed by a seed that the host draws for each request.

/// A deterministic generator; two guests with the same seed see the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    key: [u32; 8],
    /// Number of the next block.
    counter: u64,
    block: [u8; 64],
    /// Bytes of `block` already given out.
    used: usize,
}

impl Random {
    /// A generator keyed by 32 bytes, which nobody but the host may know.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        let mut key = [0; 8];
        for (word, bytes) in key.iter_mut().zip(seed.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Self {
            key,
            counter: 0,
            block: [0; 64],
            used: 64,
        }
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.used == 64 {
                let counter = [self.counter as u32, (self.counter >> 32) as u32, 0, 0];
                self.block = chacha20_block(&self.key, counter);
                self.counter += 1;
                self.used = 0;
            }
            let count = rest.len().min(64 - self.used);
            let (now, later) = rest.split_at_mut(count);
            now.copy_from_slice(&self.block[self.used..self.used + count]);
            self.used += count;
            rest = later;
        }
    }
}

fn quarter_round(state: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    for (x, y, z, distance) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        state[x] = state[x].wrapping_add(state[y]);
        state[z] = (state[z] ^ state[x]).rotate_left(distance);
    }
}

/// RFC 8439, section 2.3; `tail` is the last row of the state (block counter and nonce).
fn chacha20_block(key: &[u32; 8], tail: [u32; 4]) -> [u8; 64] {
    let mut start = [
        0x6170_7865,
        0x3320_646e,
        0x7962_2d32,
        0x6b20_6574,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    start[4..12].copy_from_slice(key);
    start[12..].copy_from_slice(&tail);
    let mut state = start;
    for _ in 0..10 {
        for column in 0..4 {
            quarter_round(&mut state, column, column + 4, column + 8, column + 12);
        }
        quarter_round(&mut state, 0, 5, 10, 15);
        quarter_round(&mut state, 1, 6, 11, 12);
        quarter_round(&mut state, 2, 7, 8, 13);
        quarter_round(&mut state, 3, 4, 9, 14);
    }
    let mut block = [0; 64];
    for ((bytes, word), first) in block.as_chunks_mut::<4>().0.iter_mut().zip(state).zip(start) {
        *bytes = word.wrapping_add(first).to_le_bytes();
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_equals_the_vector_of_rfc_8439() {
        let seed: [u8; 32] = std::array::from_fn(|i| i as u8);
        let key = Random::from_seed(seed).key;
        let block = chacha20_block(&key, [1, 0x0900_0000, 0x4a00_0000, 0]);
        assert_eq!(
            block[..16],
            [
                0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71,
                0xc4
            ]
        );
        assert_eq!(block[60..], [0xa2, 0x50, 0x3c, 0x4e]);
    }

    #[test]
    fn fill_gives_the_same_stream_whatever_the_portions() {
        let mut whole = [0; 500];
        Random::from_seed([9; 32]).fill(&mut whole);
        let mut parts = [0; 500];
        let mut random = Random::from_seed([9; 32]);
        for part in parts.chunks_mut(37) {
            random.fill(part);
        }
        assert_eq!(whole, parts);
        assert_ne!(whole[..64], whole[64..128]);
        let mut other = [0; 500];
        Random::from_seed([8; 32]).fill(&mut other);
        assert_ne!(whole, other);
    }
}
