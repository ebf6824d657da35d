//! Settings that all nodes of a broadcast know from the start.

use super::chunks::Chunks;
use crate::algorithm::Algorithm;
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
    /// How plans are made.
    pub algorithm: Algorithm,
    /// The first plan, instead of one that is made; it counts while nobody is lost and no rate changes.
    pub plan: Option<Plan>,
    /// For the random pipeline.
    pub seed: u64,
    /// A parent's pace as a percentage of the plan's rate; nothing: no pace ([`super::pace`] says why 110).
    pub headroom: Option<u32>,
    /// What a host sends of the file to all of its children together; nothing: no bound.
    pub limit: Option<Rate>,
    /// Plan again when links turn out slower or faster than planned.
    pub replan: bool,
    /// A chunk that came takes its time on the host's disk before it is there.
    pub disk: bool,
    /// Members report so often.
    pub report: Time,
    /// A host that is silent for so long is planned around, and taken back when it speaks again.
    pub silence: Time,
    /// A host that is silent for so long has failed for good; so has a broadcast without its source and
    /// without its content.
    pub patience: Time,
    /// Nodes note how far they are so often, at the first report after it; nothing: never.
    pub sample: Option<Time>,
}

/// The default of [`Config::report`].
pub const REPORT: Time = Time::from_ms(250);
/// The default of [`Config::silence`].
pub const SILENCE: Time = Time::from_secs(3);
/// The default of [`Config::patience`]: an outage of a minute, and half of one to find each other again.
pub const PATIENCE: Time = Time::from_secs(90);
/// The default of [`Config::headroom`], in percent.
pub const HEADROOM: u32 = 110;
/// The default of [`Config::headroom`] on a topology that was measured, in percent.
pub const HEADROOM_MEASURED: u32 = 125;

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
            algorithm: Algorithm::Stable,
            plan: None,
            seed: 0,
            headroom: Some(HEADROOM),
            limit: None,
            replan: true,
            disk: false,
            report: REPORT,
            silence: SILENCE,
            patience: PATIENCE,
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
        if self.headroom.is_some_and(|percent| !(50..=1000).contains(&percent)) {
            return refuse("headroom", "0.5 to 10 are allowed");
        }
        if self.limit.is_some_and(|rate| rate.as_bps() < LIMIT_MIN) {
            return refuse("limit", "at least 1000 bit/s");
        }
        if self.report == Time::ZERO || self.silence < self.report.saturating_mul(3) {
            return refuse("silence", "at least three times that between two reports, which is above 0");
        }
        if self.patience < self.silence {
            return refuse("patience", "at least the silence after which a host is planned around");
        }
        Ok(())
    }

    /// The topology's host of a member.
    #[must_use]
    pub fn place(&self, host: HostId) -> Option<NodeId> {
        self.places.iter().find(|(of, _)| *of == host).map(|(_, node)| *node)
    }
}
