//! Rates in whole bits per second that links can carry, and trees for the capacity that is then left.

use crate::elastic::OwnedHop;
use crate::plan::{Hop, Plan};
use crate::residual::Residual;
use crate::topology::{NodeId, Topology};
use crate::tree_search::TreeSearch;
use units::Rate;

/// A tree that adds less than this part of the aggregate is left out.
const SHARE_MIN: u64 = 100_000;

/// Trees come with rates in bit/s, highest first.
pub(crate) fn plan(
    topology: &Topology,
    source: NodeId,
    destinations: &[NodeId],
    trees: Vec<(f64, &[OwnedHop])>,
) -> Plan {
    let mut plan = Plan::new("near", source, destinations);
    let mut residual = Residual::new(topology);
    let worth =
        |rate: u64, hops: usize, aggregate: Rate| rate * hops as u64 >= aggregate.as_bps() / SHARE_MIN;
    for (rate, hops) in trees {
        let hops = hops.iter().map(|hop| Hop { parent: hop.parent, child: hop.child, path: &hop.path });
        let rate = residual.take_up_to(hops.clone(), rate as u64);
        if rate > 0 {
            plan.push(Rate::from_bps(rate), hops);
        }
    }
    let mut search = TreeSearch::on(&residual, source, destinations);
    while let Some(rate) = search.next() {
        if worth(rate, search.hops().len(), plan.aggregate()) {
            plan.push(Rate::from_bps(rate), search.hops());
        }
    }
    plan
}
