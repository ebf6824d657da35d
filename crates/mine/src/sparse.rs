//! Itemsets of sparse transactions, depth-first: from each place where an itemset occurs, what follows in the
//! transaction is counted, so all itemsets longer by an item are counted in one walk ("occurrence deliver":
//! T. Uno, M. Kiyomi and H. Arimura, "LCM ver. 2", FIMI 2004).
//!
//! There are no candidates, and no counter per pair of items: with thousands of items these take more memory
//! than the transactions. Where items are in many transactions, the passes of [`crate::single`] are faster.

use crate::block::{Word, Words, each};
use crate::count::pairs_before;
use crate::items::Level;
use crate::progress::Progress;
use crate::transactions::Transactions;
use mem::prefetch_at;
use std::ops::Range;

/// The end of a transaction.
const END: u32 = u32::MAX;

/// Places that are asked for ahead.
const AHEAD: usize = 16;

/// Counters of pairs that a cache holds.
const CACHED: u64 = 1 << 20;

/// Transactions are sparse where an item is in fewer than one of so many, on average.
const SPARSE: u64 = 64;

/// Transactions in codes, and where in them each code is.
pub struct Occurrences {
    /// The codes of one transaction after the other, [`END`] behind each.
    words: Vec<u32>,
    /// What follows each occurrence of code 0, of code 1, and so on: an index into `words`.
    places: Vec<u32>,
    /// Where the places of each code begin, and the end of the last one's.
    starts: Vec<u32>,
}

impl Occurrences {
    /// Whether this is the faster way for transactions in so many codes, and they fit into so many bytes in
    /// this form: they are sparse, and no cache holds a counter for each pair of codes.
    pub fn suits(transactions: &Transactions, codes: u32, bytes: u64) -> bool {
        let (items, len) = (transactions.items(), transactions.len());
        let words = items + len;
        let needed = (words + items + u64::from(codes)) * size_of::<u32>() as u64;
        let sparse = items.saturating_mul(SPARSE) < len * u64::from(codes);
        sparse && pairs_before(codes, codes) > CACHED && words < u64::from(END) && needed <= bytes
    }

    /// Of transactions with `codes` codes. Their memory is given back block by block.
    pub fn new(transactions: Transactions, codes: u32) -> Self {
        let mut words = Vec::with_capacity((transactions.items() + transactions.len()) as usize);
        for block in transactions.into_blocks() {
            match block.words() {
                Words::Narrow(narrow) => append(narrow, block.ends(), &mut words),
                Words::Wide(wide) => append(wide, block.ends(), &mut words),
            }
        }
        let mut starts = vec![0u32; codes as usize + 1];
        words.iter().filter(|word| **word != END).for_each(|code| starts[*code as usize + 1] += 1);
        (0..codes as usize).for_each(|code| starts[code + 1] += starts[code]);
        let mut places = vec![0; starts[codes as usize] as usize];
        let mut next = starts.clone();
        for (at, code) in words.iter().enumerate().filter(|(_, word)| **word != END) {
            let next = &mut next[*code as usize];
            places[*next as usize] = at as u32 + 1;
            *next += 1;
        }
        Self { words, places, starts }
    }

    /// Bytes of memory that they take.
    pub fn bytes(&self) -> usize {
        [&self.words, &self.places, &self.starts].map(|words| size_of_val(&words[..])).iter().sum()
    }

    /// How many codes there are.
    fn codes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// What follows a code wherever it is.
    fn of(&self, code: u32) -> &[u32] {
        &self.places[self.starts[code as usize] as usize..self.starts[code as usize + 1] as usize]
    }

    /// Rows from `rows.start` on, in so many parts with about as many occurrences each.
    fn parts(&self, from: u32, parts: usize) -> Vec<Range<u32>> {
        let before = |row: u32| u64::from(self.starts[row as usize]);
        let (first, all) = (before(from), before(self.codes()) - before(from));
        let bound = |part: usize| {
            let places = first + all * part as u64 / parts as u64;
            self.starts.partition_point(|start| u64::from(*start) < places) as u32
        };
        let bounds: Vec<u32> = (0..=parts)
            .map(|part| if part == parts { self.codes() } else { bound(part).clamp(from, self.codes()) })
            .collect();
        bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// The large itemsets of two items or more whose first code is `from` or larger, in order: a level for
    /// each length. `threads` share the work; the result is the same with any number.
    pub fn search(&self, from: u32, task: &Task, threads: usize, progress: &Progress) -> Found {
        progress.begin(self.places.len() as u64);
        let parts = self.parts(from, threads.max(1));
        let search = |rows: Range<u32>| {
            let mut search = Search::new(self, task, task.room / threads.max(1));
            let end = rows.clone().find(|row| !progress.next(self.of(*row).len()) || !search.row(*row));
            Found { levels: search.levels, rows: end.unwrap_or(rows.end), full: search.full }
        };
        let ends: Vec<u32> = parts.iter().map(|rows| rows.end).collect();
        let found = match <[_; 1]>::try_from(parts) {
            Ok([rows]) => vec![search(rows)],
            Err(parts) => std::thread::scope(|scope| {
                let search = &search;
                let begun: Vec<_> = parts.into_iter().map(|rows| scope.spawn(move || search(rows))).collect();
                begun.into_iter().map(|thread| thread.join().expect("counting doesn't fail")).collect()
            }),
        };
        let mut all = Found { rows: from, ..Found::default() };
        for (part, end) in found.into_iter().zip(ends) {
            all.append(part.levels);
            (all.rows, all.full) = (part.rows, part.full);
            if part.rows < end {
                break;
            }
        }
        all
    }
}

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Transactions that hold a large itemset, at least.
    pub minimum: u64,
    /// Items of the longest itemset.
    pub longest: usize,
    /// Bytes for large itemsets, of all threads together.
    pub room: usize,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In codes; of two items, of three, and so on.
    pub levels: Vec<Level>,
    /// Only itemsets whose first code is smaller have been found: it was asked to stop, or they do not fit.
    pub rows: u32,
    /// Items of an itemset that did not fit.
    pub full: Option<usize>,
}

