//! Tables come back as they were pushed, in parts, with the same bytes every time.

mod common;

use common::{files, read};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use record::rows::{Flow, FlowSample, Outcome, PortSample};
use record::{RunFolder, Tables};
use std::fs::{self, File};
use std::path::Path;
use units::testing::cases;

fn flow(number: u64) -> Flow<'static> {
    let finished = !number.is_multiple_of(3);
    Flow {
        flow: number,
        job: "shuffle",
        group: u64::MAX,
        from: "host0",
        to: if number.is_multiple_of(2) { "host1" } else { "höst2" },
        class: 7,
        bytes: 1_000_000,
        start_ps: 10 * number,
        end_ps: finished.then_some(10 * number + 7),
        sent_packets: 700,
        sent_bytes: 1_030_000,
        retransmits: 0,
        timeouts: 0,
        fast_recoveries: 0,
        tail_loss_probes: 0,
        ece_acks: 0,
        min_rtt_ps: None,
        srtt_ps: Some(12_000_000),
        outcome: if finished { Outcome::Finished } else { Outcome::TimedOut },
        path: finished.then_some("host0:leaf0 leaf0:host1"),
        path_back: None,
    }
}

fn run(folder: &Path) -> RunFolder {
    RunFolder::create(folder, false).unwrap()
}

#[test]
fn cells_come_back_with_name_type_and_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = run(folder.path()).tables();
    (0..4).for_each(|number| tables.flows.push(flow(number)).unwrap());
    tables.finish().unwrap();

    let rows = read(&folder.path().join("flows"));
    assert_eq!(rows.len(), 4);
    let cell =
        |row: usize, name: &str| rows[row].iter().find(|(column, _)| column == name).unwrap().1.clone();
    assert_eq!(cell(3, "flow"), Field::ULong(3));
    assert_eq!(cell(3, "group"), Field::ULong(u64::MAX));
    assert_eq!(cell(3, "from"), Field::Str("host0".into()));
    assert_eq!(cell(3, "to"), Field::Str("höst2".into()));
    assert_eq!(cell(2, "to"), Field::Str("host1".into()));
    assert_eq!(cell(2, "class"), Field::UByte(7));
    assert_eq!(cell(2, "end_ps"), Field::ULong(27));
    assert_eq!(cell(3, "end_ps"), Field::Null);
    assert_eq!(cell(3, "outcome"), Field::Str("timed-out".into()));
    assert_eq!(cell(1, "outcome"), Field::Str("finished".into()));
    assert_eq!(cell(1, "path"), Field::Str("host0:leaf0 leaf0:host1".into()));
    assert_eq!(cell(3, "path"), Field::Null);
    assert_eq!(rows[0].len(), 21);
}

#[test]
fn a_table_without_rows_still_has_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path()).tables().finish().unwrap();
    let tables = Tables::NAMES;
    for table in tables {
        let parts = files(&folder.path().join(table));
        assert_eq!(parts.len(), 1, "{table}");
        let reader = SerializedFileReader::new(File::open(&parts[0]).unwrap()).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        assert!(reader.metadata().file_metadata().schema_descr().num_columns() >= 3, "{table}");
    }
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, tables.len() + 1, "the tables and the marker");
}

#[test]
fn the_trailing_underscore_is_for_rust_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = run(folder.path()).tables();
    tables
        .events
        .push(record::rows::Event { time_ps: 5, what: "link-down", where_: "leaf0:spine1" })
        .unwrap();
    tables.finish().unwrap();
    let rows = read(&folder.path().join("events"));
    assert_eq!(rows[0][2], ("where".to_string(), Field::Str("leaf0:spine1".into())));
}

#[test]
fn a_full_part_is_there_before_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = run(folder.path()).tables_in_parts_of(100);
    (0..250).for_each(|number| tables.flows.push(flow(number)).unwrap());
    assert_eq!(tables.flows.written_rows(), 200);
    let table = folder.path().join("flows");
    assert_eq!(read(&table).len(), 200);
    tables.finish().unwrap();
    let names: Vec<_> = files(&table).iter().map(|file| file.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]);
    assert_eq!(read(&table).len(), 250);
}

#[test]
fn the_same_rows_are_the_same_bytes_and_names_cost_little() {
    let written = [(); 2].map(|()| {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = run(folder.path()).tables();
        (0..10_000).for_each(|number| tables.flows.push(flow(number)).unwrap());
        tables.finish().unwrap();
        fs::read(folder.path().join("flows/part-00000.parquet")).unwrap()
    });
    assert_eq!(written[0], written[1]);
    // 19 columns of 10,000 rows: as plain numbers they would take 1.3 MB.
    assert!(written[0].len() < 60_000, "{} bytes", written[0].len());
}

fn samples() -> impl Strategy<Value = Vec<(u64, String, Option<u8>, Option<u64>)>> {
    let name = prop_oneof!["[a-c]{1}", ".{0,8}"];
    let number = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    proptest::collection::vec((number, name, proptest::option::of(any::<u8>()), any::<Option<u64>>()), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

    #[test]
    fn any_rows_in_any_parts_come_back(samples in samples(), part_rows in 3_usize..40) {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = run(folder.path()).tables_in_parts_of(part_rows);
        for (number, port, class, srtt_ps) in &samples {
            let (number, class, srtt_ps) = (*number, *class, *srtt_ps);
            tables.ports_series.push(PortSample {
                time_ps: number, port, class, queue_bytes: number, queue_max_bytes: 0,
                queue_packets: 1, sent_bytes: 0, drops: 0, marks: 0,
                in_discards: 0, out_discards: 0, pause_sent: 0, pause_received: 0, paused_ps: 0,
            }).unwrap();
            tables.flows_series.push(FlowSample {
                time_ps: number, flow: 0, cwnd_bytes: 1, in_flight_bytes: number, srtt_ps, acked_bytes: 0,
            }).unwrap();
        }
        tables.finish().unwrap();
        let ports = read(&folder.path().join("ports_series"));
        let flows = read(&folder.path().join("flows_series"));
        prop_assert_eq!(ports.len(), samples.len());
        prop_assert_eq!(flows.len(), samples.len());
        for (i, (number, port, class, srtt_ps)) in samples.iter().enumerate() {
            prop_assert_eq!(&ports[i][0].1, &Field::ULong(*number));
            prop_assert_eq!(&ports[i][1].1, &Field::Str(port.clone()));
            prop_assert_eq!(&ports[i][2].1, &class.map_or(Field::Null, Field::UByte));
            prop_assert_eq!(&flows[i][3].1, &Field::ULong(*number));
            prop_assert_eq!(&flows[i][4].1, &srtt_ps.map_or(Field::Null, Field::ULong));
        }
    }
}
