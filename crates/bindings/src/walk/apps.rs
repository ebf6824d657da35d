//! What becomes of walks: the applications of [`walk::app`].

use super::{WalkGraph, bytes};
use crate::hold;
use ::walk::app::simrank::{DECAY, Fingerprints};
use ::walk::app::{Tally, communities, corpus, recommend};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Mutex;

/// Adds the classes and functions to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<WalkFingerprints>()?;
    module.add_class::<WalkVisits>()?;
    module.add_function(wrap_pyfunction!(walk_lines, module)?)?;
    module.add_function(wrap_pyfunction!(walk_sweep, module)?)?;
    module.add_function(wrap_pyfunction!(walk_communities, module)?)
}

/// The paths between `offsets`.
fn paths<'a>(nodes: &'a [u32], offsets: &'a [u64]) -> PyResult<impl Iterator<Item = &'a [u32]>> {
    let inside = offsets.last().is_none_or(|&end| end <= nodes.len() as u64);
    if !inside || !offsets.is_sorted() {
        return Err(PyValueError::new_err("offsets ascend and end with the nodes"));
    }
    Ok(offsets.windows(2).map(|ends| &nodes[ends[0] as usize..ends[1] as usize]))
}

/// Walks as lines of node numbers.
#[pyfunction]
fn walk_lines<'py>(
    py: Python<'py>,
    nodes: PyBuffer<u32>,
    offsets: PyBuffer<u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (nodes, offsets) = (nodes.to_vec(py)?, offsets.to_vec(py)?);
    let mut text = String::new();
    paths(&nodes, &offsets)?.for_each(|path| corpus::line(path, &mut text));
    Ok(PyBytes::new(py, text.as_bytes()))
}

/// The nodes around a seed that hold together, and their conductance, from the seed's scores.
#[pyfunction]
fn walk_sweep(
    py: Python<'_>,
    graph: &WalkGraph,
    nodes: PyBuffer<u32>,
    scores: PyBuffer<f64>,
) -> PyResult<(Vec<u32>, f64)> {
    let scores = scored(py, &nodes, &scores)?;
    let found = py.detach(|| communities::sweep(&graph.0, &scores, |_| true));
    Ok((found.nodes, found.conductance))
}

fn scored(py: Python<'_>, nodes: &PyBuffer<u32>, scores: &PyBuffer<f64>) -> PyResult<Vec<(u32, f64)>> {
    Ok(nodes.to_vec(py)?.into_iter().zip(scores.to_vec(py)?).collect())
}

/// A community for each node, as 32-bit numbers, the greatest for none. `scores` gives the nodes and scores
/// around a seed, or nothing.
#[pyfunction]
fn walk_communities<'py>(
    py: Python<'py>,
    graph: &WalkGraph,
    scores: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut raised = None;
    let labels = communities::all(&graph.0, |seed| {
        // After an error there is nothing to ask any more.
        if raised.is_some() {
            return None;
        }
        let asked = || {
            py.check_signals()?;
            let found = scores.call1((seed,))?.extract::<Option<(PyBuffer<u32>, PyBuffer<f64>)>>()?;
            found.map(|(nodes, scores)| scored(py, &nodes, &scores)).transpose()
        };
        asked().unwrap_or_else(|error| {
            raised = Some(error);
            None
        })
    });
    match raised {
        Some(error) => Err(error),
        None => Ok(bytes(py, labels.iter().map(|label| label.to_le_bytes()))),
    }
}

/// Walks of many nodes, to compare each with all.
#[pyclass(frozen)]
struct WalkFingerprints(Mutex<Fingerprints>);

#[pymethods]
impl WalkFingerprints {
    #[new]
    fn new() -> WalkFingerprints {
        WalkFingerprints(Mutex::default())
    }

    /// Adds walks; those of a node come one after another.
    fn add(&self, py: Python<'_>, nodes: PyBuffer<u32>, offsets: PyBuffer<u64>) -> PyResult<()> {
        let (nodes, offsets) = (nodes.to_vec(py)?, offsets.to_vec(py)?);
        let mut all = hold(&self.0);
        paths(&nodes, &offsets)?.for_each(|path| all.add(path));
        Ok(())
    }

    /// The `k` nodes most like `node`, with their similarity.
    fn top(&self, py: Python<'_>, node: u32, k: usize) -> Vec<(u32, f64)> {
        py.detach(|| hold(&self.0).top(node, k, DECAY))
    }
}

/// How often walks from each start visited each node.
#[pyclass(frozen)]
struct WalkVisits(Mutex<Tally>);

#[pymethods]
impl WalkVisits {
    #[new]
    fn new() -> WalkVisits {
        WalkVisits(Mutex::default())
    }

    /// Adds walks.
    fn add(&self, py: Python<'_>, nodes: PyBuffer<u32>, offsets: PyBuffer<u64>) -> PyResult<()> {
        let (nodes, offsets) = (nodes.to_vec(py)?, offsets.to_vec(py)?);
        let mut tally = hold(&self.0);
        for path in paths(&nodes, &offsets)? {
            path.iter().for_each(|&node| tally.add(path[0], node));
        }
        Ok(())
    }

    /// The `k` best among the nodes that walks from `liked` visited, liked ones left out. `offered` has a
    /// byte a node, 0 for what is not offered.
    fn recommend(
        &self,
        py: Python<'_>,
        liked: Vec<u32>,
        offered: PyBuffer<u8>,
        k: usize,
    ) -> PyResult<Vec<(u32, f64)>> {
        let offered = offered.to_vec(py)?;
        let lets = |node: u32| offered.get(node as usize).is_some_and(|&byte| byte != 0);
        Ok(recommend::recommend(&mut hold(&self.0), &liked, lets, k))
    }
}
