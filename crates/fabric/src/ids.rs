//! What the network calls its parts: nodes, ports and routes, by index.

/// A host or switch, by index: hosts first, then switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A port, by index. Ports of a node are neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

impl PortId {
    /// No port: where a packet has entered from a host's own stack.
    pub const NONE: PortId = PortId(u32::MAX);

    /// As an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet's position on its route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route(pub(crate) u32);

impl Route {
    /// As an index: positions are numbered from zero.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
