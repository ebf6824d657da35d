//! What a stream begins with: who opens it, and a proof that it belongs to the job.
//!
//! 44 bytes, integers big endian: `incast`, version, zero, host (4), life of the opener (8), number of the
//! stream in it (8), tag (16): SipHash-2-4 of 128 bits (J.-P. Aumasson and D. J. Bernstein, 2012) under the
//! job's key over all of that, and over the host and the port that it is for. So the key never crosses the
//! network, and a greeting that somebody has overheard is good for nothing: not elsewhere, and not a second
//! time ([`Seen`]). What follows is sealed where [`crate::Settings::sealed`] says so ([`crate::seal`]);
//! otherwise who can change what the network carries can change that.

use process::{Addr, HostId};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hasher;

/// Length in bytes.
pub const LENGTH: usize = 44;
const MAGIC: &[u8; 8] = b"incast\x03\x00";
/// Where the tag begins.
const TAG: usize = 28;
/// Streams of one host that may come in another order than they were opened in.
const WINDOW: usize = 4096;

/// The secret that the members of a job share.
#[derive(Clone, Copy)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The end that opens a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The host.
    pub host: HostId,
    /// Which of its lives: greater than any before.
    pub life: u64,
    /// Which of the streams that it has opened in it: greater than any before.
    pub number: u64,
}

fn tag(key: &Key, head: &[u8], to: Addr) -> [u8; 16] {
    let mut hasher = SipHasher24::new_with_key(&key.0);
    hasher.write(head);
    hasher.write(&to.host.0.to_be_bytes());
    hasher.write(&to.port.to_be_bytes());
    hasher.finish128().as_bytes()
}

/// Without an early end, so that time says nothing about where two tags differ.
fn equal(a: &[u8], b: &[u8; 16]) -> bool {
    a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// The first bytes of a stream to a host and a port of the job.
pub fn encode(key: &Key, hello: Hello, to: Addr) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&hello.host.0.to_be_bytes());
    bytes[12..20].copy_from_slice(&hello.life.to_be_bytes());
    bytes[20..TAG].copy_from_slice(&hello.number.to_be_bytes());
    let tag = tag(key, &bytes[..TAG], to);
    bytes[TAG..].copy_from_slice(&tag);
    bytes
}

/// The end that opens a stream to `to` that begins with `bytes`; `None`: none of this job.
pub fn decode(key: &Key, bytes: &[u8; LENGTH], to: Addr) -> Option<Hello> {
    let (head, rest) = bytes.split_at(TAG);
    let word = |at: usize| head[at..].first_chunk().map(|word| u64::from_be_bytes(*word));
    let host = HostId(u32::from_be_bytes(*head[8..].first_chunk()?));
    let hello = Hello { host, life: word(12)?, number: word(20)? };
    (head.starts_with(MAGIC) && equal(rest, &tag(key, head, to))).then_some(hello)
}

/// Greetings that have come: each is taken once.
#[derive(Debug, Default)]
pub struct Seen(BTreeMap<HostId, Life>);

/// What has come of a host's life.
#[derive(Debug, Default)]
struct Life {
    life: u64,
    /// Numbers up to it are not taken any more.
    floor: u64,
    numbers: BTreeSet<u64>,
}

impl Seen {
    /// Whether a greeting comes for the first time, and is not of a life that is over.
    pub fn is_new(&mut self, hello: Hello) -> bool {
        let known = self.0.entry(hello.host).or_default();
        if hello.life > known.life {
            *known = Life { life: hello.life, ..Life::default() };
        }
        if hello.life < known.life || hello.number <= known.floor || !known.numbers.insert(hello.number) {
            return false;
        }
        if known.numbers.len() > WINDOW {
            known.floor = known.numbers.pop_first().unwrap_or_default();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: Addr = Addr { host: HostId(5), port: 9 };

    fn hello(life: u64, number: u64) -> Hello {
        Hello { host: HostId(77), life, number }
    }

    #[test]
    fn every_byte_counts() {
        let key = Key(*b"0123456789abcdef");
        let bytes = encode(&key, hello(3, 8), TO);
        assert_eq!(decode(&key, &bytes, TO), Some(hello(3, 8)));
        for i in 0..LENGTH {
            let mut wrong = bytes;
            wrong[i] ^= 1;
            assert_eq!(decode(&key, &wrong, TO), None, "byte {i}");
        }
        assert_eq!(decode(&Key([0; 16]), &bytes, TO), None);
        assert_eq!(format!("{key:?}"), "Key(…)");
    }

    #[test]
    fn the_key_is_not_in_it_and_it_is_for_one_place() {
        let key = Key(*b"0123456789abcdef");
        let bytes = encode(&key, hello(3, 8), TO);
        assert!(!bytes.windows(4).any(|part| key.0.windows(4).any(|known| known == part)));
        for other in [Addr { port: 8, ..TO }, Addr { host: HostId(6), ..TO }] {
            assert_eq!(decode(&key, &bytes, other), None);
        }
    }

    #[test]
    fn a_greeting_is_taken_once() {
        let mut seen = Seen::default();
        assert!(seen.is_new(hello(3, 2)) && seen.is_new(hello(3, 1)));
        assert!(!seen.is_new(hello(3, 2)));
        assert!(seen.is_new(hello(4, 1)));
        assert!(!seen.is_new(hello(3, 7)));
        let others = (2..10_000).filter(|number| seen.is_new(hello(4, *number))).count();
        assert_eq!(others, 9_998);
        assert!(!seen.is_new(hello(4, 1)) && !seen.is_new(hello(4, 9_999)));
    }
}
