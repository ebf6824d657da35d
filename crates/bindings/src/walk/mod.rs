//! Random walks in memory: graphs from arrays, and walks on them. Arrays come as buffers and go as bytes.
//!
//! A call walks some of the walks of a run; the caller cuts a long run into calls, between which Python sees
//! signals.

mod apps;
mod kept;
mod server;

use crate::invalid;
use ::scenario::kinds::WalkChanges;
use ::walk::app::Tally;
use ::walk::app::recommend::same_side;
use ::walk::graph::{Graph, GraphError, Sbm, Shape};
use ::walk::step::{Engine, Length, Rule, Starts, Walk};
use pyo3::buffer::PyBuffer;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, PoisonError, RwLock};

create_exception!(_core, GraphArcError, PyValueError, "An arc that can't be: its number, message.");

/// Adds the classes and functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("GraphArcError", module.py().get_type::<GraphArcError>())?;
    module.add_class::<WalkGraph>()?;
    module.add_class::<WalkEngine>()?;
    module.add_class::<server::WalkServer>()?;
    module.add_function(wrap_pyfunction!(server::walk_journal, module)?)?;
    apps::register(module)
}

type Part<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

/// A graph in memory; see [`walk::graph`].
#[pyclass(frozen)]
pub(crate) struct WalkGraph(pub(crate) Arc<Graph>);

#[pymethods]
impl WalkGraph {
    /// A graph of `nodes` nodes from its arcs, with weights or without. Both ends are numbers below `nodes`.
    #[staticmethod]
    fn from_arcs(
        py: Python<'_>,
        nodes: u32,
        directed: bool,
        sources: PyBuffer<u32>,
        targets: PyBuffer<u32>,
        weights: Option<PyBuffer<f32>>,
    ) -> PyResult<WalkGraph> {
        let (sources, targets) = (sources.to_vec(py)?, targets.to_vec(py)?);
        let weights = weights.map(|weights| weights.to_vec(py)).transpose()?;
        let shape = if directed { Shape::directed(nodes) } else { Shape::undirected(nodes) };
        let ends = || sources.iter().copied().zip(targets.iter().copied());
        made(py.detach(|| match &weights {
            None => Graph::even(shape, ends),
            Some(weights) => Graph::with_weights(shape, || {
                ends().zip(weights).map(|((from, to), weight)| (from, to, *weight))
            }),
        }))
    }

    /// A graph from compressed rows; an undirected one names each edge in both rows.
    #[staticmethod]
    fn from_rows(
        py: Python<'_>,
        directed: bool,
        offsets: PyBuffer<u64>,
        targets: PyBuffer<u32>,
        weights: Option<PyBuffer<f32>>,
    ) -> PyResult<WalkGraph> {
        let (offsets, targets) = (offsets.to_vec(py)?, targets.to_vec(py)?);
        let weights = weights.map(|weights| weights.to_vec(py)).transpose()?;
        let nodes = u32::try_from(offsets.len().saturating_sub(1))
            .map_err(|_| PyValueError::new_err("more nodes than 32 bits can number"))?;
        let shape = if directed { Shape::directed(nodes) } else { Shape::undirected(nodes) };
        made(py.detach(|| Graph::from_rows(shape, &offsets, &targets, weights.as_deref())))
    }

    /// A stochastic block model: blocks of these sizes, edges with these probabilities.
    #[staticmethod]
    fn sbm(py: Python<'_>, sizes: Vec<u32>, inside: f64, between: f64, seed: u64) -> PyResult<WalkGraph> {
        let graph = py.detach(|| Sbm { sizes, inside, between }.graph(seed));
        made(graph.ok_or_else(|| {
            PyValueError::new_err("probabilities from 0 to 1 and fewer than 2^32 nodes are allowed")
        })?)
    }

    /// How many nodes.
    fn nodes(&self) -> u32 {
        self.0.nodes()
    }

    /// How many arcs; an edge of an undirected graph is two, a loop one.
    fn arcs(&self) -> u64 {
        self.0.arcs()
    }

    /// Whether an arc goes one way only.
    fn directed(&self) -> bool {
        self.0.shape().directed
    }

    /// Whether arcs have weights.
    fn weighted(&self) -> bool {
        self.0.weighted()
    }

    /// The arcs that touch the nodes of a server: sources, targets, weights. An edge of an undirected graph
    /// comes once.
    fn part<'py>(&self, py: Python<'py>, owners: PyBuffer<u16>, server: u16) -> PyResult<Part<'py>> {
        let owners = owners.to_vec(py)?;
        if owners.len() as u64 != u64::from(self.0.nodes()) {
            return Err(PyValueError::new_err("there is an owner for each node"));
        }
        let graph = &self.0;
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let own = |node: u32| owners[node as usize] == server;
        for from in 0..graph.nodes() {
            for (to, weight) in graph.neighbours(from).zip(graph.weights(from)) {
                if (own(from) || own(to)) && (graph.shape().directed || from <= to) {
                    sources.push(from);
                    targets.push(to);
                    weights.push(weight);
                }
            }
        }
        let weights = graph.weighted().then(|| bytes(py, weights.into_iter().map(f32::to_le_bytes)));
        let words = |numbers: Vec<u32>| bytes(py, numbers.into_iter().map(u32::to_le_bytes));
        Ok((words(sources), words(targets), weights))
    }

    /// A byte a node: 1 for those that may be recommended to people who like `liked`.
    fn same_side<'py>(&self, py: Python<'py>, liked: Vec<u32>) -> Bound<'py, PyBytes> {
        bytes(py, same_side(&self.0, &liked).into_iter().map(|same| [u8::from(same)]))
    }

    /// The graph with all arcs turned around.
    fn reversed(&self, py: Python<'_>) -> PyResult<WalkGraph> {
        made(py.detach(|| self.0.reversed()))
    }
}

