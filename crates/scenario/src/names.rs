//! Names of a topology: looked up, and matched by patterns.

use crate::lab::Rule;
use fabric::{Fabric, Graph, NodeId, PortId};
use process::{HostId, Hosts};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Index;
use units::Problem;

/// Names of nodes, for many look-ups.
pub(crate) struct Names<'a> {
    graph: &'a Graph,
    nodes: BTreeMap<&'a str, NodeId>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Names<'a> {
        let nodes = graph.names().enumerate().map(|(index, name)| (name, NodeId(index as u32))).collect();
        Names { graph, nodes }
    }

    pub(crate) fn node(&self, name: &str) -> Result<NodeId, Problem> {
        self.find_node(name).map_err(Problem::whole)
    }

    fn find_node(&self, name: &str) -> Result<NodeId, String> {
        let node = self.nodes.get(name).copied();
        node.ok_or_else(|| format!("no host or switch is called {name:?}: there are {}", self.some()))
    }

    pub(crate) fn name(&self, host: u32) -> &str {
        self.graph.name(NodeId(host))
    }

    pub(crate) fn linked(&self, a: NodeId, b: NodeId) -> bool {
        self.graph.links().iter().any(|link| (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a))
    }

    /// A few names, to show what they look like.
    fn some(&self) -> String {
        let names: Vec<&str> = self.graph.names().collect();
        match names.as_slice() {
            [first, .., last] if names.len() > 4 => format!("{} nodes, {first} … {last}", names.len()),
            all => all.join(", "),
        }
    }
}

impl Hosts for Names<'_> {
    fn find(&self, name: &str) -> Result<HostId, String> {
        let node = self.find_node(name)?;
        if !self.graph.is_host(node) {
            return Err(format!("{name:?} is a switch: a host is needed"));
        }
        Ok(HostId(node.0))
    }
}

/// Whether `name` matches `pattern`, where `*` stands for any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(previous) = last.replace(piece) {
            let Some(at) = rest.find(previous) else { return false };
            rest = &rest[at + previous.len()..];
        }
    }
    match last {
        Some(piece) => rest.len() >= piece.len() && rest.ends_with(piece),
        None => rest.is_empty(),
    }
}

/// The settings of the last rule of the list `field` that matches `name`, and its index.
pub(crate) fn last_match<'a, T>(
    rules: &'a [Rule<T>],
    name: &str,
    field: &'static str,
) -> Result<(&'a T, usize), Problem> {
    let found = rules.iter().enumerate().rfind(|(_, rule)| matches(&rule.pattern, name));
    found
        .map(|(index, rule)| (&rule.config, index))
        .ok_or_else(|| Problem::new(field, format!("no rule matches {name}: begin with a rule for \"*\"")))
}

/// The order of names in which `host2` comes before `host10`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    pieces(a).cmp(pieces(b)).then_with(|| a.cmp(b))
}

/// Runs of digits, by their value, and of other characters.
fn pieces(name: &str) -> impl Iterator<Item = (usize, &str)> {
    let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let mut rest = name;
    std::iter::from_fn(move || {
        let is_number = digits(rest);
        let end = rest.find(|c: char| c.is_ascii_digit() != is_number).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        // Without leading zeros, a longer number is the greater.
        let piece = if is_number { piece.trim_start_matches('0') } else { piece };
        let length = if is_number { piece.len() } else { 0 };
        (end > 0).then_some((length, piece))
    })
}

/// Names of all ports: `node:peer`, and `#2`, `#3`… for parallel links. There may be a million of them: they
/// are one text.
pub(crate) struct PortNames {
    text: String,
    /// By port: where in the text its name ends. A loopback has none.
    ends: Vec<u32>,
}

impl PortNames {
    pub(crate) fn new<B: Copy + Default>(graph: &Graph, fabric: &Fabric<B>) -> PortNames {
        let mut names = PortNames { text: String::new(), ends: Vec::new() };
        let (mut last, mut seen) = (None, BTreeMap::new());
        // Ports of a node are neighbours.
        for port in fabric.ports() {
            let (node, peer) = fabric.ends(port);
            if last.replace(node) != Some(node) {
                seen.clear();
            }
            let count = seen.entry(peer).or_insert(0_u32);
            *count += 1;
            names.ends.resize(port.index(), names.text.len() as u32);
            for piece in [graph.name(node), ":", graph.name(peer)] {
                names.text.push_str(piece);
            }
            if *count > 1 {
                names.text.push_str(&format!("#{count}"));
            }
            names.ends.push(names.text.len() as u32);
        }
        names
    }

    /// A port's name, unless it is a loopback.
    pub(crate) fn get(&self, port: PortId) -> Option<&str> {
        let end = *self.ends.get(port.index())?;
        let begin = port.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        (begin < end).then(|| &self.text[begin as usize..end as usize])
    }

    /// All ports with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PortId, &str)> {
        (0..self.ends.len() as u32).map(PortId).filter_map(|port| Some((port, self.get(port)?)))
    }
}

impl Index<PortId> for PortNames {
    type Output = str;

    fn index(&self, port: PortId) -> &str {
        self.get(port).expect("a port of a link")
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, natural};

    #[test]
    fn numbers_in_names_count() {
        let sorted =
            ["", "a", "host", "host1", "host2", "host02b", "host10", "host10a2", "host10a10", "leaf1"];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(natural(a, b), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "leaf0"),
            ("leaf*", "leaf0"),
            ("*:host*", "leaf0:host3"),
            ("l*f*0", "leaf0"),
            ("a", "a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("leaf", "leaf0"), ("leaf*x", "leaf0"), ("*a*a", "a"), ("", "a"), ("ab*ba", "aba")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
