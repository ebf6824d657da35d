//! What the launcher wants, in one variable of the environment, so that programs which this one starts get it too.
//!
//! `INCAST_FARMEM=key=value,…`: `local` (bytes), `page` (bytes), `latency` (ps), `rate` (bit/s), `policy`, `prefetch` (pages), `batch` (pages a
//! request), `trace` (1 or 0), `cpus` (bits), `folder` (where statistics go). The launcher has checked them; what can't be is refused all the same.

use farmem::cache::Policy;
use farmem::cost::{Cost, Way};
use units::{Rate, Time};

/// Exit code when remote memory can't be had.
pub(crate) const FAILED: i32 = 125;
/// Name of the variable.
pub(crate) const VARIABLE: &str = "INCAST_FARMEM";
/// The same for the C library.
pub(crate) const NAME: &std::ffi::CStr = c"INCAST_FARMEM";

/// What the launcher wants.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Local memory.
    pub(crate) local: usize,
    /// Page that remote memory is asked for.
    pub(crate) page: usize,
    pub(crate) policy: Policy,
    pub(crate) cost: Cost,
    /// Pages that are fetched along with one.
    pub(crate) prefetch: usize,
    /// Processors of the launcher, a bit each; 0 for none that are known.
    pub(crate) cpus: u64,
    /// Whether a trace is wanted, too.
    pub(crate) trace: bool,
    /// Folder of the statistics; empty for none.
    pub(crate) folder: String,
}

impl Config {
    /// From the text of the variable.
    pub(crate) fn parse(text: &str) -> Result<Config, String> {
        let mut config = Config {
            local: 0,
            page: 4096,
            policy: Policy::Fifo,
            cost: Cost::new(Time::ZERO, Rate::from_bps(0)),
            prefetch: 0,
            trace: false,
            cpus: 0,
            folder: String::new(),
        };
        let (mut latency, mut rate, mut batch) = (0, 0, 1);
        for pair in text.split(',') {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("{VARIABLE}: {pair} is not key=value"))?;
            let number =
                || value.parse::<u64>().map_err(|_| format!("{VARIABLE}: {key}={value} is not a number"));
            match key {
                "local" => config.local = number()? as usize,
                "page" => config.page = number()? as usize,
                "latency" => latency = number()?,
                "rate" => rate = number()?,
                "prefetch" => config.prefetch = number()? as usize,
                "trace" => config.trace = number()? != 0,
                "cpus" => config.cpus = number()?,
                "batch" => batch = number()? as u32,
                "policy" => config.policy = policy(value)?,
                "folder" => config.folder = value.to_owned(),
                _ => return Err(format!("{VARIABLE}: nobody knows {key}")),
            }
        }
        let way = Way { pages_a_request: batch, ..Way::new(Time::from_ps(latency), Rate::from_bps(rate)) };
        config.cost = Cost { fetch: way, write_back: Some(way) };
        let fits = config.page.is_power_of_two() && (12..=21).contains(&config.page.ilog2());
        if !fits || rate == 0 || config.local / config.page < crate::pager::LEAST || config.local >> 43 != 0 {
            return Err(format!("{VARIABLE}: {text} can't be"));
        }
        Ok(config)
    }
}

fn policy(name: &str) -> Result<Policy, String> {
    let found = Policy::ALL.into_iter().find(|policy| policy.name() == name);
    found.ok_or_else(|| format!("{VARIABLE}: no policy is called {name}"))
}
