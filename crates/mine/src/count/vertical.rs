//! Later passes: the transactions of an itemset are the intersection of those of its items, M. J. Zaki,
//! "Scalable algorithms for association mining", IEEE TKDE 12(3), 2000 (tid-lists), with bitmaps for items.
//!
//! A window of transactions is turned into a bitmap for each item that a candidate has. Candidates come in
//! order, so the transactions of their common beginning are found once; they are a list where they are few,
//! so that a last item costs one look into its bitmap for each of them, and a bitmap where they are many.
//! Windows are as long as memory allows.

use crate::block::{Block, Word, Words, each};
use crate::candidate::Candidates;
use mem::count_both;
use std::borrow::Borrow;

/// Transactions of a window are a multiple of this: the bits of a word.
const WORD: usize = u64::BITS as usize;

/// A list is kept where transactions are fewer than one in so many.
const SPARSE: usize = 24;

const NONE: u32 = u32::MAX;

/// Adds to the counts of candidates those of the transactions of blocks, at most `total`, with about `bytes`
/// bytes of bitmaps.
///
/// # Panics
/// When there is not a count for each candidate.
pub fn add(
    blocks: impl Iterator<Item = impl Borrow<Block>>,
    total: usize,
    candidates: &Candidates,
    bytes: usize,
    counts: &mut [u32],
) {
    Vertical::new(bytes).add(blocks, total, candidates, counts);
}

/// Counts in pass after pass over the same transactions: where one window holds all of them, later passes use
/// its bitmaps again.
pub struct Vertical {
    bytes: usize,
    kept: Option<Window>,
}

impl Vertical {
    /// With about so many bytes of bitmaps.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, kept: None }
    }

    /// As [`Self::add`], without the transactions; false when they are needed.
    pub fn again(&mut self, candidates: &Candidates, counts: &mut [u32]) -> bool {
        let window = self.kept.as_mut().filter(|window| window.serves(candidates));
        window.map(|window| window.count(candidates, counts)).is_some()
    }

    /// As [`add`]; the blocks are the same in each call.
    pub fn add(
        &mut self,
        blocks: impl Iterator<Item = impl Borrow<Block>>,
        total: usize,
        candidates: &Candidates,
        counts: &mut [u32],
    ) {
        assert_eq!(counts.len(), candidates.len(), "a count for each candidate");
        if candidates.is_empty() {
            return;
        }
        let mut window = Window::new(candidates, self.bytes, total);
        let mut windows = 0;
        for block in blocks {
            let block = block.borrow();
            windows += match block.words() {
                Words::Narrow(words) => window.add(words, block.ends(), candidates, counts),
                Words::Wide(words) => window.add(words, block.ends(), candidates, counts),
            };
        }
        window.count(candidates, counts);
        self.kept = (windows == 0).then_some(window);
    }
}

/// The transactions of a beginning of candidates.
#[derive(Default)]
struct Tids {
    sparse: bool,
    list: Vec<u32>,
    bits: Vec<u64>,
}

/// Bitmaps of some transactions in a row.
struct Window {
    /// Row of a code's bitmap.
    rows: Vec<u32>,
    /// Words of a bitmap.
    words: usize,
    bitmaps: Vec<u64>,
    /// Transactions of each row.
    sizes: Vec<u32>,
    /// Transactions in it.
    len: usize,
    /// By how many items the beginning has, less one.
    beginnings: Vec<Tids>,
}

impl Window {
    fn new(candidates: &Candidates, bytes: usize, transactions: usize) -> Self {
        let mut rows = vec![NONE; candidates.codes().iter().max().map_or(0, |code| *code as usize + 1)];
        let mut next = 0;
        for code in candidates.codes() {
            let row = &mut rows[*code as usize];
            if *row == NONE {
                *row = next;
                next += 1;
            }
        }
        let several = next as usize;
        let words = (bytes / size_of::<u64>() / several).clamp(1, transactions.div_ceil(WORD).max(1));
        let beginnings = (1..candidates.length()).map(|_| Tids::default()).collect();
        Self { rows, words, bitmaps: vec![0; several * words], sizes: vec![0; several], len: 0, beginnings }
    }

    /// Whether it has a bitmap for each item of them, and all transactions that may hold one.
    fn serves(&self, candidates: &Candidates) -> bool {
        let has = |code: &u32| self.rows.get(*code as usize).is_some_and(|row| *row != NONE);
        candidates.length() > self.beginnings.len() && candidates.codes().iter().all(has)
    }

