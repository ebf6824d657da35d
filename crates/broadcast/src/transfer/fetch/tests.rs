//! Each chunk is asked of one parent at a time, through changes of plans and losses.

use super::*;
use process::wire::Malformed;

const S: StreamId = StreamId(1);
const T: StreamId = StreamId(2);

fn fetch(chunks: u32) -> Fetch {
    let geometry = Chunks::new(u64::from(chunks) * 10, 10).unwrap();
    Fetch::new(geometry, ChunkSet::full(chunks))
}

fn wanted(out: &Out, stream: StreamId) -> Vec<u32> {
    let mut all: Vec<u32> = out
        .iter()
        .filter(|(to, _)| *to == stream)
        .flat_map(|(_, message)| match message {
            Message::Want { set, .. } => set.iter().collect(),
            _ => Vec::new(),
        })
        .collect();
    all.sort_unstable();
    all
}

fn two_parents(chunks: u32) -> (Fetch, Out) {
    let (mut fetch, mut out) = (fetch(chunks), Out::new());
    fetch.plan(&[30, 10], &[(0, HostId(1)), (1, HostId(2))], &mut out);
    assert_eq!(fetch.unconnected(), [HostId(1), HostId(2)]);
    fetch.connected(HostId(1), S, &mut out);
    fetch.connected(HostId(2), T, &mut out);
    (fetch, out)
}

#[test]
fn each_chunk_is_asked_of_one_parent_in_proportion() {
    let (_, out) = two_parents(100);
    let (one, two) = (wanted(&out, S), wanted(&out, T));
    assert_eq!((one.len(), two.len()), (75, 25));
    let mut both = [one, two].concat();
    both.sort_unstable();
    assert_eq!(both, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_new_plan_takes_back_only_what_moves() {
    let (mut fetch, _) = two_parents(100);
    let mut out = Out::new();
    fetch.plan(&[30], &[(0, HostId(1))], &mut out);
    let dropped = out.iter().find_map(|(to, message)| match message {
        Message::Drop { set } => Some((*to, set.clone())),
        _ => None,
    });
    let (to, set) = dropped.expect("the other parent's are taken back");
    assert_eq!((to, set.len()), (T, 25));
    // One of them was on its way.
    let mut rest = set.clone();
    let late = rest.first().unwrap();
    rest.remove(late);
    fetch.came(HostId(2), late, 0).unwrap();
    let mut out = Out::new();
    fetch.dropped(HostId(2), &rest, &mut out);
    assert_eq!(wanted(&out, S), rest.iter().collect::<Vec<_>>());
    assert_eq!(fetch.spent(), [T]);
    assert_eq!(fetch.came(HostId(1), late, 0), Err(Malformed), "it came already");
}

#[test]
fn what_a_lost_parent_owed_is_asked_again() {
    let (mut fetch, out) = two_parents(100);
    let owed = wanted(&out, T);
    fetch.lost(HostId(2), T);
    let mut out = Out::new();
    fetch.connected(HostId(2), StreamId(3), &mut out);
    assert_eq!(wanted(&out, StreamId(3)), owed);
}

#[test]
fn a_long_queue_is_shared_with_a_parent_that_has_nothing_to_send() {
    let (mut fetch, out) = two_parents(100);
    let own = wanted(&out, T);
    for chunk in &own {
        fetch.came(HostId(2), *chunk, 0).unwrap();
    }
    let first = wanted(&out, S)[0];
    fetch.came(HostId(1), first, 40).unwrap();
    let mut out = Out::new();
    fetch.balance(&mut out);
    let Some((S, Message::Drop { set })) = out.pop() else { panic!("{out:?}") };
    assert_eq!(set.len(), 10);
    fetch.dropped(HostId(1), &set, &mut out);
    assert_eq!(wanted(&out, T), set.iter().collect::<Vec<_>>());
    // What it hasn't comes back to where it was.
    let mut out = Out::new();
    fetch.dropped(HostId(2), &set, &mut out);
    assert_eq!(wanted(&out, S), set.iter().collect::<Vec<_>>());
    let mut out = Out::new();
    fetch.balance(&mut out);
    assert!(out.is_empty(), "it is left alone for a while");
}

#[test]
fn a_damaged_chunk_is_asked_of_another_parent() {
    let (mut fetch, out) = two_parents(10);
    let chunk = wanted(&out, S)[0];
    fetch.came(HostId(1), chunk, 0).unwrap();
    let mut out = Out::new();
    fetch.damaged(HostId(1), chunk, &mut out);
    assert_eq!(wanted(&out, T), [chunk]);
}
