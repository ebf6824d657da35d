//! Copies from a source to a part: whole, interrupted, on a full or a corrupted disk.

use files::{About, Choice, Content, Error, Hash, Kind, Layout, Part, scan};
use proptest::prelude::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use units::testing::cases;

const CHUNK: u64 = 1000;
const ABOUT: About = About { mode: 0o755, mtime_ns: 0, owner: None };

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut out);
    out
}

/// A file of 4500 bytes in five chunks, and where a copy of it would be.
fn one(at: &TempDir) -> (PathBuf, PathBuf) {
    let source = at.path().join("source.bin");
    fs::write(&source, bytes(1, 4500)).unwrap();
    (source, at.path().join("copy.bin"))
}

fn copy(source: &mut Content, part: &mut Part, chunks: impl IntoIterator<Item = u64>) {
    for chunk in chunks {
        let (bytes, hash) = source.read(chunk).unwrap();
        let (first, rest) = bytes.split_at(bytes.len() / 3);
        part.write(chunk, &[first, rest], &hash).unwrap();
    }
}

fn begin(target: &Path, source: &Content) -> Part {
    begin_with(target, source.layout(), CHUNK)
}

/// Waits for something outside of this test.
#[expect(clippy::disallowed_methods, reason = "a test that waits for the kernel")]
fn wait_ms(ms: u64) {
    std::thread::sleep(std::time::Duration::from_millis(ms));
}

/// Another test's child may hold a journal that was just closed, between fork and exec.
fn begin_with(target: &Path, layout: &Layout, chunk: u64) -> Part {
    for _ in 0..500 {
        match Part::begin(target, layout.clone(), chunk, false) {
            Err(error) if error.to_string().contains("another broadcast") => {
                wait_ms(10);
            }
            begun => return begun.unwrap(),
        }
    }
    panic!("the journal is still held");
}

/// Blocks of 512 bytes that a file takes.
fn blocks(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks()
}

#[test]
fn holes_stay_holes() {
    let at = folder();
    let (path, target) = (at.path().join("source"), at.path().join("copy"));
    let file = fs::File::create(&path).unwrap();
    file.set_len(4 << 20).unwrap();
    file.write_all_at(&bytes(1, 5000), 1_500_000).unwrap();
    file.sync_all().unwrap();
    if blocks(&path) * 512 > 1 << 20 {
        return eprintln!("skipped: the file system has no holes");
    }
    const CHUNK: u64 = 64 << 10;
    let mut source = Content::open(&path, Choice::default(), CHUNK).unwrap();
    assert_eq!(source.layout().entries[0].kind, Kind::File { bytes: 4 << 20, sparse: true });
    let mut part = begin_with(&target, source.layout(), CHUNK);
    // A chunk that came as something else first leaves nothing of it.
    let wrong = vec![1; CHUNK as usize];
    part.write(3, &[&wrong], blake3::hash(&wrong).as_bytes()).unwrap();
    copy(&mut source, &mut part, 0..64);
    part.finish().unwrap().run().unwrap();
    assert_eq!(fs::read(&target).unwrap(), fs::read(&path).unwrap());
    assert!(blocks(&target) * 512 <= 1 << 20, "{}", blocks(&target));
}

#[test]
fn zeros_that_a_source_has_on_its_disk_are_on_those_of_copies() {
    let at = folder();
    let (path, target) = (at.path().join("source"), at.path().join("copy"));
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    let mut source = Content::open(&path, Choice::default(), 64 << 10).unwrap();
    let mut part = begin_with(&target, source.layout(), 64 << 10);
    copy(&mut source, &mut part, 0..16);
    part.finish().unwrap().run().unwrap();
    assert!(blocks(&target) * 512 >= 1 << 20);
}

/// Names beside the target that are not the target or the source.
fn left(at: &Path) -> Vec<String> {
    let names = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.contains("incast")).collect();
    names.sort();
    names
}

#[test]
fn a_file_arrives_and_leaves_nothing_else() {
    let at = folder();
    let (from, to) = one(&at);
    fs::set_permissions(&from, Permissions::from_mode(0o440)).unwrap();
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    copy(&mut source, &mut part, [4, 0, 2, 1]);
    assert!(part.finish().err().unwrap().to_string().contains("not whole"));
    assert!(!to.exists());
    copy(&mut source, &mut part, [3]);
    let finish = part.finish().unwrap();
    assert!(!to.exists());
    finish.run().unwrap();
    assert_eq!(fs::read(&to).unwrap(), fs::read(&from).unwrap());
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o440);
    assert!(left(at.path()).is_empty());
    // Others can still be served.
    assert_eq!(part.read(2).unwrap(), source.read(2).unwrap().0);
    source.check().unwrap();
}

