//! Tests that need this library's state: addresses, settings and counters exist once in a process, so each
//! such test runs in a process of its own.

use crate::config::{self, Config};
use crate::exchange::Exchange;
use crate::{layout, private};
use std::process::Command;

/// Names the test that the new process is for.
const ALONE: &str = "INCAST_PRELOAD_TEST";

/// The body of a test runs in a process of its own, where all memory is local until the test changes that.
macro_rules! alone {
    ($body:block) => {{
        fn here() {}
        let test = std::any::type_name_of_val(&here).trim_end_matches("::here");
        if let Some(done) = crate::testing::in_a_process(test, || $body) {
            assert!(done.status.success(), "{test}: {}", crate::testing::said(&done));
        }
    }};
}
pub(crate) use alone;

/// Runs this test again in a process of its own, and says how that ended; in that process, runs the body.
pub(crate) fn in_a_process(test: &str, body: impl FnOnce()) -> Option<std::process::Output> {
    let name = test.split_once("::").expect("a path begins with the crate").1;
    if std::env::var(ALONE).is_ok_and(|wanted| wanted == name) {
        layout::reserve().expect("room for addresses");
        private::reserve().expect("room for addresses");
        body();
        return None;
    }
    let program = std::env::current_exe().expect("a test is a program");
    let arguments = ["--exact", name, "--nocapture", "--test-threads=1"];
    let done = Command::new(program).args(arguments).env(ALONE, name).output().expect("it can be started");
    assert!(said(&done).contains("running 1 test"), "no test is called {name}");
    Some(done)
}

/// What the process wrote.
pub(crate) fn said(done: &std::process::Output) -> String {
    [&done.stdout[..], &done.stderr].map(String::from_utf8_lossy).concat()
}

/// What the launcher wants, in this process.
pub(crate) fn want(text: &str) {
    assert!(config::set(Config::parse(text).expect("it can be")), "a process is told once");
    config::go();
}

/// Whether this kernel lets this user handle page faults; a test that needs it says why it is skipped.
pub(crate) fn can_handle_faults() -> bool {
    let opened = Exchange::open();
    if let Err(refused) = &opened {
        eprintln!("skipped: {refused}");
    }
    opened.is_ok()
}
