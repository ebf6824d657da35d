//! Every walk is counted once, and ends where it ends alone: under loss, duplicates, reordering, crashes, and
//! whatever strangers send.

use crate::codel::CodelSettings;
use crate::counters::{Board, Totals};
use crate::generator::{Generation, Sleep};
use crate::graph::{Change, Graph, Sbm, Shape};
use crate::mailbox::{LOOK, Mailbox};
use crate::partition::{Partition, ServerPart};
use crate::queue::Discipline;
use crate::seal::Key;
use crate::server::{Server, ServerSetup};
use crate::settings::{Costs, Settings};
use crate::sink::{Ends, FinishedWalk, Sink};
use crate::step::{Rule as Moves, Walk};
use crate::territory::{Territory, TimedChanges};
use crate::tests::journal::{Log, Logged};
use crate::wire::{Codec, Record, WalkId, Walker};
use process::testing::{Network, World};
use process::{Addr, Event, HostId, Payload};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use units::Time;
use units::testing::cases;

/// Ends that the test can look at, and the longest path.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<(Ends, u64)>>);

impl Sink for Shared {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        let mut inner = self.0.lock().unwrap();
        inner.1 += walk.path.len() as u64;
        inner.0.finished(walk);
    }
    fn save(&self, out: &mut Vec<u8>) {
        self.0.lock().unwrap().0.save(out);
    }
    fn restore(&mut self, state: Option<&[u8]>) -> bool {
        self.0.lock().unwrap().0.restore(state)
    }
}

struct Cluster {
    world: World,
    boards: Vec<Arc<Board>>,
    sinks: Vec<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
}

const SEED: u64 = 11;
const PORT: u16 = 7000;

/// Addresses of `n` servers.
fn addresses(n: usize) -> Vec<Addr> {
    (0..n as u32).map(|host| Addr { host: HostId(host), port: PORT }).collect()
}

/// The bytes of a datagram.
fn content(data: &Payload) -> &[u8] {
    let Payload::Data(bytes) = data else { panic!("servers send records") };
    bytes
}

/// A graph spread over servers, and the walks on it.
struct Ground {
    graph: Graph,
    partition: Partition,
    rule: Moves,
}

impl Ground {
    /// A stochastic block model, walks that stop with `stop` before each step.
    fn new(sizes: &[u32], stop: f64) -> Ground {
        Ground::of(sizes, &Walk::geometric(stop))
    }

    fn of(sizes: &[u32], walk: &Walk) -> Ground {
        let sbm = Sbm { sizes: sizes.to_vec(), inside: 0.4, between: 0.2 };
        let graph = sbm.graph(3).unwrap().unwrap();
        Ground { graph, partition: Partition::ranges(sizes).unwrap(), rule: Moves::new(walk).unwrap() }
    }

    fn territory(&self, partition: &Partition, server: u16) -> Territory {
        let part = ServerPart::of(&self.graph, partition, server).unwrap();
        Territory { part, rule: self.rule.clone(), seed: SEED, fresh: false }
    }

    /// How all walks end on one server that has the whole graph.
    fn alone(&self, walks: u32, steps_max: u32) -> BTreeMap<(u32, u32), u64> {
        let territory = self.territory(&Partition::even(self.graph.nodes(), 1).unwrap(), 0);
        let mut counts = BTreeMap::new();
        for (start, number) in (0..self.graph.nodes()).flat_map(|start| (0..walks).map(move |n| (start, n))) {
            let id = WalkId { start, number, attempt: 1, epoch: 0, born_ns: 0 };
            let random = territory.stream(&id).0;
            let (previous, candidate, path) = (None, None, Vec::new());
            let mut walker = Walker { id, source: 0, at: start, previous, candidate, steps: 0, random, path };
            assert_eq!(territory.walk(&mut walker, steps_max, false), None);
            *counts.entry((start, walker.at)).or_default() += 1;
        }
        counts
    }
}

fn costs() -> Costs {
    Costs {
        step: Time::from_ns(500),
        walker: Time::from_us(1),
        generate: Time::from_us(1),
        ..Costs::default()
    }
}

impl Cluster {
    fn new(
        settings: &Settings,
        ground: &Ground,
        changes: &[TimedChanges],
        trouble: Network,
        seed: u64,
    ) -> Cluster {
        Cluster::with(settings, ground, changes, trouble, seed, false)
    }

    fn with(
        settings: &Settings,
        ground: &Ground,
        changes: &[TimedChanges],
        trouble: Network,
        seed: u64,
        fresh: bool,
    ) -> Cluster {
        Cluster::at(costs(), settings, ground, changes, trouble, seed, fresh)
    }

