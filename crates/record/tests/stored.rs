//! Tables are read as they were written, and one that is damaged is refused in words.

use proptest::prelude::*;
use record::RunFolder;
use record::rows::Datagrams;
use record::stored::{Cell, ReadError, Wanted, rows};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use units::testing::cases;

const COLUMNS: [Wanted; 4] = [
    Wanted::Text("from"),
    Wanted::Number("received_bytes"),
    Wanted::Number("drops_down"),
    Wanted::NumberIfThere("not_yet"),
];

/// A run with datagrams: received bytes, and drops where they are known.
fn written(datagrams: &[(u64, Option<u64>)]) -> TempDir {
    written_in_parts_of(2, datagrams)
}

fn written_in_parts_of(rows: usize, datagrams: &[(u64, Option<u64>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = RunFolder::create(folder.path(), false).unwrap().tables_in_parts_of(rows);
    for &(received_bytes, drops_down) in datagrams {
        let row = Datagrams {
            job: "calls",
            from: if received_bytes.is_multiple_of(2) { "höst0" } else { "host1" },
            to: "host2",
            sent_packets: 1,
            sent_bytes: 2,
            received_packets: 3,
            received_bytes,
            drops_no_route: None,
            drops_down,
            drops_no_port: Some(1),
        };
        tables.datagrams.push(row).unwrap();
    }
    tables.finish().unwrap();
    folder
}

fn read(run: &Path) -> Result<Vec<(String, u64, Option<u64>)>, ReadError> {
    let mut found = Vec::new();
    rows(run, "datagrams", COLUMNS, |[from, bytes, drops, absent]| {
        assert_eq!(absent, Cell::Missing);
        found.push((from.text().ok_or("no name")?.to_owned(), bytes.count(), drops.number()));
        Ok(())
    })?;
    Ok(found)
}

fn part(run: &Path) -> PathBuf {
    run.join("datagrams/part-00000.parquet")
}

#[test]
fn a_table_that_is_not_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let error = read(folder.path()).unwrap_err().to_string();
    assert_eq!(error, format!("{} has no table 'datagrams'", folder.path().display()));
}

#[test]
fn columns_that_are_not_there_or_of_another_type_are_said() {
    let run = written(&[(1, None)]);
    let said = |wanted| rows(run.path(), "datagrams", [wanted], |_| Ok(())).unwrap_err().to_string();
    let damaged = |why| format!("{} is damaged: {why}", part(run.path()).display());
    assert_eq!(said(Wanted::Number("bytes")), damaged("it has no column bytes"));
    assert_eq!(said(Wanted::Number("job")), damaged("its column job is of another type"));
    assert_eq!(said(Wanted::Real("sent_bytes")), damaged("its column sent_bytes is of another type"));
    let refused = rows(run.path(), "datagrams", [Wanted::Text("job")], |_| Err("that can't be"));
    assert_eq!(refused.unwrap_err().to_string(), damaged("that can't be"));
}

#[test]
fn what_is_no_file_is_not_opened() {
    let run = written(&[]);
    fs::remove_file(part(run.path())).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, part(run.path()), 0o600.into()).unwrap();
    assert!(read(run.path()).unwrap_err().to_string().ends_with("is damaged: it is no file"));
}

#[test]
fn rows_of_tables_without_any_are_none() {
    assert_eq!(read(written(&[]).path()).unwrap(), []);
}

#[test]
fn more_rows_than_are_read_at_a_time_come_in_order() {
    let datagrams: Vec<_> =
        (0..30_000u64).map(|number| (number, number.is_multiple_of(3).then_some(number))).collect();
    let found = read(written_in_parts_of(20_000, &datagrams).path()).unwrap();
    let numbers: Vec<_> = found.into_iter().map(|(_, bytes, drops)| (bytes, drops)).collect();
    assert_eq!(numbers, datagrams);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn cells_come_back(datagrams in proptest::collection::vec((any::<u64>(), any::<Option<u64>>()), 0..9)) {
        let found = read(written(&datagrams).path()).unwrap();
        let name = |bytes: u64| if bytes.is_multiple_of(2) { "höst0" } else { "host1" }.to_owned();
        let expected: Vec<_> = datagrams.iter().map(|&(bytes, drops)| (name(bytes), bytes, drops)).collect();
        prop_assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn a_damaged_part_is_refused_or_read(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in proptest::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let run = written(&[(4, None), (5, Some(6))]);
        let mut bytes = fs::read(part(run.path())).unwrap();
        changes.iter().for_each(|(at, to)| {
            let at = at.index(bytes.len());
            bytes[at] = *to;
        });
        bytes.truncate(end.map_or(bytes.len(), |at| at.index(bytes.len())));
        fs::write(part(run.path()), &bytes).unwrap();
        match read(run.path()) {
            Ok(_) => {}
            Err(error) => prop_assert!(matches!(error, ReadError::Damaged { .. }), "{error}"),
        }
    }
}
