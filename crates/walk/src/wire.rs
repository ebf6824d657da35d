//! What servers say to each other: walkers that move on, walks that have ended, walkers that were dropped.
//!
//! A datagram is a header, any number of records and, with a job key, a tag ([`crate::seal`]). A record's length
//! follows from its own bytes; numbers are little-endian. Decoding takes no more memory than the datagram has
//! bytes, checks every field that can be wrong by itself, and refuses the whole datagram when one is. What only
//! a server can know (whether it owns a node) is checked there. Our own form; there is no standard for it.
//!
//! One record a datagram is the document's "one RWer, one packet" (document 000, *RWER 単位での非同期型*); more of
//! them are its future work.

use crate::seal::{Key, TAG};

/// First bytes of every datagram.
const MAGIC: [u8; 2] = *b"RW";
/// Version of this form.
pub const VERSION: u8 = 1;
/// Bytes before the first record.
pub const HEADER: usize = 16;
/// Bytes of a walker without what is optional.
pub const WALKER: usize = 40;
/// Largest UDP payload over IPv4.
pub const DATAGRAM_MAX: usize = 65_507;
/// Stands for "no node": nodes are numbered below it.
pub const NO_NODE: u32 = u32::MAX;

/// Which walk it is, and which attempt at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalkId {
    /// The node where it begins.
    pub start: u32,
    /// Its number among the walks from there.
    pub number: u32,
    /// Which generation of it, from 1: a lost walker is generated again under the next.
    pub attempt: u16,
    /// Life of the source: a restarted server is another one.
    pub epoch: u16,
    /// When it was generated, nanoseconds by the source's clock.
    pub born_ns: u64,
}

/// A random walker (RWer) on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walker {
    /// Which walk.
    pub id: WalkId,
    /// The server that generated it.
    pub source: u16,
    /// The node where it is.
    pub at: u32,
    /// The node where it was before, for second-order walks.
    pub previous: Option<u32>,
    /// A neighbour that was drawn and not accepted yet: whether it is next to `previous`, only another server knows.
    pub candidate: Option<u32>,
    /// Steps so far.
    pub steps: u32,
    /// State of its own random stream: where it goes doesn't depend on when and where it is served.
    pub random: u64,
    /// The nodes passed, the start first; empty when paths are not asked for.
    pub path: Vec<u32>,
}

/// A walk that has come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which walk.
    pub id: WalkId,
    /// The node where it ended.
    pub end: u32,
    /// Its steps.
    pub steps: u32,
    /// The nodes passed, as in [`Walker`].
    pub path: Vec<u32>,
}

/// Something in a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A walker comes.
    Walker(Walker),
    /// A walk of the receiver's has ended.
    Ended(Ended),
    /// A walker of the receiver's was dropped: the direct notification, told to another server.
    Dropped(WalkId),
}

/// Why a datagram is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is none of ours.
    #[error("no datagram of random walks")]
    Foreign,
    /// It is of another version.
    #[error("version {0}: {VERSION} is understood")]
    Version(u8),
    /// It belongs to another job.
    #[error("of another job")]
    Job,
    /// Its tag is missing or wrong.
    #[error("not authentic")]
    Tag,
    /// It ends too early, goes on for too long, or a field has no meaning.
    #[error("malformed")]
    Malformed,
}

const KIND_WALKER: u8 = 1;
const KIND_ENDED: u8 = 2;
const KIND_DROPPED: u8 = 3;
const WITH_PREVIOUS: u8 = 1;
const WITH_CANDIDATE: u8 = 2;
const WITH_PATH: u8 = 4;

/// Bytes of what all records begin with.
const COMMON: usize = 24;

