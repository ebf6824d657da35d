//! Random numbers of a walk: a stream of its own for each, split off the seed by the walk's number. So a walk
//! takes the same way on any server and with any number of threads.
//!
//! SplitMix64: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA
//! 2014.

/// A stream of 64-bit random numbers; its state is one word, so a walker can carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream(pub u64);

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Stream {
    /// The stream of walk `number` from `start`, of the run with `seed`.
    #[inline]
    pub fn of(seed: u64, start: u32, number: u32) -> Self {
        let walk = Self(u64::from(start) << 32 | u64::from(number)).next();
        Self(Self(seed ^ walk).next())
    }

    /// A stream beside this one, for what is decided once a walk: its length.
    #[inline]
    pub fn beside(self) -> Self {
        Self(!self.0)
    }

    /// The next number.
    #[inline(always)]
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// The next number as a fraction above 0 and at most 1, in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / 9_007_199_254_740_992.0
    }
}

#[inline(always)]
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference_implementation() {
        let mut stream = Stream(1_234_567);
        assert_eq!([stream.next(), stream.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn walks_and_seeds_have_streams_of_their_own() {
        let first = |seed, start, walk| Stream::of(seed, start, walk).next();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        assert_ne!(first(1, 2, 3), first(1, 3, 2));
        assert_ne!(first(1, 2, 3), first(2, 2, 3));
        assert_ne!(Stream::of(1, 2, 3).beside(), Stream::of(1, 2, 3));
    }
}
