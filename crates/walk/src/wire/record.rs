//! A record's form, written and read.

use super::said::{ENDED, Ended, NO_NODE, Record, Refused, WALKER, WalkId, Walker};

pub(super) const KIND_WALKER: u8 = 1;
pub(super) const KIND_ENDED: u8 = 2;
const KIND_DROPPED: u8 = 3;
const WITH_PREVIOUS: u8 = 1;
const WITH_CANDIDATE: u8 = 2;
const WITH_PATH: u8 = 4;

/// Bytes of what all records begin with.
const COMMON: usize = 24;

impl Record {
    /// Its bytes in a datagram.
    pub fn bytes(&self) -> usize {
        match self {
            Record::Walker(w) => w.bytes(),
            Record::Ended(e) => ENDED + path_bytes(&e.path),
            Record::Dropped(_) => COMMON,
        }
    }

    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Record::Walker(w) => w.write(out),
            Record::Ended(e) => {
                let flags = flag(!e.path.is_empty(), WITH_PATH);
                let tail = [u64::from(e.steps) << 32 | u64::from(e.end)];
                write_fixed(KIND_ENDED, flags, &e.id, 0, tail, out);
                write_path(&e.path, out);
            }
            Record::Dropped(id) => write_fixed(KIND_DROPPED, 0, id, 0, [], out),
        }
    }

    #[inline]
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Record, Refused> {
        match r.0.first() {
            Some(&KIND_WALKER) => r.walker().map(Record::Walker),
            Some(&KIND_ENDED) => r.ended().map(Record::Ended),
            Some(&KIND_DROPPED) => {
                let [first, second, born] = r.words()?;
                let (id, flags, source) = checked(first, second, born)?;
                if flags == 0 && source == 0 { Ok(Record::Dropped(id)) } else { Err(Refused::Malformed) }
            }
            _ => Err(Refused::Malformed),
        }
    }
}

impl Walker {
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        let node = |node: &Option<u32>| 4 * usize::from(node.is_some());
        WALKER + node(&self.previous) + node(&self.candidate) + path_bytes(&self.path)
    }

    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let flags = flags_of(self);
        let tail = [u64::from(self.steps) << 32 | u64::from(self.at), self.random];
        write_fixed(KIND_WALKER, flags, &self.id, self.source, tail, out);
        if flags != 0 {
            for node in [self.previous, self.candidate].into_iter().flatten() {
                out.extend_from_slice(&node.to_le_bytes());
            }
            write_path(&self.path, out);
        }
    }
}

/// Puts words behind `out`.
#[inline(always)]
pub(super) fn put<const WORDS: usize>(words: [u64; WORDS], out: &mut Vec<u8>) {
    let bytes = words.map(u64::to_le_bytes);
    out.extend_from_slice(bytes.as_flattened());
}

/// What a walker carries beside what all carry.
#[inline(always)]
pub(super) fn flags_of(w: &Walker) -> u8 {
    flag(w.previous.is_some(), WITH_PREVIOUS)
        | flag(w.candidate.is_some(), WITH_CANDIDATE)
        | flag(!w.path.is_empty(), WITH_PATH)
}

/// What the first words of every record say: the walk, flags, and the walker's source.
#[inline(always)]
pub(super) fn common(first: u64, second: u64, born_ns: u64) -> (WalkId, u8, u16) {
    let (flags, attempt, start) = ((first >> 8) as u8, (first >> 16) as u16, (first >> 32) as u32);
    let (number, epoch, source) = (second as u32, (second >> 32) as u16, (second >> 48) as u16);
    (WalkId { start, number, attempt, epoch, born_ns }, flags, source)
}

/// The same, if it can be.
#[inline(always)]
fn checked(first: u64, second: u64, born_ns: u64) -> Result<(WalkId, u8, u16), Refused> {
    let read = common(first, second, born_ns);
    node(read.0.start)?;
    if read.0.attempt == 0 { Err(Refused::Malformed) } else { Ok(read) }
}

