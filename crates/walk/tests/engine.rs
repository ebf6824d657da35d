//! The engine against one walker at a time: walks in memory are, step for step, those that servers walk, on
//! graphs that lie in the cache and graphs that don't, at any number of threads.

use proptest::prelude::*;
use units::testing::cases;
use walk::graph::{Change, Graph, Rmat, Sbm, Shape};
use walk::partition::{Partition, ServerPart};
use walk::step::{DeadEnd, Engine, HERD, Herd, Hop, Place, Rule, Starts, Stream, Walk};

const SEED: u64 = 9;

/// A graph, and the same graph spread over servers.
struct Spread {
    graph: Graph,
    partition: Partition,
    parts: Vec<ServerPart>,
}

fn spread(graph: Graph, servers: u16) -> Spread {
    let owners = (0..graph.nodes()).map(|node| (node.wrapping_mul(2_654_435_769) >> 16) as u16 % servers);
    let partition = Partition::new(owners.collect(), servers).unwrap();
    let parts = (0..servers).map(|server| ServerPart::of(&graph, &partition, server).unwrap()).collect();
    Spread { graph, partition, parts }
}

/// One walk on a graph spread over servers.
fn one(spread: &Spread, rule: &Rule, start: u32, number: u32) -> Vec<u32> {
    let Spread { parts, partition, .. } = spread;
    let stream = Stream::of(SEED, start, number);
    let length = rule.steps(stream);
    let home = partition.owner(start).unwrap();
    let (mut place, mut server, mut path) = (Place::new(start, home, stream), home, vec![start]);
    loop {
        assert!(parts[usize::from(server)].owns(place.asks()));
        let hop = rule.hop(&parts[usize::from(server)], length, &mut place);
        if place.steps as usize == path.len() {
            path.push(place.at);
        }
        match hop {
            Hop::Here => {}
            Hop::To(other) => server = other,
            Hop::End => break,
        }
    }
    assert_eq!(roaming(spread, rule, start, number), path);
    path
}

/// Where the walks of a start end, when those on one server move together.
fn herded(spread: &Spread, rule: &Rule, start: u32, walks: u32) -> Vec<(u32, u32)> {
    let Spread { parts, partition, .. } = spread;
    let mut ends = vec![(0, 0); walks as usize];
    let mut here: Vec<Vec<(usize, u32, u32, Stream)>> = vec![Vec::new(); parts.len()];
    for (number, end) in (0..walks).zip(&mut ends) {
        let stream = Stream::of(SEED, start, number);
        *end = (start, 0);
        here[usize::from(partition.owner(start).unwrap())].push((
            number as usize,
            start,
            rule.steps(stream),
            stream,
        ));
    }
    let mut herd = Herd::default();
    while let Some(server) = here.iter().position(|walkers| !walkers.is_empty()) {
        let walkers: Vec<_> = std::mem::take(&mut here[server]);
        for walkers in walkers.chunks(HERD) {
            herd.clear();
            walkers.iter().for_each(|&(_, at, left, stream)| herd.join(&parts[server], at, left, stream));
            rule.drive(&parts[server], &mut herd);
            assert_eq!(herd.gone().count(), walkers.len());
            for (number, lane) in herd.gone() {
                let walk = walkers[usize::from(number)].0;
                ends[walk] = (lane.at, ends[walk].1 + lane.steps);
                if lane.steps < lane.left {
                    let next = usize::from(parts[server].owner(lane.at).unwrap());
                    assert_ne!(next, server);
                    here[next].push((walk, lane.at, lane.left - lane.steps, lane.stream));
                }
            }
        }
    }
    ends
}

/// The same, as far as it goes on each server at once.
fn roaming(Spread { parts, partition, .. }: &Spread, rule: &Rule, start: u32, number: u32) -> Vec<u32> {
    let stream = Stream::of(SEED, start, number);
    let length = rule.steps(stream);
    let home = partition.owner(start).unwrap();
    let (mut place, mut path) = (Place::new(start, home, stream), vec![start]);
    let mut server = Some(home);
    while let Some(here) = server {
        assert!(parts[usize::from(here)].owns(place.asks()));
        server = rule.roam(&parts[usize::from(here)], length, &mut place, |node| path.push(node));
    }
    path
}

fn same(spread: &Spread, walk: Walk, starts: &Starts) {
    let graph = &spread.graph;
    let rule = Rule::new(&walk).unwrap();
    let mut expected = Vec::new();
    for &start in starts.nodes().iter().filter(|_| rule.herds()) {
        let alone = (0..200).map(|number| one(spread, &rule, start, number));
        let ends = alone.map(|path| (path[path.len() - 1], path.len() as u32 - 1));
        assert!(herded(spread, &rule, start, 200).into_iter().eq(ends));
    }
    for &start in starts.nodes() {
        for number in 0..starts.walks_per_node() {
            expected.push(one(spread, &rule, start, number));
        }
    }
    let mut visits = vec![0; graph.nodes() as usize];
    expected.iter().flatten().for_each(|&node| visits[node as usize] += 1);
    let steps: usize = expected.iter().map(|path| path.len() - 1).sum();
    for threads in [1, 4] {
        let engine = Engine::new(graph, rule.clone(), SEED).threads(threads);
        let mut paths = Vec::new();
        engine.paths(starts, |block| paths.extend(block.iter().map(<[u32]>::to_vec))).unwrap();
        assert!(paths == expected, "{walk:?} on {threads} threads");
        let mut ends = Vec::new();
        engine
            .ends(starts, |block| ends.extend(block.starts.iter().copied().zip(block.ends.clone())))
            .unwrap();
        assert!(ends.iter().copied().eq(expected.iter().map(|path| (path[0], path[path.len() - 1]))));
        assert_eq!(engine.visits(starts).unwrap().counts, visits);
        assert_eq!(engine.steps(starts).unwrap(), steps as u64);
    }
}

