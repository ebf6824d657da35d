//! Settings of switches.

use super::cells;
use super::pfc::{Way, pfc};
use super::room;
use crate::names::last_match;
use crate::spec::{self, Scenario};
use fabric::{Buffer, CodelConfig, Depth, Framing, Graph, NodeId, Queue, RedConfig, Scheduler, SwitchConfig};
use units::{Bytes, Problem, Time};

/// Bytes of a cell of a switch's memory at most.
const CELL_MAX: u64 = 1 << 20;

/// The settings of every switch, in the graph's order.
pub(super) fn all(scenario: &Scenario, graph: &Graph) -> Result<Vec<SwitchConfig>, Problem> {
    let framing = super::framing(scenario)?;
    let mut links: Vec<Vec<Way>> = vec![Vec::new(); graph.nodes()];
    for link in graph.links() {
        links[link.a.0 as usize].push((link.ba, link.ab));
        links[link.b.0 as usize].push((link.ab, link.ba));
    }
    let sent = scenario.hosts.iter().map(|rule| u64::from(rule.config.mtu)).min().unwrap_or_default();
    let mut configs = Vec::with_capacity(graph.nodes() - graph.hosts());
    for (node, name) in graph.names().enumerate().skip(graph.hosts()) {
        let (config, path) = last_match(&scenario.switches, name, "switches")?;
        let config = switch(config, &links[node], (framing, sent), &path)?;
        if let Buffer::Cells(_) = config.buffer {
            cells::check(&config, graph, NodeId(node as u32), &links[node], &path)?;
        }
        configs.push(config);
    }
    Ok(configs)
}

fn switch(
    config: &spec::Switch,
    links: &[Way],
    (framing, sent): (Framing, u64),
    path: &str,
) -> Result<SwitchConfig, Problem> {
    let mut queues = [queue(&config.queue, &format!("{path}.queue"))?; 8];
    for (index, (class, own)) in config.class_queues.iter().enumerate() {
        let path = format!("{path}.class_queues[{index}]");
        *class_mut(&mut queues, *class, &path)? = queue(own, &path)?;
    }
    let scheduler = scheduler(&config.scheduler, &format!("{path}.scheduler"))?;
    let classes = if scheduler == Scheduler::Fifo { 1 } else { 8 };
    if classes == 1 && !config.class_queues.is_empty() {
        let message = "fifo has one queue for all classes: class_queues needs the scheduler ets";
        return Err(Problem::new(format!("{path}.class_queues"), message));
    }
    let buffer = buffer(&config.buffer, links.len() as u64, classes, &format!("{path}.buffer"))?;
    room::check(config, &buffer, links, sent, path)?;
    let with_pfc = |found| pfc(found, &buffer, &scheduler, links, framing, &format!("{path}.pfc"));
    let pfc = config.pfc.as_ref().map(with_pfc).transpose()?;
    Ok(SwitchConfig { buffer, queues, scheduler, pfc })
}

fn class_mut<'a, T>(classes: &'a mut [T; 8], class: u8, path: &str) -> Result<&'a mut T, Problem> {
    classes
        .get_mut(usize::from(class))
        .ok_or_else(|| Problem::new(path, format!("class {class}: 0 to 7 are allowed")))
}

