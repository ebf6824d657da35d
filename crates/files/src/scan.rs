//! Scans the content to be sent: a layout, and how each file is later recognised as unchanged.

use crate::choice::Choice;
use crate::error::Error;
use crate::layout::{About, Entry, Kind, Layout, stays};
use crate::place::{At, Place};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use sys::file;

/// Bytes of a block, as stat(2) counts them.
const BLOCK: u64 = 512;
/// Nanoseconds of a second.
const NS: i64 = 1_000_000_000;

/// By what a file is known to be the same: device, number, length, and when its content and its entry
/// changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    place: (u64, u64),
    pub bytes: u64,
    content: (i64, i64),
    entry: (i64, i64),
}

impl Stamp {
    pub fn of(found: &Metadata) -> Stamp {
        Stamp {
            place: (found.dev(), found.ino()),
            bytes: found.len(),
            content: (found.mtime(), found.mtime_nsec()),
            entry: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// What differs, when it is not the same any more.
    pub fn differs(&self, now: &Stamp) -> Option<&'static str> {
        match () {
            () if self.place != now.place => Some("another file has its name"),
            () if self.bytes != now.bytes => Some("its length"),
            () if self.content != now.content => Some("its content"),
            // Permissions or the number of names: the content is what it was, unless somebody sets times
            // back.
            () => None,
        }
    }
}

/// The layout of the file or folder at `path`, of which `choice` says what is sent.
///
/// # Errors
/// When it can't be read, or has what can't be sent: the path, and why.
pub fn scan(path: impl Into<Place>, choice: &Choice) -> Result<Layout, Error> {
    Ok(look(&path.into().of_source()?, choice)?.layout)
}

impl Choice {
    /// What belongs to a path and is kept. A link has only what it says.
    fn about(&self, found: &Metadata) -> About {
        if found.is_symlink() {
            return About { mode: 0o777, mtime_ns: 0, owner: None };
        }
        let mtime_ns = found.mtime().saturating_mul(NS).saturating_add(found.mtime_nsec());
        let owner = self.owners.then(|| (found.uid(), found.gid()));
        About { mode: found.mode() & 0o777, mtime_ns, owner }
    }
}

/// What a look has found.
pub(crate) struct Looked {
    pub layout: Layout,
    pub stamps: Vec<Stamp>,
    /// The folder that the files are in.
    pub folder: File,
}

/// Everything is found by descriptors: a name that changes meanwhile leads nowhere else.
pub(crate) fn look(at: &At, choice: &Choice) -> Result<Looked, Error> {
    let found = file::look_at(&*at.folder, &at.name).map_err(Error::of(at.shown()))?;
    let about = choice.about(&found);
    let mut walk = Walk { top: at, choice, entries: Vec::new(), stamps: Vec::new() };
    let (folder, layout) = if found.is_dir() {
        let folder = file::folder_at(&*at.folder, &at.name).map_err(Error::of(at.shown()))?;
        walk.enter(&folder, "")?;
        (folder, Layout { folder: Some(about), entries: walk.entries })
    } else {
        let kind = walk.kind(&at.folder, &at.name, "", &found)?;
        walk.stamps.push(Stamp::of(&found));
        let folder = at.folder.try_clone().map_err(Error::of(at.shown()))?;
        (folder, Layout { folder: None, entries: vec![Entry { path: String::new(), about, kind }] })
    };
    layout.check()?;
    Ok(Looked { layout, stamps: walk.stamps, folder })
}

struct Walk<'a> {
    top: &'a At,
    choice: &'a Choice,
    entries: Vec<Entry>,
    stamps: Vec<Stamp>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &File, above: &str) -> Result<(), Error> {
        let mut names = Vec::new();
        for name in file::names_in(folder).map_err(Error::of(self.shown(above)))? {
            let refuse = |name: OsString| {
                let path = PathBuf::from(self.shown(above)).join(name);
                Error::refused(path.display(), "a name that is not UTF-8 can't be sent")
            };
            names.push(name.into_string().map_err(refuse)?);
        }
        names.sort();
        for name in names {
            let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
            let found = file::look_at(folder, &name).map_err(Error::of(self.shown(&path)))?;
            if self.choice.excludes(&path, found.is_dir()) {
                continue;
            }
            let kind = self.kind(folder, &name, &path, &found)?;
            match kind {
                Kind::File { .. } => self.stamps.push(Stamp::of(&found)),
                Kind::Folder | Kind::Link { .. } => {}
            }
            let enters = kind == Kind::Folder;
            self.entries.push(Entry { path: path.clone(), about: self.choice.about(&found), kind });
            if enters {
                let inner = file::folder_at(folder, &name).map_err(Error::of(self.shown(&path)))?;
                self.enter(&inner, &path)?;
            }
        }
        Ok(())
    }

    /// What is called `name` in a folder, and lies at `path` in what is sent.
    fn kind(&self, folder: &File, name: &str, path: &str, found: &Metadata) -> Result<Kind, Error> {
        let refuse = |what: &str| Err(Error::refused(self.shown(path), format!("{what} can't be sent")));
        match found.file_type() {
            is if is.is_file() && self.top.confined && found.nlink() > 1 => {
                refuse("a file with other names, which may lie outside of the agent's folder,")
            }
            is if is.is_file() => {
                let sparse = has_holes(folder, name, found).map_err(Error::of(self.shown(path)))?;
                Ok(Kind::File { bytes: found.len(), sparse })
            }
            is if is.is_dir() => Ok(Kind::Folder),
            // What the caller names is no link: that of a folder's content is sent as it is.
            is if is.is_symlink() && !path.is_empty() => {
                let to = file::read_link_at(folder, name).map_err(Error::of(self.shown(path)))?;
                match to.into_string() {
                    Ok(to) if stays(&to, path.split('/').count() - 1) => Ok(Kind::Link { to }),
                    _ => refuse("a link that leads out of the folder, or says .. after a name,"),
                }
            }
            is if is.is_symlink() => refuse("a link"),
            is if is.is_fifo() => refuse("a pipe"),
            is if is.is_socket() => refuse("a socket"),
            _ => refuse("a device"),
        }
    }

    fn shown(&self, path: &str) -> String {
        if path.is_empty() { self.top.shown() } else { format!("{}/{path}", self.top.shown()) }
    }
}

/// Whether parts of a file lie nowhere on the disk. One that takes all of its space is not opened for that.
fn has_holes(folder: &File, name: &str, found: &Metadata) -> io::Result<bool> {
    if found.blocks().saturating_mul(BLOCK) >= found.len() {
        return Ok(false);
    }
    file::has_hole(&file::read_at(folder, name)?, found.len())
}
