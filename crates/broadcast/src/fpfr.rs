//! Depth-first pipeline and FPFR, Fast Parallel File Replication (Izmailov et al., GGF-10, 2004; document
//! 003, slides 15–19 and 42). The pipeline is one traced tree; FPFR is traced trees as long as they span all
//! destinations.
//!
//! Only the description in document 003 was available, not the paper; open choices are those of
//! [`crate::tree_search`].

use crate::plan::Plan;
use crate::topology::{NodeId, Topology};
use crate::tree_search::TreeSearch;
use units::Rate;

pub(crate) fn depth_first(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Plan {
    spanning("depth-first", topology, source, destinations, 1)
}

pub(crate) fn fpfr(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Plan {
    spanning("fpfr", topology, source, destinations, usize::MAX)
}

fn spanning(name: &str, topology: &Topology, source: NodeId, destinations: &[NodeId], most: usize) -> Plan {
    let mut plan = Plan::new(name, source, destinations);
    let mut search = TreeSearch::new(topology, source, destinations);
    while plan.len() < most
        && let Some(rate) = search.next()
        && search.hops().len() == destinations.len()
    {
        plan.push(Rate::from_bps(rate), search.hops());
    }
    plan
}
