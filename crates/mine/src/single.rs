//! Apriori on one node: pass after pass, until one finds nothing large. No network. Candidates from pass 2
//! on, their counts and the bitmaps take no more memory than is allowed: where they would, a pass scans the
//! transactions several times.
//!
//! Sparse transactions are searched depth-first instead ([`crate::sparse`]): each itemset is counted where it
//! occurs.
//!
//! R. Agrawal and R. Srikant, "Fast algorithms for mining association rules", VLDB 1994, figure 1.

use crate::begun::{Begun, Full};
use crate::candidate::{Candidates, Slices};
use crate::codes::{Codes, large};
use crate::count::vertical::Vertical;
use crate::count::{ItemCounts, Triangle, tiles};
use crate::items::Level;
use crate::journal::Kept;
use crate::progress::{Outlook, Pass, Progress};
use crate::sparse::{Occurrences, Task};
use crate::transactions::{Transactions, mix};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Large itemsets may take so many bytes, however little memory there is for the rest.
pub const FOUND_MIN: usize = 64 << 20;

/// What to find and with how much of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Transactions that hold a large itemset, at least.
    pub minimum: u64,
    /// Items of the longest itemset; none: as long as they come.
    pub longest: Option<usize>,
    /// Bytes of memory for candidates, their counts, bitmaps and large itemsets, about, and for half of it
    /// the transactions: more of these are on a shelf, if they have one. At least a row of pairs, or a
    /// candidate and a word of each bitmap, is held, and 64 MiB of large itemsets.
    pub memory: usize,
    /// Threads that count; the result is the same with any number. Each has counts of its own.
    pub threads: usize,
}

/// A level for each length that has any large itemset, and what each pass did.
pub type Found = (Vec<Level>, Vec<Pass>);

/// Why there is no result, and what there is instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// What was finished, if anything besides the first pass, which is always done again.
    pub begun: Option<Begun>,
    /// Large itemsets did not fit into memory; without it, somebody asked to stop.
    pub full: Option<Full>,
}

/// The large itemsets of transactions. Nothing when `progress` was asked to stop, or they do not fit into
/// memory.
pub fn mine(transactions: Transactions, settings: &Settings, progress: &Progress) -> Option<Found> {
    go_on(transactions, settings, progress, None).ok()
}

/// The same, behind the passes of a run of the same transactions that was stopped.
///
/// # Errors
/// It was asked to stop, or large itemsets do not fit into memory.
pub fn go_on(
    transactions: Transactions,
    settings: &Settings,
    progress: &Progress,
    kept: Option<Kept>,
) -> Result<Found, Unfinished> {
    let counts = first(&transactions, settings, progress);
    let found = large(&counts, settings.minimum);
    drop(counts);
    let pass = Pass { number: 1, candidates: None, large: found.len() as u64, scans: 1 };
    if !progress.finish(pass) {
        return Err(Unfinished::default());
    }
    match found.len() {
        0 => return Ok((Vec::new(), vec![pass])),
        1 => return Ok((vec![found], vec![pass])),
        _ => {}
    }
    let codes = Codes::of(&found);
    let coded = codes.encode(transactions);
    let digest = digest(&coded, &found, settings);
    let kept = kept.filter(|kept| kept.digest() == digest);
    if Occurrences::suits(&coded, codes.len() as u32, settings.memory as u64) {
        let occurrences = Occurrences::new(coded, codes.len() as u32);
        let kept = kept.filter(Kept::is_sparse);
        return sparse(&occurrences, &codes, (found, pass), settings, progress, kept).map_err(|unfinished| {
            let begun = unfinished.begun.map(|begun| Begun { digest, ..begun });
            Unfinished { begun, ..unfinished }
        });
    }
    let mut miner = Miner::new(coded, settings, progress);
    // The first in items, all others in codes until the end.
    let (mut levels, mut passes) = (vec![found], vec![pass]);
    let kept = kept.filter(|kept| !kept.is_sparse());
    if let Some(begun) = read(kept, miner.room_found(0))? {
        begun.passes.iter().skip(1).for_each(|pass| _ = progress.finish(*pass));
        (levels, passes) = (begun.levels, begun.passes);
        levels.iter_mut().skip(1).for_each(|level| codes.encode_level(level));
    }
    let ended = miner.passes(codes.len() as u32, &mut levels, &mut passes);
    levels.iter_mut().skip(1).for_each(|level| codes.decode(level));
    match ended {
        Ended::Done => Ok((levels, passes)),
        Ended::Stopped => Err(Unfinished { begun: worth_keeping(digest, levels, passes), full: None }),
        Ended::Full(length) => {
            let full = Some(Full { length, before: levels.iter().map(|level| level.len() as u64).sum() });
            Err(Unfinished { begun: worth_keeping(digest, levels, passes), full })
        }
    }
}