#[test]
fn a_target_that_exists_is_replaced_only_when_asked() {
    let at = folder();
    let (from, to) = one(&at);
    fs::create_dir(&to).unwrap();
    fs::write(to.join("old"), "old").unwrap();
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let error = Part::begin(&to, source.layout().clone(), CHUNK, false).err().unwrap();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    let mut part = Part::begin(&to, source.layout().clone(), CHUNK, true).unwrap();
    copy(&mut source, &mut part, 0..5);
    assert_eq!(fs::read_to_string(to.join("old")).unwrap(), "old");
    part.finish().unwrap().run().unwrap();
    assert_eq!(fs::read(&to).unwrap(), bytes(1, 4500));
    assert!(left(at.path()).is_empty());
}

#[test]
fn a_target_that_comes_to_be_meanwhile_is_left_alone() {
    let at = folder();
    let (from, to) = one(&at);
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    copy(&mut source, &mut part, 0..5);
    fs::write(&to, "somebody else's").unwrap();
    assert!(matches!(part.finish().unwrap().run(), Err(Error::Exists { .. })));
    assert_eq!(fs::read_to_string(&to).unwrap(), "somebody else's");
}

#[test]
fn an_interrupted_copy_goes_on_with_what_is_right() {
    let at = folder();
    let (from, to) = one(&at);
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    copy(&mut source, &mut part, [0, 1, 3]);
    part.take_back(1).unwrap();
    assert_eq!(part.there(), 2);
    // The process dies; the disk turns a bit, and the journal's last record is torn.
    copy(&mut source, &mut part, [4]);
    drop(part);
    let unfinished = at.path().join(".copy.bin.incast-part");
    let disk = fs::OpenOptions::new().read(true).write(true).open(&unfinished).unwrap();
    let mut byte = [0];
    disk.read_exact_at(&mut byte, 3500).unwrap();
    disk.write_all_at(&[byte[0] ^ 1], 3500).unwrap();
    let journal = at.path().join(".copy.bin.incast-journal");
    let disk = fs::OpenOptions::new().write(true).open(&journal).unwrap();
    disk.set_len(disk.metadata().unwrap().len() - 1).unwrap();
    let mut part = begin(&to, &source);
    let there: Vec<u64> = (0..5).filter(|chunk| part.hash(*chunk).is_some()).collect();
    assert_eq!((there, part.there()), (vec![0], 1));
    copy(&mut source, &mut part, 1..5);
    part.finish().unwrap().run().unwrap();
    assert_eq!(fs::read(&to).unwrap(), bytes(1, 4500));
}

#[test]
fn an_interrupted_copy_goes_on_with_chunks_of_another_size() {
    let at = folder();
    let (from, to) = one(&at);
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    copy(&mut source, &mut part, [0, 1, 3, 4]);
    part.take_back(1).unwrap();
    copy(&mut source, &mut part, [1]);
    drop(part);
    // The disk turns a bit of chunk 3; chunk 2 never came.
    let unfinished = at.path().join(".copy.bin.incast-part");
    let disk = fs::OpenOptions::new().read(true).write(true).open(&unfinished).unwrap();
    let mut byte = [0];
    disk.read_exact_at(&mut byte, 3100).unwrap();
    disk.write_all_at(&[byte[0] ^ 1], 3100).unwrap();
    // What is there, as ranges of bytes: 0..2000 and 4000..4500.
    for (size, expected) in [(500, vec![0, 1, 2, 3, 8]), (750, vec![0, 1]), (1, (0..1500).collect())] {
        let part = begin_with(&to, source.layout(), size);
        let there: Vec<u64> = (0..part.chunks()).filter(|chunk| part.hash(*chunk).is_some()).collect();
        assert_eq!((there.len() as u64, there), (part.there(), expected), "chunks of {size}");
    }
    let mut part = begin(&to, &source);
    let there: Vec<u64> = (0..5).filter(|chunk| part.hash(*chunk).is_some()).collect();
    assert_eq!(there, [0]);
    copy(&mut source, &mut part, 1..5);
    part.finish().unwrap().run().unwrap();
    assert_eq!(fs::read(&to).unwrap(), bytes(1, 4500));
}

