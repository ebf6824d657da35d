//! Below an agent's folder, and nowhere else: whoever has the key names paths, and others may change what
//! lies there.

use files::{Choice, Content, Keeping, Layout, Part, Place, scan};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

const CHUNK: u64 = 1000;
const SECRET: &[u8] = b"what is outside is nobody's business";

/// A folder with a root and what lies outside of it.
struct Machine {
    at: TempDir,
}

impl Machine {
    fn new() -> Machine {
        let at = TempDir::new().unwrap();
        fs::create_dir_all(at.path().join("root/inner")).unwrap();
        fs::create_dir(at.path().join("outside")).unwrap();
        fs::write(at.path().join("outside/secret"), SECRET).unwrap();
        Machine { at }
    }

    fn root(&self) -> PathBuf {
        self.at.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.at.path().join("outside")
    }

    fn place(&self, path: impl AsRef<Path>) -> Place {
        Place::below(&self.root(), path.as_ref())
    }

    /// Why nothing can be read there.
    fn source(&self, path: impl AsRef<Path>) -> Option<String> {
        Content::open(self.place(path), Choice::default(), CHUNK).err().map(|error| error.to_string())
    }

    /// Why nothing can be written there.
    fn target(&self, path: impl AsRef<Path>) -> Option<String> {
        Part::begin(self.place(path), layout(), CHUNK, true).err().map(|error| error.to_string())
    }

    /// Nothing outside has changed.
    fn assert_untouched(&self) {
        assert_eq!(fs::read(self.outside().join("secret")).unwrap(), SECRET);
        let names: Vec<_> =
            fs::read_dir(self.outside()).unwrap().map(|each| each.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"]);
    }
}

/// Says that it is over when it goes.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn layout() -> Layout {
    serde_json::from_str(
        r#"{"folder":null,"entries":[{"path":"","about":{"mode":420},"kind":"file","bytes":36}]}"#,
    )
    .unwrap()
}

fn copy(part: &mut Part) {
    part.write(0, &[SECRET], blake3::hash(SECRET).as_bytes()).unwrap();
    part.finish().unwrap().run().unwrap();
}

