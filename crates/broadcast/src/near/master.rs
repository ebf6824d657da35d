//! The packing problem by the revised simplex method (Dantzig 1953): maximise Σ value · rate without
//! exceeding any limit. Columns are added while it runs. It starts from the zero solution, which is feasible,
//! so it has no first phase, and every step leaves a usable solution. No LP library for Rust adds columns to
//! an existing basis, so this one was written.
//!
//! Limits are lowered by up to a millionth, each by a different amount, so that steps don't cycle.

pub(crate) struct Master {
    rows: usize,
    /// The basis' inverse, row by row.
    inverse: Vec<f64>,
    /// What is in the basis: a column, or a limit's rest.
    basis: Vec<Option<usize>>,
    /// Rates, or rests, of what is in the basis, as parts of the highest limit.
    amounts: Vec<f64>,
    /// What one more of each limit would be worth.
    prices: Vec<f64>,
    value: f64,
    scale: f64,
}

/// Less than this is rounding.
const ZERO: f64 = 1e-9;

impl Master {
    /// Limits in bit/s.
    pub fn new(limits: Vec<f64>) -> Master {
        let rows = limits.len();
        let scale = limits.iter().copied().fold(1.0, f64::max);
        let mut inverse = vec![0.0; rows * rows];
        (0..rows).for_each(|row| inverse[row * rows + row] = 1.0);
        // Multiples of the golden ratio spread evenly.
        let lowered =
            |(row, limit): (usize, f64)| limit / scale * (1.0 - 1e-6 * (row as f64 * 0.618_033_988_75 % 1.0));
        let amounts = limits.into_iter().enumerate().map(lowered).collect();
        Master { rows, inverse, basis: vec![None; rows], amounts, prices: vec![0.0; rows], value: 0.0, scale }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What one more of each limit would be worth, in destinations a part of the highest limit.
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// The aggregate in bit/s.
    pub fn value(&self) -> f64 {
        self.value * self.scale
    }

    /// The limit with the lowest price; below zero it pays to use less of it.
    pub fn lowest_price(&self) -> (usize, f64) {
        let prices = self.prices.iter().copied().enumerate();
        prices.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0))
    }

    /// Columns with a rate, in bit/s.
    pub fn solution(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let rated = self.basis.iter().zip(&self.amounts);
        rated.filter_map(|(column, amount)| Some(((*column)?, amount * self.scale)))
    }

    /// Takes a column into the basis at the highest rate that is allowed; what is used up first leaves it.
    pub fn enter(&mut self, uses: &[(usize, f64)], value: f64, column: Option<usize>) {
        let rows = self.rows;
        let change: Vec<f64> = (0..rows)
            .map(|row| uses.iter().map(|&(at, times)| self.inverse[row * rows + at] * times).sum())
            .collect();
        let Some(leaving) = self.tightest(&change) else { return };
        let gain = value - uses.iter().map(|&(row, times)| self.prices[row] * times).sum::<f64>();
        let rate = self.amounts[leaving] / change[leaving];
        let mut pivot = self.inverse[leaving * rows..(leaving + 1) * rows].to_vec();
        pivot.iter_mut().for_each(|entry| *entry /= change[leaving]);
        for row in (0..rows).filter(|&row| row != leaving && change[row] != 0.0) {
            self.amounts[row] = (self.amounts[row] - rate * change[row]).max(0.0);
            let entries = &mut self.inverse[row * rows..(row + 1) * rows];
            entries.iter_mut().zip(&pivot).for_each(|(entry, part)| *entry -= change[row] * part);
        }
        self.prices.iter_mut().zip(&pivot).for_each(|(price, part)| *price += gain * part);
        self.inverse[leaving * rows..(leaving + 1) * rows].copy_from_slice(&pivot);
        self.amounts[leaving] = rate;
        self.basis[leaving] = column;
        self.value += gain * rate;
    }

    /// What is used up first; of several the one that changes most, for the sake of rounding.
    fn tightest(&self, change: &[f64]) -> Option<usize> {
        let able = (0..self.rows).filter(|&row| change[row] > ZERO);
        able.min_by(|&one, &other| {
            let ratio = |row: usize| self.amounts[row] / change[row];
            ratio(one).total_cmp(&ratio(other)).then(change[other].total_cmp(&change[one]))
        })
    }
}
