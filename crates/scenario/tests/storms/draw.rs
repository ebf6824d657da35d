//! A random scenario: its links, how switches queue, what hosts run, what goes wrong.

use crate::support::{base, link, us};
use rand::RngExt;
use rand_pcg::Pcg64;
use serde_json::{Value, json};

/// All faults that end are over by then, in microseconds.
const CALM: u64 = 40_000;
/// No run gets further: longer than TCP takes to give up.
const UNTIL: u64 = 3_000_000_000;
const MEGABIT: u64 = 1_000_000;

/// A random scenario with a seed of 0.
pub fn scenario(draws: &mut Pcg64) -> Value {
    let mut scenario = base(2);
    // Cells need one switch with one rate; PFC is a third of all, so that headroom and pauses are tried
    // enough.
    let form = match draws.random_range(0..20) {
        0 => Form::Cells,
        1..=6 => Form::Pfc,
        _ => Form::Other,
    };
    // In most cases all send to one host at first, and more than queues hold.
    let crowded = draws.random_bool(0.7);
    let topology = topology(draws, &form, crowded);
    let (names, links) = nodes(&topology);
    let fluid = form == Form::Other && draws.random_bool(0.1);
    scenario["topology"] = topology;
    scenario["switches"][0]["config"] = match form {
        Form::Cells => cells(draws),
        Form::Pfc => lossless(draws, names.len() as u64, crowded),
        Form::Other => switch(draws, fluid, crowded),
    };
    scenario["hosts"] = hosts(draws, &names);
    let jobs = draws.random_range(1..5);
    scenario["jobs"] = (0..jobs).map(|number| job(draws, number, &names, fluid)).collect();
    if crowded {
        scenario["jobs"][0] = crowd(draws, &names);
    }
    scenario["faults"] = faults(draws, &form, &names, &links);
    let until = if draws.random_bool(0.1) { draws.random_range(1..CALM) } else { UNTIL };
    scenario["until"] = json!(us(until));
    scenario
}

fn one_of<T: Clone>(draws: &mut Pcg64, among: &[T]) -> T {
    among[draws.random_range(0..among.len())].clone()
}

#[derive(PartialEq)]
enum Form {
    Cells,
    Pfc,
    Other,
}

fn some_link(draws: &mut Pcg64) -> Value {
    let mut link = link(one_of(draws, &[10, 100, 1000, 10_000]), draws.random_range(100..50_000));
    if draws.random_bool(0.1) {
        link["mtu"] = json!(1500);
    }
    link
}

fn topology(draws: &mut Pcg64, form: &Form, crowded: bool) -> Value {
    let (host_link, between) = (some_link(draws), some_link(draws));
    let kind = if *form == Form::Cells { 0 } else { draws.random_range(0..6) };
    match kind {
        0 | 1 => {
            let count = draws.random_range(if crowded { 3 } else { 2 }..8);
            json!({"kind": "single-switch", "hosts": count, "host_link": host_link})
        }
        2 => {
            let (left, right) = (draws.random_range(1 + usize::from(crowded)..4), draws.random_range(1..4));
            json!({"kind": "dumbbell", "left": left, "right": right, "host_link": host_link, "bottleneck": between})
        }
        3 => {
            json!({"kind": "leaf-spine", "leaves": [2, draws.random_range(1..4)], "spines": draws.random_range(1..4),
            "host_link": host_link, "uplink": between, "uplinks_per_spine": draws.random_range(1..3)})
        }
        4 => json!({"kind": "fat-tree", "k": 4, "host_link": host_link, "fabric_link": between}),
        _ => graph(draws),
    }
}

