//! Random scenarios with faults: topologies, loads, link flaps, crashes, loss, damage, changes of rate, storms of PAUSE
//! frames; static, shared and VOQ buffers, cells; RED, CoDel, step marking; ETS and PFC; five congestion controls.
//! Whatever happens:
//!
//! - packets are conserved at every link and node: sent = arrived + dropped, by reason, + still in the network;
//! - what a capture of all ports shows is what counters count, and capturing changes nothing;
//! - PFC loses nothing of its classes for want of room, where PAUSE frames get through;
//! - every flow ends well, or its outcome says why not, and the reason is there: a crash, a link that stays down, a
//!   deadlock, the end of the run;
//! - a job that does not end has a reason too;
//! - the same seed gives the same result, and so does the same scenario with its parts listed in another order.
//!
//! The ordinary tests try a few cases with three seeds each, `make search` 2,000. A failure prints the scenario and the
//! command that runs its case again. With `--nocapture` a summary says what the cases had in them.

mod draw;
mod run;
#[path = "../support/mod.rs"]
mod support;
mod tally;

use fabric::{Discard, Graph, NodeId, PortId};
use fabric::{PfcConfig, WatchdogAction};
use run::{End, Flow, Run, Seen};
use scenario::Scenario;
use scenario::kinds::Work;
use scenario::spec::{Change, Job};
use serde_json::{Value, json};
use sim::{Outcome, PacketSeen, Sim, rng};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tally::Tally;
use units::Time;

/// Cases of the ordinary tests.
const FEW: u64 = 10;

#[test]
fn packets_are_conserved_and_flows_end_whatever_fails() {
    let number = |name| env::var(name).ok().map(|text| text.parse().expect("a number"));
    let cases = match number("STORM_CASE") {
        Some(case) => case..case + 1,
        None => 0..number("STORM_CASES").unwrap_or(FEW),
    };
    let (mut tally, mut failed) = (Tally::default(), Vec::new());
    for case in cases {
        let scenario = draw::scenario(&mut rng::stream(case, "storm"));
        let seeded = |seed| {
            let mut scenario = scenario.clone();
            scenario["seed"] = json!(seed);
            check(&scenario)
        };
        match catch_unwind(AssertUnwindSafe(|| [1, 2, 3].map(seeded))) {
            Ok(seen) => tally.count(&scenario, &seen),
            Err(_) => {
                eprintln!("case {case}: {scenario}");
                eprintln!(
                    "again: STORM_CASE={case} cargo test -p incast-scenario --test storms -- --nocapture"
                );
                failed.push(case);
            }
        }
    }
    println!("{tally}");
    assert!(failed.is_empty(), "cases {failed:?} failed");
}

fn check(scenario: &Value) -> Seen {
    let plain = run::run(scenario);
    let fingerprint = plain.sim.progress().fingerprint;
    let seen = plain.see();
    let again = run::run(scenario);
    assert_eq!(again.sim.progress().fingerprint, fingerprint, "the same seed");
    assert_eq!(again.see(), seen, "the same seed");

    let mut captured = scenario.clone();
    captured["measure"]["capture"] = json!(["*"]);
    let mut captured = run::run(&captured);
    let packets = std::mem::take(&mut captured.packets);
    if let Ok(port) = env::var("DBG_PORT") {
        let port: u16 = port.parse().unwrap();
        for p in &packets {
            if p.from.port == port || p.to.port == port {
                let (a, b) = captured.sim.network().ends(p.port);
                let g = captured.sim.graph();
                let fl = if let sim::Transport::Tcp { header, .. } = &p.transport {
                    format!("{:?} seq {} ack {} len {}", header.flags, header.seq, header.ack, header.len)
                } else {
                    String::new()
                };
                eprintln!("{} {}->{} {:?} {:?} {fl}", p.time, g.name(a), g.name(b), p.discard, p.ecn);
            }
        }
    }
    assert_eq!(captured.sim.progress().fingerprint, fingerprint, "captured");
    let facts = Facts::of(scenario);
    conserved(&mut captured, &packets);
    if facts.lossless {
        no_room_is_lost_for(&facts.scenario, &captured.sim, &packets);
    }
    assert_eq!(captured.see(), seen, "captured");

    let mut turned = run::run(&turn(scenario)).see();
    // Events for hosts and ports of other numbers may fall together in another way.
    turned.events = seen.events;
    assert_eq!(turned, seen, "listed in another order");

    if env::var("DBG_FLOWS").is_ok() {
        eprintln!("{:?} {} {}", seen.end, seen.now, seen.events);
        for f in &seen.flows {
            eprintln!("{f:?}");
        }
    }
    explained(&facts, &seen);
    seen
}

