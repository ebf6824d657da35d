//! From the trace of a run with a small cache, larger ones are counted nearly as from all accesses.

use farmem::cache::{Cache, Policy};
use farmem::replay::{Setting, replay};
use farmem::steps::{Step, Steps};
use farmem::trace::{Header, Pages, Record, Trace};

fn pages(page: u64, pages: u32) -> Pages {
    Pages { page, pages, thread: 0, computed_ns: 100 }
}

/// Rows of a matrix, again and again, with a vector that is needed for each.
fn accesses() -> Vec<(u64, bool)> {
    let pass = (0..2_000u64)
        .flat_map(|row| (0..8).map(move |at| (5_000 + at, row == 0)).chain([(row, false), (row, true)]));
    (0..6).flat_map(|_| pass.clone()).collect()
}

/// What the handler writes down: faults, and writes to what was read when it came, which it learns when that
/// leaves.
fn trace(capacity: u32) -> Vec<u8> {
    let header = Header { page_bits: 12, policy: Policy::Fifo, writes: true, capacity };
    let mut bytes = header.encode().to_vec();
    let mut cache = Cache::new(capacity, Policy::Fifo);
    for (page, write) in accesses() {
        if !cache.touch(page, write) {
            if let Some(gone) = cache.fault(page, write).filter(|gone| gone.dirty) {
                bytes.extend(Record::Dirty(pages(gone.page, 1)).encode());
            }
            let of = pages(page, 1);
            bytes.extend(if write { Record::Write(of) } else { Record::Read(of) }.encode());
        }
    }
    bytes
}

#[test]
fn a_trace_with_few_pages_counts_for_many() {
    let whole = Steps {
        steps: accesses()
            .into_iter()
            .map(|(page, write)| {
                let number = if page >= 5_000 { page - 3_000 } else { page } as u32;
                if write { Step::Write(number) } else { Step::Read(number) }
            })
            .collect(),
        pages: (0..2_000).chain(5_000..5_008).collect(),
        ..Steps::default()
    };
    let bytes = trace(64);
    let traced = Steps::new(&Trace::read(&bytes).unwrap(), 12).unwrap();
    assert!(traced.steps.len() < whole.steps.len() / 3);
    for capacity in [200, 500, 1_000, 1_900] {
        let setting = Setting::new(capacity, Policy::Fifo);
        let (all, few) = (replay(&whole, &setting), replay(&traced, &setting));
        let near = |all: u64, few: u64| all.abs_diff(few) as f64 <= 0.01 * all as f64;
        assert!(near(all.faults, few.faults), "{capacity}: {all:?}, {few:?}");
        assert!(near(all.written_back, few.written_back), "{capacity}: {all:?}, {few:?}");
    }
}

fn steps(records: &[Record], page_bits: u8) -> Steps {
    let header = Header { page_bits: 12, policy: Policy::Fifo, writes: true, capacity: 64 };
    let mut bytes = header.encode().to_vec();
    records.iter().for_each(|record| bytes.extend(record.encode()));
    Steps::new(&Trace::read(&bytes).unwrap(), page_bits).unwrap()
}

#[test]
fn large_pages_are_made_of_small_ones() {
    let records = [
        Record::Write(pages(16, 2)),
        Record::Read(pages(31, 1)),
        Record::Read(pages(99, 1)),
        Record::Free(pages(0, 31)),
        Record::Dirty(pages(31, 1)),
        Record::Free(pages(31, 1)),
        Record::Free(pages(31, 1)),
        Record::Dirty(pages(31, 1)),
        Record::Pass(500),
    ];
    let small = steps(&records, 12);
    assert_eq!(small.pages, [16, 17, 31, 99]);
    assert_eq!(
        small.steps,
        [
            Step::Write(0),
            Step::Write(1),
            Step::Read(2),
            Step::Read(3),
            Step::Free(0),
            Step::Free(1),
            Step::Dirty(2),
            Step::Free(2)
        ]
    );
    assert_eq!((small.footprint, small.computed_ns, small.threads), (4, 1_300, 1));
    // Pages of 64 KiB: 16 to 31 are one, which is freed with the last of them that was accessed.
    let large = steps(&records, 16);
    assert_eq!(large.pages, [1, 6]);
    assert_eq!(
        large.steps,
        [Step::Write(0), Step::Write(0), Step::Read(0), Step::Read(1), Step::Dirty(0), Step::Free(0)]
    );
    assert_eq!(large.footprint, 2);
}

#[test]
fn pages_are_as_large_as_the_traces_or_larger() {
    let bytes = Header { page_bits: 14, policy: Policy::Lru, writes: false, capacity: 1 }.encode();
    let trace = Trace::read(&bytes).unwrap();
    assert!(Steps::new(&trace, 13).is_none());
    assert!(Steps::new(&trace, 14).is_some());
    assert!(Steps::new(&trace, 21).is_some());
    assert!(Steps::new(&trace, 22).is_none());
}

#[test]
fn where_writes_were_not_seen_all_is_written() {
    let mut bytes =
        Header { page_bits: 12, policy: Policy::Fifo, writes: false, capacity: 1 }.encode().to_vec();
    bytes.extend(Record::Read(pages(1, 1)).encode());
    assert_eq!(Steps::new(&Trace::read(&bytes).unwrap(), 12).unwrap().steps, [Step::Write(0)]);
}

#[test]
fn what_is_touched_before_memory_is_remote_is_known() {
    let header = Header { page_bits: 12, policy: Policy::Fifo, writes: true, capacity: 16 };
    let mut bytes = header.encode().to_vec();
    let records = [
        Record::Asked(1 << 20),
        Record::Write(pages(0, 10)),
        Record::Read(pages(0, 10)),
        Record::Asked(4 << 20),
        Record::Free(pages(0, 2)),
        Record::Write(pages(0, 30)),
        Record::Asked(2 << 20),
    ];
    assert_eq!(Steps::new(&Trace::read(&bytes).unwrap(), 12).unwrap().while_it_fits(1), 0);
    records.iter().for_each(|record| bytes.extend(record.encode()));
    let steps = Steps::new(&Trace::read(&bytes).unwrap(), 12).unwrap();
    let fits = |mib: u64| steps.while_it_fits(mib << 20);
    assert_eq!((fits(0), fits(1), fits(3), fits(4)), (0, 20, 20, 52));
}