#[test]
fn a_copy_of_something_else_begins_anew() {
    let at = folder();
    let (from, to) = one(&at);
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    copy(&mut source, &mut part, 0..4);
    drop(part);
    fs::write(&from, bytes(2, 4400)).unwrap();
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    assert_eq!(part.there(), 0);
    copy(&mut source, &mut part, 0..5);
    part.finish().unwrap().run().unwrap();
    assert_eq!(fs::read(&to).unwrap(), bytes(2, 4400));
}

#[test]
fn two_broadcasts_do_not_write_one_copy() {
    let at = folder();
    let (from, to) = one(&at);
    let source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let _first = begin(&to, &source);
    let error = Part::begin(&to, source.layout().clone(), CHUNK, false).err().unwrap();
    assert!(error.to_string().contains("another broadcast is writing it"), "{error}");
}

#[test]
fn a_source_that_changes_is_named() {
    let at = folder();
    let (from, _) = one(&at);
    let changed =
        [("its length", bytes(1, 4501)), ("its content", bytes(3, 4500)), ("its length", Vec::new())];
    for (what, now) in changed {
        fs::write(&from, bytes(1, 4500)).unwrap();
        let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
        source.read(0).unwrap();
        // Times of files are no finer than the kernel's tick.
        wait_ms(20);
        fs::write(&from, now).unwrap();
        for error in [source.read(4).err().unwrap(), source.check().unwrap_err()] {
            assert_eq!(error.to_string(), format!("source.bin changed while it was sent: {what}"));
        }
    }
}

#[test]
fn content_that_changes_with_its_times_set_back_is_noticed() {
    let at = folder();
    let (from, _) = one(&at);
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    source.read(1).unwrap();
    let times = fs::metadata(&from).unwrap().modified().unwrap();
    fs::write(&from, bytes(3, 4500)).unwrap();
    fs::File::options().write(true).open(&from).unwrap().set_modified(times).unwrap();
    assert!(source.read(1).unwrap_err().to_string().contains("its content"));
}

#[test]
fn a_file_that_is_replaced_by_another_is_noticed() {
    let at = folder();
    let (from, other) = one(&at);
    let source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    fs::write(&other, bytes(1, 4500)).unwrap();
    fs::rename(&other, &from).unwrap();
    assert!(source.check().unwrap_err().to_string().contains("another file has its name"));
}

