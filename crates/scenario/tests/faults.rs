//! What faults do to flows: each goes on or ends and says why, and counters count what was sent.

mod support;

use serde_json::json;
use sim::{Outcome, Pause};
use support::{base, finish, us};

#[test]
fn flows_that_wait_for_their_nic_outlive_a_link_fault() {
    // Flows to host2 wait for the NIC behind a large one to host1 when the way to host2 is gone for 2 ms.
    for at in [900, 1050, 1100, 1200, 1300, 2000] {
        let mut scenario = base(3);
        let flows: Vec<_> = (0..8)
            .map(|n| {
                json!({"at": us(1000 + 7 * n), "from": "host0", "to": "host2", "bytes": 20_000, "group": 0})
            })
            .collect();
        scenario["jobs"] = json!([
            {"name": "large", "start": 0, "class": 0,
                "work": {"kind": "bulk", "pairs": [["host0", "host1"]], "bytes": 3_000_000}},
            {"name": "small", "start": 0, "class": 0, "work": {"kind": "replay", "flows": flows}},
        ]);
        scenario["faults"] = json!([
            {"at": us(at), "change": {"kind": "link-down", "a": "switch0", "b": "host2"}},
            {"at": us(at + 2000), "change": {"kind": "link-up", "a": "switch0", "b": "host2"}},
        ]);
        let mut sim = scenario::build(&scenario::parse(&scenario.to_string()).unwrap()).unwrap();
        assert_eq!(finish(&mut sim), Pause::Finished, "link down at {at} us");
        sim.close();
        let flows = sim.take_records().flows;
        assert_eq!(flows.len(), 9);
        assert!(flows.iter().all(|flow| flow.outcome == Outcome::Finished), "link down at {at} us");
    }
}
