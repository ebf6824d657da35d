//! The tag by which members of a job know each other's datagrams: SipHash-2-4 with the job's key (Aumasson &
//! Bernstein, "SipHash: a fast short-input PRF", 2012), 64 bits.
//!
//! It tells datagrams of members from others'; it does not hide what they say, and a recorded datagram may be sent
//! again: what it says is then counted once, as any duplicate. Without a key there is no tag and no such check.

use siphasher::sip::SipHasher24;
use std::fmt;
use std::hash::Hasher;

/// Bytes of a tag.
pub const TAG: usize = 8;

/// A job's key. Its value is never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// A key of 16 bytes that outsiders can't guess.
    pub fn new(bytes: [u8; 16]) -> Key {
        Key(bytes)
    }

    pub(crate) fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(bytes);
        hasher.finish().to_le_bytes()
    }

    /// Compares all bytes, so that how long it takes tells nothing.
    pub(crate) fn is_right(&self, bytes: &[u8], tag: &[u8]) -> bool {
        let expected = u64::from_le_bytes(self.tag(bytes));
        tag.first_chunk::<TAG>().is_some_and(|tag| (u64::from_le_bytes(*tag) ^ expected) == 0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_the_paper() {
        // Appendix A of the paper: the key 00 01 … 0f and the message 00 01 … 0e.
        let key = Key::new(std::array::from_fn(|i| i as u8));
        let message: Vec<u8> = (0..15).collect();
        assert_eq!(u64::from_le_bytes(key.tag(&message)), 0xa129_ca61_49be_45e5);
        assert!(key.is_right(&message, &key.tag(&message)));
        assert!(!key.is_right(&message[1..], &key.tag(&message)));
        assert!(!key.is_right(&message, &key.tag(&message)[1..]));
    }
}
