//! Switches of ATM cells: what can't be.

use super::pfc::Way;
use crate::lab::{Change, Scenario};
use crate::names::Names;
use fabric::{Buffer, CellDiscard, CellsConfig, Graph, NodeId, Queue, Scheduler, SwitchConfig};
use units::Problem;

/// Cells that a port may hold at most: 3.5 GB.
const LIMIT_MAX: u32 = 1 << 26;
/// Bytes before a packet at most.
const ENCAPSULATION_MAX: u32 = 1000;

/// Refuses memory of a port that can't be.
pub(super) fn check_memory(config: &CellsConfig) -> Result<(), Problem> {
    let CellsConfig { limit, discard, threshold, encapsulation, .. } = *config;
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(Problem::new("limit", format!("{limit}: 1 to {LIMIT_MAX} cells are allowed")));
    }
    if discard == CellDiscard::Early && threshold > limit {
        let message = format!("{threshold}: up to the limit of {limit} cells is allowed");
        return Err(Problem::new("threshold", message));
    }
    if encapsulation > ENCAPSULATION_MAX {
        let message = format!("{encapsulation} B: up to {ENCAPSULATION_MAX} B are allowed");
        return Err(Problem::new("encapsulation", message));
    }
    Ok(())
}

/// Refuses a switch of cells whose other settings or links can't be.
pub(super) fn check(
    config: &SwitchConfig,
    graph: &Graph,
    node: NodeId,
    links: &[Way],
) -> Result<(), Problem> {
    if config.queue != (Queue::TailDrop {}) {
        let message = "a buffer of cells drops cells, as its discard says: the queue is tail-drop";
        return Err(Problem::new("queue", message));
    }
    if config.scheduler != (Scheduler::Fifo {}) {
        let message = "a port of cells has one queue: the scheduler is fifo";
        return Err(Problem::new("scheduler", message));
    }
    let neighbour = |link: &fabric::Link| if link.a == node { link.b } else { link.a };
    let mut joined = graph.links().iter().filter(|link| link.a == node || link.b == node).map(neighbour);
    if let Some(other) = joined.find(|other| !graph.is_host(*other)) {
        let message = format!(
            "{} is linked to {}: cells are followed through one switch, so its links lead to hosts",
            graph.name(node),
            graph.name(other)
        );
        return Err(Problem::new("buffer", message));
    }
    let mut rates = links.iter().flat_map(|(to, back)| [to.rate, back.rate]);
    let first = rates.next();
    if let Some(other) = rates.find(|rate| Some(*rate) != first) {
        let message = format!(
            "the links of {} have rates of {} and {other}: cells need one rate on all of them",
            graph.name(node),
            first.unwrap_or(other)
        );
        return Err(Problem::new("buffer", message));
    }
    Ok(())
}

/// Refuses what else a scenario asks of links of cells.
pub(crate) fn check_use(
    scenario: &Scenario,
    graph: &Graph,
    names: &Names<'_>,
    switches: &[SwitchConfig],
) -> Result<(), Problem> {
    let is_cells = |node: NodeId| {
        let index = (node.0 as usize).checked_sub(graph.hosts());
        index.is_some_and(|index| matches!(switches[index].buffer, Buffer::Cells(_)))
    };
    if !(graph.hosts() as u32..graph.nodes() as u32).any(|node| is_cells(NodeId(node))) {
        return Ok(());
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        let Change::Rate { a, b, .. } = &fault.change else { continue };
        let at = |problem: Problem| problem.within("change").within(("faults", index));
        let is_of_cells = |name| names.node(name).map(is_cells).map_err(at);
        if is_of_cells(a)? || is_of_cells(b)? {
            return Err(at(Problem::whole("links of cells keep their rate")));
        }
    }
    match scenario.jobs.iter().position(|job| job.work.kind().is_fluid()) {
        Some(index) => {
            let message = "fluid is not possible with a switch of cells, which needs packets";
            Err(Problem::new(["work", "model"], message).within(("jobs", index)))
        }
        None => Ok(()),
    }
}
