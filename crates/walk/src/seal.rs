//! The tag by which members of a job know each other's datagrams: SipHash-1-3 with the job's key (Aumasson &
//! Bernstein, "SipHash: a fast short-input PRF", 2012), 64 bits. Of its variants it is the one that hash
//! tables use against those who choose what is hashed: half the rounds of SipHash-2-4 for each word, and no
//! forgery known.
//!
//! It tells datagrams of members from others'; it does not hide what they say, and a recorded datagram may be
//! sent again: what it says is then counted once, as any duplicate. Without a key there is no tag and no such
//! check.
//!
//! The hash is written out here because there are two for each walker that crosses: the tags of several
//! datagrams of one length are computed side by side.

use std::fmt;

/// Bytes of a tag.
pub const TAG: usize = 8;
/// Messages whose tags are computed side by side: each alone leaves the processor waiting for itself.
pub(crate) const GROUP: usize = mem::EIGHT;
/// Fewer than these are hashed one after the other, which is sooner done.
const FEW: usize = 3;

/// A job's key. Its value is never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// A key of 16 bytes that outsiders can't guess.
    pub fn new(bytes: [u8; 16]) -> Key {
        Key(bytes)
    }

    #[inline]
    pub(crate) fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        sip::<1, 3>(&self.0, bytes).to_le_bytes()
    }

    /// The tags of datagrams of `each` bytes that lie behind one another, at most [`GROUP`] of them: what
    /// each has in front of its last [`TAG`] bytes.
    #[inline]
    fn tags(&self, group: &[u8], each: usize) -> [u64; GROUP] {
        let count = group.len() / each;
        let message = |i: usize| &group[i * each..(i + 1) * each - TAG];
        let side_by_side = if count < FEW {
            None
        } else {
            // The last one stands in for those that are missing.
            mem::sip_eight(start(&self.0), std::array::from_fn(|i| message(i.min(count - 1))))
        };
        side_by_side.unwrap_or_else(|| {
            std::array::from_fn(|i| if i < count { sip::<1, 3>(&self.0, message(i)) } else { 0 })
        })
    }

    /// Puts the tags on datagrams of `each` bytes that lie behind one another: into the last bytes of each.
    pub(crate) fn seal(&self, datagrams: &mut [u8], each: usize) {
        for group in datagrams.chunks_mut(GROUP * each) {
            let tags = self.tags(group, each);
            for (datagram, tag) in group.chunks_exact_mut(each).zip(tags) {
                datagram[each - TAG..].copy_from_slice(&tag.to_le_bytes());
            }
        }
    }

    /// Whether the tags of datagrams of `each` bytes that lie behind one another are right: at most [`GROUP`]
    /// of them, each at least [`TAG`] bytes.
    #[inline]
    pub(crate) fn are_right(&self, group: &[u8], each: usize) -> [bool; GROUP] {
        let tags = self.tags(group, each);
        std::array::from_fn(|i| {
            let tag = group.get(i * each..(i + 1) * each).and_then(<[u8]>::last_chunk::<TAG>);
            tag.is_some_and(|tag| (u64::from_le_bytes(*tag) ^ tags[i]) == 0)
        })
    }

    /// Compares all bytes, so that how long it takes tells nothing.
    pub(crate) fn is_right(&self, bytes: &[u8], tag: &[u8]) -> bool {
        let expected = u64::from_le_bytes(self.tag(bytes));
        tag.first_chunk::<TAG>().is_some_and(|tag| (u64::from_le_bytes(*tag) ^ expected) == 0)
    }
}

/// SipHash of `ROUNDS` a word and `LAST` at the end.
#[inline(always)]
fn sip<const ROUNDS: usize, const LAST: usize>(key: &[u8; 16], bytes: &[u8]) -> u64 {
    let mut v = start(key);
    let mut take = |word: u64| {
        v[3] ^= word;
        (0..ROUNDS).for_each(|_| round(&mut v));
        v[0] ^= word;
    };
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| take(u64::from_le_bytes(*word)));
    // What is left, and the length modulo 256 as the last byte.
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    take(u64::from_le_bytes(last));
    v[2] ^= 0xff;
    (0..LAST).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

/// The state before the first word.
#[inline(always)]
fn start(key: &[u8; 16]) -> [u64; 4] {
    let [k0, k1] = [0, 8].map(|at| u64::from_le_bytes(*key[at..].first_chunk().expect("half of the key")));
    [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]
}

#[inline(always)]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use siphasher::sip::{SipHasher13, SipHasher24};

    #[test]
    fn hashes_are_those_of_the_paper() {
        // Appendix A of the paper: SipHash-2-4, the key 00 01 … 0f and the message 00 01 … 0e.
        let key = std::array::from_fn(|i| i as u8);
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(sip::<2, 4>(&key, &message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_tag_is_right_whole_and_for_its_message_alone() {
        let (key, message) = (Key::new([3; 16]), [5; 56]);
        assert!(key.is_right(&message, &key.tag(&message)));
        assert!(!key.is_right(&message[1..], &key.tag(&message)));
        assert!(!key.is_right(&message, &key.tag(&message)[1..]));
    }

    proptest! {
        #[test]
        fn sealed_together_is_sealed_alone(key: [u8; 16], each in TAG..60, count in 0..20usize) {
            let key = Key(key);
            let mut train: Vec<u8> = (0..each * count).map(|i| i as u8).collect();
            key.seal(&mut train, each);
            let datagrams: Vec<&[u8]> = train.chunks(each).collect();
            for datagram in &datagrams {
                prop_assert!(key.is_right(&datagram[..each - TAG], &datagram[each - TAG..]));
            }
            for group in train.chunks(GROUP * each) {
                let right: Vec<bool> = (0..GROUP).map(|i| i < group.len() / each).collect();
                prop_assert_eq!(&key.are_right(group, each)[..], right);
            }
            if let Some(group) = train.get_mut(..3 * each) {
                group[2 * each - 1] ^= 1;
                prop_assert_eq!(&key.are_right(group, each)[..3], [true, false, true]);
            }
        }

        #[test]
        fn hashes_are_those_of_another_implementation(key: [u8; 16], message in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(sip::<1, 3>(&key, &message), SipHasher13::new_with_key(&key).hash(&message));
            let others: Vec<Vec<u8>> =
                (0..GROUP as u8).map(|xor| message.iter().map(|byte| byte ^ xor).collect()).collect();
            let alone: Vec<u64> = others.iter().map(|message| sip::<1, 3>(&key, message)).collect();
            let together = mem::sip_eight(start(&key), std::array::from_fn(|i| &others[i][..]));
            prop_assert_eq!(together.map_or(alone.clone(), Vec::from), alone);
            prop_assert_eq!(sip::<2, 4>(&key, &message), SipHasher24::new_with_key(&key).hash(&message));
        }
    }
}
