//! Members of a live run: bound, told where the others are, run. Addresses, counters and reports are JSON.
//!
//! A run holds no Python lock. Several times a second it tells Python how far it is; Python answers whether
//! to go on. [`LiveMember::run_process`] is the way for every part that brings a process of its own.

use crate::scenario::{Checked, json, refused};
use crate::{hold, invalid};
use ::scenario::live::Share;
use bytes::BytesMut;
use live::seal::{Damaged, HANDSHAKE, Opened, Seal, Secret};
use live::{Handle, HostAddress, Job, Key, Member, Run, Settings, Table};
use process::{HostId, Process};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};
use units::Time;

create_exception!(_core, LiveError, PyException, "A member of a live run that can't run.");

/// Adds what live runs need to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("LiveError", module.py().get_type::<LiveError>())?;
    module.add_class::<LiveMember>()?;
    module.add_class::<LiveSeal>()?;
    module.add_function(wrap_pyfunction!(live_settings, module)?)?;
    module.add_function(wrap_pyfunction!(live_members, module)?)?;
    module.add_function(wrap_pyfunction!(live_write, module)?)
}

/// What every member is told when all of them are ready.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begin {
    addresses: Vec<HostAddress>,
    pub(crate) key: [u8; 16],
    secret: [u8; 32],
    /// Time zero, in nanoseconds since 1970.
    start_ns: u64,
}

/// A host of a live run.
#[pyclass(frozen)]
pub(crate) struct LiveMember {
    /// Gone when it has run.
    member: Mutex<Option<Member>>,
    handle: Handle,
    address: String,
    host: HostId,
}

#[pymethods]
impl LiveMember {
    /// Takes ports of the kernel's choice on `ip`.
    #[new]
    fn new(host: u32, ip: &str, ports: Vec<u16>, settings: &str) -> PyResult<LiveMember> {
        let ip = ip.parse().map_err(|_| PyValueError::new_err(format!("{ip:?} is no IP address")))?;
        LiveMember::made(Member::bind(HostId(host), ip, &ports, read(settings)?))
    }

    /// Takes the ports that `address` says: a host that comes back is where it was.
    #[staticmethod]
    fn at(address: &str, settings: &str) -> PyResult<LiveMember> {
        LiveMember::made(Member::bind_at(read(address)?, read(settings)?))
    }

    /// Where it is.
    fn address(&self) -> &str {
        &self.address
    }

    /// The run is over.
    fn stop(&self) {
        self.handle.stop();
    }

    /// A host is gone.
    fn lost(&self, host: u32) {
        self.handle.lost(HostId(host));
    }

    /// A host has come back, or moved.
    fn moved(&self, address: &str) -> PyResult<()> {
        self.handle.moved(read(address)?);
        Ok(())
    }

    /// Runs this host's share of a scenario's jobs until told to stop; returns the report.
    fn run(&self, py: Python<'_>, share: &str, begin: &str, progress: Py<PyAny>) -> PyResult<String> {
        let share = Share::read(share).map_err(refused)?;
        let part = ::scenario::live::part(&share, self.host).map_err(refused)?;
        if part.jobs.is_empty() {
            return Err(LiveError::new_err("this host has no part in the scenario"));
        }
        let report = self.run_report(py, begin, (part.name, share.seed), part.jobs, &progress)?;
        json(&part.boards.report(report))
    }
}

impl LiveMember {
    fn made(member: Result<Member, live::Error>) -> PyResult<LiveMember> {
        let member = member.map_err(failed)?;
        let (address, handle) = (json(member.address())?, member.handle());
        let host = HostId(member.address().host);
        Ok(LiveMember { member: Mutex::new(Some(member)), handle, address, host })
    }

    /// Runs a process, the only one of its job, on the host called `name` until told to stop; returns the
    /// report as JSON. SIGINT and SIGTERM end it in good order.
    pub(crate) fn run_process(
        &self,
        py: Python<'_>,
        begin: &str,
        (name, seed): (String, u64),
        (job, process): (&str, Box<dyn Process>),
        progress: &Py<PyAny>,
    ) -> PyResult<String> {
        let job = Job { index: 0, name: job.into(), start: Time::ZERO, background: false, process };
        json(&self.run_report(py, begin, (name, seed), vec![job], progress)?)
    }

