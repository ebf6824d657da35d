//! Which hosts share a switch: those between which flows are as fast as their ends allow.

use std::collections::BTreeMap;

/// Groups that share less than this are not joined.
const LEAST: f64 = 0.4;

/// Ways to group hosts, from many groups to few: `shares` are pairs of hosts and the part that a flow reached
/// of what its ends allow. Again and again the two groups whose hosts reach most of it between them are
/// joined (average linkage).
pub(crate) fn group(hosts: usize, shares: &[(usize, usize, f64)]) -> Vec<Vec<usize>> {
    // Between groups: the sum of parts, and how many there are.
    let mut between: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for (from, to, share) in shares {
        let (sum, count) = between.entry((*from.min(to), *from.max(to))).or_default();
        (*sum, *count) = (*sum + share, *count + 1.0);
    }
    let mut of: Vec<usize> = (0..hosts).collect();
    let mut found = Vec::new();
    while let Some((pair, share)) = closest(&between) {
        if share < LEAST {
            break;
        }
        let (keep, gone) = pair;
        of.iter_mut().filter(|group| **group == gone).for_each(|group| *group = keep);
        between = joined(&between, keep, gone);
        let numbered = numbered(&of);
        let count = numbered.iter().max().map_or(0, |last| last + 1);
        if (2..=hosts / 2 + 1).contains(&count) {
            found.push(numbered);
        }
    }
    found
}

/// The two groups that share most.
fn closest(between: &BTreeMap<(usize, usize), (f64, f64)>) -> Option<((usize, usize), f64)> {
    let shares = between.iter().map(|(pair, (sum, count))| (*pair, sum / count));
    shares.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}

fn joined(
    between: &BTreeMap<(usize, usize), (f64, f64)>,
    keep: usize,
    gone: usize,
) -> BTreeMap<(usize, usize), (f64, f64)> {
    let mut found: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for ((a, b), (sum, count)) in between {
        let renamed = |group: usize| if group == gone { keep } else { group };
        let (a, b) = (renamed(*a), renamed(*b));
        if a != b {
            let (all, counts) = found.entry((a.min(b), a.max(b))).or_default();
            (*all, *counts) = (*all + sum, *counts + count);
        }
    }
    found
}

/// Groups numbered from 0 in the order of their first hosts.
fn numbered(of: &[usize]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    of.iter()
        .map(|group| {
            let next = numbers.len();
            *numbers.entry(*group).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_meet_nobody_share_a_group() {
        let mut shares = Vec::new();
        for a in 0..6 {
            for b in 0..6 {
                if a != b {
                    shares.push((a, b, if a / 3 == b / 3 { 0.97 } else { 0.45 }));
                }
            }
        }
        let found = group(6, &shares);
        assert!(found.contains(&vec![0, 0, 0, 1, 1, 1]), "{found:?}");
    }
}
