//! What a node counts in: its transactions, the candidates of its pass, and what it counts everywhere.

use super::space::Space;
use crate::block::Block;
use crate::codes::Codes;
use crate::items::Level;
use crate::node::settings::{Algorithm, COUNT_BYTES, Settings};
use crate::transactions::Transactions;
use std::sync::Arc;

/// What generation needs to know.
#[derive(Debug)]
pub(crate) struct Ground {
    pub settings: Arc<Settings>,
    pub(super) me: usize,
    /// As they were given; nothing once they are coded, if they need not outlive that.
    pub(super) raw: Option<Arc<Transactions>>,
    pub(super) coded: Option<(Codes, Vec<Block>)>,
    pub(super) space: Space,
    /// Codes whose candidates are counted everywhere (HPA-ELD).
    pub(super) duplicated: Vec<bool>,
}

impl Ground {
    pub(crate) fn raw(&self) -> &[Block] {
        self.raw.as_ref().map_or(&[], |raw| raw.held().expect("a node holds its transactions"))
    }

    pub(crate) fn coded(&self) -> &[Block] {
        &self.coded.as_ref().expect("pass 1 is over").1
    }

    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// All nodes, in the order in which this one sends; itself last.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> + use<> {
        self.settings.destinations(self.me).chain([self.me])
    }

    pub(crate) fn duplicates_none(&self) -> bool {
        self.duplicated.is_empty()
    }

    #[inline]
    pub(crate) fn is_duplicated(&self, itemset: &[u32]) -> bool {
        !self.duplicated.is_empty() && itemset.iter().all(|code| self.duplicated[*code as usize])
    }
}

/// The same transactions in blocks of at most so many.
pub(super) fn chopped(transactions: &Transactions, most: u64) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut scratch = Vec::new();
    transactions.blocks().for_each(|block| {
        block.each(&mut scratch, |transaction| {
            if blocks.last().is_none_or(|last| last.len() as u64 >= most) {
                blocks.push(Block::default());
            }
            blocks.last_mut().expect("one is open").push(transaction);
        });
    });
    blocks
}

/// Ranges of blocks with about so many transactions each.
pub(super) fn chunks(blocks: &[Block], most: u64) -> Vec<std::ops::Range<usize>> {
    let (mut chunks, mut start, mut had) = (Vec::new(), 0, 0);
    for (at, block) in blocks.iter().enumerate() {
        had += block.len() as u64;
        if had >= most || at + 1 == blocks.len() {
            chunks.push(start..at + 1);
            (start, had) = (at + 1, 0);
        }
    }
    chunks
}

/// The codes of the most frequent items, if there are to be any: as many as were asked for, and half the
/// memory takes.
pub(super) fn duplicated(settings: &Settings, large: &Level) -> Vec<bool> {
    let room = settings.memory / 2 / COUNT_BYTES;
    let mut wanted = settings.duplicated.min(large.len() as u32);
    while u64::from(wanted) * u64::from(wanted) / 2 > room {
        wanted -= 1;
    }
    if settings.algorithm != Algorithm::HpaEld || wanted < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..large.len()).collect();
    order.sort_by_key(|code| std::cmp::Reverse(large.count(*code)));
    let mut duplicated = vec![false; large.len()];
    order.into_iter().take(wanted as usize).for_each(|code| duplicated[code] = true);
    duplicated
}