/// A folder with an empty file, a read-only folder, a link, and files that share chunks.
fn tree(at: &Path) -> PathBuf {
    let root = at.join("tree");
    fs::create_dir_all(root.join("a/deep")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::write(root.join("a/deep/one"), bytes(1, 700)).unwrap();
    fs::write(root.join("a/two"), bytes(2, 1800)).unwrap();
    fs::write(root.join("nothing"), "").unwrap();
    fs::write(root.join("three"), bytes(3, 10)).unwrap();
    symlink("../a/two", root.join("empty/link")).unwrap();
    symlink("nowhere", root.join("broken")).unwrap();
    fs::set_permissions(root.join("three"), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(root.join("a/deep"), Permissions::from_mode(0o555)).unwrap();
    root
}

#[test]
fn times_arrive_and_owners_where_they_are_asked_for() {
    let at = folder();
    let from = tree(at.path());
    let old = std::time::UNIX_EPOCH - std::time::Duration::from_nanos(1_500_000_001);
    for path in ["three", "a"] {
        fs::File::open(from.join(path)).unwrap().set_modified(old).unwrap();
    }
    let root = fs::metadata(&from).unwrap().uid() == 0;
    if root {
        std::os::unix::fs::chown(from.join("three"), Some(1234), Some(2345)).unwrap();
    }
    let who = |path: &Path| fs::metadata(path.join("three")).map(|found| (found.uid(), found.gid())).unwrap();
    for owners in [false, root] {
        let to = at.path().join(format!("copy-{owners}"));
        let mut source = Content::open(&from, Choice::default().owners(owners), CHUNK).unwrap();
        let mut part = begin(&to, &source);
        copy(&mut source, &mut part, 0..3);
        part.finish().unwrap().run().unwrap();
        for path in ["three", "a"] {
            assert_eq!(fs::metadata(to.join(path)).unwrap().modified().unwrap(), old, "{path}");
        }
        assert_eq!(who(&to) == (1234, 2345), owners);
    }
}

#[test]
fn a_folder_arrives_with_its_form() {
    let at = folder();
    let from = tree(at.path());
    let to = at.path().join("copy");
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    assert_eq!((source.chunks(), source.layout().bytes()), (3, 2510));
    let mut part = begin(&to, &source);
    copy(&mut source, &mut part, [2, 0]);
    drop(part);
    let mut part = begin(&to, &source);
    assert_eq!(part.there(), 2);
    copy(&mut source, &mut part, [1]);
    part.finish().unwrap().run().unwrap();
    assert_eq!(scan(&to, &Choice::default()).unwrap(), scan(&from, &Choice::default()).unwrap());
    for file in ["a/deep/one", "a/two", "nothing", "three"] {
        assert_eq!(fs::read(to.join(file)).unwrap(), fs::read(from.join(file)).unwrap(), "{file}");
    }
    assert_eq!(part.read(1).unwrap(), source.read(1).unwrap().0);
    assert!(left(at.path()).is_empty());
    // And once more, in place of a folder that is there.
    let mut part = Part::begin(&to, source.layout().clone(), CHUNK, true).unwrap();
    fs::write(to.join("more"), "more").unwrap();
    copy(&mut source, &mut part, 0..3);
    part.finish().unwrap().run().unwrap();
    assert!(!to.join("more").exists());
}

#[test]
fn a_folder_that_gains_a_file_is_noticed() {
    let at = folder();
    let from = tree(at.path());
    let source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    fs::write(from.join("new"), "").unwrap();
    assert!(source.check().unwrap_err().to_string().contains("what is in it"));
}

#[test]
fn what_cannot_be_sent_is_named() {
    let at = folder();
    let root = at.path().join("root");
    fs::create_dir(&root).unwrap();
    for (name, to) in [("up", "../x"), ("absolute", "/etc/passwd")] {
        symlink(to, root.join(name)).unwrap();
        let error = scan(&root, &Choice::default()).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("leads out"), "{error}");
        fs::remove_file(root.join(name)).unwrap();
    }
    let socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    assert!(
        scan(&root, &Choice::default()).unwrap_err().to_string().contains("socket: a socket can't be sent")
    );
    drop(socket);
    assert!(scan(Path::new("/dev/null"), &Choice::default()).unwrap_err().to_string().contains("a device"));
    assert!(scan(&root.join("missing"), &Choice::default()).unwrap_err().to_string().contains("missing"));
}

#[test]
fn nothing_is_written_through_a_link_in_the_place_of_a_part() {
    let at = folder();
    let (from, to) = one(&at);
    let other = at.path().join("other");
    fs::write(&other, "other").unwrap();
    symlink(&other, at.path().join(".copy.bin.incast-part")).unwrap();
    let mut source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    copy(&mut source, &mut part, 0..5);
    part.finish().unwrap().run().unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    assert!(fs::symlink_metadata(&to).unwrap().is_file());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let at = folder();
    let (from, _) = one(&at);
    let layout = scan(&from, &Choice::default()).unwrap();
    let error = Part::begin(&at.path().join("no/such/copy"), layout, CHUNK, false).err().unwrap();
    assert!(error.to_string().contains("no/such"), "{error}");
}

#[test]
fn an_empty_file_is_whole_at_once() {
    let at = folder();
    let (from, to) = one(&at);
    fs::write(&from, "").unwrap();
    let source = Content::open(&from, Choice::default(), CHUNK).unwrap();
    let mut part = begin(&to, &source);
    assert_eq!(part.chunks(), 0);
    part.finish().unwrap().run().unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"");
}

/// A file system of 1 MiB.
struct Small(TempDir);

