//! Walks over sockets: three servers on the loopback interface, each a process of the operating system, on
//! the stochastic block model of document 000 with a probability of .15 to stop before a step.
//!
//! Prints, a second of processor time of all three processes together (user and system): walks, steps and
//! datagrams in millions, then the bare limits of the system calls with as many bytes a datagram, in the same
//! run: of one process that sends to itself, and of three that send to each other as the servers do.
//!
//! `cargo run --release -p incast-live --example walks [repetitions] [case…]`

mod common;

use common::{Bare, IP, SLICE, bare, median, rate};
use live::seal::Secret;
use live::{Datagrams, Job, Key, Member, Run, Table};
use process::{Addr, HostId};
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use sys::udp::Destination;
use units::Time;
use walk::app::Tally;
use walk::graph::Sbm;
use walk::outbox::DatagramSettings;
use walk::partition::{Partition, ServerPart};
use walk::server::{Server, ServerSetup};
use walk::settings::{Costs, Settings};
use walk::sink::{FinishedWalk, Sink};
use walk::step::{Rule, Walk};
use walk::store::Memory;
use walk::territory::Territory;
use walk::wire::Codec;

const SERVERS: u16 = 3;
const PORT: u16 = 1;
const KEY: [u8; 16] = [7; 16];
/// Walkers of a server, or bare datagrams of a process, that are on their way at most, without GSO.
const UNDER_WAY: usize = 1_024;

/// As `incast walk` has it (python/incast/walks/servers.py).
const GATHER_BYTES: usize = 16 << 10;

/// A way to send walkers.
struct Case {
    name: &'static str,
    mode: Datagrams,
    /// Walkers a datagram.
    walkers: u32,
    /// Walks from each of the 300 nodes.
    walks: u32,
    /// The document's settings instead of those for sockets.
    document: bool,
}

const CASES: [Case; 6] = [
    Case { name: "gso", mode: Datagrams::Segmented, walkers: 1, walks: 20_000, document: false },
    Case { name: "gso-document", mode: Datagrams::Segmented, walkers: 1, walks: 5_000, document: true },
    Case { name: "mmsg", mode: Datagrams::Batched, walkers: 1, walks: 1_000, document: false },
    Case { name: "syscall", mode: Datagrams::Single, walkers: 1, walks: 500, document: false },
    Case { name: "8", mode: Datagrams::Segmented, walkers: 8, walks: 20_000, document: false },
    Case { name: "64", mode: Datagrams::Segmented, walkers: 64, walks: 20_000, document: false },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments[at].parse::<usize>().expect("a number");
    match arguments.first().map(String::as_str) {
        Some("server") => return serve(&CASES[number(1)], number(3) as u16),
        Some("bare") => return relay(&CASES[number(1)], number(2), number(3)),
        _ => {}
    }
    let repetitions = arguments.first().map_or(5, |text| text.parse().expect("a number of repetitions"));
    println!(
        "{:<14}{:>8}{:>8}{:>10}{:>8}{:>7}{:>8}{:>7}{:>8}{:>7}",
        "case", "walks", "steps", "datagrams", "bare", "ratio", "bare x3", "ratio", "again%", "train"
    );
    for (index, case) in CASES.iter().enumerate() {
        if arguments.len() > 1 && !arguments[1..].iter().any(|name| name == case.name) {
            continue;
        }
        // In turns, so that both meet the same weather.
        let rows: Vec<[f64; 9]> = (0..repetitions).map(|_| measure(index, case)).collect();
        let [walks, steps, datagrams, alone, of_alone, three, of_three, again, train] =
            std::array::from_fn(|at| median(rows.iter().map(|row| row[at]).collect()));
        println!(
            "{:<14}{walks:>8.3}{steps:>8.3}{datagrams:>10.3}{alone:>8.3}{of_alone:>7.3}{three:>8.3}{of_three:>7.3}\
             {again:>8.2}{train:>7.1}",
            case.name
        );
    }
}

