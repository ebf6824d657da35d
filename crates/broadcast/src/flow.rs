//! Maximum flow from one node to another by Dinitz' algorithm (1970): blocking flows along shortest paths.

/// Directed arcs with capacities, and the flow through them.
pub(crate) struct Network {
    /// Arc `2 i + 1` takes back what flows through arc `2 i`.
    heads: Vec<u32>,
    capacities: Vec<u64>,
    rest: Vec<u64>,
    leaving: Vec<Vec<u32>>,
    /// Arcs from the start, by the search at hand.
    level: Vec<u32>,
    /// The arc of each node to try next.
    next: Vec<usize>,
}

const FAR: u32 = u32::MAX;

impl Network {
    pub fn new(nodes: usize) -> Network {
        Network {
            heads: Vec::new(),
            capacities: Vec::new(),
            rest: Vec::new(),
            leaving: vec![Vec::new(); nodes],
            level: vec![FAR; nodes],
            next: vec![0; nodes],
        }
    }

    pub fn add(&mut self, from: usize, to: usize, capacity: u64) {
        for (tail, head, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.leaving[tail].push(self.heads.len() as u32);
            self.heads.push(head as u32);
            self.capacities.push(capacity);
        }
    }

    /// The most that flows from `from` to `to`, up to `limit`.
    pub fn max_flow(&mut self, from: usize, to: usize, limit: u64) -> u64 {
        self.rest.clone_from(&self.capacities);
        let mut total = 0;
        while total < limit && self.search(from, to) {
            self.next.fill(0);
            while let Some(flow) = self.augment(from, to, limit - total) {
                total += flow;
            }
        }
        total
    }

    /// Sets levels; whether `to` can be reached.
    fn search(&mut self, from: usize, to: usize) -> bool {
        self.level.fill(FAR);
        self.level[from] = 0;
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(&node) = reached.get(at) {
            at += 1;
            for &arc in &self.leaving[node] {
                let head = self.heads[arc as usize] as usize;
                if self.rest[arc as usize] > 0 && self.level[head] == FAR {
                    self.level[head] = self.level[node] + 1;
                    if head == to {
                        return true;
                    }
                    reached.push(head);
                }
            }
        }
        false
    }

    /// Sends what fits along one shortest way.
    fn augment(&mut self, from: usize, to: usize, most: u64) -> Option<u64> {
        let mut way: Vec<u32> = Vec::new();
        let mut at = from;
        while at != to {
            if let Some(arc) = self.step(at) {
                way.push(arc);
                at = self.heads[arc as usize] as usize;
            } else {
                // A dead end: back, and never into it again.
                at = self.heads[way.pop()? as usize ^ 1] as usize;
                self.next[at] += 1;
            }
        }
        let flow = way.iter().map(|&arc| self.rest[arc as usize]).min()?.min(most);
        for &arc in &way {
            self.rest[arc as usize] -= flow;
            self.rest[arc as usize ^ 1] += flow;
        }
        (flow > 0).then_some(flow)
    }

    fn step(&mut self, node: usize) -> Option<u32> {
        let usable = |&arc: &u32| {
            let head = self.heads[arc as usize] as usize;
            self.rest[arc as usize] > 0 && self.level[head] == self.level[node] + 1
        };
        let ahead = self.leaving[node][self.next[node]..].iter().position(usable)?;
        self.next[node] += ahead;
        Some(self.leaving[node][self.next[node]])
    }
}
