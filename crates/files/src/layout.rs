//! The content that is sent: one file, or a folder with everything in it, in a fixed order.
//!
//! Files and folders keep their permission bits and modification times, and owners on request. Extended
//! attributes are not kept, and hard links become separate files. Symbolic links are kept when they stay
//! within the folder. A layout comes over the network: [`Layout::check`] refuses names that would lead
//! anywhere else.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Files, folders and links in one broadcast, at most.
const ENTRIES_MAX: usize = 4 << 20;
/// Length of a path in bytes, at most (Linux's `PATH_MAX`).
const PATH_MAX: usize = 4096;
/// Permission bits: nobody is given another's rights.
const MODE: u32 = 0o777;

/// What one path is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Kind {
    /// A file.
    File {
        /// Its length.
        bytes: u64,
        /// It has holes, and so have copies: they take no space for zeros.
        #[serde(default, skip_serializing_if = "is_false")]
        sparse: bool,
    },
    /// A folder.
    Folder,
    /// A symbolic link.
    Link {
        /// Where it leads, from where it is.
        to: String,
    },
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What belongs to a path beside its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Permission bits.
    pub mode: u32,
    /// When its content last changed, in nanoseconds since 1970; of a link nothing.
    #[serde(default)]
    pub mtime_ns: i64,
    /// Numbers of user and group, where they are kept; not of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<(u32, u32)>,
}

impl About {
    fn check(&self) -> Result<(), &'static str> {
        match self {
            About { mode, .. } if *mode > MODE => Err("only permission bits are allowed"),
            // The kernel takes it as none (chown(2)).
            About { owner: Some((user, group)), .. } if [*user, *group].contains(&u32::MAX) => {
                Err("nobody has that number")
            }
            _ => Ok(()),
        }
    }
}

/// One path of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its parts joined by `/`; empty for the one file of a layout that is no folder.
    pub path: String,
    /// What belongs to it.
    pub about: About,
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What is sent. Files follow one another in the order of their entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Of the folder that is sent; nothing for a single file.
    pub folder: Option<About>,
    /// A folder comes before what is in it.
    pub entries: Vec<Entry>,
}

impl Layout {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files().map(|(_, bytes)| bytes).sum()
    }

    /// The files in order: path and length.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.entries.iter().filter_map(|entry| match entry.kind {
            Kind::File { bytes, .. } => Some((&*entry.path, bytes)),
            _ => None,
        })
    }

    /// Which files in that order have holes.
    pub(crate) fn sparse(&self) -> impl Iterator<Item = bool> {
        self.entries.iter().filter_map(|entry| match entry.kind {
            Kind::File { sparse, .. } => Some(sparse),
            _ => None,
        })
    }

    /// Whether owners are kept.
    pub(crate) fn has_owners(&self) -> bool {
        self.folder
            .iter()
            .chain(self.entries.iter().map(|entry| &entry.about))
            .any(|about| about.owner.is_some())
    }

    /// The same without times: a file that was only touched is what it was.
    pub(crate) fn timeless(&self) -> Layout {
        let mut layout = self.clone();
        let abouts = layout.folder.iter_mut().chain(layout.entries.iter_mut().map(|entry| &mut entry.about));
        abouts.for_each(|about| about.mtime_ns = 0);
        layout
    }

    /// A digest of everything in it but times: a copy goes on where it was only with the same.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let text = serde_json::to_vec(&self.timeless()).expect("a layout is plain data");
        *blake3::hash(&text).as_bytes()
    }

    /// Refuses what can't be a folder's content, or would lead out of it.
    ///
    /// # Errors
    /// The first path that is wrong, and why.
    pub fn check(&self) -> Result<(), Error> {
        if self.entries.len() > ENTRIES_MAX {
            return Err(Error::refused("the folder", format!("more than {ENTRIES_MAX} files")));
        }
        let total = self.files().try_fold(0_u64, |sum, (_, bytes)| sum.checked_add(bytes));
        if total.is_none_or(|total| total > i64::MAX as u64) {
            return Err(Error::refused("the layout", "longer than a file can be"));
        }
        if let Some(Err(why)) = self.folder.map(|about| about.check()) {
            return Err(Error::refused("the folder", why));
        }
        if self.folder.is_some() { self.check_folder() } else { self.check_file() }
    }

    fn check_file(&self) -> Result<(), Error> {
        match &self.entries[..] {
            [Entry { path, about, kind: Kind::File { .. } }] if path.is_empty() && about.check().is_ok() => {
                Ok(())
            }
            _ => Err(Error::refused("the layout", "it is neither one file nor a folder")),
        }
    }

    fn check_folder(&self) -> Result<(), Error> {
        let mut known: BTreeMap<&str, bool> = BTreeMap::from([("", true)]);
        for Entry { path, about, kind } in &self.entries {
            let refuse = |why: &str| Err(Error::refused(format!("{path:?}"), why));
            if !is_path(path) {
                return refuse("not a path within the folder");
            }
            if let Err(why) = about.check() {
                return refuse(why);
            }
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            if known.get(parent) != Some(&true) {
                return refuse("what it lies in is not a folder that was named before");
            }
            if let Kind::Link { to } = kind
                && !stays(to, path.split('/').count() - 1)
            {
                return refuse("a link that leads out of the folder");
            }
            if known.insert(path, *kind == Kind::Folder).is_some() {
                return refuse("it is there twice");
            }
        }
        Ok(())
    }
}

