//! What servers say to each other: walkers that move on, walks that have ended, walkers that were dropped.
//!
//! A datagram is a header, any number of records and, with a job key, a tag ([`crate::seal`]). A record's
//! length follows from its own bytes; numbers are little-endian. Decoding takes no more memory than the
//! datagram has bytes, checks every field that can be wrong by itself, and refuses the whole datagram when
//! one is. What only a server can know (whether it owns a node) is checked there. Our own form; there is no
//! standard for it.
//!
//! One record a datagram is the document's "one RWer, one packet" (document 000, *RWER 単位での非同期型*); more of
//! them are its future work.

pub(crate) mod packed;
mod record;
mod said;

pub use said::{DATAGRAM_MAX, Ended, HEADER, NO_NODE, Record, Refused, VERSION, WALKER, WalkId, Walker};
pub(crate) use said::{ENDED, End, LONE};

use crate::seal::{Key, TAG};
use packed::{Packed, PackedEnd};
use record::Reader;

/// First bytes of every datagram.
const MAGIC: [u8; 2] = *b"RW";

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
        self.begin(&mut out);
        records.iter().for_each(|record| record.write(&mut out));
        self.end(&mut out, 0, records.len() as u16);
        self.seal(&mut out, length);
        out
    }

    /// Begins a datagram at the end of `out`. Records follow, then [`Codec::end`].
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        let mut header = [0; HEADER];
        header[..2].copy_from_slice(&MAGIC);
        header[2..4].copy_from_slice(&[VERSION, u8::from(self.key.is_some())]);
        header[4..8].copy_from_slice(&self.job.to_le_bytes());
        header[8..10].copy_from_slice(&self.server.to_le_bytes());
        out.extend_from_slice(&header);
    }

    /// Ends the datagram that began at `start` of `out` and has `count` records, with room for its tag.
    pub(crate) fn end(&self, out: &mut Vec<u8>, start: usize, count: u16) {
        let length = out.len() - start + self.overhead() - HEADER;
        let header = &mut out[start..start + HEADER];
        header[10..12].copy_from_slice(&count.to_le_bytes());
        header[12..].copy_from_slice(&(length as u32).to_le_bytes());
        out.resize(start + length, 0);
    }

    /// Puts the tags on datagrams of `each` bytes that lie behind one another.
    pub(crate) fn seal(&self, datagrams: &mut [u8], each: usize) {
        if let Some(key) = &self.key {
            key.seal(datagrams, each);
        }
    }

    /// The first words of datagrams with one plain walker from `server`, under a key.
    pub(crate) fn lone_header(&self, server: u16) -> [u64; HEADER / 8] {
        let [magic, more] = MAGIC;
        let start = u32::from_le_bytes([magic, more, VERSION, u8::from(self.key.is_some())]);
        let (count, length) = (1, LONE as u64);
        [u64::from(start) | u64::from(self.job) << 32, u64::from(server) | count << 16 | length << 32]
    }

    /// Reads a datagram's records into `records`, and returns the sender's number.
    ///
    /// # Errors
    /// When anything about it is wrong; then there are no records.
    pub fn decode(&self, datagram: &[u8], records: &mut Vec<Record>) -> Result<u16, Refused> {
        records.clear();
        let opened = self.open(datagram, None)?;
        opened.records(records).map(|()| opened.from)
    }

    /// Looks at what a datagram is, but not at its records. `right` says whether its tag is, where that is
    /// known.
    pub(crate) fn open<'a>(&self, datagram: &'a [u8], right: Option<bool>) -> Result<Opened<'a>, Refused> {
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
                let is_right = || key.is_right(&datagram[..body], &datagram[body..]);
                if sealed != 1 || !right.unwrap_or_else(is_right) {
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
        Ok(Opened { from, count, body: &datagram[HEADER..end] })
    }
}

/// A datagram of a member.
pub(crate) struct Opened<'a> {
    /// The sender's number.
    pub from: u16,
    count: u16,
    body: &'a [u8],
}

impl Opened<'_> {
    /// Its walkers, if it has nothing but walkers that carry nothing more.
    #[inline]
    pub(crate) fn walkers(&self) -> Option<impl Iterator<Item = Packed> + use<'_>> {
        self.all(Packed::read)
    }

    /// The ends in it, if it has nothing but ends without paths.
    #[inline]
    pub(crate) fn ends(&self) -> Option<impl Iterator<Item = PackedEnd> + use<'_>> {
        self.all(PackedEnd::read)
    }

    /// Its records, if `read` can read all of them; all have the same length.
    #[inline(always)]
    fn all<T, const WORDS: usize>(
        &self,
        read: impl Fn([u64; WORDS]) -> Option<T>,
    ) -> Option<impl Iterator<Item = T>> {
        let (words, rest) = self.body.as_chunks::<8>();
        let (records, words) = words.as_chunks::<WORDS>();
        let whole = records.len() == usize::from(self.count) && words.is_empty() && rest.is_empty();
        let records = records.iter().map(|record| record.map(u64::from_le_bytes));
        let fits = whole && records.clone().all(|record| read(record).is_some());
        fits.then(|| records.filter_map(read))
    }

    /// Its records, all or none.
    pub(crate) fn records(&self, records: &mut Vec<Record>) -> Result<(), Refused> {
        records.clear();
        let mut r = Reader(self.body);
        let mut read = || {
            for _ in 0..self.count {
                records.push(Record::read(&mut r)?);
            }
            r.end()
        };
        let result = read();
        if result.is_err() {
            records.clear();
        }
        result
    }
}

#[cfg(test)]
#[path = "../tests/wire.rs"]
mod tests;
