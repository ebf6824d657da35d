//! Scenarios: expanded, checked, run, compared event by event. They come and go as JSON.
//!
//! A run holds no Python lock. About ten times a second it tells Python how far it is; Python answers
//! whether to go on, and what it raises stops the run too.

use crate::invalid;
use pyo3::IntoPyObjectExt;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use scenario::{Answer, Operator, Problem, Progress, Registered, Step};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use units::Time;

create_exception!(_core, RunError, PyException, "A run that began and failed.");
create_exception!(
    _core,
    SpecError,
    PyValueError,
    "A scenario that can't run: the steps to the field, the message."
);

/// The kernel of emulated hosts, what the shell is to run there for jobs, what was registered with this
/// machine's kernel (a congestion control, its own setting, the kernel's name of it), and the folders that
/// hosts see.
type Linux = (Option<PathBuf>, String, Vec<(String, u32, String)>, Vec<PathBuf>);

/// Time between two calls into Python.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RunError", module.py().get_type::<RunError>())?;
    module.add("SpecError", module.py().get_type::<SpecError>())?;
    module.add("TABLES", scenario::TABLES)?;
    module.add_function(wrap_pyfunction!(expand, module)?)?;
    module.add_class::<Checked>()?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(emulated_member, module)?)?;
    module.add_function(wrap_pyfunction!(diverge, module)?)
}

pub(crate) fn refused(problem: Problem) -> PyErr {
    Python::attach(|py| {
        let step = |step: &Step| match step {
            Step::Field(name) => name.into_py_any(py),
            Step::Index(index) => index.into_py_any(py),
        };
        let steps: PyResult<Vec<Py<PyAny>>> = problem.path.steps().iter().map(step).collect();
        match steps.and_then(|steps| Ok(PyTuple::new(py, steps)?.unbind())) {
            Ok(path) => SpecError::new_err((path, problem.message)),
            Err(error) => error,
        }
    })
}

pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(invalid)
}

/// All nodes and links of a topology.
#[pyfunction]
fn expand(py: Python<'_>, topology: &str) -> PyResult<String> {
    json(&py.detach(|| scenario::expand(topology)).map_err(refused)?)
}

/// A scenario that can run, as the core has read it.
#[pyclass(frozen, name = "Scenario", module = "incast._core")]
pub(crate) struct Checked {
    /// Other processes read it again: JSON that is written here could differ in the last digit of a number.
    text: String,
    pub(crate) scenario: scenario::Scenario,
}

#[pymethods]
impl Checked {
    /// Reads a scenario that was checked in another process.
    #[new]
    fn new(text: String) -> PyResult<Checked> {
        let scenario = scenario::parse(&text).map_err(refused)?;
        Ok(Checked { text, scenario })
    }

    /// For pickle.
    fn __getnewargs__(&self) -> (&str,) {
        (&self.text,)
    }
}

/// Reads a scenario; refuses one that can't run.
#[pyfunction]
fn check(py: Python<'_>, scenario: String) -> PyResult<Checked> {
    let checked = py.detach(|| {
        let checked = scenario::check(&scenario);
        sys::heap::give_back();
        checked
    });
    Ok(Checked { scenario: checked.map_err(refused)?, text: scenario })
}

