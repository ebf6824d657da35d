//! Levels of samples against all samples of each step, looked at one by one, and as files next to the parts.
#![cfg(target_os = "linux")]

mod common;

use common::{files, read};
use parquet::record::Field;
use proptest::prelude::*;
use record::levels::{Cell, FACTOR, FINEST, LEVELS, levels, part};
use record::rows::PortSample;
use record::{RunFolder, Tables};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use units::testing::cases;

const INTERVAL_PS: u64 = 10;

fn sample(port: u32, time_ps: u64, value: u64) -> Cell {
    Cell {
        port,
        time_ps,
        queue_min_bytes: value,
        queue_max_bytes: value,
        sent_bytes: value / 2,
        drops: value % 3,
        marks: value % 5,
        paused_ps: value % 7,
    }
}

/// Samples of some ports: most at regular times, some late, some ports not always.
fn samples() -> impl Strategy<Value = Vec<Cell>> {
    let row = (0_u32..5, 0_u64..3, 0_u64..INTERVAL_PS, any::<u32>());
    proptest::collection::vec(row, 0..400).prop_map(|rows| {
        let mut time_ps = 0;
        let mut made = Vec::new();
        for (port, steps, late, value) in rows {
            time_ps += steps * INTERVAL_PS + if value % 4 == 0 { late } else { 0 };
            made.push(sample(port, time_ps, u64::from(value)));
        }
        made
    })
}

/// What a step of a port comes to, from all of its samples.
fn expected(samples: &[Cell], step_ps: u64) -> BTreeMap<(u64, u32), Cell> {
    let key = |cell: &Cell| (cell.time_ps.saturating_sub(1) / step_ps, cell.port);
    let keys: Vec<_> = samples.iter().map(key).collect();
    let of = |wanted: (u64, u32)| -> Vec<&Cell> {
        samples.iter().zip(&keys).filter(|(_, key)| **key == wanted).map(|(cell, _)| cell).collect()
    };
    let join = |key: (u64, u32)| {
        let own = of(key);
        let sum = |what: fn(&Cell) -> u64| own.iter().map(|cell| what(cell)).sum();
        Cell {
            port: key.1,
            time_ps: own.iter().map(|cell| cell.time_ps).max().unwrap(),
            queue_min_bytes: own.iter().map(|cell| cell.queue_min_bytes).min().unwrap(),
            queue_max_bytes: own.iter().map(|cell| cell.queue_max_bytes).max().unwrap(),
            sent_bytes: sum(|cell| cell.sent_bytes),
            drops: sum(|cell| cell.drops),
            marks: sum(|cell| cell.marks),
            paused_ps: sum(|cell| cell.paused_ps),
        }
    };
    keys.iter().map(|&key| (key, join(key))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn every_level_has_the_extremes_and_sums_of_its_steps(samples in samples()) {
        let made = levels(samples.iter().copied(), INTERVAL_PS, 5);
        for (number, level) in made.iter().enumerate() {
            prop_assert_eq!(level.step_ps, INTERVAL_PS * FINEST * FACTOR.pow(u32::try_from(number).unwrap()));
            let wanted = expected(&samples, level.step_ps);
            prop_assert_eq!(level.cells.len(), wanted.len());
            for cell in &level.cells {
                let key = (cell.time_ps.saturating_sub(1) / level.step_ps, cell.port);
                prop_assert_eq!(cell, &wanted[&key]);
            }
        }
        for pair in made.windows(2) {
            prop_assert!(pair[1].cells.len() <= pair[0].cells.len() / 2);
        }
    }
}

fn push(tables: &mut Tables, cell: &Cell, class: Option<u8>) {
    let row = PortSample {
        time_ps: cell.time_ps,
        port: ["a:b", "b:a"][cell.port as usize],
        class,
        queue_bytes: cell.queue_max_bytes,
        queue_packets: 9,
        queue_max_bytes: 9,
        sent_bytes: cell.sent_bytes,
        drops: cell.drops,
        in_discards: 9,
        out_discards: 9,
        marks: cell.marks,
        pause_sent: 9,
        pause_received: 9,
        paused_ps: cell.paused_ps,
    };
    tables.ports_series.push(row).unwrap();
}

/// 40 samples of two ports, in parts of 30 rows.
fn sampled(folder: &Path) -> Vec<Cell> {
    let mut tables = RunFolder::create(folder, true).unwrap().tables_in_parts_of(30);
    tables.ports_series.write_levels(INTERVAL_PS);
    let cells: Vec<Cell> =
        (0..80).map(|row| sample(row % 2, u64::from(row / 2 + 1) * INTERVAL_PS, row.into())).collect();
    cells.iter().for_each(|cell| push(&mut tables, cell, None));
    tables.finish().unwrap();
    cells
}

#[test]
fn each_part_of_samples_has_its_levels_next_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let cells = sampled(folder.path());
    let parts = files(&folder.path().join(LEVELS));
    let names = |table: &str| -> Vec<_> {
        let listed = files(&folder.path().join(table));
        listed.iter().map(|file| file.file_name().unwrap().to_owned()).collect()
    };
    assert_eq!(names(LEVELS), names("ports_series"));
    for (file, own) in parts.iter().zip(cells.chunks(30)) {
        let same = part(own.iter().copied(), INTERVAL_PS, &["a:b", "b:a"]);
        assert_eq!(fs::read(file).unwrap(), same, "the bytes follow from the samples of the part");
    }
    let rows = read(&folder.path().join(LEVELS));
    let sent = |step_ps: u64| -> u64 {
        let own = rows.iter().filter(|row| row[0].1 == Field::ULong(step_ps));
        own.map(|row| if let Field::ULong(sent) = row[5].1 { sent } else { panic!("{row:?}") }).sum()
    };
    assert_eq!(sent(INTERVAL_PS * FINEST), cells.iter().map(|cell| cell.sent_bytes).sum::<u64>());
}

#[test]
fn a_run_that_is_overwritten_leaves_no_levels() {
    let folder = tempfile::tempdir().unwrap();
    sampled(folder.path());
    RunFolder::create(folder.path(), true).unwrap();
    assert!(!folder.path().join(LEVELS).exists());
}

#[test]
fn samples_of_single_classes_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = RunFolder::create(folder.path(), false).unwrap().tables();
    tables.ports_series.write_levels(INTERVAL_PS);
    push(&mut tables, &sample(0, 10, 7), None);
    push(&mut tables, &sample(0, 10, 900), Some(3));
    tables.finish().unwrap();
    let rows = read(&folder.path().join(LEVELS));
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][4], ("queue_max_bytes".into(), Field::ULong(7)));
}

#[test]
fn levels_that_do_not_fit_on_the_disk_cost_no_samples() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = RunFolder::create(folder.path(), false).unwrap().tables_in_parts_of(10);
    fs::create_dir(folder.path().join(LEVELS)).unwrap();
    symlink("/dev/full", folder.path().join(LEVELS).join(".part-00001.parquet.tmp")).unwrap();
    tables.ports_series.write_levels(INTERVAL_PS);
    (0..30).for_each(|row| push(&mut tables, &sample(row % 2, u64::from(row) * 5, 1), None));
    tables.finish().unwrap();
    assert_eq!(read(&folder.path().join("ports_series")).len(), 30);
    let left: Vec<_> = files(&folder.path().join(LEVELS));
    assert_eq!(left.len(), 2, "{left:?}");
}
