//! Packed pages: unpacked within bounds. Traces of page faults: read or refused; what is read is counted the
//! same by each way. Messages of programs and memory nodes: what the other side makes of anything that comes
//! on its streams. What strangers, clients and servers of remote memory may say: bounded.

use crate::alone::{Strangers, alone};
use farmem::cache::Policy;
use farmem::codec::{Codec, Packer};
use farmem::curve::Curve;
use farmem::pager::{
    Board, Costs, Memory, Order, Pattern, Program, Schedule, Settings, Shape, ThreadAccesses, WriteBack,
};
use farmem::replay::{Setting, handled, replay};
use farmem::steps::Steps;
use farmem::trace::{RECORD, Trace};
use farmem::wire::client::{Client, Greeting};
use farmem::wire::session::{House, OUT_MAX, Session};
use farmem::wire::{HEAD, Key, LENGTH, Lengths, PAGE, PAGES_MAX, Ticket};
use process::{Addr, HostId, Process, StreamId, rng};
use std::sync::Arc;
use units::{Bytes, Time};

/// A trace with more accesses than this is only read: it says so in few bytes, and going through them takes
/// long.
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
            // All of it, and from where the program has asked for more than fits.
            for counts in [replay(&steps, &ahead), handled(&steps, &ahead).counts] {
                assert_eq!(counts.hits + counts.cold + counts.faults, steps.accesses());
            }
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
        write_back: if kind & 32 == 0 { WriteBack::Before } else { WriteBack::After },
        write_buffer: 2,
        schedule,
        costs: Costs { compress: serve, ..Costs::default() },
    };
    let pattern = Pattern {
        shape: Shape::Ordered(Order::Sequential),
        pages: 40,
        times: 400,
        writes: 0.5,
        compute: Time::from_us(1),
    };
    let accesses = ThreadAccesses::made(pattern, vec![rng::stream(1, "accesses")]);
    let memory = Addr { host: HostId(1), port: PORT };
    Box::new(Program::new(0, Arc::new(settings), accesses, memory, Board::default()))
}

/// Messages: the first byte says which end gets them; then each has a byte for its stream, one for its
/// length, and its content. Lengths on a stream are right, unless the byte for the stream has its highest bit
/// set.
pub fn messages(bytes: &[u8]) {
    let Some((&kind, mut rest)) = bytes.split_first() else { return };
    let host = HostId(0);
    let mut world = alone(host, process(kind));
    let mut strangers = Strangers::new(Addr { host, port: PORT });
    world.step(9);
    let own = world.opened_by(0);
    while let [which, length, after @ ..] = rest {
        let (content, after) = after.split_at(usize::from(*length).min(after.len()));
        let number = usize::from(*which & 127);
        let stream: Option<StreamId> = match own.len() {
            0 => strangers.stream(&mut world, number % 3, 1).map(|stream| stream.0),
            streams => Some(own[number % streams]),
        };
        if let Some(stream) = stream {
            let framed = [&[content.len() as u8][..], content].concat();
            let bare = which & 128 != 0 || content.is_empty();
            world.arrive(stream, if bare { content } else { &framed });
        }
        world.step(8);
        rest = after;
    }
    world.step(200);
}

const KEY: Key = Key([7; 16]);
/// Memory of a server, in pages.
const PAGES: u64 = 20;

/// What a memory server hears: from a stranger, and from a client that knows the key; cut anywhere.
pub fn memory_server(bytes: &[u8]) {
    let (Some((cut, bytes)), mut house) =
        (bytes.split_first(), House::new(KEY, [1; 16], PAGES * PAGE as u64, u64::MAX))
    else {
        return;
    };
    for knows in [false, true] {
        let (mut session, mut out) = (Session::default(), Vec::new());
        if knows {
            let mut greeting = Greeting::new(KEY, [2; 16], Ticket::NEW);
            session.handle(&mut house, Time::ZERO, &greeting.hello(), &mut out);
            let proof = out.first_chunk().map(|challenge| greeting.prove(challenge));
            session.handle(&mut house, Time::ZERO, &proof.expect("a challenge").expect("is one"), &mut out);
            assert!(session.is_known());
        }
        let (mut waits, step) = (Vec::new(), usize::from(*cut) + 1);
        for part in bytes.chunks(step) {
            out.clear();
            waits.extend(part);
            let done = session.handle(&mut house, Time::ZERO, &waits, &mut out);
            assert!(
                done <= waits.len() && out.len() <= OUT_MAX + HEAD + PAGES_MAX as usize * (LENGTH + PAGE)
            );
            waits.drain(..done);
            assert!(waits.len() < HEAD + PAGE || out.len() > OUT_MAX, "what is kept is one message");
            assert!(house.bound().used() <= PAGES * PAGE as u64);
            assert!(knows || !session.is_known());
        }
    }
    house.tick(Time::MAX);
    assert_eq!(house.bound().used(), 0, "what nobody has takes nothing");
}

/// What a client hears.
pub fn memory_client(bytes: &[u8]) {
    let mut client = Client::default();
    client.read(3, 2);
    client.share();
    for head in bytes.as_chunks::<HEAD>().0 {
        if client.handle(head).is_err() {
            return;
        }
    }
    if let Some(lengths) = Lengths::read(bytes) {
        assert!(lengths.iter().all(|length| (1..=PAGE).contains(&length)));
        assert!(lengths.total() <= bytes.len() / LENGTH * PAGE);
    }
}

/// A packed page as it comes: the first byte says of which codec. It is one or none, and a page that is one
/// goes back and forth.
pub fn packed_page(bytes: &[u8]) {
    let Some((codec, packed)) = bytes.split_first() else { return };
    let mut packer = Packer::new(Codec::ALL[usize::from(codec & 1)]);
    let (mut page, mut back) = ([0; PAGE], [0; PAGE]);
    if packer.unpack(packed, &mut page).is_ok()
        && let Some(again) = packer.pack(&page).map(<[u8]>::to_vec)
    {
        assert_eq!(packer.unpack(&again, &mut back), Ok(()));
        assert!(back == page);
    }
}