/// Runs a scenario into a folder, on so many threads at most. `progress` gets a mapping and answers whether
/// to go on; `linux` is what emulated hosts are made of ([`Linux`]). `operator` gets the time in
/// picoseconds, and the host, number and exit code of all that has been answered since the last call; it
/// returns the hosts that have something to read, or None to end the run.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
#[pyo3(signature = (scenario, folder, overwrite, progress, threads, linux=None, operator=None))]
fn run(
    py: Python<'_>,
    scenario: &Bound<'_, Checked>,
    folder: PathBuf,
    overwrite: bool,
    progress: Py<PyAny>,
    threads: NonZeroUsize,
    linux: Option<Linux>,
    operator: Option<Py<PyAny>>,
) -> PyResult<String> {
    let spec = &scenario.get().scenario;
    let going_on = Arc::new(AtomicBool::new(true));
    let (kernel, member, registered, seen) = linux.unwrap_or_default();
    let registered = registered.into_iter();
    let registered =
        registered.map(|(congestion, parameter, name)| Registered { congestion, parameter, name }).collect();
    let linux = scenario::Linux { kernel, member, registered, seen, going_on: Arc::clone(&going_on) };
    let (raised, outcome) = py.detach(|| {
        let (mut due, raised) = (Due::now(), RefCell::new(None));
        let mut asks = |now: Time, answers: Vec<Answer>| {
            let answers: Vec<_> =
                answers.into_iter().map(|answer| (answer.host, answer.number, answer.code)).collect();
            let operator = operator.as_ref()?;
            ask::<Option<_>>(&mut raised.borrow_mut(), |py| operator.call1(py, (now.as_ps(), answers)))?
        };
        let operator = operator.is_some().then_some(&mut asks as &mut Operator<'_>);
        let tell = |raised: &mut Option<PyErr>, now: &Progress| {
            ask(raised, |py| progress.call1(py, (told(py, now)?,))).unwrap_or(false)
        };
        let run = |tell: &mut dyn FnMut(&Progress) -> bool| {
            scenario::run(spec, &folder, overwrite, &linux, threads, operator, tell)
        };
        if scenario::needs_linux(spec) {
            let (told, outcome) =
                aside(&going_on, tell, |tell| run(&mut |now| if due.is() { tell(now) } else { true }));
            return (raised.into_inner().or(told), outcome);
        }
        let outcome = run(&mut |now| !due.is() || tell(&mut raised.borrow_mut(), now));
        (raised.into_inner(), outcome)
    });
    // Figures are computed next, which takes memory too.
    py.detach(sys::heap::give_back);
    match (raised, outcome) {
        (Some(error), _) => Err(error),
        (None, Ok(outcome)) => json(&outcome),
        (None, Err(scenario::Error::Scenario(problem))) => Err(refused(problem)),
        (None, Err(error)) => Err(RunError::new_err(error.to_string())),
    }
}

/// Runs an emulated host's part in jobs: its folder has what it has to know, and gets its report.
#[pyfunction]
fn emulated_member(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    py.detach(|| scenario::member(&folder)).map_err(RunError::new_err)
}

/// The first event that differs between two scenarios: how many were equal, and the next of each.
/// `progress` gets the number of events and answers whether to go on.
#[pyfunction]
fn diverge(
    py: Python<'_>,
    first: &Bound<'_, Checked>,
    second: &Bound<'_, Checked>,
    progress: Py<PyAny>,
) -> PyResult<Option<(u64, String, String)>> {
    let (first, second) = (&first.get().scenario, &second.get().scenario);
    let mut raised = None;
    let found = py.detach(|| {
        let mut due = Due::now();
        scenario::diverge(first, second, &mut |events| {
            !due.is() || ask(&mut raised, |py| progress.call1(py, (events,))).unwrap_or(false)
        })
    });
    match raised {
        Some(error) => Err(error),
        None => Ok(found.map_err(refused)?.map(|found| (found.after, found.first, found.second))),
    }
}

/// Runs something that tells Python how far it is by a thread of its own: it can't wait, as Python may have
/// others to serve. So it hears later that it is not to go on. Also what Python raised.
fn aside<T>(
    going_on: &AtomicBool,
    tell: impl Fn(&mut Option<PyErr>, &Progress) -> bool + Send,
    run: impl FnOnce(&mut dyn FnMut(&Progress) -> bool) -> T,
) -> (Option<PyErr>, T) {
    let (sender, told) = sync_channel::<Progress>(1);
    thread::scope(|scope| {
        let teller = scope.spawn(move || {
            let (mut raised, mut last) = (None, Progress::default());
            loop {
                match told.recv_timeout(TELL_EVERY) {
                    Ok(now) => last = now,
                    // It says nothing while a host computes.
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break raised,
                }
                if !tell(&mut raised, &last) {
                    going_on.store(false, Ordering::Relaxed);
                    break raised;
                }
            }
        });
        let done = run(&mut |now| {
            sender.try_send(*now).ok();
            going_on.load(Ordering::Relaxed)
        });
        drop(sender);
        (teller.join().unwrap_or(None), done)
    })
}

/// Asks Python; what it raises is kept, and means nothing.
fn ask<T: for<'py> FromPyObjectOwned<'py>>(
    raised: &mut Option<PyErr>,
    call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
) -> Option<T> {
    Python::attach(|py| {
        let answer = py.check_signals().and_then(|()| call(py)?.extract::<T>(py).map_err(Into::into));
        answer.map_err(|error| *raised = Some(error)).ok()
    })
}

fn told<'py>(py: Python<'py>, now: &Progress) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("sim_time_ps", now.sim_time_ps)?;
    told.set_item("events", now.events)?;
    told.set_item("packet_hops", now.packet_hops)?;
    told.set_item("jobs_done", now.jobs_done)?;
    told.set_item("jobs", now.jobs)?;
    told.set_item("flows_done", now.flows_done)?;
    told.set_item("flows", now.flows)?;
    told.set_item("bytes", now.bytes)?;
    told.set_item("fraction", now.fraction)?;
    Ok(told)
}

/// Whether it is time to call Python again.
struct Due(Instant);

#[expect(clippy::disallowed_methods, reason = "how often a person is told has nothing to do with the model")]
impl Due {
    fn now() -> Due {
        Due(Instant::now())
    }

    fn is(&mut self) -> bool {
        let now = Instant::now();
        let due = now.duration_since(self.0) >= TELL_EVERY;
        if due {
            self.0 = now;
        }
        due
    }
}
