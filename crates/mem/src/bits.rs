//! Bits that two bitmaps share, counted by the processor's own instruction where it has one: without it a
//! count of a word takes a dozen instructions. Not here: what the bits mean.
//!
//! Intel SDM: POPCNT, AVX2; the compiler chooses among them.

/// How many bits are set in both; words behind the shorter one's end are left out.
#[inline]
pub fn count_both(a: &[u64], b: &[u64]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has both.
        return unsafe { with_popcnt(a, b) };
    }
    count(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,avx2")]
fn with_popcnt(a: &[u64], b: &[u64]) -> u32 {
    count(a, b)
}

#[inline(always)]
fn count(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::count_both;

    #[test]
    fn bits_of_both_are_counted() {
        let a: Vec<u64> = (0..100u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let b: Vec<u64> = a.iter().rev().copied().collect();
        for length in [0, 1, 3, 4, 31, 100] {
            let wanted: u32 = (0..length)
                .map(|at| (0..64).filter(|bit| a[at] & b[at] & (1 << bit) != 0).count() as u32)
                .sum();
            assert_eq!(count_both(&a[..length], &b[..length]), wanted);
            assert_eq!(count_both(&a[..length], &b), wanted);
        }
    }
}