impl Small {
    fn mounted() -> Option<Small> {
        let at = folder();
        let mount = std::process::Command::new("mount")
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
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_without_enough_space_is_found_before_anything_comes() {
    let Some(disk) = Small::mounted() else { return };
    let at = folder();
    let from = at.path().join("large");
    fs::write(&from, vec![0; 8 << 20]).unwrap();
    let layout = scan(&from, &Choice::default()).unwrap();
    let error = Part::begin(&disk.0.path().join("large"), layout, CHUNK, false).err().unwrap();
    assert!(matches!(error, Error::Full { needed: 8_388_608, .. }), "{error}");
    assert!(error.to_string().contains("no space: 8388608 bytes are needed"), "{error}");
    assert_eq!(fs::read_dir(disk.0.path()).unwrap().count(), 0);
}

#[test]
fn a_disk_that_fills_up_with_the_journal_is_named_and_what_was_there_stays() {
    let Some(disk) = Small::mounted() else { return };
    let at = folder();
    let from = at.path().join("large");
    fs::write(&from, bytes(1, 1_040_000)).unwrap();
    let mut source = Content::open(&from, Choice::default(), 64).unwrap();
    let to = disk.0.path().join("large");
    let mut part = Part::begin(&to, source.layout().clone(), 64, false).unwrap();
    let mut error = None;
    for chunk in 0..part.chunks() {
        let (bytes, hash) = source.read(chunk).unwrap();
        error = part.write(chunk, &[&bytes], &hash).err();
        if error.is_some() {
            break;
        }
    }
    let there = part.there();
    assert!(matches!(error, Some(Error::Full { .. })) && there > 0, "{error:?}");
    drop(part);
    assert!(!to.exists());
    let part = begin_with(&to, source.layout(), 64);
    assert!(part.there() >= there - 1);
}

fn layouts() -> impl Strategy<Value = Vec<(String, usize)>> {
    prop::collection::btree_map("[a-c]/[a-d]{1,2}", 0..3000_usize, 0..12)
        .prop_map(|map| map.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    /// Whatever the files, the order of chunks, and where the copy is interrupted: it is the same in the end.
    #[test]
    fn any_folder_arrives_in_any_order(
        files in layouts(), chunk in 1..2000_u64, cut in 0.0..1.0_f64, seed: u64,
    ) {
        let at = folder();
        let (from, to) = (at.path().join("from"), at.path().join("to"));
        fs::create_dir(&from).unwrap();
        for (path, length) in &files {
            let place = from.join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, bytes(*length as u64, *length)).unwrap();
        }
        let mut source = Content::open(&from, Choice::default(), chunk).unwrap();
        let mut order: Vec<u64> = (0..source.chunks()).collect();
        order.sort_by_key(|chunk| *blake3::hash(&[chunk.to_le_bytes(), seed.to_le_bytes()].concat()).as_bytes());
        let (first, second) = order.split_at((cut * order.len() as f64) as usize);
        let layout = source.layout().clone();
        let mut part = begin_with(&to, &layout, chunk);
        copy(&mut source, &mut part, first.iter().copied());
        drop(part);
        let mut part = begin_with(&to, &layout, chunk);
        prop_assert_eq!(part.there(), first.len() as u64);
        copy(&mut source, &mut part, second.iter().copied());
        part.finish().unwrap().run().unwrap();
        prop_assert_eq!(scan(&to, &Choice::default()).unwrap(), layout);
        for (path, _) in &files {
            prop_assert_eq!(fs::read(to.join(path)).unwrap(), fs::read(from.join(path)).unwrap());
        }
    }

    /// A layout from the network that passes its check names nothing outside of the folder.
    #[test]
    fn a_hostile_layout_stays_inside(paths in prop::collection::vec("[./ab\0-]{0,6}", 0..6), link in "[./ab]{0,6}") {
        let entry = |(index, path): (usize, &String)| files::Entry {
            path: path.clone(),
            about: About { mode: 0o644, ..ABOUT },
            kind: match index % 3 {
                0 => Kind::Folder,
                1 => Kind::File { bytes: 3, sparse: false },
                _ => Kind::Link { to: link.clone() },
            },
        };
        let layout = Layout { folder: Some(ABOUT), entries: paths.iter().enumerate().map(entry).collect() };
        let at = folder();
        let inner = at.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let target = inner.join("target");
        if let Ok(mut part) = Part::begin(&target, layout, 1000, false) {
            let hash: Hash = *blake3::hash(&[]).as_bytes();
            for chunk in 0..part.chunks() {
                let bytes = vec![7; part.length(chunk)];
                part.write(chunk, &[&bytes], &hash).unwrap();
            }
            part.finish().unwrap().run().unwrap();
            prop_assert_eq!(fs::read_dir(&inner).unwrap().count(), 1);
            prop_assert!(scan(&target, &Choice::default()).is_ok());
        }
        prop_assert_eq!(fs::read_dir(at.path()).unwrap().count(), 1);
    }
}
