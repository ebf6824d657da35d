//! Lengths of walks that stop with the same probability after each step: P(n steps) = stop · (1 - stop)^n. A length
//! is one look-up in an alias table; the table's last entry means "so many, and as many more as the next look-up
//! says", which is right because such lengths have no memory.

use crate::graph::{Slot, alias::Scratch};

use super::Stream;

/// The largest table: 48 KiB, for walks of more than four hundred steps on average.
const ENTRIES_MAX: f64 = 4096.0;

/// Draws lengths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Geometric {
    slots: Vec<Slot>,
    mean: f64,
}

impl Geometric {
    /// `stop` is above 0 and at most 1.
    pub(crate) fn new(stop: f64) -> Self {
        // After so many entries, e^-9 of the lengths are left.
        let last = libm::ceil(9.0 / stop).min(ENTRIES_MAX - 1.0) as u32;
        let mut slots: Vec<Slot> = (0..=last).map(|target| Slot { target, ..Slot::default() }).collect();
        let mut left = 1.0;
        let weights = (0..=last).map(|length| {
            let share = if length == last { left } else { left * stop };
            left -= share;
            share
        });
        Scratch::default().fill(&mut slots, weights);
        Self { slots, mean: (1.0 - stop) / stop }
    }

    /// The steps of a walk on average.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// The length, in steps, that `stream` gives; one of more than 32 bits is cut off there.
    pub(crate) fn draw(&self, mut stream: Stream) -> u32 {
        let last = self.slots.len() as u32 - 1;
        let mut steps = 0u32;
        loop {
            let product = u128::from(stream.next()) * self.slots.len() as u128;
            let part = self.slots[(product >> 64) as usize].pick(product as u64);
            steps = steps.saturating_add(part);
            if part < last || last == 0 {
                return steps;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_the_probabilities_of_the_definition() {
        for (stop, draws) in [(0.15, 200_000u32), (0.9, 50_000), (1.0, 1000), (0.001, 100_000)] {
            let geometric = Geometric::new(stop);
            let lengths: Vec<f64> =
                (0..draws).map(|walk| f64::from(geometric.draw(Stream::of(1, 0, walk)))).collect();
            let mean = lengths.iter().sum::<f64>() / f64::from(draws);
            let expected = (1.0 - stop) / stop;
            let deviation = (1.0 - stop).sqrt() / stop / f64::from(draws).sqrt();
            assert!((mean - expected).abs() <= 5.0 * deviation, "{stop}: {mean} is not {expected}");
            for length in [0, 1, 2, 7] {
                let p = stop * (1.0f64 - stop).powi(length);
                let count = lengths.iter().filter(|&&drawn| drawn == f64::from(length)).count() as f64;
                let expected = p * f64::from(draws);
                assert!(
                    (count - expected).abs() <= 5.0 * expected.sqrt() + 1e-9,
                    "{stop}: {count} of {expected}"
                );
            }
        }
    }

    #[test]
    fn the_tail_behind_the_table_is_drawn_too() {
        let geometric = Geometric::new(0.0001);
        let longer = (0..2000).filter(|&walk| geometric.draw(Stream::of(1, 0, walk)) > 8192).count() as f64;
        let expected = 2000.0 * 0.9999f64.powi(8193);
        assert!((longer - expected).abs() < 5.0 * expected.sqrt(), "{longer} of {expected}");
    }
}
