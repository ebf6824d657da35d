//! A host of a live broadcast: its files as a store, its node, and where both stand.

use crate::live::{LiveMember, read};
use crate::scenario::json;
use crate::{hold, invalid};
use broadcast::algorithm::Algorithm;
use broadcast::topology::Topology;
use broadcast::transfer::{
    Board, Chunks, Config, HEADROOM, Node, PATIENCE, REPORT, Receiver, SILENCE, Settings, State, Store,
};
use files::{Choice, Content, Earlier, Keeping, Layout, Named, Outcome, Part, Place};
use process::HostId;
use pyo3::exceptions::{PyBlockingIOError, PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use units::{Rate, Time};

/// The job's port that nodes listen on.
const PORT: u16 = 1;

/// Adds live broadcasts to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("BROADCAST_HEADROOM_PERCENT", HEADROOM)?;
    module.add("BROADCAST_REPORT_PS", REPORT.as_ps())?;
    module.add("BROADCAST_SILENCE_PS", SILENCE.as_ps())?;
    module.add("BROADCAST_PATIENCE_PS", PATIENCE.as_ps())?;
    module.add_class::<BroadcastMember>()?;
    module.add_function(wrap_pyfunction!(broadcast_layout, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_chunk, module)?)
}

/// What a host is told.
#[derive(Deserialize)]
struct Told {
    role: Role,
    host_name: String,
    /// What is sent, or where the copy will be.
    path: PathBuf,
    /// That is below this folder, and nothing else is opened.
    root: Option<PathBuf>,
    layout: Layout,
    /// What of the folder that is sent is left out.
    #[serde(default)]
    exclude: Vec<String>,
    /// Whether owners are kept.
    owner: bool,
    chunk: u64,
    #[serde(default)]
    force: bool,
    config: Shared,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Role {
    Source,
    Receiver,
}

/// What all hosts are told.
#[derive(Deserialize)]
struct Shared {
    source: u32,
    topology: Topology,
    /// It says nothing of rates.
    unknown: bool,
    /// The topology's name of each host of the run.
    places: BTreeMap<u32, String>,
    algorithm: Algorithm,
    /// In percent of the plan's rate; nothing: no pace.
    headroom: Option<u32>,
    /// What a host sends at most, in bit/s.
    limit: Option<u64>,
    seed: u64,
    /// Seconds after which a host that is silent has failed for good.
    patience_s: f64,
}

impl Shared {
    fn config(self, chunks: Chunks) -> PyResult<Config> {
        let places = self.places.iter().map(|(host, name)| {
            let node = self.topology.node(name);
            let node = node.ok_or_else(|| PyValueError::new_err(format!("{name} is not in the topology")))?;
            Ok((HostId(*host), node))
        });
        let places: Vec<_> = places.collect::<PyResult<_>>()?;
        let source = HostId(self.source);
        let destinations = places.iter().map(|(host, _)| *host).filter(|host| *host != source).collect();
        let patience = Time::from_us((self.patience_s * 1e6) as u64);
        let (algorithm, headroom, silence) = (self.algorithm, self.headroom, SILENCE.min(patience));
        let config = Config {
            settings: Settings { algorithm, headroom, silence, patience, ..Settings::default() },
            limit: self.limit.map(Rate::from_bps),
            seed: self.seed,
            unknown: self.unknown,
            ..Config::new(source, destinations, PORT, chunks, self.topology, places)
        };
        config.check().map_err(invalid)?;
        Ok(config)
    }
}

/// A host of a broadcast.
#[pyclass(frozen)]
pub struct BroadcastMember {
    node: Mutex<Option<Node>>,
    board: Board,
    outcome: Option<Outcome>,
    total: u64,
    name: String,
    seed: u64,
}

impl BroadcastMember {
    fn with(
        config: Config,
        store: Box<dyn Store>,
        outcome: Option<Outcome>,
        name: String,
    ) -> PyResult<BroadcastMember> {
        let (total, seed) = (config.chunks.bytes(), config.seed);
        let node = Node::new(Arc::new(config), store);
        let node = node.map_err(invalid)?;
        let board = node.board();
        Ok(BroadcastMember { board, node: Mutex::new(Some(node)), outcome, total, name, seed })
    }
}

#[pymethods]
impl BroadcastMember {
    /// Opens what is sent, or takes the space for the copy and reads what is there of it.
    #[new]
    fn new(py: Python<'_>, told: &str) -> PyResult<BroadcastMember> {
        let Told { role, host_name: name, path, root, layout, exclude, owner, chunk, force, config } =
            read(told)?;
        layout.check().map_err(refused)?;
        let chunks = Chunks::new(layout.bytes(), chunk);
        let chunks = chunks.ok_or_else(|| PyValueError::new_err("chunks of this size are not allowed"))?;
        let config = config.config(chunks)?;
        let place = match root {
            Some(root) => Place::below(&root, &path),
            None => Place::from(&path),
        };
        let (store, outcome): (Box<dyn Store>, _) = match role {
            Role::Source => {
                let choice = Choice::without(&exclude).map_err(refused)?.owners(owner);
                let content = py.detach(|| content(&place, &layout, choice, chunk)).map_err(refused)?;
                (Box::new(content), None)
            }
            Role::Receiver => {
                let earlier = py.detach(|| Earlier::find(&place, &layout, chunk, force));
                if let Some(earlier) = earlier {
                    let outcome = earlier.outcome();
                    return BroadcastMember::with(config, Box::new(earlier), Some(outcome), name);
                }
                let part = py.detach(|| Part::begin(place, layout, chunk, force)).map_err(refused)?;
                let keeping = Keeping::new(part);
                let outcome = keeping.outcome();
                (Box::new(keeping), Some(outcome))
            }
        };
        BroadcastMember::with(config, store, outcome, name)
    }

