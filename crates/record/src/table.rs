//! One table of a run: a folder of Parquet files, `part-00000.parquet`, `part-00001.parquet`…
//!
//! Rows wait in columns. When they fill a part, or at the end, the part is written under a hidden name,
//! synced and renamed: a part is there whole or not at all, so a kill, a full disk or a power failure costs
//! only the rows that waited. Bytes depend on the rows alone. A table of samples may have coarser
//! [`levels`](crate::levels) written next to each of its parts.

use crate::column::ColumnData;
use crate::error::{Error, Kept};
use crate::schema;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

/// Rows of a part.
pub(crate) const PART_ROWS: usize = 1 << 17;

/// Named in every file; a fixed text, so that bytes depend on the rows alone.
const CREATED_BY: &str = "incast-record";

/// Names and contents of columns that have equally many cells.
pub(crate) type Group<'a> = Vec<(&'static str, &'a dyn ColumnData)>;

/// Writes something that follows from a part next to it: from its rows, the run folder and the part's name.
pub(crate) type Beside<C> = Box<dyn Fn(&C, &Path, &str) -> io::Result<()> + Send>;

/// All columns of a table.
pub trait Columns: Default {
    /// The table's name: its folder.
    const TABLE: &'static str;
    /// A row.
    type Row<'a>;
    /// Adds a row at the end.
    fn push(&mut self, row: Self::Row<'_>);
    /// Names and contents.
    fn columns(&self) -> Vec<(&'static str, &dyn ColumnData)>;
    /// Forgets all rows.
    fn clear(&mut self);
}

/// A table that is being written.
pub struct Table<C: Columns> {
    run: PathBuf,
    folder: PathBuf,
    part_rows: usize,
    waiting: C,
    waiting_rows: usize,
    parts: u32,
    rows: u64,
    failed: bool,
    beside: Option<Beside<C>>,
}

impl<C: Columns> std::fmt::Debug for Table<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} rows written, {} waiting", C::TABLE, self.rows, self.waiting_rows)
    }
}

impl<C: Columns> Table<C> {
    /// A table in the run folder `run`; nothing is written yet.
    pub(crate) fn new(run: &Path, part_rows: usize) -> Table<C> {
        Table {
            run: run.to_path_buf(),
            folder: run.join(C::TABLE),
            part_rows,
            waiting: C::default(),
            waiting_rows: 0,
            parts: 0,
            rows: 0,
            failed: false,
            beside: None,
        }
    }

    /// Has something written next to each part.
    pub(crate) fn set_beside(&mut self, beside: Beside<C>) {
        self.beside = Some(beside);
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the row fills a part that can't be written. That is told once; the table then ignores all
    /// further rows, so that what is readable is its beginning without a gap.
    pub fn push(&mut self, row: C::Row<'_>) -> Result<(), Error> {
        if self.failed {
            return Ok(());
        }
        self.waiting.push(row);
        self.waiting_rows += 1;
        if self.waiting_rows == self.part_rows { self.write_part() } else { Ok(()) }
    }

    /// Rows that are in finished parts.
    pub fn written_rows(&self) -> u64 {
        self.rows
    }

    /// Writes what waits. A table without rows gets one part without rows, for its schema; so does one whose
    /// rows did not fit on the disk.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let result = if self.waiting_rows > 0 { self.write_part() } else { Ok(()) };
        if self.parts == 0 { result.and(self.write_part()) } else { result }
    }

    fn write_part(&mut self) -> Result<(), Error> {
        let name = part_name(self.parts);
        let rows = std::mem::take(&mut self.waiting_rows) as u64;
        let columns = self.waiting.columns();
        // Without rows, it is the schema alone: a row group takes longer to make than a small table.
        let groups = if rows > 0 { slice::from_ref(&columns) } else { &[] };
        let result = write_whole(&self.folder, &name, C::TABLE, &columns, groups);
        if let (Ok(()), Some(beside)) = (&result, &self.beside) {
            // What can't be written follows from the part, whenever somebody wants it.
            let _ = beside(&self.waiting, &self.run, &name);
        }
        self.waiting.clear();
        result.map_err(|source| {
            self.failed = true;
            let kept = Kept::Table { table: C::TABLE, rows: self.rows, lost: rows };
            Error::io(&self.folder.join(&name), kept, source)
        })?;
        self.parts += 1;
        self.rows += rows;
        Ok(())
    }
}