/// The same scenario with jobs, faults, nodes and links in another order.
fn turn(scenario: &Value) -> Value {
    let mut scenario = scenario.clone();
    let turn = |list: &mut Value| list.as_array_mut().expect("a list").reverse();
    turn(&mut scenario["jobs"]);
    let times: BTreeSet<u64> = scenario["faults"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|fault| fault["at"].as_u64())
        .collect();
    // Of faults at one time the first comes first.
    if times.len() == scenario["faults"].as_array().map_or(0, Vec::len) {
        turn(&mut scenario["faults"]);
    }
    if scenario["topology"]["kind"] == "graph" {
        turn(&mut scenario["topology"]["nodes"]);
        // Parallel links keep their order.
        let links = scenario["topology"]["links"].as_array_mut().expect("a list");
        links.sort_by_key(|link| {
            let mut ends = [link["a"].to_string(), link["b"].to_string()];
            ends.sort();
            std::cmp::Reverse(ends)
        });
    }
    scenario
}

/// What of a scenario makes which end possible.
struct Facts {
    scenario: Scenario,
    /// Hosts that crash at some time.
    crashed: BTreeSet<String>,
    /// A link stays down, or loses packets, or is slow, to the end; or it is too narrow for some host's packets.
    lasting: bool,
    /// PFC, and nothing that keeps PAUSE frames from coming or from being heeded.
    lossless: bool,
}

impl Facts {
    fn of(scenario: &Value) -> Facts {
        let scenario = scenario::parse(&scenario.to_string()).expect("a scenario");
        let mut open = BTreeMap::new();
        let mut faults: Vec<_> = scenario.faults.iter().collect();
        faults.sort_by_key(|fault| fault.at);
        let mut crashed = BTreeSet::new();
        let mut lossy = false;
        for fault in faults {
            match &fault.change {
                Change::Crash { host } => drop(crashed.insert(host.clone())),
                Change::LinkDown { a, b } => drop(open.insert((0, a, b), true)),
                Change::LinkUp { a, b } => drop(open.insert((0, a, b), false)),
                Change::Loss { a, b, probability } => {
                    lossy = true;
                    open.insert((1, a, b), *probability > 0.0);
                }
                Change::Corrupt { a, b, probability } => {
                    lossy = true;
                    open.insert((2, a, b), *probability > 0.0);
                }
                Change::Rate { a, b, rate } => drop(open.insert((3, a, b), rate.as_bps() < 10_000_000)),
                _ => {}
            }
        }
        // Nobody tells a host that its packets are larger than a link on their way takes.
        let widest = scenario.hosts.iter().map(|rule| rule.config.mtu).max();
        let links = scenario::build(&scenario).expect("it has run").graph().links().to_vec();
        let narrow = links.iter().any(|link| Some(link.ab.mtu) < widest);
        let lasting = narrow || open.values().any(|open| *open);
        let protects = |pfc: &PfcConfig| {
            pfc.headroom_pool.is_none()
                && pfc.watchdog.is_none_or(|watchdog| watchdog.action != WatchdogAction::Forward)
        };
        let lossless = scenario.switches[0].config.pfc.as_ref().is_some_and(protects) && !lossy;
        Facts { crashed, lasting, lossless, scenario }
    }
}

impl Facts {
    fn background(&self, name: &str) -> bool {
        let is = |job: &Job| job.name == name && matches!(job.work, Work::Background(_));
        self.scenario.jobs.iter().any(is)
    }
}

/// Packets are neither lost nor made, at any link and at any node.
fn conserved(run: &mut Run, packets: &[PacketSeen]) {
    let sim = &mut run.sim;
    let now = sim.progress().now;
    let ports: Vec<PortId> = sim.network().ports().collect();
    let (mut left, mut lost) = (BTreeMap::new(), BTreeMap::new());
    for packet in packets {
        let what = packet.discard.map(|(reason, _)| reason);
        match what {
            None => *left.entry(packet.port).or_insert(0) += 1,
            Some(reason) => *lost.entry((packet.port, reason)).or_insert(0) += 1,
        }
    }
    let graph = sim.graph().clone();
    for &port in &ports {
        let counters = sim.network().counters(now, port);
        // Each packet's time on the wire is whole picoseconds.
        let room = Time::from_ps(counters.enqueued_packets + counters.abandoned_packets + 1);
        assert!(counters.busy <= now + room, "{counters:?} by {now}");
        assert!(counters.sent_packets <= counters.enqueued_packets);
        let waits = sim.network().waits(port).buckets().map(|(.., packets)| packets).sum::<u64>();
        assert_eq!(waits, counters.enqueued_packets, "each packet waited once");
        assert!(counters.abandoned_packets <= counters.discards.of(Discard::Down));
        assert_eq!(
            left.get(&port).copied().unwrap_or(0),
            counters.sent_packets,
            "captured at {} to {}",
            graph.name(sim.network().ends(port).0),
            graph.name(sim.network().ends(port).1)
        );
        for reason in tally::REASONS {
            let captured = lost.get(&(port, reason)).copied().unwrap_or(0);
            assert_eq!(captured, counters.discards.of(reason), "captured at {port:?}: {reason:?}");
        }
    }
    for node in graph.hosts()..graph.nodes() {
        balance(sim, &graph, NodeId(node as u32), &ports, now);
    }
}

