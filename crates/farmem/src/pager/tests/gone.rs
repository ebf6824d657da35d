//! Memory nodes and hosts that crash: a program whose pages are gone ends, and does not go on with others.

use super::support::{accesses, pattern, run, settings};
use crate::pager::Outcome;
use sim::{Change, Pause};
use units::Time;

#[test]
fn a_program_whose_memory_node_is_gone_is_lost() {
    let crash = (Time::from_us(300), Change::Crash(1));
    let back = (Time::from_us(900), Change::Restart(1));
    let done = run(settings(16), vec![accesses(pattern(500, 0.5), 7)], vec![crash, back]);
    assert_eq!(
        (done.pause, done.totals[0].outcome, done.totals[0].end),
        (Pause::Finished, Outcome::Lost, None)
    );
}

#[test]
fn a_program_begins_anew_when_its_host_comes_back() {
    let crash = (Time::from_us(300), Change::Crash(0));
    let back = (Time::from_us(900), Change::Restart(0));
    let accesses = || vec![accesses(pattern(500, 0.5), 7)];
    let whole = run(settings(16), accesses(), Vec::new());
    let again = run(settings(16), accesses(), vec![crash, back]);
    let totals = again.totals[0];
    assert_eq!((again.pause, totals.outcome, totals.restarts), (Pause::Finished, Outcome::Finished, 1));
    assert_eq!(totals.counts, whole.totals[0].counts, "nothing of before is left");
    assert!(totals.begin.unwrap() > Time::from_us(900));
}
