//! Plans of broadcasts: topologies and plans come and go as JSON; see [`broadcast::topology`], [`broadcast::plan_data`].

use ::broadcast::algorithm::{self, Algorithm};
use ::broadcast::check::PlanError;
use ::broadcast::plan::Plan;
use ::broadcast::plan_data::{PlanData, find};
use ::broadcast::topology::Topology;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use std::fmt::Display;

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(broadcast_algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_plan, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_check, module)?)
}

fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn read<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(refused)
}

/// Names of all planners.
#[pyfunction]
fn broadcast_algorithms() -> Vec<&'static str> {
    Algorithm::ALL.map(Algorithm::name).to_vec()
}

/// The plan that an algorithm makes; the seed is that of random orders.
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
    let named = Algorithm::ALL.into_iter().find(|each| each.name() == algorithm);
    let algorithm = named.ok_or_else(|| refused(format!("{algorithm:?} is no planner")))?;
    let made = || {
        let source = find(&topology, source)?;
        let found: Result<Vec<_>, PlanError> =
            destinations.iter().map(|name| find(&topology, name)).collect();
        algorithm::plan(algorithm, &topology, source, &found?, seed)
    };
    let plan = py.detach(made).map_err(refused)?;
    serde_json::to_string(&plan.to_data(&topology)).map_err(refused)
}

/// Refuses a plan that can't be run on the topology, and says why.
#[pyfunction]
fn broadcast_check(topology: &str, plan: &str) -> PyResult<()> {
    let plan: PlanData = read(plan)?;
    Plan::from_data(&plan, &read(topology)?).map(drop).map_err(refused)
}
