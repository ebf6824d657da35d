//! What is kept of walks while they run in memory: where they end, how often nodes are visited, whole paths,
//! or nothing.

/// Notes walks of a block; the block's walks are numbered from 0 and begin in this order.
pub(crate) trait Record {
    /// A walk begins at `start` and will have `steps` steps. What it returns is handed to the walk's other
    /// calls.
    fn begin(&mut self, start: u32, steps: u32) -> usize;
    /// A step leads to `node`.
    fn visit(&mut self, mark: &mut usize, node: u32);
    /// The walk, which had steps, ends at `node`.
    #[inline(always)]
    fn end(&mut self, _walk: u32, _node: u32) {}
    /// The walk ends so many steps short.
    fn short(&mut self, _walk: u32, _steps: u32) {}
    /// Makes ready for the next block.
    fn clear(&mut self);
}

/// Counts steps and keeps nothing else.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    pub(crate) steps: u64,
}

impl Record for Steps {
    #[inline(always)]
    fn begin(&mut self, _: u32, steps: u32) -> usize {
        self.steps += u64::from(steps);
        0
    }

    #[inline(always)]
    fn visit(&mut self, _: &mut usize, _: u32) {}

    fn short(&mut self, _: u32, steps: u32) {
        self.steps -= u64::from(steps);
    }

    fn clear(&mut self) {}
}

/// How often each node was visited, starts included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// Visits of each node.
    pub counts: Vec<u64>,
}

impl Record for Visits {
    #[inline(always)]
    fn begin(&mut self, start: u32, _: u32) -> usize {
        self.counts[start as usize] += 1;
        0
    }

    #[inline(always)]
    fn visit(&mut self, _: &mut usize, node: u32) {
        self.counts[node as usize] += 1;
    }

    fn clear(&mut self) {}
}

/// Where the walks of a block began and ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The start of each walk.
    pub starts: Vec<u32>,
    /// The last node of each walk.
    pub ends: Vec<u32>,
}

impl Record for Ends {
    #[inline(always)]
    fn begin(&mut self, start: u32, _: u32) -> usize {
        self.starts.push(start);
        self.ends.push(start);
        0
    }

    #[inline(always)]
    fn visit(&mut self, _: &mut usize, _: u32) {}

    #[inline(always)]
    fn end(&mut self, walk: u32, node: u32) {
        self.ends[walk as usize] = node;
    }

    fn clear(&mut self) {
        self.starts.clear();
        self.ends.clear();
    }
}

/// The paths of the walks of a block: every node passed, the start first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    nodes: Vec<u32>,
    /// Where each path begins, and where the last one ends.
    offsets: Vec<usize>,
    /// Steps that walks ended short, at dead ends.
    short: Vec<(u32, u32)>,
}

impl Default for Paths {
    fn default() -> Self {
        Self { nodes: Vec::new(), offsets: vec![0], short: Vec::new() }
    }
}

impl Paths {
    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The paths, in the order of their walks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.offsets.windows(2).map(|ends| &self.nodes[ends[0]..ends[1]])
    }

    /// All nodes, path after path.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Where each path begins in [`Paths::nodes`], and where the last one ends.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Closes the gaps that walks left which ended short.
    pub(crate) fn close(&mut self) {
        if self.short.is_empty() {
            return;
        }
        self.short.sort_unstable();
        let mut short = self.short.drain(..).peekable();
        let (mut from, mut end) = (0, 0);
        for walk in 0..self.offsets.len() - 1 {
            let next = self.offsets[walk + 1];
            let left = short.next_if(|&(shorter, _)| shorter as usize == walk).map_or(0, |(_, left)| left);
            let length = next - from - left as usize;
            self.nodes.copy_within(from..from + length, end);
            end += length;
            self.offsets[walk + 1] = end;
            from = next;
        }
        self.nodes.truncate(end);
    }
}

impl Record for Paths {
    #[inline(always)]
    fn begin(&mut self, start: u32, steps: u32) -> usize {
        let from = self.nodes.len();
        self.nodes.resize(from + steps as usize + 1, start);
        self.offsets.push(self.nodes.len());
        from + 1
    }

    #[inline(always)]
    fn visit(&mut self, mark: &mut usize, node: u32) {
        self.nodes[*mark] = node;
        *mark += 1;
    }

    fn short(&mut self, walk: u32, steps: u32) {
        self.short.push((walk, steps));
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.offsets.truncate(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_that_end_short_leave_no_gap() {
        let mut paths = Paths::default();
        let mut marks: Vec<usize> =
            [(5, 2), (6, 3), (7, 0), (8, 1)].map(|(start, steps)| paths.begin(start, steps)).into();
        paths.visit(&mut marks[1], 60);
        paths.visit(&mut marks[3], 80);
        paths.visit(&mut marks[1], 61);
        paths.short(1, 1);
        paths.short(0, 2);
        paths.close();
        assert_eq!(paths.iter().collect::<Vec<_>>(), [&[5][..], &[6, 60, 61], &[7], &[8, 80]]);
    }
}
