//! The figures of a run from its tables.

use crate::invalid;
use ::figures::{Asked, Figures, jobs};
use pyo3::prelude::*;
use record::stored::ReadError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pyo3::create_exception!(_core, TableError, pyo3::exceptions::PyException);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TableError", module.py().get_type::<TableError>())?;
    module.add_function(wrap_pyfunction!(read_jobs, module)?)?;
    module.add_function(wrap_pyfunction!(read_figures, module)?)
}

fn unreadable(error: ReadError) -> PyErr {
    TableError::new_err(error.to_string())
}

/// The jobs of a run, as JSON.
#[pyfunction]
fn read_jobs(py: Python<'_>, run: PathBuf) -> PyResult<String> {
    let found = py.detach(|| jobs(&run)).map_err(unreadable)?;
    serde_json::to_string(&found).map_err(invalid)
}

/// The other figures of a run, as JSON; the rest is as in [`Asked`].
#[pyfunction]
fn read_figures(
    py: Python<'_>,
    run: PathBuf,
    incomplete: BTreeSet<String>,
    first_groups: BTreeMap<String, u64>,
    timed: BTreeSet<String>,
    tasks: usize,
) -> PyResult<String> {
    let asked = Asked { incomplete, first_groups, timed, tasks };
    let found = py.detach(|| Figures::of(&run, &asked)).map_err(unreadable)?;
    serde_json::to_string(&found).map_err(invalid)
}
