//! Mining on one node: transactions from text or arrays, large itemsets, rules; Quest's transactions. Arrays
//! come as buffers and go as bytes.

mod file;
mod found;
mod journal;
mod node;
mod parquet;

use crate::{hold, invalid};
use ::mine::begun::Begun;
use ::mine::condense::Kind;
use ::mine::progress::Progress;
use ::mine::quest::{Generator, Quest};
use ::mine::read::Reader;
use ::mine::shelf::Room;
use ::mine::single::{Settings, Unfinished, go_on};
use ::mine::support::Support;
use ::mine::table::MEASURES;
use ::mine::transactions::Transactions;
use file::Overflow;
use found::{MineItemsets, MineRules};
use pyo3::buffer::PyBuffer;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

create_exception!(_core, MineTextError, PyValueError, "A line that is no transaction: its number, message.");
create_exception!(
    _core,
    MineFullError,
    PyException,
    "Large itemsets that do not fit: their items, how many did."
);
create_exception!(
    _core,
    MineOverflowError,
    PyException,
    "Transactions that exceed the memory have no place."
);
create_exception!(_core, QuestFieldError, PyValueError, "A field that can't be: its name, what is allowed.");

/// Adds the classes and functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MineTextError", module.py().get_type::<MineTextError>())?;
    module.add("MineFullError", module.py().get_type::<MineFullError>())?;
    module.add("MineOverflowError", module.py().get_type::<MineOverflowError>())?;
    module.add("QuestFieldError", module.py().get_type::<QuestFieldError>())?;
    module.add("MINE_MEASURES", PyTuple::new(module.py(), MEASURES)?)?;
    module.add_class::<MineTransactions>()?;
    module.add_class::<MineProgress>()?;
    module.add_class::<MineItemsets>()?;
    module.add_class::<MineRules>()?;
    module.add_class::<QuestGenerator>()?;
    module.add_class::<node::MineNode>()?;
    module.add_function(wrap_pyfunction!(journal::mine_journal, module)?)?;
    module.add_function(wrap_pyfunction!(journal::mine_journal_passes, module)?)?;
    module.add_function(wrap_pyfunction!(mine_minimum, module)?)
}

/// The least count of a large itemset: of a minimum support as a share, among so many transactions.
#[pyfunction]
fn mine_minimum(share: f64, transactions: u64) -> PyResult<u64> {
    Support::Share(share).minimum(transactions).map_err(invalid)
}

/// Transactions as they come: in memory, and in a temporary file what half of `memory` does not hold.
#[pyclass]
struct MineTransactions {
    kept: Transactions,
    reader: Reader,
    overflow: Arc<Overflow>,
}

fn text_error(error: ::mine::read::ReadError) -> PyErr {
    MineTextError::new_err((error.line, error.problem.to_string()))
}

#[pymethods]
impl MineTransactions {
    /// None yet; the file is in `folder`, or where the system has such files.
    #[new]
    fn new(memory: usize, folder: Option<PathBuf>) -> PyResult<Self> {
        let overflow = Arc::new(Overflow::new(&folder.unwrap_or_else(std::env::temp_dir))?);
        let room = Room { bytes: memory / 2, shelf: overflow.clone() };
        Ok(Self { kept: Transactions::within(Some(room)), reader: Reader::default(), overflow })
    }

    /// The next piece of a text.
    fn feed(&mut self, py: Python<'_>, text: &[u8]) -> PyResult<()> {
        py.detach(|| self.reader.feed(text, &mut self.kept)).map_err(text_error)?;
        self.overflow.check()
    }

    /// The text has ended.
    fn finish(&mut self) -> PyResult<()> {
        std::mem::take(&mut self.reader).finish(&mut self.kept).map_err(text_error)?;
        self.overflow.check()
    }

    /// Rows of items, in any order: row i has the items from `ends[i − 1]` to `ends[i]`.
    fn rows(&mut self, py: Python<'_>, ends: PyBuffer<u64>, items: PyBuffer<u32>) -> PyResult<()> {
        let (ends, mut items) = (ends.to_vec(py)?, items.to_vec(py)?);
        if !ends.is_sorted() || ends.last().is_some_and(|end| *end > items.len() as u64) {
            return Err(PyValueError::new_err("ends of rows ascend and are within the items"));
        }
        py.detach(|| {
            let mut scratch = Vec::new();
            let mut start = 0;
            for end in ends {
                let row = &mut items[start..end as usize];
                start = end as usize;
                row.sort_unstable();
                scratch.clear();
                scratch.extend_from_slice(row);
                scratch.dedup();
                self.kept.push(&scratch);
            }
        });
        self.overflow.check()
    }

    /// How many.
    fn transactions(&self) -> u64 {
        self.kept.len()
    }

    /// Items of all of them.
    fn items(&self) -> u64 {
        self.kept.items()
    }

