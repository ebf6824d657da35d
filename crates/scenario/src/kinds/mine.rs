//! Association rules from transactions that are spread over nodes: the nodes of [`mine`], with real
//! transactions or with those of a profile, and the table `passes`.

use super::kind::{Cast, Kind, Out, Place, Processes, Shown, read};
use ::mine::node::{Board, Costs, Derived, InMemory, Node, NodeSetup, PassReport, Settings};
use ::mine::quest::{Generator, Quest};
use ::mine::support::Support;
use ::mine::transactions::Transactions;
use ::mine::work::{Modelled, Profile, Real};
use process::{Addr, HostId, Hosts, Process, distinct};
use record::Error;
use record::rows::MinePass;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{Problem, Time};

/// Mining.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mine {
    /// The nodes, in order.
    pub nodes: Vec<String>,
    /// The transactions, or what is known of them.
    pub transactions: MineTransactions,
    /// From when on an itemset is large.
    pub support: Support,
    /// How nodes share the work.
    #[serde(flatten)]
    pub settings: Settings,
    /// How long things take.
    pub costs: Costs,
}

/// Transactions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MineTransactions {
    /// Made up from the seed, as Quest does.
    Quest(Quest),
    /// These; items of each ascend.
    List {
        /// Items of all, one transaction after the other.
        items: Vec<u32>,
        /// Where each ends.
        ends: Vec<u32>,
    },
    /// None: only amounts are known.
    Profile {
        /// Transactions.
        count: u64,
        /// What is known of them.
        #[serde(flatten)]
        profile: Profile,
    },
}

/// Transactions in memory, at most: more are modelled with a profile.
const TRANSACTIONS_MAX: u64 = 20_000_000;

/// What nodes work on.
enum Data {
    Real(Vec<Arc<Transactions>>),
    Modelled(Arc<Profile>, u64),
}

impl Kind for Mine {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let Place { index, port, seed, .. } = *place;
        let hosts = place.names.all(&self.nodes, "nodes")?;
        distinct("nodes", &hosts)?;
        if hosts.is_empty() {
            return Err(Problem::new("nodes", "no host: at least one is needed"));
        }
        let data = data(self, hosts.len(), seed).map_err(|error| error.within("transactions"))?;
        let settings =
            settings(self, index, &data, hosts.len()).map_err(|message| Problem::new("support", message))?;
        settings.check()?;
        let settings = Arc::new(settings);
        let costs = costs(self)?;
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
            let node = match &data {
                Data::Real(shares) => {
                    Node::real(setup, Real::new(Arc::clone(&settings), me, Arc::clone(&shares[me]), true))
                }
                Data::Modelled(profile, _) => {
                    let io = self.costs.io.get();
                    let work = Modelled::new(Arc::clone(&settings), Arc::clone(profile), me, seed, io);
                    Node::modelled(setup, work)
                }
            };
            Ok((*host, Box::new(node?) as Box<dyn Process>))
        };
        let processes: Result<Processes, Problem> =
            boards.iter().enumerate().filter(|(_, (host, _))| place.needs(*host)).map(node).collect();
        Ok(Cast { processes: processes?, shown: Box::new(Boards(boards)) })
    }
}

fn settings(spec: &Mine, index: usize, data: &Data, nodes: usize) -> Result<Settings, String> {
    let transactions: Vec<u64> = match data {
        Data::Real(shares) => shares.iter().map(|share| share.len()).collect(),
        Data::Modelled(_, count) => {
            (0..nodes as u64).map(|node| part(*count, node + 1, nodes) - part(*count, node, nodes)).collect()
        }
    };
    let minimum = spec.support.minimum(transactions.iter().sum()).map_err(|error| error.to_string())?;
    let derived = Derived { job: index as u64, minimum, transactions, found: None };
    Ok(Settings { derived, ..spec.settings.clone() })
}

/// How many of `count` belong to the nodes before `node`.
fn part(count: u64, node: u64, nodes: usize) -> u64 {
    (u128::from(count) * u128::from(node) / nodes as u128) as u64
}

