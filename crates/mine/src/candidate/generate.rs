//! apriori-gen: itemsets one longer than the large ones, whose subsets are all large; R. Agrawal and R.
//! Srikant, "Fast algorithms for mining association rules", VLDB 1994, section 2.1.1.
//!
//! The paper joins pairs with a common beginning and then looks up the subsets of each. Here both are one
//! step. With the beginning and the item behind it fixed, the last items that may follow are those that
//! follow in each subset too. So sorted lists are intersected, and no candidate is made to be thrown away. A
//! [`Generator`] makes them in portions, and from a [`Mark`] on, so that not all have to be held at once.

use super::list::Candidates;
use crate::items::Level;
use std::ops::Range;

/// Candidates one longer than the large itemsets.
pub fn generate(large: &Level) -> Candidates {
    Generator::new(large, Mark::default()).portion(usize::MAX)
}

/// A place among candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The group of their beginning, and which of its tails is the item behind it.
    group: usize,
    second: usize,
    /// Last items behind these that have been made.
    made: usize,
}

/// Makes the candidates one longer than the large itemsets, in order.
pub struct Generator {
    length: usize,
    /// No candidate can be made of fewer large itemsets.
    enough: bool,
    trie: Trie,
    subsets: Subsets,
    mark: Mark,
}

impl Generator {
    /// From a place on.
    pub fn new(large: &Level, mark: Mark) -> Generator {
        let length = large.length();
        // An itemset of k + 1 items has k + 1 subsets of k.
        let enough = large.len() > length;
        Generator { length, enough, trie: Trie::new(large), subsets: Subsets::new(length), mark }
    }

    /// Where it is.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// The next candidates, at most so many; none when all have been made.
    pub fn portion(&mut self, most: usize) -> Candidates {
        let length = self.length;
        let mut candidates = Candidates::new(length + 1);
        let mut candidate = vec![0; length + 1];
        let mut last = Vec::new();
        let mut room = most;
        let groups = if self.enough { self.trie.groups() } else { 0 };
        while self.mark.group < groups {
            let tails = self.trie.tails(self.mark.group);
            self.trie.beginning(self.mark.group, &mut candidate[..length - 1]);
            self.subsets.begin(&self.trie, &candidate[..length - 1]);
            for (at, second) in tails.iter().enumerate().skip(self.mark.second) {
                candidate[length - 1] = *second;
                last.clear();
                last.extend_from_slice(&tails[at + 1..]);
                self.subsets.prune(&self.trie, *second, &mut last);
                let made = &last[self.mark.made..];
                candidates.extend(&mut candidate, &made[..made.len().min(room)]);
                if made.len() > room {
                    self.mark.made += room;
                    return candidates;
                }
                room -= made.len();
                (self.mark.second, self.mark.made) = (at + 1, 0);
            }
            self.mark = Mark { group: self.mark.group + 1, ..Mark::default() };
        }
        candidates
    }
}

/// The subsets of a candidate that lack an item of its beginning: for each such item, where in the trie the
/// others lead.
struct Subsets {
    /// The beginning that it stands at.
    beginning: Vec<u32>,
    /// Nodes of the beginning itself, by how many of its items they have.
    own: Vec<u32>,
    /// `without[i][d]`: the node of the first d items of the beginning but item i; [`NONE`] where there is
    /// none.
    without: Vec<Vec<u32>>,
    /// `next[i]`: where the search for the following second item goes on.
    next: Vec<u32>,
}

/// No node: no large itemset begins so.
const NONE: u32 = u32::MAX;

impl Subsets {
    fn new(length: usize) -> Self {
        let items = length - 1;
        Self {
            beginning: Vec::with_capacity(items),
            own: vec![0; items + 1],
            without: vec![vec![0; items]; items],
            next: vec![0; items],
        }
    }

    /// Goes to a beginning. What it has in common with the last one is not looked up again.
    fn begin(&mut self, trie: &Trie, beginning: &[u32]) {
        let same = self.beginning.iter().zip(beginning).take_while(|(a, b)| a == b).count();
        for (at, item) in beginning.iter().enumerate().skip(same) {
            self.own[at + 1] = trie.child(at, self.own[at], *item);
        }
        for (i, nodes) in self.without.iter_mut().enumerate() {
            nodes[i] = self.own[i];
            for at in same.max(i + 1)..beginning.len() {
                nodes[at] = trie.child(at - 1, nodes[at - 1], beginning[at]);
            }
            let node = nodes[beginning.len() - 1];
            self.next[i] = if node == NONE { NONE } else { trie.children(beginning.len() - 1, node).start };
        }
        self.beginning.clear();
        self.beginning.extend_from_slice(beginning);
    }

    /// Leaves of `last` what makes a candidate of the beginning, `second` and it: all subsets without an item
    /// of the beginning are large. Second items come in order.
    fn prune(&mut self, trie: &Trie, second: u32, last: &mut Vec<u32>) {
        let depth = self.without.len();
        for (nodes, next) in self.without.iter().zip(&mut self.next) {
            if last.is_empty() {
                return;
            }
            let node = nodes[depth - 1];
            if node == NONE {
                return last.clear();
            }
            let end = trie.children(depth - 1, node).end;
            let items = &trie.items[depth - 1][*next as usize..end as usize];
            *next += items.partition_point(|item| *item < second) as u32;
            if *next == end || trie.items[depth - 1][*next as usize] != second {
                return last.clear();
            }
            intersect(last, trie.tails(*next as usize));
        }
    }
}

