//! How many steps a second of processor time gives, in memory and on one thread.
//!
//! `cargo run --release -p incast-walk --example steps [sbm|rmat] [CASE ...]` prints a line a case: graph,
//! case, million steps a second of processor time, steps, seconds. The best of three runs counts: others on
//! the machine take cache and memory bandwidth away. `steps export sbm|rmat FILE` writes the graph for other
//! programs: nodes and arcs, the rows' offsets (8 bytes each), the targets (4 bytes each), little-endian.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use sys::cpu::thread_time;
use walk::graph::{Graph, Rmat, Sbm};
use walk::step::{Engine, Rule, Starts, Walk};

const CASES: [&str; 7] = ["uniform", "restart", "node2vec", "weighted", "visits", "paths", "node2vec-paths"];
const STEPS: u32 = 80;
const RUNS: u32 = 3;

/// The document's graph, or one that no cache holds: 1.8 million nodes with arcs and 46.8 million arcs.
fn graph(name: &str) -> Graph {
    let made =
        if name == "sbm" { Sbm::document(0.3, 0.03).graph(1) } else { Rmat::new(22, 23_900_000).graph(1) };
    made.expect("possible parameters").expect("a graph")
}

fn weighted(graph: &Graph) -> Graph {
    let weight = |from: u32, to: u32| 1.0 + ((from ^ to).wrapping_mul(0x9e37_79b9) >> 28) as f32;
    let row = |from| {
        let once = graph.neighbours(from).filter(move |&to| from <= to);
        once.map(move |to| (from, to, weight(from, to)))
    };
    Graph::with_weights(graph.shape(), || (0..graph.nodes()).flat_map(row))
        .expect("a graph with other weights")
}

/// Walks once and says how many steps there were.
fn walk(engine: &Engine<'_>, case: &str, starts: &Starts) -> u64 {
    let mut steps = 0;
    match case {
        "paths" | "node2vec-paths" => {
            engine
                .paths(starts, |paths| steps += (paths.nodes().len() - paths.len()) as u64)
                .expect("starts");
        }
        "visits" => {
            steps = engine.visits(starts).expect("starts").counts.iter().sum::<u64>() - starts.walks()
        }
        _ => steps = engine.steps(starts).expect("starts"),
    }
    steps
}

fn measure(name: &str, case: &str, graph: &Graph) {
    let rule = match case {
        "restart" => Walk::geometric(0.15),
        "node2vec" | "node2vec-paths" => Walk::node2vec(STEPS, 2.0, 0.5),
        _ => Walk::fixed(STEPS),
    };
    let rule = Rule::new(&rule).expect("a rule");
    let nodes: Vec<u32> = (0..graph.nodes()).filter(|&node| graph.degree(node) > 0).collect();
    let walks = (60_000_000.0 / rule.mean_steps() / nodes.len() as f64).max(1.0) as u32;
    let starts = Starts::new(nodes, walks);
    let engine = Engine::new(graph, rule, 1);
    let (mut best, mut steps) = (f64::MAX, 0);
    for _ in 0..RUNS {
        let begin = thread_time();
        steps = walk(&engine, case, &starts);
        best = best.min((thread_time() - begin).as_secs_f64());
    }
    println!("{name} {case} {:.1} {steps} {best:.3}", steps as f64 / best / 1e6);
}

fn memory(name: &str, case: &str, graph: &Graph) {
    println!("{name} {case} {:.2} {} 0", graph.bytes() as f64 / graph.arcs() as f64, graph.arcs());
}

fn export(graph: &Graph, file: &str) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    out.write_all(&u64::from(graph.nodes()).to_le_bytes())?;
    out.write_all(&graph.arcs().to_le_bytes())?;
    let mut offset = 0u64;
    out.write_all(&offset.to_le_bytes())?;
    for node in 0..graph.nodes() {
        offset += u64::from(graph.degree(node));
        out.write_all(&offset.to_le_bytes())?;
    }
    for to in (0..graph.nodes()).flat_map(|node| graph.neighbours(node)) {
        out.write_all(&to.to_le_bytes())?;
    }
    out.flush()
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, name, file] = &words[..]
        && first == "export"
    {
        return export(&graph(name), file);
    }
    let asked = |all: &[&'static str]| -> Vec<&'static str> {
        let some: Vec<_> = all.iter().copied().filter(|name| words.iter().any(|word| word == name)).collect();
        if some.is_empty() { all.to_vec() } else { some }
    };
    for name in asked(&["sbm", "rmat"]) {
        let graph = graph(name);
        for case in asked(&CASES) {
            if case == "weighted" {
                let graph = weighted(&graph);
                measure(name, case, &graph);
                memory(name, "weighted-bytes-an-arc", &graph);
            } else {
                measure(name, case, &graph);
            }
        }
        memory(name, "bytes-an-arc", &graph);
    }
    Ok(())
}