/// Whether it names something below a folder, and just that.
fn is_path(path: &str) -> bool {
    path.len() < PATH_MAX && path.split('/').all(is_name)
}

fn is_name(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.contains('\0')
}

/// Whether a link stays within the folder, below which its own folder lies `depth` deep. Ways up come first:
/// what they mean doesn't depend on other links then.
pub(crate) fn stays(to: &str, depth: usize) -> bool {
    let up = to.split('/').take_while(|part| *part == "..").count();
    let mut rest = to.split('/').skip(up).peekable();
    let ends = rest.peek().is_none();
    to.len() < PATH_MAX && up <= depth && (ends && up > 0 || rest.all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, kind: Kind) -> Entry {
        Entry { path: path.into(), about: ABOUT, kind }
    }

    fn folder(entries: Vec<Entry>) -> Layout {
        Layout { folder: Some(ABOUT), entries }
    }

    const ABOUT: About = About { mode: 0o644, mtime_ns: 5, owner: None };

    const FILE: Kind = Kind::File { bytes: 1, sparse: false };

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", ".", "a/.", "a\0b", "a/"] {
            assert!(folder(vec![entry("a", Kind::Folder), entry(path, FILE)]).check().is_err(), "{path:?}");
        }
        assert!(
            folder(vec![entry("..x", FILE), entry("a", Kind::Folder), entry("a/b", FILE)]).check().is_ok()
        );
    }

    #[test]
    fn nothing_lies_in_what_is_no_folder() {
        let link = Kind::Link { to: "b".into() };
        for first in [FILE, link] {
            let layout = folder(vec![entry("a", first), entry("a/b", FILE)]);
            assert!(layout.check().unwrap_err().to_string().contains("not a folder that was named before"));
        }
        assert!(folder(vec![entry("a/b", FILE), entry("a", Kind::Folder)]).check().is_err());
        assert!(folder(vec![entry("a", FILE), entry("a", FILE)]).check().is_err());
    }

    #[test]
    fn links_stay_within_the_folder() {
        for (to, depth, fine) in [
            ("x", 0, true),
            ("x/y", 0, true),
            ("../x", 1, true),
            ("..", 1, true),
            ("../../x", 1, false),
            ("..", 0, false),
            ("/x", 3, false),
            ("x/../y", 3, false),
            ("", 3, false),
            ("x/", 3, false),
        ] {
            assert_eq!(stays(to, depth), fine, "{to:?} {depth}");
        }
    }

    #[test]
    fn rights_and_lengths_have_bounds() {
        let mut layout = Layout { folder: None, entries: vec![entry("", FILE)] };
        layout.check().unwrap();
        layout.entries[0].about.mode = 0o4755;
        assert!(layout.check().is_err());
        layout.entries[0].about = About { owner: Some((0, u32::MAX)), ..ABOUT };
        assert!(layout.check().is_err());
        layout.entries[0] = entry("x", FILE);
        assert!(layout.check().is_err());
        let long = Kind::File { bytes: u64::MAX, sparse: false };
        assert!(folder(vec![entry("a", long.clone()), entry("b", long)]).check().is_err());
        assert!(serde_json::from_str::<Layout>(r#"{"folder":null,"entries":[],"more":1}"#).is_err());
    }

    #[test]
    fn times_make_no_other_copy() {
        let (one, mut other) = (folder(vec![entry("a", FILE)]), folder(vec![entry("a", FILE)]));
        other.entries[0].about.mtime_ns = 9;
        assert_eq!(one.digest(), other.digest());
        other.entries[0].about.owner = Some((1, 1));
        assert_ne!(one.digest(), other.digest());
        assert!(other.has_owners() && !one.has_owners());
    }

    #[test]
    fn it_is_plain_data() {
        let layout = folder(vec![
            entry("a", Kind::Folder),
            entry("a/b", FILE),
            entry("c", Kind::Link { to: "a/b".into() }),
            entry("d", Kind::File { bytes: 1 << 40, sparse: true }),
        ]);
        let text = serde_json::to_string(&layout).unwrap();
        assert_eq!(serde_json::from_str::<Layout>(&text).unwrap(), layout);
    }
}
