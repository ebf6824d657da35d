//! What was at a copy's place before: recognised chunk by chunk, left alone unless it may be replaced.

use broadcast::transfer::{ChunkSet, Store};
use files::{Choice, Content, Earlier, Layout, Named, Place};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const CHUNK: u64 = 1000;

fn bytes(length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut out);
    out
}

/// What is sent, and a file of the same form, with a byte changed at these places.
fn both(at: &TempDir, changed: &[usize]) -> (Content, PathBuf) {
    let (file, target) = (at.path().join("source.bin"), at.path().join("copy.bin"));
    fs::write(&file, bytes(10_500)).unwrap();
    let mut other = bytes(10_500);
    changed.iter().for_each(|place| other[*place] ^= 1);
    fs::write(&target, other).unwrap();
    (Content::open(&file, Choice::default(), CHUNK).unwrap(), target)
}

fn find(target: &Path, layout: &Layout, force: bool) -> Option<Earlier> {
    Earlier::find(&Place::from(target), layout, CHUNK, force)
}

fn same(source: &mut Content, earlier: &mut Earlier) -> ChunkSet {
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

/// Fetches what is missing, which is so many chunks, until the copy has its name.
#[expect(clippy::disallowed_methods, reason = "a test that waits for another thread")]
fn complete(source: &mut Content, earlier: &mut Earlier, missing: &[u32]) {
    let count = source.chunks() as u32;
    let all: ChunkSet = (0..count)
        .filter(|chunk| earlier.is_same(*chunk, &Store::hash(source, *chunk).unwrap()).unwrap())
        .collect();
    earlier.adopt(&all).unwrap();
    let lacks: Vec<u32> = (0..count).filter(|chunk| !earlier.have(*chunk)).collect();
    assert_eq!(lacks, missing);
    for chunk in lacks {
        let (content, hash) = Store::read(source, chunk).unwrap();
        earlier.write(chunk, &[content], &hash).unwrap();
    }
    earlier.complete().unwrap();
    while earlier.outcome().get() == Named::Finishing {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(earlier.outcome().get(), Named::Done);
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

#[test]
fn other_permissions_move_nothing() {
    let at = TempDir::new().unwrap();
    let (_, target) = both(&at, &[]);
    let file = at.path().join("source.bin");
    fs::set_permissions(&file, Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
    let mut source = Content::open(&file, Choice::default(), CHUNK).unwrap();
    assert!(find(&target, source.layout(), false).is_none(), "it is only replaced when that is asked for");
    let mut earlier = find(&target, source.layout(), true).unwrap();
    complete(&mut source, &mut earlier, &[]);
    assert_eq!((mode(&target), fs::read(&target).unwrap()), (0o750, bytes(10_500)));
}

/// A source that has this length since it was copied.
fn resized(at: &TempDir, length: usize) -> Content {
    let file = at.path().join("source.bin");
    fs::write(&file, bytes(length)).unwrap();
    Content::open(&file, Choice::default(), CHUNK).unwrap()
}

#[test]
fn what_was_appended_is_all_that_moves() {
    let at = TempDir::new().unwrap();
    let (_, target) = both(&at, &[]);
    let mut source = resized(&at, 12_700);
    let mut earlier = find(&target, source.layout(), true).unwrap();
    complete(&mut source, &mut earlier, &[10, 11, 12]);
    assert_eq!(fs::read(&target).unwrap(), bytes(12_700));
    // One that was cut off has all of it but for the last chunk's length, which is there too.
    let mut source = resized(&at, 9_300);
    let mut earlier = find(&target, source.layout(), true).unwrap();
    complete(&mut source, &mut earlier, &[]);
    assert_eq!(fs::read(&target).unwrap(), bytes(9_300));
}

#[test]
fn a_file_that_grows_moves_nothing_of_those_behind_it() {
    let at = TempDir::new().unwrap();
    let (from, target) = (at.path().join("from"), at.path().join("to"));
    for folder in [&from, &target] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("a"), bytes(500)).unwrap();
        fs::write(folder.join("b"), bytes(10_500)).unwrap();
    }
    fs::write(from.join("a"), bytes(700)).unwrap();
    fs::write(from.join("c"), b"new").unwrap();
    fs::write(target.join("old"), b"goes").unwrap();
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut earlier = find(&target, source.layout(), true).unwrap();
    complete(&mut source, &mut earlier, &[0, 11]);
    assert_eq!(fs::read(target.join("a")).unwrap(), bytes(700));
    assert_eq!(fs::read(target.join("b")).unwrap(), bytes(10_500));
    assert_eq!(fs::read(target.join("c")).unwrap(), b"new");
    assert!(!target.join("old").exists());
}

#[test]
fn what_shares_no_file_is_not_compared() {
    let at = TempDir::new().unwrap();
    let (source, target) = both(&at, &[]);
    fs::write(&target, b"").unwrap();
    assert!(find(&target, source.layout(), true).is_none());
    fs::remove_file(&target).unwrap();
    fs::create_dir(&target).unwrap();
    assert!(find(&target, source.layout(), true).is_none());
}

#[test]
fn what_changes_after_it_was_compared_is_not_reused() {
    let at = TempDir::new().unwrap();
    let (_, target) = both(&at, &[]);
    let mut source = resized(&at, 12_700);
    let mut earlier = find(&target, source.layout(), true).unwrap();
    let all = same(&mut source, &mut earlier);
    fs::write(&target, vec![7; 10_500]).unwrap();
    let why = earlier.adopt(&all).unwrap_err().to_string();
    assert!(why.contains("copy.bin") && why.contains("its content"), "{why}");
}

#[test]
fn with_force_only_what_differs_is_missing() {
    let at = TempDir::new().unwrap();
    let (mut source, target) = both(&at, &[10, 5_500]);
    let mut earlier = find(&target, source.layout(), true).unwrap();
    complete(&mut source, &mut earlier, &[0, 5]);
    assert_eq!(fs::read(&target).unwrap(), bytes(10_500));
}