fn made(graph: Result<Graph, GraphError>) -> PyResult<WalkGraph> {
    let graph = graph.map_err(|error| match error {
        GraphError::Node { arc, .. } | GraphError::Weight { arc, .. } => {
            GraphArcError::new_err((arc, error.to_string()))
        }
        error => PyValueError::new_err(error.to_string()),
    })?;
    Ok(WalkGraph(Arc::new(graph)))
}

/// A walk's rule: so many steps, or a probability to stop before each; p and q where steps look back.
pub(crate) fn rule(steps: Option<u32>, stop: Option<f64>, bias: Option<(f64, f64)>) -> PyResult<Rule> {
    let length = match (steps, stop) {
        (Some(steps), None) => Length::Fixed(steps),
        (None, Some(stop)) => Length::Stop(stop),
        _ => return Err(PyValueError::new_err("either a number of steps or a probability to stop")),
    };
    Rule::new(&Walk { length, node2vec: bias, ..Walk::fixed(0) }).map_err(invalid)
}

/// Walks on a graph by one rule, on several threads; the same walks on any number of them.
#[pyclass(frozen)]
struct WalkEngine {
    /// Its own, once a change has come: the graph that it was made for stays as it is.
    graph: RwLock<Arc<Graph>>,
    rule: Rule,
    seed: u64,
    threads: usize,
}

#[pymethods]
impl WalkEngine {
    #[new]
    #[pyo3(signature = (graph, steps, stop, bias, seed, threads))]
    fn new(
        graph: &WalkGraph,
        steps: Option<u32>,
        stop: Option<f64>,
        bias: Option<(f64, f64)>,
        seed: u64,
        threads: usize,
    ) -> PyResult<WalkEngine> {
        Ok(WalkEngine {
            graph: RwLock::new(Arc::clone(&graph.0)),
            rule: rule(steps, stop, bias)?,
            seed,
            threads,
        })
    }

    /// Where walks number `first` to before `first + walks` from each of `starts` end: start, node and how
    /// many, as arrays, ascending.
    fn ends<'py>(
        &self,
        py: Python<'py>,
        starts: PyBuffer<u32>,
        first: u32,
        walks: u32,
    ) -> PyResult<[Bound<'py, PyBytes>; 3]> {
        let starts = Starts::new(starts.to_vec(py)?, walks).from_number(first);
        let mut tally = Tally::default();
        let walked = py.detach(|| {
            self.engine(&self.graph()).ends(&starts, |block| {
                block.starts.iter().zip(&block.ends).for_each(|(&start, &end)| tally.add(start, end));
            })
        });
        walked.map_err(invalid)?;
        Ok(rows(py, &mut tally))
    }

    /// The nodes that these walks pass, path after path, and where each path begins and the last one ends.
    fn paths<'py>(
        &self,
        py: Python<'py>,
        starts: PyBuffer<u32>,
        first: u32,
        walks: u32,
    ) -> PyResult<[Bound<'py, PyBytes>; 2]> {
        let starts = Starts::new(starts.to_vec(py)?, walks).from_number(first);
        let (mut nodes, mut offsets) = (Vec::<u32>::new(), vec![0u64]);
        let walked = py.detach(|| {
            self.engine(&self.graph()).paths(&starts, |block| {
                let before = nodes.len() as u64;
                nodes.extend_from_slice(block.nodes());
                offsets.extend(block.offsets()[1..].iter().map(|&offset| before + offset as u64));
            })
        });
        walked.map_err(invalid)?;
        Ok([
            bytes(py, nodes.iter().map(|node| node.to_le_bytes())),
            bytes(py, offsets.iter().map(|offset| offset.to_le_bytes())),
        ])
    }

    /// Arcs come and go: later calls walk on the graph as it is then. The changes are a batch as in a
    /// scenario.
    fn change(&self, py: Python<'_>, batch: &str) -> PyResult<()> {
        let changes = crate::live::read::<WalkChanges>(batch)?.changes();
        py.detach(|| {
            let mut graph = self.graph.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut graph).apply(&changes).map(drop)
        })
        .map_err(invalid)
    }
}

impl WalkEngine {
    fn engine<'g>(&self, graph: &'g Graph) -> Engine<'g> {
        Engine::new(graph, self.rule.clone(), self.seed).threads(self.threads)
    }

    fn graph(&self) -> Arc<Graph> {
        Arc::clone(&self.graph.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Start, node and count, as arrays, ascending.
fn rows<'py>(py: Python<'py>, tally: &mut Tally) -> [Bound<'py, PyBytes>; 3] {
    let (mut starts, mut nodes, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for start in tally.starts() {
        for (node, count) in tally.of(start) {
            starts.push(start);
            nodes.push(node);
            counts.push(count);
        }
    }
    [
        bytes(py, starts.into_iter().map(u32::to_le_bytes)),
        bytes(py, nodes.into_iter().map(u32::to_le_bytes)),
        bytes(py, counts.into_iter().map(u64::to_le_bytes)),
    ]
}

/// An array as numpy reads it from bytes.
pub(crate) fn bytes<'py, const N: usize>(
    py: Python<'py>,
    numbers: impl Iterator<Item = [u8; N]>,
) -> Bound<'py, PyBytes> {
    let all: Vec<u8> = numbers.flatten().collect();
    PyBytes::new(py, &all)
}
