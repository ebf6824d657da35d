//! Coflows, and the trace format of the public FB2010-1Hr-150-0 (Chowdhury et al., the
//! `coflow-benchmark` project, from "Efficient Coflow Scheduling with Varys", SIGCOMM 2014).
//!
//! First line: racks, coflows. Then one coflow a line: id, arrival in ms, number of mappers, their
//! racks, number of reducers, `rack:MB` of each. Racks count from 0. A MB is 10⁶ bytes as everywhere
//! in the lab (CoflowSim takes it for 2²⁰).

use process::{HostId, Hosts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::SplitWhitespace;
use units::{Bytes, Time};

/// Flows that belong together: a shuffle. `P` says where: a rack of a trace, or a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coflow<P> {
    /// Its number in the trace; the group of its flows.
    pub id: u64,
    /// When it begins, since the job's start.
    pub at: Time,
    /// Where data comes from.
    pub mappers: Vec<P>,
    /// (where to, bytes received in all), spread evenly over the mappers.
    pub reducers: Vec<(P, u64)>,
}

impl Coflow<String> {
    /// The coflow between the hosts that it names.
    ///
    /// # Errors
    /// The first name that no host has.
    pub fn on(&self, hosts: &dyn Hosts) -> Result<Coflow<HostId>, units::Problem> {
        let reducer = |(i, (name, bytes)): (usize, &(String, u64))| {
            let host =
                hosts.find(name).map_err(|message| units::Problem::new(0, message).within(("reducers", i)));
            Ok((host?, *bytes))
        };
        Ok(Coflow {
            id: self.id,
            at: self.at,
            mappers: hosts.all(&self.mappers, "mappers")?,
            reducers: self.reducers.iter().enumerate().map(reducer).collect::<Result<_, _>>()?,
        })
    }
}

impl<P: Copy> Coflow<P> {
    /// The same coflow between other places.
    pub fn place<Q>(&self, place: impl Fn(P) -> Q) -> Coflow<Q> {
        Coflow {
            id: self.id,
            at: self.at,
            mappers: self.mappers.iter().map(|mapper| place(*mapper)).collect(),
            reducers: self.reducers.iter().map(|(reducer, bytes)| (place(*reducer), *bytes)).collect(),
        }
    }
}

/// A trace of coflows between racks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoflowTrace {
    /// Racks are numbered from 0 to one less.
    pub racks: u32,
    /// In the order of the file.
    pub coflows: Vec<Coflow<u32>>,
}

/// Where a trace is wrong, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {field}: {problem}")]
pub struct CoflowTraceError {
    /// The line, from 1.
    pub line: usize,
    /// The field's name.
    pub field: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The line or the file ends before it.
    #[error("missing; expected {allowed}")]
    Missing {
        /// What is allowed.
        allowed: String,
    },
    /// Not what is allowed.
    #[error("{text:?} is not allowed; expected {allowed}")]
    NotAllowed {
        /// What was read.
        text: String,
        /// What is allowed.
        allowed: String,
    },
    /// Something follows the last field or the last coflow.
    #[error("{text:?} is more than the count before it announces")]
    TooMuch {
        /// What was read.
        text: String,
    },
    /// Another coflow has the same id.
    #[error("coflow {id} was there before; ids must differ")]
    Twice {
        /// The id.
        id: u64,
    },
    /// Not a text.
    #[error("not UTF-8 text")]
    NotText,
}

/// Reads a trace. Memory is in proportion to the text, whatever its counts claim.
pub fn parse(text: &[u8]) -> Result<CoflowTrace, CoflowTraceError> {
    let mut lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let (number, line) = lines.next().expect("a split has at least one part");
    let mut fields = Fields::new(number, line)?;
    let racks = fields.number("racks", 1..=u64::from(u32::MAX))? as u32;
    let count = fields.number("coflows", 1..=u64::MAX)?;
    fields.end()?;
    let mut coflows = Vec::new();
    let mut ids = BTreeSet::new();
    let mut last = number;
    for (number, line) in lines {
        last = number;
        let mut fields = Fields::new(number, line)?;
        if fields.is_empty() {
            continue;
        }
        if coflows.len() as u64 == count {
            return Err(fields.too_much("coflow"));
        }
        let coflow = coflow(&mut fields, racks)?;
        if !ids.insert(coflow.id) {
            return Err(fields.error("id", Problem::Twice { id: coflow.id }));
        }
        coflows.push(coflow);
    }
    if (coflows.len() as u64) < count {
        let allowed = format!("{count} coflows as line 1 announces, found {}", coflows.len());
        return Err(CoflowTraceError {
            line: last,
            field: "coflow".into(),
            problem: Problem::Missing { allowed },
        });
    }
    Ok(CoflowTrace { racks, coflows })
}

