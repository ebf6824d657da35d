//! The owner of each node: given one by one, as ranges of any size, or as METIS writes it (one partition
//! number a line, in the order of nodes; METIS manual 5.1, section 4.2).

use thiserror::Error;

/// The owner of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    owners: Vec<u16>,
    servers: u16,
}

/// A partition that can't be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PartitionError {
    /// A partition number that no server has.
    #[error("node {node}: server {owner} is outside 0–{}", i32::from(*servers) - 1)]
    Server {
        /// The node.
        node: u32,
        /// Its owner.
        owner: u16,
        /// How many servers there are.
        servers: u16,
    },
    /// A line that is no partition number.
    #[error("line {line}: {text:?} is not a server's number, 0–65534")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What it says.
        text: String,
    },
    /// Too few or too many owners.
    #[error("{owners} owners for {nodes} nodes")]
    Length {
        /// Owners that are given.
        owners: u64,
        /// Nodes of the graph.
        nodes: u32,
    },
    /// No server at all.
    #[error("a partition has at least one server")]
    Empty,
}

impl Partition {
    /// From the owner of each node.
    pub fn new(owners: Vec<u16>, servers: u16) -> Result<Self, PartitionError> {
        if servers == 0 {
            return Err(PartitionError::Empty);
        }
        match (0u32..).zip(&owners).find(|(_, owner)| **owner >= servers) {
            Some((node, &owner)) => Err(PartitionError::Server { node, owner, servers }),
            None => Ok(Self { owners, servers }),
        }
    }

    /// The first `sizes[0]` nodes to server 0, and so on.
    pub fn ranges(sizes: &[u32]) -> Result<Self, PartitionError> {
        let servers = u16::try_from(sizes.len()).unwrap_or(u16::MAX);
        let owners = (0u16..).zip(sizes).flat_map(|(owner, &size)| std::iter::repeat_n(owner, size as usize));
        Self::new(owners.collect(), servers)
    }

    /// Ranges as even as can be.
    pub fn even(nodes: u32, servers: u16) -> Result<Self, PartitionError> {
        let end = |server: u64| (u64::from(nodes) * server / u64::from(servers.max(1))) as u32;
        let sizes: Vec<u32> = (0..u64::from(servers)).map(|server| end(server + 1) - end(server)).collect();
        Self::ranges(&sizes)
    }

    /// From the text of a METIS partition file for a graph of `nodes` nodes. There are as many servers as the
    /// largest number says.
    pub fn metis(text: &str, nodes: u32) -> Result<Self, PartitionError> {
        let mut owners = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            let owner = text.parse::<u16>().ok().filter(|&owner| owner < u16::MAX);
            owners.push(owner.ok_or_else(|| PartitionError::Line { line, text: text.to_owned() })?);
        }
        if owners.len() as u64 != u64::from(nodes) {
            return Err(PartitionError::Length { owners: owners.len() as u64, nodes });
        }
        let servers = owners.iter().max().map_or(0, |&owner| owner + 1);
        Self::new(owners, servers)
    }

    /// The server that owns `node`.
    pub fn owner(&self, node: u32) -> Option<u16> {
        self.owners.get(node as usize).copied()
    }

    /// How many servers there are; some may own nothing.
    pub fn servers(&self) -> u16 {
        self.servers
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.owners.len() as u32
    }

    /// How many nodes each server owns.
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; usize::from(self.servers)];
        self.owners.iter().for_each(|&owner| sizes[usize::from(owner)] += 1);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_uneven_as_asked() {
        let partition = Partition::ranges(&[1, 0, 3]).unwrap();
        assert_eq!(
            (partition.sizes(), partition.owner(1), partition.owner(4)),
            (vec![1, 0, 3], Some(2), None)
        );
        assert_eq!(Partition::even(10, 4).unwrap().sizes(), [2, 3, 2, 3]);
        assert_eq!(Partition::ranges(&[]), Err(PartitionError::Empty));
    }

    #[test]
    fn a_metis_file_is_checked_line_by_line() {
        assert_eq!(Partition::metis("0\n2\n 1\n", 3).unwrap().sizes(), [1, 1, 1]);
        let refuse = |text| Partition::metis(text, 2).unwrap_err().to_string();
        assert_eq!(refuse("0\nx 1\n"), "line 2: \"x 1\" is not a server's number, 0–65534");
        assert_eq!(refuse("0\n-1\n"), "line 2: \"-1\" is not a server's number, 0–65534");
        assert_eq!(refuse("0\n"), "1 owners for 2 nodes");
        assert_eq!(refuse("0\n0\n1\n"), "3 owners for 2 nodes");
    }

    #[test]
    fn owners_are_servers() {
        let refused = Partition::new(vec![0, 3], 3).unwrap_err();
        assert_eq!(refused.to_string(), "node 1: server 3 is outside 0–2");
    }
}
