//! Distributions of flow sizes: piecewise linear, as the published ones are given.
//!
//! A size between two points is interpolated, as the traffic generators that publish these tables
//! do. The first point's probability is that of its size itself.

use crate::draw;
use rand::Rng;
use std::fmt;

/// Flow sizes of a web-search cluster: (bytes, probability of at most so many).
/// Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, figure 4, in the points published in
/// the authors' `empirical-traffic-gen`.
pub const WEB_SEARCH: &[(u64, f64)] = &[
    (0, 0.0),
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
];

/// Flow sizes of a data-mining cluster: (bytes, probability of at most so many).
/// Greenberg et al., "VL2: A Scalable and Flexible Data Center Network", SIGCOMM 2009, figure 2, in
/// the points published in `empirical-traffic-gen`.
pub const DATA_MINING: &[(u64, f64)] = &[
    (0, 0.0),
    (180, 0.1),
    (216, 0.2),
    (560, 0.3),
    (900, 0.4),
    (1_100, 0.5),
    (1_870, 0.6),
    (3_160, 0.7),
    (10_000, 0.8),
    (400_000, 0.9),
    (3_160_000, 0.95),
    (100_000_000, 0.98),
    (1_000_000_000, 1.0),
];

/// Sizes above it (2⁵³) are refused: a floating-point number no longer holds each of them.
const SIZE_MAX: u64 = 1 << 53;

/// A cumulative distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    points: Vec<(u64, f64)>,
}

/// Where in the input an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text, from 1.
    Line(usize),
    /// A point of a list, from 1.
    Point(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "line {n}"),
            Place::Point(n) => write!(f, "point {n}"),
        }
    }
}

/// Why points are no distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SizesError {
    /// There is no point.
    #[error("no sizes: at least one point is needed, the last with probability 1")]
    Empty,
    /// Not two columns.
    #[error("{place}: {text:?} is not `bytes probability`, two numbers with a space between")]
    Columns {
        /// Where.
        place: Place,
        /// What was read.
        text: String,
    },
    /// The first column is no size.
    #[error("{place}, bytes: {text:?} is not allowed: a whole number from 0 to 2^53")]
    Size {
        /// Where.
        place: Place,
        /// What was read.
        text: String,
    },
    /// The second column is no probability.
    #[error("{place}, probability: {text:?} is not allowed: a number from 0 to 1 (divide percent by 100)")]
    Probability {
        /// Where.
        place: Place,
        /// What was read.
        text: String,
    },
    /// A size or a probability is less than the one before.
    #[error("{place}, {field}: less than the one before; points must ascend")]
    Descends {
        /// Where.
        place: Place,
        /// Which of the two.
        field: &'static str,
    },
    /// The last probability is not 1.
    #[error("{place}, probability: the last one is {probability}; it must be 1")]
    NotOne {
        /// Where.
        place: Place,
        /// What it is.
        probability: f64,
    },
    /// Every flow would be empty.
    #[error("all sizes are 0: at least one must be above")]
    AllZero,
}

impl Cdf {
    /// From points (bytes, probability of at most so many), ascending, ending at probability 1.
    pub fn new(points: &[(u64, f64)]) -> Result<Cdf, SizesError> {
        Cdf::from_places(points.iter().enumerate().map(|(i, point)| (Place::Point(i + 1), *point)))
    }

    fn from_places(input: impl Iterator<Item = (Place, (u64, f64))>) -> Result<Cdf, SizesError> {
        let mut points: Vec<(u64, f64)> = Vec::new();
        let mut last = None;
        for (place, point) in input {
            check(place, points.last(), point)?;
            points.push(point);
            last = Some((place, point.1));
        }
        let (place, probability) = last.ok_or(SizesError::Empty)?;
        if probability != 1.0 {
            return Err(SizesError::NotOne { place, probability });
        }
        let cdf = Cdf { points };
        if cdf.mean() == 0.0 { Err(SizesError::AllZero) } else { Ok(cdf) }
    }

    /// The points: (bytes, probability of at most so many).
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Mean size in bytes.
    pub fn mean(&self) -> f64 {
        let (first, p) = self.points[0];
        let between = |w: &[(u64, f64)]| (w[1].1 - w[0].1) * (w[0].0 as f64 + w[1].0 as f64) / 2.0;
        first as f64 * p + self.points.windows(2).map(between).sum::<f64>()
    }

    /// The size that a part `p` of all flows does not exceed, in bytes: at least 1.
    pub fn quantile(&self, p: f64) -> u64 {
        let i = self.points.partition_point(|point| point.1 < p);
        let (high, high_p) = self.points[i.min(self.points.len() - 1)];
        let (low, low_p) = self.points[i.saturating_sub(1)];
        if high_p <= low_p || p >= high_p {
            return high.max(1);
        }
        let size = low as f64 + (high - low) as f64 * ((p - low_p) / (high_p - low_p));
        (libm::round(size) as u64).max(1)
    }

    /// Draws a size in bytes.
    pub(crate) fn draw(&self, rng: &mut dyn Rng) -> u64 {
        self.quantile(draw::unit(rng))
    }
}

fn check(place: Place, before: Option<&(u64, f64)>, (bytes, p): (u64, f64)) -> Result<(), SizesError> {
    if bytes > SIZE_MAX {
        return Err(SizesError::Size { place, text: bytes.to_string() });
    }
    if !(0.0..=1.0).contains(&p) {
        return Err(SizesError::Probability { place, text: p.to_string() });
    }
    match before {
        Some(before) if bytes < before.0 => Err(SizesError::Descends { place, field: "bytes" }),
        Some(before) if p < before.1 => Err(SizesError::Descends { place, field: "probability" }),
        _ => Ok(()),
    }
}

/// Reads the common text format: `bytes probability` a line. Empty lines and what follows a `#` are skipped.
pub fn parse(text: &str) -> Result<Cdf, SizesError> {
    let mut points = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let place = Place::Line(number);
            points.push((place, parse_point(place, line)?));
        }
    }
    Cdf::from_places(points.into_iter())
}

fn parse_point(place: Place, line: &str) -> Result<(u64, f64), SizesError> {
    let mut words = line.split_whitespace();
    let (Some(bytes), Some(p), None) = (words.next(), words.next(), words.next()) else {
        return Err(SizesError::Columns { place, text: line.into() });
    };
    // Some tables write sizes as 3.16e+06.
    let size = bytes.parse::<f64>().ok().filter(|size| (0.0..=SIZE_MAX as f64).contains(size));
    let size = size.filter(|size| libm::trunc(*size) == *size);
    let size = size.ok_or_else(|| SizesError::Size { place, text: bytes.into() })?;
    let p = p.parse::<f64>().map_err(|_| SizesError::Probability { place, text: p.into() })?;
    Ok((size as u64, p))
}
