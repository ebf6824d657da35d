//! The program's end: its messages, and the check that answers match its requests.
//!
//! Pages are not here: the caller sends them behind the heads that it gets from [`Client`], and takes them
//! from the stream when it is told that they come.

use super::proof::{Side, equal, greeting, tag};
use super::{CHALLENGE, HEAD, Head, Key, Kind, NONCE, PAGES_MAX, PROOF, TICKET, Ticket, WELCOME};
use std::collections::VecDeque;

/// Why a stream can't be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It is something else, or another version.
    #[error("what answers there is no memory server of this version")]
    Stranger,
    /// It does not know the key.
    #[error("what answers there does not know the key")]
    Key,
    /// It says what it was not asked for.
    #[error("the memory server said what it was not asked for")]
    Order,
}

/// A client that is not yet known to the server.
#[derive(Clone, Copy, Debug)]
pub struct Greeting {
    key: Key,
    nonce: [u8; NONCE],
    ticket: Ticket,
    server: [u8; NONCE],
}

/// What a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// Bytes that nobody uses.
    pub free: u64,
    /// Bytes in all.
    pub all: u64,
}

impl Greeting {
    /// `nonce` must be another one each time.
    pub fn new(key: Key, nonce: [u8; NONCE], ticket: Ticket) -> Greeting {
        Greeting { key, nonce, ticket, server: [0; NONCE] }
    }

    /// What is sent first.
    pub fn hello(&self) -> [u8; CHALLENGE] {
        greeting(&self.nonce)
    }

    /// What is sent when the server's challenge has come.
    ///
    /// # Errors
    /// When it is none.
    pub fn prove(&mut self, challenge: &[u8; CHALLENGE]) -> Result<[u8; PROOF], Wrong> {
        let (_, nonce) = challenge.split_last_chunk().ok_or(Wrong::Stranger)?;
        if greeting(nonce) != *challenge {
            return Err(Wrong::Stranger);
        }
        self.server = *nonce;
        let mut bytes = [0; PROOF];
        let (proof, ticket) = bytes.split_at_mut(PROOF - TICKET);
        proof.copy_from_slice(&tag(&self.key, Side::Client, &self.nonce, nonce, self.ticket));
        ticket.copy_from_slice(&self.ticket.0);
        Ok(bytes)
    }

    /// The server's proof, behind its welcome's head.
    ///
    /// # Errors
    /// When it does not know the key.
    pub fn welcomed(&self, bytes: &[u8; WELCOME]) -> Result<Welcome, Wrong> {
        let (proof, rest) = bytes.split_first_chunk().ok_or(Wrong::Stranger)?;
        if !equal(proof, &tag(&self.key, Side::Server, &self.nonce, &self.server, self.ticket)) {
            return Err(Wrong::Key);
        }
        let number = |at: usize| rest[at..].first_chunk().map(|word| u64::from_be_bytes(*word));
        Ok(Welcome { free: number(0).unwrap_or(0), all: number(8).unwrap_or(0) })
    }
}

/// What comes behind a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coming {
    /// The server serves; [`WELCOME`] bytes.
    Welcome,
    /// The lengths of the pages that were asked for first, and these.
    Pages {
        /// The first one.
        page: u64,
        /// How many.
        count: u32,
    },
    /// [`TICKET`] bytes.
    Ticket,
    /// A text of so many bytes, and the end.
    Refused(u32),
}

/// A client that the server serves: what it waits for.
#[derive(Clone, Debug, Default)]
pub struct Client {
    asked: VecDeque<Head>,
}

impl Client {
    /// What asks for pages.
    ///
    /// # Panics
    /// When that is none, or more than [`PAGES_MAX`].
    pub fn read(&mut self, page: u64, count: u32) -> [u8; HEAD] {
        assert!((1..=PAGES_MAX).contains(&count), "{count} pages at once");
        self.asked.push_back(Head { kind: Kind::Pages, count, page });
        Head { kind: Kind::Read, count, page }.encode()
    }

    /// What stands before the lengths of pages that are to be kept, and these.
    pub fn write(&self, page: u64, count: u32) -> [u8; HEAD] {
        Head { kind: Kind::Write, count, page }.encode()
    }

    /// What says that pages are no longer needed.
    pub fn free(&self, page: u64, count: u32) -> [u8; HEAD] {
        Head { kind: Kind::Free, count, page }.encode()
    }

    /// What asks for a ticket.
    pub fn share(&mut self) -> [u8; HEAD] {
        self.asked.push_back(Head { kind: Kind::Ticket, count: 0, page: 0 });
        Head { kind: Kind::Share, count: 0, page: 0 }.encode()
    }

    /// The next pages that come: the first one and how many.
    pub fn next(&self) -> Option<(u64, u32)> {
        self.asked.front().map(|head| (head.page, head.count))
    }

    /// Whether this head says that the server does not go on.
    pub fn is_refused(bytes: &[u8; HEAD]) -> bool {
        Head::decode(bytes).is_some_and(|head| head.kind == Kind::Refused)
    }

    /// A head has come.
    ///
    /// # Errors
    /// When nobody asked for what it announces.
    pub fn handle(&mut self, bytes: &[u8; HEAD]) -> Result<Coming, Wrong> {
        let head = Head::decode(bytes).ok_or(Wrong::Order)?;
        match head.kind {
            Kind::Refused => return Ok(Coming::Refused(head.count)),
            Kind::Welcome if self.asked.is_empty() => return Ok(Coming::Welcome),
            _ => {}
        }
        if self.asked.pop_front() != Some(head) {
            return Err(Wrong::Order);
        }
        Ok(match head.kind {
            Kind::Ticket => Coming::Ticket,
            _ => Coming::Pages { page: head.page, count: head.count },
        })
    }
}
