//! Finished passes as bytes: the journal of a node, and what a run on one node leaves when it is stopped. Not here: files.
//!
//! A journal is a record per level: its length and the number of itemsets, the items, the counts, and a checksum against
//! torn writes. Only the beginning that is sound counts; what is behind it is found again.

use crate::items::Level;
use crate::local::Begun;
use crate::progress::Pass;
use serde::{Deserialize, Serialize};

/// Bytes before the items of a record.
const HEAD: usize = 16;

/// A level as a record.
pub fn record(level: &Level) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend((level.length() as u64).to_le_bytes());
    record.extend((level.len() as u64).to_le_bytes());
    level.items().iter().for_each(|item| record.extend(item.to_le_bytes()));
    level.counts().iter().for_each(|count| record.extend(count.to_le_bytes()));
    record.extend(checksum(&record).to_le_bytes());
    record
}

/// Against damage, not against people: FNV-1a.
pub fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The levels of a journal, and how many bytes of it are sound.
pub fn levels(bytes: &[u8]) -> (Vec<Level>, usize) {
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
    let end = count.checked_mul(8)?.checked_add(items)?.checked_add(HEAD)?;
    let (record, rest) = bytes.split_at_checked(end)?;
    let (sum, rest) = rest.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != checksum(record) {
        return None;
    }
    let (items, counts) = record[HEAD..].split_at(items);
    let items: Vec<u32> = items.as_chunks::<4>().0.iter().map(|item| u32::from_le_bytes(*item)).collect();
    let counts = counts.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
    let mut level = Level::new(length);
    for (itemset, count) in items.chunks_exact(length).zip(counts) {
        let ascends = itemset.is_sorted_by(|a, b| a < b);
        if !ascends || level.last().is_some_and(|last| last >= itemset) {
            return None;
        }
        level.push(itemset, count);
    }
    Some((level, rest))
}

/// A line before the levels of a run on one node.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    alone: u64,
    passes: Vec<(usize, Option<u64>, u64, u64)>,
    rows: Option<u32>,
}

/// What a run on one node had finished, as bytes.
pub fn kept(begun: &Begun) -> Vec<u8> {
    let passes = begun.passes.iter().map(|pass| (pass.number, pass.candidates, pass.large, pass.scans));
    let head = Head { alone: begun.digest, passes: passes.collect(), rows: begun.rows };
    let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
    bytes.push(b'\n');
    begun.levels.iter().for_each(|level| bytes.extend(record(level)));
    bytes
}

/// The same from bytes; nothing from others.
pub fn begun(bytes: &[u8]) -> Option<Begun> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
    let (levels, _) = levels(&bytes[end + 1..]);
    let whole = match head.rows {
        None => levels.len() == head.passes.len() && levels.len() > 1,
        Some(_) => head.passes.len() == 1 && !levels.is_empty(),
    };
    let pass = |(number, candidates, large, scans)| Pass { number, candidates, large, scans };
    whole.then(|| Begun {
        digest: head.alone,
        levels,
        passes: head.passes.into_iter().map(pass).collect(),
        rows: head.rows,
    })
}