/// Any graph: a tree of switches and some links more, up to two parallel, hosts of which some have two links.
fn graph(draws: &mut Pcg64) -> Value {
    let (switches, hosts) = (draws.random_range(1..6), draws.random_range(2..7));
    let node = |name: String, kind| json!({"name": name, "kind": kind});
    let mut nodes: Vec<Value> = (0..switches).map(|n| node(format!("switch{n}"), "switch")).collect();
    nodes.extend((0..hosts).map(|n| node(format!("host{n}"), "host")));
    let mut links: Vec<Value> = Vec::new();
    let mut join = |draws: &mut Pcg64, a: String, b: String| {
        let both = some_link(draws);
        links.push(json!({"a": a, "b": b, "ab": both, "ba": both}));
    };
    for n in 1..switches {
        let before = draws.random_range(0..n);
        join(draws, format!("switch{n}"), format!("switch{before}"));
    }
    for _ in 0..if switches > 1 { draws.random_range(0..4) } else { 0 } {
        let a = draws.random_range(0..switches);
        let b = (a + draws.random_range(1..switches)) % switches;
        join(draws, format!("switch{a}"), format!("switch{b}"));
    }
    for n in 0..hosts {
        let first = draws.random_range(0..switches);
        join(draws, format!("host{n}"), format!("switch{first}"));
        if switches > 1 && draws.random_bool(0.2) {
            join(draws, format!("switch{}", (first + 1) % switches), format!("host{n}"));
        }
    }
    json!({"kind": "graph", "nodes": nodes, "links": links})
}

/// Names of hosts, and the ends of links.
fn nodes(topology: &Value) -> (Vec<String>, Vec<(String, String)>) {
    let view = scenario::expand(&topology.to_string()).unwrap();
    let is_host = |node: &&scenario::NodeView| node.kind == scenario::lab::NodeKind::Host;
    let names = view.nodes.iter().filter(is_host).map(|node| node.name.clone()).collect();
    (names, view.links.iter().map(|link| (link.a.clone(), link.b.clone())).collect())
}

/// Settings for all hosts, and often others for one of them.
fn hosts(draws: &mut Pcg64, names: &[String]) -> Value {
    let mut rules = vec![json!({"pattern": "*", "config": host(draws)})];
    if draws.random_bool(0.4) {
        let name = &names[draws.random_range(0..names.len())];
        rules.push(json!({"pattern": name, "config": host(draws)}));
    }
    json!(rules)
}

fn host(draws: &mut Pcg64) -> Value {
    let congestion = one_of(draws, &["reno", "cubic", "dctcp", "htcp", "bbr"]);
    let ecn = if congestion == "dctcp" { "on" } else { one_of(draws, &["off", "on", "on", "on", "passive"]) };
    let sack = draws.random_bool(0.8);
    let rack = sack && draws.random_bool(0.7);
    let (least, buffer) = (us(draws.random_range(1000..50_000)), draws.random_range(20_000..6_000_000_u64));
    let rto_min =
        if draws.random_bool(0.2) { json!({"uniform": [least, 2 * least]}) } else { json!({"fixed": least}) };
    let mut host = json!({
        "mtu": one_of(draws, &[1500, 1500, 1500, 9000, 576]),
        "nic_queue": draws.random_range(3000..100_000),
        "cores": draws.random_range(1..5), "disk": 4000 * MEGABIT,
        "packet_cost": if draws.random_bool(0.2) { us(draws.random_range(1..20)) } else { 0 },
        "time_slice": if draws.random_bool(0.2) { us(draws.random_range(10..4000)) } else { 0 },
        "tcp": {
            "congestion": congestion, "ecn": ecn, "ecn_fallback": draws.random_bool(0.5),
            "sack": sack, "rack": rack, "tail_loss_probe": rack && draws.random_bool(0.7),
            "limited_transmit": draws.random_bool(0.7),
            "fast_retransmit": if rack || draws.random_bool(0.8) { json!(3) } else { Value::Null },
            "clock_tick": if draws.random_bool(0.1) { us(10_000) } else { 0 },
            "timestamps": draws.random_bool(0.8), "initial_window": draws.random_range(1..20),
            "hystart": draws.random_bool(0.5), "rto_initial": {"fixed": us(1_000_000)}, "rto_min": rto_min,
            "rto_max": {"fixed": us(120_000_000)}, "ack_every": draws.random_range(1..3), "delayed_ack": us(1000),
            "receive_buffer": buffer, "receive_buffer_max": 2 * buffer,
            "send_buffer": draws.random_range(20_000..4_000_000),
            "dctcp_shift": 4, "htcp_rtt_scaling": draws.random_bool(0.5)
        }
    });
    host["packet_jitter"] = json!(host["packet_cost"].as_u64().expect("a time") / 4);
    host
}