fn buffer(buffer: &spec::Buffer, ports: u64, classes: u64, path: &str) -> Result<Buffer, Problem> {
    match buffer {
        spec::Buffer::Static { limit } => Ok(Buffer::Static(depth(*limit))),
        spec::Buffer::Cells { .. } => cells::buffer(buffer, path),
        spec::Buffer::Shared { size, alpha, reserve, cell } => {
            thresholds(*alpha, *cell, path)?;
            let queues = ports * classes;
            let reserved = reserve.get().saturating_mul(queues);
            if reserved > size.get() || size.get() == 0 {
                let message =
                    format!("{reserve} for each of {queues} queues exceed the size of {size}: reserve less");
                return Err(Problem::new(format!("{path}.reserve"), message));
            }
            Ok(Buffer::Shared { size: *size, alpha: *alpha, reserve: *reserve, cell: *cell })
        }
        spec::Buffer::Voq { size, reserved, multicast, cap, processors, alpha, cell } => {
            thresholds(*alpha, *cell, path)?;
            for (field, part) in [("reserved", reserved), ("multicast", multicast)] {
                if !(0.0..1.0).contains(part) {
                    return Err(Problem::new(
                        format!("{path}.{field}"),
                        format!("{part}: 0 up to less than 1 is allowed"),
                    ));
                }
            }
            if reserved + multicast >= 1.0 {
                let message = format!("{reserved} and {multicast} for multicast leave nothing to share");
                return Err(Problem::new(format!("{path}.reserved"), message));
            }
            if cap.get() == 0 || cap > size {
                let message = format!("{cap}: above 0B and up to the memory ({size}) is allowed");
                return Err(Problem::new(format!("{path}.cap"), message));
            }
            if *processors == Some(0) {
                return Err(Problem::new(format!("{path}.processors"), "0: at least 1"));
            }
            let part = |part: f64| (size.get() as f64 * part) as u64;
            let entries = processors.map_or(ports, |processors| ports.min(u64::from(processors)));
            let queues = entries * ports * classes;
            // A minimum above the cap would lie idle.
            let reserve = Bytes::new((part(*reserved) / queues).min(cap.get()));
            let size = Bytes::new(size.get() - part(*multicast));
            Ok(Buffer::Voq { size, alpha: *alpha, reserve, cap: *cap, processors: *processors, cell: *cell })
        }
    }
}

fn thresholds(alpha: f64, cell: Bytes, path: &str) -> Result<(), Problem> {
    if !(alpha > 0.0 && alpha.is_finite()) {
        return Err(Problem::new(format!("{path}.alpha"), format!("{alpha}: a number above 0 is needed")));
    }
    if !(1..=CELL_MAX).contains(&cell.get()) {
        return Err(Problem::new(format!("{path}.cell"), format!("{cell}: 1 B to {CELL_MAX} B are allowed")));
    }
    Ok(())
}

fn depth(depth: spec::Depth) -> Depth {
    match depth {
        spec::Depth::Bytes(n) => Depth::Bytes(n),
        spec::Depth::Packets(n) => Depth::Packets(n),
    }
}

fn queue(queue: &spec::Queue, path: &str) -> Result<Queue, Problem> {
    match queue {
        spec::Queue::TailDrop {} => Ok(Queue::TailDrop),
        spec::Queue::Step { threshold } => Ok(Queue::Step(depth(*threshold))),
        spec::Queue::Codel { target, interval, ecn } => codel(*target, *interval, *ecn, path),
        spec::Queue::Red { min, max, max_p, weight, gentle, ecn } => {
            let problem = |field: &str, message: &str| Problem::new(format!("{path}.{field}"), message);
            match (min, max) {
                (spec::Depth::Bytes(a), spec::Depth::Bytes(b))
                | (spec::Depth::Packets(a), spec::Depth::Packets(b))
                    if a < b => {}
                (spec::Depth::Bytes(_), spec::Depth::Bytes(_))
                | (spec::Depth::Packets(_), spec::Depth::Packets(_)) => {
                    return Err(problem("min", "not below max: the lower threshold comes first"));
                }
                _ => return Err(problem("max", "min and max are both bytes or both packets")),
            }
            if !(*max_p > 0.0 && *max_p <= 1.0) {
                return Err(problem("max_p", "a probability above 0 and up to 1 is needed"));
            }
            if !(*weight > 0.0 && *weight <= 1.0) {
                return Err(problem("weight", "a weight above 0 and up to 1 is needed"));
            }
            let (min, max) = (depth(*min), depth(*max));
            Ok(Queue::Red(RedConfig { min, max, max_p: *max_p, weight: *weight, gentle: *gentle, ecn: *ecn }))
        }
    }
}

