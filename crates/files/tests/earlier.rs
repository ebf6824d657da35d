//! What was at a copy's place before: recognised chunk by chunk, left alone unless it may be replaced.

use broadcast::transfer::{ChunkSet, Store};
use files::{Choice, Earlier, Layout, Named, Place, Source};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const CHUNK: u64 = 1000;

fn bytes(length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut out);
    out
}

/// What is sent, and a file of the same form, with a byte changed at these places.
fn both(at: &TempDir, changed: &[usize]) -> (Source, PathBuf) {
    let (file, target) = (at.path().join("source.bin"), at.path().join("copy.bin"));
    fs::write(&file, bytes(10_500)).unwrap();
    let mut other = bytes(10_500);
    changed.iter().for_each(|place| other[*place] ^= 1);
    fs::write(&target, other).unwrap();
    (Source::open(&file, Choice::default(), CHUNK).unwrap(), target)
}

fn find(target: &Path, layout: &Layout, force: bool) -> Option<Earlier> {
    Earlier::find(&Place::from(target), layout, CHUNK, force)
}

fn same(source: &mut Source, earlier: &mut Earlier) -> ChunkSet {
    (0..11)
        .filter(|chunk| {
            let hash = Store::hash(source, *chunk).unwrap();
            earlier.is_same(*chunk, &hash).unwrap()
        })
        .collect()
}

#[test]
fn a_copy_that_is_there_is_done_and_nothing_is_left_of_its_making() {
    let at = TempDir::new().unwrap();
    let (mut source, target) = both(&at, &[]);
    // As after a death between the last two steps: it has its name, and the journal is still there.
    fs::write(at.path().join(".copy.bin.incast-journal"), b"").unwrap();
    let mut earlier = find(&target, source.layout(), false).unwrap();
    assert!(earlier.offers() && !earlier.have(3));
    let all = same(&mut source, &mut earlier);
    assert_eq!(all.len(), 11);
    earlier.adopt(&all).unwrap();
    assert!(!earlier.offers() && earlier.have(3));
    assert_eq!(earlier.read(3).unwrap(), Store::read(&mut source, 3).unwrap());
    earlier.complete().unwrap();
    assert_eq!(earlier.outcome().get(), Named::Done);
    let names: Vec<_> = fs::read_dir(at.path()).unwrap().map(|each| each.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn another_file_is_left_alone() {
    let at = TempDir::new().unwrap();
    let (mut source, target) = both(&at, &[10]);
    let before = fs::read(&target).unwrap();
    let mut earlier = find(&target, source.layout(), false).unwrap();
    let all = same(&mut source, &mut earlier);
    let why = earlier.adopt(&all).unwrap_err().to_string();
    assert!(why.ends_with("copy.bin exists already with other content; --force replaces it"), "{why}");
    assert_eq!(fs::read(&target).unwrap(), before);
    fs::write(&target, &before[1..]).unwrap();
    assert!(find(&target, source.layout(), false).is_none(), "it has another form");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that waits for another thread")]
fn with_force_only_what_differs_is_missing() {
    let at = TempDir::new().unwrap();
    let (mut source, target) = both(&at, &[10, 5_500]);
    let mut earlier = find(&target, source.layout(), true).unwrap();
    let all = same(&mut source, &mut earlier);
    earlier.adopt(&all).unwrap();
    let missing: Vec<u32> = (0..11).filter(|chunk| !earlier.have(*chunk)).collect();
    assert_eq!(missing, [0, 5]);
    for chunk in missing {
        let (content, hash) = Store::read(&mut source, chunk).unwrap();
        earlier.write(chunk, &[content], &hash).unwrap();
    }
    earlier.complete().unwrap();
    while earlier.outcome().get() == Named::Finishing {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(earlier.outcome().get(), Named::Done);
    assert_eq!(fs::read(&target).unwrap(), bytes(10_500));
}
