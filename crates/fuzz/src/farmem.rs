//! Traces of page faults: read or refused; what is read is counted the same by each way.

use farmem::cache::Policy;
use farmem::curve::Curve;
use farmem::replay::{Setting, replay};
use farmem::steps::Steps;
use farmem::trace::{RECORD, Trace};

/// A trace with more accesses than this is only read: it says so in few bytes, and going through them takes long.
const ACCESSES: u64 = 5_000;

/// A trace as it was written, or anything.
pub fn trace(bytes: &[u8]) {
    let Ok(trace) = Trace::read(bytes) else { return };
    let mut again = trace.header.encode().to_vec();
    trace.records().for_each(|record| again.extend(record.encode()));
    assert_eq!(bytes[RECORD..again.len()], again[RECORD..], "records are what they decode to");
    if trace.accesses() > ACCESSES {
        return;
    }
    for bits in [trace.header.page_bits, 21] {
        let steps = Steps::new(&trace, bits).expect("a size that may be");
        let curve = Curve::new(&steps, 1);
        for capacity in [1, 2, 7, u32::MAX >> 1] {
            let lru = replay(&steps, &Setting::new(capacity, Policy::Lru));
            assert_eq!(curve.counts(capacity), lru, "{capacity} pages");
            let ahead = Setting { read_ahead: 3, batch: 2, ..Setting::new(capacity, Policy::Clock) };
            let counts = replay(&steps, &ahead);
            assert_eq!(counts.hits + counts.cold + counts.faults, steps.accesses());
        }
    }
}
