//! The Python extension module `incast._core`: what the Python package needs of the Rust crates.
//!
//! Thin: it turns JSON and numbers into calls and errors into exceptions, and decides nothing itself.

mod blockdelay;
mod broadcast;
mod broadcast_live;
mod broadcast_probe;
mod farmem;
mod figures;
mod flow_files;
mod heap;
mod levels;
mod live;
mod mine;
mod quantity;
mod scenario;
mod walk;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a caller said can't be.
fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What is in a mutex, even after a panic of another thread.
fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The module `incast._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    quantity::register(module)?;
    flow_files::register(module)?;
    heap::register(module)?;
    scenario::register(module)?;
    levels::register(module)?;
    figures::register(module)?;
    live::register(module)?;
    walk::register(module)?;
    mine::register(module)?;
    broadcast::register(module)?;
    broadcast_live::register(module)?;
    broadcast_probe::register(module)?;
    farmem::register(module)?;
    blockdelay::register(module)
}
