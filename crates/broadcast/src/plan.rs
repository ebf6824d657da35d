//! What a planner returns: trees of hosts that relay, each with the rate at which it carries its share of the
//! data (document 003, slides 16–18 and 22). Trees that leave hosts out are partial.
//!
//! A [`Hop`] is a transfer from host to host over links and switches. Plans of thousands of trees repeat most
//! of their hops, so each different one is kept once. How long stages last is in [`crate::stages`], the JSON
//! form in [`crate::plan_data`].

use crate::topology::{LinkId, NodeId, Topology};
use hashbrown::HashTable;
use units::Rate;

/// A transfer from one host to another as part of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop<'a> {
    /// The sender: the source, or a host that receives the same tree's data.
    pub parent: NodeId,
    /// The receiver.
    pub child: NodeId,
    /// The directed links between them, in order.
    pub path: &'a [LinkId],
}

/// Trees that carry different parts of the data at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it was made by.
    pub algorithm: String,
    /// The host that has the data.
    pub source: NodeId,
    /// The receivers.
    pub destinations: Vec<NodeId>,
    hops: Hops,
    trees: Vec<Tree>,
}

/// Some hops of a [`Plan`] from the source outwards, and the rate of each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    rate: Rate,
    hops: Vec<u32>,
}

/// A tree of a plan that can be asked for its hops.
#[derive(Clone, Copy, Debug)]
pub struct TreeRef<'a> {
    plan: &'a Plan,
    tree: &'a Tree,
}

impl<'a> TreeRef<'a> {
    /// How fast each hop carries data.
    pub fn rate(self) -> Rate {
        self.tree.rate
    }
    /// Number of hops, which is that of hosts that receive.
    pub fn len(self) -> usize {
        self.tree.hops.len()
    }
    /// Whether nobody receives.
    pub fn is_empty(self) -> bool {
        self.tree.hops.is_empty()
    }
    /// Its hops, in an order in which a parent has received before it sends.
    pub fn hops(self) -> impl ExactSizeIterator<Item = Hop<'a>> + Clone {
        self.tree.hops.iter().map(move |&hop| self.plan.hops.get(hop))
    }
    /// The receivers, in the same order.
    pub fn members(self) -> impl ExactSizeIterator<Item = NodeId> + Clone {
        self.hops().map(|hop| hop.child)
    }
}

impl Plan {
    /// A plan without trees.
    pub fn new(algorithm: &str, source: NodeId, destinations: &[NodeId]) -> Plan {
        Plan {
            algorithm: algorithm.to_owned(),
            source,
            destinations: destinations.to_vec(),
            hops: Hops::default(),
            trees: Vec::new(),
        }
    }

    /// Adds a tree; a hop's parent is the source or the child of an earlier one.
    pub fn push<'a>(&mut self, rate: Rate, hops: impl IntoIterator<Item = Hop<'a>>) {
        let hops = hops.into_iter().map(|hop| self.hops.add(hop)).collect();
        self.trees.push(Tree { rate, hops });
    }

    /// Number of trees.
    pub fn len(&self) -> usize {
        self.trees.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }
    /// All trees.
    pub fn trees(&self) -> impl ExactSizeIterator<Item = TreeRef<'_>> + Clone {
        self.trees.iter().map(|tree| TreeRef { plan: self, tree })
    }
    /// A tree by its place.
    pub fn tree(&self, index: usize) -> TreeRef<'_> {
        TreeRef { plan: self, tree: &self.trees[index] }
    }

    /// At which rate each destination receives, in the order of the destinations.
    pub fn rates(&self) -> Vec<Rate> {
        let nodes = self.hops.all.iter().map(|hop| hop.child).chain(self.destinations.iter().copied());
        let mut rates = vec![0u64; nodes.max().map_or(0, |most| most.index() + 1)];
        for tree in self.trees() {
            tree.members().for_each(|node| rates[node.index()] += tree.rate().as_bps());
        }
        self.destinations.iter().map(|node| Rate::from_bps(rates[node.index()])).collect()
    }

    /// At which rate a node receives.
    pub fn rate(&self, node: NodeId) -> Rate {
        let with = self.trees().filter(|tree| tree.members().any(|member| member == node));
        Rate::from_bps(with.map(|tree| tree.rate().as_bps()).sum())
    }

    /// The sum of what all destinations receive (document 003, slide 11).
    pub fn aggregate(&self) -> Rate {
        Rate::from_bps(self.trees().map(|tree| tree.rate().as_bps() * tree.len() as u64).sum())
    }

    /// How much each directed link of the topology carries.
    pub fn loads(&self, topology: &Topology) -> Vec<Rate> {
        let mut carried = vec![0u64; self.hops.all.len()];
        for tree in &self.trees {
            tree.hops.iter().for_each(|&hop| carried[hop as usize] += tree.rate.as_bps());
        }
        let mut loads = vec![0u64; topology.links_len()];
        for (hop, rate) in carried.into_iter().enumerate() {
            let path = self.hops.get(hop as u32).path;
            path.iter().for_each(|link| loads[link.index()] += rate);
        }
        loads.into_iter().map(Rate::from_bps).collect()
    }
}

