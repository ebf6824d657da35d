//! Mining jobs of a scenario as nodes of [`mine`], with real transactions or with those of a profile.

use super::jobs::Look;
use crate::problem::Problem;
use crate::spec::{Mine, MineSupport, MineTransactions};
use ::mine::node::{Board, Costs, InMemory, Node, NodeSetup, Settings};
use ::mine::quest::{Generator, Quest};
use ::mine::support::Support;
use ::mine::transactions::Transactions;
use ::mine::work::{Modelled, Profile, Real};
use process::{Addr, HostId, Process};
use std::sync::Arc;

type Processes = Vec<(HostId, Box<dyn Process>)>;

/// What the nodes of a job show of themselves.
pub(crate) struct Shown {
    /// Number of the job.
    pub job: usize,
    pub nodes: Vec<(HostId, Board)>,
}

/// Transactions in memory, at most: more are modelled with a profile.
const TRANSACTIONS_MAX: u64 = 20_000_000;

/// What nodes work on.
enum Source {
    Real(Vec<Arc<Transactions>>),
    Modelled(Arc<Profile>, u64),
}

/// The nodes of a job, by number and name of the run's seed.
pub(super) fn processes(
    spec: &Mine,
    look: &Look<'_>,
    (index, port): (usize, u16),
    seed: u64,
) -> Result<(Processes, Shown), Problem> {
    let problem = |field: &str, message: String| Problem::new(format!("{}.{field}", look.path), message);
    let hosts = look.hosts(&spec.nodes, "nodes")?;
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(problem(
            "nodes",
            format!("host number {} stands there twice: one node a host", pair[0].0),
        ));
    }
    if hosts.is_empty() {
        return Err(problem("nodes", "no host: at least one is needed".into()));
    }
    let source = source(spec, hosts.len(), seed).map_err(|(field, message)| problem(&field, message))?;
    let settings =
        settings(spec, index, &source, hosts.len()).map_err(|message| problem("support", message))?;
    settings.check().map_err(|error| problem(error.field, error.message))?;
    let settings = Arc::new(settings);
    let costs = costs(spec).map_err(|(field, message)| problem(field, message))?;
    let nodes: Vec<Addr> = hosts.iter().map(|host| Addr { host: *host, port }).collect();
    let boards: Vec<(HostId, Board)> = hosts.iter().map(|host| (*host, Board::default())).collect();
    let node = |(me, (host, board)): (usize, &(HostId, Board))| {
        let setup = NodeSetup {
            settings: Arc::clone(&settings),
            costs,
            nodes: nodes.clone(),
            me,
            journal: Box::new(InMemory::default()),
            board: board.clone(),
        };
        let node = match &source {
            Source::Real(shares) => {
                Node::real(setup, Real::new(Arc::clone(&settings), me, Arc::clone(&shares[me]), true))
            }
            Source::Modelled(profile, _) => {
                let io = spec.costs.io.get();
                let work = Modelled::new(Arc::clone(&settings), Arc::clone(profile), me, seed, io);
                Node::modelled(setup, work)
            }
        };
        let node = node.map_err(|error| problem(error.field, error.message))?;
        Ok((*host, Box::new(node) as Box<dyn Process>))
    };
    let processes: Result<Processes, Problem> = boards.iter().enumerate().map(node).collect();
    Ok((processes?, Shown { job: index, nodes: boards }))
}

fn settings(spec: &Mine, index: usize, source: &Source, nodes: usize) -> Result<Settings, String> {
    let transactions: Vec<u64> = match source {
        Source::Real(shares) => shares.iter().map(|share| share.len()).collect(),
        Source::Modelled(_, count) => {
            (0..nodes as u64).map(|node| part(*count, node + 1, nodes) - part(*count, node, nodes)).collect()
        }
    };
    let support = match spec.support {
        MineSupport::Share(share) => Support::Share(share),
        MineSupport::Count(count) => Support::Count(count),
    };
    let minimum = support.minimum(transactions.iter().sum()).map_err(|error| error.to_string())?;
    Ok(Settings {
        job: index as u64,
        algorithm: spec.algorithm,
        exchange: spec.exchange,
        longest: spec.longest.map(|longest| longest as usize),
        memory: spec.memory.get(),
        duplicated: spec.duplicated,
        block: usize::try_from(spec.block.get()).unwrap_or(usize::MAX),
        padded: spec.padded,
        order: spec.order,
        ..Settings::new(minimum, transactions)
    })
}