#[inline(always)]
pub(super) fn node(word: u32) -> Result<u32, Refused> {
    if word == NO_NODE { Err(Refused::Malformed) } else { Ok(word) }
}

fn flag(is: bool, bit: u8) -> u8 {
    if is { bit } else { 0 }
}

fn path_bytes(path: &[u32]) -> usize {
    if path.is_empty() { 0 } else { 2 + 4 * path.len() }
}

/// The words that every record begins with.
#[inline(always)]
pub(super) fn id_words(kind: u8, flags: u8, id: &WalkId, source: u16) -> [u64; COMMON / 8] {
    let WalkId { start, number, attempt, epoch, born_ns } = *id;
    let first = u64::from(kind) | u64::from(flags) << 8 | u64::from(attempt) << 16 | u64::from(start) << 32;
    [first, u64::from(number) | u64::from(epoch) << 32 | u64::from(source) << 48, born_ns]
}

/// What every record of a kind has, in one piece: its words, then `tail`.
#[inline(always)]
fn write_fixed<const TAIL: usize>(
    kind: u8,
    flags: u8,
    id: &WalkId,
    source: u16,
    tail: [u64; TAIL],
    out: &mut Vec<u8>,
) {
    put(id_words(kind, flags, id, source), out);
    put(tail, out);
}

fn write_path(path: &[u32], out: &mut Vec<u8>) {
    if !path.is_empty() {
        out.extend((path.len() as u16).to_le_bytes());
        path.iter().for_each(|node| out.extend(node.to_le_bytes()));
    }
}

/// What is left of a datagram.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), Refused> {
        if self.0.is_empty() { Ok(()) } else { Err(Refused::Malformed) }
    }

    #[inline]
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Refused::Malformed)?;
        self.0 = rest;
        Ok(*head)
    }

    #[inline]
    pub(super) fn half(&mut self) -> Result<u16, Refused> {
        self.take().map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn word(&mut self) -> Result<u32, Refused> {
        self.take().map(u32::from_le_bytes)
    }

    fn node(&mut self) -> Result<u32, Refused> {
        self.word().and_then(node)
    }

    #[inline(always)]
    fn words<const N: usize>(&mut self) -> Result<[u64; N], Refused> {
        let (words, _) = self.0.as_chunks::<8>();
        let words = words.first_chunk::<N>().ok_or(Refused::Malformed)?;
        self.0 = &self.0[8 * N..];
        Ok(words.map(u64::from_le_bytes))
    }

    #[inline]
    fn walker(&mut self) -> Result<Walker, Refused> {
        let [first, second, born, place, random] = self.words()?;
        let (id, flags, source) = checked(first, second, born)?;
        let (at, steps) = (node(place as u32)?, (place >> 32) as u32);
        let (previous, candidate, path) = (None, None, Vec::new());
        let mut walker = Walker { id, source, at, previous, candidate, steps, random, path };
        if flags != 0 {
            self.more(flags, &mut walker)?;
        }
        Ok(walker)
    }

    /// What not every walker has.
    fn more(&mut self, flags: u8, walker: &mut Walker) -> Result<(), Refused> {
        if flags & !(WITH_PREVIOUS | WITH_CANDIDATE | WITH_PATH) != 0 {
            return Err(Refused::Malformed);
        }
        let mut node = |flag| if flags & flag != 0 { self.node().map(Some) } else { Ok(None) };
        (walker.previous, walker.candidate) = (node(WITH_PREVIOUS)?, node(WITH_CANDIDATE)?);
        walker.path = self.path(flags, walker.id.start, walker.at, walker.steps)?;
        Ok(())
    }

    #[inline]
    fn ended(&mut self) -> Result<Ended, Refused> {
        let [first, second, born, place] = self.words()?;
        let (id, flags, source) = checked(first, second, born)?;
        let (end, steps) = (node(place as u32)?, (place >> 32) as u32);
        if flags & !WITH_PATH != 0 || source != 0 {
            return Err(Refused::Malformed);
        }
        Ok(Ended { id, end, steps, path: self.path(flags, id.start, end, steps)? })
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