/// Packets that came to a switch have been discarded there, have left it, or wait in it.
fn balance(sim: &mut Sim, graph: &Graph, node: NodeId, ports: &[PortId], now: Time) {
    let network = sim.network();
    let (mut came, mut gone) = (0, 0);
    let own: Vec<PortId> = ports.iter().copied().filter(|port| network.ends(*port).0 == node).collect();
    for port in own {
        let inbound = network.reverse(port);
        let (to, from) = (network.counters(now, inbound), network.counters(now, port));
        let cut = to.discards.of(Discard::Down) - to.abandoned_packets;
        came += to.enqueued_packets - network.in_transit(inbound) - to.discards.of(Discard::Lost) - cut;
        let on_link = from.discards.of(Discard::Lost) + from.discards.of(Discard::Down);
        gone += from.enqueued_packets + from.abandoned_packets + from.discards.total() - on_link;
    }
    assert_eq!(came, gone, "packets at {}", graph.name(node));
}

/// No packet of a class that PFC protects has found a switch full.
fn no_room_is_lost_for(scenario: &Scenario, sim: &Sim, packets: &[PacketSeen]) {
    let pfc = scenario.switches[0].config.pfc.as_ref().expect("PFC");
    for packet in packets.iter().filter(|packet| pfc.covers(packet.class)) {
        let full = [Discard::Tail, Discard::Pool, Discard::Headroom];
        let lost = packet.discard.is_some_and(|(reason, _)| full.contains(&reason));
        assert!(!lost, "lost in a lossless class: {packet:?}, {:?}", sim.progress());
    }
}

/// What did not end well has a reason.
fn explained(facts: &Facts, seen: &Seen) {
    let crashes = !facts.crashed.is_empty();
    match seen.end {
        End::Finished => assert!(seen.open_jobs.is_empty()),
        End::Stuck => {
            for job in &seen.open_jobs {
                let broken = |flow: &Flow| flow.job == *job && flow.outcome != Outcome::Finished;
                let reason = crashes || seen.flows.iter().any(broken);
                assert!(reason, "{job} is stuck, and its flows are not: {:?}", seen.flows);
            }
        }
        End::Deadlock => assert!(seen.pauses > 0, "a deadlock without pauses"),
        End::Until | End::Budget => {}
    }
    if seen.settled {
        assert_eq!(seen.in_transit, 0, "nothing will happen, and packets are in the network");
    }
    let well = seen.flows.iter().all(|flow| flow.outcome == Outcome::Finished);
    if seen.settled && !crashes && well {
        assert!(seen.released, "something of a flow is left in the network");
    }
    for flow in &seen.flows {
        judge(facts, flow, seen);
    }
    for (pair, (sent, received)) in &seen.datagrams {
        assert!(received <= sent, "{pair:?}");
    }
}

/// A flow has ended well, or its outcome says why not, and the reason is there.
fn judge(facts: &Facts, flow: &Flow, seen: &Seen) {
    let hit = [&flow.from.0, &flow.to.0].iter().any(|host| facts.crashed.contains(*host));
    let cut_off = matches!(seen.end, End::Until | End::Budget | End::Deadlock) || !seen.settled;
    match flow.outcome {
        // A background stream may be closed before it has begun.
        Outcome::Finished => {
            assert!(flow.end.is_some() && (flow.bytes > 0 || facts.background(&flow.job)), "{flow:?}")
        }
        Outcome::Unfinished => assert!(hit || cut_off, "{flow:?}"),
        Outcome::Refused | Outcome::Reset => assert!(hit, "{flow:?}"),
        Outcome::TimedOut => {
            assert!(hit || facts.lasting || seen.queues_drop >= flow.retransmits, "{flow:?}")
        }
    }
    if flow.outcome != Outcome::Finished {
        assert_eq!(flow.end, None, "{flow:?}");
    }
}
