//! What was found, in Parquet files: the same columns as the frames have.

use ::mine::items::Item;
use ::mine::rules::Rule;
use ::mine::table;
use record::{Column, ColumnData, F64, ParquetFile, TextLists, U32Lists, U64};
use std::io;
use std::path::Path;

/// Rows of a row group.
const GROUP: usize = 1 << 16;

/// Itemsets by their items' numbers, or by their names where they have some.
enum Itemsets<'a> {
    Numbers(U32Lists),
    Names(TextLists, &'a [String]),
}

impl<'a> Itemsets<'a> {
    fn new(names: Option<&'a [String]>) -> Self {
        names.map_or_else(
            || Self::Numbers(U32Lists::default()),
            |names| Self::Names(TextLists::default(), names),
        )
    }

    fn push(&mut self, itemset: &[Item]) {
        match self {
            Self::Numbers(lists) => lists.push(itemset),
            Self::Names(lists, names) => lists.push(itemset.iter().map(|item| &*names[*item as usize])),
        }
    }

    fn column(&self) -> &dyn ColumnData {
        match self {
            Self::Numbers(lists) => lists,
            Self::Names(lists, _) => lists,
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Numbers(lists) => lists.clear(),
            Self::Names(lists, _) => lists.clear(),
        }
    }
}

/// Rows as columns.
pub(super) trait Rows {
    type Row<'a>;
    fn columns(&self) -> Vec<(&'static str, &dyn ColumnData)>;
    fn push(&mut self, row: Self::Row<'_>);
    fn clear(&mut self);
}

/// A table that is written whenever its rows are a row group.
pub(super) struct Table<R> {
    file: ParquetFile,
    rows: R,
    waiting: usize,
}

impl<R: Rows> Table<R> {
    fn create(place: &Path, name: &str, rows: R) -> io::Result<Self> {
        Ok(Self { file: ParquetFile::create(place, name, &rows.columns())?, rows, waiting: 0 })
    }

    /// Appends a row.
    pub(super) fn push(&mut self, row: R::Row<'_>) -> io::Result<()> {
        self.rows.push(row);
        self.waiting += 1;
        if self.waiting == GROUP { self.write() } else { Ok(()) }
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write()?;
        self.file.finish()
    }

    fn write(&mut self) -> io::Result<()> {
        if self.waiting > 0 {
            self.file.write(&self.rows.columns())?;
            self.rows.clear();
            self.waiting = 0;
        }
        Ok(())
    }
}

/// Itemsets with their counts.
pub(super) struct Found<'a> {
    transactions: u64,
    support: F64,
    itemsets: Itemsets<'a>,
    count: U64,
}

impl Rows for Found<'_> {
    type Row<'a> = (&'a [Item], u64);
    fn columns(&self) -> Vec<(&'static str, &dyn ColumnData)> {
        vec![("support", &self.support), ("itemsets", self.itemsets.column()), ("count", &self.count)]
    }
    fn push(&mut self, (itemset, count): (&[Item], u64)) {
        self.support.push(count as f64 / self.transactions as f64);
        self.itemsets.push(itemset);
        self.count.push(count);
    }
    fn clear(&mut self) {
        self.support.clear();
        self.itemsets.clear();
        self.count.clear();
    }
}

/// Rules with their measures.
pub(super) struct Made<'a> {
    transactions: u64,
    sides: [Itemsets<'a>; 2],
    measures: [F64; table::MEASURES.len()],
}

impl Rows for Made<'_> {
    type Row<'a> = &'a Rule;
    fn columns(&self) -> Vec<(&'static str, &dyn ColumnData)> {
        let sides = ["antecedents", "consequents"].into_iter().zip(self.sides.iter().map(Itemsets::column));
        let measures = self.measures.iter().map(|column| column as &dyn ColumnData);
        sides.chain(table::MEASURES.into_iter().zip(measures)).collect()
    }
    fn push(&mut self, rule: &Rule) {
        self.sides[0].push(&rule.antecedent);
        self.sides[1].push(&rule.consequent);
        let values = table::columns(&rule.measures(self.transactions));
        self.measures.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    fn clear(&mut self) {
        self.sides.iter_mut().for_each(Itemsets::clear);
        self.measures.iter_mut().for_each(ColumnData::clear);
    }
}

/// A table of itemsets.
pub(super) fn itemsets<'a>(
    place: &Path,
    transactions: u64,
    names: Option<&'a [String]>,
) -> io::Result<Table<Found<'a>>> {
    let (support, count) = (F64::default(), U64::default());
    Table::create(place, "itemsets", Found { transactions, support, itemsets: Itemsets::new(names), count })
}

/// A table of rules.
pub(super) fn rules<'a>(
    place: &Path,
    transactions: u64,
    names: Option<&'a [String]>,
) -> io::Result<Table<Made<'a>>> {
    let sides = [Itemsets::new(names), Itemsets::new(names)];
    Table::create(place, "rules", Made { transactions, sides, measures: Default::default() })
}
