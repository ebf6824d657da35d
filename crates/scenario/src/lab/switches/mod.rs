//! The settings of every switch, and what can't be.

pub(crate) mod cells;
mod pfc;
mod room;

use super::Scenario;
use crate::names::last_match;
use fabric::{Buffer, CodelConfig, Depth, Framing, Graph, NodeId, Queue, RedConfig, Scheduler, SwitchConfig};
use pfc::Way;
use units::{Bytes, Problem, Time};

/// Bytes of a cell of a switch's memory at most.
const CELL_MAX: u64 = 1 << 20;

/// The settings of every switch, in the graph's order.
pub(crate) fn all(scenario: &Scenario, graph: &Graph) -> Result<Vec<SwitchConfig>, Problem> {
    let mut links: Vec<Vec<Way>> = vec![Vec::new(); graph.nodes()];
    for link in graph.links() {
        links[link.a.0 as usize].push((link.ba, link.ab));
        links[link.b.0 as usize].push((link.ab, link.ba));
    }
    let sent = scenario.hosts.iter().map(|rule| u64::from(rule.config.mtu)).min().unwrap_or_default();
    let mut configs = Vec::with_capacity(graph.nodes() - graph.hosts());
    for (node, name) in graph.names().enumerate().skip(graph.hosts()) {
        let (config, rule) = last_match(&scenario.switches, name, "switches")?;
        let checked = check(config, &links[node], (scenario.framing, sent));
        let cells = || match config.buffer {
            Buffer::Cells(_) => cells::check(config, graph, NodeId(node as u32), &links[node]),
            _ => Ok(()),
        };
        let at = |problem: Problem| problem.within("config").within(("switches", rule));
        checked.and_then(|()| cells()).map_err(at)?;
        configs.push(config.clone());
    }
    Ok(configs)
}

fn check(config: &SwitchConfig, links: &[Way], (framing, sent): (Framing, u64)) -> Result<(), Problem> {
    check_queue(&config.queue).map_err(|problem| problem.within("queue"))?;
    for (index, (class, queue)) in config.class_queues.iter().enumerate() {
        if *class > 7 {
            return Err(Problem::new(("class_queues", index), format!("class {class}: 0 to 7 are allowed")));
        }
        check_queue(queue).map_err(|problem| problem.within(("class_queues", index)))?;
    }
    check_scheduler(&config.scheduler)?;
    let classes = config.scheduler.classes() as u64;
    if classes == 1 && !config.class_queues.is_empty() {
        let message = "fifo has one queue for all classes: class_queues needs the scheduler ets";
        return Err(Problem::new("class_queues", message));
    }
    let ports = links.len() as u64;
    check_buffer(&config.buffer, ports, classes).map_err(|problem| problem.within("buffer"))?;
    room::check(config, links, sent)?;
    match &config.pfc {
        Some(pfc) => pfc::check(pfc, config, links, framing).map_err(|problem| problem.within("pfc")),
        None => Ok(()),
    }
}

fn check_buffer(buffer: &Buffer, ports: u64, classes: u64) -> Result<(), Problem> {
    match buffer {
        Buffer::Static { .. } => Ok(()),
        Buffer::Cells(config) => cells::check_memory(config),
        Buffer::Shared { size, alpha, reserve, cell } => {
            thresholds(*alpha, *cell)?;
            let queues = ports * classes;
            let reserved = reserve.get().saturating_mul(queues);
            if reserved > size.get() || size.get() == 0 {
                let message =
                    format!("{reserve} for each of {queues} queues exceed the size of {size}: reserve less");
                return Err(Problem::new("reserve", message));
            }
            Ok(())
        }
        Buffer::Voq { size, reserved, multicast, cap, processors, alpha, cell } => {
            thresholds(*alpha, *cell)?;
            for (field, part) in [("reserved", reserved), ("multicast", multicast)] {
                if !(0.0..1.0).contains(part) {
                    return Err(Problem::new(field, format!("{part}: 0 up to less than 1 is allowed")));
                }
            }
            if reserved + multicast >= 1.0 {
                let message = format!("{reserved} and {multicast} for multicast leave nothing to share");
                return Err(Problem::new("reserved", message));
            }
            if cap.get() == 0 || cap > size {
                let message = format!("{cap}: above 0B and up to the memory ({size}) is allowed");
                return Err(Problem::new("cap", message));
            }
            if *processors == Some(0) {
                return Err(Problem::new("processors", "0: at least 1"));
            }
            Ok(())
        }
    }
}