impl Found {
    /// Appends itemsets that come behind these.
    pub fn append(&mut self, levels: Vec<Level>) {
        for (at, level) in levels.into_iter().enumerate() {
            match self.levels.get_mut(at) {
                Some(before) => level.iter().for_each(|(itemset, count)| before.push(itemset, count)),
                None => self.levels.push(level),
            }
        }
    }
}

/// A depth-first search.
struct Search<'a> {
    occurrences: &'a Occurrences,
    task: &'a Task,
    itemset: Vec<u32>,
    /// Of the first item of the itemset, of the first two, and so on.
    followers: Vec<Followers>,
    levels: Vec<Level>,
    /// Bytes that itemsets may still take.
    room: usize,
    /// Items of the itemset that did not fit.
    full: Option<usize>,
}

impl<'a> Search<'a> {
    fn new(occurrences: &'a Occurrences, task: &'a Task, room: usize) -> Self {
        let (itemset, followers, levels) = (Vec::new(), Vec::new(), Vec::new());
        Self { occurrences, task, itemset, followers, levels, room, full: None }
    }

    /// Finds the itemsets that begin with a code; false when they do not fit: then there are none of them.
    fn row(&mut self, code: u32) -> bool {
        if self.task.longest < 2 {
            return true;
        }
        let before: Vec<usize> = self.levels.iter().map(Level::len).collect();
        let places = self.occurrences.of(code);
        self.make(0);
        self.followers[0].follow(&self.occurrences.words, places, self.task.minimum);
        self.itemset.push(code);
        self.grow(0);
        self.itemset.pop();
        if self.full.is_some() {
            self.levels.truncate(before.len());
            self.levels.iter_mut().zip(before).for_each(|(level, before)| level.truncate(before));
        }
        self.full.is_none()
    }

    /// Finds the itemsets that begin with the itemset, whose followers are at `depth`.
    fn grow(&mut self, depth: usize) {
        let large = std::mem::take(&mut self.followers[depth].large);
        for (at, code) in large.iter().enumerate() {
            self.itemset.push(*code);
            if self.levels.len() == depth {
                self.levels.push(Level::new(depth + 2));
            }
            let count = self.followers[depth].counts[*code as usize];
            let bytes = size_of_val(&self.itemset[..]) + size_of::<u64>();
            if self.full.is_some() || bytes > self.room {
                self.full = self.full.or(Some(self.itemset.len()));
                self.itemset.pop();
                break;
            }
            self.room -= bytes;
            self.levels[depth].push(&self.itemset, u64::from(count));
            // What follows an itemset follows its beginning too, so nothing large follows the last.
            if at + 1 < large.len() && self.itemset.len() < self.task.longest {
                self.make(depth + 1);
                let (before, next) = self.followers.split_at_mut(depth + 1);
                next[0].follow(&self.occurrences.words, before[depth].of(*code), self.task.minimum);
                self.grow(depth + 1);
            }
            self.itemset.pop();
        }
        self.followers[depth].large = large;
    }

    fn make(&mut self, depth: usize) {
        if self.followers.len() == depth {
            self.followers.push(Followers::new(self.occurrences.codes()));
        }
    }
}

/// The codes that follow an itemset, how often, and where.
struct Followers {
    counts: Vec<u32>,
    /// Those that follow.
    codes: Vec<u32>,
    /// Those of them that do so in enough transactions, in order.
    large: Vec<u32>,
    /// Where the places of each of these begin.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Followers {
    fn new(codes: u32) -> Self {
        let zeros = || vec![0; codes as usize];
        let (counts, starts) = (zeros(), zeros());
        Self { counts, codes: Vec::new(), large: Vec::new(), starts, places: Vec::new() }
    }

