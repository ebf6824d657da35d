//! Blocks of transactions that memory has no room for, as bytes that somebody else keeps: in a temporary
//! file, usually.
//!
//! Not here: the file, which is the driver's.

use crate::block::{Block, Words};
use std::fmt;
use std::sync::Arc;

/// Keeps bytes until it is dropped.
///
/// It also keeps its first error: from then on nothing is found here, and what is made of the transactions is
/// worth nothing. Its owner asks it before using a result.
pub trait Shelf: Send + Sync {
    /// Keeps these, and says where.
    fn keep(&self, bytes: &[u8]) -> u64;
    /// Fills `bytes` with those from there on; false when they can't be had.
    fn fetch(&self, at: u64, bytes: &mut [u8]) -> bool;
}

/// Memory for blocks, and what takes the others.
#[derive(Clone)]
pub struct Room {
    /// Bytes that blocks may take, about; the last one is always held.
    pub bytes: usize,
    /// Takes what they would take more.
    pub shelf: Arc<dyn Shelf>,
}

impl fmt::Debug for Room {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Room").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Where a block is, and what it is like.
#[derive(Clone, Debug)]
pub(crate) struct Shelved {
    at: u64,
    narrow: bool,
    items: u32,
    pub(crate) len: u32,
}

impl Shelved {
    /// Puts a block there.
    pub(crate) fn put(block: &Block, shelf: &dyn Shelf) -> Shelved {
        let mut bytes = Vec::with_capacity(block.bytes());
        let narrow = match block.words() {
            Words::Narrow(words) => {
                words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
                true
            }
            Words::Wide(words) => {
                words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
                false
            }
        };
        block.ends().iter().for_each(|end| bytes.extend_from_slice(&end.to_le_bytes()));
        Shelved { at: shelf.keep(&bytes), narrow, items: block.items() as u32, len: block.len() as u32 }
    }

    /// Gets it back; nothing when it can't be had.
    pub(crate) fn get(&self, shelf: &dyn Shelf) -> Option<Block> {
        let words = self.items as usize * if self.narrow { size_of::<u16>() } else { size_of::<u32>() };
        let mut bytes = vec![0; words + self.len as usize * size_of::<u32>()];
        if !shelf.fetch(self.at, &mut bytes) {
            return None;
        }
        let (words, ends) = bytes.split_at(words);
        let wide = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let words = if self.narrow {
            Words::Narrow(words.as_chunks().0.iter().map(|word| u16::from_le_bytes(*word)).collect())
        } else {
            Words::Wide(wide(words))
        };
        Some(Block::new(words, wide(ends)))
    }
}
