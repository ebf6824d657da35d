//! A program's memory accesses as its fault handler saw them: 16 bytes per record, appended on the faulting
//! core.
//!
//! A trace is taken with a small cache, because accesses to local pages are not seen. With
//! [`Header::capacity`] pages, accesses to that many most recent pages are missing, which changes little at
//! larger sizes. A record is two words, little-endian. The first has, from the lowest bits up, page (52
//! bits), thread (8) and kind (4). The second has the nanoseconds that the program computed since the
//! previous record (32) and the number of pages (32). A [`Record::Pass`] has 64 bits of nanoseconds there, a
//! [`Record::Asked`] of bytes.
//!
//! A record of zeros ends a trace, and an incomplete record is ignored, so a file can be used as a program's
//! death left it. One without an end was cut short. A page that is moved (mremap) is freed and written
//! elsewhere. Not here: files, and the evaluation of a trace ([`crate::steps`]).

use crate::cache::Policy;
use thiserror::Error;

/// Bytes of the header and of each record.
pub const RECORD: usize = 16;
/// The most records of a trace, and accesses of it: 4 GiB.
pub const MAX_RECORDS: usize = 1 << 28;
/// Pages have numbers below 2⁵²: an address of 64 bits, in pages of 4 KiB.
pub const MAX_PAGE: u64 = (1 << 52) - 1;

const MAGIC: [u8; 8] = *b"INCFMT01";
const POLICIES: [Policy; 3] = Policy::ALL;

/// How a trace was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Logarithm of the page size: 12 (4 KiB) to 21 (2 MiB).
    pub page_bits: u8,
    /// Of the cache that the program had.
    pub policy: Policy,
    /// Whether the first write to each page was seen, then or when it left. Otherwise every page counts as
    /// written.
    pub writes: bool,
    /// Pages of that cache.
    pub capacity: u32,
}

impl Header {
    /// As it begins a trace.
    pub fn encode(&self) -> [u8; RECORD] {
        let mut out = [0; RECORD];
        out[..8].copy_from_slice(&MAGIC);
        out[8] = self.page_bits;
        out[9] = POLICIES.iter().position(|policy| *policy == self.policy).expect("one of all") as u8;
        out[10] = u8::from(self.writes);
        out[12..].copy_from_slice(&self.capacity.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Result<Header, TraceError> {
        let head = bytes.first_chunk::<RECORD>().ok_or(TraceError::NoTrace)?;
        if head[..8] != MAGIC {
            return Err(if head[..6] == MAGIC[..6] { TraceError::Version } else { TraceError::NoTrace });
        }
        let policy = POLICIES.get(usize::from(head[9])).copied();
        let (Some(policy), 12..=21, 0..=1, 0) = (policy, head[8], head[10], head[11]) else {
            return Err(TraceError::Header);
        };
        let capacity = u32::from_le_bytes(*head.last_chunk().expect("four bytes"));
        Ok(Header { page_bits: head[8], policy, writes: head[10] == 1, capacity })
    }
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Pages were read, and not local.
    Read(Pages),
    /// Pages were written to, for the first time since they came.
    Write(Pages),
    /// Pages leave that were written to since they came, which was not seen before (write protection that the
    /// kernel lifts).
    Dirty(Pages),
    /// Pages were given back, with what they hold.
    Free(Pages),
    /// Nothing but time passed: nanoseconds.
    Pass(u64),
    /// The program has asked for so many bytes by now. Memory becomes remote when that is more than is local.
    Asked(u64),
}

/// Pages that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// The first.
    pub page: u64,
    /// How many, at least one. Pages that are accessed come to [`MAX_RECORDS`] at most in all of a trace.
    pub pages: u32,
    /// The thread that did it; from 256 threads on, numbers repeat.
    pub thread: u8,
    /// Nanoseconds that the program computed since the record before. More than fit are a [`Record::Pass`].
    pub computed_ns: u32,
}

const PASS: u64 = 4;
const ASKED: u64 = 6;

impl Record {
    /// As it is in a trace.
    pub fn encode(&self) -> [u8; RECORD] {
        let (kind, of) = match self {
            Record::Read(of) => (1, of),
            Record::Write(of) => (2, of),
            Record::Free(of) => (3, of),
            Record::Dirty(of) => (5, of),
            Record::Pass(ns) => return words(PASS << 60, *ns),
            Record::Asked(bytes) => return words(ASKED << 60, *bytes),
        };
        let first = (of.page & MAX_PAGE) | u64::from(of.thread) << 52 | kind << 60;
        words(first, u64::from(of.pages) << 32 | u64::from(of.computed_ns))
    }

    /// Nothing for bytes that are no record.
    fn decode(bytes: &[u8; RECORD]) -> Option<Record> {
        let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes"));
        let (first, second) = (word(0), word(8));
        let kind = first >> 60;
        if kind == PASS {
            return (first == PASS << 60).then_some(Record::Pass(second));
        }
        if kind == ASKED {
            return (first == ASKED << 60).then_some(Record::Asked(second));
        }
        let of = Pages {
            page: first & MAX_PAGE,
            pages: (second >> 32) as u32,
            thread: (first >> 52) as u8,
            computed_ns: second as u32,
        };
        if of.pages == 0 || of.page + u64::from(of.pages - 1) > MAX_PAGE {
            return None;
        }
        match kind {
            1 => Some(Record::Read(of)),
            2 => Some(Record::Write(of)),
            3 => Some(Record::Free(of)),
            5 => Some(Record::Dirty(of)),
            _ => None,
        }
    }