impl Record {
    /// Its bytes in a datagram.
    pub fn bytes(&self) -> usize {
        let node = |node: &Option<u32>| 4 * usize::from(node.is_some());
        match self {
            Record::Walker(w) => WALKER + node(&w.previous) + node(&w.candidate) + path_bytes(&w.path),
            Record::Ended(e) => COMMON + 8 + path_bytes(&e.path),
            Record::Dropped(_) => COMMON,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Record::Walker(w) => {
                let flags = flag(w.previous.is_some(), WITH_PREVIOUS)
                    | flag(w.candidate.is_some(), WITH_CANDIDATE)
                    | flag(!w.path.is_empty(), WITH_PATH);
                write_common(KIND_WALKER, flags, &w.id, w.source, out);
                out.extend(w.at.to_le_bytes());
                out.extend(w.steps.to_le_bytes());
                out.extend(w.random.to_le_bytes());
                for node in [w.previous, w.candidate].into_iter().flatten() {
                    out.extend(node.to_le_bytes());
                }
                write_path(&w.path, out);
            }
            Record::Ended(e) => {
                write_common(KIND_ENDED, flag(!e.path.is_empty(), WITH_PATH), &e.id, 0, out);
                out.extend(e.end.to_le_bytes());
                out.extend(e.steps.to_le_bytes());
                write_path(&e.path, out);
            }
            Record::Dropped(id) => write_common(KIND_DROPPED, 0, id, 0, out),
        }
    }

    fn read(r: &mut Reader<'_>) -> Result<Record, Refused> {
        let [kind, flags] = r.take()?;
        let (attempt, start, number, epoch) = (r.half()?, r.node()?, r.word()?, r.half()?);
        let (source, born_ns) = (r.half()?, r.long()?);
        let id = WalkId { start, number, attempt, epoch, born_ns };
        let known = match kind {
            KIND_WALKER => WITH_PREVIOUS | WITH_CANDIDATE | WITH_PATH,
            KIND_ENDED => WITH_PATH,
            _ => 0,
        };
        if flags & !known != 0 || attempt == 0 || (kind != KIND_WALKER && source != 0) {
            return Err(Refused::Malformed);
        }
        match kind {
            KIND_WALKER => {
                let (at, steps, random) = (r.node()?, r.word()?, r.long()?);
                let previous = if flags & WITH_PREVIOUS != 0 { Some(r.node()?) } else { None };
                let candidate = if flags & WITH_CANDIDATE != 0 { Some(r.node()?) } else { None };
                let path = r.path(flags, start, at, steps)?;
                Ok(Record::Walker(Walker { id, source, at, previous, candidate, steps, random, path }))
            }
            KIND_ENDED => {
                let (end, steps) = (r.node()?, r.word()?);
                Ok(Record::Ended(Ended { id, end, steps, path: r.path(flags, start, end, steps)? }))
            }
            KIND_DROPPED => Ok(Record::Dropped(id)),
            _ => Err(Refused::Malformed),
        }
    }
}

fn flag(is: bool, bit: u8) -> u8 {
    if is { bit } else { 0 }
}

fn path_bytes(path: &[u32]) -> usize {
    if path.is_empty() { 0 } else { 2 + 4 * path.len() }
}

fn write_common(kind: u8, flags: u8, id: &WalkId, source: u16, out: &mut Vec<u8>) {
    out.extend([kind, flags]);
    out.extend(id.attempt.to_le_bytes());
    out.extend(id.start.to_le_bytes());
    out.extend(id.number.to_le_bytes());
    out.extend(id.epoch.to_le_bytes());
    out.extend(source.to_le_bytes());
    out.extend(id.born_ns.to_le_bytes());
}

