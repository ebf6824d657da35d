//! What a run over several nodes is to find, and how its nodes share the work. Not here: what it costs in
//! time (`costs`).
//!
//! NPA, HPA and HPA-ELD: T. Shintani and M. Kitsuregawa, "Hash based parallel algorithms for mining
//! association rules", PDIS 1996 (document 001, reference 9). Locally frequent candidates: D. Cheung et al.,
//! "A fast distributed algorithm for mining association rules" (FDM), PDIS 1996.

use serde::{Deserialize, Serialize};
use units::{Problem, in_range};

/// How candidates are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Each node counts all candidates in its own transactions.
    Npa,
    /// Each candidate has an owner by a hash, which counts what the others send it.
    #[default]
    Hpa,
    /// As HPA, but candidates of frequent items are counted everywhere, and only their counts are sent.
    HpaEld,
}

/// What nodes send an owner of candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exchange {
    /// Each candidate in each transaction, as it comes (the document's).
    Plain,
    /// Counts over about so many transactions; over all of a node's where none is given.
    Combined {
        /// Transactions.
        transactions: Option<u64>,
    },
    /// Counts of what is frequent in the node's own transactions; the owner asks for what it lacks. Exact:
    /// what is large among all transactions is frequent at one node at least.
    #[default]
    Frequent,
}

/// In which order a node sends the others what all of them get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// From the first node to the last.
    Same,
    /// From the next one on, so that no two nodes begin with the same.
    #[default]
    Rotated,
}

/// How the nodes of a run share the work: the same at each of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How candidates are shared out.
    pub algorithm: Algorithm,
    /// What nodes send the owners of candidates.
    pub exchange: Exchange,
    /// Items of the longest itemset; none: as long as they come.
    pub longest: Option<usize>,
    /// Bytes of a node's memory from pass 2 on for candidates, their counts and bitmaps; at least a row of
    /// pairs, or a candidate and a word of each bitmap, is held. Not in it: what is large or asked for, and
    /// messages.
    pub memory: u64,
    /// Of how many of the most frequent items HPA-ELD's candidates are counted everywhere.
    pub duplicated: u32,
    /// Bytes of a message, its header included.
    pub block: usize,
    /// Messages of large itemsets are filled up to a block.
    pub padded: bool,
    /// In which order a node sends to the others what all of them get.
    pub order: Order,
    /// What nobody sets.
    #[serde(skip)]
    pub derived: Derived,
}

/// What follows from the run and its transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// Which run it is: nodes of different ones refuse each other.
    pub job: u64,
    /// Transactions that hold a large itemset, at least.
    pub minimum: u64,
    /// Transactions of each node.
    pub transactions: Vec<u64>,
    /// Bytes that the large itemsets of all passes may take: a node that has more ends without a result. It
    /// holds the newest of them several times, as it found, sends and sorts them. None: any number.
    pub found: Option<usize>,
}

impl Derived {
    /// [`Derived::found`] as a number that is compared with.
    pub(crate) fn found_most(&self) -> usize {
        self.found.unwrap_or(usize::MAX)
    }
}

/// Nodes are at most so many.
pub const NODES_MAX: usize = 4096;
/// Bytes of a message, at least and at most.
pub const BLOCK: std::ops::RangeInclusive<usize> = 256..=1 << 20;
/// Counts are kept in four bytes.
pub(crate) const COUNT_BYTES: u64 = 4;

impl Settings {
    /// Usual ones for nodes with so many transactions each.
    #[must_use]
    pub fn new(minimum: u64, transactions: Vec<u64>) -> Settings {
        Settings {
            algorithm: Algorithm::default(),
            exchange: Exchange::default(),
            longest: None,
            memory: 256 << 20,
            duplicated: 0,
            block: 8192,
            padded: false,
            order: Order::default(),
            derived: Derived { minimum, transactions, ..Derived::default() },
        }
    }

    /// Refuses what can't be.
    ///
    /// # Errors
    /// The first field that can't be as it is.
    pub fn check(&self) -> Result<(), Problem> {
        let refuse = |field: &'static str, message: String| Err(Problem::new(field, message));
        let nodes = self.derived.transactions.len();
        in_range("nodes", nodes, 1..=NODES_MAX)?;
        if self.total() >= u64::from(u32::MAX) {
            return refuse("transactions", format!("{}: fewer than 2^32 - 1 are allowed", self.total()));
        }
        if self.derived.minimum == 0 {
            return refuse("support", "0 transactions: at least 1 is allowed".into());
        }
        if self.longest == Some(0) {
            return refuse("longest", "0 items: at least 1 is allowed".into());
        }
        if self.memory < 1 << 10 {
            return refuse("memory", format!("{} bytes: at least 1 KiB is allowed", self.memory));
        }
        if !BLOCK.contains(&self.block) {
            let message = format!("{} bytes: {} to {} are allowed", self.block, BLOCK.start(), BLOCK.end());
            return refuse("block", message);
        }
        if self.exchange == (Exchange::Combined { transactions: Some(0) }) {
            return refuse("exchange", "counts over 0 transactions: at least 1 is allowed".into());
        }
        Ok(())
    }

    /// Nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.derived.transactions.len()
    }

    /// Transactions of all nodes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.derived.transactions.iter().fold(0, |all, some| all.saturating_add(*some))
    }

    /// From which count on a candidate is frequent at a node: what is large among all transactions is so at
    /// one of them.
    #[must_use]
    pub fn local_minimum(&self, node: usize) -> u64 {
        let (all, own) = (u128::from(self.total().max(1)), u128::from(self.derived.transactions[node]));
        (u128::from(self.derived.minimum) * own).div_ceil(all).max(1) as u64
    }

    /// The other nodes, in the order in which `node` sends to them.
    pub(crate) fn destinations(&self, node: usize) -> impl Iterator<Item = usize> + use<> {
        let nodes = self.nodes();
        let first = if self.order == Order::Same { 0 } else { node + 1 };
        (0..nodes).map(move |at| (first + at) % nodes).filter(move |to| *to != node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let good = Settings::new(1, vec![3, 4]);
        good.check().unwrap();
        let refused = [
            (Settings::new(1, vec![]), "nodes"),
            (Settings::new(1, vec![1 << 31, 1 << 31]), "transactions"),
            (Settings::new(0, vec![3, 4]), "support"),
            (Settings { longest: Some(0), ..good.clone() }, "longest"),
            (Settings { memory: 1000, ..good.clone() }, "memory"),
            (Settings { block: 100, ..good.clone() }, "block"),
            (Settings { exchange: Exchange::Combined { transactions: Some(0) }, ..good.clone() }, "exchange"),
        ];
        for (settings, field) in refused {
            assert_eq!(settings.check().unwrap_err().path.to_string(), field);
        }
    }

    #[test]
    fn what_is_large_is_frequent_at_a_node() {
        let settings = Settings::new(10, vec![30, 33, 0, 37]);
        let local: Vec<u64> = (0..4).map(|node| settings.local_minimum(node)).collect();
        assert_eq!(local, [3, 4, 1, 4]);
        let most_without: u64 = local.iter().map(|least| least - 1).sum();
        assert!(most_without < settings.derived.minimum);
    }

    #[test]
    fn destinations_are_all_others() {
        let order =
            |order| Settings { order, ..Settings::new(1, vec![1; 4]) }.destinations(2).collect::<Vec<_>>();
        assert_eq!((order(Order::Same), order(Order::Rotated)), (vec![0, 1, 3], vec![3, 0, 1]));
    }
}
