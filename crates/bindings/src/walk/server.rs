//! A server of random walks as a member of a live run: it has its part of the graph, and keeps the finished walks of
//! its own starts.

use super::bytes;
use crate::live::{Begin, LiveMember, read};
use ::walk::app::Tally;
use ::walk::counters::Board;
use ::walk::graph::Shape;
use ::walk::outbox::DatagramSettings;
use ::walk::partition::{Partition, ServerPart};
use ::walk::seal::Key;
use ::walk::server::{Server, ServerSetup};
use ::walk::settings::{Costs, STEPS_MAX, Settings};
use ::walk::sink::{FinishedWalk, Sink};
use ::walk::step::Rule;
use ::walk::store::Memory;
use ::walk::territory::Territory;
use ::walk::wire::{Codec, DATAGRAM_MAX};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The port of the job, by its own number.
const PORT: u16 = 1;
/// Walkers that are served between two looks at the sockets.
const BURST: u32 = 64;
/// Bytes of a datagram beside the path that a walker carries: header, walker, tag.
const BESIDE_PATH: u32 = 128;

/// What a server is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    server: u16,
    servers: u16,
    nodes: u32,
    directed: bool,
    walks: u32,
    steps: Option<u32>,
    stop: Option<f64>,
    bias: Option<(f64, f64)>,
    seed: u64,
    paths: bool,
}

/// A server, ready to run once.
#[pyclass(frozen)]
pub(super) struct WalkServer {
    told: Told,
    ready: Mutex<Option<(Territory, Settings, Vec<u32>)>>,
    kept: Arc<Mutex<Kept>>,
    board: Arc<Board>,
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl WalkServer {
    /// From what it is told, the owner of each node, the arcs that touch its own nodes, and its starts.
    #[new]
    fn new(
        py: Python<'_>,
        told: &str,
        owners: PyBuffer<u16>,
        arcs: (PyBuffer<u32>, PyBuffer<u32>, Option<PyBuffer<f32>>),
        starts: PyBuffer<u32>,
    ) -> PyResult<WalkServer> {
        let told: Told = read(told)?;
        let refuse = |error: String| PyValueError::new_err(error);
        let rule = super::rule(told.steps, told.stop, told.bias)?;
        let settings = settings(&told, &rule);
        settings.check().map_err(|error| refuse(error.to_string()))?;
        let partition =
            Partition::new(owners.to_vec(py)?, told.servers).map_err(|error| refuse(error.to_string()))?;
        let shape = if told.directed { Shape::directed(told.nodes) } else { Shape::undirected(told.nodes) };
        let (sources, targets) = (arcs.0.to_vec(py)?, arcs.1.to_vec(py)?);
        let ends = || sources.iter().copied().zip(targets.iter().copied());
        let part = match &arcs.2 {
            None => ServerPart::even(shape, &partition, told.server, ends),
            Some(weights) => {
                let weights = weights.to_vec(py)?;
                ServerPart::with_weights(shape, &partition, told.server, || {
                    ends().zip(&weights).map(|((from, to), weight)| (from, to, *weight))
                })
            }
        };
        let part = part.map_err(|error| refuse(error.to_string()))?;
        let territory = Territory { part, rule, seed: told.seed, fresh: false };
        Ok(WalkServer {
            told,
            ready: Mutex::new(Some((territory, settings, starts.to_vec(py)?))),
            kept: Arc::default(),
            board: Arc::default(),
        })
    }

    /// Serves until told to stop; returns the member's report.
    fn run(&self, py: Python<'_>, member: &LiveMember, begin: &str, progress: Py<PyAny>) -> PyResult<String> {
        let (territory, settings, starts) =
            hold(&self.ready).take().ok_or_else(|| PyValueError::new_err("a server runs once"))?;
        let address = |host: u16| process::Addr { host: process::HostId(host.into()), port: PORT };
        let key = read::<Begin>(begin)?.key;
        let server = Server::new(ServerSetup {
            settings,
            costs: Costs::default(),
            servers: (0..self.told.servers).map(address).collect(),
            codec: Codec { job: 0, server: self.told.server, key: Some(Key::new(key)) },
            territory,
            starts: Some(starts),
            changes: Vec::new(),
            sink: Box::new(Keep { kept: Arc::clone(&self.kept), paths: self.told.paths }),
            store: Box::new(Memory::default()),
            board: Arc::clone(&self.board),
        });
        let (name, start) = (format!("server{}", self.told.server), units::Time::ZERO);
        let job = ::live::Job {
            index: 0,
            name: "walk".into(),
            start,
            background: false,
            process: Box::new(server),
        };
        member.run_jobs(py, begin, (name, self.told.seed), vec![job], &progress)
    }

    /// The counters by name.
    fn counters(&self) -> std::collections::BTreeMap<&'static str, u64> {
        self.board.counters.totals().named().into_iter().collect()
    }

    /// Where the finished walks ended: start, node and how many, as arrays, ascending.
    fn ends<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        super::rows(py, &mut hold(&self.kept).ends)
    }

    /// The finished walks' paths: start, number, nodes, and where each path begins and the last one ends.
    fn paths<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 4] {
        let kept = hold(&self.kept);
        let words = |numbers: &[u32]| bytes(py, numbers.iter().map(|number| number.to_le_bytes()));
        let offsets = std::iter::once(0).chain(kept.path_ends.iter().copied());
        let offsets = bytes(py, offsets.map(u64::to_le_bytes));
        [words(&kept.starts), words(&kept.numbers), words(&kept.nodes), offsets]
    }
}

/// The document's settings, with what a path needs. On one machine no datagram is cut.
fn settings(told: &Told, rule: &Rule) -> Settings {
    let plain = Settings::default();
    let bytes_max = DATAGRAM_MAX as u32;
    let fit = (bytes_max - BESIDE_PATH) / 4;
    let steps_max = match rule.fixed_steps() {
        Some(steps) => steps.max(1),
        None if told.paths => fit,
        None => STEPS_MAX,
    };
    let bytes = match told.paths {
        true => (BESIDE_PATH.saturating_add(steps_max.saturating_mul(4))).min(bytes_max) as usize,
        false => plain.datagrams.bytes,
    };
    Settings {
        walks: told.walks,
        steps_max,
        paths: told.paths,
        datagrams: DatagramSettings { bytes: bytes.max(plain.datagrams.bytes), ..plain.datagrams },
        burst: BURST,
        ..plain
    }
}

/// Finished walks.
#[derive(Default)]
struct Kept {
    ends: Tally,
    starts: Vec<u32>,
    numbers: Vec<u32>,
    nodes: Vec<u32>,
    path_ends: Vec<u64>,
}

/// Keeps finished walks where Python finds them.
struct Keep {
    kept: Arc<Mutex<Kept>>,
    paths: bool,
}

impl Sink for Keep {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        let mut kept = hold(&self.kept);
        if !self.paths {
            return kept.ends.add(walk.start, walk.end);
        }
        kept.starts.push(walk.start);
        kept.numbers.push(walk.number);
        kept.nodes.extend_from_slice(walk.path);
        let end = kept.nodes.len() as u64;
        kept.path_ends.push(end);
    }

    /// Nothing: a process that dies takes its memory with it, and its walks are walked again.
    fn save(&self, _: &mut Vec<u8>) {}

    fn restore(&mut self, state: Option<&[u8]>) -> bool {
        *hold(&self.kept) = Kept::default();
        state.is_none()
    }
}
