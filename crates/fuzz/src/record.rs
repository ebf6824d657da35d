//! A part of a table of a run folder.

use ::record::stored::{ReadError, Wanted, rows};
use std::fs;

/// These bytes are read as a part, or refused as damaged.
pub fn table(bytes: &[u8]) {
    let run = tempfile::tempdir().expect("a temporary folder");
    let table = run.path().join("hosts");
    fs::create_dir(&table).expect("a folder");
    fs::write(table.join("part-00000.parquet"), bytes).expect("a file");
    let columns =
        [Wanted::Text("host"), Wanted::Number("sent_bytes"), Wanted::NumberIfThere("drops_loopback")];
    match rows(run.path(), "hosts", columns, |_| Ok(())) {
        Ok(()) => {}
        Err(error) => assert!(matches!(error, ReadError::Damaged { .. }), "{error}"),
    }
}
