//! The server's end of one connection, and the state that all connections share.
//!
//! Every byte may be hostile. Besides its pages, a connection takes memory for one message's head and a page,
//! and its output queue grows by at most one answer beyond [`OUT_MAX`]. State is kept only for clients that
//! have proved they know the key.

use super::memory::{Bound, Region};
use super::proof::{MAGIC, Side, TAG, equal, fresh, greeting, tag};
use super::{
    CHALLENGE, HEAD, Head, Key, Kind, LENGTH, Lengths, NONCE, PAGE, PROOF, TEXT_MAX, Ticket, WELCOME, lengths,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// As long as so many bytes wait to be sent to a client, it is not listened to.
pub const OUT_MAX: usize = 256 << 10;
/// How long a ticket is good.
pub const TICKET_LIFE: Time = Time::from_secs(60);
/// Tickets that nobody has used, of all clients.
const TICKETS_MAX: usize = 1024;

const NONSENSE: &str = "what the program said means nothing";

/// What all connections have in common.
#[derive(Debug)]
pub struct House {
    key: Key,
    secret: Key,
    drawn: u64,
    bound: Arc<Bound>,
    /// Bytes that one client may have.
    each: u64,
    shared: BTreeMap<Ticket, (Time, Region)>,
}

impl House {
    /// A server's memory, and how much of it one client may have. `secret` is random, and another one each
    /// time.
    pub fn new(key: Key, secret: [u8; 16], bytes: u64, each: u64) -> House {
        let bound = Bound::new(bytes);
        House { key, secret: Key(secret), drawn: 0, bound, each: each.min(bytes), shared: BTreeMap::new() }
    }

    /// How much is used.
    pub fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    fn draw(&mut self) -> [u8; 16] {
        self.drawn += 1;
        fresh(&self.secret, self.drawn)
    }

    /// Forgets tickets whose time is over.
    pub fn tick(&mut self, now: Time) {
        self.shared.retain(|_, (until, _)| now < *until);
    }
}

/// Where a connection stands.
#[derive(Debug)]
enum State {
    Hello,
    Proof {
        client: [u8; NONCE],
        server: [u8; NONCE],
    },
    Open(Region),
    /// The lengths of pages come.
    Told {
        region: Region,
        head: Head,
    },
    /// Pages come: this one next, and the lengths of it and of those behind it, the last one first.
    Writing {
        region: Region,
        page: u64,
        left: Vec<usize>,
    },
    Over,
}

/// A connection.
#[derive(Debug)]
pub struct Session {
    state: State,
    /// Why it was ended, for the log.
    refused: Option<String>,
}

impl Default for Session {
    fn default() -> Session {
        Session { state: State::Hello, refused: None }
    }
}

impl Session {
    /// Whether the client has proved that it knows the key.
    pub fn is_known(&self) -> bool {
        matches!(self.state, State::Open(_) | State::Told { .. } | State::Writing { .. })
    }

    /// Whether it is to be closed once all is sent; the reason.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Bytes have come: says how many of them are done with. The others come again, with what follows.
    pub fn handle(&mut self, house: &mut House, now: Time, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let mut done = 0;
        while out.len() <= OUT_MAX {
            let took = self.step(house, now, &bytes[done..], out);
            if took == 0 {
                break;
            }
            done += took;
        }
        done
    }

    fn step(&mut self, house: &mut House, now: Time, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Hello => self.hello(house, bytes, out),
            State::Proof { client, server } => self.proof(house, client, server, bytes, out),
            State::Open(region) => self.message(house, now, region, bytes, out),
            State::Told { region, head } => self.told(region, head, bytes, out),
            State::Writing { region, page, left } => self.write(region, page, left, bytes, out),
            State::Over => bytes.len(),
        }
    }

    fn hello(&mut self, house: &mut House, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let same = bytes.iter().zip(&MAGIC).all(|(a, b)| a == b);
        let Some(hello) = bytes.first_chunk::<CHALLENGE>().filter(|_| same) else {
            if same {
                self.state = State::Hello;
                return 0;
            }
            // The other end would not understand a word.
            self.refused = Some("it spoke another protocol, or another version".to_owned());
            return bytes.len();
        };
        let mut client = [0; NONCE];
        client.copy_from_slice(&hello[MAGIC.len()..]);
        let server = house.draw();
        out.extend(greeting(&server));
        self.state = State::Proof { client, server };
        CHALLENGE
    }

    fn proof(
        &mut self,
        house: &mut House,
        client: [u8; NONCE],
        server: [u8; NONCE],
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> usize {
        let Some((proof, ticket)) =
            bytes.first_chunk::<PROOF>().and_then(|bytes| bytes.split_first_chunk::<TAG>())
        else {
            self.state = State::Proof { client, server };
            return 0;
        };
        let ticket = Ticket(ticket.first_chunk().copied().unwrap_or_default());
        if !equal(proof, &tag(&house.key, Side::Client, &client, &server, ticket)) {
            self.refuse("wrong key: give the program the key file that the memory server has", out);
            return PROOF;
        }
        let region = if ticket == Ticket::NEW {
            Some(Region::new(&house.bound, house.each))
        } else {
            house.shared.remove(&ticket).map(|(_, region)| region)
        };
        let Some(region) = region else {
            self.refuse("the memory of the process that forked is no longer kept", out);
            return PROOF;
        };
        let free = house.bound.all().saturating_sub(house.bound.used());
        if free == 0 && ticket == Ticket::NEW {
            self.refuse(&full(&region), out);
            return PROOF;
        }
        out.extend(Head { kind: Kind::Welcome, count: 0, page: 0 }.encode());
        let before = out.len();
        out.extend(tag(&house.key, Side::Server, &client, &server, ticket));
        out.extend(free.to_be_bytes());
        out.extend(house.bound.all().to_be_bytes());
        debug_assert_eq!(out.len() - before, WELCOME);
        self.state = State::Open(region);
        PROOF
    }

    fn message(
        &mut self,
        house: &mut House,
        now: Time,
        mut region: Region,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> usize {
        let Some(bytes) = bytes.first_chunk::<HEAD>() else {
            self.state = State::Open(region);
            return 0;
        };
        let Some(head) = Head::decode(bytes) else {
            self.refuse(NONSENSE, out);
            return HEAD;
        };
        let done = match head.kind {
            Kind::Read => read(&region, head, out),
            Kind::Write => {
                self.state = State::Told { region, head };
                return HEAD;
            }
            Kind::Free => region.free(head.page, head.count).map_err(|_| full(&region)),
            Kind::Share => share(house, now, &region, out),
            _ => Err("what the program said is a server's".to_owned()),
        };
        match done {
            Ok(()) => self.state = State::Open(region),
            Err(why) => self.refuse(&why, out),
        }
        HEAD
    }

    fn told(&mut self, region: Region, head: Head, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let all = head.count as usize * LENGTH;
        let Some(bytes) = bytes.get(..all) else {
            self.state = State::Told { region, head };
            return 0;
        };
        match Lengths::read(bytes) {
            Some(lengths) => {
                let left = lengths.iter().rev().collect();
                self.state = State::Writing { region, page: head.page, left };
            }
            None => self.refuse(NONSENSE, out),
        }
        all
    }

    fn write(
        &mut self,
        mut region: Region,
        page: u64,
        mut left: Vec<usize>,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> usize {
        let length = left.last().copied().unwrap_or(0);
        let Some(content) = bytes.get(..length) else {
            self.state = State::Writing { region, page, left };
            return 0;
        };
        left.pop();
        if region.write(page, content).is_err() {
            self.refuse(&full(&region), out);
        } else if left.is_empty() {
            self.state = State::Open(region);
        } else {
            self.state = State::Writing { region, page: page + 1, left };
        }
        length
    }

    /// The client is told why, and nothing more.
    fn refuse(&mut self, why: &str, out: &mut Vec<u8>) {
        let text = &why.as_bytes()[..why.len().min(TEXT_MAX as usize)];
        out.extend(Head { kind: Kind::Refused, count: text.len() as u32, page: 0 }.encode());
        out.extend(text);
        self.refused = Some(why.to_owned());
        self.state = State::Over;
    }
}

fn read(region: &Region, head: Head, out: &mut Vec<u8>) -> Result<(), String> {
    let pages = head.page..head.page + u64::from(head.count);
    let found = |page| region.read(page).ok_or_else(|| format!("page {page} was never written, or is free"));
    let contents: Vec<&[u8]> = pages.map(found).collect::<Result<_, _>>()?;
    out.extend(Head { kind: Kind::Pages, ..head }.encode());
    lengths::put(contents.iter().map(|content| content.len()), out);
    contents.iter().for_each(|content| out.extend(*content));
    Ok(())
}

fn share(house: &mut House, now: Time, region: &Region, out: &mut Vec<u8>) -> Result<(), String> {
    house.tick(now);
    if house.shared.len() >= TICKETS_MAX {
        return Err("too many processes fork at once".to_owned());
    }
    let copy = region.fork().map_err(|_| full(region))?;
    let ticket = Ticket(house.draw());
    house.shared.insert(ticket, (now.saturating_add(TICKET_LIFE), copy));
    out.extend(Head { kind: Kind::Ticket, count: 0, page: 0 }.encode());
    out.extend(ticket.0);
    Ok(())
}

fn full(region: &Region) -> String {
    let ((has, most), bound) = (region.size(), region.bound());
    if has + 2 * PAGE as u64 > most && most < bound.all() {
        return format!(
            "the memory server gives a program {most} bytes, and they are in use. Start it with a larger \
             --client-memory, or give the program more --local"
        );
    }
    format!(
        "the memory server is full: it has {} bytes, and {} are in use. Start it with a larger --memory, or give the \
         program more --local",
        bound.all(),
        bound.used()
    )
}