    /// Writes the part of a node of several in pieces: words, the number of items before those of each
    /// transaction; says how many transactions it has.
    fn share(&self, node: u64, nodes: u64, write: &Bound<'_, PyAny>) -> PyResult<u64> {
        let until = |node: u64| (u128::from(self.kept.len()) * u128::from(node) / u128::from(nodes)) as u64;
        let (from, to) = (until(node), until(node + 1));
        let (mut at, mut text, mut scratch) = (0, Vec::new(), Vec::new());
        for block in self.kept.blocks() {
            let end = at + block.len() as u64;
            if at < to && end > from {
                let mut number = at;
                block.each(&mut scratch, |items| {
                    if (from..to).contains(&number) {
                        let words = std::iter::once(items.len() as u32).chain(items.iter().copied());
                        words.for_each(|word| text.extend_from_slice(&word.to_le_bytes()));
                    }
                    number += 1;
                });
                write.call1((PyBytes::new(write.py(), &text),))?;
                text.clear();
            }
            at = end;
        }
        self.overflow.check()?;
        Ok(to - from)
    }

    /// A number that other transactions don't have.
    fn digest(&self) -> PyResult<u64> {
        let digest = self.kept.digest();
        self.overflow.check()?;
        Ok(digest)
    }

    /// Their large itemsets, behind the passes in the file `begun`, which a run left that was stopped, if it
    /// is there; nothing when `progress` was asked to stop. The transactions are gone afterwards.
    /// `MineFullError` when large itemsets exceed `memory`.
    #[expect(clippy::too_many_arguments, reason = "they are settings, and two ends of the same thread")]
    fn mine(
        &mut self,
        py: Python<'_>,
        minimum: u64,
        longest: Option<usize>,
        memory: usize,
        threads: usize,
        progress: &MineProgress,
        begun: Option<PathBuf>,
    ) -> PyResult<Option<MineItemsets>> {
        let kept = std::mem::take(&mut self.kept);
        let transactions = kept.len();
        let settings = Settings { minimum, longest, memory, threads };
        // Passes that can't be read are found again.
        let begun = begun.and_then(|place| journal::kept(&place));
        let watched = &progress.progress;
        let found = py.detach(|| go_on(kept, &settings, watched, begun));
        self.overflow.check()?;
        match found {
            Ok((levels, passes)) => Ok(Some(MineItemsets::new(transactions, levels, passes))),
            Err(Unfinished { begun, full }) => {
                *hold(&progress.finished) = begun;
                full.map_or(Ok(None), |full| Err(MineFullError::new_err((full.length, full.before))))
            }
        }
    }
}

/// How far mining is; another thread than the one that mines may ask.
#[pyclass(frozen)]
#[derive(Default)]
struct MineProgress {
    progress: Progress,
    /// What was finished when it was stopped.
    finished: Mutex<Option<Begun>>,
}

#[pymethods]
impl MineProgress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Asks it to end without a result.
    fn stop(&self) {
        self.progress.stop();
    }

    /// Transactions that the pass has looked at, and that it will have.
    fn of_pass(&self) -> (u64, u64) {
        self.progress.of_pass()
    }

    /// The passes that are finished: number, candidates, large itemsets, scans.
    fn passes(&self) -> Vec<found::PassTuple> {
        self.progress.passes().iter().map(found::pass).collect()
    }

    /// When more may follow than fits into memory: the last finished pass, its large itemsets, longer ones at
    /// most.
    fn outlook(&self) -> Option<(usize, u64, f64)> {
        self.progress.outlook().map(|outlook| (outlook.pass, outlook.large, outlook.most))
    }

    /// Whether passes were finished, when it was stopped, that a run can go on from.
    fn is_begun(&self) -> bool {
        hold(&self.finished).is_some()
    }

    /// Writes them to a file.
    fn keep(&self, py: Python<'_>, place: PathBuf) -> PyResult<()> {
        let write = || {
            let finished = hold(&self.finished);
            finished.as_ref().map_or(Ok(()), |begun| journal::keep(begun, &place))
        };
        Ok(py.detach(write)?)
    }
}

/// Makes Quest's transactions.
#[pyclass(frozen)]
struct QuestGenerator(Generator);

#[pymethods]
impl QuestGenerator {
    /// Letters of the paper: D, T, I, L, N, and the three parameters of patterns.
    #[new]
    #[pyo3(signature = (transactions, length, pattern, patterns, items, correlation, confidence, deviation, seed))]
    #[expect(clippy::too_many_arguments, reason = "the generator has so many parameters")]
    fn new(
        py: Python<'_>,
        transactions: u64,
        length: f64,
        pattern: f64,
        patterns: u32,
        items: u32,
        correlation: f64,
        confidence: f64,
        deviation: f64,
        seed: u64,
    ) -> PyResult<Self> {
        let quest = Quest {
            count: transactions,
            length,
            pattern,
            patterns,
            items,
            correlation,
            confidence,
            deviation,
        };
        let made = py.detach(|| Generator::new(quest, seed));
        made.map(Self).map_err(|error| QuestFieldError::new_err((error.path.to_string(), error.message)))
    }

    /// Blocks of transactions, each of which may be made by itself.
    fn blocks(&self) -> u64 {
        self.0.blocks()
    }

    /// A block as text: a transaction a line.
    fn text<'py>(&self, py: Python<'py>, block: u64) -> Bound<'py, PyBytes> {
        let text = py.detach(|| {
            let mut text = Vec::new();
            self.0.text(block, &mut text);
            text
        });
        PyBytes::new(py, &text)
    }
}

/// `maximal` or `closed`.
fn kind(text: &str) -> PyResult<Kind> {
    match text {
        "maximal" => Ok(Kind::Maximal),
        "closed" => Ok(Kind::Closed),
        _ => Err(PyValueError::new_err("maximal or closed is allowed")),
    }
}
