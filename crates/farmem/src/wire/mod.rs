//! The protocol between a program and a memory server over a stream, without I/O: bytes in, bytes out.
//!
//! ```text
//! client                                        server
//! hello      magic 8, nonce 16          →
//!                                       ←       challenge  magic 8, nonce 16
//! proof      tag 16, ticket 16          →
//!                                       ←       head Welcome, then tag 16, free bytes 8, all bytes 8; or head Refused
//! head Read | Write + pages | Free | Share  →
//!                                       ←       head Pages + pages | Ticket + ticket 16 | Refused + text
//! ```
//!
//! Integers are big endian. A head ([`Head`]) is 16 bytes: kind (1), zeros (3), count (4), first page (8).
//! Pages follow after their lengths (2 bytes each, [`Lengths`]). A page has 4096 bytes, or fewer if the
//! client has packed it ([`crate::codec`]): the server stores and returns it as it is. The client chooses the
//! page numbers.
//!
//! **A connection is a separate memory**: no other connection sees its pages, and they are gone when it ends.
//! Requests on it are handled in order, so a written page need not be acknowledged before it is read. `Share`
//! keeps a snapshot of the memory under a ticket that is valid once: a connection that begins with it starts
//! with a copy (a forked process). After `Refused` the server closes.
//!
//! The magic ends with the version. A tag is SipHash-2-4 of 128 bits (J.-P. Aumasson and D. J. Bernstein,
//! 2012) under the key, over the side, both nonces and the ticket. The key never crosses the network, and
//! overheard messages can't be used later. The rest is neither encrypted nor authenticated: an attacker who
//! can change the network's traffic can change pages.
//!
//! [`client`] is the program's end, [`session`] the server's, [`memory`] the server's storage.

pub mod client;
pub mod lengths;
pub mod memory;
mod proof;
pub mod session;

pub use lengths::Lengths;
pub use proof::{CHALLENGE, Key, NONCE, PROOF, TICKET, Ticket, WELCOME};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Bytes of a head.
pub const HEAD: usize = 16;
/// Bytes of a page's length.
pub const LENGTH: usize = 2;
/// Most pages that are read or written at once: 2 MiB.
pub const PAGES_MAX: u32 = 512;
/// Longest text of a refusal, in bytes.
pub const TEXT_MAX: u32 = 500;
/// Greatest number of a page: what 64 bits address.
pub const LAST: u64 = u64::MAX >> 12;

/// What a head announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pages are wanted.
    Read = 1,
    /// Pages follow that are to be kept.
    Write = 2,
    /// Pages are no longer needed.
    Free = 3,
    /// The memory is to be kept as it is, for another connection.
    Share = 4,
    /// The server agrees to serve.
    Welcome = 5,
    /// Pages that were wanted follow.
    Pages = 6,
    /// A ticket follows.
    Ticket = 7,
    /// The reason follows why the server does not go on.
    Refused = 8,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Read,
        Kind::Write,
        Kind::Free,
        Kind::Share,
        Kind::Welcome,
        Kind::Pages,
        Kind::Ticket,
        Kind::Refused,
    ];
}

/// What a message begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it is.
    pub kind: Kind,
    /// How many pages; of a refusal, bytes of text.
    pub count: u32,
    /// The first of them.
    pub page: u64,
}

impl Head {
    /// As it is sent.
    pub fn encode(self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[0] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.count.to_be_bytes());
        bytes[8..].copy_from_slice(&self.page.to_be_bytes());
        bytes
    }

    /// None where it is no head, or of more than may be.
    pub fn decode(bytes: &[u8; HEAD]) -> Option<Head> {
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == bytes[0])?;
        let count = u32::from_be_bytes(*bytes[4..].first_chunk()?);
        let page = u64::from_be_bytes(*bytes[8..].first_chunk()?);
        let fits = match kind {
            Kind::Read | Kind::Write | Kind::Pages => (1..=PAGES_MAX).contains(&count),
            Kind::Free => count > 0,
            Kind::Share | Kind::Welcome | Kind::Ticket => count == 0 && page == 0,
            Kind::Refused => count <= TEXT_MAX && page == 0,
        };
        let last = page.checked_add(u64::from(count))?;
        (fits && bytes[1..4] == [0; 3] && last <= LAST).then_some(Head { kind, count, page })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_it_decodes_to() {
        for kind in Kind::ALL {
            let pages = !matches!(kind, Kind::Share | Kind::Welcome | Kind::Ticket | Kind::Refused);
            let head =
                Head { kind, count: u32::from(pages) * 512, page: u64::from(pages) * 0x1234_5678_9abc };
            assert_eq!(Head::decode(&head.encode()), Some(head));
        }
    }

    #[test]
    fn more_than_may_be_is_none() {
        let head = |kind, count, page| Head::decode(&Head { kind, count, page }.encode());
        assert_eq!(head(Kind::Read, 513, 0), None);
        assert_eq!(head(Kind::Write, 0, 0), None);
        assert_eq!(head(Kind::Free, u32::MAX, LAST), None);
        assert_eq!(head(Kind::Free, 1, u64::MAX), None);
        assert_eq!(head(Kind::Share, 1, 0), None);
        assert_eq!(head(Kind::Refused, TEXT_MAX + 1, 0), None);
        assert_eq!(Head::decode(&[0; HEAD]), None);
        assert_eq!(Head::decode(&[1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
