//! What a node sends in a stage, generated bit by bit, so that others get their turn in between.

use super::count::{Counter, Tile, scanned};
use super::ground::Ground;
use super::outbox::Outbox;
use super::space::{Space, owner, owner_of_item};
use super::{Effort, space};
use crate::block::Block;
use crate::candidate::Candidates;
use crate::count::ItemCounts;
use crate::items::Level;
use std::ops::Range;
use std::sync::Arc;

/// Blocks of transactions that are counted before others get their turn.
const COUNTED: usize = 128;
/// Counts that are looked at before.
const LOOKED: usize = 1 << 18;

/// A part of the generation.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Pass 1: items are counted, and their counts sent.
    Items { block: usize, counts: ItemCounts },
    /// Each candidate in each transaction, from a block on.
    Occurrences { slice: usize, block: usize },
    /// Candidates of a tile are counted in some blocks; counts from `least` on are sent.
    Counts { slice: usize, tile: Tile, counter: Counter, blocks: Range<usize>, counts: Vec<u32>, least: u32 },
    /// The counts of a tile, from the one at `at` on.
    Emit { slice: usize, first: u32, counts: Vec<u32>, at: usize, least: u32 },
    /// Some candidates by name and number are counted, and all their counts sent from `least` on.
    Named { candidates: Counter, numbers: Vec<u32>, counts: Vec<u32>, block: usize, least: u32 },
    /// Numbers for each node.
    Numbers(Vec<Vec<u32>>),
    /// Itemsets for all.
    Large(Level),
}

impl Phase {
    /// Named candidates of a slice, in the order of their numbers.
    pub(crate) fn named(space: &Space, slice: usize, numbers: Vec<u32>, least: u32) -> Phase {
        let mut candidates = Candidates::new(space.length());
        space.each(slice, numbers.iter().map(|number| (*number, 0)), |itemset, _| candidates.push(itemset));
        let counts = vec![0; numbers.len()];
        Phase::Named { candidates: Counter::List(Arc::new(candidates)), numbers, counts, block: 0, least }
    }

    /// Generates some more; what is left to do, if anything is.
    pub(crate) fn step(self, ground: &Ground, out: &mut Outbox) -> (Effort, Option<Phase>) {
        match self {
            Phase::Items { block, mut counts } => {
                let blocks = ground.raw();
                if block < blocks.len() {
                    let some = &blocks[block..blocks.len().min(block + COUNTED)];
                    some.iter().for_each(|block| counts.add(block));
                    return (scanned(some), Some(Phase::Items { block: block + some.len(), counts }));
                }
                let nodes = out.nodes();
                for (item, count) in counts.iter() {
                    out.count(owner_of_item(item, nodes), item, count as u32);
                }
                (Effort::default(), None)
            }
            Phase::Occurrences { slice, block } => {
                let blocks = ground.coded();
                let Some(some) = blocks.get(block) else { return (Effort::default(), None) };
                let generated = occurrences(ground, slice, some, out);
                let effort = Effort { generated, ..scanned(std::slice::from_ref(some)) };
                (effort, Some(Phase::Occurrences { slice, block: block + 1 }))
            }
            Phase::Counts { slice, tile, counter, blocks, mut counts, least } => {
                counts.resize(tile.size as usize, 0);
                let end = blocks.end.min(blocks.start + COUNTED);
                let some = &ground.coded()[blocks.start..end];
                counter.add(some, ground.settings.memory / 2, &mut counts);
                let effort = counter.effort(some);
                let next = if end < blocks.end {
                    Phase::Counts { slice, tile, counter, blocks: end..blocks.end, counts, least }
                } else {
                    Phase::Emit { slice, first: tile.first, counts, at: 0, least }
                };
                (effort, Some(next))
            }
            Phase::Emit { slice, first, counts, at, least } => {
                let end = counts.len().min(at + LOOKED);
                emit(ground, (slice, first + at as u32), &counts[at..end], least, out);
                let rest = end < counts.len();
                (Effort::default(), rest.then_some(Phase::Emit { slice, first, counts, at: end, least }))
            }
            Phase::Named { candidates, numbers, mut counts, block, least } => {
                let blocks = ground.coded();
                if block < blocks.len() && !numbers.is_empty() {
                    let some = &blocks[block..blocks.len().min(block + COUNTED)];
                    candidates.add(some, ground.settings.memory / 2, &mut counts);
                    let next = Phase::Named { candidates, numbers, counts, block: block + some.len(), least };
                    return (scanned(some), Some(next));
                }
                let nodes = out.nodes();
                for (number, count) in numbers.into_iter().zip(counts) {
                    if count >= least {
                        out.count(owner(number, nodes), number, count);
                    }
                }
                (Effort::default(), None)
            }
            Phase::Numbers(all) => {
                for to in ground.order() {
                    all[to].iter().for_each(|number| out.number(to, *number));
                }
                (Effort::default(), None)
            }
            Phase::Large(level) => {
                let order: Vec<usize> = ground.order().collect();
                for (itemset, count) in level.iter() {
                    order.iter().for_each(|to| out.itemset(*to, itemset, count as u32));
                }
                (Effort::default(), None)
            }
        }
    }
}