    /// Adds transactions, counting and emptying the window whenever it is full; how often it was.
    fn add<W: Word>(
        &mut self,
        words: &[W],
        ends: &[u32],
        candidates: &Candidates,
        counts: &mut [u32],
    ) -> usize {
        let least = candidates.length() as u32;
        let mut windows = 0;
        each(words, ends, |transaction| {
            if (transaction.len() as u32) < least {
                return;
            }
            if self.len == self.words * WORD {
                self.count(candidates, counts);
                self.clear();
                windows += 1;
            }
            let (word, bit) = (self.len / WORD, self.len % WORD);
            for code in transaction {
                let row = self.rows.get(code.index()).copied().unwrap_or(NONE);
                if row != NONE {
                    self.bitmaps[row as usize * self.words + word] |= 1 << bit;
                    self.sizes[row as usize] += 1;
                }
            }
            self.len += 1;
        });
        windows
    }

    fn clear(&mut self) {
        self.bitmaps.fill(0);
        self.sizes.fill(0);
        self.len = 0;
    }

    /// Counts all candidates in the window.
    fn count(&mut self, candidates: &Candidates, counts: &mut [u32]) {
        let length = candidates.length();
        self.beginnings.resize_with(length - 1, Tids::default);
        let mut before: &[u32] = &[];
        for (candidate, count) in candidates.iter().zip(counts) {
            let (last, beginning) = candidate.split_last().expect("a candidate has items");
            let same = before.iter().zip(beginning).take_while(|(a, b)| a == b).count();
            for (depth, code) in beginning.iter().enumerate().skip(same) {
                self.begin(depth, *code);
            }
            before = beginning;
            *count += self.last(&self.beginnings[length - 2], *last);
        }
    }

    fn bitmap(&self, code: u32) -> &[u64] {
        let row = self.rows[code as usize] as usize;
        &self.bitmaps[row * self.words..][..self.len.div_ceil(WORD)]
    }

    fn sparse(&self, code: u32) -> bool {
        self.sizes[self.rows[code as usize] as usize] as usize * SPARSE < self.len
    }

    /// The beginning one longer than `depth`: its last item is `code`.
    fn begin(&mut self, depth: usize, code: u32) {
        let mut tids = std::mem::take(&mut self.beginnings[depth]);
        let bitmap = self.bitmap(code);
        if depth == 0 {
            tids.sparse = self.sparse(code);
            tids.take(bitmap.iter().copied());
        } else {
            let parent = &self.beginnings[depth - 1];
            if parent.sparse {
                tids.sparse = true;
                tids.filter(&parent.list, bitmap);
            } else {
                let both = || parent.bits.iter().zip(bitmap).map(|(a, b)| a & b);
                // Counting is left out where the item alone is in few.
                tids.sparse =
                    self.sparse(code) || count_both(&parent.bits, bitmap) as usize * SPARSE < self.len;
                tids.take(both());
            }
        }
        self.beginnings[depth] = tids;
    }

    /// Transactions of a beginning that hold `code` too.
    fn last(&self, beginning: &Tids, code: u32) -> u32 {
        let bitmap = self.bitmap(code);
        if beginning.sparse {
            beginning.list.iter().map(|tid| u32::from(holds(bitmap, *tid))).sum()
        } else {
            count_both(&beginning.bits, bitmap)
        }
    }
}

impl Tids {
    /// Those of a list that a bitmap holds. Each is written and only some are kept: no branch that is hard to
    /// predict.
    fn filter(&mut self, list: &[u32], bitmap: &[u64]) {
        self.list.resize(list.len(), 0);
        let mut length = 0;
        for tid in list {
            self.list[length] = *tid;
            length += usize::from(holds(bitmap, *tid));
        }
        self.list.truncate(length);
    }

    fn take(&mut self, words: impl Iterator<Item = u64>) {
        self.list.clear();
        self.bits.clear();
        if self.sparse {
            for (index, mut word) in words.enumerate() {
                while word != 0 {
                    self.list.push((index * WORD) as u32 + word.trailing_zeros());
                    word &= word - 1;
                }
            }
        } else {
            self.bits.extend(words);
        }
    }
}

#[inline(always)]
fn holds(bitmap: &[u64], tid: u32) -> bool {
    bitmap[tid as usize / WORD] >> (tid as usize % WORD) & 1 != 0
}
