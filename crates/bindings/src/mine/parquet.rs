//! What was found, in Parquet files: the same columns as the frames have.

use ::mine::items::{Item, Level};
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

/// Columns that are written whenever they hold a row group.
trait Rows {
    type Row<'a>;
    fn columns(&self) -> Vec<(&'static str, &dyn ColumnData)>;
    fn push(&mut self, row: Self::Row<'_>);
    fn clear(&mut self);

    fn write<'a>(
        mut self,
        place: &Path,
        table: &str,
        rows: impl Iterator<Item = Self::Row<'a>>,
    ) -> io::Result<()>
    where
        Self: Sized,
    {
        let mut file = ParquetFile::create(place, table, &self.columns())?;
        let mut waiting = 0;
        for row in rows {
            self.push(row);
            waiting += 1;
            if waiting == GROUP {
                file.write(&self.columns())?;
                self.clear();
                waiting = 0;
            }
        }
        if waiting > 0 {
            file.write(&self.columns())?;
        }
        file.finish()
    }
}

struct Found<'a> {
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

struct Made<'a> {
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

/// Writes itemsets, level by level.
pub(super) fn itemsets(
    place: &Path,
    levels: &[Level],
    transactions: u64,
    names: Option<&[String]>,
) -> io::Result<()> {
    let (support, count) = (F64::default(), U64::default());
    let rows = Found { transactions, support, itemsets: Itemsets::new(names), count };
    rows.write(place, "itemsets", levels.iter().flat_map(Level::iter))
}

/// Writes rules.
pub(super) fn rules(
    place: &Path,
    rules: &[Rule],
    transactions: u64,
    names: Option<&[String]>,
) -> io::Result<()> {
    let sides = [Itemsets::new(names), Itemsets::new(names)];
    Made { transactions, sides, measures: Default::default() }.write(place, "rules", rules.iter())
}
