//! Samples of ports in longer and longer steps, for pictures of a whole run: `ports_levels`.
//!
//! Next to each part of `ports_series` lies a part of the same name with its levels, each a row group. Steps
//! of the finest level are [`FINEST`] times as long as the time between samples, those of the next level
//! [`FACTOR`] times longer, and so on while a level has at most half of the rows of the one below. A row
//! joins all samples of a port in one step: the shortest and the longest queue, and the sums of what is
//! counted. Finer steps than these are quickly joined by whoever wants them, and would cost a third of the
//! samples' room.
//!
//! A part's levels follow from that part alone. So a part without them (of a killed run, or of one that was
//! not written here) gets the same ones from the same function whenever somebody wants them.

use crate::column::{Text, U64};
use crate::rows::{PortsLevels, PortsSeries};
use crate::table::{Columns, Table, encode, write_file};
use std::io;
use std::iter::repeat_n;

/// The folder of the levels in a run folder.
pub const LEVELS: &str = <PortsLevels as Columns>::TABLE;

/// How many times between samples make a step of the finest level.
pub const FINEST: u64 = 16;

/// How many steps of a level make one of the next.
pub const FACTOR: u64 = 4;

/// What was sampled of a port once, or in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The port's number.
    pub port: u32,
    /// When the last of its samples was taken.
    pub time_ps: u64,
    /// The shortest sampled queue.
    pub queue_min_bytes: u64,
    /// The longest sampled queue.
    pub queue_max_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets discarded.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Time paused.
    pub paused_ps: u64,
}

impl Cell {
    fn join(&mut self, other: &Cell) {
        self.time_ps = self.time_ps.max(other.time_ps);
        self.queue_min_bytes = self.queue_min_bytes.min(other.queue_min_bytes);
        self.queue_max_bytes = self.queue_max_bytes.max(other.queue_max_bytes);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.drops = self.drops.saturating_add(other.drops);
        self.marks = self.marks.saturating_add(other.marks);
        self.paused_ps = self.paused_ps.saturating_add(other.paused_ps);
    }
}

/// The cells of one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Length of its steps.
    pub step_ps: u64,
    /// In the order in which their steps and ports first appear.
    pub cells: Vec<Cell>,
}

/// The levels of samples that are taken every `interval_ps`, the finest first; there is always one.
///
/// # Panics
/// When the interval is zero, or a port's number is not below `ports`.
pub fn levels(samples: impl Iterator<Item = Cell>, interval_ps: u64, ports: usize) -> Vec<Level> {
    assert!(interval_ps > 0, "samples are some time apart");
    let mut step_ps = interval_ps.saturating_mul(FINEST);
    let mut made = vec![Level { step_ps, cells: joined(samples, step_ps, ports) }];
    loop {
        let finer = &made[made.len() - 1].cells;
        step_ps = step_ps.saturating_mul(FACTOR);
        let cells = joined(finer.iter().copied(), step_ps, ports);
        if finer.is_empty() || cells.len() > finer.len() / 2 {
            return made;
        }
        made.push(Level { step_ps, cells });
    }
}

/// One cell per port and step; a step begins after its first moment and ends with the next one's. Cells of a
/// step that is come back to are not joined with those before.
fn joined(cells: impl Iterator<Item = Cell>, step_ps: u64, ports: usize) -> Vec<Cell> {
    let mut made: Vec<Cell> = Vec::new();
    // Of each port, the last of its cells; it belongs to the present step if it is not before `begin`.
    let mut last = vec![usize::MAX; ports];
    let (mut begin, mut step) = (0, None);
    for cell in cells {
        let number = cell.time_ps.saturating_sub(1) / step_ps;
        if step != Some(number) {
            (begin, step) = (made.len(), Some(number));
        }
        let at = &mut last[cell.port as usize];
        match made.get_mut(*at).filter(|_| *at >= begin) {
            Some(present) => present.join(&cell),
            None => {
                *at = made.len();
                made.push(cell);
            }
        }
    }
    made
}

/// The levels of a part as the bytes of their file; `names` are those of the ports.
///
/// # Panics
/// As [`levels`].
pub fn part(samples: impl Iterator<Item = Cell>, interval_ps: u64, names: &[&str]) -> Vec<u8> {
    let groups = columns(samples, interval_ps, names);
    let groups: Vec<_> = groups.iter().map(Columns::columns).collect();
    encode(LEVELS, &groups[0], &groups, Vec::new()).expect("memory takes all bytes")
}

fn columns(samples: impl Iterator<Item = Cell>, interval_ps: u64, names: &[&str]) -> Vec<PortsLevels> {
    levels(samples, interval_ps, names.len()).iter().map(|level| PortsLevels::of(level, names)).collect()
}

impl PortsLevels {
    fn of(level: &Level, names: &[&str]) -> PortsLevels {
        let column = |of: fn(&Cell) -> u64| -> U64 { level.cells.iter().map(of).collect() };
        PortsLevels {
            step_ps: repeat_n(level.step_ps, level.cells.len()).collect(),
            time_ps: column(|cell| cell.time_ps),
            port: Text::of(names.iter().copied(), level.cells.iter().map(|cell| cell.port)),
            queue_min_bytes: column(|cell| cell.queue_min_bytes),
            queue_max_bytes: column(|cell| cell.queue_max_bytes),
            sent_bytes: column(|cell| cell.sent_bytes),
            drops: column(|cell| cell.drops),
            marks: column(|cell| cell.marks),
            paused_ps: column(|cell| cell.paused_ps),
        }
    }
}

impl PortsSeries {
    /// The samples of all classes together.
    fn cells(&self) -> impl Iterator<Item = Cell> {
        let rows = self.port.numbers().iter().enumerate().filter(|(row, _)| !self.class.is_present(*row));
        rows.map(|(row, &port)| Cell {
            port,
            time_ps: self.time_ps.at(row),
            queue_min_bytes: self.queue_bytes.at(row),
            queue_max_bytes: self.queue_bytes.at(row),
            sent_bytes: self.sent_bytes.at(row),
            drops: self.drops.at(row),
            marks: self.marks.at(row),
            paused_ps: self.paused_ps.at(row),
        })
    }
}

impl Table<PortsSeries> {
    /// Has levels written next to each part, of samples that are taken every `interval_ps`.
    pub fn write_levels(&mut self, interval_ps: u64) {
        self.set_beside(Box::new(move |samples, run, part| -> io::Result<()> {
            let names: Vec<&str> = samples.port.names().collect();
            let groups = columns(samples.cells(), interval_ps, &names);
            let groups: Vec<_> = groups.iter().map(Columns::columns).collect();
            write_file(&run.join(LEVELS), part, LEVELS, &groups)
        }));
    }
}
