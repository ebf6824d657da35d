//! The journal of a node as a file.

use super::found::{MineItemsets, PassTuple};
use ::mine::begun::Begun;
use ::mine::items::Level;
use ::mine::journal::{Kept, Sound, count, read, write};
use ::mine::node::Journal;
use ::mine::progress::Pass;
use pyo3::prelude::*;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Levels in a file, one behind the other.
pub(super) struct OnDisk {
    place: PathBuf,
}

impl OnDisk {
    pub(super) fn at(place: PathBuf) -> OnDisk {
        OnDisk { place }
    }
}

impl Journal for OnDisk {
    fn load(&mut self, room: usize) -> Sound {
        let Ok(file) = File::open(&self.place) else { return Sound::default() };
        let sound = read(&mut BufReader::new(file), room);
        if sound.full.is_none()
            && let Ok(file) = OpenOptions::new().write(true).open(&self.place)
        {
            // What is torn is found again; a file that can't be cut is as one that can't be read.
            let _ = file.set_len(sound.bytes);
        }
        sound
    }

    fn append(&mut self, level: &Level) {
        // Without a journal a crash costs more, and nothing else.
        let _ = append(&self.place, level);
    }
}

fn append(place: &Path, level: &Level) -> io::Result<()> {
    let mut file = BufWriter::new(OpenOptions::new().create(true).append(true).open(place)?);
    write(level, &mut file)?;
    file.flush()
}

/// What a journal in a file has of so many transactions, with what passes did (number, candidates, large
/// itemsets, scans), and of how many passes.
#[pyfunction]
pub(super) fn mine_journal(
    py: Python<'_>,
    journal: PathBuf,
    transactions: u64,
    passes: Vec<PassTuple>,
) -> PyResult<(MineItemsets, usize)> {
    let levels =
        py.detach(|| File::open(journal).map(|file| read(&mut BufReader::new(file), usize::MAX).levels))?;
    let count = levels.len();
    let found = levels.into_iter().filter(|level| !level.is_empty()).collect();
    Ok((MineItemsets::new(transactions, found, passes.into_iter().map(pass_of).collect()), count))
}

/// Of how many passes a journal in a file has the result.
#[pyfunction]
pub(super) fn mine_journal_passes(py: Python<'_>, journal: PathBuf) -> PyResult<usize> {
    Ok(py.detach(|| File::open(journal).map(|file| count(&mut BufReader::new(file))))?)
}

fn pass_of((number, candidates, large, scans): PassTuple) -> Pass {
    Pass { number, candidates, large, scans }
}

/// What a run on one node has left in a file, if it is there and can be read.
pub(super) fn kept(place: &Path) -> Option<Kept> {
    Kept::open(BufReader::new(File::open(place).ok()?))
}

/// Writes what such a run had finished.
pub(super) fn keep(begun: &Begun, place: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(place)?);
    ::mine::journal::keep(begun, &mut file)?;
    file.flush()
}