/// Any switch but those of cells and with PFC. Where fluid flows, ports have one queue.
fn switch(draws: &mut Pcg64, fluid: bool, crowded: bool) -> Value {
    let (size, alpha) = (draws.random_range(300_000..2_000_000_u64), draws.random_range(0.2..8.0));
    let cell = one_of(draws, &[1, 80, 256]);
    let limit = draws.random_range(10_000..if crowded { 60_000 } else { 300_000_u64 });
    let (buffer, room) = match draws.random_range(0..if fluid { 3 } else { 4 }) {
        0 => {
            let packets = draws.random_range(10..if crowded { 40 } else { 200_u64 });
            (json!({"kind": "static", "limit": {"packets": packets}}), 1500 * packets)
        }
        1 => (json!({"kind": "static", "limit": {"bytes": limit}}), limit),
        2 => {
            let reserve = one_of(draws, &[0, 2000]);
            (json!({"kind": "shared", "size": size, "alpha": alpha, "reserve": reserve, "cell": cell}), size)
        }
        _ => {
            let processors = one_of(draws, &[Value::Null, json!(1), json!(2)]);
            let reserved = draws.random_range(0.0..0.5);
            let voq = json!({"kind": "voq", "size": size, "reserved": reserved, "multicast": 0.1, "alpha": alpha,
                "cell": cell, "cap": limit, "processors": processors});
            (voq, limit)
        }
    };
    let all = queue(draws, room, crowded);
    let ets = !fluid && draws.random_bool(0.5);
    let own = if ets && draws.random_bool(0.4) {
        json!([[3, queue(draws, room, crowded)], [7, {"kind": "tail-drop"}]])
    } else {
        json!([])
    };
    json!({"buffer": buffer, "queue": all, "class_queues": own, "scheduler": scheduler(ets)})
}

fn scheduler(ets: bool) -> Value {
    let weights: Vec<(u8, u32)> = (0..7).map(|class| (class, 1 + u32::from(class))).collect();
    if ets { json!({"kind": "ets", "strict": [7], "weights": weights}) } else { json!({"kind": "fifo"}) }
}

/// What a queue with `room` bytes does with those that enter or leave.
fn queue(draws: &mut Pcg64, room: u64, crowded: bool) -> Value {
    let (most, ecn) = (room.min(100_000), draws.random_bool(0.7));
    // Queues that fill up before anything else happens.
    if crowded && draws.random_bool(0.3) {
        return json!({"kind": "tail-drop"});
    }
    match draws.random_range(0..6) {
        0 => json!({"kind": "tail-drop"}),
        1 => json!({"kind": "step", "threshold": {"bytes": draws.random_range(3000..most)}}),
        2 => json!({"kind": "step", "threshold": {"packets": draws.random_range(1..10)}}),
        3 | 4 => {
            let (min, max) = match draws.random_bool(0.5) {
                true => (json!({"bytes": most / 10}), json!({"bytes": most / 2})),
                false => (json!({"packets": 3}), json!({"packets": 9})),
            };
            let weight = one_of(draws, &[0.002, 0.2, 1.0]);
            json!({"kind": "red", "min": min, "max": max, "max_p": 0.1, "weight": weight,
                "gentle": draws.random_bool(0.5), "ecn": ecn})
        }
        _ => {
            json!({"kind": "codel", "target": us(draws.random_range(50..2000)), "interval": us(20_000), "ecn": ecn})
        }
    }
}

/// A switch of ATM cells.
fn cells(draws: &mut Pcg64) -> Value {
    let limit = draws.random_range(100..2000);
    let buffer = json!({"kind": "cells", "limit": limit, "discard": one_of(draws, &["tail", "partial", "early"]),
        "threshold": limit * 3 / 4, "encapsulation": 8, "sonet": draws.random_bool(0.5), "reassembly_timeout": us(10_000)});
    json!({"buffer": buffer, "queue": {"kind": "tail-drop"}, "class_queues": [], "scheduler": scheduler(false)})
}

/// Bytes of headroom: a round trip of the longest link at the highest rate, and packets under way at both its
/// ends.
const HEADROOM: u64 = 250_000;

