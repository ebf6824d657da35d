//! The rule by which walkers move, as people give it, and checked.
//!
//! Lengths are counted in steps: a walk of n steps passes n + 1 nodes. A walk that *stops* with a probability
//! (`Length::Stop`) ends somewhere near its start; a walk that *restarts* is set back to its start,
//! which is a step too, and goes on to its full length.

use thiserror::Error;

use super::bias::Bias;
use super::geometric::Geometric;
use super::random::Stream;
use serde::{Deserialize, Serialize};

/// How many steps a walk has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// Always so many.
    Fixed(u32),
    /// The walk stops with this probability, from 0.000001 to 1, before each step: (1 - p) / p steps on
    /// average.
    Stop(f64),
}

/// What a walker does at a node that no arc leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadEnd {
    /// Its walk is over, shorter than it should be.
    #[default]
    Stop,
    /// It is set back to its start, which is a step.
    Restart,
}

/// How walkers move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// How many steps.
    #[serde(rename = "steps")]
    pub length: Length,
    /// The probability that a step leads back to the start; 0 to below 1.
    pub restart: f64,
    /// node2vec's return parameter p and in-out parameter q, from 0.001 to 1000.
    pub node2vec: Option<(f64, f64)>,
    /// What happens at a node that no arc leaves: on servers, the walk is over.
    #[serde(skip)]
    pub dead_end: DeadEnd,
}

impl Walk {
    /// First-order walks of so many steps.
    pub fn fixed(steps: u32) -> Self {
        Self { length: Length::Fixed(steps), restart: 0.0, node2vec: None, dead_end: DeadEnd::Stop }
    }

    /// First-order walks that stop with the probability before each step.
    pub fn geometric(stop: f64) -> Self {
        Self { length: Length::Stop(stop), ..Self::fixed(0) }
    }

    /// node2vec's walks of so many steps.
    pub fn node2vec(steps: u32, p: f64, q: f64) -> Self {
        Self { node2vec: Some((p, q)), ..Self::fixed(steps) }
    }
}

/// A walk that can't be walked.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum WalkError {
    /// The probability to stop.
    #[error("stop: {0} is not from 0.000001 to 1")]
    Stop(f64),
    /// The probability to restart.
    #[error("restart: {0} is not from 0 to below 1")]
    Restart(f64),
    /// One of node2vec's parameters.
    #[error("{name}: {value} is not from 0.001 to 1000")]
    Parameter {
        /// `p` or `q`.
        name: char,
        /// Its value.
        value: f64,
    },
}

/// A checked rule with its tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    length: Lengths,
    /// Of 2^64.
    pub(crate) restart: u64,
    pub(crate) bias: Option<Bias>,
    pub(crate) dead_end: DeadEnd,
}

#[derive(Clone, Debug, PartialEq)]
enum Lengths {
    Fixed(u32),
    Geometric(Geometric),
}

impl Rule {
    /// Checks the walk.
    pub fn new(walk: &Walk) -> Result<Self, WalkError> {
        let length = match walk.length {
            Length::Fixed(steps) => Lengths::Fixed(steps),
            Length::Stop(stop) if (1e-6..=1.0).contains(&stop) => Lengths::Geometric(Geometric::new(stop)),
            Length::Stop(stop) => return Err(WalkError::Stop(stop)),
        };
        if !(0.0..1.0).contains(&walk.restart) {
            return Err(WalkError::Restart(walk.restart));
        }
        for (name, value) in walk.node2vec.iter().flat_map(|&(p, q)| [('p', p), ('q', q)]) {
            if !(1e-3..=1e3).contains(&value) {
                return Err(WalkError::Parameter { name, value });
            }
        }
        let restart = (walk.restart * 18_446_744_073_709_551_616.0) as u64;
        // With p = q = 1 the walk is one of the first order.
        let bias = walk.node2vec.filter(|&pair| pair != (1.0, 1.0)).map(|(p, q)| Bias::new(p, q));
        Ok(Self { length, restart, bias, dead_end: walk.dead_end })
    }

    /// The steps of the walk whose stream begins with `stream`, if it meets no dead end: a server that knows
    /// the walk knows them.
    #[inline]
    pub fn steps(&self, stream: Stream) -> u32 {
        match &self.length {
            Lengths::Fixed(steps) => *steps,
            Lengths::Geometric(lengths) => lengths.draw(stream.beside()),
        }
    }

    /// The steps of all walks, where they are the same for all.
    pub fn fixed_steps(&self) -> Option<u32> {
        match self.length {
            Lengths::Fixed(steps) => Some(steps),
            Lengths::Geometric(_) => None,
        }
    }

    /// The steps of a walk on average, without dead ends.
    pub fn mean_steps(&self) -> f64 {
        match &self.length {
            Lengths::Fixed(steps) => f64::from(*steps),
            Lengths::Geometric(lengths) => lengths.mean(),
        }
    }

    /// Whether a step depends on the node before.
    pub fn second_order(&self) -> bool {
        self.bias.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        let refuse = |walk: Walk| Rule::new(&walk).unwrap_err().to_string();
        assert_eq!(refuse(Walk::geometric(0.0)), "stop: 0 is not from 0.000001 to 1");
        assert_eq!(refuse(Walk::geometric(f64::NAN)), "stop: NaN is not from 0.000001 to 1");
        assert_eq!(refuse(Walk { restart: 1.0, ..Walk::fixed(3) }), "restart: 1 is not from 0 to below 1");
        assert_eq!(refuse(Walk::node2vec(3, 0.0, 1.0)), "p: 0 is not from 0.001 to 1000");
        assert_eq!(refuse(Walk::node2vec(3, 1.0, -1.0)), "q: -1 is not from 0.001 to 1000");
    }

    #[test]
    fn even_bias_is_no_bias() {
        assert!(!Rule::new(&Walk::node2vec(3, 1.0, 1.0)).unwrap().second_order());
        assert!(Rule::new(&Walk::node2vec(3, 1.0, 2.0)).unwrap().second_order());
    }
}
