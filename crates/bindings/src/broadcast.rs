//! Plans and bounds of a broadcast, and what linear programs need for them. Topologies and plans are JSON.

use crate::invalid;
use crate::live::read;
use crate::scenario::json;
use broadcast::algorithm::{self, Algorithm};
use broadcast::arborescence;
use broadcast::bound;
use broadcast::plan::Plan;
use broadcast::plan_data::{PlanData, find};
use broadcast::topology::{NodeId, Topology};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(broadcast_algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_plan, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_bound, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_check, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_arborescence, module)?)
}

fn nodes(topology: &Topology, source: &str, destinations: &[String]) -> PyResult<(NodeId, Vec<NodeId>)> {
    let find = |name: &str| find(topology, name).map_err(invalid);
    let destinations = destinations.iter().map(|name| find(name)).collect::<PyResult<_>>()?;
    Ok((find(source)?, destinations))
}

/// Names of all planners.
#[pyfunction]
fn broadcast_algorithms() -> Vec<&'static str> {
    Algorithm::ALL.map(Algorithm::name).to_vec()
}

/// The plan of an algorithm, as JSON; the seed is that of random orders. Raises ValueError for what can't be
/// planned.
#[pyfunction]
fn broadcast_plan(
    py: Python<'_>,
    topology: &str,
    source: &str,
    destinations: Vec<String>,
    algorithm: &str,
    seed: u64,
) -> PyResult<String> {
    let topology: Topology = read(topology)?;
    let (source, destinations) = nodes(&topology, source, &destinations)?;
    let algorithm: Algorithm = algorithm.parse().map_err(invalid)?;
    py.detach(|| {
        let plan = algorithm::plan(algorithm, &topology, source, &destinations, seed).map_err(invalid)?;
        json(&plan.to_data(&topology))
    })
}

/// What each destination could get alone, in bit/s.
#[pyfunction]
fn broadcast_bound(
    py: Python<'_>,
    topology: &str,
    source: &str,
    destinations: Vec<String>,
) -> PyResult<Vec<u64>> {
    let topology: Topology = read(topology)?;
    let (source, destinations) = nodes(&topology, source, &destinations)?;
    let rates = py.detach(|| bound::alone(&topology, source, &destinations)).map_err(invalid)?;
    Ok(rates.into_iter().map(|rate| rate.as_bps()).collect())
}

/// Raises ValueError for a plan that can't be run on the topology.
#[pyfunction]
fn broadcast_check(topology: &str, plan: &str) -> PyResult<()> {
    let topology: Topology = read(topology)?;
    let data: PlanData = read(plan)?;
    Plan::from_data(&data, &topology).map(|_| ()).map_err(invalid)
}

/// The parent of each node in the cheapest tree from node 0, by a square array of costs from each to each.
#[pyfunction]
fn broadcast_arborescence(py: Python<'_>, costs: PyBuffer<f64>) -> PyResult<Vec<usize>> {
    let (costs, nodes) = (costs.to_vec(py)?, costs.shape()[0]);
    let rows: Vec<_> = costs.chunks(nodes).map(<[f64]>::to_vec).collect();
    Ok(py.detach(|| arborescence::cheapest(&rows)))
}
