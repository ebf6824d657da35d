//! Messages, the reduce's buffer, and the rules of the schedule.

use super::support::job;
use crate::buffer::Buffer;
use crate::prepared::PreparedJob;
use crate::schedule::Schedule;
use crate::wire::{CALL_BYTES, FRAME_MAX, Kind, Message};
use crate::{Framework, Job};
use process::HostId;
use process::wire::Malformed;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64;

const MIB: u64 = 1 << 20;

fn prepared(job: Job) -> PreparedJob {
    PreparedJob::new(job, 5000, &mut Pcg64::seed_from_u64(1))
}

fn hosts() -> impl Strategy<Value = Vec<HostId>> {
    proptest::collection::vec(any::<u32>().prop_map(HostId), 0..60)
}

fn message() -> impl Strategy<Value = Message> {
    let kind = prop_oneof![Just(Kind::Map), Just(Kind::Reduce)];
    let events = proptest::collection::vec((any::<u32>(), any::<u32>().prop_map(HostId)), 0..200);
    prop_oneof![
        Just(Message::Heartbeat),
        any::<u64>().prop_map(|work| Message::Call { work }),
        any::<u64>().prop_map(|work| Message::Answer { work }),
        (kind, any::<u32>(), any::<bool>()).prop_map(|(kind, number, reuse)| Message::Run {
            kind,
            number,
            reuse
        }),
        (any::<u32>(), events).prop_map(|(from, events)| Message::Completed { from, events }),
        (any::<u64>(), any::<u8>(), any::<bool>(), proptest::option::of(0..u32::MAX)).prop_map(
            |(work, copies, log, without)| {
                Message::AddBlock { work, copies, log, without: without.map(HostId) }
            }
        ),
        (any::<u64>(), any::<u64>(), hosts()).prop_map(|(bytes, group, rest)| Message::Write {
            bytes,
            group,
            rest
        }),
        (any::<u32>(), proptest::collection::vec(any::<u32>(), 0..20))
            .prop_map(|(reduce, maps)| Message::Fetch { reduce, maps }),
    ]
}

proptest! {
    #[test]
    fn a_message_comes_out_as_it_went_in(message in message()) {
        let frame = message.encode();
        prop_assert!(frame.len() <= FRAME_MAX + 2);
        prop_assert_eq!(usize::from(u16::from_le_bytes([frame[0], frame[1]])), frame.len() - 2);
        prop_assert_eq!(Message::decode(&frame[2..]), Ok(message));
    }

    #[test]
    fn any_bytes_are_a_message_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(message) = Message::decode(&bytes) {
            prop_assert!(message.encode().len() <= bytes.len() + 2);
        }
    }

    #[test]
    fn parts_of_a_split_add_up(bytes in 1u64..1 << 40, block in 1u64..1 << 30, reduces in 1u32..300) {
        prop_assume!(bytes.div_ceil(block) < 1 << 16);
        let mut job = job(Framework::Tez, 1, 1, bytes);
        (job.block, job.reduces) = (block, reduces);
        let prepared = prepared(job);
        let map = prepared.maps - 1;
        let parts: Vec<u64> = (0..reduces).map(|reduce| prepared.part(map, reduce)).collect();
        prop_assert_eq!(parts.iter().sum::<u64>(), prepared.split(map));
        prop_assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1);
        prop_assert_eq!((0..prepared.maps).map(|map| prepared.split(map)).sum::<u64>(), bytes);
    }
}

