//! A [`Plan`] as JSON, with nodes by name, so that other programs can make, read and draw plans.
//!
//! A hop is the list of nodes that it passes, from the parent to the child:
//! `{"algorithm": "stable", "source": "S", "destinations": ["A", "B"], "trees": [{"rate": 40000000, "hops":
//! [["S", "switch", "A"], ["A", "switch", "B"]]}]}`. Rates are in bit/s.

use crate::check::{self, PlanError};
use crate::plan::{Hop, Plan};
use crate::topology::{LinkId, NodeId, Topology};
use serde::{Deserialize, Serialize};
use units::Rate;

/// The JSON form of a [`Plan`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanData {
    /// What it was made by.
    pub algorithm: String,
    /// The host that has the data.
    pub source: String,
    /// The receivers.
    pub destinations: Vec<String>,
    /// Trees that carry different parts of the data.
    pub trees: Vec<TreeData>,
}

/// The JSON form of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeData {
    /// How fast each hop carries data, in bit/s.
    pub rate: u64,
    /// Hops from the source outwards, each as the nodes that it passes.
    pub hops: Vec<Vec<String>>,
}

impl Plan {
    /// With nodes by name.
    pub fn to_data(&self, topology: &Topology) -> PlanData {
        let name = |node: NodeId| topology.name(node).to_owned();
        let nodes = |hop: Hop<'_>| {
            let passed = hop.path.iter().map(|&link| name(topology.head(link)));
            std::iter::once(name(hop.parent)).chain(passed).collect()
        };
        let trees = self
            .trees()
            .map(|tree| TreeData { rate: tree.rate().as_bps(), hops: tree.hops().map(nodes).collect() });
        PlanData {
            algorithm: self.algorithm.clone(),
            source: name(self.source),
            destinations: self.destinations.iter().map(|&node| name(node)).collect(),
            trees: trees.collect(),
        }
    }

    /// Finds the nodes in `topology` and checks that the plan can be run on it.
    pub fn from_data(data: &PlanData, topology: &Topology) -> Result<Plan, PlanError> {
        let source = find(topology, &data.source)?;
        let destinations: Vec<NodeId> =
            data.destinations.iter().map(|name| find(topology, name)).collect::<Result<_, _>>()?;
        check::check_members(topology, source, &destinations)?;
        let mut plan = Plan::new(&data.algorithm, source, &destinations);
        for (number, tree) in data.trees.iter().enumerate() {
            let hops: Vec<(NodeId, NodeId, Vec<LinkId>)> =
                tree.hops.iter().map(|nodes| hop(topology, number, nodes)).collect::<Result<_, _>>()?;
            let hops = hops.iter().map(|(parent, child, path)| Hop { parent: *parent, child: *child, path });
            plan.push(Rate::from_bps(tree.rate), hops);
        }
        plan.check(topology)?;
        Ok(plan)
    }
}

/// The node of a name.
pub fn find(topology: &Topology, name: &str) -> Result<NodeId, PlanError> {
    topology.node(name).ok_or_else(|| PlanError::Unknown(name.to_owned()))
}

fn hop(
    topology: &Topology,
    tree: usize,
    nodes: &[String],
) -> Result<(NodeId, NodeId, Vec<LinkId>), PlanError> {
    let nodes: Vec<NodeId> = nodes.iter().map(|name| find(topology, name)).collect::<Result<_, _>>()?;
    let [parent, .., child] = nodes[..] else {
        return Err(PlanError::ShortHop { tree });
    };
    let link = |two: &[NodeId]| {
        topology.link(two[0], two[1]).ok_or_else(|| PlanError::NoLink {
            tree,
            from: topology.name(two[0]).to_owned(),
            to: topology.name(two[1]).to_owned(),
        })
    };
    Ok((parent, child, nodes.windows(2).map(link).collect::<Result<_, _>>()?))
}
