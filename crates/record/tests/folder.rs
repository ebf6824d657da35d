//! A run folder is recognised, never overwritten unasked, and overwriting spares what no run wrote.

use record::{Error, RunFolder};
use serde_json::json;
use std::fs;
use std::path::Path;

/// A finished run with a capture and what the Python package adds.
fn finished_run(path: &Path) {
    let run = RunFolder::create(path, false).unwrap();
    run.write_scenario(&json!({"name": "x"})).unwrap();
    run.tables().finish().unwrap();
    run.capture("leaf0:host3").unwrap().finish().unwrap();
    run.write_summary(&json!({"fingerprint": "1"})).unwrap();
    fs::write(path.join("report.html"), "<html>").unwrap();
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let error = RunFolder::create(folder.path(), false).unwrap_err();
    assert!(matches!(error, Error::NotEmpty { .. }), "{error}");
    assert!(error.to_string().contains("is not empty"), "{error}");
}

#[test]
fn a_marker_that_is_not_whole_keeps_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let half = folder.path().join(".incast-run.json.tmp");
    for overwrite in [false, true] {
        fs::write(&half, "{").unwrap();
        RunFolder::create(folder.path(), overwrite).unwrap();
        assert!(!half.exists());
        fs::remove_file(folder.path().join("incast-run.json")).unwrap();
    }
}

#[test]
fn a_folder_that_no_run_wrote_is_refused_even_when_asked_to_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("jobs")).unwrap();
    let theirs = folder.path().join("jobs/part-00000.parquet");
    fs::write(&theirs, "theirs").unwrap();
    let error = RunFolder::create(folder.path(), true).unwrap_err();
    assert!(matches!(error, Error::NotARunFolder { .. }), "{error}");
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
}

#[test]
fn missing_parents_are_made_and_a_file_in_the_way_is_told() {
    let folder = tempfile::tempdir().unwrap();
    finished_run(&folder.path().join("results/today"));
    fs::write(folder.path().join("file"), "").unwrap();
    let error = RunFolder::create(folder.path().join("file"), true).unwrap_err();
    assert!(error.to_string().contains("file could not be written"), "{error}");
}

#[test]
fn a_run_is_overwritten_only_when_asked_and_foreign_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    finished_run(path);
    assert!(matches!(RunFolder::create(path, false), Err(Error::NotEmpty { .. })));

    // What a killed run leaves, and what no run writes.
    fs::write(path.join("flows/.part-00001.parquet.tmp"), "half").unwrap();
    let foreign = ["notes.txt", "jobs/notes.parquet", "jobs/part-1.parquet", "captures/notes.txt"];
    foreign.iter().for_each(|name| fs::write(path.join(name), "mine").unwrap());

    RunFolder::create(path, true).unwrap();
    foreign.iter().for_each(|name| assert_eq!(fs::read(path.join(name)).unwrap(), b"mine", "{name}"));
    let ours = [
        "summary.json",
        "scenario.json",
        "report.html",
        "flows",
        "jobs/part-00000.parquet",
        "captures/leaf0-host3.pcapng",
    ];
    ours.iter().for_each(|name| assert!(!path.join(name).exists(), "{name}"));
    assert!(path.join("incast-run.json").exists());
}

#[cfg(unix)]
#[test]
fn a_link_to_another_place_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let theirs = elsewhere.path().join("part-00000.parquet");
    fs::write(&theirs, "theirs").unwrap();
    RunFolder::create(folder.path(), false).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("jobs")).unwrap();
    RunFolder::create(folder.path(), true).unwrap();
    assert!(theirs.exists());
}

#[test]
fn json_is_written_whole_and_replaces_the_old() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(folder.path(), false).unwrap();
    run.write_summary(&json!({"a": 1})).unwrap();
    run.write_summary(&json!({"b": 0.1})).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("summary.json")).unwrap(), "{\n  \"b\": 0.1\n}\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the marker and the summary");
}

#[test]
fn ports_become_file_names() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(folder.path(), false).unwrap();
    for port in ["leaf0:spine1#2", "../a:b/ö"] {
        run.capture(port).unwrap().finish().unwrap();
    }
    assert!(folder.path().join("captures/leaf0-spine1#2.pcapng").exists());
    assert!(folder.path().join("captures/..%2fa-b%2f%c3%b6.pcapng").exists());
}
