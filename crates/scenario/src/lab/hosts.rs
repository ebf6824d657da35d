//! The settings of every host.

use super::Rule;
use crate::names::last_match;
use fabric::Graph;
use sim::HostConfig;
use units::Problem;

/// The settings of every host, in order.
///
/// # Errors
/// A host that no rule matches, or a setting that can't be.
pub fn all(rules: &[Rule<HostConfig>], seed: u64, graph: &Graph) -> Result<Vec<HostConfig>, Problem> {
    let host = |name| {
        let (config, rule) = last_match(rules, name, "hosts")?;
        config.of_host(name, seed).map_err(|problem| problem.within("config").within(("hosts", rule)))
    };
    graph.names().take(graph.hosts()).map(host).collect()
}
