//! A node of the miner as a member of a live run: it has its part of the transactions, and keeps what finished passes
//! found in a journal.

use super::found::{MineItemsets, PassTuple};
use crate::live::{LiveMember, read};
use crate::scenario::json;
use ::mine::items::Level;
use ::mine::local::Pass;
use ::mine::node::{Algorithm, Board, Costs, Exchange, Journal, Node, NodeSetup, Settings};
use ::mine::transactions::Transactions;
use ::mine::work::Real;
use process::{Addr, HostId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use units::Time;

/// The port of the job, by its own number.
const PORT: u16 = 1;
/// Bytes of a message: large enough that headers cost nothing, small enough that others get their turn.
const BLOCK: usize = 64 << 10;

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
            job: told.job,
            algorithm: told.algorithm,
            exchange: told.exchange,
            longest: told.longest,
            memory: told.memory,
            duplicated: told.duplicated,
            block: BLOCK,
            ..Settings::new(told.minimum, told.transactions)
        };
        settings.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
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
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = transactions;
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
        let transactions = std::mem::take(&mut *self.given.lock().unwrap_or_else(PoisonError::into_inner));
        if transactions.len() != self.settings.transactions[self.me] {
            return Err(PyValueError::new_err("these are not as many transactions as the others believe"));
        }
        let address = |host: usize| Addr { host: HostId(host as u32), port: PORT };
        let setup = NodeSetup {
            settings: Arc::clone(&self.settings),
            costs: Costs::default(),
            nodes: (0..self.settings.nodes()).map(address).collect(),
            me: self.me,
            journal: Box::new(OnDisk { place: journal }),
            board: self.board.clone(),
        };
        let work = Real::new(Arc::clone(&self.settings), self.me, Arc::new(transactions), false);
        let node = Node::real(setup, work).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (name, start) = (format!("node{}", self.me), Time::ZERO);
        let job =
            ::live::Job { index: 0, name: "mine".into(), start, background: false, process: Box::new(node) };
        member.run_jobs(py, begin, (name, 0), vec![job], &progress)
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

/// Levels in a file, one behind the other: lengths, items, counts, and a checksum against what is torn.
struct OnDisk {
    place: PathBuf,
}

impl Journal for OnDisk {
    fn load(&mut self) -> Vec<Level> {
        let bytes = fs::read(&self.place).unwrap_or_default();
        let (levels, sound) = levels(&bytes);
        if sound < bytes.len()
            && let Ok(file) = OpenOptions::new().write(true).open(&self.place)
        {
            // What is torn is found again; a file that can't be cut is as one that can't be read.
            let _ = file.set_len(sound as u64);
        }
        levels
    }

    fn append(&mut self, level: &Level) {
        // Without a journal a crash costs more, and nothing else.
        let _ = append(&self.place, level);
    }
}

fn append(place: &Path, level: &Level) -> io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(place)?;
    let mut record = Vec::new();
    record.extend((level.length() as u64).to_le_bytes());
    record.extend((level.len() as u64).to_le_bytes());
    level.items().iter().for_each(|item| record.extend(item.to_le_bytes()));
    level.counts().iter().for_each(|count| record.extend(count.to_le_bytes()));
    record.extend(sum(&record).to_le_bytes());
    file.write_all(&record)
}

/// Against damage, not against people: FNV-1a.
fn sum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The levels of a journal, and how many bytes of it are sound.
fn levels(bytes: &[u8]) -> (Vec<Level>, usize) {
    let (mut found, mut rest) = (Vec::new(), bytes);
    while let Some((level, behind)) = level(rest, found.len() + 1) {
        found.push(level);
        rest = behind;
    }
    (found, bytes.len() - rest.len())
}

fn level(bytes: &[u8], pass: usize) -> Option<(Level, &[u8])> {
    let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let (length, count) = (word(0)?, word(8)?);
    if length != pass {
        return None;
    }
    let items = count.checked_mul(length)?.checked_mul(4)?;
    let end = count.checked_mul(8)?.checked_add(items)?.checked_add(16)?;
    let (record, rest) = bytes.split_at_checked(end)?;
    let (checksum, rest) = rest.split_first_chunk::<8>()?;
    if u64::from_le_bytes(*checksum) != sum(record) {
        return None;
    }
    let (items, counts) = record[16..].split_at(items);
    let items: Vec<u32> = items.as_chunks::<4>().0.iter().map(|item| u32::from_le_bytes(*item)).collect();
    let counts = counts.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
    let mut level = Level::new(length);
    items.chunks_exact(length).zip(counts).for_each(|(itemset, count)| level.push(itemset, count));
    Some((level, rest))
}

/// What a journal has of so many transactions, with what passes did (number, candidates, large itemsets, scans), and of how
/// many passes.
#[pyfunction]
pub(super) fn mine_journal(
    journal: &[u8],
    transactions: u64,
    passes: Vec<PassTuple>,
) -> (MineItemsets, usize) {
    let (found, _) = levels(journal);
    let count = found.len();
    let found = found.into_iter().filter(|level| !level.is_empty()).collect();
    let pass = |(number, candidates, large, scans): PassTuple| Pass { number, candidates, large, scans };
    (MineItemsets::new(transactions, found, passes.into_iter().map(pass).collect()), count)
}
