//! Finished passes as bytes: the journal of a node, and what a run on one node leaves when it is stopped. Not
//! here: files.
//!
//! A journal is a record per level: its length and the number of itemsets, the items, the counts, and a
//! checksum against torn writes. Only the beginning that is sound counts; what is behind it is found again.
//!
//! Levels may take most of the memory, so records are written and read piece by piece.

use crate::begun::{Begun, Full};
use crate::items::{Item, Level};
use crate::progress::Pass;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read, Write};

/// Bytes that are read at a time; a multiple of those of an item and of a count.
const PIECE: usize = 1 << 16;
/// Bytes of the line before the levels of a run on one node, at most: a pass takes up to some 70.
const LINE_MAX: u64 = 1 << 20;

/// The checksum of nothing.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Against damage, not against people: FNV-1a.
pub fn checksum(bytes: &[u8]) -> u64 {
    more(EMPTY, bytes)
}

fn more(sum: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(sum, step)
}

/// Writes a level as a record.
///
/// # Errors
/// Those of `to`.
pub fn write(level: &Level, to: &mut impl Write) -> io::Result<()> {
    let mut sum = EMPTY;
    let mut put = |bytes: &[u8]| {
        sum = more(sum, bytes);
        to.write_all(bytes)
    };
    put(&(level.length() as u64).to_le_bytes())?;
    put(&(level.len() as u64).to_le_bytes())?;
    level.items().iter().try_for_each(|item| put(&item.to_le_bytes()))?;
    level.counts().iter().try_for_each(|count| put(&count.to_le_bytes()))?;
    to.write_all(&sum.to_le_bytes())
}

/// The sound beginning of a journal, as far as there is room for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sound {
    /// The levels.
    pub levels: Vec<Level>,
    /// Bytes of their records.
    pub bytes: u64,
    /// Items of the itemsets of the next level, which is sound too, and for which there is no room.
    pub full: Option<usize>,
}

impl Sound {
    /// What did not fit.
    pub(crate) fn full(&self) -> Option<Full> {
        let before = self.levels.iter().map(|level| level.len() as u64).sum();
        self.full.map(|length| Full { length, before })
    }
}

/// Reads a journal. Its levels take no more than `room` bytes of memory.
pub fn read(from: &mut impl Read, room: usize) -> Sound {
    let mut sound = Sound::default();
    let mut left = room;
    loop {
        match record(from, sound.levels.len() + 1, left) {
            Some(Record::Level(level, bytes)) => {
                left -= level.bytes();
                sound.bytes += bytes;
                sound.levels.push(level);
            }
            Some(Record::TooLarge(length)) => return Sound { full: Some(length), ..sound },
            None => return sound,
        }
    }
}

/// The levels that a journal has, counted without memory for them.
pub fn count(from: &mut impl Read) -> usize {
    (1..).take_while(|pass| record(from, *pass, 0).is_some()).count()
}

enum Record {
    /// And the bytes of the record.
    Level(Level, u64),
    /// Its itemsets have so many items.
    TooLarge(usize),
}

/// The record of a pass; nothing when there is none that is sound.
fn record(from: &mut impl Read, pass: usize, room: usize) -> Option<Record> {
    let mut from = Summed { from, sum: EMPTY, bytes: 0 };
    let (length, count) = (from.number()?, from.number()?);
    if length != pass {
        return None;
    }
    let items = count.checked_mul(length)?;
    let bytes = count.checked_mul(size_of::<u64>())?.checked_add(items.checked_mul(size_of::<Item>())?)?;
    let fits = bytes <= room;
    let items = from.words(items, fits, |word| Item::from_le_bytes(*word))?;
    let counts = from.words(count, fits, |word| u64::from_le_bytes(*word))?;
    let sum = from.sum;
    if from.number()? as u64 != sum {
        return None;
    }
    let level = if fits {
        Record::Level(Level::new_of(length, items, counts)?, from.bytes)
    } else {
        Record::TooLarge(length)
    };
    Some(level)
}

/// What is read, and its checksum.
struct Summed<'a, R> {
    from: &'a mut R,
    sum: u64,
    bytes: u64,
}

