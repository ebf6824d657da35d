//! Settings of switches.

use super::last_match;
use crate::problem::Problem;
use crate::spec::{self, Scenario};
use fabric::{Buffer, Depth, Graph, Queue, RedConfig, Scheduler, SwitchConfig};

/// The settings of every switch, in the graph's order.
pub(super) fn all(scenario: &Scenario, graph: &Graph) -> Result<Vec<SwitchConfig>, Problem> {
    let mut ports = vec![0u64; graph.nodes()];
    for link in graph.links() {
        ports[link.a.0 as usize] += 1;
        ports[link.b.0 as usize] += 1;
    }
    let mut configs = Vec::with_capacity(graph.nodes() - graph.hosts());
    for (node, name) in graph.names().enumerate().skip(graph.hosts()) {
        let index = last_match(scenario.switches.iter().map(|rule| &rule.pattern), name, "switches")?;
        let path = format!("switches[{index}].config");
        configs.push(switch(&scenario.switches[index].config, ports[node], &path)?);
    }
    Ok(configs)
}

fn switch(config: &spec::Switch, ports: u64, path: &str) -> Result<SwitchConfig, Problem> {
    let mut queues = [queue(&config.queue, &format!("{path}.queue"))?; 8];
    for (index, (class, own)) in config.class_queues.iter().enumerate() {
        let path = format!("{path}.class_queues[{index}]");
        *class_mut(&mut queues, *class, &path)? = queue(own, &path)?;
    }
    let scheduler = scheduler(&config.scheduler, &format!("{path}.scheduler"))?;
    let queue_count = if scheduler == Scheduler::Fifo { ports } else { ports * 8 };
    let buffer = buffer(&config.buffer, queue_count, &format!("{path}.buffer"))?;
    Ok(SwitchConfig { buffer, queues, scheduler })
}

fn class_mut<'a, T>(classes: &'a mut [T; 8], class: u8, path: &str) -> Result<&'a mut T, Problem> {
    classes
        .get_mut(usize::from(class))
        .ok_or_else(|| Problem::new(path, format!("class {class}: 0 to 7 are allowed")))
}

fn buffer(buffer: &spec::Buffer, queues: u64, path: &str) -> Result<Buffer, Problem> {
    match buffer {
        spec::Buffer::Static { limit } => Ok(Buffer::Static(depth(*limit))),
        spec::Buffer::Shared { size, alpha, reserve, cell } => {
            if !(*alpha > 0.0 && alpha.is_finite()) {
                return Err(Problem::new(
                    format!("{path}.alpha"),
                    format!("{alpha}: a number above 0 is needed"),
                ));
            }
            if cell.get() == 0 {
                return Err(Problem::new(format!("{path}.cell"), "0B: at least 1B"));
            }
            let reserved = reserve.get().saturating_mul(queues);
            if reserved > size.get() || size.get() == 0 {
                let message =
                    format!("{reserve} for each of {queues} queues exceed the size of {size}: reserve less");
                return Err(Problem::new(format!("{path}.reserve"), message));
            }
            Ok(Buffer::Shared { size: *size, alpha: *alpha, reserve: *reserve, cell: *cell })
        }
    }
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
