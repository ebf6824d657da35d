//! A tree of hosts in groups, and the fair shares of flows on it.

/// Hosts around one switch; or in groups around a switch each, and these around one in the middle.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// What each host's link carries from the host.
    pub up: Vec<f64>,
    /// What it carries to the host.
    pub down: Vec<f64>,
    /// The group of each host; empty without groups.
    pub of: Vec<usize>,
    /// What each group's link carries to the middle.
    pub out: Vec<f64>,
    /// What it carries to the group.
    pub back: Vec<f64>,
}

impl Tree {
    pub fn star(up: Vec<f64>, down: Vec<f64>) -> Tree {
        Tree { up, down, of: Vec::new(), out: Vec::new(), back: Vec::new() }
    }

    /// Of all directions of links: hosts up, hosts down, groups out, groups back.
    pub fn capacities(&self) -> Vec<f64> {
        [&self.up, &self.down, &self.out, &self.back].into_iter().flatten().copied().collect()
    }

    /// The directions that a flow takes.
    pub fn way(&self, from: usize, to: usize) -> Vec<usize> {
        let (hosts, groups) = (self.up.len(), self.out.len());
        let mut way = vec![from, hosts + to];
        if groups > 0 && self.of[from] != self.of[to] {
            way.extend([2 * hosts + self.of[from], 2 * hosts + groups + self.of[to]]);
        }
        way
    }

    /// Hosts come first, then the middle, then the groups' switches.
    pub fn nodes(&self) -> usize {
        self.up.len() + 1 + self.out.len()
    }

    /// Links: both ends, and the directions from the first to the second and back.
    pub fn links(&self) -> Vec<(usize, usize, usize, usize)> {
        let (hosts, groups) = (self.up.len(), self.out.len());
        let above = |host: usize| self.of.get(host).map_or(hosts, |group| hosts + 1 + group);
        let access = (0..hosts).map(|host| (host, above(host), host, hosts + host));
        let between = (0..groups)
            .map(|group| (hosts + 1 + group, hosts, 2 * hosts + group, 2 * hosts + groups + group));
        access.chain(between).collect()
    }
}

/// Max-min fair rates of flows over directed links, and the link that limits each: again and again the link
/// with the smallest share for each of its flows is full.
pub(crate) fn fair(capacities: &[f64], ways: &[Vec<usize>]) -> Vec<(f64, usize)> {
    let mut left = capacities.to_vec();
    let mut found: Vec<Option<(f64, usize)>> = vec![None; ways.len()];
    while found.iter().any(Option::is_none) {
        let mut users = vec![0.0; left.len()];
        for (way, _) in ways.iter().zip(&found).filter(|(_, found)| found.is_none()) {
            way.iter().for_each(|link| users[*link] += 1.0);
        }
        let shares =
            (0..left.len()).filter(|link| users[*link] > 0.0).map(|link| (left[link] / users[link], link));
        let Some((share, full)) = shares.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        for (way, found) in
            ways.iter().zip(&mut found).filter(|(way, found)| found.is_none() && way.contains(&full))
        {
            *found = Some((share, full));
            way.iter().for_each(|link| left[*link] = (left[*link] - share).max(0.0));
        }
    }
    found.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_fair() {
        // Two flows share a link of 10; one of them is limited to 2 elsewhere; a third is alone.
        let rates = fair(&[10.0, 2.0, 7.0], &[vec![0, 1], vec![0], vec![2]]);
        assert_eq!(rates, [(2.0, 1), (8.0, 0), (7.0, 2)]);
    }

    #[test]
    fn flows_within_a_group_stay_there() {
        let tree = Tree {
            of: vec![0, 0, 1],
            out: vec![3.0, 3.0],
            back: vec![4.0, 4.0],
            ..Tree::star(vec![10.0; 3], vec![10.0; 3])
        };
        assert_eq!(tree.way(0, 1), [0, 4]);
        assert_eq!(fair(&tree.capacities(), &[tree.way(0, 1), tree.way(1, 2)]), [(10.0, 0), (3.0, 6)]);
        assert_eq!(tree.links()[2], (2, 5, 2, 5));
        assert_eq!(tree.links()[4], (5, 3, 7, 9));
    }
}
