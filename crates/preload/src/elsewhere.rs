//! Memory of the program's that lies elsewhere: static data that begins as zeros (bss, [`crate::bss`]), and
//! mappings at an address that the program chose.
//!
//! Its addresses can't change, so each such place has a **stand-in**: as many addresses of the program's
//! range ([`crate::layout`]) that nobody touches. States, the mirror, and all who decide about pages know the
//! stand-in only. What comes from the program or the kernel is translated inwards ([`inward`], [`parts`]),
//! and what is asked of the kernel outwards ([`real`]).
//!
//! Places are read without a lock, by code that handles faults too; they change under the pager's lock.

use crate::areas;
use crate::config::{config, is_on, is_remote};
use crate::granted;
use crate::handler;
use crate::layout::{self, BASE};
use crate::lock::Lock;
use crate::pager;
use crate::runs::RUNS;
use crate::stats;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use sys::userfaultfd::Range;

/// Smaller places stay the kernel's.
pub(crate) const LEAST: usize = 1 << 20;
/// Most places at a time; of more, the launcher says that they are not governed.
pub(crate) const MOST: usize = 255;

struct Place {
    start: AtomicUsize,
    /// 0 where there is none.
    bytes: AtomicUsize,
    stand_in: AtomicUsize,
    /// Addresses of the stand-in, which are kept for another place.
    room: AtomicUsize,
}

static PLACES: [Place; MOST] = [const {
    Place {
        start: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        stand_in: AtomicUsize::new(0),
        room: AtomicUsize::new(0),
    }
}; MOST];
/// How many there ever were.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Odd while places change.
static CHANGES: AtomicUsize = AtomicUsize::new(0);
/// A thread holds it while it makes a place or ends one.
pub(crate) static CHANGING: Lock<()> = Lock::new(());

/// What is read of a place.
#[derive(Clone, Copy)]
struct Found {
    start: usize,
    bytes: usize,
    stand_in: usize,
}

impl Found {
    fn whole(self) -> Range {
        Range { start: self.stand_in, bytes: self.bytes }
    }
}

/// The first place of which that holds.
fn find(holds: impl Fn(Found) -> bool) -> Option<Found> {
    loop {
        let before = CHANGES.load(Acquire);
        let found = PLACES[..COUNT.load(Acquire)]
            .iter()
            .map(|place| Found {
                bytes: place.bytes.load(Acquire),
                start: place.start.load(Acquire),
                stand_in: place.stand_in.load(Acquire),
            })
            .find(|place| place.bytes > 0 && holds(*place));
        if before.is_multiple_of(2) && CHANGES.load(Acquire) == before {
            return found;
        }
        std::hint::spin_loop();
    }
}

/// Where an address of the program's memory is in its range; nothing for what is not governed.
#[inline]
pub(crate) fn inward(address: usize) -> Option<usize> {
    if layout::offset(address).is_some() {
        return Some(address);
    }
    if COUNT.load(Relaxed) == 0 {
        return None;
    }
    let place = find(|place| address.wrapping_sub(place.start) < place.bytes)?;
    Some(place.stand_in + (address - place.start))
}

/// Calls with each part of these bytes that lies in one place, with that place, or in none.
fn walk(start: usize, bytes: usize, mut each: impl FnMut(Range, Option<Found>)) {
    let end = start.saturating_add(bytes).next_multiple_of(BASE);
    let mut next = start / BASE * BASE;
    while next < end {
        let at = |first: usize, last: usize| Range { start: first, bytes: last - first };
        let Some(place) = lowest(|place| place.start < end && place.start + place.bytes > next) else {
            return each(at(next, end), None);
        };
        if next < place.start {
            each(at(next, place.start), None);
        }
        let (first, last) = (next.max(place.start), end.min(place.start + place.bytes));
        each(at(first, last), Some(place));
        next = last;
    }
}

/// Of the places of which that holds, the one with the lowest address.
fn lowest(holds: impl Fn(Found) -> bool) -> Option<Found> {
    let mut best = find(&holds)?;
    while let Some(lower) = find(|place| holds(place) && place.start < best.start) {
        best = lower;
    }
    Some(best)
}

