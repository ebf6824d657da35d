//! What was found, for Python: itemsets and rules as columns, or as files. Rules are made each time that they
//! are asked for: there can be many more of them than of the itemsets that they are made of.

use super::parquet;
use ::mine::condense::condense;
use ::mine::items::{Item, Level};
use ::mine::progress::Pass;
use ::mine::rules::{Rule, rules};
use ::mine::table::{self, Rows};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Text is written in portions of so many bytes.
const PORTION: usize = 1 << 20;
/// After so many rules somebody may have pressed Ctrl-C.
const LOOK: u64 = 1 << 16;

/// Number, candidates, large itemsets, scans.
pub(super) type PassTuple = (usize, Option<u64>, u64, u64);

pub(super) fn pass(pass: &Pass) -> PassTuple {
    (pass.number, pass.candidates, pass.large, pass.scans)
}

/// Large itemsets, a level for each length, and what each pass did.
#[pyclass(frozen)]
pub(super) struct MineItemsets {
    transactions: u64,
    levels: Arc<Vec<Level>>,
    passes: Vec<Pass>,
}

impl MineItemsets {
    pub(super) fn new(transactions: u64, levels: Vec<Level>, passes: Vec<Pass>) -> Self {
        Self { transactions, levels: Arc::new(levels), passes }
    }
}

#[pymethods]
impl MineItemsets {
    /// Transactions among which they are large.
    fn transactions(&self) -> u64 {
        self.transactions
    }

    /// How many.
    fn len(&self) -> usize {
        self.levels.iter().map(Level::len).sum()
    }

    /// The passes: number, candidates, large itemsets, scans.
    fn passes(&self) -> Vec<PassTuple> {
        self.passes.iter().map(pass).collect()
    }

    /// By length, then by items: where each itemset ends (u64), their items (u32), their counts (u64).
    fn columns<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        let mut ends = Ends::default();
        let (mut items, mut counts) = (Vec::new(), Vec::new());
        for level in self.levels.iter() {
            items.extend(level.items().iter().flat_map(|item| item.to_le_bytes()));
            counts.extend(level.counts().iter().flat_map(|count| count.to_le_bytes()));
            (0..level.len()).for_each(|_| ends.push(level.length()));
        }
        [ends.bytes, items, counts].map(|bytes| PyBytes::new(py, &bytes))
    }

    /// Those that are `maximal` or `closed`.
    fn condensed(&self, py: Python<'_>, kind: &str) -> PyResult<Self> {
        let kind = super::kind(kind)?;
        let levels = py.detach(|| condense(&self.levels, kind));
        Ok(Self::new(self.transactions, levels, self.passes.clone()))
    }

    /// The rules of a minimum confidence. Of condensed itemsets none can be made: subsets are missing.
    fn rules(&self, confidence: f64) -> MineRules {
        let (transactions, levels) = (self.transactions, Arc::clone(&self.levels));
        MineRules { transactions, levels, confidence, count: OnceLock::new() }
    }

    /// As a Parquet file.
    fn parquet(&self, py: Python<'_>, place: PathBuf, names: Option<Vec<String>>) -> PyResult<()> {
        let mut table = parquet::itemsets(&place, self.transactions, names.as_deref())?;
        py.detach(|| self.each(|itemset, count| table.push((itemset, count))))?;
        Ok(table.finish()?)
    }

    /// As text with commas.
    fn csv(&self, py: Python<'_>, place: PathBuf, names: Option<Vec<String>>) -> PyResult<()> {
        let rows = Rows { transactions: self.transactions, names: names.as_deref() };
        let mut lines = Lines::create(&place, table::ITEMSETS)?;
        py.detach(|| self.each(|itemset, count| lines.push(|text| rows.large(itemset, count, text))))?;
        Ok(lines.finish()?)
    }
}

impl MineItemsets {
    /// Calls `take` with each itemset and its count, by length, then by items.
    fn each(&self, mut take: impl FnMut(&[Item], u64) -> io::Result<()>) -> io::Result<()> {
        self.levels.iter().flat_map(Level::iter).try_for_each(|(itemset, count)| take(itemset, count))
    }
}

/// Rules and their measures.
#[pyclass(frozen)]
pub(super) struct MineRules {
    transactions: u64,
    levels: Arc<Vec<Level>>,
    confidence: f64,
    /// How many they are, once they have been made.
    count: OnceLock<u64>,
}

/// Antecedent, consequent, support, confidence, lift.
type BestTuple = (Vec<Item>, Vec<Item>, f64, f64, f64);

