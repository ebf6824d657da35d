//! Flat tree (document 003, slides 3 and 15): the source sends to each destination separately, and shared
//! links are shared fairly. A slow destination costs the others little, but the source's own link is the
//! bottleneck.

use crate::check::PlanError;
use crate::elastic::{self, OwnedHop};
use crate::plan::Plan;
use crate::route::Routes;
use crate::topology::{NodeId, Topology};

pub(crate) fn plan(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Result<Plan, PlanError> {
    let routes = Routes::new(topology, source);
    let hop = |&child: &NodeId| Ok(OwnedHop { parent: source, child, path: routes.to(child)? });
    let hops: Vec<OwnedHop> = destinations.iter().map(hop).collect::<Result<_, PlanError>>()?;
    let mut plan = Plan::new("flat", source, destinations);
    elastic::push_layers(&mut plan, topology, &hops);
    Ok(plan)
}