/// A switch with PFC for classes 0 and 3, and room enough for what they may hold.
fn lossless(draws: &mut Pcg64, hosts: u64, crowded: bool) -> Value {
    // The largest switch has the hosts, or four ports and two parallel links a spine.
    let size = 2 * HEADROOM * (hosts + 8) + draws.random_range(2_000_000..20_000_000);
    let buffer = json!({"kind": "shared", "size": size, "alpha": draws.random_range(0.2..8.0), "reserve": 0, "cell": 256});
    let queue = queue(draws, u64::MAX, crowded);
    let xoff = match draws.random_bool(0.5) {
        true => {
            json!({"kind": "static", "limit": draws.random_range(5_000..if crowded { 20_000 } else { 60_000 })})
        }
        false => {
            json!({"kind": "dynamic", "alpha": draws.random_range(0.002..if crowded { 0.05 } else { 0.5 })})
        }
    };
    let watchdog = match draws.random_bool(0.3) {
        true => {
            let detection = us(one_of(draws, &[20_000, 400_000]));
            json!({"poll": us(2000), "detection": detection, "restoration": us(10_000),
                "action": one_of(draws, &["drop", "forward"])})
        }
        false => Value::Null,
    };
    // A pause is shorter than the watchdog's detection on the slowest link of 10 Mb/s.
    let quanta =
        if watchdog.is_null() { draws.random_range(100..=65_535) } else { draws.random_range(100..390) };
    let pool = if draws.random_bool(0.2) { json!(2 * HEADROOM) } else { Value::Null };
    json!({"buffer": buffer, "queue": queue, "class_queues": [], "scheduler": scheduler(true),
        "pfc": {"classes": [0, 3], "xoff": xoff, "xon": 3000, "headroom": HEADROOM, "headroom_pool": pool,
            "quanta": quanta, "watchdog": watchdog}})
}

/// All others, up to eight, answer the first host at the same time.
fn crowd(draws: &mut Pcg64, names: &[String]) -> Value {
    let senders = &names[1..names.len().min(9)];
    let work = json!({"kind": "incast", "senders": senders, "receiver": names[0],
        "bytes": draws.random_range(60_000..600_000), "rounds": draws.random_range(1..3)});
    json!({"name": "job0", "start": us(draws.random_range(0..2000)), "class": one_of(draws, &[0, 3]), "work": work})
}

fn job(draws: &mut Pcg64, number: u32, names: &[String], fluid: bool) -> Value {
    let most = one_of(draws, &[3000, 200_000, 2_000_000]);
    let bytes = draws.random_range(1..most);
    let count = draws.random_range(2..=names.len().min(6));
    let first = draws.random_range(0..names.len());
    let members: Vec<&String> = (0..count).map(|n| &names[(first + n) % names.len()]).collect();
    let end = |draws: &mut Pcg64| draws.random_range(0..count);
    // Some send to themselves, but no fluid.
    let least = usize::from(fluid);
    let pairs: Vec<(&String, &String)> = (0..draws.random_range(1..8))
        .map(|_| (end(draws), draws.random_range(least..count)))
        .map(|(from, step)| (members[from], members[(from + step) % count]))
        .collect();
    let mut at = 0;
    let mut later = |draws: &mut Pcg64| {
        at += us(draws.random_range(0..4000));
        at
    };
    // The run does not wait for background, so the first job is another.
    let work = match draws.random_range(if number == 0 { 2 } else { 0 }..11) {
        0 | 1 => {
            let over = if !fluid && draws.random_bool(0.4) { "tcp" } else { "udp" };
            let model = if fluid { "fluid" } else { "packets" };
            let rate = if fluid { MEGABIT / 2 } else { draws.random_range(1..50) * MEGABIT };
            let duration = if draws.random_bool(0.8) { json!(us(30_000)) } else { json!(us(200_000)) };
            json!({"kind": "background", "pairs": pairs, "rate": rate, "over": over, "model": model, "duration": duration})
        }
        2 | 3 => json!({"kind": "incast", "senders": members[1..], "receiver": members[0], "bytes": bytes,
            "rounds": draws.random_range(1..4)}),
        4 => json!({"kind": "permutation", "hosts": members, "bytes": bytes}),
        5 => {
            json!({"kind": "all-to-all", "hosts": members, "bytes": bytes / 4 + 1, "parallel": draws.random_range(1..4),
            "order": one_of(draws, &["rotated", "same"]), "skew": us(500)})
        }
        6 => {
            let sizes = [(1000, 0.5), (bytes + 1000, 1.0)];
            json!({"kind": "load", "hosts": members, "sizes": sizes, "load": draws.random_range(0.05..0.9),
                "duration": us(3000)})
        }
        7 => json!({"kind": "bulk", "pairs": pairs, "bytes": bytes}),
        9 => {
            let arrivals = match draws.random_bool(0.5) {
                true => json!({"kind": "closed", "callers": draws.random_range(1..4), "think": us(200)}),
                false => json!({"kind": "open", "every": us(draws.random_range(50..2000))}),
            };
            json!({"kind": "rpc", "clients": members[..1], "servers": members[1..], "arrivals": arrivals,
                "calls": draws.random_range(1..40), "fan_out": draws.random_range(1..count), "connections": 2,
                "request": [(300, 1.0)], "reply": [(1, 0.5), (bytes / 8 + 2, 1.0)],
                "service": us(draws.random_range(0..300)), "deadline": us(5000)})
        }
        8 => {
            let mut coflow = |id: usize, draws: &mut Pcg64| {
                json!({"id": id, "at": later(draws), "mappers": members[..count / 2],
                    "reducers": members[count / 2..].iter().map(|host| json!([host, bytes])).collect::<Vec<_>>()})
            };
            json!({"kind": "coflows", "coflows": (0..3).map(|id| coflow(id, draws)).collect::<Vec<_>>()})
        }
        _ => {
            let mut flow = |(from, to): &(&String, &String), draws: &mut Pcg64| json!({"at": later(draws), "from": from, "to": to, "bytes": bytes, "group": 0});
            json!({"kind": "replay", "flows": pairs.iter().map(|pair| flow(pair, draws)).collect::<Vec<_>>()})
        }
    };
    let (start, class) = (us(draws.random_range(0..5000)), one_of(draws, &[0, 3, 5, 7]));
    json!({"name": format!("job{number}"), "start": start, "class": class, "work": work})
}