    fn at(
        costs: Costs,
        settings: &Settings,
        ground: &Ground,
        changes: &[TimedChanges],
        trouble: Network,
        seed: u64,
        fresh: bool,
    ) -> Cluster {
        settings.check().unwrap();
        let (boards, sinks, mailboxes) = (Vec::new(), Vec::new(), Vec::new());
        let mut cluster = Cluster { world: World::new(trouble, seed), boards, sinks, mailboxes };
        let servers = ground.partition.servers();
        for server in 0..servers {
            let (board, sink) = (Arc::new(Board::default()), Shared::default());
            let (mailbox, log) = (Arc::new(Mailbox::default()), Log::default());
            let process = Box::new(Server::new(ServerSetup {
                settings: settings.clone(),
                costs,
                servers: addresses(usize::from(servers)),
                codec: Codec { job: 3, server, key: Some(Key::new([5; 16])) },
                territory: Territory { fresh, ..ground.territory(&ground.partition, server) },
                starts: None,
                changes: changes.to_vec(),
                mailbox: Some(Arc::clone(&mailbox)),
                sink: Box::new(Logged(sink.clone(), log.clone())),
                store: Box::new(log),
                board: Arc::clone(&board),
            }));
            cluster.world.add(HostId(u32::from(server)), process);
            cluster.boards.push(board);
            cluster.sinks.push(sink);
            cluster.mailboxes.push(mailbox);
        }
        cluster
    }

    fn totals(&self) -> Vec<Totals> {
        self.boards.iter().map(|board| board.counters.totals()).collect()
    }

    fn sum(&self, of: impl Fn(&Totals) -> u64) -> u64 {
        self.totals().iter().map(of).sum()
    }

    fn ends(&self) -> BTreeMap<(u32, u32), u64> {
        self.sinks.iter().flat_map(|sink| sink.0.lock().unwrap().0.counts.clone()).collect()
    }
}

fn quick(walks: u32) -> Settings {
    let mut settings = Settings { walks, steps_max: 500, ..Settings::default() };
    settings.loss.initial = Time::from_ms(10);
    settings.loss.attempts = u16::MAX;
    settings
}

const LONG: Time = Time::from_secs(1000);

#[test]
fn without_trouble_walks_end_where_they_end_alone() {
    let ground = Ground::new(&[20, 20, 60], 0.15);
    let mut cluster = Cluster::new(&quick(100), &ground, &[], Network::default(), 1);
    assert!(cluster.world.finish(LONG));
    assert_eq!(cluster.ends(), ground.alone(100, 500));
    for totals in cluster.totals() {
        assert_eq!(totals.finished, totals.required);
        // Each walker that was generated is finished, came back too late, or was lost.
        let lost = totals.lost_direct + totals.lost_timeout + totals.lost_remote;
        assert_eq!(totals.generated, totals.required + lost);
    }
    assert!(cluster.sum(|t| t.drops_early) > 0, "RED had something to do");
    assert!(cluster.sum(|t| t.lost_direct) > 0);
    assert_eq!(cluster.sum(|t| t.refused_datagrams + t.refused_strangers + t.refused_records), 0);
}

#[test]
fn the_comparisons_of_the_document_differ_as_it_says() {
    let ground = Ground::new(&[20, 20, 60], 0.15);
    let run = |change: fn(&mut Settings)| {
        let mut settings = quick(30);
        change(&mut settings);
        let mut cluster = Cluster::new(&settings, &ground, &[], Network::default(), 1);
        assert!(cluster.world.finish(LONG));
        cluster.sum(|t| t.generated - t.required)
    };
    let rq_rg = run(|_| ());
    let sleep0 = run(|s| s.generation.sleep = Sleep::Never);
    let sleep1 = run(|s| s.generation.sleep = Sleep::Always);
    let tail = run(|s| s.queue = Discipline::TailDrop {});
    assert!(sleep0 > 5 * rq_rg && sleep1 < rq_rg && tail > rq_rg, "{sleep0} {sleep1} {tail} {rq_rg}");
}

#[test]
fn several_walkers_share_a_datagram() {
    let ground = Ground::new(&[30, 30], 0.08);
    let datagrams = |walkers: u32| {
        let mut settings = quick(100);
        settings.datagrams.walkers = walkers;
        settings.datagrams.linger = Time::from_us(100);
        let mut cluster = Cluster::new(&settings, &ground, &[], Network::default(), 1);
        assert!(cluster.world.finish(LONG));
        assert_eq!(cluster.ends(), ground.alone(100, 500));
        cluster.sum(|t| t.sent_datagrams)
    };
    let (one, many) = (datagrams(1), datagrams(64));
    assert!(many * 10 < one, "{many} {one}");
}

