//! The topologies that people name: single switch, dumbbell, leaf–spine, fat tree.

use super::graph::{Graph, Link, LinkProps, TopologyError};
use crate::ids::NodeId;

/// Largest number of nodes of a built topology: bounds memory on a slip of the keyboard.
const MAX_NODES: u64 = 1 << 20;
/// Largest number of links between its switches.
const MAX_UPLINKS: u64 = 1 << 22;

struct Builder {
    hosts: Vec<String>,
    switches: Vec<String>,
    links: Vec<Link>,
}

impl Builder {
    fn new(hosts: impl IntoIterator<Item = String>, switches: impl IntoIterator<Item = String>) -> Builder {
        Builder {
            hosts: hosts.into_iter().collect(),
            switches: switches.into_iter().collect(),
            links: Vec::new(),
        }
    }

    fn host(&self, index: u32) -> NodeId {
        NodeId(index)
    }

    fn switch(&self, index: u32) -> NodeId {
        NodeId(self.hosts.len() as u32 + index)
    }

    fn link(&mut self, a: NodeId, b: NodeId, props: LinkProps) {
        self.links.push(Link { a, b, ab: props, ba: props });
    }

    fn finish(self) -> Result<Graph, TopologyError> {
        Graph::new(self.hosts, self.switches, self.links)
    }
}

fn numbered(prefix: &'static str, count: u32) -> impl Iterator<Item = String> {
    (0..count).map(move |i| format!("{prefix}{i}"))
}

fn check(ok: bool, message: impl Into<String>) -> Result<(), TopologyError> {
    if ok { Ok(()) } else { Err(TopologyError::Size(message.into())) }
}

fn check_size(nodes: u64) -> Result<(), TopologyError> {
    check(nodes <= MAX_NODES, format!("{nodes} nodes are too many: at most {MAX_NODES}"))
}

/// `host0…` on `switch0`.
///
/// # Errors
/// No hosts, or too many.
pub fn single_switch(hosts: u32, host_link: LinkProps) -> Result<Graph, TopologyError> {
    check(hosts > 0, "hosts is 0: at least 1 is needed")?;
    check_size(u64::from(hosts) + 1)?;
    let mut b = Builder::new(numbered("host", hosts), numbered("switch", 1));
    for host in 0..hosts {
        b.link(b.host(host), b.switch(0), host_link);
    }
    b.finish()
}

/// `left0…` on `switch0`, `right0…` on `switch1`, one link between the two.
///
/// # Errors
/// No hosts on a side, or too many.
pub fn dumbbell(
    left: u32,
    right: u32,
    host_link: LinkProps,
    bottleneck: LinkProps,
) -> Result<Graph, TopologyError> {
    check(left > 0 && right > 0, "a dumbbell needs at least 1 host on each side")?;
    check_size(u64::from(left) + u64::from(right) + 2)?;
    let mut b = Builder::new(numbered("left", left).chain(numbered("right", right)), numbered("switch", 2));
    for host in 0..left + right {
        b.link(b.host(host), b.switch(u32::from(host >= left)), host_link);
    }
    b.link(b.switch(0), b.switch(1), bottleneck);
    b.finish()
}