/// Faults that begin and end before [`CALM`]; in one case of ten some stay.
fn faults(draws: &mut Pcg64, form: &Form, names: &[String], links: &[(String, String)]) -> Value {
    let mut faults = Vec::new();
    let lasting = draws.random_bool(0.1);
    for _ in 0..draws.random_range(0..7) {
        let from = us(draws.random_range(0..CALM / 2));
        let to = from + us(draws.random_range(1..CALM / 2));
        let host = &names[draws.random_range(0..names.len())];
        let (a, b) = &links[draws.random_range(0..links.len())];
        let of = |kind: &str| json!({"kind": kind, "a": a, "b": b});
        let with = |kind: &str, field: &str, value: Value| {
            let mut change = of(kind);
            change[field] = value;
            change
        };
        let at = |kind: &str, class| json!({"kind": kind, "host": host, "class": class});
        let chance = if draws.random_bool(0.2) { 1.0 } else { draws.random_range(0.0..0.2) };
        let class = one_of(draws, &[0, 3, 5]);
        // Links of cells keep their rate.
        let (begins, ends) = match draws.random_range(if *form == Form::Cells { 1 } else { 0 }..12) {
            0 => (with("rate", "rate", json!(5 * MEGABIT)), with("rate", "rate", json!(500 * MEGABIT))),
            1..5 => (of("link-down"), of("link-up")),
            5 | 6 => (with("loss", "probability", json!(chance)), with("loss", "probability", json!(0.0))),
            7 => (with("corrupt", "probability", json!(chance)), with("corrupt", "probability", json!(0.0))),
            8 => (
                json!({"kind": "slow", "host": host, "speed": 0.01}),
                json!({"kind": "slow", "host": host, "speed": 1.0}),
            ),
            9 | 10 => (json!({"kind": "crash", "host": host}), json!({"kind": "restart", "host": host})),
            _ => (at("pause-storm", class), at("pause-storm-end", class)),
        };
        let stays = lasting && draws.random_bool(0.5) && begins["kind"] != "pause-storm";
        faults.push(json!({"at": from, "change": begins}));
        if !stays {
            faults.push(json!({"at": to, "change": ends}));
        }
    }
    json!(faults)
}