fn rules() -> Vec<Walk> {
    let restart = Walk { restart: 0.2, ..Walk::fixed(9) };
    let first = [Walk::fixed(0), Walk::fixed(7), Walk::geometric(0.15), restart];
    let second = [(2.0, 0.5), (0.25, 4.0), (1.0, 3.0), (0.5, 0.5)];
    let second = second.into_iter().flat_map(|pair| first.map(|walk| Walk { node2vec: Some(pair), ..walk }));
    let all: Vec<Walk> = first.into_iter().chain(second).collect();
    let back = all.clone().into_iter().map(|walk| Walk { dead_end: DeadEnd::Restart, ..walk });
    all.iter().copied().chain(back).collect()
}

fn with_weights(graph: &Graph) -> Graph {
    let arcs = || {
        (0..graph.nodes()).flat_map(move |from| {
            let row = graph.neighbours(from).filter(move |&to| graph.shape().directed || from <= to);
            row.map(move |to| (from, to, 0.5 + ((from * 7) ^ (to * 7)) as f32 % 11.0))
        })
    };
    Graph::with_weights(graph.shape(), arcs).unwrap()
}

#[test]
fn walks_in_the_cache_are_those_of_servers() {
    let graph = Sbm::document(0.1, 0.01).graph(3).unwrap().unwrap();
    let starts = Starts::all(300, 5);
    for spread in [spread(with_weights(&graph), 3), spread(graph, 3)] {
        rules().into_iter().for_each(|walk| same(&spread, walk, &starts));
    }
}

#[test]
fn walks_outside_the_cache_are_those_of_servers() {
    let graph = Rmat { directed: true, ..Rmat::new(14, 150_000) }.graph(3).unwrap().unwrap();
    assert!(graph.bytes() > 512 << 10, "not far enough");
    let starts = Starts::new((0..150).map(|index| index * 97).collect(), 2);
    for spread in [spread(with_weights(&graph), 4), spread(graph, 4)] {
        rules().into_iter().for_each(|walk| same(&spread, walk, &starts));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]
    #[test]
    fn walks_on_any_graph_are_those_of_servers(
        arcs in prop::collection::vec((0u32..9, 0u32..9), 0..30),
        directed: bool,
        rule in 0usize..40,
    ) {
        let graph = Graph::even(Shape { directed, ..Shape::undirected(9) }, || arcs.iter().copied()).unwrap();
        same(&spread(graph, 2), rules()[rule], &Starts::all(9, 3));
    }
}

/// A long run is walked in parts, numbers after numbers; between two of them the graph may change.
#[test]
fn walks_in_parts_see_the_graph_of_their_time() {
    let mut graph = Sbm::document(0.1, 0.01).graph(3).unwrap().unwrap();
    let rule = Rule::new(&Walk::node2vec(12, 2.0, 0.5)).unwrap();
    let walked = |graph: &Graph, first: u32, walks: u32| {
        let mut paths = std::collections::BTreeMap::new();
        let engine = Engine::new(graph, rule.clone(), SEED).threads(3);
        let starts = Starts::all(300, walks).from_number(first);
        let mut at = 0;
        engine
            .paths(&starts, |block| {
                for path in block.iter() {
                    paths.insert((at / walks, first + at % walks), path.to_vec());
                    at += 1;
                }
            })
            .unwrap();
        paths
    };
    let before = walked(&graph, 0, 40);
    assert!(walked(&graph, 0, 25).iter().all(|(walk, path)| before[walk] == *path));
    let batch: Vec<Change> = (0..300).map(|from| Change::Set { from, to: from / 2, weight: None }).collect();
    graph.apply(&batch).unwrap();
    let after = walked(&graph, 25, 15);
    let arcs = || (0..300).flat_map(|node| graph.neighbours(node).map(move |to| (node, to)));
    let fresh = walked(&Graph::even(Shape::undirected(300), arcs).unwrap(), 0, 40);
    assert!(after.iter().all(|(walk, path)| fresh[walk] == *path));
    assert!(after.iter().any(|(walk, path)| before[walk] != *path));
}

#[test]
fn starts_outside_the_graph_are_refused() {
    let graph = Graph::even(Shape::undirected(2), || [(0, 1)]).unwrap();
    let engine = Engine::new(&graph, Rule::new(&Walk::fixed(1)).unwrap(), 1);
    assert!(engine.visits(&Starts::new(vec![0, 2], 1)).is_err());
    assert!(engine.paths(&Starts::new(vec![2], 1), |_| ()).is_err());
    assert_eq!(engine.steps(&Starts::new(vec![], 5)).unwrap(), 0);
    assert_eq!(engine.steps(&Starts::all(2, 0)).unwrap(), 0);
}