fn coflow(fields: &mut Fields, racks: u32) -> Result<Coflow<u32>, CoflowTraceError> {
    let rack_max = u64::from(racks) - 1;
    let places = 1..=u64::from(u32::MAX);
    let id = fields.number("id", 0..=u64::MAX)?;
    let at = Time::from_ms(fields.number("arrival in ms", 0..=ARRIVAL_MS_MAX)?);
    let mut mappers = Vec::new();
    for i in 1..=fields.number("number of mappers", places.clone())? {
        mappers.push(fields.number(format_args!("mapper {i}"), 0..=rack_max)? as u32);
    }
    let mut reducers = Vec::new();
    for i in 1..=fields.number("number of reducers", places)? {
        reducers.push(fields.reducer(format_args!("reducer {i}"), rack_max)?);
    }
    fields.end()?;
    Ok(Coflow { id, at, mappers, reducers })
}

/// About 115 days, which a [`Time`] holds with room to spare.
const ARRIVAL_MS_MAX: u64 = 10_000_000_000;

/// The words of a line, taken one by one.
struct Fields<'a> {
    line: usize,
    words: SplitWhitespace<'a>,
}

impl<'a> Fields<'a> {
    fn new(line: usize, text: &'a [u8]) -> Result<Fields<'a>, CoflowTraceError> {
        let problem = |_| CoflowTraceError { line, field: "text".into(), problem: Problem::NotText };
        let words = std::str::from_utf8(text).map_err(problem)?.split_whitespace();
        Ok(Fields { line, words })
    }

    fn error(&self, field: impl Display, problem: Problem) -> CoflowTraceError {
        CoflowTraceError { line: self.line, field: field.to_string(), problem }
    }

    /// The next word as `read` understands it.
    fn next<T>(
        &mut self,
        field: impl Display,
        allowed: impl Fn() -> String,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, CoflowTraceError> {
        let Some(word) = self.words.next() else {
            return Err(self.error(field, Problem::Missing { allowed: allowed() }));
        };
        let problem = || Problem::NotAllowed { text: shortened(word), allowed: allowed() };
        read(word).ok_or_else(|| self.error(field, problem()))
    }

    fn number(&mut self, field: impl Display, range: RangeInclusive<u64>) -> Result<u64, CoflowTraceError> {
        let allowed = || format!("a whole number from {} to {}", range.start(), range.end());
        self.next(field, allowed, |word| word.parse().ok().filter(|number| range.contains(number)))
    }

    fn reducer(&mut self, field: impl Display, rack_max: u64) -> Result<(u32, u64), CoflowTraceError> {
        let allowed =
            || format!("rack:MB, a rack from 0 to {rack_max} and a size in whole bytes, like 0:1.5");
        self.next(field, allowed, |word| {
            let (rack, size) = word.split_once(':')?;
            let rack = rack.parse::<u32>().ok().filter(|rack| u64::from(*rack) <= rack_max)?;
            Some((rack, format!("{size}MB").parse::<Bytes>().ok()?.get()))
        })
    }

    fn end(&mut self) -> Result<(), CoflowTraceError> {
        if self.is_empty() { Ok(()) } else { Err(self.too_much("end of line")) }
    }

    fn is_empty(&self) -> bool {
        self.words.clone().next().is_none()
    }

    fn too_much(&mut self, field: &str) -> CoflowTraceError {
        let text = self.words.next().map(shortened).unwrap_or_default();
        self.error(field, Problem::TooMuch { text })
    }
}

/// An error quotes no more of a hostile word than a person reads.
fn shortened(word: &str) -> String {
    const SHOWN: usize = 40;
    match word.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.into(),
    }
}