#[test]
fn what_is_said_of_walks_shares_datagrams_and_walkers_do_not() {
    let ground = Ground::new(&[30, 30], 0.08);
    let mut settings = quick(100);
    settings.derived.burst = 64;
    (settings.queue, settings.limit) = (Discipline::TailDrop {}, 1 << 20);
    let free = Costs::default();
    let mut cluster = Cluster::at(free, &settings, &ground, &[], Network::default(), 1, false);
    cluster.world.keep_sent = true;
    assert!(cluster.world.finish(LONG));
    let codec = Codec { job: 3, server: 0, key: Some(Key::new([5; 16])) };
    let (mut walkers, mut notices, mut records) = (0, 0, Vec::new());
    for datagram in &cluster.world.sent {
        codec.decode(content(&datagram.data), &mut records).unwrap();
        match &records[..] {
            [Record::Walker(_)] => walkers += 1,
            many => {
                assert!(many.iter().all(|record| matches!(record, Record::Ended(_))));
                assert!(datagram.data.len() as usize <= settings.derived.datagram_bytes);
                notices += many.len();
            }
        }
    }
    let datagrams = cluster.sum(|t| t.sent_datagrams);
    assert_eq!((walkers as u64, datagrams), (cluster.sum(|t| t.arrived), cluster.world.sent.len() as u64));
    assert!(notices as u64 > 5 * (datagrams - walkers as u64), "{notices} in {datagrams} less {walkers}");
}

#[test]
fn a_window_bounds_the_walkers_under_way() {
    let ground = Ground::new(&[20, 20, 20], 0.15);
    let mut settings = quick(100);
    settings.derived.burst = 1024;
    settings.generation = Generation { sleep: Sleep::Never, under_way: Some(30), ..settings.generation };
    (settings.queue, settings.limit) = (Discipline::TailDrop {}, 90);
    let free = Costs::default();
    let mut cluster = Cluster::at(free, &settings, &ground, &[], Network::default(), 1, false);
    assert!(cluster.world.finish(LONG));
    assert_eq!(cluster.ends(), ground.alone(100, 500));
    assert_eq!(cluster.sum(|t| t.generated), 6000, "no queue was ever full");
}

#[test]
fn walks_that_are_lost_are_not_made_up_for_where_they_need_not_be() {
    let ground = Ground::new(&[20, 20], 0.15);
    let mut settings = quick(100);
    settings.regenerate = false;
    let trouble = Network { loss: 0.1, ..Network::default() };
    let mut cluster = Cluster::new(&settings, &ground, &[], trouble, 1);
    assert!(cluster.world.finish(LONG));
    let (generated, finished) = (cluster.sum(|t| t.generated), cluster.sum(|t| t.finished));
    assert_eq!(generated, 4000);
    assert!(finished < generated);
}

#[test]
fn fresh_attempts_finish_walks_that_the_same_way_could_not() {
    let ground = Ground::of(&[10, 10], &Walk::fixed(40));
    let trouble = Network { loss: 0.3, ..Network::default() };
    let run = |fresh| {
        let mut cluster = Cluster::with(&quick(2), &ground, &[], trouble, 1, fresh);
        (cluster.world.finish(Time::from_secs(20)), cluster.sum(|t| t.finished))
    };
    // Forty steps cross servers some thirteen times, and some walks nearly always.
    assert!(run(true).1 > run(false).1);
}

#[test]
fn walks_that_are_lost_in_all_attempts_are_given_up_and_the_others_end() {
    let ground = Ground::new(&[10, 10], 0.23);
    let nothing_comes = Network { loss: 1.0, ..Network::default() };
    let mut settings = quick(20);
    settings.loss.attempts = 3;
    let mut cluster = Cluster::new(&settings, &ground, &[], nothing_comes, 1);
    assert!(cluster.world.finish(LONG));
    let (finished, given_up) = (cluster.sum(|t| t.finished), cluster.sum(|t| t.given_up));
    assert_eq!(finished + given_up, 400);
    assert!(finished > 0 && given_up > 0, "{finished}, {given_up}");
    // A queue may drop walkers that go nowhere, too.
    assert!(cluster.sum(|t| t.additional) >= 2 * given_up);
}

