//! What is recorded beyond the totals.

use crate::names::{PortNames, matches};
use fabric::PortId;
use serde::{Deserialize, Serialize};
use sim::Sim;
use units::{Problem, Time};

/// What is recorded beyond the totals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Time between samples of the series; without it, no series.
    pub interval: Option<Time>,
    /// Ports in the series, `node:peer` (`#2` for a second parallel link), `*` for any text; hosts at their
    /// ends are in the series of hosts.
    pub ports: Vec<String>,
    /// Whether every flow's window and round-trip time are in the series too.
    pub flows: bool,
    /// Ports whose packets are captured as pcapng.
    pub capture: Vec<String>,
}

/// Least time between samples: at 400 Gb/s the shortest frame takes 1.7 ns.
const INTERVAL_LEAST: Time = Time::from_ns(10);

/// Asks a simulation for what is recorded.
///
/// # Errors
/// A port that is not there, or samples that outnumber packets.
pub(crate) fn prepare(measure: &Measure, sim: &mut Sim) -> Result<(), Problem> {
    let graph = sim.graph().clone();
    let named = PortNames::new(&graph, sim.network());
    let ports: Vec<(PortId, &str)> = named.iter().collect();
    let select = |patterns: &[String], field: &'static str| {
        let mut chosen = vec![false; ports.len()];
        for (index, pattern) in patterns.iter().enumerate() {
            let mut any = false;
            for (at, _) in ports.iter().enumerate().filter(|(_, (_, name))| matches(pattern, name)) {
                chosen[at] = true;
                any = true;
            }
            if !any {
                let message = format!("no port matches {pattern:?}: ports are called like {}", ports[0].1);
                return Err(Problem::new((field, index), message).within("measure"));
            }
        }
        Ok(ports.iter().zip(chosen).filter(|(_, is)| *is).map(|((port, _), _)| *port).collect::<Vec<_>>())
    };
    let (sampled, captured) = (select(&measure.ports, "ports")?, select(&measure.capture, "capture")?);
    match measure.interval {
        Some(interval) if interval < INTERVAL_LEAST => {
            let message =
                format!("{interval}: at least {INTERVAL_LEAST} is needed, or samples outnumber packets");
            return Err(Problem::new(["measure", "interval"], message));
        }
        Some(interval) => sim.sample(interval, sampled, measure.flows),
        None => {}
    }
    for port in captured {
        sim.capture(port);
    }
    Ok(())
}
