//! What a run measures, and how it is written down: a run folder of Parquet tables, `summary.json` and
//! packet captures.
//!
//! Nothing here measures: drivers fill [`rows`] and packets in, this crate writes them. It is all that
//! touches a file, so a disk that fills is dealt with in one place.

pub mod capture;
mod column;
mod error;
mod folder;
mod lists;
pub mod rows;
mod schema;
mod table;

pub use column::{Column, ColumnData, F64, Label, Labels, Nullable, Text, U8, U64};
pub use error::Error;
pub use folder::RunFolder;
pub use lists::{TextLists, U32Lists};
pub use rows::Tables;
pub use table::{Columns, ParquetFile, Table};
