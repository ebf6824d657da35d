//! SipHash-1-3 of eight messages of one length side by side, four in a register of 256 bits: J.-P. Aumasson
//! and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012, with one round a word and three at the end.
//! Each round waits for the one before it; while one four waits, the other goes on. A processor without such
//! registers computes one after the other: that is the caller's business, as is what the hashes are for.
//!
//! Intel SDM: AVX2.

/// Messages of a call.
pub const EIGHT: usize = 8;

/// The hashes of messages that have the length of the first, from the state that the key gives; nothing on a
/// processor that can't.
///
/// # Panics
/// When a message is shorter than the first.
#[inline]
pub fn sip_eight(state: [u64; 4], messages: [&[u8]; EIGHT]) -> Option<[u64; EIGHT]> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return Some(unsafe { avx2::eight(state, messages) });
    }
    let _ = (state, messages);
    None
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::EIGHT;
    use std::arch::x86_64::*;

    /// A word of each of four messages.
    type Words = __m256i;

    #[target_feature(enable = "avx2")]
    pub fn eight(state: [u64; 4], messages: [&[u8]; EIGHT]) -> [u64; EIGHT] {
        let length = messages[0].len();
        let parts = messages.map(|message| cut(message, length));
        let mut v = [state.map(|word| same(word)); 2];
        for at in 0..length / 8 {
            let [a, b, c, d, e, f, g, h] = parts.map(|(whole, _)| u64::from_le_bytes(whole[at]));
            take(&mut v, [words([a, b, c, d]), words([e, f, g, h])]);
        }
        let [a, b, c, d, e, f, g, h] = parts.map(|(_, rest)| last_word(rest, length));
        take(&mut v, [words([a, b, c, d]), words([e, f, g, h])]);
        for four in &mut v {
            four[2] = _mm256_xor_si256(four[2], same(0xff));
        }
        (0..3).for_each(|_| round(&mut v));
        let [[a, b, c, d], [e, f, g, h]] = v.map(|four| hashes(four));
        [a, b, c, d, e, f, g, h]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn hashes([v0, v1, v2, v3]: [Words; 4]) -> [u64; 4] {
        let hashes = _mm256_xor_si256(_mm256_xor_si256(v0, v1), _mm256_xor_si256(v2, v3));
        [
            _mm256_extract_epi64::<0>(hashes) as u64,
            _mm256_extract_epi64::<1>(hashes) as u64,
            _mm256_extract_epi64::<2>(hashes) as u64,
            _mm256_extract_epi64::<3>(hashes) as u64,
        ]
    }

    /// The whole words of a message, and what is left behind them.
    #[inline]
    fn cut(message: &[u8], length: usize) -> (&[[u8; 8]], &[u8]) {
        message[..length].as_chunks()
    }

    /// What is left of a message, and the length modulo 256 as the last byte.
    #[inline]
    fn last_word(rest: &[u8], length: usize) -> u64 {
        let left = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        (length as u64) << 56 | left
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn same(word: u64) -> Words {
        _mm256_set1_epi64x(word as i64)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn words([a, b, c, d]: [u64; 4]) -> Words {
        _mm256_set_epi64x(d as i64, c as i64, b as i64, a as i64)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn turn<const LEFT: i32, const RIGHT: i32>(words: Words) -> Words {
        _mm256_or_si256(_mm256_slli_epi64::<LEFT>(words), _mm256_srli_epi64::<RIGHT>(words))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn take(v: &mut [[Words; 4]; 2], words: [Words; 2]) {
        v[0][3] = _mm256_xor_si256(v[0][3], words[0]);
        v[1][3] = _mm256_xor_si256(v[1][3], words[1]);
        round(v);
        v[0][0] = _mm256_xor_si256(v[0][0], words[0]);
        v[1][0] = _mm256_xor_si256(v[1][0], words[1]);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn round(v: &mut [[Words; 4]; 2]) {
        let halves = |words| _mm256_shuffle_epi32::<0b10_11_00_01>(words);
        for v in v {
            v[0] = _mm256_add_epi64(v[0], v[1]);
            v[2] = _mm256_add_epi64(v[2], v[3]);
            v[1] = _mm256_xor_si256(turn::<13, 51>(v[1]), v[0]);
            v[3] = _mm256_xor_si256(turn::<16, 48>(v[3]), v[2]);
            v[0] = halves(v[0]);
            v[2] = _mm256_add_epi64(v[2], v[1]);
            v[0] = _mm256_add_epi64(v[0], v[3]);
            v[1] = _mm256_xor_si256(turn::<17, 47>(v[1]), v[2]);
            v[3] = _mm256_xor_si256(turn::<21, 43>(v[3]), v[0]);
            v[2] = halves(v[2]);
        }
    }
}
