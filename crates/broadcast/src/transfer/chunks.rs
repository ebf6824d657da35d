//! A file in chunks of one size, the last perhaps shorter, and the choice of that size.
//!
//! A relay forwards a chunk when it has all of it, so data reach the end of `hops` consecutive transfers
//! `hops` chunks late. The file should therefore have at least [`FILL`] × `hops` chunks. A chunk costs
//! messages and disk accesses, so on fast links it should not take less than [`LEAST_TIME`].

use crate::plan::Plan;
use crate::topology::NodeId;
use std::collections::BTreeMap;
use units::{Rate, Time};

/// Chunks of a file for each hop of its longest way: filling the pipeline then takes 1/64 of the time.
const FILL: u64 = 128;
/// A chunk lasts so long at least, at the rate of the fastest receiver.
const LEAST_TIME: Time = Time::from_us(400);
/// Smallest chunk of its own accord, in bytes: some ten packets.
const LEAST: u64 = 16 << 10;
/// The same where rates are not known.
const LEAST_UNKNOWN: u64 = 8 << 10;
/// Largest chunk of its own accord where links aren't faster than 20 Gb/s, in bytes.
const MOST: u64 = 1 << 20;
/// Largest chunk, in bytes.
pub const CHUNK_MAX: u64 = 4 << 20;
/// Most chunks of a file: a set of them fits a message.
pub const CHUNKS_MAX: u32 = 1 << 20;

/// A file in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    bytes: u64,
    size: u64,
}

impl Chunks {
    /// `bytes` in chunks of `size`; nothing when there would be more than [`CHUNKS_MAX`], or a size is not
    /// within 1 to [`CHUNK_MAX`].
    #[must_use]
    pub fn new(bytes: u64, size: u64) -> Option<Chunks> {
        let possible = (1..=CHUNK_MAX).contains(&size) && bytes.div_ceil(size) <= u64::from(CHUNKS_MAX);
        possible.then_some(Chunks { bytes, size })
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Bytes of each chunk but the last.
    #[must_use]
    pub fn size(self) -> u64 {
        self.size
    }

    /// Number of chunks.
    #[must_use]
    pub fn count(self) -> u32 {
        self.bytes.div_ceil(self.size) as u32
    }

    /// Where a chunk begins, in bytes.
    #[must_use]
    pub fn start(self, chunk: u32) -> u64 {
        u64::from(chunk) * self.size
    }

    /// Bytes of a chunk.
    #[must_use]
    pub fn len(self, chunk: u32) -> u64 {
        self.bytes.saturating_sub(self.start(chunk)).min(self.size)
    }

    /// Whether the file has no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes == 0
    }
}

/// A good size of chunks in bytes, for a file of `bytes`, at most `hops` transfers behind one another, and a
/// fastest receiver of `rate`.
#[must_use]
pub fn good_size(bytes: u64, hops: u64, rate: Rate) -> u64 {
    let filled = bytes / (FILL * hops.max(1));
    let lasting = (u128::from(rate.as_bps()) * u128::from(LEAST_TIME.as_us()) / 8_000_000) as u64;
    let size = filled.min(MOST).max(lasting).max(LEAST);
    let enough = bytes.div_ceil(u64::from(CHUNKS_MAX));
    let rounded = if size.is_power_of_two() { size } else { size.next_power_of_two() / 2 };
    rounded.max(enough.next_power_of_two()).min(CHUNK_MAX)
}

/// A good size of chunks in bytes for a file of `bytes` for so many `hosts`, when nothing is known of rates.
/// Hosts are measured by some chunks each, so these are small; a file has few of them, so that they cost
/// little where links are fast.
#[must_use]
pub fn unknown_size(bytes: u64, hosts: u64) -> u64 {
    let size = (bytes / (2 * FILL * hosts.max(1))).clamp(LEAST_UNKNOWN, MOST);
    let rounded = if size.is_power_of_two() { size } else { size.next_power_of_two() / 2 };
    let enough = bytes.div_ceil(u64::from(CHUNKS_MAX));
    rounded.max(enough.next_power_of_two()).min(CHUNK_MAX)
}

/// A good size of chunks in bytes for a file of `bytes` that goes by `plan`.
#[must_use]
pub fn chunk_size(plan: &Plan, bytes: u64) -> u64 {
    let rate = plan.rates().into_iter().max().unwrap_or_default();
    let depths = plan.trees().map(|tree| {
        let mut depths: BTreeMap<NodeId, u64> = BTreeMap::new();
        for hop in tree.hops() {
            let depth = depths.get(&hop.parent).copied().unwrap_or(0) + 1;
            depths.insert(hop.child, depth);
        }
        depths.into_values().max().unwrap_or(0)
    });
    good_size(bytes, depths.max().unwrap_or(0), rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_file() {
        let chunks = Chunks::new(10, 4).unwrap();
        assert_eq!((chunks.count(), chunks.len(0), chunks.len(2), chunks.start(2)), (3, 4, 2, 8));
        assert_eq!(Chunks::new(0, 4).unwrap().count(), 0);
        assert_eq!(Chunks::new(8, 4).unwrap().len(1), 4);
        assert!(Chunks::new(1, 0).is_none() && Chunks::new(1, CHUNK_MAX + 1).is_none());
        assert!(Chunks::new(u64::MAX, CHUNK_MAX).is_none());
    }

    #[test]
    fn filling_seven_hops_costs_less_than_a_fiftieth() {
        let (bytes, hops) = (16 << 20, 7);
        let size = good_size(bytes, hops, Rate::from_bps(20_000_000));
        assert!(hops * size * 50 <= bytes, "{size}");
        assert!(size >= LEAST);
    }

    #[test]
    fn fast_links_have_few_messages() {
        let rate = Rate::from_gbps(10);
        let size = good_size(100 << 30, 100, rate);
        assert!(rate.as_bps() / 8 / size < 3000, "{size}");
        assert!(rate.as_bps() / 8 / good_size(16 << 20, 7, rate) < 6000);
    }

    #[test]
    fn any_file_up_to_four_terabytes_has_a_size() {
        for bytes in [0, 1, 1 << 20, 1 << 30, 1 << 42] {
            for hops in [0, 1, 10_000] {
                let size = good_size(bytes, hops, Rate::from_gbps(1));
                assert!(Chunks::new(bytes, size).is_some(), "{bytes} {hops}");
                assert!(Chunks::new(bytes, unknown_size(bytes, hops)).is_some(), "{bytes} {hops}");
            }
        }
    }
}