/// Sends counts from number `first` on.
fn emit(ground: &Ground, (slice, first): (usize, u32), counts: &[u32], least: u32, out: &mut Outbox) {
    let nodes = out.nodes();
    let found = counts.iter().enumerate().filter(|(_, count)| **count >= least);
    let found = found.map(|(at, count)| (first + at as u32, *count));
    if ground.duplicates_none() {
        found.for_each(|(number, count)| out.count(owner(number, nodes), number, count));
    } else {
        let mut spread = Vec::new();
        ground.space().each(slice, found, |itemset, count| {
            if !ground.is_duplicated(itemset) {
                spread.push((ground.space().number(slice, itemset).expect("it has a number"), count));
            }
        });
        spread.into_iter().for_each(|(number, count)| out.count(owner(number, nodes), number, count));
    }
}

/// Sends each candidate of a slice in each transaction of a block; says how many there were.
fn occurrences(ground: &Ground, slice: usize, block: &Block, out: &mut Outbox) -> u64 {
    let (mut found, mut scratch) = (0, Vec::new());
    block.each(&mut scratch, |items| found += in_transaction(ground, slice, items, out));
    found
}

fn in_transaction(ground: &Ground, slice: usize, items: &[u32], out: &mut Outbox) -> u64 {
    let (nodes, mut found) = (out.nodes(), 0);
    let mut send = |number: u32, itemset: &[u32]| {
        if !ground.is_duplicated(itemset) {
            out.occurrence(owner(number, nodes), itemset);
            found += 1;
        }
    };
    match ground.space() {
        Space::Items => unreachable!("items are counted"),
        Space::Pairs { codes, slices } => {
            let rows = slices[slice].clone();
            let first = items.partition_point(|item| *item < rows.start);
            for (at, low) in items.iter().enumerate().skip(first).take_while(|(_, low)| rows.contains(low)) {
                let start = space::pair(*codes, rows.start, *low, low + 1);
                items[at + 1..].iter().for_each(|high| send(start + (high - low - 1), &[*low, *high]));
            }
        }
        Space::List { held, .. } => {
            let candidates = Space::held(held, slice);
            Search { candidates }.within(items, 0..candidates.len() as u32, 0, &mut send);
        }
    }
    found
}

/// Candidates that a transaction holds.
struct Search<'a> {
    candidates: &'a Candidates,
}

impl Search<'_> {
    /// Those of a range, which have the first `depth` codes in common, with the others among `items`.
    fn within(&self, items: &[u32], range: Range<u32>, depth: usize, send: &mut impl FnMut(u32, &[u32])) {
        let length = self.candidates.length();
        if depth == length {
            for at in range {
                send(at, self.candidates.get(at));
            }
            return;
        }
        let code = |at: u32| self.candidates.get(at)[depth];
        let mut start = range.start;
        for (at, item) in items.iter().enumerate() {
            start = lower(start..range.end, |at| code(at) < *item);
            let end = lower(start..range.end, |at| code(at) <= *item);
            if start < end {
                self.within(&items[at + 1..], start..end, depth + 1, send);
            }
            if end == range.end {
                return;
            }
            start = end;
        }
    }
}

/// The first of a range that isn't `before`.
fn lower(range: Range<u32>, before: impl Fn(u32) -> bool) -> u32 {
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from.midpoint(to);
        if before(middle) { from = middle + 1 } else { to = middle }
    }
    from
}