/// One run, and the bare limits right after it.
fn measure(index: usize, case: &Case) -> [f64; 9] {
    let Totals { walks, generated, steps, datagrams, bytes, calls, cpu } = run("server", index, 0);
    let each = (bytes / datagrams.max(1)) as usize;
    let alone = bare(case.mode, each, 8192);
    let Totals { datagrams: three, cpu: three_cpu, .. } = run("bare", index, each);
    let (sent, three) = (rate(datagrams, cpu), rate(three, three_cpu));
    [
        rate(walks, cpu),
        rate(steps, cpu),
        sent,
        alone,
        sent / alone,
        three,
        sent / three,
        100.0 * (generated as f64 / walks as f64 - 1.0),
        datagrams as f64 / calls as f64,
    ]
}

/// Sums over the servers.
struct Totals {
    walks: u64,
    generated: u64,
    steps: u64,
    datagrams: u64,
    bytes: u64,
    calls: u64,
    cpu: Duration,
}

/// A server's process and the two ends of its talk.
struct Peer {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    fn start(role: &str, case: usize, bytes: usize, server: u16) -> Peer {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([role.into(), case.to_string(), bytes.to_string(), server.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Peer { child, to, from: BufReader::new(from).lines() }
    }

    fn hear(&mut self) -> String {
        self.from.next().expect("a server has died").unwrap()
    }

    fn say(&mut self, text: &str) {
        writeln!(self.to, "{text}").unwrap();
    }
}

/// Runs all servers of a case to the end, or the bare calls in their place.
fn run(role: &str, case: usize, bytes: usize) -> Totals {
    let mut peers: Vec<Peer> = (0..SERVERS).map(|server| Peer::start(role, case, bytes, server)).collect();
    let ports: Vec<String> = peers.iter_mut().map(Peer::hear).collect();
    peers.iter_mut().for_each(|peer| peer.say(&ports.join(" ")));
    for peer in &mut peers {
        assert_eq!(peer.hear(), "finished");
    }
    peers.iter_mut().for_each(|peer| peer.say("stop"));
    let mut sums = [0; 7];
    for peer in &mut peers {
        let line = peer.hear();
        line.split(' ').zip(&mut sums).for_each(|(word, sum)| *sum += word.parse::<u64>().unwrap());
        peer.child.wait().unwrap();
    }
    let [walks, generated, steps, datagrams, bytes, calls, cpu_ns] = sums;
    Totals { walks, generated, steps, datagrams, bytes, calls, cpu: Duration::from_nanos(cpu_ns) }
}

/// Counts ends in memory, many at a time: no journal, as `incast walk` has one.
struct Keep(Arc<Mutex<Tally>>, Vec<(u32, u32)>);

impl Keep {
    fn publish(&mut self) {
        let mut tally = self.0.lock().unwrap();
        self.1.drain(..).for_each(|(start, end)| tally.add(start, end));
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        self.publish();
    }
}

impl Sink for Keep {
    fn finished(&mut self, walk: &FinishedWalk<'_>) {
        self.1.push((walk.start, walk.end));
        if self.1.len() == 1024 {
            self.publish();
        }
    }
    fn save(&self, _: &mut Vec<u8>) {}
    fn restore(&mut self, _: Option<&[u8]>) -> bool {
        true
    }
}

/// In a server's place: sends what comes on to the other two, with nothing but the system calls.
fn relay(case: &Case, bytes: usize, server: usize) {
    let mut bare = Bare::new(case.mode, bytes, UNDER_WAY);
    println!("{}", bare.address().port());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let others = line.split_whitespace().enumerate().filter(|(other, _)| *other != server);
    let to = |port: &str| Destination::from(SocketAddr::from((IP, port.parse().unwrap())));
    let to: Vec<Destination> = others.map(|(_, port)| to(port)).collect();
    static STOP: AtomicBool = AtomicBool::new(false);
    std::thread::spawn(|| {
        std::io::stdin().read_line(&mut String::new()).unwrap();
        STOP.store(true, Ordering::Relaxed);
    });
    let (mut count, mut calls, mut told) = (0, 0, false);
    let begun = sys::cpu::thread_time();
    bare.begin(&to, UNDER_WAY);
    while !STOP.load(Ordering::Relaxed) {
        count += bare.turn(&to);
        calls += 1;
        if !told && calls % 64 == 0 && sys::cpu::thread_time() - begun > 3 * SLICE {
            told = true;
            println!("finished");
        }
    }
    let cpu = sys::cpu::thread_time() - begun;
    println!("0 0 0 {count} {} {calls} {}", count * bytes as u64, cpu.as_nanos());
}

/// A server: says its port, hears everybody's, walks, says that it has finished, and counts when it is told
/// to stop.
#[expect(clippy::disallowed_methods, reason = "a run begins at a time of the calendar")]
fn serve(case: &Case, server: u16) {
    let settings =
        live::Settings { datagrams: case.mode, gather_bytes: GATHER_BYTES, ..live::Settings::default() };
    let member = Member::bind(HostId(server.into()), IP, &[PORT], settings).unwrap();
    let mine = member.address().clone();
    println!("{}", mine.udp[&PORT]);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let address = |(host, port): (usize, &str)| {
        let udp = [(PORT, port.parse().unwrap())].into();
        live::HostAddress { host: host as u32, udp, ..mine.clone() }
    };
    let table = Table::new(line.split_whitespace().enumerate().map(address)).unwrap();
    let kept = Arc::new(Mutex::new(Tally::default()));
    let setup = setup(case, server, Box::new(Keep(Arc::clone(&kept), Vec::new())));
    let board = Arc::clone(&setup.board);
    let job = Job {
        index: 0,
        name: "walk".into(),
        start: Time::ZERO,
        background: false,
        process: Box::new(Server::new(setup)),
    };
    let run = Run {
        table,
        name: format!("server{server}"),
        seed: 1,
        key: Key(KEY),
        secret: Secret([0; 32]),
        start: SystemTime::now(),
        jobs: vec![job],
        signals: false,
    };
    let handle = member.handle();
    std::thread::spawn(move || {
        std::io::stdin().read_line(&mut String::new()).unwrap();
        handle.stop();
    });
    let (begun, mut told) = (sys::cpu::process_time(), false);
    let report = member
        .run(run, &mut |progress| {
            if progress.finished && !std::mem::replace(&mut told, true) {
                println!("finished");
            }
            true
        })
        .unwrap();
    let cpu = sys::cpu::process_time() - begun;
    let totals = board.counters.totals();
    let counted: u64 = {
        let mut tally = kept.lock().unwrap();
        tally.starts().iter().map(|start| tally.of(*start).map(|(_, count)| count).sum::<u64>()).sum()
    };
    assert_eq!(counted, totals.finished);
    if std::env::var_os("VERBOSE").is_some() {
        eprintln!("{:?} {:?}", totals, report.counters);
    }
    let counters = report.counters;
    println!(
        "{} {} {} {} {} {} {}",
        totals.finished,
        totals.generated,
        totals.steps,
        counters.sent_datagrams,
        counters.sent_bytes,
        counters.send_calls,
        cpu.as_nanos()
    );
}

fn setup(case: &Case, server: u16, sink: Box<dyn Sink>) -> ServerSetup {
    let graph = Sbm::document(0.3, 0.03).graph(1).unwrap().unwrap();
    let partition = Partition::ranges(&[100; 3]).unwrap();
    let part = ServerPart::of(&graph, &partition, server).unwrap();
    let rule = Rule::new(&Walk::geometric(0.15)).unwrap();
    let (plain, live) = (Settings::default(), Settings::live());
    let mut settings = if case.document { Settings { derived: live.derived, ..plain } } else { live };
    if case.mode != Datagrams::Segmented {
        // Each datagram takes a buffer of its own, so a socket holds fewer.
        settings.generation.under_way = Some(UNDER_WAY as u64);
    }
    settings.derived.datagram_bytes = 4096;
    let datagrams = DatagramSettings { walkers: case.walkers, ..settings.datagrams };
    ServerSetup {
        settings: Settings { walks: case.walks, datagrams, ..settings },
        costs: Costs::default(),
        servers: (0..u32::from(SERVERS)).map(|host| Addr { host: HostId(host), port: PORT }).collect(),
        codec: Codec { job: 0, server, key: Some(walk::seal::Key::new(KEY)) },
        territory: Territory { part, rule, seed: 1, fresh: false },
        starts: None,
        changes: Vec::new(),
        mailbox: None,
        sink,
        store: Box::new(Memory::default()),
        board: Arc::default(),
    }
}
