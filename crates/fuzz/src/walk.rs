//! Random walks: datagrams, a server that gets them, its journal, and the arrays that graphs are made of.

use crate::alone::alone;
use ::walk::counters::Board;
use ::walk::graph::{Graph, Shape};
use ::walk::partition::{Partition, ServerPart};
use ::walk::queue::Discipline;
use ::walk::seal::Key;
use ::walk::server::{Server, ServerSetup};
use ::walk::settings::{Costs, Settings};
use ::walk::sink::{Ends, FinishedWalk, Sink};
use ::walk::step::{Engine, Rule, Starts, Walk};
use ::walk::store::Store;
use ::walk::territory::Territory;
use ::walk::wire::Codec;
use process::testing::World;
use process::{Addr, Event, HostId, Payload};
use std::sync::{Arc, Mutex};
use twox_hash::XxHash3_64;
use units::Time;

const PORT: u16 = 1;
const NODES: u32 = 6;
const WALKS: u32 = 4;

/// Without a key a datagram is what it decodes to, byte for byte; with one, nobody has guessed its tag.
pub fn datagram(bytes: &[u8]) {
    let open = Codec { job: 0, server: 0, key: None };
    let mut records = Vec::new();
    match open.decode(bytes, &mut records) {
        Ok(server) => assert_eq!(Codec { server, ..open }.encode(&records), bytes),
        Err(_) => assert!(records.is_empty()),
    }
    let sealed = Codec { job: 0, server: 0, key: Some(Key::new([7; 16])) };
    assert!(sealed.decode(bytes, &mut records).is_err());
}

/// A ring with chords, of which server 0 of two owns the first half.
fn territory(walk: &Walk) -> Territory {
    let arcs = || (0..NODES).flat_map(|node| [(node, (node + 1) % NODES), (node, (node + 2) % NODES)]);
    let graph = Graph::even(Shape::undirected(NODES), arcs).expect("a ring");
    let partition = Partition::even(NODES, 2).expect("two servers");
    let part = ServerPart::of(&graph, &partition, 0).expect("half of a ring");
    Territory { part, rule: Rule::new(walk).expect("a rule"), seed: 5, fresh: false }
}

/// Finished walks that can be looked at.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Ends>>);

impl Shared {
    fn count(&self) -> u64 {
        self.0.lock().expect("one thread").counts.values().sum()
    }
}

impl Sink for Shared {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        self.0.lock().expect("one thread").finished(walk);
    }

    fn save(&self, out: &mut Vec<u8>) {
        self.0.lock().expect("one thread").save(out);
    }

    fn restore(&mut self, state: Option<&[u8]>) -> bool {
        self.0.lock().expect("one thread").restore(state)
    }
}

/// Has one journal, and keeps none.
struct Given(Option<Vec<u8>>);

impl Store for Given {
    fn save(&mut self, _: &dyn Fn() -> Vec<u8>) -> bool {
        true
    }

    fn load(&mut self) -> Option<Vec<u8>> {
        self.0.clone()
    }
}

/// A server without a key, so that anything may be said to it.
fn open_server(walk: &Walk, paths: bool, journal: Option<Vec<u8>>) -> (Server, Shared, Arc<Board>) {
    let (sink, board) = (Shared::default(), Arc::new(Board::default()));
    let queue = Discipline::TailDrop {};
    let mut settings = Settings { walks: WALKS, steps_max: 12, queue, limit: 8, ..Settings::default() };
    settings.derived.paths = paths;
    let server = Server::new(ServerSetup {
        settings,
        costs: Costs {
            step: Time::from_us(1),
            walker: Time::from_us(1),
            generate: Time::from_us(1),
            ..Costs::default()
        },
        servers: (0..2).map(|host| Addr { host: HostId(host), port: PORT }).collect(),
        codec: Codec { job: 0, server: 0, key: None },
        territory: territory(walk),
        starts: None,
        changes: Vec::new(),
        mailbox: None,
        sink: Box::new(sink.clone()),
        store: Box::new(Given(journal)),
        board: Arc::clone(&board),
    });
    (server, sink, board)
}

fn check(world: &mut World, sink: &Shared, board: &Board) {
    let totals = board.counters.totals();
    assert!(totals.finished <= totals.required, "{totals:?}");
    assert_eq!(totals.finished, sink.count(), "counted as often as handed over");
    let codec = Codec { job: 0, server: 1, key: None };
    let mut records = Vec::new();
    for sent in world.sent.drain(..) {
        let Payload::Data(datagram) = &sent.data else { panic!("servers send records") };
        assert_eq!(codec.decode(datagram, &mut records), Ok(0), "what is sent can be read");
    }
}