#[test]
fn paths_come_with_the_walks() {
    let ground = Ground::new(&[10, 10], 0.23);
    let mut settings = Settings { steps_max: 100, ..quick(20) };
    settings.derived.paths = true;
    let mut cluster = Cluster::new(&settings, &ground, &[], Network::default(), 1);
    assert!(cluster.world.finish(LONG));
    assert_eq!(cluster.ends(), ground.alone(20, 100));
    let nodes: u64 = cluster.sinks.iter().map(|sink| sink.0.lock().unwrap().1).sum();
    // A path has a node more than its walk has steps; steps of lost walkers are counted where they were
    // walked.
    assert!(nodes > 400 && nodes <= 400 + cluster.sum(|t| t.steps), "{nodes}");
}

#[test]
fn edges_come_and_go_while_walks_run() {
    let ground = Ground::new(&[10, 10], 0.08);
    // From 1 ms on, node 0 leads nowhere but to node 1.
    let away = ground.graph.neighbours(0).map(|to| Change::Remove { from: 0, to });
    let changes = away.chain([Change::Set { from: 0, to: 1, weight: None }]).collect();
    let owners = (0..20).map(|node| (node, ground.partition.owner(node).unwrap())).collect();
    let changes = [TimedChanges { at: Time::from_ms(1), changes, owners }];
    let mut cluster = Cluster::new(&quick(300), &ground, &changes, Network::default(), 1);
    assert!(cluster.world.finish(LONG));
    assert_eq!(cluster.sum(|t| t.finished), 6000);
    assert_eq!(cluster.sum(|t| t.refused_changes), 0);
    assert_ne!(cluster.ends(), ground.alone(300, 500));
}

#[test]
fn edges_come_from_outside_and_reach_their_owners() {
    // Two nodes on either side; the only edge across comes while walks run.
    let graph = Graph::even(Shape::undirected(4), || [(0, 1), (2, 3)]).unwrap();
    let rule = Moves::new(&Walk::geometric(0.1)).unwrap();
    let ground = Ground { graph, partition: Partition::ranges(&[2, 2]).unwrap(), rule };
    let mut cluster = Cluster::new(&quick(3000), &ground, &[], Network::default(), 1);
    assert!(!cluster.world.finish(Time::from_ms(2)));
    assert_eq!(cluster.sum(|t| t.arrived), 0);
    for mailbox in &cluster.mailboxes {
        let owners = (0..4).map(|node| (node, ground.partition.owner(node).unwrap())).collect();
        let changes = vec![Change::Set { from: 1, to: 2, weight: None }];
        mailbox.put(TimedChanges { at: Time::ZERO, changes, owners });
    }
    let _ = cluster.world.finish(Time::from_ms(2) + LOOK + LOOK);
    assert!(cluster.sum(|t| t.arrived) > 0, "the edge is there within two looks");
    assert!(cluster.world.finish(LONG));
    assert_eq!(cluster.sum(|t| t.finished), 12_000);
    assert_eq!(cluster.sum(|t| t.refused_changes + t.refused_records), 0);
}

#[test]
fn second_order_walks_ask_other_servers() {
    let ground = Ground::of(&[10, 15, 20], &Walk::node2vec(12, 2.0, 0.5));
    let trouble = Network { loss: 0.05, ..Network::default() };
    let mut cluster = Cluster::new(&quick(30), &ground, &[], trouble, 1);
    assert!(cluster.world.finish(LONG));
    assert_eq!(cluster.ends(), ground.alone(30, 500));
}

