//! Tables that are written, row by row, in the columns that somebody wants.
//!
//! They may be anybody's, and damaged: what they hold is checked, and little of it is in memory at a time.

use parquet::basic::LogicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Rows that are in memory at a time.
const BATCH: usize = 8192;

/// Why a table could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The run folder has no part of it.
    #[error("{} has no table '{table}'", run.display())]
    NoTable {
        /// The run folder.
        run: PathBuf,
        /// The table.
        table: &'static str,
    },
    /// The system does not let it be read.
    #[error("{} could not be read: {source}", file.display())]
    Io {
        /// The part, or the folder.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What it holds is not what a run writes.
    #[error("{} is damaged: {why}", file.display())]
    Damaged {
        /// The part.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// A column that is wanted, by its name, and what its cells are.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// Whole numbers that are not negative.
    Number(&'static str),
    /// The same; tables of earlier versions may lack the column, and have no cells for it.
    NumberIfThere(&'static str),
    /// Ratios.
    Real(&'static str),
    /// Names.
    Text(&'static str),
}

/// A cell; which of the three follows from what is [`Wanted`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// It has no value.
    Missing,
    /// A whole number.
    Number(u64),
    /// A ratio.
    Real(f64),
    /// A name.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// Its number, if it has one.
    pub fn number(self) -> Option<u64> {
        if let Cell::Number(number) = self { Some(number) } else { None }
    }

    /// Its number; 0 where it is missing.
    pub fn count(self) -> u64 {
        self.number().unwrap_or(0)
    }

    /// Its ratio, if it has one.
    pub fn real(self) -> Option<f64> {
        if let Cell::Real(real) = self { Some(real) } else { None }
    }

    /// Its name, if it has one.
    pub fn text(self) -> Option<&'a str> {
        if let Cell::Text(text) = self { Some(text) } else { None }
    }
}

/// Shows `row` every row of a table in a run folder, in order. What it finds wrong with one is damage.
///
/// # Errors
/// When the table is not there, can't be read, or is damaged.
pub fn rows<const COLUMNS: usize>(
    run: &Path,
    table: &'static str,
    columns: [Wanted; COLUMNS],
    mut row: impl FnMut([Cell<'_>; COLUMNS]) -> Result<(), &'static str>,
) -> Result<(), ReadError> {
    for file in parts(run, table)? {
        // Parquet's decoders panic at some damage.
        let read = catch_unwind(AssertUnwindSafe(|| read(&file, columns, &mut row)));
        match read.unwrap_or_else(|_| Err("it can't be decoded".into())) {
            Ok(()) => {}
            Err(Why::Io(source)) => return Err(ReadError::Io { file, source }),
            Err(Why::Damaged(why)) => return Err(ReadError::Damaged { file, why }),
        }
    }
    Ok(())
}

/// Its files, in order.
fn parts(run: &Path, table: &'static str) -> Result<Vec<PathBuf>, ReadError> {
    let folder = run.join(table);
    let listed = fs::read_dir(&folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()
    });
    let mut parts = match listed {
        Ok(paths) => paths,
        Err(source) if source.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(ReadError::Io { file: folder, source }),
    };
    parts.retain(|path| path.extension() == Some(OsStr::new("parquet")));
    parts.sort();
    if parts.is_empty() { Err(ReadError::NoTable { run: run.to_path_buf(), table }) } else { Ok(parts) }
}

/// What is wrong with a part.
enum Why {
    Io(io::Error),
    Damaged(String),
}

impl From<&str> for Why {
    fn from(why: &str) -> Why {
        Why::Damaged(why.to_owned())
    }
}

impl From<ParquetError> for Why {
    fn from(error: ParquetError) -> Why {
        Why::Damaged(error.to_string())
    }
}

fn read<const COLUMNS: usize>(
    file: &Path,
    columns: [Wanted; COLUMNS],
    row: &mut impl FnMut([Cell<'_>; COLUMNS]) -> Result<(), &'static str>,
) -> Result<(), Why> {
    // Of a pipe or a device the end may never come.
    if !fs::metadata(file).map_err(Why::Io)?.is_file() {
        return Err("it is no file".into());
    }
    let part = SerializedFileReader::new(File::open(file).map_err(Why::Io)?)?;
    for number in 0..part.num_row_groups() {
        let group = part.get_row_group(number)?;
        let cells: Result<Vec<Cells>, Why> =
            columns.iter().map(|&wanted| Cells::of(&*group, wanted)).collect();
        let mut cells = cells?;
        while let Some(rows) = next_rows(&mut cells)? {
            for _ in 0..rows {
                let mut found = [Cell::Missing; COLUMNS];
                for (cell, column) in found.iter_mut().zip(&mut cells) {
                    *cell = column.cell()?;
                }
                row(found)?;
            }
        }
    }
    Ok(())
}

/// Reads the next rows of all columns; how many, while there are some.
fn next_rows(columns: &mut [Cells]) -> Result<Option<usize>, Why> {
    let mut read = None;
    for column in columns {
        let rows = column.next()?;
        if read.is_some() && rows.is_some() && rows != read {
            return Err("its columns differ in length".into());
        }
        read = read.or(rows);
    }
    Ok(read.filter(|&rows| rows > 0))
}

/// The cells of a column in a row group, a batch at a time.
enum Cells {
    Absent,
    /// `signed` are numbers that may be negative in the file.
    Number {
        batch: Batch<Int64Type>,
        signed: bool,
    },
    Real(Batch<DoubleType>),
    Text(Batch<ByteArrayType>),
}

impl Cells {
    fn of(group: &dyn RowGroupReader, wanted: Wanted) -> Result<Cells, Why> {
        let (Wanted::Number(name) | Wanted::NumberIfThere(name) | Wanted::Real(name) | Wanted::Text(name)) =
            wanted;
        let columns = group.metadata().schema_descr().columns();
        let Some(number) = columns.iter().position(|column| column.path().parts() == [name]) else {
            let known = matches!(wanted, Wanted::NumberIfThere(_));
            return if known {
                Ok(Cells::Absent)
            } else {
                Err(Why::Damaged(format!("it has no column {name}")))
            };
        };
        let column = &columns[number];
        let other = || Why::Damaged(format!("its column {name} is of another type"));
        if column.max_rep_level() > 0 || column.max_def_level() > 1 {
            return Err(other());
        }
        match (wanted, group.get_column_reader(number)?) {
            (Wanted::Number(_) | Wanted::NumberIfThere(_), ColumnReader::Int64ColumnReader(reader)) => {
                Ok(Cells::Number { batch: Batch::of(column, reader), signed: is_signed(column) })
            }
            (Wanted::Real(_), ColumnReader::DoubleColumnReader(reader)) => {
                Ok(Cells::Real(Batch::of(column, reader)))
            }
            (Wanted::Text(_), ColumnReader::ByteArrayColumnReader(reader)) => {
                Ok(Cells::Text(Batch::of(column, reader)))
            }
            _ => Err(other()),
        }
    }

    /// Reads the next rows; how many, where the column is there.
    fn next(&mut self) -> Result<Option<usize>, Why> {
        match self {
            Cells::Absent => Ok(None),
            Cells::Number { batch, .. } => batch.next().map(Some),
            Cells::Real(batch) => batch.next().map(Some),
            Cells::Text(batch) => batch.next().map(Some),
        }
    }

    /// The cell of the row after the last one.
    fn cell(&mut self) -> Result<Cell<'_>, &'static str> {
        Ok(match self {
            Cells::Absent => Cell::Missing,
            Cells::Number { batch, signed } => match batch.cell()? {
                Some(&number) if *signed && number < 0 => return Err("a number is negative"),
                // Parquet keeps an unsigned number as the signed one of the same bits.
                Some(number) => Cell::Number(number.cast_unsigned()),
                None => Cell::Missing,
            },
            Cells::Real(batch) => batch.cell()?.map_or(Cell::Missing, |&real| Cell::Real(real)),
            Cells::Text(batch) => match batch.cell()? {
                Some(text) => Cell::Text(text.as_utf8().map_err(|_| "a name is not UTF-8 text")?),
                None => Cell::Missing,
            },
        })
    }
}

fn is_signed(column: &ColumnDescriptor) -> bool {
    column.logical_type_ref() != Some(&LogicalType::integer(64, false))
}

/// Some rows of a column.
struct Batch<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    /// Of a column whose cells may be missing, 1 for each that is there.
    present: Option<Vec<i16>>,
    row: usize,
    value: usize,
}

impl<T: DataType> Batch<T> {
    fn of(column: &ColumnDescriptor, reader: ColumnReaderImpl<T>) -> Batch<T> {
        let present = (column.max_def_level() > 0).then(Vec::new);
        Batch { reader, values: Vec::new(), present, row: 0, value: 0 }
    }

    fn next(&mut self) -> Result<usize, Why> {
        self.values.clear();
        self.present.iter_mut().for_each(Vec::clear);
        (self.row, self.value) = (0, 0);
        let (rows, ..) = self.reader.read_records(BATCH, self.present.as_mut(), None, &mut self.values)?;
        Ok(rows)
    }

    fn cell(&mut self) -> Result<Option<&T::T>, &'static str> {
        let there = self.present.as_ref().is_none_or(|present| present.get(self.row) == Some(&1));
        self.row += 1;
        if !there {
            return Ok(None);
        }
        self.value += 1;
        self.values.get(self.value - 1).map(Some).ok_or("a column is too short")
    }
}
