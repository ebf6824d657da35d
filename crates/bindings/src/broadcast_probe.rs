//! A host's part in a measurement of bandwidths, and the topology that comes of it.

use crate::hold;
use crate::live::{LiveMember, read};
use crate::scenario::json;
use broadcast::infer::infer;
use broadcast::probe::{Board, PORT, Prober, Sample, Setup, rounds};
use broadcast::topology::TopologyData;
use process::HostId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Adds measurements to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PROBE_PORT", PORT)?;
    module.add_class::<ProbeMember>()?;
    module.add_function(wrap_pyfunction!(broadcast_infer, module)?)
}

/// A host that measures.
#[pyclass(frozen)]
pub struct ProbeMember {
    prober: Mutex<Option<Prober>>,
    board: Board,
    name: String,
    length_s: f64,
}

#[pymethods]
impl ProbeMember {
    /// Of hosts by number, with the same seed at all of them.
    #[new]
    fn new(hosts: Vec<u32>, name: String, seed: u64) -> ProbeMember {
        let hosts: Vec<HostId> = hosts.into_iter().map(HostId).collect();
        let setup = Setup::new(rounds(&hosts, seed));
        let length_s = setup.length().as_secs_f64();
        let prober = Prober::new(Arc::new(setup));
        ProbeMember { board: prober.board(), prober: Mutex::new(Some(prober)), name, length_s }
    }

    /// Takes part until told to stop; returns the member's report.
    fn run(&self, py: Python<'_>, member: &LiveMember, begin: &str, progress: Py<PyAny>) -> PyResult<String> {
        let prober = hold(&self.prober).take();
        let prober = prober.ok_or_else(|| PyValueError::new_err("a member runs once"))?;
        member.run_process(py, begin, (self.name.clone(), 0), ("probe", Box::new(prober)), &progress)
    }

    /// What it has received, as JSON.
    fn samples(&self) -> PyResult<String> {
        json(&self.board.samples())
    }

    /// How long all rounds take, in seconds.
    fn length_s(&self) -> f64 {
        self.length_s
    }
}

/// A topology that was measured.
#[derive(Serialize)]
struct Found {
    topology: TopologyData,
    explained: f64,
    sure: Vec<[Option<f64>; 2]>,
}

/// The topology of hosts (their names by number) from samples, as JSON; nothing when a host was not measured.
#[pyfunction]
fn broadcast_infer(hosts: BTreeMap<u32, String>, samples: &str) -> PyResult<Option<String>> {
    let samples: Vec<Sample> = read(samples)?;
    let found = infer(&hosts, &samples);
    let found =
        found.map(|found| Found { topology: found.topology, explained: found.explained, sure: found.sure });
    found.map(|found| json(&found)).transpose()
}
