//! A node of the miner as a member of a live run: it has its part of the transactions, and keeps what
//! finished passes found in a journal.

use super::journal::OnDisk;
use crate::live::{LiveMember, read};
use crate::scenario::json;
use crate::{hold, invalid};
use ::mine::node::{Algorithm, Board, Costs, Derived, Exchange, Node, NodeSetup, Settings};
use ::mine::single::FOUND_MIN;
use ::mine::transactions::Transactions;
use ::mine::work::Real;
use process::{Addr, HostId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The port of the job, by its own number.
const PORT: u16 = 1;
/// Bytes of a message: large enough that headers cost nothing, small enough that others get their turn.
const BLOCK: usize = 64 << 10;

/// A node holds large itemsets up to so many times: of their memory each time has a part.
const HELD: usize = 4;

/// What a node is told.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    node: usize,
    job: u64,
    algorithm: Algorithm,
    exchange: Exchange,
    minimum: u64,
    longest: Option<usize>,
    /// Of each node.
    transactions: Vec<u64>,
    memory: u64,
    duplicated: u32,
}

/// A node, ready to run once.
#[pyclass(frozen)]
pub(super) struct MineNode {
    settings: Arc<Settings>,
    me: usize,
    given: Mutex<Transactions>,
    board: Board,
}

#[pymethods]
impl MineNode {
    /// From what it is told.
    #[new]
    fn new(told: &str) -> PyResult<MineNode> {
        let told: Told = read(told)?;
        let settings = Settings {
            algorithm: told.algorithm,
            exchange: told.exchange,
            longest: told.longest,
            memory: told.memory,
            duplicated: told.duplicated,
            block: BLOCK,
            derived: Derived {
                job: told.job,
                minimum: told.minimum,
                transactions: told.transactions,
                found: Some((told.memory as usize).max(FOUND_MIN) / HELD),
            },
            ..Settings::new(told.minimum, Vec::new())
        };
        settings.check().map_err(invalid)?;
        if told.node >= settings.nodes() {
            return Err(PyValueError::new_err("there is no such node"));
        }
        let (me, settings) = (told.node, Arc::new(settings));
        Ok(MineNode { settings, me, given: Mutex::default(), board: Board::default() })
    }

    /// Takes its transactions from a file, as they were shared out.
    fn load(&self, py: Python<'_>, place: PathBuf) -> PyResult<()> {
        let transactions =
            py.detach(|| File::open(place).and_then(|file| transactions(BufReader::new(file))))?;
        *hold(&self.given) = transactions;
        Ok(())
    }

    /// Mines until told to stop, with its journal at a place; returns the member's report.
    fn run(
        &self,
        py: Python<'_>,
        member: &LiveMember,
        begin: &str,
        progress: Py<PyAny>,
        journal: PathBuf,
    ) -> PyResult<String> {
        let transactions = std::mem::take(&mut *hold(&self.given));
        if transactions.len() != self.settings.derived.transactions[self.me] {
            return Err(PyValueError::new_err("these are not as many transactions as the others believe"));
        }
        let address = |host: usize| Addr { host: HostId(host as u32), port: PORT };
        let setup = NodeSetup {
            settings: Arc::clone(&self.settings),
            costs: Costs::default(),
            nodes: (0..self.settings.nodes()).map(address).collect(),
            me: self.me,
            journal: Box::new(OnDisk::at(journal)),
            board: self.board.clone(),
        };
        let work = Real::new(Arc::clone(&self.settings), self.me, Arc::new(transactions), false);
        let node = Node::real(setup, work).map_err(invalid)?;
        member.run_process(py, begin, (format!("node{}", self.me), 0), ("mine", Box::new(node)), &progress)
    }

    /// How far it is, as JSON.
    fn progress(&self) -> PyResult<String> {
        json(&self.board.progress())
    }
}

/// Transactions as they were shared out: words, the number of items before those of each.
fn transactions(mut file: impl Read) -> io::Result<Transactions> {
    let torn = || io::Error::new(ErrorKind::InvalidData, "the file of transactions is damaged");
    let mut found = Transactions::default();
    let (mut bytes, mut items) = (Vec::new(), Vec::new());
    let mut head = [0; 4];
    loop {
        match file.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(found),
            read => read?,
        }
        let wanted = u64::from(u32::from_le_bytes(head)) * 4;
        bytes.clear();
        if file.by_ref().take(wanted).read_to_end(&mut bytes)? as u64 != wanted {
            return Err(torn());
        }
        items.clear();
        items.extend(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
        if !items.is_sorted_by(|a, b| a < b) {
            return Err(torn());
        }
        found.push(&items);
    }
}
