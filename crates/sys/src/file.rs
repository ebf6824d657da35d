//! Files and folders by descriptor: names below an open folder, space taken ahead, renames that replace nothing.
//! Pages: open(2) (`O_NOFOLLOW`), fallocate(2), lseek(2), rename(2) (`RENAME_NOREPLACE`, `RENAME_EXCHANGE`), statvfs(3).

use rustix::fs::{self, AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags, SeekFrom};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Whether an error says that there is no space, or no more for this user.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A folder, to name what lies in it. It stays the same when it is renamed.
///
/// # Errors
/// As open(2); also when it isn't a folder.
pub fn folder(path: &Path) -> io::Result<File> {
    Ok(fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// A folder below `folder`; the last part of its name is not a link.
///
/// # Errors
/// As open(2).
pub fn folder_at(folder: impl AsFd, path: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(folder, path, flags, Mode::empty())?.into())
}

/// A file below `folder`, to read; the last part of its name is not a link. A pipe does not make it wait.
///
/// # Errors
/// As open(2).
pub fn read_at(folder: impl AsFd, path: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(fs::openat(folder, path, flags, Mode::empty())?.into())
}

/// A file below `folder`, to read and write, made where it isn't there; the last part of its name is not a link.
///
/// # Errors
/// As open(2).
pub fn write_at(folder: impl AsFd, path: &str) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(fs::openat(folder, path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Makes a folder below `folder` that is its owner's alone.
///
/// # Errors
/// As mkdir(2).
pub fn make_folder_at(folder: impl AsFd, path: &str) -> io::Result<()> {
    Ok(fs::mkdirat(folder, path, Mode::RWXU)?)
}

/// Makes a symbolic link to `to` below `folder`.
///
/// # Errors
/// As symlink(2).
pub fn link_at(to: &str, folder: impl AsFd, path: &str) -> io::Result<()> {
    Ok(fs::symlinkat(to, folder, path)?)
}

/// Whether something has this name; a link that leads nowhere is something.
///
/// # Errors
/// As stat(2), except when there is nothing.
pub fn is_there(path: &Path) -> io::Result<bool> {
    match fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes the space for the first `bytes` bytes of a file, which is as long then. Where a file system can't, the file is
/// only made as long.
///
/// # Errors
/// As fallocate(2) and ftruncate(2): above all, no space.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    if bytes > 0 {
        match fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    file.set_len(bytes)
}

/// Whether a file of so many bytes has a hole. A file system that knows none has none.
///
/// # Errors
/// As lseek(2) (`SEEK_HOLE`).
pub fn has_hole(file: &File, bytes: u64) -> io::Result<bool> {
    match fs::seek(file, SeekFrom::Hole(0)) {
        Ok(at) => Ok(at < bytes),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(false),
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
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Bytes that are free for this user where `path` is.
///
/// # Errors
/// As statvfs(3).
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Forces to the disk all that is in the file system of a folder.
///
/// # Errors
/// As syncfs(2).
pub fn sync_all_of(folder: &File) -> io::Result<()> {
    Ok(fs::syncfs(folder)?)
}

/// Renames `from` to a name that nothing has.
///
/// # Errors
/// As rename(2); `AlreadyExists` when something has the name.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that can't: nobody else is expected to make it between the look and the rename.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) if !is_there(to)? => {
            Ok(fs::renameat(CWD, from, CWD, to)?)
        }
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
        done => Ok(done?),
    }
}

/// Two names change places, at once.
///
/// # Errors
/// As rename(2).
pub fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}
