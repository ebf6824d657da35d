//! Looks at what is to be sent: a layout, and by what each file is known to be the same later.

use crate::error::Error;
use crate::layout::{Entry, Kind, Layout, stays};
use std::fs::{self, File, FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Bytes of a block, as stat(2) counts them.
const BLOCK: u64 = 512;

/// By what a file is known to be the same: device, number, length, and when its content and its entry changed.
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
            // Permissions or the number of names: the content is what it was, unless somebody sets times back.
            () => None,
        }
    }
}

/// The layout of the file or folder at `path`.
///
/// # Errors
/// When it can't be read, or has what can't be sent: the path, and why.
pub fn scan(path: &Path) -> Result<Layout, Error> {
    Ok(look(path)?.0)
}

pub(crate) fn look(path: &Path) -> Result<(Layout, Vec<Stamp>), Error> {
    // What the caller names may be a link; what lies in it is looked at as it is.
    let found = fs::metadata(path).map_err(Error::of(path.display()))?;
    let mode = found.mode() & 0o777;
    let (layout, stamps) = if found.is_dir() {
        let mut walk = Walk::default();
        walk.enter(path, "")?;
        (Layout { folder: Some(mode), entries: walk.entries }, walk.stamps)
    } else {
        let kind = kind(path, found.file_type(), &found, 0)?;
        (
            Layout { folder: None, entries: vec![Entry { path: String::new(), mode, kind }] },
            vec![Stamp::of(&found)],
        )
    };
    layout.check()?;
    Ok((layout, stamps))
}

#[derive(Default)]
struct Walk {
    entries: Vec<Entry>,
    stamps: Vec<Stamp>,
}

impl Walk {
    fn enter(&mut self, folder: &Path, above: &str) -> Result<(), Error> {
        let mut names = Vec::new();
        for found in fs::read_dir(folder).map_err(Error::of(folder.display()))? {
            let name = found.map_err(Error::of(folder.display()))?.file_name();
            let refuse =
                |name| Error::refused(folder.join(name).display(), "a name that is not UTF-8 can't be sent");
            names.push(name.into_string().map_err(refuse)?);
        }
        names.sort();
        for name in names {
            let place = folder.join(&name);
            let found = fs::symlink_metadata(&place).map_err(Error::of(place.display()))?;
            let path = if above.is_empty() { name } else { format!("{above}/{name}") };
            let depth = path.split('/').count() - 1;
            let kind = kind(&place, found.file_type(), &found, depth)?;
            match kind {
                Kind::File { .. } => self.stamps.push(Stamp::of(&found)),
                Kind::Folder | Kind::Link { .. } => {}
            }
            let enters = kind == Kind::Folder;
            let mode = if found.is_symlink() { 0o777 } else { found.mode() & 0o777 };
            self.entries.push(Entry { path: path.clone(), mode, kind });
            if enters {
                self.enter(&place, &path)?;
            }
        }
        Ok(())
    }
}

/// Whether parts of a file lie nowhere on the disk. One that takes all of its space is not opened for that.
fn has_holes(place: &Path, found: &Metadata) -> Result<bool, Error> {
    if found.blocks().saturating_mul(BLOCK) >= found.len() {
        return Ok(false);
    }
    let looked = File::open(place).and_then(|file| sys::file::has_hole(&file, found.len()));
    looked.map_err(Error::of(place.display()))
}

fn kind(place: &Path, file_type: FileType, found: &Metadata, depth: usize) -> Result<Kind, Error> {
    let refuse = |what: &str| Err(Error::refused(place.display(), format!("{what} can't be sent")));
    match file_type {
        is if is.is_file() => Ok(Kind::File { bytes: found.len(), sparse: has_holes(place, found)? }),
        is if is.is_dir() => Ok(Kind::Folder),
        is if is.is_symlink() => {
            let to = fs::read_link(place).map_err(Error::of(place.display()))?;
            match to.into_os_string().into_string() {
                Ok(to) if stays(&to, depth) => Ok(Kind::Link { to }),
                _ => refuse("a link that leads out of the folder, or says .. after a name,"),
            }
        }
        is if is.is_fifo() => refuse("a pipe"),
        is if is.is_socket() => refuse("a socket"),
        _ => refuse("a device"),
    }
}