/// The stand-ins of these bytes, wherever they lie.
pub(crate) fn parts(start: usize, bytes: usize) -> Vec<Range> {
    let mut parts = Vec::new();
    if COUNT.load(Relaxed) > 0 {
        walk(start, bytes, |part, place| {
            let stand_in =
                |place: Found| Range { start: place.stand_in + (part.start - place.start), ..part };
            parts.extend(place.map(stand_in));
        });
    }
    parts
}

/// What of these bytes lies in no place.
pub(crate) fn around(start: usize, bytes: usize) -> Vec<Range> {
    let mut around = Vec::new();
    walk(start, bytes, |part, place| around.extend(place.is_none().then_some(part)));
    around
}

/// The stand-in of all of these bytes, where they are within one place.
pub(crate) fn within(start: usize, bytes: usize) -> Option<Range> {
    match parts(start, bytes)[..] {
        [part] if real(part).start == start && part.bytes >= bytes => Some(part),
        _ => None,
    }
}

/// Where pages of the program's range really lie: a range within one stand-in, or outside of all.
#[inline]
pub(crate) fn real(range: Range) -> Range {
    if COUNT.load(Relaxed) == 0 {
        return range;
    }
    match find(|place| range.start.wrapping_sub(place.stand_in) < place.bytes) {
        Some(place) => Range { start: place.start + (range.start - place.stand_in), ..range },
        None => range,
    }
}

/// Calls with parts of a range of which each is within one stand-in or outside of all.
pub(crate) fn each_part(range: Range, mut each: impl FnMut(Range)) {
    let (mut next, end) = (range.start, range.start + range.bytes);
    while next < end {
        let inside = find(|place| next.wrapping_sub(place.stand_in) < place.bytes);
        let last = match inside {
            Some(place) => place.stand_in + place.bytes,
            None => following(next).unwrap_or(end),
        };
        each(Range { start: next, bytes: last.min(end) - next });
        next = last;
    }
}

/// Where the first stand-in behind an address begins.
fn following(address: usize) -> Option<usize> {
    if COUNT.load(Relaxed) == 0 {
        return None;
    }
    let mut best = find(|place| place.stand_in > address)?.stand_in;
    while let Some(lower) = find(|place| place.stand_in > address && place.stand_in < best) {
        best = lower.stand_in;
    }
    Some(best)
}

/// The stand-ins of all places.
pub(crate) fn all() -> Vec<Range> {
    let mut all = Vec::new();
    let mut next = 0;
    while let Some(start) = following(next) {
        all.extend(find(|place| place.stand_in == start).map(Found::whole));
        next = start;
    }
    all
}

/// Memory that the program was just given elsewhere, anonymous and zero or not yet touched, becomes a place:
/// its whole pages of remote memory. Its stand-in, which the program can't use yet ([`granted::commit`]).
pub(crate) fn take(start: usize, bytes: usize) -> Option<Range> {
    if !is_on() || bytes < LEAST {
        return None;
    }
    let page = config().page;
    let (first, end) = (start.next_multiple_of(page), (start + bytes) / page * page);
    let bytes = end.checked_sub(first).filter(|bytes| *bytes > 0)?;
    let whole = add(first, bytes)?;
    if is_remote() {
        handler::claim();
    }
    Some(whole)
}

fn add(first: usize, bytes: usize) -> Option<Range> {
    let _held = CHANGING.quietly();
    if !parts(first, bytes).is_empty() {
        return None;
    }
    let slot = free(bytes)?;
    let place = &PLACES[slot];
    let whole = Range { start: place.stand_in.load(Relaxed), bytes };
    areas::KERNEL.quietly().remove(areas::addresses(whole));
    granted::unpin(whole);
    areas::reserve(whole);
    changed(|| {
        place.start.store(first, Release);
        place.bytes.store(bytes, Release);
        COUNT.fetch_max(slot + 1, AcqRel);
    });
    stats::place(slot, first, bytes);
    Some(whole)
}

/// A slot without a place, with a stand-in that is large enough.
fn free(bytes: usize) -> Option<usize> {
    let is_free = |slot: &usize| PLACES[*slot].bytes.load(Relaxed) == 0;
    let room = |slot: usize| PLACES[slot].room.load(Relaxed);
    let count = COUNT.load(Relaxed);
    let found = (0..count).find(|slot| is_free(slot) && room(*slot) >= bytes);
    if found.is_some() {
        return found;
    }
    let slot = if count < MOST { count } else { (0..MOST).find(is_free)? };
    let run = RUNS.quietly().map(bytes)?;
    let whole = Range { start: run.start, bytes };
    if run.used {
        handler::forget(whole);
    }
    PLACES[slot].stand_in.store(run.start, Release);
    PLACES[slot].room.store(bytes, Relaxed);
    Some(slot)
}

