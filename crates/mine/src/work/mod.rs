//! What a node's transactions give in a pass: [`Real`] counts in transactions, [`Modelled`] knows only how
//! many candidates there are and how often each is found, so that a modelled cluster needs none of them.
//!
//! A `Work` generates what the node sends in a stage, the same each time it is asked, and takes what comes
//! of the others. Streams, order and what has come twice are the node's business (`node`).

mod ask;
mod count;
mod entries;
mod give;
mod ground;
mod modelled;
mod outbox;
mod owned_counts;
mod real;
mod receive;
mod space;

pub use modelled::{Modelled, PassModel, Profile};
pub use real::Real;

pub(crate) use entries::itemsets;
pub(crate) use outbox::{Outbox, Ready};

use crate::items::Level;
use crate::node::link::Body;
use crate::node::stage::{Stage, Stages};
use crate::node::wire::Part;
use process::wire::Malformed;

/// What a step of work was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Transactions gone over.
    pub transactions: u64,
    /// Items in them.
    pub items: u64,
    /// Bytes that they take on a disk.
    pub bytes: u64,
    /// Candidates found in transactions.
    pub generated: u64,
    /// Candidates looked up and counted that came.
    pub probed: u64,
}

/// What there is to do in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassWork {
    /// Candidates of all nodes; none in pass 1.
    pub candidates: Option<u64>,
    pub stages: Stages,
    /// Times that the node goes over its transactions.
    pub scans: u64,
}

/// Which work a node does.
pub(crate) trait Work: Send {
    /// Forgets all but the transactions: the host has crashed.
    fn reset(&mut self);

    /// Prepares a pass, with the levels found before; nothing when it has no candidates.
    fn begin(&mut self, pass: u32, levels: &[Level]) -> Option<PassWork>;

    /// Begins to generate what is sent in a stage that all stages before have led to.
    fn start(&mut self, stage: Stage);

    /// Generates some more; says whether that was all.
    fn step(&mut self, out: &mut Outbox) -> (Effort, bool);

    /// Takes a part that came of `from` in this stage.
    fn receive(&mut self, from: usize, part: &Part, body: &Body) -> Result<Effort, Malformed>;

    /// All parts of a stage have come.
    fn complete(&mut self, stage: Stage);

    /// What the pass found, when all stages are complete.
    fn level(&mut self) -> Level;

    /// Bytes that the large itemsets of the pass take by now, or will as far as this node knows.
    fn found_bytes(&self) -> usize;

    /// Transactions of the node.
    fn transactions(&self) -> u64;
}