#[test]
fn no_name_leads_out_whether_it_is_read_or_written() {
    let machine = Machine::new();
    let (root, outside) = (machine.root(), machine.outside());
    symlink(&outside, root.join("up")).unwrap();
    symlink("../../outside", root.join("inner/up")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    let absolute = outside.join("secret");
    let through = Path::new("magic").join(absolute.strip_prefix("/").unwrap());
    let names = ["../outside/secret", "inner/../../outside/secret", "up/secret", "inner/up/secret"];
    let paths = names.map(PathBuf::from).into_iter().chain([absolute, through, root.join("up/secret")]);
    for path in paths {
        for why in [machine.source(&path), machine.target(&path)] {
            let why = why.unwrap_or_else(|| panic!("{} was opened", path.display()));
            assert!(why.contains("is not below the agent's folder"), "{}: {why}", path.display());
        }
    }
    for path in [".", "..", "", "inner/.."] {
        assert!(machine.source(path).is_some() && machine.target(path).is_some(), "{path:?}");
    }
    machine.assert_untouched();
}

#[test]
fn names_below_it_are_read_and_written() {
    let machine = Machine::new();
    symlink("inner", machine.root().join("other")).unwrap();
    let paths = [PathBuf::from("a"), "inner/../b".into(), "other/c".into(), machine.root().join("inner/d")];
    for path in paths {
        copy(&mut Part::begin(machine.place(&path), layout(), CHUNK, false).unwrap());
        let mut source = Content::open(machine.place(&path), Choice::default(), CHUNK).unwrap();
        assert_eq!(source.read(0).unwrap().0, SECRET, "{}", path.display());
        source.check().unwrap();
    }
    assert!(machine.root().join("inner/c").is_file());
}

#[test]
fn a_link_is_not_what_it_leads_to() {
    let machine = Machine::new();
    let root = machine.root();
    symlink(machine.outside().join("secret"), root.join("file")).unwrap();
    symlink(machine.outside(), root.join("folder")).unwrap();
    for name in ["file", "folder"] {
        assert!(machine.source(name).unwrap().contains("a link can't be sent"));
    }
    // The name is replaced, not what the link leads to.
    copy(&mut Part::begin(machine.place("file"), layout(), CHUNK, true).unwrap());
    assert!(fs::symlink_metadata(root.join("file")).unwrap().is_file());
    machine.assert_untouched();
    fs::create_dir(root.join("sent")).unwrap();
    symlink("../../outside/secret", root.join("sent/link")).unwrap();
    assert!(machine.source("sent").unwrap().contains("a link that leads out of the folder"));
}

#[test]
fn files_with_names_outside_are_neither_read_nor_written() {
    let machine = Machine::new();
    let (root, secret) = (machine.root(), machine.outside().join("secret"));
    fs::create_dir(root.join("sent")).unwrap();
    for name in ["file", "sent/file"] {
        fs::hard_link(&secret, root.join(name)).unwrap();
    }
    for name in ["file", "sent"] {
        assert!(machine.source(name).unwrap().contains("with other names"));
    }
    // An unfinished copy that somebody has put there, with a journal that fits: it begins again in a file of
    // its own.
    drop(Part::begin(machine.place("copy"), layout(), CHUNK, false).unwrap());
    let part = root.join(".copy.incast-part");
    fs::remove_file(&part).unwrap();
    fs::hard_link(&secret, &part).unwrap();
    copy(&mut Part::begin(machine.place("copy"), layout(), CHUNK, false).unwrap());
    machine.assert_untouched();
    for plant in
        [|from: &Path, to: &Path| fs::hard_link(from, to), |from: &Path, to: &Path| symlink(from, to)]
    {
        let journal = root.join(".more.incast-journal");
        plant(&secret, &journal).unwrap();
        assert!(machine.target("more").unwrap().contains(".more.incast-journal"));
        fs::remove_file(journal).unwrap();
    }
    machine.assert_untouched();
}

#[test]
fn parts_that_are_links_are_replaced() {
    let machine = Machine::new();
    let part = machine.root().join(".copy.incast-part");
    for to in [machine.outside(), machine.outside().join("secret")] {
        symlink(to, &part).unwrap();
        copy(&mut Part::begin(machine.place("copy"), layout(), CHUNK, true).unwrap());
        machine.assert_untouched();
    }
}

/// A name is now a folder and now a link to one outside, as fast as it goes.
#[test]
fn names_that_change_meanwhile_lead_nowhere_else() {
    let machine = Machine::new();
    let root = machine.root();
    fs::create_dir(root.join("sent")).unwrap();
    fs::create_dir(root.join("sent/inner")).unwrap();
    fs::write(root.join("sent/inner/secret"), b"inside").unwrap();
    symlink(machine.outside(), root.join("sent/link")).unwrap();
    let over = AtomicBool::new(false);
    let flip = || {
        let folder = sys::file::folder(&root.join("sent")).unwrap();
        while !over.load(Ordering::Relaxed) {
            sys::file::exchange(&folder, "inner", "link").unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(flip);
        // A failed assertion ends the other thread too.
        let _ended = Ended(&over);
        let (mut read, mut wrote) = (0, 0);
        for _ in 0..2000 {
            if let Ok(mut source) =
                Content::open(machine.place("sent/inner/secret"), Choice::default(), CHUNK)
                && let Ok((bytes, _)) = source.read(0)
            {
                assert_eq!(bytes, b"inside");
                read += 1;
            }
            if let Ok(part) = Part::begin(machine.place("sent/inner/copy"), layout(), CHUNK, true) {
                drop(Keeping::new(part));
                wrote += 1;
            }
            // The folder itself, with all that is in it. Both names may be the inner folder, one after the
            // other, when each is looked at; a link is refused, never followed.
            if let Ok(layout) = scan(&root.join("sent"), &Choice::default()) {
                let mut secrets = layout.files().filter(|(path, _)| path.ends_with("secret"));
                assert!(secrets.all(|(_, bytes)| bytes == b"inside".len() as u64));
            }
        }
        assert!(read > 0 && wrote > 0, "{read} {wrote}");
    });
    machine.assert_untouched();
}