/// What was kept of an earlier run.
///
/// # Errors
/// There is no room for it. Then nothing is to be kept in its place.
fn read(kept: Option<Kept>, room: usize) -> Result<Option<Begun>, Unfinished> {
    let full = |full| Unfinished { begun: None, full: Some(full) };
    kept.map_or(Ok(None), |kept| kept.read(room).map_err(full))
}

/// What is worth keeping: the first pass is always done again.
fn worth_keeping(digest: u64, levels: Vec<Level>, passes: Vec<Pass>) -> Option<Begun> {
    (levels.len() > 1).then_some(Begun { digest, levels, passes, rows: None })
}

/// A number that other transactions or another task don't have. What comes behind pass 1 knows nothing but
/// codes and their items.
fn digest(coded: &Transactions, first: &Level, settings: &Settings) -> u64 {
    let longest = settings.longest.map_or(0, |longest| longest as u64);
    let numbers = first.items().iter().map(|item| u64::from(*item)).chain(first.counts().iter().copied());
    numbers.chain([settings.minimum, longest]).fold(coded.digest(), mix)
}

/// What is behind pass 1 of sparse transactions.
///
/// # Errors
/// It was asked to stop, or large itemsets do not fit into memory: what it had found, without the digest.
fn sparse(
    occurrences: &Occurrences,
    codes: &Codes,
    (first, pass): (Level, Pass),
    settings: &Settings,
    progress: &Progress,
    kept: Option<Kept>,
) -> Result<Found, Unfinished> {
    let mut found = crate::sparse::Found::default();
    let room = settings.memory.saturating_sub(occurrences.bytes()).max(FOUND_MIN);
    if let Some((mut levels, rows)) = read(kept, room)?.and_then(|begun| Some((begun.levels, begun.rows?))) {
        levels.iter_mut().skip(1).for_each(|level| codes.encode_level(level));
        found.append(levels.split_off(1));
        found.rows = rows.min(codes.len() as u32);
    }
    let room = room.saturating_sub(found.levels.iter().map(Level::bytes).sum());
    let longest = settings.longest.unwrap_or(usize::MAX);
    let task = Task { minimum: settings.minimum, longest, room };
    let more = occurrences.search(found.rows, &task, settings.threads, progress);
    found.append(more.levels);
    found.levels.iter_mut().for_each(|level| codes.decode(level));
    let (mut levels, mut passes) = (vec![first], vec![pass]);
    levels.extend(found.levels);
    if more.rows < codes.len() as u32 {
        let before = levels.iter().map(|level| level.len() as u64).sum();
        let full = more.full.map(|length| Full { length, before });
        let begun = Some(Begun { digest: 0, levels, passes, rows: Some(more.rows) });
        return Err(Unfinished { begun, full });
    }
    for level in &levels[1..] {
        let pass = Pass { number: level.length(), candidates: None, large: level.len() as u64, scans: 1 };
        progress.finish(pass);
        passes.push(pass);
    }
    Ok((levels, passes))
}

