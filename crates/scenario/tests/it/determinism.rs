//! The same scenario and seed give the same bytes. That debug and release builds do is
//! `tests/python/test_builds.py`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A shuffle with RED, shared memory, loss, a link that flaps and a capture: a bit of everything.
const SCENARIO: &str = include_str!("determinism.json");

fn run(seed: u64) -> (String, BTreeMap<PathBuf, Vec<u8>>) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let mut scenario = scenario::parse(SCENARIO).unwrap();
    scenario.seed = seed;
    let outcome = scenario::run(
        &scenario,
        &folder,
        true,
        &scenario::Linux::default(),
        std::num::NonZeroUsize::MIN,
        None,
        &mut |_| true,
    )
    .unwrap();
    let mut files = BTreeMap::new();
    collect(&folder, &folder, &mut files);
    (outcome.fingerprint, files)
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

#[test]
fn two_runs_write_the_same_bytes() {
    let (first, files) = run(1);
    let (second, again) = run(1);
    assert_eq!(first, second);
    assert!(files.len() > 10 && files.keys().any(|name| name.starts_with("captures")), "{:?}", files.keys());
    for (name, bytes) in &files {
        assert!(again[name] == *bytes, "{} differs", name.display());
    }
    assert_ne!(run(2).0, first, "another seed, another run");
}
