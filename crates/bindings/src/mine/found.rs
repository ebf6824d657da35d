//! What was found, for Python: itemsets and rules as columns, or as text.

use super::parquet;
use ::mine::condense::condense;
use ::mine::items::{Item, Level};
use ::mine::progress::Pass;
use ::mine::rules::{Rule, rules};
use ::mine::table::{self, Rows};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// Number, candidates, large itemsets, scans.
pub(super) type PassTuple = (usize, Option<u64>, u64, u64);

pub(super) fn pass(pass: &Pass) -> PassTuple {
    (pass.number, pass.candidates, pass.large, pass.scans)
}

/// Large itemsets, a level for each length, and what each pass did.
#[pyclass(frozen)]
pub(super) struct MineItemsets {
    transactions: u64,
    levels: Vec<Level>,
    passes: Vec<Pass>,
}

impl MineItemsets {
    pub(super) fn new(transactions: u64, levels: Vec<Level>, passes: Vec<Pass>) -> Self {
        Self { transactions, levels, passes }
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
        for level in &self.levels {
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
        Ok(Self { transactions: self.transactions, levels, passes: self.passes.clone() })
    }

    /// The rules of a minimum confidence. Of condensed itemsets none can be made: subsets are missing.
    fn rules(&self, py: Python<'_>, confidence: f64) -> MineRules {
        let mut found = Vec::new();
        py.detach(|| rules(&self.levels, confidence, |rule| found.push(rule)));
        MineRules { transactions: self.transactions, rules: found }
    }

    /// As a Parquet file.
    fn parquet(&self, py: Python<'_>, place: PathBuf, names: Option<Vec<String>>) -> PyResult<()> {
        Ok(py.detach(|| parquet::itemsets(&place, &self.levels, self.transactions, names.as_deref()))?)
    }

    /// As text with commas.
    fn csv<'py>(&self, py: Python<'py>, names: Option<Vec<String>>) -> Bound<'py, PyBytes> {
        let rows = Rows { transactions: self.transactions, names: names.as_deref() };
        let mut text = table::ITEMSETS.as_bytes().to_vec();
        py.detach(|| self.levels.iter().for_each(|level| rows.level(level, &mut text)));
        PyBytes::new(py, &text)
    }
}

/// Rules and their measures.
#[pyclass(frozen)]
pub(super) struct MineRules {
    transactions: u64,
    rules: Vec<Rule>,
}

#[pymethods]
impl MineRules {
    /// How many.
    fn len(&self) -> usize {
        self.rules.len()
    }

    /// Antecedents or consequents: where each ends (u64), their items (u32).
    fn itemsets<'py>(&self, py: Python<'py>, antecedents: bool) -> [Bound<'py, PyBytes>; 2] {
        let mut ends = Ends::default();
        let mut items = Vec::new();
        for rule in &self.rules {
            let itemset: &[Item] = if antecedents { &rule.antecedent } else { &rule.consequent };
            items.extend(itemset.iter().flat_map(|item| item.to_le_bytes()));
            ends.push(itemset.len());
        }
        [ends.bytes, items].map(|bytes| PyBytes::new(py, &bytes))
    }

    /// The twelve measures (f64), one after the other.
    fn measures<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let mut columns: [Vec<u8>; table::MEASURES.len()] = Default::default();
        for rule in &self.rules {
            let values = table::columns(&rule.measures(self.transactions));
            for (column, value) in columns.iter_mut().zip(values) {
                column.extend_from_slice(&value.to_le_bytes());
            }
        }
        columns.iter().map(|column| PyBytes::new(py, column)).collect()
    }

    /// As a Parquet file.
    fn parquet(&self, py: Python<'_>, place: PathBuf, names: Option<Vec<String>>) -> PyResult<()> {
        Ok(py.detach(|| parquet::rules(&place, &self.rules, self.transactions, names.as_deref()))?)
    }

    /// As text with commas.
    fn csv<'py>(&self, py: Python<'py>, names: Option<Vec<String>>) -> Bound<'py, PyBytes> {
        let rows = Rows { transactions: self.transactions, names: names.as_deref() };
        let mut text = table::rules_head().into_bytes();
        py.detach(|| self.rules.iter().for_each(|rule| rows.rule(rule, &mut text)));
        PyBytes::new(py, &text)
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