fn first(transactions: &Transactions, settings: &Settings, progress: &Progress) -> ItemCounts {
    progress.begin(transactions.len());
    let part = |_, blocks: Range<usize>| {
        let mut counts = ItemCounts::default();
        let blocks = transactions.part(blocks).take_while(|block| progress.next(block.len()));
        blocks.for_each(|block| counts.add(&block));
        counts
    };
    shared(transactions.count(), settings.threads, part, |all, more| all.merge(&more))
}

/// How the passes behind the first ended.
enum Ended {
    /// No large itemset is left to be found.
    Done,
    Stopped,
    /// The large itemsets of this pass do not fit into memory.
    Full(usize),
}

/// Passes over transactions in codes.
struct Miner<'a> {
    coded: Transactions,
    settings: &'a Settings,
    progress: &'a Progress,
    /// Bytes, bar what the transactions take: half of what there is at least.
    memory: usize,
    /// A thread's.
    vertical: Vec<Mutex<Vertical>>,
}

impl<'a> Miner<'a> {
    fn new(coded: Transactions, settings: &'a Settings, progress: &'a Progress) -> Self {
        let memory = settings.memory.saturating_sub(coded.bytes()).max(settings.memory / 2);
        let mut miner = Self { coded, settings, progress, memory, vertical: Vec::new() };
        let bitmaps = miner.of_thread() / 2;
        miner.vertical.resize_with(settings.threads.max(1), || Mutex::new(Vertical::new(bitmaps)));
        miner
    }

    /// All passes that are left, behind the levels that are there.
    fn passes(&mut self, codes: u32, levels: &mut Vec<Level>, passes: &mut Vec<Pass>) -> Ended {
        for number in levels.len() + 1..=self.settings.longest.unwrap_or(usize::MAX) {
            let held: usize = levels.iter().map(Level::bytes).sum();
            let last = levels.last_mut().expect("pass 1 is over");
            // Candidates are made from the last items of the newest, once more.
            let room = self.room_found(held + last.len() * size_of::<u32>());
            if let Some(outlook) = Outlook::behind(last, held, self.room_found(0)) {
                self.progress.say(outlook);
            }
            let found = if number == 2 {
                self.second(codes, room)
            } else {
                let most = self.room(number, room);
                let candidates = Slices::new_while(std::mem::take(last), most, || !self.progress.stopped());
                let counted = (!candidates.is_empty()).then(|| self.later(&candidates, room));
                *last = candidates.into_large();
                match counted {
                    Some(counted) => counted,
                    None => return Ended::Done,
                }
            };
            let Some((pass, found)) = found else { return Ended::Full(number) };
            if !self.progress.finish(pass) {
                return Ended::Stopped;
            }
            passes.push(pass);
            if found.is_empty() {
                return Ended::Done;
            }
            levels.push(found);
        }
        Ended::Done
    }

    /// Bytes for the large itemsets of the next pass, when those before it take so many: an eighth of the
    /// memory is for candidates and their counts, whatever was found.
    fn room_found(&self, held: usize) -> usize {
        (self.found() - self.found() / 8).saturating_sub(held)
    }

    /// Bytes for large itemsets, bar what they leave to candidates.
    fn found(&self) -> usize {
        self.memory.max(FOUND_MIN)
    }

    /// Candidates of a later pass that are held at once, with counts of each thread: half the memory is for
    /// bitmaps, and what large itemsets take, with room for so many bytes more of them, is not theirs.
    fn room(&self, length: usize, found: usize) -> u64 {
        let words = length + self.settings.threads.max(1);
        let bytes = (self.memory / 2).min(found / 4).max(self.memory / 16);
        (bytes / (words * size_of::<u32>())) as u64
    }

    /// Memory of a thread.
    fn of_thread(&self) -> usize {
        self.memory / self.settings.threads.max(1)
    }

