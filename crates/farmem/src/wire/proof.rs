//! The key, and the proof that both ends know it.

use siphasher::sip128::{Hasher128, SipHasher24};
use std::fmt;
use std::hash::Hasher;

/// What both ends begin with; the last byte but one is the version.
pub(super) const MAGIC: [u8; 8] = *b"incmem\x02\x00";
/// Bytes of a number that is used once.
pub const NONCE: usize = 16;
/// Bytes of a hello, and of a challenge.
pub const CHALLENGE: usize = MAGIC.len() + NONCE;
/// Bytes of a ticket.
pub const TICKET: usize = 16;
/// Bytes of a tag.
pub(super) const TAG: usize = 16;
/// Bytes of a proof.
pub const PROOF: usize = TAG + TICKET;
/// Bytes behind a welcome's head.
pub const WELCOME: usize = TAG + 16;

/// The secret that a server and its clients share.
#[derive(Clone, Copy)]
pub struct Key(pub [u8; 16]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The right to go on with a memory that was shared; all zeros: a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub [u8; TICKET]);

impl Ticket {
    /// A memory that nobody has yet.
    pub const NEW: Ticket = Ticket([0; TICKET]);
}

/// Which side proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client = 1,
    Server = 2,
}

/// What is said first.
pub(super) fn greeting(nonce: &[u8; NONCE]) -> [u8; CHALLENGE] {
    let mut bytes = [0; CHALLENGE];
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    bytes[MAGIC.len()..].copy_from_slice(nonce);
    bytes
}

/// The proof of a side under a key.
pub(super) fn tag(
    key: &Key,
    side: Side,
    client: &[u8; NONCE],
    server: &[u8; NONCE],
    ticket: Ticket,
) -> [u8; TAG] {
    hash(key, &[&[side as u8], client, server, &ticket.0])
}

/// A number that can't be guessed without the secret, another one for each `number`.
pub(super) fn fresh(secret: &Key, number: u64) -> [u8; 16] {
    hash(secret, &[&[0], &number.to_be_bytes()])
}

fn hash(key: &Key, parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = SipHasher24::new_with_key(&key.0);
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish128().as_bytes()
}

/// Without an early end, so that time says nothing about where two tags differ.
pub(super) fn equal(a: &[u8; TAG], b: &[u8; TAG]) -> bool {
    a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}
