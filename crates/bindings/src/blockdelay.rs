//! A swap device that answers as late as remote memory. Numbers come and counters go.

use ::blockdelay::{Counters, Delay};
use farmem::cost::Cost;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use units::{Rate, Time};

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BlockDelay>()
}

/// I/Os, pages, nominal ps, waited ns, I/Os whose end was seen, the device's own ns for these.
type CountersTuple = (u64, u64, u64, u64, u64, u64);

fn plain(counters: Counters) -> CountersTuple {
    let Counters { requests, pages, nominal_ps, injected_ns, completed, own_ns } = counters;
    (requests, pages, nominal_ps, injected_ns, completed, own_ns)
}

/// A device whose reads and writes wait, until this is ended.
#[pyclass]
struct BlockDelay(Option<Delay>);

#[pymethods]
impl BlockDelay {
    /// Of the device of this number. Raises OSError, with the way out, where none can be had.
    #[new]
    fn new(major: u32, minor: u32, latency_ps: u64, rate_bps: u64) -> PyResult<Self> {
        if rate_bps == 0 {
            return Err(PyValueError::new_err("a bandwidth is above zero"));
        }
        let cost = Cost::new(Time::from_ps(latency_ps), Rate::from_bps(rate_bps));
        match Delay::new(major, minor, &cost) {
            Ok(delay) => Ok(Self(Some(delay))),
            Err(error) => Err(PyOSError::new_err(error.to_string())),
        }
    }

    /// Of reads and of writes; none after the end.
    fn counters(&self) -> PyResult<Vec<CountersTuple>> {
        match &self.0 {
            Some(delay) => Ok(delay.counters()?.map(plain).to_vec()),
            None => Ok(Vec::new()),
        }
    }

    /// Nothing waits any longer.
    fn end(&mut self) {
        self.0 = None;
    }
}
