//! The guest's randomness: ChaCha20 (RFC 8439) keyed by a seed that the host draws for each request.

use std::fmt;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// A deterministic generator; two guests with the same seed see the same bytes.
#[derive(PartialEq, Eq)]
pub struct Random(ChaCha20Rng);

impl Random {
    /// A generator keyed by 32 bytes, which nobody but the host may know.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }

    /// Fills `bytes`. A rest of less than four bytes takes a whole word of the generator.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

impl Clone for Random {
    fn clone(&self) -> Self {
        let mut copy = ChaCha20Rng::from_seed(self.0.get_seed());
        copy.set_word_pos(self.0.get_word_pos());
        Self(copy)
    }
}

/// All of its state: the audit compares machines by it. The crate's own tells nothing.
impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Random")
            .field("seed", &self.0.get_seed())
            .field("word", &self.0.get_word_pos())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first block of the key of zeros, with the counter and the nonce at zero: appendix A.1, test vector 1.
    #[test]
    fn the_stream_is_that_of_rfc_8439() {
        let mut block = [0; 64];
        Random::from_seed([0; 32]).fill(&mut block);
        assert_eq!(block[..8], [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
        assert_eq!(block[60..], [0xb2, 0xee, 0x65, 0x86]);
    }

    #[test]
    fn fill_gives_the_same_stream_whatever_the_portions() {
        let mut whole = [0; 1000];
        Random::from_seed([9; 32]).fill(&mut whole);
        let mut parts = [0; 1000];
        let mut random = Random::from_seed([9; 32]);
        for part in parts.chunks_mut(36) {
            random.fill(part);
        }
        assert_eq!(whole, parts);
        let mut copy = random.clone();
        assert_eq!(copy, random);
        let mut next = [[0; 36]; 2];
        copy.fill(&mut next[0]);
        assert_ne!(copy, random);
        assert_ne!(format!("{copy:?}"), format!("{random:?}"));
        random.fill(&mut next[1]);
        assert_eq!(next[0], next[1]);
        assert_ne!(whole[..64], whole[64..128]);
        let mut other = [0; 1000];
        Random::from_seed([8; 32]).fill(&mut other);
        assert_ne!(whole, other);
    }
}
