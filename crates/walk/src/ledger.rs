//! The source's ledger: which walks of its start nodes are finished. What it says is what counts.
//!
//! A walk is one of a start node's `walks`, whatever becomes of its walkers: a lost one is generated again
//! under the next attempt, and whichever attempt ends first ends the walk. So a walk is counted once when its
//! confirmation is lost, comes twice, or comes after it was given up. One whose attempts run out is given up
//! for good. Not here: when a walker counts as lost ([`crate::loss`]), and how fast new ones come
//! ([`crate::generator`]).
//!
//! Only attempts that became overdue are counted: nobody knows what has become of them. A queue that drops a
//! walker and says so loses nothing for good, because it drops less when fewer walkers are left.
//!
//! Some two bytes a walk in memory. A snapshot holds what a restarted source needs: the finished walks.

use crate::partition::members::Members;
use std::collections::{BTreeMap, VecDeque};

/// A walk by its place in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u64);

impl Entry {
    /// The entry so many further on.
    #[inline]
    pub(crate) fn plus(self, count: u32) -> Entry {
        Entry(self.0 + u64::from(count))
    }
}

/// Walks that follow one another in the ledger, and their attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub first: Entry,
    pub count: u32,
    pub attempt: u16,
}

/// What a confirmation was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// The walk is finished now.
    Finished,
    /// It is, by an attempt that had been given up.
    Late,
    /// It had been finished before.
    Again,
    /// There is no such walk, or nobody has begun it.
    Unknown,
}

/// A snapshot that can't be read back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// It is none, or damaged.
    #[error("damaged: it can't be read back")]
    Damaged,
    /// It belongs to other start nodes or another number of walks.
    #[error("of another job: {0}")]
    Other(String),
}

/// The ledger.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Start nodes, ascending.
    starts: Vec<u32>,
    /// The same, to find their places.
    places: Members,
    /// Walks from each.
    walks: u32,
    finished: Vec<u64>,
    /// The attempt that is under way or due, from 1; 0: none yet.
    attempts: Vec<u16>,
    /// The first entry that nobody has begun.
    fresh: u64,
    /// The first that nobody has begun in earlier lives either.
    unborn: u64,
    additional: u64,
    /// Given up, to be generated again.
    again: VecDeque<Entry>,
    /// Walks whose last attempt was lost, and no other has begun.
    lost: Vec<u64>,
    under_way: u64,
    finished_count: u64,
    given_up: u64,
    /// Of walks that are not finished: how many attempts became overdue, if any did.
    overdue: BTreeMap<u64, u16>,
    /// A walk of which so many did is given up.
    attempts_max: u16,
    /// A lost walk is generated again.
    regenerate: bool,
}

impl Ledger {
    /// A ledger of `walks` walks from each of `starts`. A walk of which `attempts_max` attempts became
    /// overdue is given up; without `regenerate` every walk has one attempt.
    pub fn new(mut starts: Vec<u32>, walks: u32, attempts_max: u16, regenerate: bool) -> Ledger {
        starts.sort_unstable();
        starts.dedup();
        let entries = starts.len() * walks as usize;
        Ledger {
            places: Members::of(&starts),
            starts,
            walks,
            finished: vec![0; entries.div_ceil(64)],
            attempts: vec![0; entries],
            fresh: 0,
            unborn: 0,
            additional: 0,
            again: VecDeque::new(),
            lost: vec![0; entries.div_ceil(64)],
            under_way: 0,
            finished_count: 0,
            given_up: 0,
            overdue: BTreeMap::new(),
            attempts_max,
            regenerate,
        }
    }

    /// The same ledger, with nothing begun.
    pub(crate) fn renewed(&mut self) -> Ledger {
        let unborn = self.unborn.max(self.fresh);
        let starts = std::mem::take(&mut self.starts);
        let Ledger { additional, walks, attempts_max, regenerate, .. } = *self;
        Ledger { unborn, additional, ..Ledger::new(starts, walks, attempts_max, regenerate) }
    }

    /// Walks that are to be finished.
    pub fn required(&self) -> u64 {
        self.attempts.len() as u64
    }

    /// Walks that are.
    pub fn finished(&self) -> u64 {
        self.finished_count
    }

    /// Walks that are not generated again.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Nothing is left to wait for.
    pub fn is_complete(&self) -> bool {
        self.finished_count + self.given_up == self.required()
    }

