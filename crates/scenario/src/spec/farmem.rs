//! Programs whose memory lies at memory nodes.

use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// Programs on remote memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Farmem {
    /// Where programs run, one each.
    pub programs: Vec<String>,
    /// The memory nodes: programs take them in turn.
    pub memory: Vec<String>,
    /// What each program does to its memory.
    pub pattern: FarmemPattern,
    /// Local memory of each.
    pub local: FarmemLocal,
    /// Size of a page: a power of two.
    pub page: Bytes,
    /// Which page leaves.
    pub policy: FarmemPolicy,
    /// Pages fetched with the one needed.
    pub read_ahead: u32,
    /// How many pages share a request.
    pub pages_a_request: u32,
    /// When pages are sent back.
    pub write_back: FarmemWriteBack,
    /// With `after`: pages on their way back at most.
    pub write_buffer: u32,
    /// Which transfer goes first.
    pub schedule: FarmemSchedule,
    /// A page travels as its size divided by this, at least 1.
    pub compression: f64,
    /// How long things take.
    pub costs: FarmemCosts,
}

/// What a program does to its memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FarmemPattern {
    /// What a traced program did.
    Trace {
        /// The trace, in little-endian words.
        words: Vec<u64>,
    },
    /// Accesses that are made up.
    Accesses {
        /// Which page comes next.
        order: FarmemOrder,
        /// Memory that they go to.
        size: Bytes,
        /// How many.
        accesses: u64,
        /// Part of them that writes.
        writes: f64,
        /// Computed before each.
        compute: Time,
    },
    /// A square matrix of float64 is convolved into another.
    Convolution {
        /// Its rows and columns.
        matrix: u32,
        /// Those of the kernel: odd.
        kernel: u32,
        /// How often.
        times: u64,
        /// Before each access to a row's part of a page.
        compute: Time,
    },
}

/// Which page comes next.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FarmemOrder {
    /// One after the other, again and again.
    Sequential,
    /// Any.
    Random,
    /// Some much more often than others: the page of rank k with a weight of k^-skew.
    Zipf(f64),
}

/// Size of local memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FarmemLocal {
    /// As much.
    Bytes(Bytes),
    /// Part of the most that the program has in use.
    Share(f64),
}

/// Which page leaves.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FarmemPolicy {
    /// The one that came first.
    Fifo,
    /// The same, with a second chance.
    Clock,
    /// The one not used for the longest time.
    Lru,
}

/// When pages are sent back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FarmemWriteBack {
    /// Before the fault fetches.
    Before,
    /// Behind its request, and nobody waits.
    After,
}

/// Which transfer goes first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FarmemSchedule {
    /// Each in its turn.
    Fifo,
    /// Fetches.
    ReadsFirst,
    /// Fetches, the smallest first.
    ShortestFirst,
}

/// How long things take on one core.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FarmemCosts {
    /// A fault is handled.
    pub handler: Time,
    /// A page is compressed.
    pub compress: Time,
    /// A page is decompressed.
    pub decompress: Time,
    /// The memory node reads or writes a page.
    pub serve: Time,
}
