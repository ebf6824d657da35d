//! Lengths of walks that stop with the same probability after each step: P(n steps) = stop · (1 - stop)^n. A
//! length is one look-up in an alias table; the table's last entry means "so many, and as many more as the
//! next look-up says", which is right because such lengths have no memory. Entries are a power of two, so the
//! top bits of a draw choose one.

use crate::graph::{Slot, alias::Scratch};

use super::Stream;

/// The largest table, as a power of two: 48 KiB, for walks of more than four hundred steps on average.
const BITS_MAX: u32 = 12;

/// Draws lengths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Geometric {
    slots: Vec<Slot>,
    shift: u32,
    mean: f64,
}

impl Geometric {
    /// `stop` is above 0 and at most 1.
    pub(crate) fn new(stop: f64) -> Self {
        // After so many entries, e^-9 of the lengths are left.
        let enough = libm::ceil(9.0 / stop).min(f64::from(1 << BITS_MAX)) as u32;
        let bits = enough.next_power_of_two().trailing_zeros();
        let last = (1 << bits) - 1;
        let mut slots: Vec<Slot> = (0..=last).map(|target| Slot { target, ..Slot::default() }).collect();
        let mut left = 1.0;
        let weights = (0..=last).map(|length| {
            let share = if length == last { left } else { left * stop };
            left -= share;
            share
        });
        Scratch::default().fill(&mut slots, weights);
        Self { slots, shift: 64 - bits, mean: (1.0 - stop) / stop }
    }

    /// The steps of a walk on average.
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// The length, in steps, that `stream` gives; one of more than 32 bits is cut off there.
    #[inline(always)]
    pub(crate) fn draw(&self, mut stream: Stream) -> u32 {
        let random = stream.next();
        let steps = self.entry(random);
        if steps as usize == self.slots.len() - 1 { self.longer(steps, stream) } else { steps }
    }

    #[inline(always)]
    fn entry(&self, random: u64) -> u32 {
        self.slots[(random >> self.shift) as usize].pick(random << (64 - self.shift))
    }

    #[cold]
    fn longer(&self, mut steps: u32, mut stream: Stream) -> u32 {
        let last = self.slots.len() as u32 - 1;
        loop {
            let part = self.entry(stream.next());
            steps = steps.saturating_add(part);
            if part < last || steps == u32::MAX {
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