    /// The next walks to generate, at most `most`: one that was lost, or some that nobody has begun. Walks of
    /// all start nodes take turns. They are under way once [`Ledger::begin`] says so.
    pub(crate) fn next(&mut self, most: u32) -> Option<Next> {
        while let Some(&first) = self.again.front() {
            if !self.is_finished(first) {
                return Some(Next { first, count: 1, attempt: self.attempts[first.0 as usize] });
            }
            self.again.pop_front();
        }
        while self.fresh < self.required() && self.is_finished(Entry(self.fresh)) {
            self.fresh += 1;
        }
        let left = (self.required() - self.fresh).min(most.into()) as u32;
        let first = Entry(self.fresh);
        let count = (0..left).take_while(|&number| !self.is_finished(first.plus(number))).count() as u32;
        (count > 0).then_some(Next { first, count, attempt: 1 })
    }

    /// The first `count` of the walks that [`Ledger::next`] has named last set out.
    pub(crate) fn begin(&mut self, next: Next, count: u32) {
        let Entry(first) = next.first;
        self.under_way += u64::from(count);
        if first < self.fresh {
            self.again.pop_front();
            self.lost[(first / 64) as usize] &= !(1 << (first % 64));
            self.additional += u64::from(count);
        } else {
            self.fresh += u64::from(count);
            self.attempts[first as usize..self.fresh as usize].fill(1);
            self.additional += self.unborn.clamp(first, self.fresh) - first;
        }
    }

    /// Whether [`Ledger::next`] may have something.
    pub(crate) fn has_next(&self) -> bool {
        !self.again.is_empty() || self.fresh < self.required()
    }

