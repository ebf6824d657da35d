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

/// Some flows by columns: picoseconds, senders, receivers, bytes and groups.
type Columns = (Vec<u64>, Vec<String>, Vec<String>, Vec<u64>, Vec<u64>);

/// Flows as a scenario has them: their hosts, each once, and the text of all the rest, sorted by time. Takes
/// parts of their list, by columns of equal length.
#[pyfunction]
fn pack_flows(parts: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, String)> {
    let flows = |part: PyResult<Bound<'_, PyAny>>| -> PyResult<_> {
        let (at, from, to, bytes, group): Columns = part?.extract()?;
        let ends = from.into_iter().zip(to);
        let rest = at.into_iter().zip(bytes).zip(group);
        Ok(ends.zip(rest).map(|((from, to), ((at, bytes), group))| Flow {
            at: Time::from_ps(at),
            from,
            to,
            bytes,
            group,
        }))
    };
    let mut failed = Ok(());
    let read = parts.try_iter()?.map(flows).map_while(|part| part.map_err(|error| failed = Err(error)).ok());
    let packed: Flows<String> = read.flatten().collect();
    failed?;
    let packed = packed.sorted();
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
