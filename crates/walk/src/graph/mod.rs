//! Graphs in compressed rows: a word a node and a column an arc (4 bytes, 16 with weights), directed or not.
//!
//! Rows are sorted and parallel arcs are one, so that membership is a binary search. An undirected graph
//! holds each edge in the rows of both ends. A row that grows moves to the end of the columns (`change.rs`);
//! what reads the graph never sees half a row, because a change holds it alone.

pub(crate) mod alias;
mod build;
mod change;
mod error;
mod generate;
mod row;

pub use alias::Slot;
pub use change::{Applied, Change};
pub use error::GraphError;
pub use generate::{Blocks, Rmat, Sbm};
pub use row::{ARCS_MAX, DEGREE_MAX, Row};

/// What the arcs of a graph are, apart from the arcs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes with a row: 0 to `nodes - 1`.
    pub nodes: u32,
    /// Targets an arc may have: 0 to `targets - 1`. More than `nodes` where a server knows neighbours that it
    /// does not own.
    pub targets: u32,
    /// Whether an arc goes one way only.
    pub directed: bool,
}

impl Shape {
    /// A whole graph whose edges go both ways.
    pub fn undirected(nodes: u32) -> Self {
        Self { nodes, targets: nodes, directed: false }
    }

    /// A whole graph whose arcs go one way.
    pub fn directed(nodes: u32) -> Self {
        Self { nodes, targets: nodes, directed: true }
    }
}

/// A graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    rows: Vec<Row>,
    columns: Columns,
    shape: Shape,
    /// Positions that no row uses any more.
    unused: usize,
}

/// The arcs of all rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Columns {
    /// Targets; each arc of a row is as likely as any other.
    Even(Vec<u32>),
    /// Alias slots, and the weights that they came from.
    Weighted(Vec<Slot>, Vec<f32>),
}

impl Graph {
    /// Nodes with a row.
    pub fn nodes(&self) -> u32 {
        self.shape.nodes
    }

    /// What the graph is, apart from its arcs.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Arcs; an edge of an undirected graph is two, a loop is one.
    pub fn arcs(&self) -> u64 {
        (self.columns.len() - self.unused) as u64
    }

    /// Whether arcs have weights.
    pub fn weighted(&self) -> bool {
        matches!(self.columns, Columns::Weighted(..))
    }

    /// How many arcs leave `node`; 0 for a node without a row.
    pub fn degree(&self, node: u32) -> u32 {
        self.row(node).degree()
    }

    /// Where the arcs of `node` lead, ascending.
    pub fn neighbours(&self, node: u32) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.row(node).range().map(|at| self.columns.target(at))
    }

    /// The weights of the arcs of `node`, in the order of [`Graph::neighbours`]; 1 each without weights.
    pub fn weights(&self, node: u32) -> impl ExactSizeIterator<Item = f32> + '_ {
        self.row(node).range().map(|at| match &self.columns {
            Columns::Even(_) => 1.0,
            Columns::Weighted(_, weights) => weights[at],
        })
    }

    /// Whether an arc leads from `from` to `to`.
    pub fn has_arc(&self, from: u32, to: u32) -> bool {
        let row = self.row(from);
        match &self.columns {
            Columns::Even(targets) => contains(targets, row, to),
            Columns::Weighted(slots, _) => contains(slots, row, to),
        }
    }

    /// Whether `one` and `another` are neighbours in an undirected graph: looked up in the shorter of the two
    /// rows.
    pub fn adjacent(&self, one: u32, another: u32) -> bool {
        if self.degree(one) <= self.degree(another) {
            self.has_arc(one, another)
        } else {
            self.has_arc(another, one)
        }
    }

    /// The neighbour of `node` that 64 random bits choose, by weight; none where no arc leaves.
    #[inline]
    pub fn pick(&self, node: u32, random: u64) -> Option<u32> {
        let row = self.row(node);
        if row.degree() == 0 {
            return None;
        }
        let (at, fraction) = row.draw(random);
        Some(match &self.columns {
            Columns::Even(targets) => targets[at],
            Columns::Weighted(slots, _) => slots[at].pick(fraction),
        })
    }

    /// Bytes of memory that the graph holds.
    pub fn bytes(&self) -> usize {
        let columns = match &self.columns {
            Columns::Even(targets) => targets.capacity() * size_of::<u32>(),
            Columns::Weighted(slots, weights) => {
                slots.capacity() * size_of::<Slot>() + weights.capacity() * size_of::<f32>()
            }
        };
        self.rows.capacity() * size_of::<Row>() + columns
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    fn row(&self, node: u32) -> Row {
        self.rows.get(node as usize).copied().unwrap_or_default()
    }
}

impl Columns {
    fn len(&self) -> usize {
        match self {
            Self::Even(targets) => targets.len(),
            Self::Weighted(slots, _) => slots.len(),
        }
    }

    fn target(&self, at: usize) -> u32 {
        match self {
            Self::Even(targets) => targets[at],
            Self::Weighted(slots, _) => slots[at].target,
        }
    }
}

/// An arc as the kernels see it: a bare target, or an alias slot.
pub(crate) trait Arc: Copy + Sync {
    /// Whether arcs are chosen by weight.
    const WEIGHTED: bool;
    /// The arc's own target.
    fn target(self) -> u32;
    /// What of a draw's fraction is kept between choosing an arc and following it.
    type Fraction: Copy + Default;
    /// Keeps it.
    fn keep(fraction: u64) -> Self::Fraction;
    /// Asks for the cache lines that it lies in.
    fn prefetch(&self);
    /// The target that a draw which fell on this arc chooses.
    fn pick_kept(self, fraction: Self::Fraction) -> u32;
}

impl Arc for u32 {
    const WEIGHTED: bool = false;
    #[inline(always)]
    fn target(self) -> u32 {
        self
    }

    type Fraction = ();

    #[inline(always)]
    fn keep(_: u64) {}

    #[inline(always)]
    fn prefetch(&self) {
        mem::prefetch(self);
    }

    #[inline(always)]
    fn pick_kept(self, (): ()) -> u32 {
        self
    }
}

impl Arc for Slot {
    const WEIGHTED: bool = true;

    #[inline(always)]
    fn target(self) -> u32 {
        self.target
    }

    type Fraction = u32;

    #[inline(always)]
    fn keep(fraction: u64) -> u32 {
        (fraction >> 32) as u32
    }

    /// A slot in eight lies in two lines.
    #[inline(always)]
    fn prefetch(&self) {
        mem::prefetch(&self.target);
        mem::prefetch(&self.keep);
    }

    #[inline(always)]
    fn pick_kept(self, fraction: u32) -> u32 {
        if fraction < self.keep { self.target } else { self.other }
    }
}

/// Whether `row` holds `target`.
#[inline]
pub(crate) fn contains<A: Arc>(arcs: &[A], row: Row, target: u32) -> bool {
    arcs[row.range()].binary_search_by_key(&target, |arc| arc.target()).is_ok()
}
