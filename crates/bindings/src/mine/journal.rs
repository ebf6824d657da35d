//! Finished passes as bytes: the journal of a node, and what a run on one node leaves when it is stopped.

use super::found::{MineItemsets, PassTuple, pass};
use ::mine::items::Level;
use ::mine::local::{Begun, Pass};
use ::mine::node::Journal;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Levels in a file, one behind the other: lengths, items, counts, and a checksum against what is torn.
pub(super) struct OnDisk {
    place: PathBuf,
}

impl OnDisk {
    pub(super) fn at(place: PathBuf) -> OnDisk {
        OnDisk { place }
    }
}

impl Journal for OnDisk {
    fn load(&mut self) -> Vec<Level> {
        let bytes = fs::read(&self.place).unwrap_or_default();
        let (levels, sound) = levels(&bytes);
        if sound < bytes.len()
            && let Ok(file) = OpenOptions::new().write(true).open(&self.place)
        {
            // What is torn is found again; a file that can't be cut is as one that can't be read.
            let _ = file.set_len(sound as u64);
        }
        levels
    }

    fn append(&mut self, level: &Level) {
        // Without a journal a crash costs more, and nothing else.
        let _ = append(&self.place, level);
    }
}

fn append(place: &Path, level: &Level) -> io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(place)?;
    file.write_all(&record(level))
}

fn record(level: &Level) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend((level.length() as u64).to_le_bytes());
    record.extend((level.len() as u64).to_le_bytes());
    level.items().iter().for_each(|item| record.extend(item.to_le_bytes()));
    level.counts().iter().for_each(|count| record.extend(count.to_le_bytes()));
    record.extend(sum(&record).to_le_bytes());
    record
}

/// Against damage, not against people: FNV-1a.
fn sum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The levels of a journal, and how many bytes of it are sound.
fn levels(bytes: &[u8]) -> (Vec<Level>, usize) {
    let (mut found, mut rest) = (Vec::new(), bytes);
    while let Some((level, behind)) = level(rest, found.len() + 1) {
        found.push(level);
        rest = behind;
    }
    (found, bytes.len() - rest.len())
}

fn level(bytes: &[u8], pass: usize) -> Option<(Level, &[u8])> {
    let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let (length, count) = (word(0)?, word(8)?);
    if length != pass {
        return None;
    }
    let items = count.checked_mul(length)?.checked_mul(4)?;
    let end = count.checked_mul(8)?.checked_add(items)?.checked_add(16)?;
    let (record, rest) = bytes.split_at_checked(end)?;
    let (checksum, rest) = rest.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*checksum) != sum(record) {
        return None;
    }
    let (items, counts) = record[16..].split_at(items);
    let items: Vec<u32> = items.as_chunks::<4>().0.iter().map(|item| u32::from_le_bytes(*item)).collect();
    let counts = counts.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
    let mut level = Level::new(length);
    items.chunks_exact(length).zip(counts).for_each(|(itemset, count)| level.push(itemset, count));
    Some((level, rest))
}

/// What a journal has of so many transactions, with what passes did (number, candidates, large itemsets, scans), and of how
/// many passes.
#[pyfunction]
pub(super) fn mine_journal(
    journal: &[u8],
    transactions: u64,
    passes: Vec<PassTuple>,
) -> (MineItemsets, usize) {
    let (found, _) = levels(journal);
    let count = found.len();
    let found = found.into_iter().filter(|level| !level.is_empty()).collect();
    (MineItemsets::new(transactions, found, passes.into_iter().map(pass_of).collect()), count)
}

fn pass_of((number, candidates, large, scans): PassTuple) -> Pass {
    Pass { number, candidates, large, scans }
}

/// What stands before the journal of a run on one node.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    alone: u64,
    passes: Vec<PassTuple>,
    rows: Option<u32>,
}

/// What a run on one node had finished, as bytes.
pub(super) fn kept(begun: &Begun) -> Vec<u8> {
    let head =
        Head { alone: begun.digest, passes: begun.passes.iter().map(pass).collect(), rows: begun.rows };
    let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
    bytes.push(b'\n');
    begun.levels.iter().for_each(|level| bytes.extend(record(level)));
    bytes
}

/// The same from bytes; nothing from others.
pub(super) fn begun(bytes: &[u8]) -> Option<Begun> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
    let (levels, _) = levels(&bytes[end + 1..]);
    let whole = match head.rows {
        None => levels.len() == head.passes.len() && levels.len() > 1,
        Some(_) => head.passes.len() == 1 && !levels.is_empty(),
    };
    whole.then(|| Begun {
        digest: head.alone,
        levels,
        passes: head.passes.into_iter().map(pass_of).collect(),
        rows: head.rows,
    })
}