    /// Takes part until told to stop; returns the member's report.
    fn run(&self, py: Python<'_>, member: &LiveMember, begin: &str, progress: Py<PyAny>) -> PyResult<String> {
        let node = hold(&self.node).take();
        let node = node.ok_or_else(|| PyValueError::new_err("a member runs once"))?;
        let host = (self.name.clone(), self.seed);
        member.run_process(py, begin, host, ("broadcast", Box::new(node)), &progress)
    }

    /// Where the transfer stands, as JSON.
    fn status(&self) -> PyResult<String> {
        json(&Status::of(&self.board, self.outcome.as_ref(), self.total))
    }
}

/// What is sent, as long as it is what the launcher saw.
fn content(place: &Place, layout: &Layout, choice: Choice, chunk: u64) -> Result<Content, files::Error> {
    let content = Content::open(place.clone(), choice, chunk)?;
    if content.layout() != layout {
        let path = place.to_string();
        return Err(files::Error::Changed { path, what: "what is in it" });
    }
    Ok(content)
}

fn refused(error: files::Error) -> PyErr {
    match error {
        files::Error::Busy { .. } => PyBlockingIOError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Where a host stands.
#[derive(Serialize)]
struct Status {
    state: &'static str,
    /// Bytes of the whole.
    total: u64,
    failed: Option<String>,
    /// Whether the copy has its name.
    named: &'static str,
    bytes: u64,
    resumed: u64,
    received: u64,
    sent: u64,
    damaged: u64,
    planned: u64,
    plans: u32,
    coordinator: Option<u32>,
    completed_ps: Option<u64>,
    parents: BTreeMap<u32, u64>,
    receivers: BTreeMap<u32, ReceiverStatus>,
}

/// A destination, as the coordinator sees it.
#[derive(Serialize)]
struct ReceiverStatus {
    present: bool,
    bytes: u64,
    complete: bool,
    failed: Option<String>,
    stalled: bool,
    rate: u64,
    planned: u64,
}

impl Status {
    fn of(board: &Board, outcome: Option<&Outcome>, total: u64) -> Status {
        let now = board.progress();
        let (state, mut failed) = match now.state {
            State::Waiting => ("waiting", None),
            State::Running => ("running", None),
            State::Complete => ("complete", None),
            State::Finished => ("finished", None),
            State::Failed(reason) => ("failed", Some(reason)),
        };
        let named = match outcome.map(Outcome::get) {
            None | Some(Named::NotYet) => "no",
            Some(Named::Finishing) => "finishing",
            Some(Named::Done) => "done",
            Some(Named::Failed(reason)) => {
                failed = Some(reason);
                "failed"
            }
        };
        let receivers = now.receivers.into_iter().map(|(host, receiver)| (host.0, receiver.into()));
        Status {
            state,
            total,
            failed,
            named,
            bytes: now.bytes,
            resumed: now.resumed,
            received: now.received,
            sent: now.sent,
            damaged: now.damaged,
            planned: now.planned,
            plans: now.plans,
            coordinator: now.coordinator.map(|host| host.0),
            completed_ps: now.completed.map(Time::as_ps),
            parents: now.parents.into_iter().map(|(host, bytes)| (host.0, bytes)).collect(),
            receivers: receivers.collect(),
        }
    }
}

impl From<Receiver> for ReceiverStatus {
    fn from(known: Receiver) -> ReceiverStatus {
        let Receiver { present, bytes, complete, failed, stalled, rate, planned } = known;
        ReceiverStatus { present, bytes, complete, failed, stalled, rate, planned }
    }
}

/// The layout of what is at a path, as JSON, without what patterns exclude, and with owners or without.
#[pyfunction]
fn broadcast_layout(py: Python<'_>, path: PathBuf, exclude: Vec<String>, owner: bool) -> PyResult<String> {
    let choice = Choice::without(&exclude).map_err(invalid)?;
    let choice = choice.owners(owner);
    json(&py.detach(|| files::scan(&path, &choice)).map_err(refused)?)
}

/// A good size of chunks for so many bytes, hops behind one another, and a fastest receiver of so many bit/s;
/// where no rate is known, for so many receivers.
#[pyfunction]
#[pyo3(signature = (length, hops, rate))]
fn broadcast_chunk(length: u64, hops: u64, rate: Option<u64>) -> u64 {
    match rate {
        Some(rate) => broadcast::transfer::good_size(length, hops, units::Rate::from_bps(rate)),
        None => broadcast::transfer::unknown_size(length, hops),
    }
}
