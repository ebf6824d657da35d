//! A copy in the making as a store: what has come can be read at once, and is on the disk in the end.

use broadcast::transfer::{Hash, Store};
use files::{Choice, Content, Error, Keeping, Named, Part};
use process::Payload;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const CHUNK: u64 = 1000;
const CHUNKS: u32 = 101;

fn bytes(length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut out);
    out
}

/// What is sent, and an empty copy of it.
fn begin(at: &TempDir) -> (Content, Keeping, PathBuf) {
    let file = at.path().join("source.bin");
    fs::write(&file, bytes(100_500)).unwrap();
    let source = Content::open(&file, Choice::default(), CHUNK).unwrap();
    let target = at.path().join("copy.bin");
    let keeping = begin_at(&source, &target);
    (source, keeping, target)
}

/// Another test's child may hold a journal that was just closed, between fork and exec.
#[expect(clippy::disallowed_methods, reason = "a test that waits for the kernel")]
fn begin_at(source: &Content, target: &Path) -> Keeping {
    for _ in 0..500 {
        match Part::begin(target, source.layout().clone(), CHUNK, false) {
            Err(Error::Busy { .. }) => std::thread::sleep(std::time::Duration::from_millis(10)),
            begun => return Keeping::new(begun.unwrap()),
        }
    }
    panic!("the journal is still held");
}

fn content(payload: &Payload) -> &[u8] {
    match payload {
        Payload::Data(bytes) => bytes,
        Payload::Zeros(_) => panic!("real bytes"),
    }
}

fn give(source: &mut Content, keeping: &mut Keeping, chunk: u32) -> (Payload, Hash) {
    let (whole, hash) = Store::read(source, chunk).unwrap();
    let mut rest = whole.clone();
    let first = rest.split_to(whole.len() / 3);
    keeping.write(chunk, &[first, rest], &hash).unwrap();
    (whole, hash)
}

#[expect(clippy::disallowed_methods, reason = "a test that waits for another thread")]
fn named(keeping: &Keeping) {
    let outcome = keeping.outcome();
    while outcome.get() == Named::Finishing {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(outcome.get(), Named::Done);
}

#[test]
fn a_chunk_can_be_read_as_soon_as_it_came_and_the_copy_is_whole() {
    let at = TempDir::new().unwrap();
    let (mut source, mut keeping, target) = begin(&at);
    for chunk in (0..CHUNKS).rev() {
        assert!(!keeping.have(chunk) && keeping.read(chunk).is_err());
        let (whole, hash) = give(&mut source, &mut keeping, chunk);
        let (again, same) = keeping.read(chunk).unwrap();
        assert_eq!((content(&again), same), (content(&whole), hash));
        assert!(keeping.have(chunk));
    }
    keeping.complete().unwrap();
    named(&keeping);
    assert_eq!(fs::read(&target).unwrap(), bytes(100_500));
    assert_eq!(content(&keeping.read(7).unwrap().0), &bytes(100_500)[7000..8000]);
}

#[test]
fn what_came_before_an_interruption_is_there() {
    let at = TempDir::new().unwrap();
    let (mut source, mut keeping, target) = begin(&at);
    for chunk in 0..50 {
        give(&mut source, &mut keeping, chunk);
    }
    drop(keeping);
    let keeping = begin_at(&source, &target);
    assert!((0..CHUNKS).all(|chunk| keeping.have(chunk) == (chunk < 50)));
}

#[test]
fn a_chunk_that_is_forgotten_may_come_again() {
    let at = TempDir::new().unwrap();
    let (mut source, mut keeping, _) = begin(&at);
    for chunk in 0..CHUNKS {
        give(&mut source, &mut keeping, chunk);
    }
    keeping.forget(5);
    assert!(!keeping.have(5) && keeping.complete().is_err());
    give(&mut source, &mut keeping, 5);
    keeping.complete().unwrap();
    named(&keeping);
}

/// A file system of one megabyte.
struct Small(TempDir);

impl Small {
    fn mounted() -> Option<Small> {
        let at = TempDir::new().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "incast-test"])
            .arg(at.path())
            .output();
        let mounted = mount.is_ok_and(|done| done.status.success());
        if !mounted {
            eprintln!("skipped: mounting a tmpfs needs root");
        }
        mounted.then_some(Small(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_that_fills_up_is_said_at_the_latest_when_all_is_there() {
    let Some(disk) = Small::mounted() else { return };
    let at = TempDir::new().unwrap();
    let file = at.path().join("large");
    fs::write(&file, bytes(1_040_000)).unwrap();
    let mut source = Content::open(&file, Choice::default(), 64).unwrap();
    let target = disk.0.path().join("large");
    // The journal finds no space.
    let mut keeping = Keeping::new(Part::begin(&target, source.layout().clone(), 64, false).unwrap());
    let mut error = None;
    for chunk in 0..1_040_000 / 64 {
        let (whole, hash) = Store::read(&mut source, chunk).unwrap();
        error = error.or(keeping.write(chunk, &[whole], &hash).err());
    }
    let error = keeping.complete().err().or(error).unwrap();
    assert!(error.to_string().contains("no space"), "{error}");
    drop(keeping);
    assert!(!target.exists());
}
