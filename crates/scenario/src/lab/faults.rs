//! What goes wrong, or comes right again, at a time: by name, and as the simulator's changes.

use super::Scenario;
use crate::build::in_a_run;
use crate::emulate;
use crate::names::Names;
use process::Hosts;
use serde::{Deserialize, Serialize};
use sim::LinkChange;
use units::{Problem, Rate, Time};

/// Something that goes wrong at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// What.
    pub change: Change,
}

/// What goes wrong, or comes right again. A link is named by its two ends and means all parallel links, both
/// ways.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// The host loses its processes and connections, silently.
    Crash {
        /// The host.
        host: String,
    },
    /// A crashed host comes back; its processes start again.
    Restart {
        /// The host.
        host: String,
    },
    /// Cores and disk of the host run at `speed` times their rate.
    Slow {
        /// The host.
        host: String,
        /// 1 is normal.
        speed: f64,
    },
    /// The link carries nothing; routes avoid it.
    LinkDown {
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// The link is back.
    LinkUp {
        /// One end.
        a: String,
        /// The other end.
        b: String,
    },
    /// Packets vanish with this probability.
    Loss {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// 0 to 1.
        probability: f64,
    },
    /// Packets arrive with a bad checksum with this probability, and are discarded on arrival.
    Corrupt {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// 0 to 1.
        probability: f64,
    },
    /// The host asks its switch to pause a class, again and again.
    PauseStorm {
        /// The host.
        host: String,
        /// The class, 0–7.
        class: u8,
    },
    /// The host does so no more.
    PauseStormEnd {
        /// The host.
        host: String,
        /// The class, 0–7.
        class: u8,
    },
    /// The link's rate changes.
    Rate {
        /// One end.
        a: String,
        /// The other end.
        b: String,
        /// The new rate.
        rate: Rate,
    },
}

/// The faults, in the scenario's order.
///
/// # Errors
/// A fault of a host or link that isn't there, or with a value that can't be.
pub fn all(scenario: &Scenario, names: &Names<'_>) -> Result<Vec<(Time, sim::Change)>, Problem> {
    let mut faults = Vec::with_capacity(scenario.faults.len());
    for (index, fault) in scenario.faults.iter().enumerate() {
        let at = |problem: Problem| problem.within(("faults", index));
        in_a_run(fault.at).map_err(|problem| at(problem.within("at")))?;
        let change = change(&fault.change, names).map_err(|problem| at(problem.within("change")))?;
        if let sim::Change::Crash(host) | sim::Change::Restart(host) = change
            && let name = names.name(host)
            && emulate::has_members(scenario, name)
        {
            let message = format!("{name} is emulated: of emulated hosts only those of programs can crash");
            return Err(at(Problem::whole(message)));
        }
        if let sim::Change::Slow(host, _) = change
            && let name = names.name(host)
            && emulate::computes_at_once(scenario, name)
        {
            let message = format!("computing takes no time on {name}: it needs host.kernel.cpu_rate");
            return Err(at(Problem::whole(message)));
        }
        faults.push((fault.at, change));
    }
    Ok(faults)
}

fn change(change: &Change, names: &Names<'_>) -> Result<sim::Change, Problem> {
    let host = |name: &String| Ok::<_, Problem>(names.one(name, "host")?.0);
    let link = |a: &String, b: &String, change| {
        let end = |name: &String| names.node(name);
        let (a_node, b_node) = (end(a)?, end(b)?);
        if !names.linked(a_node, b_node) {
            return Err(Problem::whole(format!("no link joins {a:?} and {b:?}")));
        }
        Ok(sim::Change::Link(a_node, b_node, change))
    };
    let chance = |p: f64| {
        let message = || Problem::new("probability", format!("{p}: 0 to 1 are allowed"));
        (0.0..=1.0).contains(&p).then_some(p).ok_or_else(message)
    };
    match change {
        Change::Crash { host: name } => Ok(sim::Change::Crash(host(name)?)),
        Change::Restart { host: name } => Ok(sim::Change::Restart(host(name)?)),
        Change::Slow { host: name, speed } if *speed > 0.0 && speed.is_finite() => {
            Ok(sim::Change::Slow(host(name)?, (speed * 1e6) as u64))
        }
        Change::Slow { speed, .. } => {
            Err(Problem::new("speed", format!("{speed}: a number above 0 is needed")))
        }
        Change::PauseStorm { host: name, class } => storm(host(name)?, *class, true),
        Change::PauseStormEnd { host: name, class } => storm(host(name)?, *class, false),
        Change::LinkDown { a, b } => link(a, b, LinkChange::Down),
        Change::LinkUp { a, b } => link(a, b, LinkChange::Up),
        Change::Loss { a, b, probability } => link(a, b, LinkChange::Loss(chance(*probability)?)),
        Change::Corrupt { a, b, probability } => link(a, b, LinkChange::Corrupt(chance(*probability)?)),
        Change::Rate { a, b, rate } if rate.as_bps() >= 1_000 => link(a, b, LinkChange::Rate(*rate)),
        Change::Rate { rate, .. } => Err(Problem::new("rate", format!("{rate}: at least 1 kbps"))),
    }
}

fn storm(host: u32, class: u8, on: bool) -> Result<sim::Change, Problem> {
    if class > 7 {
        return Err(Problem::new("class", format!("{class}: 0 to 7 are allowed")));
    }
    Ok(sim::Change::PauseStorm(host, class, on))
}
