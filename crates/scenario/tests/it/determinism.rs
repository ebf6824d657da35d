//! The same scenario and seed give the same bytes. That debug and release builds do is
//! `tests/python/test_builds.py`.

use scenario::Scenario;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A shuffle with RED, shared memory, loss, a link that flaps and a capture: a bit of everything.
const SCENARIO: &str = include_str!("determinism.json");

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn run(scenario: &Scenario, threads: usize) -> (String, Files) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let linux = scenario::Linux::default();
    let threads = NonZeroUsize::new(threads).unwrap();
    let outcome = scenario::run(scenario, &folder, true, &linux, threads, None, &mut |_| true).unwrap();
    let mut files = BTreeMap::new();
    collect(&folder, &folder, &mut files);
    (outcome.fingerprint, files)
}

fn with_seed(seed: u64) -> Scenario {
    Scenario { seed, ..scenario::parse(SCENARIO).unwrap() }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
        }
    }
}

fn assert_equal((fingerprint, files): &(String, Files), (other, again): &(String, Files)) {
    assert_eq!(fingerprint, other);
    assert!(files.keys().eq(again.keys()), "{:?} {:?}", files.keys(), again.keys());
    for (name, bytes) in files {
        assert!(again[name] == *bytes, "{} differs", name.display());
    }
}

#[test]
fn two_runs_write_the_same_bytes() {
    let (first, second) = (run(&with_seed(1), 1), run(&with_seed(1), 1));
    let files = &first.1;
    assert!(files.len() > 10 && files.keys().any(|name| name.starts_with("captures")), "{:?}", files.keys());
    assert_equal(&first, &second);
    assert_ne!(run(&with_seed(2), 1).0, first.0, "another seed, another run");
}

/// The same on long links, where two threads have enough to do between two meetings.
#[test]
fn a_run_on_two_threads_writes_the_bytes_of_one() {
    let mut scenario: Value = serde_json::from_str(SCENARIO).unwrap();
    scenario["measure"]["capture"] = json!([]);
    scenario["topology"]["uplink"]["delay"] = json!(50_000_000);
    let scenario = scenario::parse(&scenario.to_string()).unwrap();
    let sim = scenario::build(&scenario).unwrap();
    let cut = sim.cut(2).expect("two leaves");
    assert!(cut.is_worth_threads(sim.graph()));
    assert_equal(&run(&scenario, 2), &run(&scenario, 1));
}