#[test]
fn a_buffer_passes_its_limit_once_and_merges_at_its_mark() {
    // 8 MiB of memory: 5.6 MiB of buffer, merged at 3.7 MiB; outputs above 1.4 MiB go to disk.
    let prepared = prepared(job(Framework::MapReduce, 1, 1, MIB));
    assert_eq!(prepared.buffer_limit, (8 * MIB) * 7 / 10);
    let mut buffer = Buffer::default();
    assert_eq!(buffer.reserve(prepared.large + 1, &prepared), Some(false));
    let taken = (0..).take_while(|_| buffer.reserve(MIB, &prepared) == Some(true)).count();
    assert_eq!(taken, 6, "one more than fits");
    (0..3).for_each(|_| buffer.fetched(MIB));
    assert_eq!(buffer.begin_merge(&prepared, false), None);
    buffer.fetched(MIB);
    assert_eq!(buffer.begin_merge(&prepared, false), Some(4 * MIB));
    assert_eq!(buffer.reserve(MIB, &prepared), None, "what is being merged still takes room");
    buffer.end_merge();
    assert_eq!(buffer.reserve(MIB, &prepared), Some(true));
    buffer.fetched(2 * MIB);
    assert_eq!(buffer.begin_merge(&prepared, true), Some(2 * MIB));
}

#[test]
fn many_runs_are_merged_the_smallest_first_until_ten_are_left() {
    let mut buffer = Buffer::default();
    (1..=12).for_each(|bytes| buffer.add_run(bytes));
    // 12 runs: three become one.
    assert_eq!(buffer.pass(), Some(1 + 2 + 3));
    buffer.add_run(6);
    assert_eq!(buffer.pass(), None);
    assert_eq!(buffer.on_disk(), 78);
}

fn schedule(framework: Framework, slow_start: (f64, f64)) -> Schedule {
    let mut job = job(framework, 5, 1, 100 * 8 * MIB);
    (job.slots, job.reduces, job.slow_start) = (4, 16, slow_start);
    Schedule::new(&prepared(job))
}

#[test]
fn mapreduce_ramps_reduces_up_with_finished_maps_to_half_of_the_containers() {
    let mut schedule = schedule(Framework::MapReduce, (0.05, 1.0));
    let mut allowed = vec![schedule.reduces_allowed()];
    for _ in 0..99 {
        schedule.done(Kind::Map);
        allowed.push(schedule.reduces_allowed());
    }
    // Of 20 containers.
    assert_eq!((allowed[4], allowed[5], allowed[30], allowed[50], allowed[90]), (0, 1, 6, 10, 10));
    // Five maps are left: of the ten containers for maps, five are free.
    assert_eq!(allowed[95], 15);
    assert_eq!(schedule.next(), Some((Kind::Reduce, 0)), "reduces that are allowed come first");
    while schedule.maps_wait() {
        assert!(schedule.next().is_some());
    }
    assert_eq!(schedule.reduces_allowed(), 16, "all, when no map waits");
}

#[test]
fn tez_starts_reduces_evenly_between_its_two_marks() {
    let mut schedule = schedule(Framework::Tez, (0.25, 0.75));
    let mut allowed = vec![schedule.reduces_allowed()];
    for _ in 0..100 {
        schedule.done(Kind::Map);
        allowed.push(schedule.reduces_allowed());
    }
    assert_eq!((allowed[24], allowed[25], allowed[50], allowed[75]), (0, 0, 8, 16));
    assert!(allowed.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(schedule.next(), Some((Kind::Map, 0)), "maps come first");
}

#[test]
fn a_task_may_fail_three_times() {
    let mut schedule = schedule(Framework::Tez, (0.25, 0.75));
    let again: Vec<bool> = (0..4).map(|_| schedule.failed(Kind::Map, 7)).collect();
    assert_eq!(again, [true, true, true, false]);
}

#[test]
fn a_call_and_its_answer_are_as_long_as_hadoops() {
    for message in [Message::Call { work: 7 }, Message::Answer { work: 7 }] {
        let frame = message.encode();
        assert_eq!(frame.len(), CALL_BYTES);
        // Shorter or longer is no call.
        assert_eq!(Message::decode(&frame[2..CALL_BYTES - 1]), Err(Malformed));
        assert_eq!(Message::decode(&[&frame[2..], &[0]].concat()), Err(Malformed));
    }
}