fn changed(change: impl FnOnce()) {
    pager::quietly(|_| {
        CHANGES.fetch_add(1, AcqRel);
        change();
        CHANGES.fetch_add(1, AcqRel);
    });
}

/// These bytes are the kernel's from now on, and what they held is gone.
pub(crate) fn leave(start: usize, bytes: usize) {
    for part in parts(start, bytes) {
        granted::hand_over(part);
        end(part);
    }
}

/// These bytes are the kernel's from now on, with what they hold.
pub(crate) fn let_go(start: usize, bytes: usize) {
    for part in parts(start, bytes) {
        granted::pin(part);
        areas::UNUSED.quietly().remove(areas::addresses(part));
        areas::KERNEL.quietly().insert(areas::addresses(part));
        end(part);
    }
}

/// A place of which all is the kernel's is none.
fn end(part: Range) {
    let _held = CHANGING.quietly();
    let is_it =
        |place: &Place| part.start.wrapping_sub(place.stand_in.load(Relaxed)) < place.bytes.load(Relaxed);
    let Some(slot) = PLACES.iter().position(is_it) else { return };
    let place = &PLACES[slot];
    let whole = Range { start: place.stand_in.load(Relaxed), bytes: place.bytes.load(Relaxed) };
    if areas::ours(whole).is_empty() {
        changed(|| place.bytes.store(0, Release));
        stats::place(slot, 0, 0);
    }
}

/// Writes down all places, in a process's new file.
pub(crate) fn tell() {
    for (slot, place) in PLACES[..COUNT.load(Acquire)].iter().enumerate() {
        stats::place(slot, place.start.load(Relaxed), place.bytes.load(Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw;
    use crate::testing::{alone, want};

    fn mapped(bytes: usize) -> usize {
        raw::map(0, bytes, 0, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0).expect("addresses")
    }

    #[test]
    fn every_address_of_a_place_has_its_stand_in_and_back() {
        alone!({
            want("local=1073741824,rate=1");
            let first = mapped(16 * LEAST);
            assert_eq!(take(first, LEAST - BASE), None, "too small");
            let places = [first, first + 2 * LEAST, first + 8 * LEAST];
            let stand_ins = places.map(|start| take(start, LEAST).expect("a place"));
            assert_eq!(take(first + LEAST / 2, LEAST), None, "half of it is taken");
            for (start, whole) in places.into_iter().zip(stand_ins) {
                for address in [start, start + 1, start + LEAST - 1] {
                    let inside = inward(address).expect("a place");
                    assert_eq!(inside, whole.start + (address - start));
                    let page = Range { start: inside & !(BASE - 1), bytes: BASE };
                    assert_eq!(real(page).start, address & !(BASE - 1));
                }
                assert_eq!((inward(start - 1), inward(start + LEAST)), (None, None));
            }
            let inside: Vec<Range> = stand_ins[..2].to_vec();
            assert_eq!(parts(first, 3 * LEAST), inside);
            assert_eq!(around(first, 3 * LEAST), [Range { start: first + LEAST, bytes: LEAST }]);
            assert_eq!(within(first, LEAST), Some(stand_ins[0]));
            assert_eq!(within(first, LEAST + 1), None);
            let mut seen = Vec::new();
            let range = Range { start: stand_ins[0].start - BASE, bytes: 2 * LEAST };
            each_part(range, |part| seen.push(part.bytes));
            assert_eq!((seen[0], seen[1], seen.iter().sum()), (BASE, LEAST, 2 * LEAST));
        });
    }

    #[test]
    fn a_place_that_is_the_kernels_again_leaves_its_slot() {
        alone!({
            want("local=1073741824,rate=1");
            let first = mapped(4 * LEAST);
            for _ in 0..3 * MOST {
                let place = take(first, 2 * LEAST).expect("a slot");
                granted::commit(place);
                leave(first, LEAST);
                assert_eq!(all(), [place], "half of it is left");
                let_go(first + LEAST, LEAST);
                assert_eq!((all(), inward(first)), (vec![], None));
            }
            assert_eq!(COUNT.load(Relaxed), 1, "one slot was enough");
        });
    }
}