fn thresholds(alpha: f64, cell: Bytes) -> Result<(), Problem> {
    if !(alpha > 0.0 && alpha.is_finite()) {
        return Err(Problem::new("alpha", format!("{alpha}: a number above 0 is needed")));
    }
    if !(1..=CELL_MAX).contains(&cell.get()) {
        return Err(Problem::new("cell", format!("{cell}: 1 B to {CELL_MAX} B are allowed")));
    }
    Ok(())
}

fn check_queue(queue: &Queue) -> Result<(), Problem> {
    match queue {
        Queue::TailDrop {} | Queue::Step { .. } => Ok(()),
        Queue::Codel(config) => check_codel(config),
        Queue::Red(config) => check_red(config),
    }
}

fn check_red(config: &RedConfig) -> Result<(), Problem> {
    match (config.min, config.max) {
        (Depth::Bytes(min), Depth::Bytes(max)) | (Depth::Packets(min), Depth::Packets(max)) if min < max => {}
        (Depth::Bytes(_), Depth::Bytes(_)) | (Depth::Packets(_), Depth::Packets(_)) => {
            return Err(Problem::new("min", "not below max: the lower threshold comes first"));
        }
        _ => return Err(Problem::new("max", "min and max are both bytes or both packets")),
    }
    let is_part = |part: f64| part > 0.0 && part <= 1.0;
    if !is_part(config.max_p) {
        return Err(Problem::new("max_p", "a probability above 0 and up to 1 is needed"));
    }
    if !is_part(config.weight) {
        return Err(Problem::new("weight", "a weight above 0 and up to 1 is needed"));
    }
    Ok(())
}

fn check_codel(config: &CodelConfig) -> Result<(), Problem> {
    let CodelConfig { target, interval, .. } = *config;
    if target == Time::ZERO || interval == Time::ZERO {
        let field = if target == Time::ZERO { "target" } else { "interval" };
        return Err(Problem::new(field, "0s: a time above zero is needed"));
    }
    if target > interval {
        let message = format!("{target}: up to the interval ({interval}) is allowed");
        return Err(Problem::new("target", message));
    }
    Ok(())
}

fn check_scheduler(scheduler: &Scheduler) -> Result<(), Problem> {
    let Scheduler::Ets { strict, weights } = scheduler else { return Ok(()) };
    for (class, weight) in weights.iter().enumerate() {
        let refused = |message| Err(Problem::new(("weights", class), message).within("scheduler"));
        if *weight > 10_000 {
            return refused(format!("weight {weight}: 1 to 10000 are allowed"));
        }
        if *weight > 0 && strict & (1 << class) != 0 {
            return refused(format!("class {class} is strict and has a weight: only one can be"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEEP: Bytes = Bytes::new(8_000_000_000);

    fn voq(reserved: f64, multicast: f64, cap: u64, alpha: f64) -> Buffer {
        let (cap, cell, processors) = (Bytes::new(cap), Bytes::new(1), None);
        Buffer::Voq { size: DEEP, reserved, multicast, cap, processors, alpha, cell }
    }

    #[test]
    fn what_makes_no_sense_is_refused_where_it_stands() {
        let at = |buffer: Buffer| check_buffer(&buffer, 10, 1).unwrap_err().path.to_string();
        assert_eq!(check_buffer(&voq(0.3, 0.15, 125_000_000, 1.0), 10, 1), Ok(()));
        assert_eq!(at(voq(0.3, 0.15, 8_000_000_001, 1.0)), "cap");
        assert_eq!(at(voq(0.3, 0.15, 0, 1.0)), "cap");
        assert_eq!(at(voq(0.3, 0.15, 1, 0.0)), "alpha");
        assert_eq!(at(voq(1.0, 0.0, 1, 1.0)), "reserved");
        assert_eq!(at(voq(0.5, 0.5, 1, 1.0)), "reserved");
        assert_eq!(at(voq(0.0, f64::NAN, 1, 1.0)), "multicast");
        let delay = |target, interval| {
            let (target, interval) = (Time::from_us(target), Time::from_us(interval));
            check_codel(&CodelConfig { target, interval, ecn: false })
        };
        assert_eq!(delay(6, 5).unwrap_err().path.to_string(), "target");
        assert_eq!(delay(0, 5).unwrap_err().path.to_string(), "target");
        assert_eq!(delay(0, 0).unwrap_err().path.to_string(), "target");
        assert!(delay(5, 5).is_ok());
    }
}
