//! Runs a resolved scenario (JSON, base units) without Python and prints what it cost.
//!
//! `run SCENARIO.json [FOLDER]`: with a folder, tables are written there.

use scenario::Linux;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: run SCENARIO.json [FOLDER]")?;
    let scenario = scenario::parse(&std::fs::read_to_string(file)?)?;
    let threads = std::thread::available_parallelism()?;
    let outcome = match arguments.next() {
        Some(folder) => {
            scenario::run(&scenario, Path::new(&folder), true, &Linux::default(), threads, None, &mut |_| {
                true
            })?
        }
        None => scenario::measure(&scenario, threads)?,
    };
    println!("{}", serde_json::to_string_pretty(&outcome)?);
    Ok(())
}
