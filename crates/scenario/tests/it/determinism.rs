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
    assert!(scenario::cut(&scenario, &sim, 2).is_some());
    assert_equal(&run(&scenario, 2), &run(&scenario, 1));
}

/// Threads gain only by a lot of packets at a time.
#[test]
fn a_run_with_few_packets_has_one_thread() {
    let with = |flows: u64, apart_us: u64| {
        let mut scenario: Value = serde_json::from_str(SCENARIO).unwrap();
        scenario["measure"]["capture"] = json!([]);
        scenario["topology"]["uplink"]["delay"] = json!(50_000_000);
        let flow = |index: u64| json!([index * apart_us * 1_000_000, "host0", "host3", 10_000, 0]);
        let flows: Vec<Value> = (0..flows).map(flow).collect();
        let work = json!({"kind": "replay", "flows": flows});
        scenario["jobs"] = json!([{"name": "flows", "start": 0, "class": 0, "work": work}]);
        let scenario = scenario::parse(&scenario.to_string()).unwrap();
        scenario::cut(&scenario, &scenario::build(&scenario).unwrap(), 2).is_some()
    };
    assert!(with(10_000, 0) && with(10_000, 1));
    assert!(!with(10_000, 1_000), "a flow a millisecond");
    assert!(!with(100, 0), "a hundred flows");
}