    /// Attempts that have begun, and are neither lost nor at their end.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way
    }

    /// How often a walk was begun that had been begun before.
    pub(crate) fn additional(&self) -> u64 {
        self.additional
    }

    /// The start nodes of entries from one on and their numbers among the walks from there.
    pub(crate) fn walks(&self, Entry(first): Entry) -> impl Iterator<Item = (u32, u32)> + '_ {
        let starts = self.starts.len() as u64;
        let (mut at, mut number) = ((first % starts) as usize, (first / starts) as u32);
        std::iter::repeat_with(move || {
            let walk = (self.starts[at], number);
            at += 1;
            if at == self.starts.len() {
                (at, number) = (0, number + 1);
            }
            walk
        })
    }

    /// The entry of a walk, if it is this source's.
    pub(crate) fn entry(&self, start: u32, number: u32) -> Option<Entry> {
        let at = self.places.index(start)?;
        (number < self.walks).then(|| Entry(u64::from(number) * self.starts.len() as u64 + u64::from(at)))
    }

    /// An attempt was dropped. Says whether that is news: it was under way.
    pub(crate) fn lose(&mut self, entry: Entry, attempt: u16) -> bool {
        let is_news = self.is_under_way(entry, attempt);
        if is_news {
            self.lost(entry, attempt, self.regenerate);
        }
        is_news
    }

    /// An attempt that was under way became overdue.
    fn time_out(&mut self, entry: Entry, attempt: u16) {
        let count = self.overdue.entry(entry.0).or_default();
        *count += 1;
        let is_last = *count >= self.attempts_max;
        self.lost(entry, attempt, self.regenerate && !is_last);
    }

    fn lost(&mut self, entry: Entry, attempt: u16, again: bool) {
        // After the last attempt that can be told from others comes the first again.
        self.attempts[entry.0 as usize] = attempt.checked_add(1).unwrap_or(1);
        self.lost[(entry.0 / 64) as usize] |= 1 << (entry.0 % 64);
        self.under_way -= 1;
        if again {
            self.again.push_back(entry);
        } else {
            self.given_up += 1;
        }
    }

    /// An attempt at each of `count` walks from `first` on is overdue; returns how many were under way.
    /// Nearly all are finished, and passed over by the word.
    pub(crate) fn time_out_all(&mut self, first: Entry, count: u32, attempt: u16) -> u64 {
        let (mut at, end, mut lost) = (first.0, first.0 + u64::from(count), 0);
        while at < end {
            let finished = self.finished[(at / 64) as usize] >> (at % 64);
            at += u64::from(finished.trailing_ones());
            if at < end && !self.is_finished(Entry(at)) {
                if self.is_under_way(Entry(at), attempt) {
                    self.time_out(Entry(at), attempt);
                    lost += 1;
                }
                at += 1;
            }
        }
        lost
    }

    /// An attempt has come to its end; 0: one of an earlier life of this source.
    pub(crate) fn end(&mut self, entry: Entry, attempt: u16) -> Worth {
        let current = self.attempts[entry.0 as usize];
        if self.is_finished(entry) {
            return Worth::Again;
        }
        if current == 0 && attempt != 0 {
            return Worth::Unknown;
        }
        self.finished[(entry.0 / 64) as usize] |= 1 << (entry.0 % 64);
        self.finished_count += 1;
        self.under_way -= u64::from(current != 0 && !self.is_lost(entry));
        let overdue = self.overdue.remove(&entry.0).unwrap_or_default();
        // Given up is a walk that is lost, and would not be generated again.
        let was_given_up = self.is_lost(entry) && (!self.regenerate || overdue >= self.attempts_max);
        self.given_up -= u64::from(was_given_up);
        if current == attempt { Worth::Finished } else { Worth::Late }
    }

    /// A walk was finished in an earlier life, and nothing has begun in this one; says whether that is news.
    pub(crate) fn recall(&mut self, entry: Entry) -> bool {
        self.end(entry, 0) == Worth::Finished
    }

    /// Whether an attempt is neither lost nor its walk at an end.
    pub(crate) fn is_under_way(&self, entry: Entry, attempt: u16) -> bool {
        attempt != 0
            && self.attempts[entry.0 as usize] == attempt
            && !self.is_lost(entry)
            && !self.is_finished(entry)
    }

    fn is_lost(&self, entry: Entry) -> bool {
        self.lost[(entry.0 / 64) as usize] >> (entry.0 % 64) & 1 == 1
    }

    fn is_finished(&self, entry: Entry) -> bool {
        self.finished[(entry.0 / 64) as usize] >> (entry.0 % 64) & 1 == 1
    }

    /// What a restarted source needs, appended to `out`.
    pub(crate) fn save(&self, out: &mut Vec<u8>) {
        out.extend((self.starts.len() as u64).to_le_bytes());
        out.extend(self.walks.to_le_bytes());
        self.starts.iter().for_each(|start| out.extend(start.to_le_bytes()));
        self.finished.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }

    /// Takes over what [`Ledger::save`] wrote; what is not finished begins again. The rest of `bytes` is
    /// handed back.
    pub(crate) fn restore<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], SnapshotError> {
        let (starts, bytes) = bytes.split_first_chunk::<8>().ok_or(SnapshotError::Damaged)?;
        let (walks, bytes) = bytes.split_first_chunk::<4>().ok_or(SnapshotError::Damaged)?;
        let (starts, walks) = (u64::from_le_bytes(*starts), u32::from_le_bytes(*walks));
        if (starts, walks) != (self.starts.len() as u64, self.walks) {
            let (have, each) = (self.starts.len(), self.walks);
            let message = format!("{starts} start nodes with {walks} walks, not {have} with {each}");
            return Err(SnapshotError::Other(message));
        }
        let (nodes, bytes) = bytes.split_at_checked(4 * self.starts.len()).ok_or(SnapshotError::Damaged)?;
        let same = nodes.chunks_exact(4).zip(&self.starts).all(|(node, start)| node == start.to_le_bytes());
        if !same {
            return Err(SnapshotError::Other("its start nodes are others".into()));
        }
        let (words, rest) = bytes.split_at_checked(8 * self.finished.len()).ok_or(SnapshotError::Damaged)?;
        let mut ledger = self.renewed();
        for (word, bytes) in ledger.finished.iter_mut().zip(words.chunks_exact(8)) {
            *word = u64::from_le_bytes(*bytes.first_chunk().expect("a chunk of eight"));
        }
        ledger.finished_count = ledger.finished.iter().map(|word| u64::from(word.count_ones())).sum();
        *self = ledger;
        // Bits behind the last walk mean damage.
        let last = self.required() % 64;
        let beyond = last != 0 && self.finished.last().is_some_and(|word| word >> last != 0);
        if beyond { Err(SnapshotError::Damaged) } else { Ok(rest) }
    }
}

#[cfg(test)]
#[path = "tests/ledger.rs"]
mod tests;
