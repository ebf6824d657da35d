//! A broadcast's messages: what the source, a receiver and its coordinator make of anything that comes on
//! their streams. Topologies and plans as JSON.

use crate::alone::{Strangers, alone};
use ::broadcast::bound;
use ::broadcast::plan::Plan;
use ::broadcast::plan_data::PlanData;
use ::broadcast::topology::{Kind, LinkData, NodeData, NodeId, Topology, TopologyData};
use ::broadcast::transfer::{Chunks, Config, Lengths, Node, Settings};
use process::{Addr, HostId};
use std::sync::Arc;
use units::Time;

const PORT: u16 = 5000;
/// Chunks of the file, of this size each.
const CHUNKS: u64 = 100;
const CHUNK: u64 = 16;

/// Four hosts on a switch.
fn star() -> Topology {
    let name = |host: u32| format!("h{host}");
    let host = |host: u32| NodeData { id: name(host), kind: Kind::Host, cap: None };
    let link = |host: u32| LinkData { a: name(host), b: "switch".into(), ab: 100_000_000, ba: 100_000_000 };
    let switch = NodeData { id: "switch".into(), kind: Kind::Switch, cap: None };
    let data =
        TopologyData { nodes: (0..4).map(host).chain([switch]).collect(), links: (0..4).map(link).collect() };
    Topology::try_from(data).expect("a good topology")
}

/// The node of host 0, which is the source or a receiver: the context is that host's.
fn node(is_source: bool, has_all: bool) -> Node {
    let topology = star();
    let (source, others) = if is_source { (0, [1, 2, 3]) } else { (1, [0, 2, 3]) };
    let places = (0..4).map(|host| (HostId(host), NodeId(host))).collect();
    let chunks = Chunks::new(CHUNKS * CHUNK, CHUNK).expect("a good size");
    let settings = Settings {
        report: Time::from_ms(10),
        silence: Time::from_ms(50),
        patience: Time::from_ms(100),
        ..Settings::default()
    };
    let config = Config {
        settings,
        ..Config::new(HostId(source), others.map(HostId).to_vec(), PORT, chunks, topology, places)
    };
    Node::new(Arc::new(config), Box::new(Lengths::new(chunks, has_all))).expect("a good broadcast")
}

/// Messages on streams of a host: the first byte says which host, and for how long it was alone before; then
/// each message has a byte for its stream (the first ones are streams that the host has opened), one for its
/// length, and its content. Lengths on the stream are right, unless the content begins with 255: then it
/// comes as it is.
pub fn messages(bytes: &[u8]) {
    let Some((&kind, mut rest)) = bytes.split_first() else { return };
    let host = HostId(0);
    let mut world = alone(host, Box::new(node(kind & 1 == 0, kind & 3 != 1)));
    let mut strangers = Strangers::new(Addr { host, port: PORT });
    world.step(1 + u64::from(kind >> 2));
    while let [which, length, after @ ..] = rest {
        let (content, after) = after.split_at(usize::from(*length).min(after.len()));
        let at = usize::from(*which % 8);
        let own = world.opened_by(0).get(at).copied().filter(|_| which & 8 == 0);
        let stream = own.or_else(|| strangers.stream(&mut world, at, at as u32 % 5).map(|stream| stream.0));
        if let Some(stream) = stream {
            let frame = [&(content.len() as u32).to_le_bytes(), content].concat();
            world.arrive(stream, content.strip_prefix(&[255]).unwrap_or(&frame));
        }
        world.step(4);
        rest = after;
    }
    world.step(100);
}

/// A topology is refused in words, or is what it says; a host that can be reached has a bound.
pub fn topology(bytes: &[u8]) {
    let topology: Topology = match serde_json::from_slice(bytes) {
        Ok(topology) => topology,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let text = serde_json::to_string(&topology).expect("plain data");
    let again: Topology = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(serde_json::to_string(&again).expect("plain data"), text);
    let hosts: Vec<NodeId> = topology.hosts().collect();
    if let [source, others @ ..] = &hosts[..]
        && let Ok(rates) = bound::alone(&topology, *source, others)
    {
        assert_eq!(rates.len(), others.len());
    }
}

/// A plan for four hosts on a switch is refused in words, or is what it says and gives no host more than its
/// link.
pub fn plan(bytes: &[u8]) {
    let Ok(data) = serde_json::from_slice::<PlanData>(bytes) else { return };
    let topology = star();
    match Plan::from_data(&data, &topology) {
        Ok(plan) => {
            assert_eq!(plan.to_data(&topology), data);
            assert!(plan.rates().iter().all(|rate| rate.as_bps() <= 100_000_000), "{data:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
