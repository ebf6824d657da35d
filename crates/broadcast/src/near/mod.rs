//! A plan close to the highest aggregate on any topology, which document 003 leaves to future work (slide
//! 36).
//!
//! Choosing rates for trees is a packing problem: the highest Σ members · rate with no link above its
//! capacity. There are too many trees to list, so they are generated when needed (column generation, Ford and
//! Fulkerson 1958). The simplex method ([`master`]) prices links, and [`price`] looks for a tree that serves
//! more hosts than its links cost. The stable algorithm's trees come first, so the plan is never worse.
//!
//! Finding the best tree for given prices is hard if links differ in their two directions, and this search
//! may miss it: the plan is near the optimum, not at it. The work is bounded, and networks with more than
//! [`ROWS_MAX`] directed links get the stable plan. The optimum itself needs an LP solver, outside this
//! crate.

mod master;
mod price;
mod round;

use crate::bound;
use crate::check::PlanError;
use crate::elastic::OwnedHop;
use crate::plan::Plan;
use crate::stable;
use crate::topology::{NodeId, Topology};
use master::Master;
use price::{Pricer, Rows};

/// Limits of the packing problem at most: the simplex method's table has the square of it.
const ROWS_MAX: usize = 1_500;
/// Steps are bounded so that they take some seconds: each costs the square of the number of limits.
const WORK_MAX: usize = 6_000_000_000;
/// A tree has to be worth so much of a destination more than it costs.
const GAIN_MIN: f64 = 1e-7;

/// A tree as the packing problem sees it.
struct Column {
    hops: Vec<OwnedHop>,
    /// How often it uses which limit.
    uses: Vec<(usize, f64)>,
}

pub(crate) fn plan(topology: &Topology, source: NodeId, destinations: &[NodeId]) -> Result<Plan, PlanError> {
    let mut stable = stable::plan(topology, source, destinations);
    stable.algorithm = "near".to_owned();
    let bound = bound::bound(&bound::alone(topology, source, destinations)?).as_bps();
    let rows = Rows::new(topology);
    if stable.aggregate().as_bps() >= bound || rows.len() > ROWS_MAX {
        return Ok(stable);
    }
    let mut search = Search::new(topology, rows, source, destinations);
    search.start(&stable);
    search.improve(bound as f64);
    let near = round::plan(topology, source, destinations, search.trees());
    Ok(if near.aggregate() > stable.aggregate() { near } else { stable })
}

struct Search<'a> {
    pricer: Pricer<'a>,
    master: Master,
    columns: Vec<Column>,
}

impl<'a> Search<'a> {
    fn new(topology: &'a Topology, rows: Rows, source: NodeId, destinations: &[NodeId]) -> Search<'a> {
        let master = Master::new(rows.limits(topology));
        Search { pricer: Pricer::new(topology, rows, source, destinations), master, columns: Vec::new() }
    }

    /// Takes in the trees of a plan, each at the highest rate that those before leave.
    fn start(&mut self, plan: &Plan) {
        for tree in plan.trees().take(self.master.rows()) {
            let hops = tree.hops().map(|hop| OwnedHop {
                parent: hop.parent,
                child: hop.child,
                path: hop.path.to_vec(),
            });
            let column = self.pricer.column(hops.collect());
            self.enter(column);
        }
    }

    fn enter(&mut self, column: Column) {
        self.master.enter(&column.uses, column.hops.len() as f64, Some(self.columns.len()));
        self.columns.push(column);
    }

    fn improve(&mut self, bound: f64) {
        for _ in 0..WORK_MAX / self.master.rows().pow(2) {
            if self.master.value() >= bound * (1.0 - 1e-6) {
                return;
            }
            let (row, price) = self.master.lowest_price();
            if price < -GAIN_MIN {
                self.master.enter(&[(row, 1.0)], 0.0, None);
            } else if let Some(column) = self.pricer.best(self.master.prices(), GAIN_MIN) {
                self.enter(column);
            } else {
                return;
            }
        }
    }

    /// Trees and rates in bit/s, highest first.
    fn trees(&self) -> Vec<(f64, &[OwnedHop])> {
        let rated = self.master.solution().map(|(column, rate)| (rate, self.columns[column].hops.as_slice()));
        let mut trees: Vec<_> = rated.collect();
        trees.sort_by(|one, other| other.0.total_cmp(&one.0));
        trees
    }
}
