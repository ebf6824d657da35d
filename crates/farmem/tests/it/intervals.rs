//! A set of intervals has what a set of its addresses would have.

use farmem::intervals::Intervals;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

const ADDRESSES: usize = 64;

fn ranges() -> impl Strategy<Value = Vec<(bool, Range<usize>)>> {
    let range = (0..ADDRESSES, 0..ADDRESSES).prop_map(|(a, b)| a.min(b)..a.max(b));
    prop::collection::vec((any::<bool>(), range), 1..40)
}

proptest! {
    #[test]
    fn it_has_what_a_set_of_addresses_has(steps in ranges(), asked in (0..ADDRESSES, 0..ADDRESSES)) {
        let (mut set, mut each) = (Intervals::new(), BTreeSet::new());
        for (add, range) in steps {
            if add {
                set.insert(range.clone());
                each.extend(range);
            } else {
                let count = each.range(range.clone()).count();
                prop_assert_eq!(set.remove(range.clone()), count);
                each.retain(|at| !range.contains(at));
            }
        }
        let asked = asked.0.min(asked.1)..asked.0.max(asked.1);
        let inside: Vec<usize> = set.inside(asked.clone()).flatten().collect();
        let outside: Vec<usize> = set.outside(asked.clone()).flatten().collect();
        prop_assert_eq!(inside, each.range(asked.clone()).copied().collect::<Vec<_>>());
        prop_assert_eq!(outside, asked.filter(|at| !each.contains(at)).collect::<Vec<_>>());
        prop_assert_eq!(set.is_empty(), each.is_empty());
    }
}
