//! A server of random walks as a member of a live run: it has its part of the graph, and keeps the finished
//! walks of its own starts.

use super::bytes;
use super::kept::{Disk, Shared, left};
use crate::live::{Begin, LiveMember, read};
use crate::{hold, invalid};
use ::scenario::kinds::WalkChanges;
use ::walk::counters::{Board, Sample, Totals};
use ::walk::generator::Generation;
use ::walk::graph::Shape;
use ::walk::loss::LossSettings;
use ::walk::mailbox::Mailbox;
use ::walk::outbox::DatagramSettings;
use ::walk::partition::{Partition, ServerPart};
use ::walk::queue::Discipline;
use ::walk::seal::Key;
use ::walk::server::{Server, ServerSetup};
use ::walk::settings::{Costs, Derived, LIVE_BURST, STEPS_MAX, Settings};
use ::walk::step::Rule;
use ::walk::territory::{Territory, TimedChanges};
use ::walk::wire::{Codec, DATAGRAM_MAX};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use units::Time;

/// The port of the job, by its own number.
const PORT: u16 = 1;
/// Finished walks of so long are lost with a server that crashes, and walked again.
const KEEP: Time = Time::from_ms(100);
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
    queue: Discipline,
    limit: u64,
    loss: LossSettings,
    generation: Generation,
    datagrams: DatagramSettings,
    /// Bytes that a datagram may have where it is shared: more than a frame takes would be cut by a network.
    shared_bytes: usize,
    /// Time between samples.
    sample: Time,
}

/// A batch of changes, and the owners of the nodes that they join.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    owners: Vec<(u32, u16)>,
    changes: WalkChanges,
}

/// A server, ready to run once.
#[pyclass(frozen)]
pub(super) struct WalkServer {
    told: Told,
    ready: Mutex<Option<(Territory, Settings, Vec<u32>)>>,
    kept: Shared,
    board: Arc<Board>,
    mailbox: Arc<Mailbox>,
    /// The counters at the last sample that was handed out.
    shown: Mutex<Totals>,
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
        let rule = super::rule(told.steps, told.stop, told.bias)?;
        let settings = settings(&told, &rule);
        settings.check().map_err(invalid)?;
        let partition = Partition::new(owners.to_vec(py)?, told.servers).map_err(invalid)?;
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
        let part = part.map_err(invalid)?;
        let territory = Territory { part, rule, seed: told.seed, fresh: false };
        Ok(WalkServer {
            kept: Shared::new(told.paths),
            told,
            ready: Mutex::new(Some((territory, settings, starts.to_vec(py)?))),
            board: Arc::default(),
            mailbox: Arc::default(),
            shown: Mutex::default(),
        })
    }

    /// Serves until told to stop, after `life` lives before this one, with its journal at a place; returns
    /// the member's report.
    fn run(
        &self,
        py: Python<'_>,
        member: &LiveMember,
        begin: &str,
        progress: Py<PyAny>,
        kept: (PathBuf, u16),
    ) -> PyResult<String> {
        let (journal, life) = kept;
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
            mailbox: Some(Arc::clone(&self.mailbox)),
            sink: Box::new(self.kept.clone()),
            store: Box::new(Disk::new(journal, life, self.kept.clone())),
            board: Arc::clone(&self.board),
        });
        let host = (format!("server{}", self.told.server), self.told.seed);
        member.run_process(py, begin, host, ("walk", Box::new(server)), &progress)
    }

    /// The counters by name.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.board.counters.totals().named().into_iter().collect()
    }

    /// The samples taken since the last call: time, queue, and what was counted since the sample before.
    fn samples(&self) -> Vec<BTreeMap<&'static str, u64>> {
        let mut shown = hold(&self.shown);
        let row = |sample: Sample| {
            let before = std::mem::replace(&mut *shown, sample.totals).named();
            let since = sample.totals.named().into_iter().zip(before);
            let since = since.map(|((name, now), (_, before))| (name, now.saturating_sub(before)));
            let own = [
                ("time_ps", sample.time.as_ps()),
                ("queue", sample.queue),
                ("queue_max", sample.queue_max),
                ("timeout_ps", sample.timeout.as_ps()),
            ];
            own.into_iter().chain(since).collect()
        };
        self.board.take_samples().into_iter().map(row).collect()
    }

    /// Arcs come and go: a batch, applied between two steps, and the owners of the nodes that it joins.
    fn change(&self, batch: &str) -> PyResult<()> {
        let Changed { owners, changes } = read(batch)?;
        self.mailbox.put(TimedChanges { at: changes.at, changes: changes.changes(), owners });
        Ok(())
    }

    /// Where the finished walks ended: start, node and how many, as arrays, ascending.
    fn ends<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        super::rows(py, &mut self.kept.hold().ends)
    }

    /// The finished walks' paths: start, number, nodes, and where each path begins and the last one ends.
    fn paths<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 4] {
        paths_of(py, &self.kept)
    }
}

fn paths_of<'py>(py: Python<'py>, kept: &Shared) -> [Bound<'py, PyBytes>; 4] {
    let kept = kept.hold();
    let words = |numbers: &[u32]| bytes(py, numbers.iter().map(|number| number.to_le_bytes()));
    let offsets = std::iter::once(0).chain(kept.path_ends.iter().copied());
    let offsets = bytes(py, offsets.map(u64::to_le_bytes));
    [words(&kept.starts), words(&kept.numbers), words(&kept.nodes), offsets]
}

/// What is in the journal of a server that is gone: arrays as of `ends`, or of `paths`.
#[pyfunction]
pub(super) fn walk_journal<'py>(
    py: Python<'py>,
    place: PathBuf,
    starts: PyBuffer<u32>,
    walks: u32,
    paths: bool,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let kept = left(&place, starts.to_vec(py)?, walks, paths).map_err(PyValueError::new_err)?;
    Ok(if paths { paths_of(py, &kept).to_vec() } else { super::rows(py, &mut kept.hold().ends).to_vec() })
}

/// What it is told, with what a path needs.
fn settings(told: &Told, rule: &Rule) -> Settings {
    let bytes_max = DATAGRAM_MAX as u32;
    let fit = (bytes_max - BESIDE_PATH) / 4;
    let steps_max = match rule.fixed_steps() {
        Some(steps) => steps.max(1),
        None if told.paths => fit,
        None => STEPS_MAX,
    };
    let plain = Derived::default().datagram_bytes;
    let path = if told.paths { BESIDE_PATH.saturating_add(steps_max.saturating_mul(4)) } else { 0 };
    let shared = if told.datagrams.walkers > 1 { told.shared_bytes } else { 0 };
    let bytes = (path.min(bytes_max) as usize).max(shared.min(DATAGRAM_MAX));
    Settings {
        walks: told.walks,
        steps_max,
        queue: told.queue,
        limit: told.limit,
        loss: told.loss,
        generation: told.generation,
        datagrams: told.datagrams,
        snapshot: Some(KEEP),
        derived: Derived {
            paths: told.paths,
            datagram_bytes: bytes.max(plain),
            burst: LIVE_BURST,
            sample: Some(told.sample),
        },
        ..Settings::live()
    }
}