/// Leaves of the given sizes, each joined to every spine by `parallel` links.
///
/// # Errors
/// No leaves or spines where they are needed, or too many nodes or uplinks.
pub fn leaf_spine(
    leaves: &[u32],
    spines: u32,
    parallel: u32,
    host_link: LinkProps,
    uplink: LinkProps,
) -> Result<Graph, TopologyError> {
    let hosts: u64 = leaves.iter().map(|&n| u64::from(n)).sum();
    check(!leaves.is_empty() && hosts > 0, "leaves is empty: at least one leaf with a host is needed")?;
    check(spines > 0 && parallel > 0, "spines and uplinks_per_spine are at least 1")?;
    check_size(hosts + leaves.len() as u64 + u64::from(spines))?;
    let uplinks = (leaves.len() as u64 * u64::from(spines)).saturating_mul(parallel.into());
    check(uplinks <= MAX_UPLINKS, format!("{uplinks} uplinks are too many: at most {MAX_UPLINKS}"))?;
    let leaf_count = leaves.len() as u32;
    let mut b = Builder::new(
        numbered("host", hosts as u32),
        numbered("leaf", leaf_count).chain(numbered("spine", spines)),
    );
    let mut host = 0;
    for (leaf, &size) in leaves.iter().enumerate() {
        for _ in 0..size {
            b.link(b.host(host), b.switch(leaf as u32), host_link);
            host += 1;
        }
    }
    for leaf in 0..leaf_count {
        for spine in 0..spines {
            for _ in 0..parallel {
                b.link(b.switch(leaf), b.switch(leaf_count + spine), uplink);
            }
        }
    }
    b.finish()
}

/// The fat tree of Al-Fares, Loukissas & Vahdat (SIGCOMM 2008): `k` pods of k/2 edge and k/2
/// aggregation switches, (k/2)² cores, k³/4 hosts.
///
/// # Errors
/// An odd `k`, or one under 2 or too large.
pub fn fat_tree(k: u32, host_link: LinkProps, fabric_link: LinkProps) -> Result<Graph, TopologyError> {
    check(
        k >= 2 && k.is_multiple_of(2),
        format!("k is {k}: a fat tree needs an even number of ports, at least 2"),
    )?;
    check(k <= 128, format!("k is {k}: at most 128"))?;
    let half = k / 2;
    let (hosts, edges, cores) = (k * half * half, k * half, half * half);
    check_size(u64::from(hosts) + 2 * u64::from(edges) + u64::from(cores))?;
    let switches = numbered("edge", edges).chain(numbered("agg", edges)).chain(numbered("core", cores));
    let mut b = Builder::new(numbered("host", hosts), switches);
    for host in 0..hosts {
        b.link(b.host(host), b.switch(host / half), host_link);
    }
    for edge in 0..edges {
        let pod = edge / half;
        for up in 0..half {
            b.link(b.switch(edge), b.switch(edges + pod * half + up), fabric_link);
        }
    }
    for agg in 0..edges {
        for up in 0..half {
            b.link(b.switch(edges + agg), b.switch(2 * edges + (agg % half) * half + up), fabric_link);
        }
    }
    b.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Rate, Time};

    const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 1500 };

    #[test]
    fn fat_tree_has_the_papers_numbers() {
        let graph = fat_tree(4, LINK, LINK).unwrap();
        assert_eq!((graph.hosts(), graph.nodes(), graph.links().len()), (16, 36, 48));
        let graph = fat_tree(8, LINK, LINK).unwrap();
        assert_eq!((graph.hosts(), graph.nodes()), (128, 128 + 80));
        assert!(fat_tree(3, LINK, LINK).is_err());
    }

    #[test]
    fn leaves_may_differ_in_size() {
        let graph = leaf_spine(&[2, 5], 3, 2, LINK, LINK).unwrap();
        assert_eq!((graph.hosts(), graph.nodes(), graph.links().len()), (7, 12, 7 + 2 * 3 * 2));
        assert_eq!(graph.name(NodeId(7)), "leaf0");
        assert_eq!(graph.find("spine2"), Some(NodeId(11)));
    }

    #[test]
    fn bad_sizes_are_refused() {
        assert!(leaf_spine(&[], 1, 1, LINK, LINK).is_err());
        assert!(single_switch(0, LINK).is_err());
        assert!(single_switch(u32::MAX, LINK).is_err());
        assert!(leaf_spine(&[u32::MAX, u32::MAX], 1, 1, LINK, LINK).is_err());
        assert!(leaf_spine(&[2, 2], 1 << 19, u32::MAX, LINK, LINK).is_err());
        let idle = LinkProps { rate: Rate::from_bps(0), ..LINK };
        assert!(matches!(dumbbell(1, 1, LINK, idle), Err(TopologyError::NoRate(..))));
    }
}