fn codel(target: Time, interval: Time, ecn: bool, path: &str) -> Result<Queue, Problem> {
    if target == Time::ZERO || interval == Time::ZERO {
        let field = if target == Time::ZERO { "target" } else { "interval" };
        return Err(Problem::new(format!("{path}.{field}"), "0s: a time above zero is needed"));
    }
    if target > interval {
        let message = format!("{target}: up to the interval ({interval}) is allowed");
        return Err(Problem::new(format!("{path}.target"), message));
    }
    Ok(Queue::Codel(CodelConfig { target, interval, ecn }))
}

fn scheduler(scheduler: &spec::Scheduler, path: &str) -> Result<Scheduler, Problem> {
    let spec::Scheduler::Ets { strict, weights } = scheduler else { return Ok(Scheduler::Fifo) };
    let (mut bits, mut shares) = ([false; 8], [1; 8]);
    for (index, class) in strict.iter().enumerate() {
        *class_mut(&mut bits, *class, &format!("{path}.strict[{index}]"))? = true;
    }
    for (index, (class, weight)) in weights.iter().enumerate() {
        let path = format!("{path}.weights[{index}]");
        if !(1..=10_000).contains(weight) {
            return Err(Problem::new(path, format!("weight {weight}: 1 to 10000 are allowed")));
        }
        if bits.get(usize::from(*class)) == Some(&true) {
            return Err(Problem::new(
                path,
                format!("class {class} is strict and has a weight: only one can be"),
            ));
        }
        *class_mut(&mut shares, *class, &path)? = *weight;
    }
    let strict = bits.iter().enumerate().fold(0, |mask, (class, is)| mask | (u8::from(*is) << class));
    Ok(Scheduler::Ets { strict, weights: shares })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEEP: Bytes = Bytes::new(8_000_000_000);

    fn voq(reserved: f64, multicast: f64, cap: u64, alpha: f64) -> Result<Buffer, Problem> {
        let (cap, cell, processors) = (Bytes::new(cap), Bytes::new(1), None);
        buffer(
            &spec::Buffer::Voq { size: DEEP, reserved, multicast, cap, processors, alpha, cell },
            10,
            1,
            "buffer",
        )
    }

    #[test]
    fn the_memory_of_virtual_output_queues_is_shared_out() {
        // Of 8 GB, 30 % for 100 queues; 15 % are not there for unicast.
        let expected = Buffer::Voq {
            size: Bytes::new(6_800_000_000),
            alpha: 1.0,
            reserve: Bytes::new(24_000_000),
            cap: Bytes::new(125_000_000),
            processors: None,
            cell: Bytes::new(1),
        };
        assert_eq!(voq(0.3, 0.15, 125_000_000, 1.0), Ok(expected));
        // A minimum above the cap would lie idle.
        let Ok(Buffer::Voq { reserve, .. }) = voq(0.3, 0.15, 1_000_000, 1.0) else { panic!("refused") };
        assert_eq!(reserve, Bytes::new(1_000_000));
    }

    #[test]
    fn what_makes_no_sense_is_refused_where_it_stands() {
        let at = |result: Result<Buffer, Problem>| result.unwrap_err().path;
        assert_eq!(at(voq(0.3, 0.15, 8_000_000_001, 1.0)), "buffer.cap");
        assert_eq!(at(voq(0.3, 0.15, 0, 1.0)), "buffer.cap");
        assert_eq!(at(voq(0.3, 0.15, 1, 0.0)), "buffer.alpha");
        assert_eq!(at(voq(1.0, 0.0, 1, 1.0)), "buffer.reserved");
        assert_eq!(at(voq(0.5, 0.5, 1, 1.0)), "buffer.reserved");
        assert_eq!(at(voq(0.0, f64::NAN, 1, 1.0)), "buffer.multicast");
        let delay = |target, interval| codel(Time::from_us(target), Time::from_us(interval), false, "queue");
        assert_eq!(delay(6, 5).unwrap_err().path, "queue.target");
        assert_eq!(delay(0, 5).unwrap_err().path, "queue.target");
        assert_eq!(delay(0, 0).unwrap_err().path, "queue.target");
        assert!(delay(5, 5).is_ok());
    }
}