fn costs(spec: &Mine) -> Result<Costs, Problem> {
    let costs = &spec.costs;
    if costs.variation_ppm >= 1_000_000 {
        return Err(Problem::new(["costs", "variation"], "0 to 1, 1 excluded"));
    }
    if costs.io.get() == 0 {
        return Err(Problem::new(["costs", "io"], "0 B: at least 1 B is read at a time"));
    }
    Ok(*costs)
}

fn data(spec: &Mine, nodes: usize, seed: u64) -> Result<Data, Problem> {
    let wrong = |field: &'static str, message: String| Err(Problem::new(field, message));
    match &spec.transactions {
        MineTransactions::Quest(quest) => {
            if quest.count > TRANSACTIONS_MAX {
                let count = quest.count;
                return wrong("count", format!("{count}: at most {TRANSACTIONS_MAX}; more with a profile"));
            }
            let generator = Generator::new(*quest, seed)?;
            let mut shares = Shares::new(quest.count, nodes);
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
        MineTransactions::Profile { count, profile } => {
            profile.check()?;
            Ok(Data::Modelled(Arc::new(profile.clone()), *count))
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

    fn done(self) -> Data {
        Data::Real(self.shares.into_iter().map(Arc::new).collect())
    }
}

/// What the nodes of a job show of themselves.
struct Boards(Vec<(HostId, Board)>);

impl Shown for Boards {
    fn totals(&mut self, out: &mut Out<'_>) -> Result<bool, Error> {
        self.0.iter().try_for_each(|(host, board)| passes(out, *host, &board.progress().passes))?;
        Ok(true)
    }

    fn report(&self, host: HostId) -> Value {
        let own = self.0.iter().find(|(at, _)| *at == host);
        own.map_or(Value::Null, |(_, board)| json!(board.progress().passes))
    }

    fn reported(&self, reports: &[(HostId, Value)], out: &mut Out<'_>) -> Result<bool, crate::error::Error> {
        for (host, report) in reports {
            passes(out, *host, &read::<Vec<PassReport>>(report)?)?;
        }
        Ok(true)
    }
}

/// Writes the passes of a node: of one that was begun again, the last time.
fn passes(out: &mut Out<'_>, host: HostId, passes: &[PassReport]) -> Result<(), Error> {
    let last: BTreeMap<u32, &PassReport> = passes.iter().map(|pass| (pass.pass, pass)).collect();
    last.into_values().try_for_each(|pass| {
        out.tables.passes.push(MinePass {
            job: out.job,
            host: out.host(host),
            pass: pass.pass.into(),
            candidates: pass.candidates,
            large: pass.large,
            scans: pass.scans,
            sent_bytes: pass.sent_bytes,
            received_bytes: pass.received_bytes,
            sent_entries: pass.sent_entries,
            begin_ps: pass.begin.as_ps(),
            end_ps: (pass.end > Time::ZERO).then(|| pass.end.as_ps()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flattened settings do not let unknown fields through.
    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        let text = r#"{
            "nodes": [], "support": {"count": 1}, "longest": 3, "algorithm": "npa", "exchange": "plain", "memory": 4096,
            "duplicated": 0, "block": 512, "padded": false, "order": "same",
            "transactions": {"kind": "profile", "count": 9, "items": 4, "passes": []},
            "costs": {
                "transaction": 0, "item": 0, "generate": 0, "probe": 0, "disk": true, "io": 1, "variation_ppm": 0
            }
        }"#;
        let mine: Mine = serde_json::from_str(text).unwrap();
        assert_eq!((mine.settings.block, mine.settings.longest), (512, Some(3)));
        assert_eq!(serde_json::to_value(&mine).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        for (old, new) in
            [(r#""block""#, r#""derived": {}, "block""#), (r#""items""#, r#""more": 1, "items""#)]
        {
            let error = serde_json::from_str::<Mine>(&text.replace(old, new)).unwrap_err().to_string();
            assert!(error.contains("unknown field"), "{error}");
        }
    }
}
