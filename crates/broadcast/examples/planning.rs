//! How long planners take: `planning HOSTS TOPOLOGY ALGORITHM`. Prints processor seconds (of one thread),
//! trees, hops of all trees, aggregate in bit/s.

#[path = "../tests/it/support.rs"]
mod support;

use broadcast::algorithm::{Algorithm, plan};
use broadcast::topology::Topology;
use support::{Maker, Rates};
use sys::cpu::thread_time;

fn topology(name: &str, hosts: usize) -> Topology {
    let maker = |rates, symmetric| Maker::new(hosts as u64, rates, symmetric);
    let uniform = Rates::Uniform(100, 1000);
    match name {
        "clusters" => maker(uniform, true).clusters(hosts / 40 + 1, hosts),
        "clusters-asymmetric" => maker(uniform, false).clusters(hosts / 40 + 1, hosts),
        "tree" => maker(uniform, true).tree(hosts / 10 + 1, hosts),
        "graph" => maker(uniform, true).graph(hosts / 10 + 1, hosts, 2 * hosts),
        "graph-mixed" => maker(Rates::Mixed, false).graph(hosts / 10 + 1, hosts, 2 * hosts),
        _ => panic!("no topology {name:?}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [hosts, name, algorithm] = arguments.as_slice() else { panic!("HOSTS TOPOLOGY ALGORITHM") };
    let algorithm: Algorithm = algorithm.parse().expect("an algorithm");
    let topology = topology(name, hosts.parse().expect("a number of hosts"));
    let (source, destinations) = support::everybody(&topology);
    let begin = thread_time();
    let plan = plan(algorithm, &topology, source, &destinations, 1).expect("a plan");
    let took = (thread_time() - begin).as_secs_f64();
    let hops: usize = plan.trees().map(|tree| tree.len()).sum();
    println!("{took:.3} {} {hops} {}", plan.len(), plan.aggregate().as_bps());
}
