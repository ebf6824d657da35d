//! The suite of bodies on sockets: in each mode of datagrams, with streams as they are and encrypted.

use crate::support::{IP, LIMIT, PORT, live, plan};
use live::{Datagrams, Member, Settings, Table};
use process::HostId;
use process::testing::conformance::{Case, Log, Restart, cases};
use std::time::{Duration, Instant};

#[test]
fn processes_get_what_they_are_promised() {
    for (datagrams, sealed) in
        [(Datagrams::Single, false), (Datagrams::Batched, true), (Datagrams::Segmented, false)]
    {
        let settings = Settings {
            datagrams,
            sealed,
            stream_buffer_bytes: 50_000,
            progress_ms: 5,
            ..Settings::default()
        };
        for case in cases() {
            let log = Log::default();
            match case.restart {
                None => drop(live(case.processes(&log), &settings)),
                Some(restart) => run_and_restart(&case, restart, &log, &settings),
            }
            case.check(&log);
        }
    }
}

/// A host's program ends, and another takes its place, as the launcher does it.
fn run_and_restart(case: &Case, restart: Restart, log: &Log, settings: &Settings) {
    let bind = |host| Member::bind(host, IP, &[PORT], settings.clone()).unwrap();
    let (first, other) = (bind(restart.host), bind(restart.after.0));
    let table = Table::new([first.address().clone(), other.address().clone()]).unwrap();
    let run = |member: Member, table: &Table, host: HostId| {
        let process = case.process(host, log);
        member.run(plan(table, process), &mut |progress| host == restart.host || !progress.finished).unwrap()
    };
    std::thread::scope(|scope| {
        let (stop_first, tell_other) = (first.handle(), other.handle());
        let first = scope.spawn(|| run(first, &table, restart.host));
        let other = scope.spawn(|| run(other, &table, restart.after.0));
        wait_for(log, restart);
        stop_first.stop();
        first.join().unwrap();
        tell_other.lost(restart.host);
        let second = bind(restart.host);
        let mut moved = table.clone();
        moved.put(second.address().clone()).unwrap();
        tell_other.moved(second.address().clone());
        let stop_second = second.handle();
        let second = scope.spawn(move || run(second, &moved, restart.host));
        other.join().unwrap();
        stop_second.stop();
        second.join().unwrap();
    });
}

#[expect(clippy::disallowed_methods, reason = "it looks again and again, for so long at most")]
fn wait_for(log: &Log, restart: Restart) {
    let end = Instant::now() + LIMIT;
    while !log.of(restart.after.0).iter().any(|note| note == restart.after.1) {
        assert!(Instant::now() < end, "{restart:?}: {log:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
