//! Remote memory: traces of page faults, what caches of any size make of them, what that costs. Bytes come
//! and numbers go.

use crate::invalid;
use ::farmem::cache::Policy;
use ::farmem::cost::Cost;
use ::farmem::curve::Curve;
use ::farmem::overlap;
use ::farmem::pager::Recorded;
use ::farmem::predict::Waits;
use ::farmem::replay::{Counts, Handled, Setting, handled};
use ::farmem::steps::Steps;
use ::farmem::trace::Trace;
use ::farmem::wire::Key;
use memserver::{Server, Settings};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use units::{Bytes, Rate, Time};

/// Adds the classes and the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FarmemTrace>()?;
    module.add_class::<FarmemSteps>()?;
    module.add_class::<FarmemThreads>()?;
    module.add_class::<FarmemCurve>()?;
    module.add_function(wrap_pyfunction!(farmem_serve, module)?)?;
    module.add_function(wrap_pyfunction!(farmem_waits, module)?)
}

/// Hits, cold accesses, faults, pages fetched, requests for them, pages written back, requests for them.
type CountsTuple = (u64, u64, u64, u64, u64, u64, u64);
/// These, first accesses that nobody handled, pages that left, faults that wait.
type HandledTuple = (CountsTuple, u64, u64, u64);

fn plain(counts: Counts) -> CountsTuple {
    let Counts { hits, cold, faults, fetched, requests, written_back, sends } = counts;
    (hits, cold, faults, fetched, requests, written_back, sends)
}

fn policy(name: &str) -> PyResult<Policy> {
    let found = Policy::ALL.into_iter().find(|policy| policy.name() == name);
    found.ok_or_else(|| PyValueError::new_err("fifo, clock or lru is allowed"))
}

/// A trace of page faults.
#[pyclass(frozen)]
struct FarmemTrace(Vec<u8>);

impl FarmemTrace {
    fn trace(&self) -> Trace<'_> {
        Trace::read(&self.0).expect("was read before")
    }
}

#[pymethods]
impl FarmemTrace {
    /// From a file's bytes. Raises ValueError for those of something else.
    #[new]
    fn new(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let bytes = bytes.to_vec();
        let read = py.detach(|| Trace::read(&bytes).map(|_| ()));
        read.map(|()| Self(bytes)).map_err(invalid)
    }

    /// Bytes of a page, the policy and the pages of the cache that the program had, whether writes were seen.
    fn taken(&self) -> (u64, &'static str, u32, bool) {
        let header = self.trace().header;
        (1 << header.page_bits, header.policy.name(), header.capacity, header.writes)
    }

    /// Whether its end is there.
    fn has_end(&self) -> bool {
        self.trace().has_end
    }

    /// How many records.
    fn records(&self) -> usize {
        self.trace().len()
    }

    /// What each thread did, in pages of this size. Raises ValueError for one that can't be.
    fn threads(&self, py: Python<'_>, page: u64) -> PyResult<FarmemThreads> {
        let found = page.is_power_of_two().then(|| {
            let trace = self.trace();
            py.detach(|| Recorded::new(&trace, page.trailing_zeros() as u8))
        });
        found.flatten().map(|of| FarmemThreads(Arc::new(of))).ok_or_else(refused_page)
    }

    /// What happened, in pages of this size. Raises ValueError for one that can't be.
    fn steps(&self, py: Python<'_>, page: u64) -> PyResult<FarmemSteps> {
        let steps = page.is_power_of_two().then(|| {
            let trace = self.trace();
            py.detach(|| Steps::new(&trace, page.trailing_zeros() as u8))
        });
        steps.flatten().map(FarmemSteps).ok_or_else(refused_page)
    }
}

fn refused_page() -> PyErr {
    PyValueError::new_err("pages are a power of two from the trace's size to 2 MiB")
}

/// What each thread of a program did, in pages of one size.
#[pyclass(frozen)]
struct FarmemThreads(Arc<Recorded>);

#[pymethods]
impl FarmemThreads {
    /// Picoseconds that waits and the handler of faults add, where waits of threads overlap. `cache`:
    /// capacity, policy, read-ahead, pages per request; `cost`: bytes of a page as it travels, latency in ps,
    /// rate in bit/s, whether faults wait for write-backs, the handler's ps per fault.
    fn longer(
        &self,
        py: Python<'_>,
        cache: (u32, String, u32, u32),
        cost: (u64, u64, u64, bool, u64),
    ) -> PyResult<u64> {
        let (capacity, name, read_ahead, pages_a_request) = cache;
        let setting = Setting { read_ahead, pages_a_request, ..Setting::new(capacity, policy(&name)?) };
        let (page, latency_ps, rate_bps, write_back, handler_ps) = cost;
        let costs = overlap::Costs {
            cost: network(latency_ps, rate_bps, write_back)?,
            page: Bytes::new(page),
            handler: Time::from_ps(handler_ps),
        };
        Ok(py.detach(|| overlap::longer(&self.0, &setting, &costs)).as_ps())
    }
}

