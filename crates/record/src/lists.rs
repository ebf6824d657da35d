//! Columns whose cells are lists (`schema.rs`). No list is empty, and no element is missing.

use crate::column::{Column, ColumnData, Text};
use parquet::basic::{Encoding, LogicalType, Type as Physical};
use parquet::data_type::Int32Type;
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;

/// Which values begin a list, as Parquet's levels: 0 at the first of a list, 1 at the others.
#[derive(Debug, Default)]
struct Levels {
    repetition: Vec<i16>,
    /// Each value is defined: 1.
    definition: Vec<i16>,
}

impl Levels {
    fn push(&mut self, length: usize) {
        assert!(length > 0, "a list has elements");
        let end = self.repetition.len() + length;
        self.repetition.push(0);
        self.repetition.resize(end, 1);
        self.definition.resize(end, 1);
    }

    fn clear(&mut self) {
        self.repetition.clear();
        self.definition.clear();
    }
}

/// Lists of numbers.
#[derive(Debug, Default)]
pub struct U32Lists {
    values: Vec<i32>,
    levels: Levels,
}

impl Column for U32Lists {
    type Cell<'a> = &'a [u32];
    fn push(&mut self, cell: &[u32]) {
        self.values.extend(cell.iter().map(|value| value.cast_signed()));
        self.levels.push(cell.len());
    }
}

impl ColumnData for U32Lists {
    fn parquet_type(&self) -> (Physical, Option<LogicalType>) {
        (Physical::INT32, Some(LogicalType::integer(32, false)))
    }
    fn encoding(&self) -> Option<Encoding> {
        Some(Encoding::DELTA_BINARY_PACKED)
    }
    fn lists(&self) -> bool {
        true
    }
    fn write(&self, out: &mut SerializedColumnWriter<'_>, _: Option<&[i16]>) -> Result<()> {
        let levels = (Some(&self.levels.definition[..]), Some(&self.levels.repetition[..]));
        out.typed::<Int32Type>().write_batch(&self.values, levels.0, levels.1).map(|_| ())
    }
    fn clear(&mut self) {
        self.values.clear();
        self.levels.clear();
    }
}

/// Lists of texts that repeat: each different one is kept once.
#[derive(Debug, Default)]
pub struct TextLists {
    values: Text,
    levels: Levels,
}

impl TextLists {
    /// Adds a list at the end.
    pub fn push<'a>(&mut self, cell: impl ExactSizeIterator<Item = &'a str>) {
        self.levels.push(cell.len());
        cell.for_each(|value| self.values.push(value));
    }
}

impl ColumnData for TextLists {
    fn parquet_type(&self) -> (Physical, Option<LogicalType>) {
        self.values.parquet_type()
    }
    fn encoding(&self) -> Option<Encoding> {
        self.values.encoding()
    }
    fn lists(&self) -> bool {
        true
    }
    fn write(&self, out: &mut SerializedColumnWriter<'_>, _: Option<&[i16]>) -> Result<()> {
        self.values.write_at(out, Some(&self.levels.definition), Some(&self.levels.repetition))
    }
    fn clear(&mut self) {
        self.values.clear();
        self.levels.clear();
    }
}
