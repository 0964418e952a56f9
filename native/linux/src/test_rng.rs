//! A small generator for tests: the same numbers for the same seed.

/// xorshift64 (Marsaglia, 2003).
#[derive(Clone, Debug)]
pub(crate) struct TestRng(u64);

impl TestRng {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        // 0 would stay 0.
        Self(seed.max(1))
    }

    /// 64 bits, never all 0.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is above 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
