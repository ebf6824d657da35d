//! What all nodes of a broadcast know from the start: its settings, its hosts, its file and the network.

use super::chunks::Chunks;
use super::settings::Settings;
use crate::plan::Plan;
use crate::topology::{NodeId, Topology};
use process::HostId;
use units::{Problem, Rate, Time};

/// A broadcast.
#[derive(Clone, Debug)]
pub struct Config {
    /// The host that has the file.
    pub source: HostId,
    /// The receivers. When the source fails, the first of them that has everything takes its place.
    pub destinations: Vec<HostId>,
    /// Nodes listen there.
    pub port: u16,
    /// The file.
    pub chunks: Chunks,
    /// The network as far as it is known.
    pub topology: Topology,
    /// The topology's host of each of the source and destinations.
    pub places: Vec<(HostId, NodeId)>,
    /// The topology says nothing of rates: one switch, and hosts are measured by their first chunks.
    pub unknown: bool,
    /// What people set.
    pub settings: Settings,
    /// The first plan, instead of one that is made; it counts while nobody is lost and no rate changes.
    pub plan: Option<Plan>,
    /// For the random pipeline.
    pub seed: u64,
    /// What a host sends of the file to all of its children together; nothing: no bound.
    pub limit: Option<Rate>,
    /// Nodes note how far they are so often, at the first report after it; nothing: never.
    pub sample: Option<Time>,
}

/// The least of [`Config::limit`], in bit/s.
const LIMIT_MIN: u64 = 1000;

impl Config {
    /// A broadcast with the usual settings.
    #[must_use]
    pub fn new(
        source: HostId,
        destinations: Vec<HostId>,
        port: u16,
        chunks: Chunks,
        topology: Topology,
        places: Vec<(HostId, NodeId)>,
    ) -> Config {
        Config {
            source,
            destinations,
            port,
            chunks,
            topology,
            places,
            unknown: false,
            settings: Settings::default(),
            plan: None,
            seed: 0,
            limit: None,
            sample: None,
        }
    }

    /// Refuses what can't be: the field and what is allowed.
    ///
    /// # Errors
    /// The first field that can't be as it is.
    pub fn check(&self) -> Result<(), Problem> {
        let refuse = |field: &'static str, message: &str| Err(Problem::new(field, message));
        let mut hosts: Vec<HostId> = self.destinations.clone();
        hosts.sort_unstable();
        if hosts.is_empty() {
            return refuse("destinations", "there is none: at least one is needed");
        }
        if hosts.windows(2).any(|two| two[0] == two[1]) {
            return refuse("destinations", "a host is given twice");
        }
        if hosts.binary_search(&self.source).is_ok() {
            return refuse("destinations", "the source is one of them: it has the file");
        }
        if hosts.len() > super::wire::LIST_MAX {
            return refuse("destinations", "more than 10000");
        }
        let placed = |host: &HostId| {
            let mut at = self.places.iter().filter(|(of, _)| of == host);
            let known = at.next().is_some_and(|(_, node)| {
                node.index() < self.topology.nodes_len() && self.topology.is_host(*node)
            });
            known && at.next().is_none()
        };
        if !hosts.iter().chain([&self.source]).all(placed) {
            return refuse("places", "each host has one place in the topology, and it is a host there");
        }
        if self.limit.is_some_and(|rate| rate.as_bps() < LIMIT_MIN) {
            return refuse("limit", "at least 1000 bit/s");
        }
        self.settings.check()
    }

    /// The topology's host of a member.
    #[must_use]
    pub fn place(&self, host: HostId) -> Option<NodeId> {
        self.places.iter().find(|(of, _)| *of == host).map(|(_, node)| *node)
    }
}