fn part_name(number: u32) -> String {
    format!("part-{number:05}.parquet")
}

/// Writes row groups, at least one, as a file of a folder, whole or not at all.
pub(crate) fn write_file(folder: &Path, name: &str, table: &str, groups: &[Group<'_>]) -> io::Result<()> {
    write_whole(folder, name, table, &groups[0], groups)
}

/// The same with the columns of `schema`. Only rows are waited for until they are on the disk.
fn write_whole(
    folder: &Path,
    name: &str,
    table: &str,
    schema: &Group<'_>,
    groups: &[Group<'_>],
) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(unfinished_name(name));
    let result = File::create(&unfinished)
        .and_then(|file| encode(table, schema, groups, file))
        .and_then(|file| if groups.is_empty() { Ok(()) } else { file.sync_all() })
        .and_then(|()| fs::rename(&unfinished, folder.join(name)));
    if result.is_err() {
        // Room for what is still to be written; that it fails too adds nothing to know.
        let _ = fs::remove_file(&unfinished);
    }
    result
}

/// Writes row groups with the columns of `schema` as a Parquet file, and returns where they were written to.
pub(crate) fn encode<W: Write + Send>(
    table: &str,
    schema: &Group<'_>,
    groups: &[Group<'_>],
    out: W,
) -> io::Result<W> {
    let mut file = ParquetFile::new(table, schema, out).map_err(into_io)?;
    groups.iter().try_for_each(|columns| file.write_group(columns)).map_err(into_io)?;
    file.0.into_inner().map_err(into_io)
}

/// A Parquet file that is written in row groups.
#[derive(Debug)]
pub struct ParquetFile<W: Write + Send = File>(SerializedFileWriter<W>);

impl ParquetFile {
    /// A file with such columns; what is in them is not written yet.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn create(place: &Path, table: &str, columns: &[(&str, &dyn ColumnData)]) -> io::Result<ParquetFile> {
        ParquetFile::new(table, columns, File::create(place)?).map_err(into_io)
    }

    /// Writes what is in the columns, the same as at first, as a row group.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&mut self, columns: &[(&str, &dyn ColumnData)]) -> io::Result<()> {
        self.write_group(columns).map_err(into_io)
    }

    /// Writes the end, without which a file can't be read.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish(self) -> io::Result<()> {
        self.0.into_inner().map(drop).map_err(into_io)
    }
}

impl<W: Write + Send> ParquetFile<W> {
    fn new(table: &str, columns: &[(&str, &dyn ColumnData)], out: W) -> parquet::errors::Result<Self> {
        let fields: Result<_, _> =
            columns.iter().map(|(name, data)| schema::field(name, *data).map(Arc::new)).collect();
        let schema = Type::group_type_builder(table).with_fields(fields?).build()?;
        SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties(columns))).map(ParquetFile)
    }

    fn write_group(&mut self, columns: &[(&str, &dyn ColumnData)]) -> parquet::errors::Result<()> {
        let mut group = self.0.next_row_group()?;
        for (_, data) in columns {
            let mut column = group.next_column()?.expect("the schema has a column for each");
            data.write(&mut column, None)?;
            column.close()?;
        }
        group.close().map(|_| ())
    }
}

fn properties(columns: &[(&str, &dyn ColumnData)]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.into())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for (name, data) in columns {
        let path = schema::path(name, *data);
        properties = match data.encoding() {
            Some(encoding) => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, encoding),
            // Nobody skips rows by the first and the last of all names, which take a comparison for each row.
            None => properties
                .set_column_dictionary_enabled(path.clone(), true)
                .set_column_statistics_enabled(path, EnabledStatistics::None),
        };
    }
    properties.build()
}

/// The failure of the file system that the Parquet library met.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

/// The name under which a file is written until it is whole: hidden, and never with the ending of a whole
/// one.
pub(crate) fn unfinished_name(name: &str) -> String {
    format!(".{name}.tmp")
}
