//! From what goes wrong, by name, to the simulator's changes.

use crate::names::Names;
use crate::spec::{self, Scenario};
use process::Hosts;
use sim::{Change, LinkChange};
use units::{Problem, Time};

/// The faults, in the scenario's order.
///
/// # Errors
/// A fault of a host or link that isn't there, or with a value that can't be.
pub fn all(scenario: &Scenario, names: &Names<'_>) -> Result<Vec<(Time, Change)>, Problem> {
    let mut faults = Vec::with_capacity(scenario.faults.len());
    for (index, fault) in scenario.faults.iter().enumerate() {
        let at = |problem: Problem| problem.within(("faults", index));
        super::in_a_run(fault.at).map_err(|problem| at(problem.within("at")))?;
        let change = change(&fault.change, names).map_err(|problem| at(problem.within("change")))?;
        faults.push((fault.at, change));
    }
    Ok(faults)
}

fn change(change: &spec::Change, names: &Names<'_>) -> Result<Change, Problem> {
    let host = |name: &String| Ok::<_, Problem>(names.one(name, "host")?.0);
    let link = |a: &String, b: &String, change| {
        let end = |name: &String| names.node(name);
        let (a_node, b_node) = (end(a)?, end(b)?);
        if !names.linked(a_node, b_node) {
            return Err(Problem::whole(format!("no link joins {a:?} and {b:?}")));
        }
        Ok(Change::Link(a_node, b_node, change))
    };
    let chance = |p: f64| {
        let message = || Problem::new("probability", format!("{p}: 0 to 1 are allowed"));
        (0.0..=1.0).contains(&p).then_some(p).ok_or_else(message)
    };
    match change {
        spec::Change::Crash { host: name } => Ok(Change::Crash(host(name)?)),
        spec::Change::Restart { host: name } => Ok(Change::Restart(host(name)?)),
        spec::Change::Slow { host: name, speed } if *speed > 0.0 && speed.is_finite() => {
            Ok(Change::Slow(host(name)?, (speed * 1e6) as u64))
        }
        spec::Change::Slow { speed, .. } => {
            Err(Problem::new("speed", format!("{speed}: a number above 0 is needed")))
        }
        spec::Change::PauseStorm { host: name, class } => storm(host(name)?, *class, true),
        spec::Change::PauseStormEnd { host: name, class } => storm(host(name)?, *class, false),
        spec::Change::LinkDown { a, b } => link(a, b, LinkChange::Down),
        spec::Change::LinkUp { a, b } => link(a, b, LinkChange::Up),
        spec::Change::Loss { a, b, probability } => link(a, b, LinkChange::Loss(chance(*probability)?)),
        spec::Change::Corrupt { a, b, probability } => link(a, b, LinkChange::Corrupt(chance(*probability)?)),
        spec::Change::Rate { a, b, rate } if rate.as_bps() >= 1_000 => link(a, b, LinkChange::Rate(*rate)),
        spec::Change::Rate { rate, .. } => Err(Problem::new("rate", format!("{rate}: at least 1 kbps"))),
    }
}

fn storm(host: u32, class: u8, on: bool) -> Result<Change, Problem> {
    if class > 7 {
        return Err(Problem::new("class", format!("{class}: 0 to 7 are allowed")));
    }
    Ok(Change::PauseStorm(host, class, on))
}