    /// Of the itemset that occurs before `places`.
    fn follow(&mut self, words: &[u32], places: &[u32], minimum: u64) {
        self.codes.drain(..).for_each(|code| self.counts[code as usize] = 0);
        for code in tails(words, places).flat_map(|(_, tail)| tail) {
            let count = &mut self.counts[*code as usize];
            if *count == 0 {
                self.codes.push(*code);
            }
            *count += 1;
        }
        let is_large = |count: u32| u64::from(count) >= minimum;
        self.large.clear();
        self.large.extend(self.codes.iter().filter(|code| is_large(self.counts[**code as usize])));
        self.large.sort_unstable();
        let mut end = 0;
        for code in &self.large {
            self.starts[*code as usize] = end;
            end += self.counts[*code as usize];
        }
        // Of a single one nothing large can follow.
        if self.large.len() < 2 {
            return;
        }
        self.places.resize(end as usize, 0);
        for (place, tail) in tails(words, places) {
            for (at, code) in (place + 1..).zip(tail) {
                if is_large(self.counts[*code as usize]) {
                    let start = &mut self.starts[*code as usize];
                    self.places[*start as usize] = at;
                    *start += 1;
                }
            }
        }
        for code in &self.large {
            self.starts[*code as usize] -= self.counts[*code as usize];
        }
    }

    /// What follows the itemset with a large code behind it.
    fn of(&self, code: u32) -> &[u32] {
        let start = self.starts[code as usize] as usize;
        &self.places[start..start + self.counts[code as usize] as usize]
    }
}

/// What follows each place: the codes up to the end of its transaction. Places are far from each other, so
/// the memory of those to come is asked for ahead.
fn tails<'a>(
    words: &'a [u32],
    places: &'a [u32],
) -> impl Iterator<Item = (u32, impl Iterator<Item = &'a u32>)> {
    places.iter().enumerate().map(|(at, place)| {
        if let Some(ahead) = places.get(at + AHEAD) {
            prefetch_at(words, *ahead as usize);
        }
        (*place, words[*place as usize..].iter().take_while(|word| **word != END))
    })
}

fn append<W: Word>(items: &[W], ends: &[u32], words: &mut Vec<u32>) {
    each(items, ends, |transaction| {
        words.extend(transaction.iter().map(|word| word.item()));
        words.push(END);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(task: Task, threads: usize) -> Vec<(Vec<u32>, u64)> {
        let mut transactions = Transactions::default();
        let given: [&[u32]; 5] = [&[0, 2, 3], &[2, 3], &[0, 2, 3, 5], &[1, 5], &[0, 3]];
        given.iter().for_each(|codes| transactions.push(codes));
        let found = Occurrences::new(transactions, 6).search(0, &task, threads, &Progress::default());
        assert_eq!(found.rows, 6);
        found.levels.iter().flat_map(Level::iter).map(|(codes, count)| (codes.to_vec(), count)).collect()
    }

    #[test]
    fn itemsets_come_level_by_level_in_order_with_any_number_of_threads() {
        for threads in [1, 2, 3, 9] {
            let pairs = [(vec![0, 2], 2), (vec![0, 3], 3), (vec![2, 3], 3)];
            assert_eq!(found(Task { minimum: 2, longest: 2, room: 1000 }, threads), pairs);
            let all = [&pairs[..], &[(vec![0, 2, 3], 2)]].concat();
            assert_eq!(found(Task { minimum: 2, longest: 9, room: 1000 }, threads), all);
            assert_eq!(found(Task { minimum: 2, longest: 1, room: 1000 }, threads), []);
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_by_rows() {
        let mut transactions = Transactions::default();
        transactions.push(&[0, 5]);
        transactions.push(&[1, 2, 3, 4, 5]);
        let occurrences = Occurrences::new(transactions, 6);
        let task = Task { minimum: 1, longest: 9, room: 100 };
        let found = occurrences.search(0, &task, 1, &Progress::default());
        assert_eq!((found.rows, found.full), (1, Some(5)));
        assert_eq!(found.levels.iter().map(Level::len).sum::<usize>(), 1, "that of row 0");
    }

    #[test]
    fn it_is_for_sparse_transactions_that_fit() {
        let mut transactions = Transactions::default();
        (0..1000).for_each(|at| transactions.push(&[at % 100, 100 + at % 99, 199]));
        assert!(Occurrences::suits(&transactions, 2000, 1 << 20));
        assert!(!Occurrences::suits(&transactions, 2000, 1 << 15), "9,000 words are needed");
        assert!(!Occurrences::suits(&transactions, 1400, 1 << 20), "a cache holds counters of all pairs");
        transactions.push(&(0..60_000).collect::<Vec<_>>());
        assert!(!Occurrences::suits(&transactions, 2000, 1 << 20), "one of 32 is dense");
    }
}
