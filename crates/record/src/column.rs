//! Columns of a table while they wait to be written, one type for each type of cell.
//!
//! Not a data frame: a column only grows, is written and is cleared. Integers are delta-packed and texts
//! kept in a dictionary (Parquet's `DELTA_BINARY_PACKED` and `RLE_DICTIONARY`), so that a counter that
//! hardly moves and a name that repeats cost next to nothing.

use indexmap::IndexSet;
use parquet::basic::{Encoding, LogicalType, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;
use std::marker::PhantomData;

/// A column that takes cells.
pub trait Column: ColumnData + Default {
    /// What a row holds for it.
    type Cell<'a>;
    /// Adds a cell at the end.
    fn push(&mut self, cell: Self::Cell<'_>);
}

/// What a file needs to know of a column, whatever its cells are.
pub trait ColumnData {
    /// Physical and logical type.
    fn parquet_type(&self) -> (Physical, Option<LogicalType>);
    /// How the values are laid out; without one, as a dictionary.
    fn encoding(&self) -> Option<Encoding>;
    /// Whether cells may be missing.
    fn nullable(&self) -> bool {
        false
    }
    /// Whether a cell is a list of values.
    fn lists(&self) -> bool {
        false
    }
    /// Writes all cells; `present` says 1 for each cell that has a value and 0 for each that has none.
    fn write(&self, out: &mut SerializedColumnWriter<'_>, present: Option<&[i16]>) -> Result<()>;
    /// Forgets all cells.
    fn clear(&mut self);
}

/// A column of numbers: what a cell is, what is kept of it, and how that is written.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident: $cell:ty, $kept:path => $kind:ty, $parquet:expr, $encoding:ident) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name(Vec<<$kind as DataType>::T>);

        impl Column for $name {
            type Cell<'a> = $cell;
            fn push(&mut self, cell: $cell) {
                self.0.push($kept(cell));
            }
        }

        impl ColumnData for $name {
            fn parquet_type(&self) -> (Physical, Option<LogicalType>) {
                $parquet
            }
            fn encoding(&self) -> Option<Encoding> {
                Some(Encoding::$encoding)
            }
            fn write(&self, out: &mut SerializedColumnWriter<'_>, present: Option<&[i16]>) -> Result<()> {
                out.typed::<$kind>().write_batch(&self.0, present, None).map(|_| ())
            }
            fn clear(&mut self) {
                self.0.clear();
            }
        }
    };
}

numbers! {
    /// Counts, sizes in bytes, times in picoseconds.
    // Parquet keeps an unsigned number as the signed one of the same bits.
    U64: u64, u64::cast_signed => Int64Type,
    (Physical::INT64, Some(LogicalType::integer(64, false))), DELTA_BINARY_PACKED
}

numbers! {
    /// Traffic classes.
    U8: u8, i32::from => Int32Type, (Physical::INT32, Some(LogicalType::integer(8, false))), DELTA_BINARY_PACKED
}

numbers! {
    /// Ratios.
    F64: f64, std::convert::identity => DoubleType, (Physical::DOUBLE, None), PLAIN
}

impl U64 {
    /// The cell of a row.
    pub(crate) fn at(&self, row: usize) -> u64 {
        self.0[row].cast_unsigned()
    }
}

impl FromIterator<u64> for U64 {
    fn from_iter<I: IntoIterator<Item = u64>>(cells: I) -> U64 {
        U64(cells.into_iter().map(u64::cast_signed).collect())
    }
}
/// Names and other texts that repeat: each different one is kept once.
#[derive(Debug, Default)]
pub struct Text {
    names: IndexSet<Box<str>>,
    cells: Vec<u32>,
}

impl Column for Text {
    type Cell<'a> = &'a str;
    fn push(&mut self, cell: &str) {
        // Samples list the same names in the same order each time, so the one after the last is tried first.
        let next = self.cells.last().map_or(0, |&last| (last as usize + 1) % self.names.len());
        let is_next = self.names.get_index(next).is_some_and(|name| **name == *cell);
        let known = if is_next { Some(next) } else { self.names.get_index_of(cell) };
        let index = known.unwrap_or_else(|| self.names.insert_full(cell.into()).0);
        self.cells.push(u32::try_from(index).expect("fewer names than rows of a part"));
    }
}

impl ColumnData for Text {
    fn parquet_type(&self) -> (Physical, Option<LogicalType>) {
        (Physical::BYTE_ARRAY, Some(LogicalType::String))
    }
    fn encoding(&self) -> Option<Encoding> {
        None
    }
    fn write(&self, out: &mut SerializedColumnWriter<'_>, present: Option<&[i16]>) -> Result<()> {
        self.write_at(out, present, None)
    }
    fn clear(&mut self) {
        self.names.clear();
        self.cells.clear();
    }
}

impl Text {
    /// The different texts, by their numbers.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The number of each row's text.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.cells
    }

    /// Rows of texts that are given by their numbers in a list.
    pub(crate) fn of<'a>(names: impl Iterator<Item = &'a str>, numbers: impl Iterator<Item = u32>) -> Text {
        let mut text = Text::default();
        let cell = |name: &str| u32::try_from(text.names.insert_full(name.into()).0).expect("few names");
        let cells: Vec<u32> = names.map(cell).collect();
        text.cells = numbers.map(|number| cells[number as usize]).collect();
        text
    }

    /// Writes all cells, at Parquet's levels of definition and repetition.
    pub(crate) fn write_at(
        &self,
        out: &mut SerializedColumnWriter<'_>,
        definition: Option<&[i16]>,
        repetition: Option<&[i16]>,
    ) -> Result<()> {
        let names: Vec<ByteArray> = self.names.iter().map(|name| ByteArray::from(&**name)).collect();
        // The copies share the names' memory.
        let values: Vec<ByteArray> = self.cells.iter().map(|&cell| names[cell as usize].clone()).collect();
        out.typed::<ByteArrayType>().write_batch(&values, definition, repetition).map(|_| ())
    }
}