/// Large itemsets of one length, by what they begin with. A node is a beginning; it is known by how many
/// items it has and its number among those that have as many. The root, number 0, has none.
struct Trie {
    /// The last item of each node with one item, two items, and so on; the last are the itemsets themselves.
    items: Vec<Vec<u32>>,
    /// Where the children of each node begin, among those with an item more; and the end of the last one's.
    starts: Vec<Vec<u32>>,
}

impl Trie {
    fn new(large: &Level) -> Self {
        let length = large.length();
        let mut trie = Self { items: vec![Vec::new(); length], starts: vec![Vec::new(); length] };
        let mut before: &[u32] = &[];
        for (itemset, _) in large.iter() {
            let same = before.iter().zip(itemset).take_while(|(a, b)| a == b).count();
            for (at, item) in itemset.iter().enumerate().skip(same) {
                let first = trie.items[at].len() as u32;
                if at > same || before.is_empty() {
                    trie.starts[at].push(first);
                }
                trie.items[at].push(*item);
            }
            before = itemset;
        }
        for (starts, items) in trie.starts.iter_mut().zip(&trie.items) {
            starts.push(items.len() as u32);
        }
        trie
    }

    /// Children of a node with `depth` items.
    fn children(&self, depth: usize, node: u32) -> Range<u32> {
        let starts = &self.starts[depth];
        starts[node as usize]..starts[node as usize + 1]
    }

    /// The child by an item of a node with `depth` items.
    fn child(&self, depth: usize, node: u32, item: u32) -> u32 {
        if node == NONE {
            return NONE;
        }
        let children = self.children(depth, node);
        let items = &self.items[depth][children.start as usize..children.end as usize];
        items.binary_search(&item).map_or(NONE, |at| children.start + at as u32)
    }

    /// Groups of itemsets that differ in their last items only: nodes with all items but one.
    fn groups(&self) -> usize {
        self.starts.last().expect("an itemset has items").len() - 1
    }

    /// What the itemsets of a group begin with.
    fn beginning(&self, group: usize, beginning: &mut [u32]) {
        let mut node = group as u32;
        for depth in (0..beginning.len()).rev() {
            beginning[depth] = self.items[depth][node as usize];
            node = self.starts[depth].partition_point(|start| *start <= node) as u32 - 1;
        }
    }

    /// The last items of a group.
    fn tails(&self, group: usize) -> &[u32] {
        let range = self.children(self.starts.len() - 1, group as u32);
        &self.items[self.items.len() - 1][range.start as usize..range.end as usize]
    }
}

/// Leaves what `others` has too; both ascend.
fn intersect(items: &mut Vec<u32>, others: &[u32]) {
    let (mut at, mut other, mut kept) = (0, 0, 0);
    while at < items.len() && other < others.len() {
        let (a, b) = (items[at], others[other]);
        // Written in any case, kept only when it is in both: no branch that is hard to predict.
        items[kept] = a;
        kept += usize::from(a == b);
        at += usize::from(a <= b);
        other += usize::from(b <= a);
    }
    items.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(itemsets: &[&[u32]]) -> Level {
        let mut level = Level::new(itemsets[0].len());
        itemsets.iter().for_each(|itemset| level.push(itemset, 1));
        level
    }

    #[test]
    fn the_papers_example() {
        // Section 2.1.1: {1 3 4 5} is joined too, and pruned because {1 4 5} is not large.
        let large = level(&[&[1, 2, 3], &[1, 2, 4], &[1, 3, 4], &[1, 3, 5], &[2, 3, 4]]);
        assert_eq!(generate(&large).iter().collect::<Vec<_>>(), [[1, 2, 3, 4]]);
    }

    #[test]
    fn portions_from_any_mark_are_all_candidates_in_order() {
        let mut large = Level::new(2);
        (0..7u32).for_each(|a| (a + 1..7).filter(|b| (a + b) % 5 > 0).for_each(|b| large.push(&[a, b], 1)));
        let all = generate(&large);
        assert!(all.len() > 10);
        for most in [1, 2, 3, 7, 100] {
            let (mut found, mut mark) = (Vec::new(), Mark::default());
            loop {
                let mut generator = Generator::new(&large, mark);
                let portion = generator.portion(most);
                if portion.is_empty() {
                    break;
                }
                assert!(portion.len() == most || found.len() / 3 + portion.len() == all.len());
                found.extend_from_slice(portion.codes());
                mark = generator.mark();
            }
            assert_eq!(found, all.codes());
        }
    }

    #[test]
    fn pairs_of_items_are_all_candidates() {
        let found = generate(&level(&[&[0], &[4], &[7]]));
        assert_eq!(found.iter().collect::<Vec<_>>(), [[0, 4], [0, 7], [4, 7]]);
        assert!(generate(&level(&[&[3]])).is_empty());
    }
}
