//! Traces of page faults: read or refused; what is read is counted the same by each way. Messages of programs and memory nodes:
//! what the other side makes of anything that comes on its streams.

use crate::alone::Alone;
use farmem::cache::Policy;
use farmem::curve::Curve;
use farmem::pager::{Board, Costs, Memory, Pattern, Program, Schedule, Settings, Shape, Source, WriteBack};
use farmem::replay::{Setting, replay};
use farmem::steps::Steps;
use farmem::trace::{RECORD, Trace};
use process::{Addr, Event, HostId, Process, StreamId, rng};
use std::sync::Arc;
use units::{Bytes, Time};

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

const PORT: u16 = 5000;
const SCHEDULES: [Schedule; 3] = [Schedule::Fifo, Schedule::ReadsFirst, Schedule::ShortestFirst];

/// A program or a memory node, as a byte says.
fn process(kind: u8) -> Box<dyn Process> {
    let schedule = SCHEDULES[usize::from(kind >> 1) % 3];
    let serve = Time::from_us(u64::from(kind >> 6));
    if kind & 1 == 0 {
        return Box::new(Memory::new(PORT, schedule, serve));
    }
    let settings = Settings {
        local: Setting { pages_a_request: 2, read_ahead: 3, ..Setting::new(8, Policy::Clock) },
        page: Bytes::new(64),
        write_back: if kind & 32 == 0 { WriteBack::Before } else { WriteBack::After { most: 2 } },
        schedule,
        costs: Costs { compress: serve, ..Costs::default() },
    };
    let pattern =
        Pattern { shape: Shape::Sequential, pages: 40, times: 400, writes: 0.5, compute: Time::from_us(1) };
    let source = Source::made(pattern, rng::stream(1, "accesses"));
    let memory = Addr { host: HostId(1), port: PORT };
    Box::new(Program::new(0, Arc::new(settings), source, memory, Board::default()))
}

/// Messages: the first byte says who gets them; then each has a byte for its stream, one for its length, and its content.
/// Lengths on a stream are right, unless the byte for the stream has its highest bit set.
pub fn messages(bytes: &[u8]) {
    let Some((&kind, mut rest)) = bytes.split_first() else { return };
    let mut process = process(kind);
    let mut cx = Alone::new();
    process.handle(Event::Start, &mut cx);
    cx.run(process.as_mut(), 8);
    let mut streams: Vec<StreamId> = cx.opened.iter().copied().collect();
    if streams.is_empty() {
        streams.extend((0..3).map(StreamId));
        let from = Addr { host: HostId(1), port: PORT };
        let accepted = |stream: &StreamId| Event::Accepted { stream: *stream, from, port: PORT };
        streams.iter().for_each(|stream| process.handle(accepted(stream), &mut cx));
    }
    while let [which, length, after @ ..] = rest {
        let (content, after) = after.split_at(usize::from(*length).min(after.len()));
        let stream = streams[usize::from(*which & 127) % streams.len()];
        if which & 128 != 0 || content.is_empty() {
            cx.arrive(process.as_mut(), stream, content);
        } else {
            cx.arrive(process.as_mut(), stream, &[&[content.len() as u8][..], content].concat());
        }
        cx.run(process.as_mut(), 8);
        rest = after;
    }
    cx.run(process.as_mut(), 200);
}
