//! How often nodes were reached from each start: counted in sorted runs, eight bytes a walk until a run is
//! closed, so that memory follows the pairs that occur and not all that could.

/// Pairs that are noted before they are counted: what a cache holds.
const FRESH: usize = 1 << 18;

/// Counts of (start, node).
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Ascending by pair.
    counted: Vec<(u64, u64)>,
    fresh: Vec<u64>,
    /// Room to sort them.
    room: Vec<u64>,
}

impl Tally {
    /// Counts of pairs (start above node), ascending.
    pub fn counted(counted: Vec<(u64, u64)>) -> Tally {
        Tally { counted, ..Tally::default() }
    }

    /// A walk from `start` reached `node`.
    #[inline]
    pub fn add(&mut self, start: u32, node: u32) {
        self.fresh.push(u64::from(start) << 32 | u64::from(node));
        if self.fresh.len() >= FRESH.max(self.counted.len()) {
            self.close();
        }
    }

    /// The nodes that walks from `start` reached, ascending, and how often.
    pub fn of(&mut self, start: u32) -> impl ExactSizeIterator<Item = (u32, u64)> + '_ {
        self.close();
        let first = self.counted.partition_point(|&(pair, _)| pair >> 32 < u64::from(start));
        let end = self.counted.partition_point(|&(pair, _)| pair >> 32 <= u64::from(start));
        self.counted[first..end].iter().map(|&(pair, count)| (pair as u32, count))
    }

    /// The starts that walks were noted for, ascending.
    pub fn starts(&mut self) -> Vec<u32> {
        self.close();
        let mut starts: Vec<u32> = self.counted.iter().map(|&(pair, _)| (pair >> 32) as u32).collect();
        starts.dedup();
        starts
    }

    /// Counts what is fresh.
    fn close(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        sort(&mut self.fresh, &mut self.room);
        let mut all = Vec::with_capacity(self.counted.len() + self.fresh.len() / 4);
        let mut old = std::mem::take(&mut self.counted).into_iter().peekable();
        for same in self.fresh.chunk_by(|one, next| one == next) {
            while let Some(before) = old.next_if(|&(pair, _)| pair < same[0]) {
                all.push(before);
            }
            let count = old.next_if(|&(pair, _)| pair == same[0]).map_or(0, |(_, count)| count);
            all.push((same[0], count + same.len() as u64));
        }
        all.extend(old);
        self.counted = all;
        self.fresh.clear();
    }
}

/// Bits that are sorted by at once: as many places as the first-level cache has lines for, about.
const DIGIT: u32 = 10;

/// Sorts numbers by their digits, the last first, and passes over bits that all share (D. E. Knuth, The Art
/// of Computer Programming 3, 5.2.5): pairs of node numbers have few others.
fn sort(numbers: &mut Vec<u64>, room: &mut Vec<u64>) {
    let mut differ = numbers.iter().fold(0, |bits, number| bits | (number ^ numbers[0]));
    room.resize(numbers.len(), 0);
    while differ != 0 {
        let shift = differ.trailing_zeros();
        let digit = |number: u64| (number >> shift) as usize % (1 << DIGIT);
        differ &= !(((1 << DIGIT) - 1) << shift);
        let mut places = [0; 1 << DIGIT];
        numbers.iter().for_each(|number| places[digit(*number)] += 1);
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for &number in numbers.iter() {
            let place = &mut places[digit(number)];
            room[*place] = number;
            *place += 1;
        }
        std::mem::swap(numbers, room);
    }
}

/// The `k` nodes of the largest scores, largest first; of equal ones the smaller number.
pub fn top(scores: impl IntoIterator<Item = (u32, f64)>, k: usize) -> Vec<(u32, f64)> {
    let mut all: Vec<(u32, f64)> = scores.into_iter().collect();
    all.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    all.truncate(k);
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn counts_are_those_of_a_map() {
        let (mut tally, mut map) = (Tally::default(), BTreeMap::<(u32, u32), u64>::new());
        for index in 0..5000u32 {
            let pair = (index * index % 13, index * 7 % 29);
            tally.add(pair.0, pair.1);
            *map.entry(pair).or_default() += 1;
            if index % 700 == 0 {
                tally.close();
            }
        }
        for start in tally.starts() {
            let expected =
                map.range((start, 0)..=(start, u32::MAX)).map(|(&(_, node), &count)| (node, count));
            assert!(tally.of(start).eq(expected));
        }
        assert_eq!(tally.of(14).count(), 0);
    }

    proptest::proptest! {
        #[test]
        fn numbers_come_in_order(mut numbers: Vec<u64>, mask: u64) {
            numbers.iter_mut().for_each(|number| *number &= mask);
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            sort(&mut numbers, &mut vec![1, 2]);
            proptest::prop_assert_eq!(numbers, sorted);
        }
    }

    #[test]
    fn the_largest_come_first() {
        assert_eq!(top([(4, 1.0), (2, 3.0), (1, 1.0)], 2), [(2, 3.0), (1, 1.0)]);
    }
}
