//! Coflow traces and flow size distributions, read by the `traffic` crate, and the flows that it packs.

use crate::invalid;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use traffic::{Cdf, Flow, Flows, coflow, flows, sizes};
use units::Time;

create_exception!(
    _core,
    FlowFileError,
    PyValueError,
    "A file of flows that can't be read: line, field, message."
);

/// Coflow: id, picoseconds, mappers' racks, reducers' racks and bytes.
type Coflow = (u64, u64, Vec<u32>, Vec<(u32, u64)>);

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FlowFileError", module.py().get_type::<FlowFileError>())?;
    module.add_function(wrap_pyfunction!(parse_coflows, module)?)?;
    module.add_function(wrap_pyfunction!(parse_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(published_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(check_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(pack_flows, module)?)?;
    module.add_function(wrap_pyfunction!(packed_bytes, module)?)
}

/// Flows as a scenario has them: their hosts, each once, and the text of all the rest, sorted by time. Takes
/// tuples of time in picoseconds, sender, receiver, bytes and group.
#[pyfunction]
fn pack_flows(flows: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, String)> {
    let flow = |flow: PyResult<Bound<'_, PyAny>>| {
        let (at, from, to, bytes, group) = flow?.extract()?;
        Ok(Flow { at: Time::from_ps(at), from, to, bytes, group })
    };
    let packed = flows.try_iter()?.map(flow).collect::<PyResult<Flows<String>>>()?.sorted();
    let (hosts, rows) = packed.packed();
    Ok((hosts.to_vec(), rows.to_owned()))
}

/// Bytes of all the flows of such a text.
#[pyfunction]
fn packed_bytes(rows: &str) -> PyResult<u64> {
    flows::bytes(rows).ok_or_else(|| invalid("these are no packed flows"))
}

/// The coflows of a trace in the FB2010 format.
#[pyfunction]
fn parse_coflows(text: &[u8]) -> PyResult<Vec<Coflow>> {
    let trace = coflow::parse(text).map_err(|error| {
        FlowFileError::new_err((error.line, error.field.clone(), error.problem.to_string()))
    })?;
    Ok(trace.coflows.into_iter().map(|c| (c.id, c.at.as_ps(), c.mappers, c.reducers)).collect())
}

/// The points of a distribution as text: `bytes probability` a line.
#[pyfunction]
fn parse_sizes(text: &str) -> PyResult<Vec<(u64, f64)>> {
    let cdf = sizes::parse(text).map_err(invalid)?;
    Ok(cdf.points().to_vec())
}

/// The points of a published distribution.
#[pyfunction]
fn published_sizes(name: &str) -> PyResult<Vec<(u64, f64)>> {
    match name {
        "web-search" => Ok(sizes::WEB_SEARCH.to_vec()),
        "data-mining" => Ok(sizes::DATA_MINING.to_vec()),
        _ => Err(PyValueError::new_err(format!("{name:?} is not a published distribution"))),
    }
}

/// Refuses points that are no distribution.
#[pyfunction]
fn check_sizes(points: Vec<(u64, f64)>) -> PyResult<()> {
    Cdf::new(&points).map(|_| ()).map_err(invalid)
}
