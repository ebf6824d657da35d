//! What the tests of this crate share: reading a table back with the Parquet library's own reader.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The files of a folder, by name.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// All rows of a table, its parts in order; every file in its folder must be a part.
pub fn read(table: &Path) -> Vec<Vec<(String, Field)>> {
    files(table).iter().flat_map(|part| read_part(part)).collect()
}

/// All rows of a part: (column, cell).
fn read_part(part: &Path) -> Vec<Vec<(String, Field)>> {
    let reader = SerializedFileReader::new(File::open(part).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(|(name, cell)| (name.clone(), cell.clone())).collect())
        .collect()
}
