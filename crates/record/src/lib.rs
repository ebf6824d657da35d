//! What a run measures, and how it is written down: a run folder of Parquet tables, `summary.json` and
//! packet captures.
//!
//! Nothing here measures: drivers fill [`rows`] and packets in, this crate writes them. It is all that
//! touches a file, so a disk that fills is dealt with in one place. [`stored`] reads tables back.
//!
//! A run folder gets one event and its summary:
//!
//! ```
//! use record::{RunFolder, rows::Event};
//!
//! let folder = tempfile::tempdir()?;
//! let run = RunFolder::create(folder.path(), false)?;
//! let mut tables = run.tables();
//! tables.events.push(Event { time_ps: 1_000_000, what: "crash", where_: "host3" })?;
//! tables.finish()?;
//! run.write_summary(&serde_json::json!({"end": "finished"}))?;
//!
//! let part = folder.path().join("events/part-00000.parquet");
//! assert!(std::fs::read(part)?.starts_with(b"PAR1"));
//! assert!(RunFolder::create(folder.path(), false).is_err(), "results are not overwritten unasked");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod capture;
mod column;
mod error;
mod folder;
pub mod levels;
mod lists;
pub mod rows;
mod schema;
pub mod stored;
mod table;

pub use column::{Column, ColumnData, F64, Label, Labels, Nullable, Text, U8, U64};
pub use error::Error;
pub use folder::RunFolder;
pub use lists::{TextLists, U32Lists};
pub use rows::Tables;
pub use table::{Columns, ParquetFile, Table};
