//! How many steps a second of processor time gives, in memory and on one thread: `cargo run --release -p incast-walk
//! --example steps [sbm|rmat] [case ...]`. Prints a line a case: graph, case, million steps a second of processor time,
//! steps, seconds.

use sys::cpu::thread_time;
use walk::graph::{Graph, Rmat, Sbm};
use walk::step::{Engine, Rule, Starts, Walk};

fn weighted(graph: &Graph) -> Graph {
    let weight = |from: u32, to: u32| 1.0 + ((from ^ to).wrapping_mul(0x9e37_79b9) >> 28) as f32;
    Graph::with_weights(graph.shape(), || {
        (0..graph.nodes()).flat_map(move |from| {
            graph.neighbours(from).filter(move |&to| from <= to).map(move |to| (from, to, weight(from, to)))
        })
    })
    .expect("a graph with other weights")
}

fn measure(name: &str, case: &str, graph: &Graph, steps_about: u64) {
    let (walk, mean) = match case {
        "restart" => (Walk::geometric(0.15), 6),
        "node2vec" | "node2vec-paths" => (Walk::node2vec(80, 2.0, 0.5), 80),
        _ => (Walk::fixed(80), 80),
    };
    let nodes: Vec<u32> = (0..graph.nodes()).filter(|&node| graph.degree(node) > 0).collect();
    let walks = (steps_about / mean / nodes.len() as u64).max(1) as u32;
    let starts = Starts::new(nodes, walks);
    let engine = Engine::new(graph, Rule::new(&walk).expect("a rule"), 1);
    let mut steps = 0;
    let mut best = f64::MAX;
    for _ in 0..3 {
        let begin = thread_time();
        steps = match case {
            "paths" | "node2vec-paths" => {
                let mut nodes = 0;
                engine
                    .paths(&starts, |paths| nodes += (paths.nodes().len() - paths.len()) as u64)
                    .expect("starts");
                nodes
            }
            "visits" => engine.visits(&starts).expect("starts").counts.iter().sum::<u64>() - starts.walks(),
            _ => engine.steps(&starts).expect("starts"),
        };
        best = best.min((thread_time() - begin).as_secs_f64());
    }
    println!("{name} {case} {:.1} {steps} {best:.3}", steps as f64 / best / 1e6);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str, names: &[&str]| {
        let asked: Vec<_> = arguments.iter().filter(|word| names.contains(&word.as_str())).collect();
        asked.is_empty() || asked.iter().any(|word| *word == name)
    };
    let graphs = ["sbm", "rmat"];
    let cases = ["uniform", "restart", "node2vec", "weighted", "visits", "paths", "node2vec-paths"];
    for name in graphs.into_iter().filter(|name| wanted(name, &graphs)) {
        let graph = match name {
            "sbm" => Sbm::document(0.3, 0.03).graph(1),
            _ => Rmat::new(22, 23_900_000).graph(1),
        };
        let graph = graph.expect("possible parameters").expect("a graph");
        let joined = (0..graph.nodes()).filter(|&node| graph.degree(node) > 0).count();
        println!(
            "# {name}: {joined} nodes, {} arcs, {:.2} bytes an arc",
            graph.arcs(),
            graph.bytes() as f64 / graph.arcs() as f64
        );
        let about = if name == "sbm" { 100_000_000 } else { 60_000_000 };
        for case in cases.into_iter().filter(|case| wanted(case, &cases)) {
            if case == "weighted" {
                measure(name, case, &weighted(&graph), about);
            } else {
                measure(name, case, &graph, about);
            }
        }
    }
}
