//! Quantities as text and as numbers, so that units are read in one place: the `units` crate.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use units::{Bytes, Rate, Time};

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_time, module)?)?;
    module.add_function(wrap_pyfunction!(parse_times, module)?)?;
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

/// A column of texts, each without its `unit`, to picoseconds, and what is wrong with those of some rows,
/// which have 0. One call for all: a list may have millions.
#[pyfunction]
fn parse_times(texts: Vec<Option<PyBackedStr>>, unit: &str) -> (Vec<u64>, BTreeMap<usize, String>) {
    let mut wrong = BTreeMap::new();
    let mut written = String::new();
    let times = texts.iter().enumerate().map(|(row, text)| {
        written.clear();
        written.push_str(text.as_deref().unwrap_or_default().trim());
        written.push_str(unit);
        match written.parse::<Time>() {
            Ok(time) => time.as_ps(),
            Err(error) => {
                wrong.insert(row, error.to_string());
                0
            }
        }
    });
    (times.collect(), wrong)
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