fn write_path(path: &[u32], out: &mut Vec<u8>) {
    if !path.is_empty() {
        out.extend((path.len() as u16).to_le_bytes());
        path.iter().for_each(|node| out.extend(node.to_le_bytes()));
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Refused::Malformed)?;
        self.0 = rest;
        Ok(*head)
    }

    fn half(&mut self) -> Result<u16, Refused> {
        self.take().map(u16::from_le_bytes)
    }

    fn word(&mut self) -> Result<u32, Refused> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, Refused> {
        self.take().map(u64::from_le_bytes)
    }

    fn node(&mut self) -> Result<u32, Refused> {
        self.word().and_then(|node| if node == NO_NODE { Err(Refused::Malformed) } else { Ok(node) })
    }

    /// A path begins at the start, ends where the walker is, and has a node more than the walk has steps.
    fn path(&mut self, flags: u8, start: u32, at: u32, steps: u32) -> Result<Vec<u32>, Refused> {
        if flags & WITH_PATH == 0 {
            return Ok(Vec::new());
        }
        let nodes = usize::from(self.half()?);
        // So a path takes no more memory than the bytes that are there.
        if nodes as u64 != u64::from(steps) + 1 || self.0.len() < 4 * nodes {
            return Err(Refused::Malformed);
        }
        let path: Vec<u32> = (0..nodes).map(|_| self.node()).collect::<Result<_, _>>()?;
        let ends = (path.first(), path.last());
        if ends == (Some(&start), Some(&at)) { Ok(path) } else { Err(Refused::Malformed) }
    }
}

/// What all datagrams of a job have in common on one server.
#[derive(Clone, Debug)]
pub struct Codec {
    /// The job's number.
    pub job: u32,
    /// This server's.
    pub server: u16,
    /// With it, datagrams carry a tag, and are refused without it.
    pub key: Option<Key>,
}

impl Codec {
    /// Bytes of a datagram without records.
    pub fn overhead(&self) -> usize {
        HEADER + if self.key.is_some() { TAG } else { 0 }
    }

    /// A datagram of `records`, at most 65,535 of them.
    pub fn encode(&self, records: &[Record]) -> Vec<u8> {
        let length = self.overhead() + records.iter().map(Record::bytes).sum::<usize>();
        let mut out = Vec::with_capacity(length);
        out.extend(MAGIC);
        out.extend([VERSION, u8::from(self.key.is_some())]);
        out.extend(self.job.to_le_bytes());
        out.extend(self.server.to_le_bytes());
        out.extend((records.len() as u16).to_le_bytes());
        out.extend((length as u32).to_le_bytes());
        records.iter().for_each(|record| record.write(&mut out));
        if let Some(key) = &self.key {
            let tag = key.tag(&out);
            out.extend(tag);
        }
        out
    }

    /// Reads a datagram's records into `records`, and returns the sender's number.
    ///
    /// # Errors
    /// When anything about it is wrong; then there are no records.
    pub fn decode(&self, datagram: &[u8], records: &mut Vec<Record>) -> Result<u16, Refused> {
        records.clear();
        let result = self.read(datagram, records);
        if result.is_err() {
            records.clear();
        }
        result
    }

    fn read(&self, datagram: &[u8], records: &mut Vec<Record>) -> Result<u16, Refused> {
        let mut r = Reader(datagram);
        let [m0, m1, version, sealed] = r.take().map_err(|_| Refused::Foreign)?;
        if [m0, m1] != MAGIC {
            return Err(Refused::Foreign);
        }
        if version != VERSION {
            return Err(Refused::Version(version));
        }
        let (job, from, count, length) = (r.word()?, r.half()?, r.half()?, r.word()?);
        if length as usize != datagram.len() {
            return Err(Refused::Malformed);
        }
        let end = match &self.key {
            Some(key) => {
                let body =
                    datagram.len().checked_sub(TAG).filter(|end| *end >= HEADER).ok_or(Refused::Tag)?;
                if sealed != 1 || !key.is_right(&datagram[..body], &datagram[body..]) {
                    return Err(Refused::Tag);
                }
                body
            }
            None if sealed == 0 => datagram.len(),
            None => return Err(Refused::Tag),
        };
        if job != self.job {
            return Err(Refused::Job);
        }
        let mut r = Reader(&datagram[HEADER..end]);
        for _ in 0..count {
            records.push(Record::read(&mut r)?);
        }
        if r.0.is_empty() { Ok(from) } else { Err(Refused::Malformed) }
    }
}

#[cfg(test)]
#[path = "tests/wire.rs"]
mod tests;
