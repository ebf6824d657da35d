//! Random draws that are the same on every machine and in every build.
//!
//! Floating-point addition, multiplication and division are exact by IEEE 754; the logarithm is
//! not, so it comes from `libm`, not from the platform.

use rand::{Rng, RngExt};

/// Uniform in [0, 1), a multiple of 2⁻⁵³.
pub(crate) fn unit(rng: &mut dyn Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// From the exponential distribution with this mean, rounded to an integer.
pub(crate) fn exponential(rng: &mut dyn Rng, mean: f64) -> u64 {
    // 1 - u is in (0, 1]: the logarithm is finite.
    libm::round(-libm::log(1.0 - unit(rng)) * mean) as u64
}

/// Uniform in 0..n.
pub(crate) fn index(rng: &mut dyn Rng, n: usize) -> usize {
    rng.random_range(0..n as u64) as usize
}

/// Two different indices in 0..n, every ordered pair equally likely.
pub(crate) fn pair(rng: &mut dyn Rng, n: usize) -> (usize, usize) {
    let first = index(rng, n);
    let second = index(rng, n - 1);
    (first, if second < first { second } else { second + 1 })
}