/// Datagrams of the other server, each after its length (two bytes): what is wrong is dropped, no walk is
/// counted twice, and what is sent can be read. The first byte says which walks.
pub fn server(bytes: &[u8]) {
    let Some((&kind, mut rest)) = bytes.split_first() else { return };
    let walk = if kind & 1 == 0 { Walk::geometric(0.2) } else { Walk::node2vec(8, 2.0, 0.5) };
    let (server, sink, board) = open_server(&walk, kind & 2 != 0, None);
    let mut world = alone(HostId(0), Box::new(server));
    world.keep_sent = true;
    world.step(9);
    let from = Addr { host: HostId(1), port: PORT };
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (datagram, after) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        let data = Payload::from(datagram.to_vec());
        world.deliver(0, Event::Datagram { from, port: PORT, data });
        world.step(8);
        check(&mut world, &sink, &board);
        rest = after;
    }
    world.step(200);
    check(&mut world, &sink, &board);
}

/// A server begins with a journal of these bytes: as they are, and as the content of a record of each kind.
pub fn journal(bytes: &[u8]) {
    let record = |magic: &[u8; 4]| {
        let mut record = magic.to_vec();
        record.extend((bytes.len() as u64).to_le_bytes());
        record.extend(bytes);
        let sum = XxHash3_64::oneshot(&record);
        record.extend(sum.to_le_bytes());
        record
    };
    for journal in [bytes.to_vec(), record(b"RWS2"), record(b"RWE2"), record(b"RWP2")] {
        let (server, _, board) = open_server(&Walk::geometric(0.2), false, Some(journal));
        let mut world = alone(HostId(0), Box::new(server));
        world.step(1);
        let restored = board.counters.totals().restored;
        world.step(500);
        let totals = board.counters.totals();
        assert!(restored <= totals.finished && totals.finished <= totals.required, "{totals:?}");
    }
}

/// Arcs of twelve bytes (ends, weight), as undirected, directed and compressed rows: refused, or walked on.
pub fn graph(bytes: &[u8]) {
    let Some((&nodes, rest)) = bytes.split_first() else { return };
    let word = |at: &[u8]| u32::from_le_bytes(*at.first_chunk().expect("four bytes"));
    let arcs: Vec<(u32, u32, f32)> = rest
        .chunks_exact(12)
        .map(|arc| (word(arc), word(&arc[4..]), f32::from_bits(word(&arc[8..]))))
        .collect();
    let nodes = u32::from(nodes);
    let even = || arcs.iter().map(|(from, to, _)| (*from, *to));
    for shape in [Shape::undirected(nodes), Shape::directed(nodes)] {
        used(Graph::even(shape, even));
        used(Graph::with_weights(shape, || arcs.iter().copied()));
    }
    let offsets: Vec<u64> = arcs.iter().map(|arc| u64::from(arc.0)).collect();
    let targets: Vec<u32> = arcs.iter().map(|arc| arc.1).collect();
    let weights: Vec<f32> = arcs.iter().map(|arc| arc.2).collect();
    used(Graph::from_rows(Shape::directed(nodes), &offsets, &targets, Some(&weights)));
    if let Ok(text) = std::str::from_utf8(rest)
        && let Ok(partition) = Partition::metis(text, nodes)
    {
        assert_eq!(partition.sizes().iter().sum::<u32>(), nodes);
    }
}

fn used<E: std::fmt::Debug>(graph: Result<Graph, E>) {
    let Ok(graph) = graph else { return };
    let nodes = graph.nodes();
    let rule = Rule::new(&Walk::node2vec(5, 2.0, 0.5)).expect("a rule");
    let starts = Starts::new((0..nodes).collect(), 1);
    let walked = Engine::new(&graph, rule, 1).ends(&starts, |block| {
        assert!(block.ends.iter().all(|end| *end < nodes));
    });
    walked.expect("starts are nodes");
    let partition = Partition::even(nodes, 2).expect("two servers");
    for server in 0..2 {
        let part = ServerPart::of(&graph, &partition, server).expect("of the graph");
        assert_eq!(part.own_nodes().count(), partition.sizes()[usize::from(server)] as usize);
    }
}

/// A partition as METIS writes it, for as many nodes as the first byte says: refused in words, or each node's
/// owner is on its line.
pub fn owners(bytes: &[u8]) {
    let Some((&nodes, rest)) = bytes.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    match Partition::metis(text, u32::from(nodes)) {
        Ok(partition) => {
            let lines: Vec<Option<u16>> = text.lines().map(|line| line.trim().parse().ok()).collect();
            let owners: Vec<Option<u16>> = (0..partition.nodes()).map(|node| partition.owner(node)).collect();
            assert_eq!(owners, lines);
            assert_eq!(partition.sizes().iter().sum::<u32>(), u32::from(nodes));
            assert!(owners.iter().flatten().all(|owner| *owner < partition.servers()));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
