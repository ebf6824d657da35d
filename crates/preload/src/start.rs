//! The beginning: before the program's own code runs, and before most libraries'.

use crate::config::{self, Config, NAME, VARIABLE};
use crate::exchange::Exchange;
use crate::{affinity, bss, callers, fork, layout, private, raw, store, threads};

/// The launcher asks whether it can be done at all, with what it wants behind it where a server is to be
/// asked too.
const CHECK: &str = "check";

fn check(wanted: &str) -> ! {
    if let Err(refused) = Exchange::open() {
        raw::die(&refused.to_string());
    }
    if let Some(wanted) = wanted.strip_prefix(',') {
        let config = Config::parse(wanted).unwrap_or_else(|wrong| raw::die(&wrong));
        store::open(&config).begin();
    }
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(0) }
}

const NO_ROOM: &str = "incast farmem: no room for addresses: remote memory takes 9 TiB of them, without memory behind them \
    (ulimit -v unlimited; sysctl -w vm.overcommit_memory=0)\n";

extern "C" fn begin() {
    // SAFETY: a C string; nobody changes the environment yet.
    if unsafe { libc::getenv(NAME.as_ptr()) }.is_null() {
        return;
    }
    if layout::reserve().is_err() || private::reserve().is_err() {
        raw::die_without_memory(NO_ROOM);
    }
    let text = std::env::var(VARIABLE).unwrap_or_default();
    if let Some(wanted) = text.strip_prefix(CHECK) {
        check(wanted);
    }
    let config = Config::parse(&text).unwrap_or_else(|wrong| raw::die(&wrong));
    callers::find();
    private::begin_stats(&config.folder);
    if config::set(config) {
        fork::prepare_for();
        threads::begin();
        affinity::begin();
        config::go();
        bss::take();
    }
}

/// The loader calls what is listed in this section.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;
