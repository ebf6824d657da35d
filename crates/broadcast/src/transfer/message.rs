//! The messages between nodes of a broadcast. Their form on streams is in [`super::wire`].

use super::set::ChunkSet;
use super::store::Hash;
use process::HostId;

/// What a parent says of a child: how fast data went there since the last report, and what kept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The receiver.
    pub child: HostId,
    /// What the child confirmed, in bytes.
    pub bytes: u64,
    /// In so many microseconds.
    pub micros: u64,
    /// Of them, with data at hand that the network did not take.
    pub network_micros: u64,
    /// Of them, with data at hand that the pace held back.
    pub paced_micros: u64,
}

/// What nodes say to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// To the coordinator: here I am, and this is what I have.
    Join { have: ChunkSet },
    /// To the coordinator: so much I have, and so the data went to my children.
    Report { chunks: u32, edges: Vec<Edge> },
    /// To the coordinator: I have everything, and it is the source's.
    Complete,
    /// To the coordinator: I can't go on.
    Failed { reason: String },
    /// To the coordinator: a parent can't be reached.
    Unreachable { host: HostId },
    /// To the coordinator: I have all chunks, what is the hash over their hashes?
    AskRoot,
    /// To the coordinator: what are the hashes of the chunks from this one on?
    AskHashes { from: u32 },
    /// From the coordinator: the rates of all trees in bit/s, the trees that the receiver of this is in, and
    /// the parent that feeds it there.
    Plan { version: u32, rates: Vec<u64>, mine: Vec<(u32, HostId)> },
    /// From the coordinator: it is there, and the first hosts that have everything.
    Beat { complete: Vec<HostId> },
    /// From the coordinator: the answer to [`Message::AskRoot`].
    Root { hash: Hash },
    /// From the coordinator: the answer to [`Message::AskHashes`].
    Hashes { from: u32, hashes: Vec<Hash> },
    /// From the coordinator: streams with this host lead nowhere.
    Gone { host: HostId },
    /// From the coordinator: everybody has everything, or has failed.
    Finish,
    /// From the coordinator: the broadcast can't be finished.
    Abandon { reason: String },
    /// To a host that took it for the coordinator: it follows another one, or none.
    Elsewhere { coordinator: Option<HostId> },
    /// To a parent, first of all.
    Fetch,
    /// To a parent: send these chunks when there, in the order of classes ([`super::ranked`]). Or: `now`, the
    /// others come back.
    Want { class: u8, now: bool, set: ChunkSet },
    /// To a parent: those of these chunks that weren't sent are of this class now.
    Rank { class: u8, set: ChunkSet },
    /// To a parent: don't send these, and say which weren't sent.
    Drop { set: ChunkSet },
    /// To a parent: the plan's rate, in bit/s.
    Pace { rate: u64 },
    /// To a parent: so many chunks have come on this stream in all.
    Got { chunks: u32 },
    /// From a parent: a chunk, whose bytes follow; so many more are there that were asked for.
    Chunk { number: u32, ready: u32, hash: Hash },
    /// From a parent: these won't be sent.
    Dropped { set: ChunkSet },
}
