//! Files and folders by descriptor: names below an open folder that nothing leads out of, space taken ahead,
//! renames that replace nothing. Pages: openat2(2) (`RESOLVE_BENEATH`, `RESOLVE_NO_SYMLINKS`,
//! `RESOLVE_NO_MAGICLINKS`), chown(2), fallocate(2), lseek(2), utimensat(2), rename(2) (`RENAME_NOREPLACE`,
//! `RENAME_EXCHANGE`), statvfs(3).

use rustix::fs::{
    self, AtFlags, Dir, FallocateFlags, Gid, Mode, OFlags, RenameFlags, ResolveFlags, SeekFrom, Timespec,
    Timestamps, UTIME_OMIT, Uid,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// Names that change while the kernel resolves them make it give up (`EAGAIN`): so often it is asked again.
const TRIES: u32 = 128;

/// Whether an error says that there is no space, or no more for this user.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether an error says that a name leads out of the folder that it was to lie in.
pub fn leads_out(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::XDEV.raw_os_error())
}

/// Opens what lies below `folder`: the kernel refuses an absolute name, and one that leads out of it.
fn open_below(
    folder: impl AsFd,
    path: impl AsRef<Path>,
    flags: OFlags,
    mode: Mode,
    links: ResolveFlags,
) -> io::Result<File> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | links;
    let path = path.as_ref();
    for _ in 1..TRIES {
        match fs::openat2(&folder, path, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN) => {}
            opened => return Ok(opened?.into()),
        }
    }
    Ok(fs::openat2(&folder, path, flags | OFlags::CLOEXEC, mode, resolve)?.into())
}

/// The same where no part of the name may be a link.
fn open_plain(folder: impl AsFd, path: &str, flags: OFlags, mode: Mode) -> io::Result<File> {
    open_below(folder, path, flags | OFlags::NOFOLLOW, mode, ResolveFlags::NO_SYMLINKS)
}

