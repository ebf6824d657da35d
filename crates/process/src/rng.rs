//! Random streams split off the run's seed by name, so that adding a host changes nobody else's draws.

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// The stream called `name` of the run with `seed`.
pub fn stream(seed: u64, name: &str) -> Pcg64 {
    Pcg64::seed_from_u64(split(seed, name))
}

/// A seed of its own for `name`: FNV-1a over seed and name (the generator's seeding mixes further).
pub fn split(seed: u64, name: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let first = |seed, name| stream(seed, name).next_u64();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        assert_eq!(stream(1, "host0").next_u64(), 1_525_851_216_866_024_245);
    }
}