    fn run_report(
        &self,
        py: Python<'_>,
        begin: &str,
        (name, seed): (String, u64),
        jobs: Vec<Job>,
        progress: &Py<PyAny>,
    ) -> PyResult<live::Report> {
        let Begin { addresses, key, secret, start_ns } = read(begin)?;
        let table = Table::new(addresses).map_err(|error| LiveError::new_err(error.to_string()))?;
        let start = SystemTime::UNIX_EPOCH + Duration::from_nanos(start_ns);
        let (key, secret) = (Key(key), Secret(secret));
        let run = Run { table, name, seed, key, secret, start, jobs, signals: true };
        let member = hold(&self.member).take();
        let member = member.ok_or_else(|| LiveError::new_err("a member runs once"))?;
        let mut raised = None;
        let report = py.detach(|| {
            member.run(run, &mut |now| {
                Python::attach(|py| json(now).and_then(|now| progress.call1(py, (now,))?.extract::<bool>(py)))
                    .unwrap_or_else(|error| {
                        raised = Some(error);
                        false
                    })
            })
        });
        match (raised, report) {
            (Some(error), _) => Err(error),
            (None, Ok(report)) => Ok(report),
            (None, Err(error)) => Err(failed(error)),
        }
    }
}

/// One end of a sealed connection between launcher and member (`live::seal`): texts of any length.
#[pyclass(frozen)]
struct LiveSeal(Mutex<Seal>);

#[pymethods]
impl LiveSeal {
    /// The end that speaks first, or the other one.
    #[new]
    fn new(secret: [u8; 32], about: &[u8], opener: bool) -> LiveSeal {
        let new = if opener { Seal::opener } else { Seal::listener };
        LiveSeal(Mutex::new(new(&Secret(secret), about)))
    }

    /// This side's part of the handshake.
    fn say(&self) -> PyResult<[u8; HANDSHAKE]> {
        self.seal().say().map_err(invalid)
    }

    /// The other side's part.
    fn hear(&self, said: &[u8]) -> PyResult<()> {
        let said = said.try_into().map_err(|_| invalid(Damaged))?;
        self.seal().hear(said).map_err(invalid)
    }

    /// A text as it travels: its length and itself, in frames.
    fn seal_text(&self, text: &[u8]) -> Vec<u8> {
        let mut out = BytesMut::with_capacity(text.len() + text.len() / 64 + 64);
        let mut seal = self.seal();
        seal.seal(&(text.len() as u64).to_le_bytes(), &mut out);
        seal.seal(text, &mut out);
        out.to_vec()
    }

    /// The text that has come, if it is the next one that was sealed, and whole.
    fn open_text(&self, came: &[u8]) -> PyResult<Vec<u8>> {
        let (mut came, mut text) = (BytesMut::from(came), Vec::with_capacity(came.len()));
        let mut seal = self.seal();
        while let Some(Opened::Content(part)) = seal.open(&mut came).map_err(invalid)? {
            text.extend_from_slice(&part);
        }
        let whole = text
            .split_first_chunk()
            .filter(|(length, text)| came.is_empty() && u64::from_le_bytes(**length) == text.len() as u64);
        whole.map(|(_, text)| text.to_vec()).ok_or_else(|| invalid(Damaged))
    }
}

impl LiveSeal {
    fn seal(&self) -> MutexGuard<'_, Seal> {
        hold(&self.0)
    }
}

fn failed(error: live::Error) -> PyErr {
    LiveError::new_err(error.to_string())
}

pub(crate) fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(invalid)
}

/// Refuses settings that can't be; returns them whole, with defaults.
#[pyfunction]
fn live_settings(settings: &str) -> PyResult<String> {
    let settings: Settings = read(settings)?;
    settings.check().map_err(PyValueError::new_err)?;
    json(&settings)
}

/// The hosts that a live run of a scenario needs: number, name, jobs, ports.
#[pyfunction]
fn live_members(py: Python<'_>, scenario: &Bound<'_, Checked>) -> PyResult<String> {
    let spec = &scenario.get().scenario;
    json(&py.detach(|| ::scenario::live::members(spec)).map_err(refused)?)
}

/// Writes reports of members into the folder of a run. `crashes` says how often a host crashed.
#[pyfunction]
fn live_write(
    py: Python<'_>,
    scenario: &Bound<'_, Checked>,
    folder: PathBuf,
    overwrite: bool,
    reports: &str,
    crashes: BTreeMap<u32, u64>,
) -> PyResult<()> {
    let spec = &scenario.get().scenario;
    let reports = ::scenario::live::reports(reports).map_err(refused)?;
    let written = py.detach(|| ::scenario::live::write(spec, &folder, overwrite, &reports, &crashes));
    written.map_err(|error| match error {
        ::scenario::Error::Scenario(problem) => refused(problem),
        error => crate::scenario::RunError::new_err(error.to_string()),
    })
}
