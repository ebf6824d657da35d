//! The heap of Rust and Python, for commands that are a process's whole work: what they free goes back.

use pyo3::prelude::*;

/// Bytes of a block that is worth two system calls: with less, mining is measurably slower.
const LARGE_BLOCK: u32 = 512 << 10;

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(return_blocks, module)?)?;
    module.add_function(wrap_pyfunction!(give_back, module)?)
}

/// From now on the process holds no more of what it has freed than the heap's small pieces.
#[pyfunction]
fn return_blocks() {
    sys::heap::return_blocks_from(LARGE_BLOCK);
}

/// Gives the kernel back what is free in the heap: what comes next may use another, as Polars does.
#[pyfunction]
fn give_back(py: Python<'_>) {
    py.detach(sys::heap::give_back);
}
