//! Apriori on one node: pass after pass, until one finds nothing large. No network, and no candidate array larger than the
//! memory that is allowed.
//!
//! R. Agrawal and R. Srikant, "Fast algorithms for mining association rules", VLDB 1994, figure 1.

use crate::candidate::{Candidates, Owners, generate};
use crate::codes::{Codes, large};
use crate::count::{ItemCounts, Triangle, tiles, vertical};
use crate::items::Level;
use crate::transactions::{Block, Transactions};

/// What to find and with how much of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Transactions that hold a large itemset, at least.
    pub minimum: u64,
    /// Items of the longest itemset; none: as long as they come.
    pub longest: Option<usize>,
    /// Bytes of memory for the counts of candidates or the bitmaps of a window, about; at least a row of counts is held.
    pub memory: usize,
    /// Threads that count; the result is the same with any number. Each has counts of its own.
    pub threads: usize,
}

/// What a pass did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Its number: the length of its itemsets.
    pub number: usize,
    /// Candidates that it counted; none in pass 1, which counts what comes.
    pub candidates: Option<u64>,
    /// Large itemsets that it found.
    pub large: u64,
    /// Times that it went over the transactions.
    pub scans: u64,
}

/// The large itemsets of transactions, whose items were counted as they came: a level for each length, and what each
/// pass did. `watch` is told of each pass and says whether to go on; nothing when it doesn't.
pub fn mine(
    transactions: Transactions,
    counts: &ItemCounts,
    settings: &Settings,
    mut watch: impl FnMut(&Pass) -> bool,
) -> Option<(Vec<Level>, Vec<Pass>)> {
    let first = large(counts, settings.minimum);
    let codes = Codes::of(&first);
    let mut passes = vec![Pass { number: 1, candidates: None, large: first.len() as u64, scans: 1 }];
    let mut levels = vec![first];
    if !watch(&passes[0]) {
        return None;
    }
    let coded = codes.encode(transactions);
    let mut coded_level = Level::new(1);
    (0..codes.len() as u32).for_each(|code| coded_level.push(&[code], 1));
    for number in 2..=settings.longest.unwrap_or(usize::MAX) {
        let (pass, found) = if number == 2 {
            second(&coded, codes.len() as u32, settings)
        } else {
            later(&coded, &generate(&coded_level), settings)
        };
        if pass.candidates == Some(0) {
            break;
        }
        passes.push(pass);
        if !watch(&pass) {
            return None;
        }
        if found.is_empty() {
            break;
        }
        levels.push(codes.decode(&found));
        coded_level = found;
    }
    Some((levels, passes))
}

fn second(coded: &Transactions, codes: u32, settings: &Settings) -> (Pass, Level) {
    let mut found = Level::new(2);
    let (mut candidates, mut scans) = (0, 0);
    let alone = Owners::new(codes, 1);
    for rows in tiles(&alone, 0, settings.memory / settings.threads.max(1)) {
        let part = |blocks: &[Block]| {
            let mut triangle = Triangle::new(&alone, 0, rows.clone());
            blocks.iter().for_each(|block| triangle.add(block));
            triangle
        };
        let triangle = shared(coded.blocks(), settings.threads, part, |all, more| {
            all.counts_mut().iter_mut().zip(more.counts()).for_each(|(count, more)| *count += more);
        });
        triangle.large(settings.minimum).for_each(|(pair, count)| found.push(&pair, count));
        candidates += triangle.counts().len() as u64;
        scans += 1;
    }
    let pass = Pass { number: 2, candidates: Some(candidates), large: found.len() as u64, scans };
    (pass, found)
}

fn later(coded: &Transactions, candidates: &Candidates, settings: &Settings) -> (Pass, Level) {
    let part = |blocks: &[Block]| {
        let mut counts = vec![0; candidates.len()];
        vertical::add(blocks.iter(), candidates, settings.memory / settings.threads.max(1), &mut counts);
        counts
    };
    let counts = shared(coded.blocks(), settings.threads, part, |all, more| {
        all.iter_mut().zip(more).for_each(|(count, more)| *count += more);
    });
    let found = candidates.large(counts.into_iter().map(u64::from), settings.minimum);
    let pass = Pass {
        number: candidates.length(),
        candidates: Some(candidates.len() as u64),
        large: found.len() as u64,
        scans: 1,
    };
    (pass, found)
}

/// Shares blocks out to threads, and puts together what they give.
fn shared<T: Send>(
    blocks: &[Block],
    threads: usize,
    part: impl Fn(&[Block]) -> T + Sync,
    mut merge: impl FnMut(&mut T, T),
) -> T {
    let size = blocks.len().div_ceil(threads.max(1)).max(1);
    if size >= blocks.len() {
        return part(blocks);
    }
    std::thread::scope(|scope| {
        let begun: Vec<_> = blocks.chunks(size).map(|blocks| scope.spawn(|| part(blocks))).collect();
        let mut done = begun.into_iter().map(|thread| thread.join().expect("counting doesn't fail"));
        let mut all = done.next().expect("there are blocks");
        done.for_each(|more| merge(&mut all, more));
        all
    })
}