/// A closed set of words, such as a flow's outcomes.
pub trait Label {
    /// The word that is written.
    fn word(&self) -> &'static str;
}

/// Words of a closed set.
#[derive(Debug)]
pub struct Labels<L>(Text, PhantomData<L>);

impl<L> Default for Labels<L> {
    fn default() -> Self {
        Labels(Text::default(), PhantomData)
    }
}

impl<L: Label> Column for Labels<L> {
    type Cell<'a> = L;
    fn push(&mut self, cell: L) {
        self.0.push(cell.word());
    }
}

impl<L> ColumnData for Labels<L> {
    fn parquet_type(&self) -> (Physical, Option<LogicalType>) {
        self.0.parquet_type()
    }
    fn encoding(&self) -> Option<Encoding> {
        self.0.encoding()
    }
    fn write(&self, out: &mut SerializedColumnWriter<'_>, present: Option<&[i16]>) -> Result<()> {
        self.0.write(out, present)
    }
    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Cells that may be missing.
#[derive(Debug, Default)]
pub struct Nullable<C> {
    values: C,
    present: Vec<i16>,
}

impl<C> Nullable<C> {
    /// Whether a row has a value.
    pub(crate) fn is_present(&self, row: usize) -> bool {
        self.present[row] != 0
    }
}

impl<C: Column> Column for Nullable<C> {
    type Cell<'a> = Option<C::Cell<'a>>;
    fn push(&mut self, cell: Option<C::Cell<'_>>) {
        self.present.push(i16::from(cell.is_some()));
        if let Some(cell) = cell {
            self.values.push(cell);
        }
    }
}

impl<C: ColumnData> ColumnData for Nullable<C> {
    fn parquet_type(&self) -> (Physical, Option<LogicalType>) {
        self.values.parquet_type()
    }
    fn encoding(&self) -> Option<Encoding> {
        self.values.encoding()
    }
    fn nullable(&self) -> bool {
        true
    }
    fn write(&self, out: &mut SerializedColumnWriter<'_>, _: Option<&[i16]>) -> Result<()> {
        self.values.write(out, Some(&self.present))
    }
    fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }
}
