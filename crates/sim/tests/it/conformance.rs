//! The suite of bodies in virtual time: over queues with room for all of it, and with room for little.

use crate::support::{Cluster, LINK, run};
use fabric::topology::single_switch;
use fabric::{Buffer, Depth};
use process::testing::conformance::{Log, cases};
use sim::{Change, Pause};

#[test]
fn processes_get_what_they_are_promised() {
    for case in cases() {
        for packets in [256, 8] {
            let mut cluster = Cluster::new(single_switch(case.hosts, LINK).unwrap());
            cluster.switch.buffer = Buffer::Static { limit: Depth::Packets(packets) };
            if let Some(restart) = case.restart {
                let host = restart.host.0;
                cluster.faults =
                    vec![(restart.at, Change::Crash(host)), (restart.back, Change::Restart(host))];
            }
            let log = Log::default();
            let mut sim = cluster.processes(case.processes(&log));
            assert_eq!(run(&mut sim).0, Pause::Finished, "{}: {log:?}", case.name);
            case.check(&log);
        }
    }
}
