//! A full disk: the error names the file and what is left, finished parts stay readable, other tables go on.
//!
//! The kernel's own full disk, `/dev/full`, lies in the place of the file that is to fail.
#![cfg(target_os = "linux")]

mod common;

use common::read;
use record::rows::{Event, Job, JobOutcome};
use record::{Error, RunFolder, Tables};
use std::fs;
use std::os::unix::fs::symlink;

fn job(start_ps: u64) -> Job<'static> {
    Job {
        job: "a",
        kind: "bulk",
        start_ps,
        end_ps: None,
        flows: 1,
        bytes: 1,
        outcome: JobOutcome::Unfinished,
    }
}

fn push_jobs(tables: &mut Tables, jobs: std::ops::Range<u64>) -> Result<(), Error> {
    jobs.into_iter().try_for_each(|start| tables.jobs.push(job(start)))
}

#[test]
fn finished_parts_stay_and_the_error_counts_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = RunFolder::create(folder.path(), false).unwrap().tables_in_parts_of(10);
    push_jobs(&mut tables, 0..20).unwrap();
    tables.events.push(Event { time_ps: 1, what: "crash", where_: "host0" }).unwrap();

    let jobs = folder.path().join("jobs");
    symlink("/dev/full", jobs.join(".part-00002.parquet.tmp")).unwrap();
    let error = push_jobs(&mut tables, 20..30).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("disk is full") && text.contains("jobs/part-00002.parquet"), "{text}");
    assert!(text.contains("first 20 rows of table jobs are readable, the last 10 are lost"), "{text}");

    // No gap when there is room again: the table ends where it failed, and it is not told twice.
    push_jobs(&mut tables, 30..60).unwrap();
    tables.finish().unwrap();
    assert_eq!(read(&jobs).len(), 20);
    assert_eq!(read(&folder.path().join("events")).len(), 1, "other tables are written");
}

#[test]
fn the_end_of_a_run_tries_every_table() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = RunFolder::create(folder.path(), false).unwrap().tables();
    push_jobs(&mut tables, 0..3).unwrap();
    fs::create_dir(folder.path().join("jobs")).unwrap();
    symlink("/dev/full", folder.path().join("jobs/.part-00000.parquet.tmp")).unwrap();
    let error = tables.finish().unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error:?}");
    let jobs = folder.path().join("jobs");
    assert_eq!(common::files(&jobs), [jobs.join("part-00000.parquet")], "nothing half written");
    assert_eq!(read(&jobs).len(), 0, "the schema without rows");
    assert!(folder.path().join("flows_series/part-00000.parquet").exists());
}

#[test]
fn a_summary_that_does_not_fit_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(folder.path(), false).unwrap();
    symlink("/dev/full", folder.path().join(".summary.json.tmp")).unwrap();
    let error = run.write_summary(&1).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error:?}");
    assert!(!folder.path().join("summary.json").exists());
}

#[test]
fn other_failures_keep_what_the_system_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = RunFolder::create(folder.path(), false).unwrap().tables_in_parts_of(1);
    fs::write(folder.path().join("jobs"), "a file where a folder should be").unwrap();
    let error = push_jobs(&mut tables, 0..1).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("File exists"), "{error}");
}