/// Refuses a rate of zero.
fn network(latency_ps: u64, rate_bps: u64, write_back: bool) -> PyResult<Cost> {
    if rate_bps == 0 {
        return Err(PyValueError::new_err("a bandwidth is above zero"));
    }
    let both = Cost::new(Time::from_ps(latency_ps), Rate::from_bps(rate_bps));
    Ok(if write_back { both } else { both.without_write_back() })
}

/// What a program did, in pages of one size.
#[pyclass(frozen)]
struct FarmemSteps(Steps);

#[pymethods]
impl FarmemSteps {
    /// The most pages in use at a time.
    fn footprint(&self) -> u32 {
        self.0.footprint
    }

    /// How many accesses.
    fn accesses(&self) -> u64 {
        self.0.accesses()
    }

    /// How many threads accessed pages.
    fn threads(&self) -> u32 {
        self.0.threads
    }

    /// Picoseconds that the program computed.
    fn computed_ps(&self) -> u64 {
        self.0.computed_ns.saturating_mul(1_000)
    }

    /// What a cache of so many pages counts, and what it takes to handle its faults.
    fn replay(
        &self,
        py: Python<'_>,
        capacity: u32,
        policy: &str,
        read_ahead: u32,
        pages_a_request: u32,
    ) -> PyResult<HandledTuple> {
        let setting =
            Setting { read_ahead, pages_a_request, ..Setting::new(capacity, self::policy(policy)?) };
        let Handled { counts, unseen, evicted, waiting } = py.detach(|| handled(&self.0, &setting));
        Ok((plain(counts), unseen, evicted, waiting))
    }

    /// What LRU caches of all sizes count, from one in so many pages.
    fn curve(&self, py: Python<'_>, one_in: u32) -> PyResult<FarmemCurve> {
        if one_in == 0 {
            return Err(PyValueError::new_err("one in 1 and more is allowed"));
        }
        Ok(FarmemCurve(py.detach(|| Curve::new(&self.0, one_in))))
    }
}

/// The miss-ratio curve of LRU.
#[pyclass(frozen)]
struct FarmemCurve(Curve);

#[pymethods]
impl FarmemCurve {
    /// What a cache of so many pages counts.
    fn counts(&self, capacity: u32) -> CountsTuple {
        plain(self.0.counts(capacity))
    }

    /// From so many pages on nothing is fetched.
    fn enough(&self) -> u32 {
        self.0.enough()
    }
}

/// Picoseconds that a program waits for fetches, write-backs and the handler.
#[pyfunction]
fn farmem_waits(
    counts: CountsTuple,
    page: u64,
    latency_ps: u64,
    rate_bps: u64,
    write_back: bool,
    handler_ps: u64,
) -> PyResult<(u64, u64, u64)> {
    let cost = network(latency_ps, rate_bps, write_back)?;
    let (hits, cold, faults, fetched, requests, written_back, sends) = counts;
    let counts = Counts { hits, cold, faults, fetched, requests, written_back, sends };
    let waits = Waits::of(&counts, Bytes::new(page), &cost, Time::from_ps(handler_ps));
    Ok((waits.fetch.as_ps(), waits.write_back.as_ps(), waits.handler.as_ps()))
}

/// A memory server, until a signal asks it to end. `bounds`: bytes, bytes a client, connections, ms until a
/// client that can't be reached is gone. Raises OSError when there can't be one.
#[pyfunction]
fn farmem_serve(
    py: Python<'_>,
    at: &str,
    key: [u8; 16],
    secret: [u8; 16],
    bounds: (u64, u64, usize, u64),
    tell: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let at = at.parse().map_err(|_| PyValueError::new_err(format!("{at:?} is no address")))?;
    let (memory, client_memory, connections, timeout_ms) = bounds;
    let timeout = Duration::from_millis(timeout_ms);
    let settings = Settings { memory, client_memory, connections, timeout };
    let tell = tell.clone().unbind();
    py.detach(|| {
        let failed = |error: memserver::Error| PyOSError::new_err(error.to_string());
        let server = Server::listen(at, Key(key), secret, settings).map_err(failed)?;
        let mut told = Ok(());
        let mut say = |line: &str| {
            if let Err(error) = Python::attach(|py| tell.call1(py, (line,))) {
                told = Err(error);
            }
        };
        say(&format!("Waiting at {}", server.address()?));
        server.run(&mut say).map_err(failed)?;
        told
    })
}
