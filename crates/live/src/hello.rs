//! What a stream begins with: who opens it, and the key that shows that it belongs to the job.
//!
//! 28 bytes: `incast`, version, zero, key (16 bytes), host (4 bytes, big endian). The key keeps strangers and
//! other jobs out. It crosses the network as it is: who can read the network can read it.

use process::HostId;
use std::fmt;

/// Length in bytes.
pub const LENGTH: usize = 28;
const MAGIC: &[u8; 6] = b"incast";
const VERSION: u8 = 1;

/// The secret that the members of a job share.
#[derive(Clone, Copy)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Without an early end, so that time says nothing about where two keys differ.
fn equal(a: &[u8], b: &[u8; 16]) -> bool {
    a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// The first bytes of a stream that `host` opens.
pub fn encode(key: &Key, host: HostId) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..6].copy_from_slice(MAGIC);
    bytes[6] = VERSION;
    bytes[8..24].copy_from_slice(&key.0);
    bytes[24..].copy_from_slice(&host.0.to_be_bytes());
    bytes
}

/// Who opens a stream that begins with `bytes`; `None`: nobody of this job.
pub fn decode(key: &Key, bytes: &[u8; LENGTH]) -> Option<HostId> {
    let member = bytes[..6] == *MAGIC && bytes[6..8] == [VERSION, 0] && equal(&bytes[8..24], &key.0);
    let host = u32::from_be_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]);
    member.then_some(HostId(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        let key = Key(*b"0123456789abcdef");
        let hello = encode(&key, HostId(77));
        assert_eq!(decode(&key, &hello), Some(HostId(77)));
        for i in 0..LENGTH - 4 {
            let mut wrong = hello;
            wrong[i] ^= 1;
            assert_eq!(decode(&key, &wrong), None, "byte {i}");
        }
        assert_eq!(decode(&Key([0; 16]), &hello), None);
        assert_eq!(format!("{key:?}"), "Key(…)");
    }
}
