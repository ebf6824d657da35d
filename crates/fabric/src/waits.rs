//! How long packets waited in a queue: a histogram with eight buckets an octave.
//!
//! A bucket is at most an eighth of its value wide, from 8 ns up; shorter waits share the first
//! bucket. The vector spans the waits seen, from the shortest to the longest, so an idle port costs nothing.

use units::Time;

/// Waits under `2^FINEST` ps (8 ns) fall into the first bucket.
const FINEST: u32 = 13;
/// Buckets an octave, as a power of two.
const SUB: u32 = 3;

/// Bits of a bucket's number: there are 408 buckets.
const BUCKET_BITS: u32 = 9;

/// The buckets of a few waits, for the histogram to take together: it is far from the processor in a large
/// network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untold(u64);

impl Default for Untold {
    /// A one tells where the first bucket's number ends.
    fn default() -> Untold {
        Untold(1)
    }
}

impl Untold {
    /// Adds a wait. There is room after each [`Waits::take`].
    #[inline(always)]
    pub(crate) fn add(&mut self, wait: Time) {
        self.0 = (self.0 << BUCKET_BITS) | bucket_of(wait) as u64;
    }

    /// Whether the next would not fit.
    #[inline(always)]
    pub(crate) fn is_full(self) -> bool {
        self.0.leading_zeros() == 0
    }
}

/// Histogram of waiting times, of the packets that waited at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    /// Those from number `first` on.
    buckets: Vec<u32>,
    first: usize,
}

/// How long packets of a port waited.
#[derive(Clone, Copy, Debug)]
pub struct WaitTimes<'a> {
    waits: &'a Waits,
    none: u64,
    longest: Time,
}

impl Waits {
    /// The waits of `packets` packets, most of which may not have waited; `longest` is the longest.
    pub(crate) fn among(&self, packets: u64, longest: Time) -> WaitTimes<'_> {
        let waited: u64 = self.buckets.iter().map(|count| u64::from(*count)).sum();
        WaitTimes { waits: self, none: packets.saturating_sub(waited), longest }
    }

    /// Takes the waits that were kept apart.
    pub(crate) fn take(&mut self, untold: &mut Untold) {
        let mut rest = std::mem::take(untold).0;
        while rest >= 1 << BUCKET_BITS {
            let bucket = (rest & ((1 << BUCKET_BITS) - 1)) as usize;
            match self.buckets.get_mut(bucket.wrapping_sub(self.first)) {
                Some(count) => *count = count.saturating_add(1),
                None => self.extend(bucket),
            }
            rest >>= BUCKET_BITS;
        }
    }

    #[cold]
    fn extend(&mut self, bucket: usize) {
        if self.buckets.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            self.buckets.splice(..0, std::iter::repeat_n(0, self.first - bucket));
            self.first = bucket;
        }
        let at = bucket - self.first;
        if at >= self.buckets.len() {
            self.buckets.resize(at + 1, 0);
        }
        self.buckets[at] = 1;
    }
}

impl WaitTimes<'_> {
    /// (from, to, packets) of each bucket that holds something, ascending; packets that did not
    /// wait are (0, 0, packets).
    pub fn buckets(&self) -> impl Iterator<Item = (Time, Time, u64)> {
        let waited = (self.waits.first..).zip(&self.waits.buckets).filter(|(_, count)| **count > 0);
        let none = (self.none > 0).then_some((Time::ZERO, Time::ZERO, self.none));
        none.into_iter().chain(waited.map(|(i, &count)| (lower(i), lower(i + 1), u64::from(count))))
    }

    /// The wait that a part `numerator / denominator` of the packets does not exceed: the upper edge of its
    /// bucket.
    pub fn quantile(&self, numerator: u64, denominator: u64) -> Time {
        let total: u64 = self.buckets().map(|(_, _, packets)| packets).sum();
        let rank = (u128::from(total) * u128::from(numerator)).div_ceil(u128::from(denominator)) as u64;
        let mut seen = 0;
        for (_, to, packets) in self.buckets() {
            seen += packets;
            if seen >= rank {
                return to.min(self.longest);
            }
        }
        self.longest
    }

    /// The longest wait, exactly.
    pub fn longest(&self) -> Time {
        self.longest
    }
}

#[inline]
fn bucket_of(wait: Time) -> usize {
    let ps = wait.as_ps() | (1 << FINEST);
    let octave = 63 - ps.leading_zeros();
    let sub = (ps >> (octave - SUB)) & ((1 << SUB) - 1);
    (((octave - FINEST) as usize) << SUB) + sub as usize
}

fn lower(bucket: usize) -> Time {
    if bucket == 0 {
        return Time::ZERO;
    }
    let (octave, sub) = ((bucket >> SUB) as u32 + FINEST, (bucket & ((1 << SUB) - 1)) as u64);
    Time::from_ps(((1 << SUB) + sub) << (octave - SUB))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_wait_lies_in_its_bucket(ps in 0u64..1 << 50) {
            let bucket = bucket_of(Time::from_ps(ps));
            prop_assert!(lower(bucket).as_ps() <= ps);
            prop_assert!(ps < lower(bucket + 1).as_ps() || ps < 1 << FINEST);
        }

        #[test]
        fn quantiles_are_within_an_eighth(mut waits in proptest::collection::vec(1u64 << 14..1 << 40, 1..200)) {
            let (mut histogram, mut untold) = (Waits::default(), Untold::default());
            for &ps in &waits {
                untold.add(Time::from_ps(ps));
                if untold.is_full() {
                    histogram.take(&mut untold);
                }
            }
            histogram.take(&mut untold);
            waits.sort_unstable();
            let longest = Time::from_ps(waits[waits.len() - 1]);
            let histogram = histogram.among(waits.len() as u64, longest);
            let exact = waits[(waits.len() * 99).div_ceil(100) - 1];
            let got = histogram.quantile(99, 100).as_ps();
            prop_assert!(got >= exact && got <= exact + exact / 8 + 1, "{} for {}", got, exact);
        }
    }
}
