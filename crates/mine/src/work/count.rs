//! Counts of candidates in some of a node's transactions, in tiles that memory allows.

use super::Effort;
use super::space::{Space, pair};
use crate::block::Block;
use crate::candidate::Candidates;
use crate::count::{self, Triangle, vertical};
use std::ops::Range;
use std::sync::Arc;

/// Some candidates of a slice, one after the other: rows of pairs, or all of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    range: Range<u32>,
    /// The number of its first candidate.
    pub first: u32,
    /// Its candidates.
    pub size: u32,
}

/// The tiles of a slice: pairs of at most so many, a row at least. Slices of lists are small enough as they
/// are.
pub(crate) fn tiles(space: &Space, slice: usize, most: u64) -> Vec<Tile> {
    let (codes, rows) = match space {
        Space::Items => return Vec::new(),
        Space::Pairs { codes, slices } => (*codes, slices[slice].clone()),
        Space::List { .. } => {
            let size = space.size(slice);
            return vec![Tile { range: 0..size, first: 0, size }];
        }
    };
    let tile = |range: Range<u32>| {
        let first = pair(codes, rows.start, range.start, range.start + 1);
        Tile { first, range, size: 0 }
    };
    let mut tiles: Vec<Tile> = count::tiles(codes, rows.clone(), most).into_iter().map(tile).collect();
    for at in 0..tiles.len() {
        let end = tiles.get(at + 1).map_or(space.size(slice), |next| next.first);
        tiles[at].size = end - tiles[at].first;
    }
    tiles
}

/// How the candidates of a tile are counted.
#[derive(Debug)]
pub(crate) enum Counter {
    /// Pairs, in an array.
    Pairs { codes: u32, rows: Range<u32> },
    /// Any, by their items.
    List(Arc<Candidates>),
}

impl Counter {
    pub(crate) fn new(space: &Space, slice: usize, tile: &Tile) -> Counter {
        match space {
            Space::Items => unreachable!("items are counted as they come"),
            Space::Pairs { codes, .. } => Counter::Pairs { codes: *codes, rows: tile.range.clone() },
            Space::List { held, .. } => Counter::List(Arc::clone(Space::held(held, slice))),
        }
    }

    /// Adds what blocks hold to the counts, with about so many bytes of bitmaps.
    pub(crate) fn add(&self, blocks: &[Block], memory: u64, counts: &mut [u32]) {
        match self {
            Counter::Pairs { codes, rows } => {
                let mut triangle = Triangle::new(*codes, rows.clone());
                blocks.iter().for_each(|block| triangle.add(block));
                counts.iter_mut().zip(triangle.counts()).for_each(|(count, more)| *count += more);
            }
            Counter::List(candidates) => {
                let total = blocks.iter().map(Block::len).sum();
                let memory = usize::try_from(memory).unwrap_or(usize::MAX);
                vertical::add(blocks.iter(), total, candidates, memory, counts);
            }
        }
    }

    /// What that is on a modelled host: each pair of a transaction, or each of its items, is looked at.
    pub(crate) fn effort(&self, blocks: &[Block]) -> Effort {
        let mut effort = scanned(blocks);
        effort.generated = match self {
            Counter::Pairs { .. } => blocks.iter().map(pairs).sum(),
            Counter::List(_) => effort.items,
        };
        effort
    }
}

/// Going over blocks.
pub(crate) fn scanned(blocks: &[Block]) -> Effort {
    let transactions = blocks.iter().map(|block| block.len() as u64).sum();
    let items: u64 = blocks.iter().map(|block| block.items() as u64).sum();
    // A word an item, and one for how many there are.
    Effort { transactions, items, bytes: 4 * (items + transactions), ..Effort::default() }
}

fn pairs(block: &Block) -> u64 {
    let starts = [0].iter().chain(block.ends());
    let lengths = block.ends().iter().zip(starts).map(|(end, start)| u64::from(end - start));
    lengths.map(|length| length * length.saturating_sub(1) / 2).sum()
}