    /// Nothing when large itemsets take more than `room` bytes.
    fn second(&mut self, codes: u32, room: usize) -> Option<(Pass, Level)> {
        let mut found = Level::new(2);
        let most = self.of_thread() / size_of::<u32>();
        let tiles = tiles(codes, 0..codes.saturating_sub(1), most as u64);
        self.progress.begin(self.coded.len() * tiles.len() as u64);
        let mut candidates = 0;
        for rows in tiles.iter().take_while(|_| !self.progress.stopped()) {
            let part = |_, blocks: Range<usize>| {
                let mut triangle = Triangle::new(codes, rows.clone());
                let blocks = self.coded.part(blocks).take_while(|block| self.progress.next(block.len()));
                blocks.for_each(|block| triangle.add(&block));
                triangle
            };
            let triangle = self.shared(part, |all, more| add(all.counts_mut(), more.counts()));
            let more = triangle.large(self.settings.minimum).count();
            if found.bytes() + more * found.bytes_each() > room {
                return None;
            }
            triangle.large(self.settings.minimum).for_each(|(pair, count)| found.push(&pair, count));
            candidates += triangle.counts().len() as u64;
        }
        Some((pass(2, candidates, &found, tiles.len()), found))
    }

    /// Nothing when large itemsets take more than `room` bytes.
    fn later(&mut self, candidates: &Slices, room: usize) -> Option<(Pass, Level)> {
        self.progress.begin(self.coded.len() * candidates.count() as u64);
        let mut found = Level::new(candidates.length());
        for slice in (0..candidates.count()).take_while(|_| !self.progress.stopped()) {
            let some = candidates.make(slice);
            let counts = self.counted(&some);
            let more = counts.iter().filter(|count| u64::from(**count) >= self.settings.minimum).count();
            if found.bytes() + more * found.bytes_each() > room {
                return None;
            }
            some.large(counts.into_iter().map(u64::from), self.settings.minimum, &mut found);
        }
        Some((pass(candidates.length(), candidates.len(), &found, candidates.count()), found))
    }

    fn counted(&self, candidates: &Candidates) -> Vec<u32> {
        let part = |thread: usize, blocks: Range<usize>| {
            let mut counts = vec![0; candidates.len()];
            let total = self.coded.len_of(blocks.clone());
            let mut vertical = self.vertical[thread].lock().unwrap_or_else(PoisonError::into_inner);
            if vertical.again(candidates, &mut counts) {
                self.progress.next(total);
            } else {
                let blocks = self.coded.part(blocks).take_while(|block| self.progress.next(block.len()));
                vertical.add(blocks, total, candidates, &mut counts);
            }
            counts
        };
        self.shared(part, |all, more| add(all, &more))
    }

    fn shared<T: Send>(
        &self,
        part: impl Fn(usize, Range<usize>) -> T + Sync,
        merge: impl FnMut(&mut T, T),
    ) -> T {
        shared(self.coded.count(), self.settings.threads, part, merge)
    }
}

fn pass(number: usize, candidates: u64, found: &Level, scans: usize) -> Pass {
    Pass { number, candidates: Some(candidates), large: found.len() as u64, scans: scans as u64 }
}

fn add(counts: &mut [u32], more: &[u32]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

/// Shares blocks out to threads, the same ones each time, and puts together what they give.
fn shared<T: Send>(
    blocks: usize,
    threads: usize,
    part: impl Fn(usize, Range<usize>) -> T + Sync,
    mut merge: impl FnMut(&mut T, T),
) -> T {
    let size = blocks.div_ceil(threads.max(1)).max(1);
    if size >= blocks {
        return part(0, 0..blocks);
    }
    std::thread::scope(|scope| {
        let part = &part;
        let parts = (0..blocks).step_by(size).map(|start| start..blocks.min(start + size)).enumerate();
        let begun: Vec<_> = parts.map(|(at, blocks)| scope.spawn(move || part(at, blocks))).collect();
        let mut done = begun.into_iter().map(|thread| thread.join().expect("counting doesn't fail"));
        let mut all = done.next().expect("there are blocks");
        done.for_each(|more| merge(&mut all, more));
        all
    })
}