/// How many of `count` belong to the nodes before `node`.
fn part(count: u64, node: u64, nodes: usize) -> u64 {
    (u128::from(count) * u128::from(node) / nodes as u128) as u64
}

fn costs(spec: &Mine) -> Result<Costs, (&'static str, String)> {
    let costs = &spec.costs;
    if costs.variation_ppm >= 1_000_000 {
        return Err(("costs.variation", "0 to 1, 1 excluded".into()));
    }
    if costs.io.get() == 0 {
        return Err(("costs.io", "0 B: at least 1 B is read at a time".into()));
    }
    Ok(Costs {
        transaction: costs.transaction,
        item: costs.item,
        generate: costs.generate,
        probe: costs.probe,
        disk: costs.disk,
        variation_ppm: costs.variation_ppm,
    })
}

fn source(spec: &Mine, nodes: usize, seed: u64) -> Result<Source, (String, String)> {
    let wrong = |field: &str, message: String| Err((format!("transactions.{field}"), message));
    match &spec.transactions {
        MineTransactions::Quest {
            count,
            length,
            pattern,
            patterns,
            items,
            correlation,
            confidence,
            deviation,
        } => {
            if *count > TRANSACTIONS_MAX {
                return wrong("count", format!("{count}: at most {TRANSACTIONS_MAX}; more with a profile"));
            }
            let quest = Quest {
                transactions: *count,
                length: *length,
                pattern: *pattern,
                patterns: *patterns,
                items: *items,
                correlation: *correlation,
                confidence: *confidence,
                deviation: *deviation,
            };
            let generator = Generator::new(quest, seed).map_err(|error| {
                let field = if error.field == "transactions" { "count" } else { error.field };
                (format!("transactions.{field}"), format!("{} is allowed", error.allowed))
            })?;
            let mut shares = Shares::new(*count, nodes);
            (0..generator.blocks()).for_each(|block| generator.block(block, |items| shares.push(items)));
            Ok(shares.done())
        }
        MineTransactions::List { items, ends } => {
            let mut shares = Shares::new(ends.len() as u64, nodes);
            let mut start = 0;
            for end in ends {
                let transaction = items.get(start..*end as usize);
                match transaction.filter(|transaction| transaction.is_sorted_by(|a, b| a < b)) {
                    Some(transaction) => shares.push(transaction),
                    None => return wrong("items", "items of a transaction ascend".into()),
                }
                start = *end as usize;
            }
            Ok(shares.done())
        }
        MineTransactions::Profile { count, items, passes } => {
            let profile = Profile { items: *items, passes: passes.clone() };
            profile.check().map_err(|error| (format!("transactions.{}", error.field), error.message))?;
            Ok(Source::Modelled(Arc::new(profile), *count))
        }
    }
}

/// Transactions on their way to the nodes: each has as many as the others, in the order in which they come.
struct Shares {
    shares: Vec<Transactions>,
    count: u64,
    at: u64,
    node: usize,
}

impl Shares {
    fn new(count: u64, nodes: usize) -> Shares {
        Shares { shares: vec![Transactions::default(); nodes], count, at: 0, node: 0 }
    }

    fn push(&mut self, transaction: &[u32]) {
        while self.at >= part(self.count, self.node as u64 + 1, self.shares.len()) {
            self.node += 1;
        }
        self.shares[self.node].push(transaction);
        self.at += 1;
    }

    fn done(self) -> Source {
        Source::Real(self.shares.into_iter().map(Arc::new).collect())
    }
}
