//! Levels of samples that no run wrote levels of.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use record::levels::{Cell, LEVELS, part};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("LEVELS", LEVELS)?;
    module.add_function(wrap_pyfunction!(port_levels, module)?)
}

/// The bytes of the part of `ports_levels` that belongs to these samples. `names` are those of the ports,
/// `ports` the number of each sample's port; `measured` has queue lengths, bytes sent, drops, marks, pauses.
#[pyfunction]
fn port_levels<'py>(
    py: Python<'py>,
    interval_ps: u64,
    names: Vec<String>,
    ports: PyBuffer<u32>,
    times_ps: PyBuffer<u64>,
    measured: [PyBuffer<u64>; 5],
) -> PyResult<Bound<'py, PyBytes>> {
    let (ports, times_ps) = (ports.to_vec(py)?, times_ps.to_vec(py)?);
    let mut columns = Vec::new();
    for column in &measured {
        columns.push(column.to_vec(py)?);
    }
    let rows = ports.len();
    let fits = columns.iter().chain([&times_ps]).all(|column| column.len() == rows);
    if interval_ps == 0 || !fits || ports.iter().any(|&port| port as usize >= names.len()) {
        return Err(PyValueError::new_err("samples have a port, a time and five numbers, some time apart"));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let cell = |row: usize| Cell {
        port: ports[row],
        time_ps: times_ps[row],
        queue_min_bytes: columns[0][row],
        queue_max_bytes: columns[0][row],
        sent_bytes: columns[1][row],
        drops: columns[2][row],
        marks: columns[3][row],
        paused_ps: columns[4][row],
    };
    let bytes = py.detach(|| part((0..rows).map(cell), interval_ps, &names));
    Ok(PyBytes::new(py, &bytes))
}