impl<R: Read> Summed<'_, R> {
    fn fill(&mut self, bytes: &mut [u8]) -> Option<()> {
        self.from.read_exact(bytes).ok()?;
        self.sum = more(self.sum, bytes);
        self.bytes += bytes.len() as u64;
        Some(())
    }

    fn number(&mut self) -> Option<usize> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Some(u64::from_le_bytes(bytes) as usize)
    }

    /// So many words of `N` bytes, or none of them where they are not to be kept. Memory grows with what has
    /// come: whoever wrote the number may have meant anything.
    fn words<const N: usize, T>(
        &mut self,
        count: usize,
        keep: bool,
        word: impl Fn(&[u8; N]) -> T,
    ) -> Option<Vec<T>> {
        let (mut words, mut piece) = (Vec::new(), vec![0; PIECE]);
        let mut left = count.checked_mul(N)?;
        while left > 0 {
            let bytes = &mut piece[..left.min(PIECE)];
            self.fill(bytes)?;
            left -= bytes.len();
            if keep {
                words.extend(bytes.as_chunks::<N>().0.iter().map(&word));
            }
        }
        Some(words)
    }
}

/// A line before the levels of a run on one node.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    alone: u64,
    passes: Vec<(usize, Option<u64>, u64, u64)>,
    rows: Option<u32>,
}

/// Writes what a run on one node had finished.
///
/// # Errors
/// Those of `to`.
pub fn keep(begun: &Begun, to: &mut impl Write) -> io::Result<()> {
    let passes = begun.passes.iter().map(|pass| (pass.number, pass.candidates, pass.large, pass.scans));
    let head = Head { alone: begun.digest, passes: passes.collect(), rows: begun.rows };
    serde_json::to_writer(&mut *to, &head)?;
    to.write_all(b"\n")?;
    begun.levels.iter().try_for_each(|level| write(level, to))
}

/// What a run on one node had finished, before its levels are read.
pub struct Kept {
    head: Head,
    levels: Box<dyn Read + Send>,
}

impl Kept {
    /// From what [`keep`] wrote; nothing from other bytes.
    pub fn open(mut from: impl BufRead + Send + 'static) -> Option<Kept> {
        let mut line = Vec::new();
        (&mut from).take(LINE_MAX).read_until(b'\n', &mut line).ok()?;
        let head = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
        Some(Kept { head, levels: Box::new(from) })
    }

    /// Whether these are passes over sparse transactions, searched depth-first.
    pub(crate) fn is_sparse(&self) -> bool {
        self.head.rows.is_some()
    }

    /// Of which transactions and settings.
    pub(crate) fn digest(&self) -> u64 {
        self.head.alone
    }

    /// Its passes; nothing when they are not whole.
    ///
    /// # Errors
    /// The levels take more than `room` bytes.
    pub fn read(mut self, room: usize) -> Result<Option<Begun>, Full> {
        let sound = read(&mut self.levels, room);
        if let Some(full) = sound.full() {
            return Err(full);
        }
        let (head, levels) = (self.head, sound.levels);
        let whole = match head.rows {
            None => levels.len() == head.passes.len() && levels.len() > 1,
            Some(_) => head.passes.len() == 1 && !levels.is_empty(),
        };
        let pass = |(number, candidates, large, scans)| Pass { number, candidates, large, scans };
        Ok(whole.then(|| Begun {
            digest: head.alone,
            levels,
            passes: head.passes.into_iter().map(pass).collect(),
            rows: head.rows,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn passes_are_read_when_there_is_room_for_them() {
        let levels = [Level::sorted(1, &[1, 2], &[5, 6]), Level::sorted(2, &[1, 2], &[4])];
        let room = levels.iter().map(Level::bytes).sum();
        let pass = |number, large| Pass { number, candidates: None, large, scans: 1 };
        let passes = vec![pass(1, 2), pass(2, 1)];
        let begun = Begun { digest: 7, levels: levels.to_vec(), passes, rows: None };
        let mut bytes = Vec::new();
        keep(&begun, &mut bytes).expect("a vector takes it");
        let read = |bytes: &[u8], room| Kept::open(Cursor::new(bytes.to_vec())).expect("a head").read(room);
        assert_eq!(read(&bytes, room), Ok(Some(begun)));
        assert_eq!(read(&bytes, room - 1), Err(Full { length: 2, before: 2 }));
        bytes.pop();
        assert_eq!(read(&bytes, room - 1), Ok(None), "what is torn is found again, whatever its size");
    }
}