#[test]
fn what_strangers_send_changes_nothing() {
    let ground = Ground::new(&[20, 20, 20], 0.15);
    let mut cluster = Cluster::new(&quick(50), &ground, &[], Network::default(), 1);
    cluster.world.keep_sent = true;
    assert!(cluster.world.finish(LONG));
    let sent = std::mem::take(&mut cluster.world.sent);
    let mut cluster = Cluster::new(&quick(50), &ground, &[], Network::default(), 1);
    let stranger = Addr { host: HostId(9), port: PORT };
    for (n, sent) in sent.iter().enumerate().take(5000) {
        let (at, bytes) = (Time::from_us(n as u64), content(&sent.data).to_vec());
        let mut say = |from, data: Vec<u8>| {
            let event = Event::Datagram { from, port: PORT, data: Payload::from(data) };
            cluster.world.tell(at, sent.to.host.0 as usize, event);
        };
        // Recorded datagrams from elsewhere, changed ones, cut ones, nonsense; and recorded ones as they
        // were.
        say(stranger, bytes.clone());
        let mut changed = bytes.clone();
        changed[n % bytes.len()] ^= 1;
        say(sent.from, changed);
        say(sent.from, bytes[..n % bytes.len()].to_vec());
        say(sent.from, vec![n as u8; n % 3000]);
        say(sent.from, bytes);
    }
    assert!(cluster.world.finish(LONG));
    assert_eq!(cluster.ends(), ground.alone(50, 500));
    assert!(cluster.sum(|t| t.refused_strangers) > 5000 && cluster.sum(|t| t.refused_datagrams) > 1000);
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        Just(Settings::default().queue),
        Just(Discipline::TailDrop {}),
        Just(Discipline::Codel(CodelSettings { target: Time::from_us(20), interval: Time::from_us(200) })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(32)))]

    #[test]
    fn each_walk_is_counted_once_under_loss_duplicates_and_reordering(
        loss in 0.0f64..0.5, doubled in 0.0f64..0.5, jitter in 0u64..30_000, seed: u64,
        walkers in 1u32..20, discipline in disciplines(), workers in 1u32..4,
        direct: bool, remote: bool, repeated: bool
    ) {
        let ground = Ground::new(&[7, 5, 12], 0.23);
        // A long walk that crosses servers often needs exponentially many attempts at such losses.
        let mut settings = Settings { workers, steps_max: 8, ..quick(20) };
        settings.datagrams.walkers = walkers;
        settings.datagrams.linger = Time::from_us(50);
        (settings.queue, settings.limit) = (discipline, 20);
        (settings.loss.direct, settings.loss.remote, settings.loss.repeated) = (direct, remote, repeated);
        let trouble = Network { loss, doubled, jitter: Time::from_us(jitter), ..Network::default() };
        let mut cluster = Cluster::new(&settings, &ground, &[], trouble, seed);
        prop_assert!(cluster.world.finish(LONG), "not finished: {:?}", cluster.totals());
        prop_assert_eq!(cluster.ends(), ground.alone(20, 8));
        prop_assert_eq!(cluster.sum(|t| t.finished), 24 * 20);
    }

    /// As on sockets: nothing takes modelled time, and sources have a window.
    #[test]
    fn each_walk_is_counted_once_where_the_work_takes_the_time(
        loss in 0.0f64..0.5, doubled in 0.0f64..0.5, jitter in 0u64..30_000, seed: u64,
        walkers in prop_oneof![Just(1u32), 1u32..20], discipline in disciplines(), burst in 1u32..300,
        window in proptest::option::of(1u64..300), remote: bool, second: bool
    ) {
        // Walkers of the second order cross servers to ask, too.
        let walk = if second { Walk::node2vec(2, 2.0, 0.5) } else { Walk::geometric(0.23) };
        let ground = Ground::of(&[7, 5, 12], &walk);
        let mut settings = Settings { steps_max: 8, ..quick(20) };
        settings.derived.burst = burst;
        settings.datagrams.walkers = walkers;
        settings.generation.under_way = window;
        (settings.queue, settings.limit) = (discipline, 50);
        settings.loss.remote = remote;
        let trouble = Network { loss, doubled, jitter: Time::from_us(jitter), ..Network::default() };
        let mut cluster = Cluster::at(Costs::default(), &settings, &ground, &[], trouble, seed, false);
        prop_assert!(cluster.world.finish(LONG), "not finished: {:?}", cluster.totals());
        prop_assert_eq!(cluster.ends(), ground.alone(20, 8));
        prop_assert_eq!(cluster.sum(|t| t.finished), 24 * 20);
    }

    #[test]
    fn each_walk_is_counted_once_when_servers_crash_as_well(
        loss in 0.0f64..0.5, doubled in 0.0f64..0.5, jitter in 0u64..30_000, seed: u64, second_order: bool,
        crashes in proptest::collection::vec((0usize..3, 1u64..8000, 1u64..30_000), 1..5),
        snapshot in proptest::option::of(100u64..5000)
    ) {
        let walk = if second_order { Walk::node2vec(4, 2.0, 0.5) } else { Walk::geometric(0.23) };
        let ground = Ground::of(&[7, 5, 12], &walk);
        let settings = Settings { snapshot: snapshot.map(Time::from_us), steps_max: 8, ..quick(40) };
        let trouble = Network { loss, doubled, jitter: Time::from_us(jitter), ..Network::default() };
        let mut cluster = Cluster::new(&settings, &ground, &[], trouble, seed);
        for (server, after, pause) in crashes {
            cluster.world.finish(cluster.world.now + Time::from_us(after));
            cluster.world.crash(server, cluster.world.now + Time::from_us(pause));
        }
        prop_assert!(cluster.world.finish(LONG), "not finished: {:?}", cluster.totals());
        prop_assert_eq!(cluster.ends(), ground.alone(40, 8));
        prop_assert_eq!(cluster.sum(|t| t.finished), 24 * 40);
        prop_assert!(cluster.sum(|t| t.restarts) > 0);
    }
}
