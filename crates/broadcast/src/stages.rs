//! How a plan's trees send the data in stages (document 003, slide 23): stage 1 uses all trees T1 … Tn, stage
//! 2 all but Tn to send what Tn sent before, and so on. The members of a stage's last tree have all data at
//! its end.
//!
//! That needs trees whose members nest, T1 ⊇ T2 ⊇ …, as the stable algorithm makes them on symmetric trees.
//! Other plans have no stages: there each host asks for what its trees didn't bring.

use crate::plan::Plan;
use crate::topology::NodeId;
use units::{Bytes, Time};

/// A stage of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// It uses so many trees, the first ones.
    pub trees: usize,
    /// From when, counted from the start of the transfer.
    pub start: Time,
    /// Until when.
    pub end: Time,
    /// The hosts that have all data at its end.
    pub finished: Vec<NodeId>,
}

impl Plan {
    /// The stages of sending `size`; nothing when the trees' members don't nest. Hosts in no tree never
    /// finish.
    pub fn stages(&self, size: Bytes) -> Option<Vec<Stage>> {
        let mut stages = Vec::new();
        let (mut rate, mut ends) = (0, Vec::new());
        for tree in self.trees() {
            rate += tree.rate().as_bps();
            ends.push(units::Rate::from_bps(rate));
        }
        let mut start = Time::ZERO;
        let mut inner: Vec<NodeId> = Vec::new();
        for index in (0..self.len()).rev() {
            let mut members: Vec<NodeId> = self.tree(index).members().collect();
            members.sort_unstable();
            if !inner.iter().all(|node| members.binary_search(node).is_ok()) {
                return None;
            }
            let finished: Vec<NodeId> =
                members.iter().filter(|node| inner.binary_search(node).is_err()).copied().collect();
            inner = members;
            if !finished.is_empty() {
                let end = ends[index].time_for(size);
                stages.push(Stage { trees: index + 1, start, end, finished });
                start = end;
            }
        }
        Some(stages)
    }
}
