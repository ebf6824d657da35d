//! Runs a resolved scenario (JSON, base units) for its cost alone: no tables, and no code that writes them.
//!
//! `measure SCENARIO.json [THREADS]`: the benchmarks' program; on one thread if none are said.

use std::error::Error;
use std::num::NonZeroUsize;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: measure SCENARIO.json [THREADS]")?;
    let threads = arguments.next().map_or(Ok(NonZeroUsize::MIN), |text| text.parse())?;
    let scenario = scenario::parse(&std::fs::read_to_string(file)?)?;
    println!("{}", serde_json::to_string_pretty(&scenario::measure(&scenario, threads)?)?);
    Ok(())
}
