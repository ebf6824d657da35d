//! Random walks on a graph that is spread over servers: the graph, the walks, and how they are run.

use serde::{Deserialize, Serialize};
use units::Time;

/// Random walks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// Hosts, one server each; the order counts.
    pub servers: Vec<String>,
    /// The graph.
    pub graph: WalkGraph,
    /// Who owns which node.
    pub partition: Partition,
    /// Arcs that come and go while walks run, by time.
    pub changes: Vec<WalkChanges>,
    /// Finished walks that each node is to have.
    pub walks: u32,
    /// How long walks are.
    pub steps: WalkSteps,
    /// The probability that a step leads back to the start.
    pub restart: f64,
    /// node2vec's p and q.
    pub node2vec: Option<(f64, f64)>,
    /// A walk ends after so many steps, whatever its rule says.
    pub steps_max: u32,
    /// A lost walk is generated again.
    pub regenerate: bool,
    /// Where it goes then.
    pub retry: Retry,
    /// RQ: how walkers wait.
    pub queue: WalkQueue,
    /// Most walkers that wait at a server.
    pub limit: u64,
    /// RG: how losses are found.
    pub loss: WalkLoss,
    /// RG: how walkers are generated.
    pub generation: Generation,
    /// How walkers share datagrams.
    pub datagrams: WalkDatagrams,
    /// Datagrams carry a tag that only members can make.
    pub authenticate: bool,
    /// Walkers that a server serves side by side.
    pub workers: u32,
    /// How long things take: one for all servers, or one for each.
    pub costs: Vec<WalkCosts>,
    /// Time between snapshots of a source; without it, one at its end.
    pub snapshot: Option<Time>,
}

/// A graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WalkGraph {
    /// A stochastic block model, drawn from the seed.
    Blocks {
        /// Nodes of each block.
        sizes: Vec<u32>,
        /// The probability of an edge between block a and block b ≥ a, at `[a][b - a]`.
        probabilities: Vec<Vec<f64>>,
    },
    /// Its arcs.
    Arcs {
        /// Nodes are numbered below it.
        nodes: u32,
        /// Whether an arc goes one way only.
        directed: bool,
        /// (from, to).
        arcs: Vec<(u32, u32)>,
        /// One weight an arc; without them all are alike.
        weights: Option<Vec<f32>>,
    },
}

/// Who owns which node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partition {
    /// The first so many nodes belong to the first server, and so on.
    Ranges(Vec<u32>),
    /// The server of each node, from 0.
    Owners(Vec<u16>),
}

/// Arcs that come and go at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkChanges {
    /// When, since the job's start.
    pub at: Time,
    /// Arcs that are there from then on; one with a weight has three parts.
    pub set: Vec<(u32, u32, Option<f32>)>,
    /// Arcs that are not there from then on.
    pub remove: Vec<(u32, u32)>,
}

/// How long walks are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WalkSteps {
    /// So many steps.
    Fixed(u32),
    /// Stops with this probability before each step.
    Stop(f64),
}

/// Where a lost walk goes when it is generated again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// The same way.
    Same,
    /// It draws anew.
    Fresh,
}

/// Which walkers are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WalkQueue {
    /// Who finds the queue full.
    TailDrop {},
    /// Random early detection on entering.
    Red {
        /// Walkers below which none is dropped.
        min: f64,
        /// Walkers from which all are dropped; with `gentle`, from twice as many.
        max: f64,
        /// Probability reached at `max`.
        max_p: f64,
        /// Weight of a new length in the average; 1 is the length at the moment.
        weight: f64,
        /// Drops are spaced by a count.
        count: bool,
        /// Rise from `max_p` to 1 between `max` and twice `max`.
        gentle: bool,
    },
    /// Controlled delay on leaving.
    Codel {
        /// A standing wait up to this is accepted.
        target: Time,
        /// Waits above the target for so long are a standing queue.
        interval: Time,
    },
}

/// How a source finds losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkLoss {
    /// The timeout before the first walk has been confirmed.
    pub initial: Time,
    /// Least timeout.
    pub floor: Time,
    /// Instead of a timeout that follows how long walks take: the window's least and greatest age.
    pub window: Option<(Time, Time)>,
    /// A walker in the window counts at every check until its end is confirmed, and is given up after the window.
    pub repeated: bool,
    /// A drop on the server where the walker was born is known at once.
    pub direct: bool,
    /// Servers tell others of their drops.
    pub remote: bool,
    /// Attempts at a walk that may become overdue; documents of earlier versions don't say it: they knew no end.
    #[serde(default = "endless")]
    pub attempts: u16,
}

fn endless() -> u16 {
    u16::MAX
}

/// How a source generates walkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// When it sleeps.
    pub sleep: Sleep,
    /// Checks without a loss after which it sleeps no more.
    pub checks: u32,
    /// Length of a sleep, or of its step.
    pub time: Time,
    /// Longest sleep, where it varies.
    pub max: Time,
    /// Walkers between two checks.
    pub batch: u32,
    /// Most walkers of a source that are under way; nothing: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u64>,
}

/// When a source sleeps, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sleep {
    /// Never.
    Never,
    /// Always.
    Always,
    /// After a loss, always as long.
    Fixed,
    /// After a loss; longer and shorter by steps.
    Additive,
    /// After a loss; half the rate, then more of it by steps.
    Aimd,
}

/// How walkers share datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkDatagrams {
    /// Most walkers in one.
    pub walkers: u32,
    /// How long one waits for others while the server is busy.
    pub linger: Time,
}

/// How long things take on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkCosts {
    /// A step.
    pub step: Time,
    /// Taking a walker in and sending it on.
    pub walker: Time,
    /// Generating a walker.
    pub generate: Time,
    /// A walker that is dropped.
    pub drop: Time,
    /// A datagram that comes or goes.
    pub datagram: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_a_document_of_earlier_versions_know_no_end() {
        let text = r#"{"initial": 1, "floor": 1, "window": null, "repeated": false, "direct": true, "remote": false}"#;
        let loss: WalkLoss = serde_json::from_str(text).unwrap();
        assert_eq!(loss.attempts, u16::MAX);
    }
}
