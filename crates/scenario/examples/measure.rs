//! Runs a resolved scenario (JSON, base units) for its cost alone: no tables, and no code that writes them.
//!
//! `measure SCENARIO.json`: the benchmarks' program.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: measure SCENARIO.json")?;
    let scenario = scenario::parse(&std::fs::read_to_string(file)?)?;
    println!("{}", serde_json::to_string_pretty(&scenario::measure(&scenario)?)?);
    Ok(())
}