/// A folder, to name what lies in it. It stays the same when it is renamed.
///
/// # Errors
/// As open(2); also when it isn't a folder.
pub fn folder(path: &Path) -> io::Result<File> {
    Ok(fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// A folder below `folder`. Links count as long as they stay below it.
///
/// # Errors
/// As openat2(2); [`leads_out`] tells when it is not below.
pub fn folder_below(folder: impl AsFd, path: &Path) -> io::Result<File> {
    open_below(folder, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty(), ResolveFlags::empty())
}

/// A folder below `folder`; no part of its name is a link.
///
/// # Errors
/// As openat2(2).
pub fn folder_at(folder: impl AsFd, path: &str) -> io::Result<File> {
    open_plain(folder, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// A file below `folder`, to read; no part of its name is a link. A pipe does not make it wait.
///
/// # Errors
/// As openat2(2).
pub fn read_at(folder: impl AsFd, path: &str) -> io::Result<File> {
    open_plain(folder, path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())
}

/// A file below `folder`, to read and write, made where it isn't there; no part of its name is a link.
///
/// # Errors
/// As openat2(2).
pub fn write_at(folder: impl AsFd, path: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK;
    open_plain(folder, path, flags, Mode::RUSR | Mode::WUSR)
}

/// The same to read and to write at its end only.
///
/// # Errors
/// As openat2(2).
pub fn append_at(folder: impl AsFd, path: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK;
    open_plain(folder, path, flags, Mode::RUSR | Mode::WUSR)
}

/// What has this name below `folder`: a link itself, not what it leads to.
///
/// # Errors
/// As openat2(2).
pub fn look_at(folder: impl AsFd, path: &str) -> io::Result<Metadata> {
    open_plain(folder, path, OFlags::PATH, Mode::empty())?.metadata()
}

/// Where a link below `folder` leads.
///
/// # Errors
/// As readlink(2).
pub fn read_link_at(folder: impl AsFd, name: &str) -> io::Result<OsString> {
    Ok(OsString::from_vec(fs::readlinkat(folder, name, Vec::new())?.into_bytes()))
}

/// The names in a folder, in no order, without its own and its parent's.
///
/// # Errors
/// As getdents(2).
pub fn names_in(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    let name = |entry: rustix::io::Result<fs::DirEntry>| match entry {
        Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => None,
        Ok(entry) => Some(Ok(OsString::from_vec(entry.file_name().to_bytes().to_vec()))),
        Err(error) => Some(Err(error.into())),
    };
    Dir::read_from(folder)?.filter_map(name).collect()
}

/// Makes a folder below `folder` that is its owner's alone.
///
/// # Errors
/// As openat2(2), mkdir(2).
pub fn make_folder_at(folder: impl AsFd, path: &str) -> io::Result<()> {
    in_parent(folder, path, |folder, name| Ok(fs::mkdirat(folder, name, Mode::RWXU)?))
}

/// Makes a symbolic link to `to` below `folder`.
///
/// # Errors
/// As openat2(2), symlink(2).
pub fn link_at(to: &str, folder: impl AsFd, path: &str) -> io::Result<()> {
    in_parent(folder, path, |folder, name| Ok(fs::symlinkat(to, folder, name)?))
}

/// Does something with a name in the folder that it lies in, which no link leads to.
fn in_parent(
    folder: impl AsFd,
    path: &str,
    with: impl FnOnce(&dyn AsFd, &str) -> io::Result<()>,
) -> io::Result<()> {
    match path.rsplit_once('/') {
        Some((parent, name)) => with(&folder_at(folder, parent)?, name),
        None => with(&folder, path),
    }
}

/// Whether something has this name in `folder`; a link that leads nowhere is something.
///
/// # Errors
/// As stat(2), except when there is nothing.
pub fn is_there(folder: impl AsFd, name: &str) -> io::Result<bool> {
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes what has this name in `folder`: a file, a link, a folder with all that is in it, or nothing.
///
/// # Errors
/// As unlink(2).
pub fn remove_at(folder: impl AsFd, name: &str) -> io::Result<()> {
    match fs::unlinkat(&folder, name, AtFlags::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        done => return Ok(done?),
    }
    let inner = folder_at(&folder, name)?;
    for name in names_in(&inner)? {
        let name = name.into_string().map_err(|_| io::Error::from(Errno::ILSEQ))?;
        remove_at(&inner, &name)?;
    }
    Ok(fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
}

/// Takes the space for the first `bytes` bytes of a file, which is as long then. Where a file system can't,
/// the file is only made as long.
///
/// # Errors
/// As fallocate(2) and ftruncate(2): above all, no space.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    if bytes > 0 {
        reserve(file, 0, bytes)?;
    }
    file.set_len(bytes)
}

/// Takes the space for some bytes of a file, where a file system can.
///
/// # Errors
/// As fallocate(2): above all, no space.
pub fn reserve(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    match fs::fallocate(file, FallocateFlags::empty(), at, bytes) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a file of so many bytes has a hole. A file system that knows none has none.
///
/// # Errors
/// As lseek(2) (`SEEK_HOLE`).
pub fn has_hole(file: &File, bytes: u64) -> io::Result<bool> {
    match fs::seek(file, SeekFrom::Hole(0)) {
        Ok(at) => Ok(at < bytes),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes a hole in a file, which reads as zeros and takes no space. False where a file system can't.
///
/// # Errors
/// As fallocate(2) (`FALLOC_FL_PUNCH_HOLE`).
pub fn make_hole(file: &File, at: u64, bytes: u64) -> io::Result<bool> {
    match fs::fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Gives a file to a user and a group, by their numbers.
///
/// # Errors
/// As fchown(2): above all, only root may.
pub fn set_owner(file: &File, user: u32, group: u32) -> io::Result<()> {
    Ok(fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?)
}

/// Says when the content of a file last changed, in nanoseconds since 1970.
///
/// # Errors
/// As futimens(3).
pub fn set_mtime_ns(file: &File, ns: i64) -> io::Result<()> {
    let second = 1_000_000_000;
    let changed = Timespec { tv_sec: ns.div_euclid(second), tv_nsec: ns.rem_euclid(second) as _ };
    let kept = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    Ok(fs::futimens(file, &Timestamps { last_access: kept, last_modification: changed })?)
}

/// Bytes that are free for this user where `folder` is.
///
/// # Errors
/// As statvfs(3).
pub fn free_bytes(folder: impl AsFd) -> io::Result<u64> {
    let found = fs::fstatvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Forces to the disk all that is in the file system of a folder.
///
/// # Errors
/// As syncfs(2).
pub fn sync_all_of(folder: &File) -> io::Result<()> {
    Ok(fs::syncfs(folder)?)
}

/// Renames `from` in `folder` to a name that nothing has.
///
/// # Errors
/// As rename(2); `AlreadyExists` when something has the name.
pub fn rename_new(folder: impl AsFd, from: &str, to: &str) -> io::Result<()> {
    let folder = folder.as_fd();
    match fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // A file system that can't: nobody else is expected to make it between the look and the rename.
        Err(Errno::INVAL | Errno::NOSYS) if !is_there(folder, to)? => {
            Ok(fs::renameat(folder, from, folder, to)?)
        }
        Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        done => Ok(done?),
    }
}

/// Two names in `folder` change places, at once.
///
/// # Errors
/// As rename(2).
pub fn exchange(folder: impl AsFd, one: &str, other: &str) -> io::Result<()> {
    let folder = folder.as_fd();
    Ok(fs::renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE)?)
}
