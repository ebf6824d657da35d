//! Association rules from transactions that are spread over nodes.

use ::mine::node::{Algorithm, Exchange, Order};
use ::mine::work::PassModel;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// Mining.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mine {
    /// The nodes, in order.
    pub nodes: Vec<String>,
    /// The transactions, or what is known of them.
    pub transactions: MineTransactions,
    /// From when on an itemset is large.
    pub support: MineSupport,
    /// Items of the longest itemset; without a value, as long as they come.
    pub longest: Option<u32>,
    /// How candidates are shared out.
    pub algorithm: Algorithm,
    /// What nodes send the owners of candidates.
    pub exchange: Exchange,
    /// A node's memory for counts.
    pub memory: Bytes,
    /// Of how many of the most frequent items HPA-ELD's candidates are counted everywhere.
    pub duplicated: u32,
    /// Size of a message.
    pub block: Bytes,
    /// Messages of large itemsets are filled up to a block.
    pub padded: bool,
    /// In which order a node sends to the others what all of them get.
    pub order: Order,
    /// How long things take.
    pub costs: MineCosts,
}

/// Transactions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MineTransactions {
    /// Made up from the seed, as Quest does.
    Quest {
        /// |D|: transactions.
        count: u64,
        /// |T|: mean items of a transaction.
        length: f64,
        /// |I|: mean items of a pattern.
        pattern: f64,
        /// |L|: patterns.
        patterns: u32,
        /// N: items.
        items: u32,
        /// Mean share of a pattern's items that are the previous one's.
        correlation: f64,
        /// Mean of patterns' probability to lose no more items.
        confidence: f64,
        /// Its standard deviation.
        deviation: f64,
    },
    /// These; items of each ascend.
    List {
        /// Items of all, one transaction after the other.
        items: Vec<u32>,
        /// Where each ends.
        ends: Vec<u32>,
    },
    /// None: only amounts are known.
    Profile {
        /// Transactions.
        count: u64,
        /// Items of all of them.
        items: u64,
        /// The passes.
        passes: Vec<PassModel>,
    },
}

/// Minimum support.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MineSupport {
    /// Part of the transactions.
    Share(f64),
    /// Transactions.
    Count(u64),
}

/// How long things take on one core.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MineCosts {
    /// A transaction is read.
    pub transaction: Time,
    /// An item of it is looked at.
    pub item: Time,
    /// A candidate is found in a transaction.
    pub generate: Time,
    /// A candidate that came is looked up and counted.
    pub probe: Time,
    /// Transactions come from the host's disk.
    pub disk: bool,
    /// So much at a time.
    pub io: Bytes,
    /// A node's times differ by up to this part in a pass, in millionths.
    pub variation_ppm: u32,
}
