//! The stable broadcast algorithm (document 003, slides 21–24): traced trees, each with the rate of its
//! bottleneck, until no host can be reached. Trees that don't reach all hosts are partial.
//!
//! On trees whose links carry the same in both directions every host gets what it could get alone, and no
//! host lowers another's rate (slide 24). On other topologies it is not always the best plan: see
//! [`crate::near`].

use crate::plan::Plan;
use crate::topology::{NodeId, Topology};
use crate::tree_search::TreeSearch;
use units::Rate;

pub(crate) fn plan(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Plan {
    let mut plan = Plan::new("stable", source, destinations);
    let mut search = TreeSearch::new(topology, source, destinations);
    while let Some(rate) = search.next() {
        plan.push(Rate::from_bps(rate), search.hops());
    }
    plan
}
