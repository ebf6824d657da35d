//! Random pipeline (document 003, slides 15 and 41): a chain through all destinations that ignores the
//! topology. Links that it uses repeatedly become bottlenecks, and the slowest hop sets the rate of all.

use crate::check::PlanError;
use crate::elastic::OwnedHop;
use crate::plan::{Hop, Plan};
use crate::route::Routes;
use crate::topology::{NodeId, Topology};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use units::Rate;

pub(crate) fn random(
    topology: &Topology,
    source: NodeId,
    destinations: &[NodeId],
    seed: u64,
) -> Result<Plan, PlanError> {
    let mut order = destinations.to_vec();
    order.shuffle(&mut Pcg64::seed_from_u64(seed));
    let parents = std::iter::once(&source).chain(&order);
    let hop = |(&parent, &child): (&NodeId, &NodeId)| {
        Ok(OwnedHop { parent, child, path: Routes::new(topology, parent).to(child)? })
    };
    let hops: Vec<OwnedHop> = parents.zip(&order).map(hop).collect::<Result<_, PlanError>>()?;
    let mut plan = Plan::new("random-pipeline", source, destinations);
    let rate = slowest(topology, &hops);
    if rate > Rate::default() {
        plan.push(rate, hops.iter().map(|hop| Hop { parent: hop.parent, child: hop.child, path: &hop.path }));
    }
    Ok(plan)
}

/// What the most crowded link, or host, leaves for each hop that uses it.
fn slowest(topology: &Topology, hops: &[OwnedHop]) -> Rate {
    let mut links = vec![0u64; topology.links_len()];
    let mut nodes = vec![0u64; topology.nodes_len()];
    for &link in hops.iter().flat_map(|hop| &hop.path) {
        links[link.index()] += 1;
        nodes[topology.tail(link).index()] += 1;
        nodes[topology.head(link).index()] += 1;
    }
    let link =
        topology.links().filter_map(|link| topology.capacity(link).as_bps().checked_div(links[link.index()]));
    let cap = |node: NodeId| topology.cap(node)?.as_bps().checked_div(nodes[node.index()]);
    Rate::from_bps(link.chain(topology.nodes().filter_map(cap)).min().unwrap_or(0))
}
