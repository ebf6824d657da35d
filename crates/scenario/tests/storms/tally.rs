//! What the cases had in them, and what happened: so that a reader sees what was tried.

use crate::run::{End, Seen};
use fabric::Discard;
use serde_json::Value;
use sim::HostDrops;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Why packets are discarded.
pub const REASONS: [Discard; 12] = [
    Discard::Tail,
    Discard::Early,
    Discard::Pool,
    Discard::Mtu,
    Discard::Down,
    Discard::NoRoute,
    Discard::Lost,
    Discard::Corrupt,
    Discard::Headroom,
    Discard::Watchdog,
    Discard::Cell,
    Discard::Merged,
];

/// In how many cases each thing was there.
#[derive(Default)]
pub struct Tally {
    cases: u64,
    runs: u64,
    events: u64,
    features: BTreeMap<String, u64>,
    happened: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts a case that has been run with each seed.
    pub fn count(&mut self, scenario: &Value, seen: &[Seen]) {
        self.cases += 1;
        self.runs += seen.len() as u64;
        self.events += seen.iter().map(|seen| seen.events).sum::<u64>();
        let mut found = BTreeSet::new();
        features("", scenario, &mut found);
        found.into_iter().for_each(|feature| *self.features.entry(feature).or_default() += 1);
        let happened: BTreeSet<String> = seen.iter().flat_map(happened).collect();
        happened.into_iter().for_each(|what| *self.happened.entry(what).or_default() += 1);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} cases, {} runs of {} events in all; cases with", self.cases, self.runs, self.events)?;
        for (what, count) in self.features.iter().chain(&self.happened) {
            writeln!(f, "{count:>7}  {what}")?;
        }
        Ok(())
    }
}

/// Kinds and choices in a scenario: `topology graph`, `congestion bbr`, `sack false`.
fn features(name: &str, value: &Value, found: &mut BTreeSet<String>) {
    const CHOICES: [&str; 9] =
        ["congestion", "ecn", "over", "model", "discard", "action", "sack", "hystart", "timestamps"];
    const SET: [&str; 6] =
        ["packet_cost", "time_slice", "watchdog", "headroom_pool", "class_queues", "clock_tick"];
    match value {
        Value::Object(fields) => {
            if let Some(kind) = fields.get("kind").and_then(Value::as_str) {
                found.insert(format!("{name} {kind}"));
            }
            for (field, value) in fields {
                if CHOICES.contains(&field.as_str()) && !value.is_null() {
                    found.insert(format!("{field} {}", value.to_string().trim_matches('"')));
                }
                let none = [Value::Null, Value::from(0), Value::from(Vec::<u8>::new())];
                if SET.contains(&field.as_str()) && !none.contains(value) {
                    found.insert(field.clone());
                }
                features(field, value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| features(name, item, found)),
        _ => {}
    }
}

fn happened(seen: &Seen) -> Vec<String> {
    let ports = || seen.ports.values().flatten();
    let drops = REASONS.into_iter().filter(|&reason| ports().any(|port| port.discards.of(reason) > 0));
    let mut happened: Vec<String> = drops.map(|reason| format!("a drop: {}", reason.name())).collect();
    let mut note = |is: bool, what: &str| happened.extend(is.then(|| what.to_owned()));
    note(ports().any(|port| port.abandoned_packets > 0), "a packet abandoned in its queue");
    note(ports().any(|port| port.marks > 0), "an ECN mark");
    note(seen.pauses > 0, "a pause");
    note(seen.storms > 0, "a storm of pauses found");
    note(seen.flows.iter().any(|flow| flow.timeouts > 0), "a timeout");
    note(seen.flows.iter().any(|flow| flow.retransmits > 0), "a retransmission");
    note(seen.flows.iter().any(|flow| flow.from.0 == flow.to.0), "a flow of a host to itself");
    let drops = |of: fn(&HostDrops) -> u64| seen.hosts.values().any(|host| of(&host.drops) > 0);
    note(drops(|host| host.no_route), "a drop at a host: no route");
    note(drops(|host| host.down), "a drop at a host: the host is down");
    note(drops(|host| host.no_port), "a drop at a host: the port is not bound");
    note(seen.in_transit > 0, "packets in the network at the end");
    happened.extend(seen.flows.iter().map(|flow| format!("a flow {:?}", flow.outcome)));
    happened.push(match seen.end {
        End::Budget => format!("a run cut off after {} events", crate::run::BUDGET),
        end => format!("a run that ended {end:?}"),
    });
    happened
}
