//! Quantities as text and as numbers, so that units are read in one place: the `units` crate.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::str::FromStr;
use units::{Bytes, Rate, Time};

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_time, module)?)?;
    module.add_function(wrap_pyfunction!(parse_rate, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(format_time, module)?)?;
    module.add_function(wrap_pyfunction!(format_rate, module)?)?;
    module.add_function(wrap_pyfunction!(format_bytes, module)?)
}

fn parse<Q: FromStr<Err: Display>>(text: &str) -> PyResult<Q> {
    text.parse().map_err(|error: Q::Err| PyValueError::new_err(error.to_string()))
}

/// `"10us"` to picoseconds.
#[pyfunction]
fn parse_time(text: &str) -> PyResult<u64> {
    parse::<Time>(text).map(Time::as_ps)
}

/// `"25Gbps"` to bits per second.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<u64> {
    parse::<Rate>(text).map(Rate::as_bps)
}

/// `"32MB"` to bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    parse::<Bytes>(text).map(Bytes::get)
}

/// Picoseconds to text, exactly.
#[pyfunction]
fn format_time(ps: u64) -> String {
    Time::from_ps(ps).to_string()
}

/// Bits per second to text, exactly.
#[pyfunction]
fn format_rate(bps: u64) -> String {
    Rate::from_bps(bps).to_string()
}

/// Bytes to text, exactly.
#[pyfunction]
fn format_bytes(size: u64) -> String {
    Bytes::new(size).to_string()
}