#[pymethods]
impl MineRules {
    /// How many.
    fn len(&self, py: Python<'_>) -> PyResult<u64> {
        match self.count.get() {
            Some(count) => Ok(*count),
            None => self.each(py, |_| Ok(())),
        }
    }

    /// Antecedents and consequents, of each where they end (u64) and their items (u32); the twelve measures
    /// (f64).
    #[expect(clippy::type_complexity, reason = "columns of two kinds")]
    fn columns<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<([[Bound<'py, PyBytes>; 2]; 2], Vec<Bound<'py, PyBytes>>)> {
        let mut ends = [Ends::default(), Ends::default()];
        let mut items = [Vec::new(), Vec::new()];
        let mut measures: [Vec<u8>; table::MEASURES.len()] = Default::default();
        self.each(py, |rule| {
            for (side, itemset) in [&rule.antecedent, &rule.consequent].into_iter().enumerate() {
                items[side].extend(itemset.iter().flat_map(|item| item.to_le_bytes()));
                ends[side].push(itemset.len());
            }
            let values = table::columns(&rule.measures(self.transactions));
            for (column, value) in measures.iter_mut().zip(values) {
                column.extend_from_slice(&value.to_le_bytes());
            }
            Ok(())
        })?;
        let bytes = |column: &Vec<u8>| PyBytes::new(py, column);
        let side = |side: usize| [bytes(&ends[side].bytes), bytes(&items[side])];
        Ok(([side(0), side(1)], measures.iter().map(bytes).collect()))
    }

    /// The rules of the highest lift, the highest first; of equal ones the first.
    fn best(&self, py: Python<'_>, most: usize) -> PyResult<Vec<BestTuple>> {
        let mut best = BTreeMap::new();
        let mut number = 0u64;
        self.each(py, |rule| {
            let measures = rule.measures(self.transactions);
            // A lift is above zero, so its bits are in the order of the values.
            best.insert((std::cmp::Reverse(measures.lift.to_bits()), number), (rule, measures));
            number += 1;
            if best.len() > most {
                best.pop_last();
            }
            Ok(())
        })?;
        let row = |(rule, found): (Rule, ::mine::rules::Measures)| {
            (rule.antecedent, rule.consequent, found.support, found.confidence, found.lift)
        };
        Ok(best.into_values().map(row).collect())
    }

    /// As a Parquet file.
    fn parquet(&self, py: Python<'_>, place: PathBuf, names: Option<Vec<String>>) -> PyResult<()> {
        let mut table = parquet::rules(&place, self.transactions, names.as_deref())?;
        self.each(py, |rule| table.push(&rule))?;
        Ok(table.finish()?)
    }

    /// As text with commas.
    fn csv(&self, py: Python<'_>, place: PathBuf, names: Option<Vec<String>>) -> PyResult<()> {
        let rows = Rows { transactions: self.transactions, names: names.as_deref() };
        let mut lines = Lines::create(&place, &table::rules_head())?;
        self.each(py, |rule| lines.push(|text| rows.rule(&rule, text)))?;
        Ok(lines.finish()?)
    }
}

impl MineRules {
    /// Calls `take` with each rule; how many they were.
    fn each(&self, py: Python<'_>, mut take: impl FnMut(Rule) -> io::Result<()> + Send) -> PyResult<u64> {
        let mut count = 0;
        py.detach(|| {
            rules(&self.levels, self.confidence, |rule| {
                count += 1;
                if count % LOOK == 0 {
                    Python::attach(|py| py.check_signals())?;
                }
                take(rule).map_err(PyErr::from)
            })
        })?;
        Ok(*self.count.get_or_init(|| count))
    }
}

/// A file of text.
struct Lines {
    file: File,
    waiting: Vec<u8>,
}

impl Lines {
    fn create(place: &Path, head: &str) -> io::Result<Self> {
        Ok(Self { file: File::create(place)?, waiting: head.as_bytes().to_vec() })
    }

    /// Appends what `line` writes.
    fn push(&mut self, line: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        line(&mut self.waiting);
        if self.waiting.len() < PORTION {
            return Ok(());
        }
        self.file.write_all(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.file.write_all(&self.waiting)
    }
}

/// Where itemsets end in their items.
#[derive(Default)]
struct Ends {
    last: u64,
    bytes: Vec<u8>,
}

impl Ends {
    fn push(&mut self, length: usize) {
        self.last += length as u64;
        self.bytes.extend_from_slice(&self.last.to_le_bytes());
    }
}