/// No hop yet.
const NONE: u32 = u32::MAX;

/// Each different hop once.
#[derive(Clone, Debug, Default)]
struct Hops {
    all: Vec<Stored>,
    paths: Vec<LinkId>,
    /// The last hop over a link alone.
    direct: Vec<u32>,
    /// The last hop over several links to a node.
    last: Vec<u32>,
    /// Finds one by what it is.
    known: HashTable<u32>,
}

impl PartialEq for Hops {
    fn eq(&self, other: &Hops) -> bool {
        self.all == other.all && self.paths == other.paths
    }
}

impl Eq for Hops {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stored {
    parent: NodeId,
    child: NodeId,
    from: u32,
    to: u32,
}

impl Hops {
    fn get(&self, index: u32) -> Hop<'_> {
        stored(&self.all, &self.paths, index)
    }

    fn add(&mut self, hop: Hop<'_>) -> u32 {
        // Mostly one link, and the same hop as in a tree before.
        let (recent, at) = match hop.path {
            [link] => (&mut self.direct, link.index()),
            _ => (&mut self.last, hop.child.index()),
        };
        if at >= recent.len() {
            recent.resize(at + 1, NONE);
        }
        let index = recent[at];
        if index != NONE && self.get(index) == hop {
            return index;
        }
        let index = self.find(hop).unwrap_or_else(|| self.insert(hop));
        if hop.path.len() == 1 {
            self.direct[at] = index
        } else {
            self.last[at] = index
        }
        index
    }

    fn find(&self, hop: Hop<'_>) -> Option<u32> {
        self.known.find(digest(hop), |&index| self.get(index) == hop).copied()
    }

    fn insert(&mut self, hop: Hop<'_>) -> u32 {
        let from = self.paths.len() as u32;
        self.paths.extend_from_slice(hop.path);
        let to = u32::try_from(self.paths.len()).expect("fewer than 4 billion links in all hops");
        let index = self.all.len() as u32;
        self.all.push(Stored { parent: hop.parent, child: hop.child, from, to });
        let Hops { all, paths, known, .. } = self;
        known.insert_unique(digest(hop), index, |&index| digest(stored(all, paths, index)));
        index
    }
}

fn stored<'a>(all: &[Stored], paths: &'a [LinkId], index: u32) -> Hop<'a> {
    let Stored { parent, child, from, to } = all[index as usize];
    Hop { parent, child, path: &paths[from as usize..to as usize] }
}

/// Spreads hops over a table: any will do, and the order of a plan doesn't depend on it.
fn digest(hop: Hop<'_>) -> u64 {
    let mix =
        |sum: u64, number: u32| (sum.rotate_left(29) ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let ends = mix(mix(0, hop.parent.0), hop.child.0);
    hop.path.iter().fold(ends, |sum, link| mix(sum, link.0)).rotate_left(32)
}