    /// Nanoseconds that the program computed before it.
    pub fn computed_ns(&self) -> u64 {
        match self {
            Record::Pass(ns) => *ns,
            Record::Asked(_) => 0,
            Record::Read(of) | Record::Write(of) | Record::Dirty(of) | Record::Free(of) => {
                u64::from(of.computed_ns)
            }
        }
    }
}

fn words(first: u64, second: u64) -> [u8; RECORD] {
    (u128::from(second) << 64 | u128::from(first)).to_le_bytes()
}

/// Bytes that are no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// Something else.
    #[error("it is no trace of page faults")]
    NoTrace,
    /// From another version.
    #[error("it is a trace of page faults from another version of incast: take it again")]
    Version,
    /// The header's fields.
    #[error("its header says what can't be: the page size, the policy, or whether writes were seen")]
    Header,
    /// A record that can't be.
    #[error("record {0} is none: the trace is damaged there")]
    Record(usize),
    /// More than can be dealt with.
    #[error("it has more than {MAX_RECORDS} records or accesses: trace a shorter run")]
    Long,
}

/// A trace whose records are all right.
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a> {
    /// How it was taken.
    pub header: Header,
    /// Whether its end is there: a file may have been cut short.
    pub has_end: bool,
    records: &'a [[u8; RECORD]],
}

impl<'a> Trace<'a> {
    /// Reads what was written, up to its end or to what the program's death left.
    pub fn read(bytes: &'a [u8]) -> Result<Trace<'a>, TraceError> {
        let header = Header::decode(bytes)?;
        let (records, _) = bytes[RECORD..].as_chunks::<RECORD>();
        let end = records.iter().position(|record| *record == [0; RECORD]).unwrap_or(records.len());
        if end > MAX_RECORDS {
            return Err(TraceError::Long);
        }
        let (has_end, records) = (end < records.len(), &records[..end]);
        let mut accesses = 0;
        for (before, record) in records.iter().enumerate() {
            match Record::decode(record).ok_or(TraceError::Record(before + 1))? {
                Record::Read(of) | Record::Write(of) | Record::Dirty(of) => accesses += of.pages as usize,
                Record::Free(_) | Record::Pass(_) | Record::Asked(_) => {}
            }
            if accesses > MAX_RECORDS {
                return Err(TraceError::Long);
            }
        }
        Ok(Trace { header, has_end, records })
    }

    /// How many records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many accesses these are.
    pub fn accesses(&self) -> u64 {
        let pages = self.records().map(|record| match record {
            Record::Read(of) | Record::Write(of) | Record::Dirty(of) => u64::from(of.pages),
            Record::Free(_) | Record::Pass(_) | Record::Asked(_) => 0,
        });
        pages.sum()
    }

    /// What happened, in order.
    pub fn records(&self) -> impl Iterator<Item = Record> + 'a {
        self.records.iter().map(|record| Record::decode(record).expect("was looked at before"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { page_bits: 12, policy: Policy::Fifo, writes: true, capacity: 64 };

    fn trace(records: &[Record]) -> Vec<u8> {
        let mut bytes = HEADER.encode().to_vec();
        records.iter().for_each(|record| bytes.extend(record.encode()));
        bytes
    }

    fn pages(page: u64, pages: u32) -> Pages {
        Pages { page, pages, thread: 255, computed_ns: u32::MAX }
    }

    #[test]
    fn what_was_written_is_read() {
        let records = [
            Record::Read(pages(0, 1)),
            Record::Write(pages(MAX_PAGE, 1)),
            Record::Dirty(pages(MAX_PAGE, 1)),
            Record::Free(pages(MAX_PAGE - 9, 10)),
            Record::Pass(u64::MAX),
            Record::Pass(0),
            Record::Asked(u64::MAX),
        ];
        let bytes = trace(&records);
        let read = Trace::read(&bytes).unwrap();
        assert_eq!(read.header, HEADER);
        assert_eq!(read.records().collect::<Vec<_>>(), records);
    }

    #[test]
    fn the_end_is_where_it_stopped() {
        let whole = trace(&[Record::Read(pages(1, 1)), Record::Read(pages(2, 1))]);
        assert_eq!(Trace::read(&whole[..whole.len() - 1]).unwrap().len(), 1);
        let mut room = whole.clone();
        room.extend([0; 100]);
        assert_eq!(Trace::read(&room).unwrap().len(), 2);
    }

    #[test]
    fn what_cant_be_is_refused() {
        let refused = |bytes: &[u8]| Trace::read(bytes).unwrap_err();
        assert_eq!(refused(b""), TraceError::NoTrace);
        assert_eq!(refused(&[7; 64]), TraceError::NoTrace);
        let mut other = trace(&[]);
        other[7] = b'2';
        assert_eq!(refused(&other), TraceError::Version);
        for (at, value) in [(8, 11), (8, 22), (9, 3), (10, 2), (11, 1)] {
            let mut wrong = trace(&[]);
            wrong[at] = value;
            assert_eq!(refused(&wrong), TraceError::Header);
        }
        let right = Record::Pass(1);
        let many = Record::Write(pages(0, u32::MAX));
        assert_eq!(refused(&trace(&[many])), TraceError::Long);
        for wrong in [Record::Read(pages(1, 0)), Record::Free(pages(MAX_PAGE, 2))] {
            assert_eq!(refused(&trace(&[right, wrong])), TraceError::Record(2));
        }
        let mut kind = trace(&[right]);
        kind[RECORD + 7] = 0x70;
        assert_eq!(refused(&kind), TraceError::Record(1));
    }
}
