//! The folder of a run: a marker by which it is recognised, a folder for each table, `summary.json`,
//! `scenario.json`, captures.
//!
//! `summary.json` is written last: a folder without it belongs to a run that did not end. Overwriting
//! removes the files that a run writes and nothing else.

use crate::capture::Capture;
use crate::error::{Error, Kept};
use crate::levels::LEVELS;
use crate::rows::Tables;
use crate::table::{PART_ROWS, unfinished_name};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Makes a folder recognisable as a run's.
const MARKER: &str = "incast-run.json";
const SUMMARY: &str = "summary.json";
const SCENARIO: &str = "scenario.json";
/// Written beside the tables by the Python package.
const REPORT: &str = "report.html";
const CAPTURES: &str = "captures";

/// Version of the folder's layout; readers refuse one that they don't know.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Marker {
    format: u32,
    written_by: &'static str,
}

/// Where a run is written to.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes the folder ready. An empty one may exist already; a run's folder is emptied of what a run
    /// writes when `overwrite` says so.
    ///
    /// # Errors
    /// When the folder holds something and may not be overwritten, or was not written by a run.
    pub fn create(path: impl Into<PathBuf>, overwrite: bool) -> Result<RunFolder, Error> {
        let run = RunFolder { path: path.into() };
        let failed = |source| Error::io(&run.path, Kept::Nothing, source);
        fs::create_dir_all(&run.path).map_err(failed)?;
        if !run.is_empty().map_err(failed)? {
            if !overwrite {
                return Err(Error::NotEmpty { path: run.path });
            }
            if !run.path.join(MARKER).is_file() {
                return Err(Error::NotARunFolder { path: run.path, marker: MARKER });
            }
            run.clear().map_err(failed)?;
        }
        let marker = Marker { format: FORMAT, written_by: concat!("incast ", env!("CARGO_PKG_VERSION")) };
        run.write_json(MARKER, &marker)?;
        Ok(run)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All tables, empty, written in parts of 131,072 rows.
    pub fn tables(&self) -> Tables {
        self.tables_in_parts_of(PART_ROWS)
    }

    /// All tables, empty, written in parts of `rows` rows.
    ///
    /// # Panics
    /// When `rows` is zero.
    pub fn tables_in_parts_of(&self, rows: usize) -> Tables {
        assert!(rows > 0, "a part holds rows");
        Tables::new(&self.path, rows)
    }

    /// A capture at `port` (`node:peer`): `captures/<port>.pcapng`.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn capture(&self, port: &str) -> Result<Capture, Error> {
        let folder = self.path.join(CAPTURES);
        fs::create_dir_all(&folder).map_err(|source| Error::io(&folder, Kept::Nothing, source))?;
        Capture::create(&folder.join(format!("{}.pcapng", file_name(port))), port)
    }

    /// Writes `scenario.json`: what was asked for, with every default filled in.
    ///
    /// # Errors
    /// When it can't be written; then nothing of it is there.
    pub fn write_scenario(&self, scenario: &impl Serialize) -> Result<(), Error> {
        self.write_json(SCENARIO, scenario)
    }

    /// Writes `summary.json`, which says that the run has ended: call it last.
    ///
    /// # Errors
    /// When it can't be written; then nothing of it is there.
    pub fn write_summary(&self, summary: &impl Serialize) -> Result<(), Error> {
        self.write_json(SUMMARY, summary)
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let file = self.path.join(name);
        let unfinished = self.path.join(unfinished_name(name));
        let write = || {
            let mut out = BufWriter::new(File::create(&unfinished)?);
            serde_json::to_writer_pretty(&mut out, value)?;
            out.write_all(b"\n")?;
            out.flush()?;
            fs::rename(&unfinished, &file)
        };
        write().map_err(|source: io::Error| {
            // Best effort: what matters is that the write failed.
            let _ = fs::remove_file(&unfinished);
            Error::io(&file, Kept::Nothing, source)
        })
    }

    /// Whether nothing is there, but for a marker that was not written to its end: a run was killed there.
    fn is_empty(&self) -> io::Result<bool> {
        for entry in fs::read_dir(&self.path)? {
            if entry?.file_name() != *unfinished_name(MARKER) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes what a run writes; the marker stays until the new one replaces it.
    fn clear(&self) -> io::Result<()> {
        // The summary first: from here on the folder no longer says that a run has ended.
        for name in [SUMMARY, SCENARIO, REPORT] {
            remove_if_there(&self.path.join(name))?;
            remove_if_there(&self.path.join(unfinished_name(name)))?;
        }
        for table in Tables::NAMES.iter().chain([&LEVELS]) {
            remove_matching(&self.path.join(table), is_part)?;
        }
        remove_matching(&self.path.join(CAPTURES), |name| name.ends_with(".pcapng"))
    }
}

/// `part-00000.parquet`, or the same while it was being written.
fn is_part(name: &str) -> bool {
    let name = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")).unwrap_or(name);
    let number = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet"));
    number.is_some_and(|digits| digits.len() >= 5 && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Removes the files of `folder` whose name is `ours`, then the folder if nothing else is in it.
/// A link to another place is left alone.
fn remove_matching(folder: &Path, ours: impl Fn(&str) -> bool) -> io::Result<()> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&ours) && !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        other => other,
    }
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// `port` as a file name on every system; `%` and two hexadecimal digits for other characters, `-` for the
/// colon.
fn file_name(port: &str) -> String {
    let mut name = String::new();
    for byte in port.bytes() {
        match byte {
            b':' => name.push('-'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'#' => {
                name.push(char::from(byte))
            }
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    name
}
