//! A replay's flows as a list and packed: the same scenario, and the same refusals.

use crate::support::base;
use serde_json::{Value, json};

/// A replay of these flows on two hosts.
fn replay(flows: &Value) -> String {
    let mut scenario = base(2);
    let work = json!({"kind": "replay", "flows": flows});
    scenario["jobs"] = json!([{"name": "all", "start": 0, "class": 0, "work": work}]);
    scenario.to_string()
}

fn flow(from: &str, to: &str) -> Value {
    json!({"at": 7, "from": from, "to": to, "bytes": 33, "group": 0})
}

fn refusal(flows: &Value) -> String {
    scenario::check(&replay(flows)).expect_err("flows that can't be").to_string()
}

#[test]
fn packed_flows_are_the_flows_of_a_list() {
    let list = replay(&json!([flow("host0", "host1"), flow("host1", "host0")]));
    // Each row: 7 ps (of 0) later, from, to, 33 bytes, the group of the row before.
    let packed = replay(&json!({"hosts": ["host0", "host1"], "rows": "OABhBAABAhBA"}));
    let [list, packed] = [list, packed].map(|text| scenario::check(&text).expect("a good scenario"));
    let text = |scenario| serde_json::to_string(&scenario).expect("JSON");
    assert_eq!(text(packed), text(list));
}

#[test]
fn a_long_list_is_written_packed() {
    let forms = [1_000, 1_001].map(|count| {
        let flows = (0..count).map(|_| flow("host0", "host1")).collect();
        let scenario = scenario::parse(&replay(&flows)).expect("a good scenario");
        let written = serde_json::to_value(&scenario).expect("JSON");
        let again = scenario::parse(&written.to_string()).expect("a good scenario");
        assert_eq!(serde_json::to_value(&again).expect("JSON"), written);
        written["jobs"][0]["work"]["flows"].clone()
    });
    assert!(forms[0].is_array() && forms[1]["rows"].is_string(), "{forms:?}");
}

#[test]
fn a_host_that_is_none_is_refused_at_its_first_flow() {
    let list = refusal(&json!([flow("host0", "host1"), flow("host0", "host9")]));
    assert!(list.starts_with("jobs[0].work.flows[1].to: no host or switch is called \"host9\""), "{list}");
    assert_eq!(refusal(&json!({"hosts": ["host0", "host1", "host9"], "rows": "OABhBAAAChBA"})), list);
    let none = refusal(&json!({"hosts": ["host0", "host1", "host9"], "rows": "OABhBA"}));
    assert!(none.starts_with("jobs[0].work.flows.hosts: "), "{none}");
}

#[test]
fn rows_that_are_no_flows_are_refused() {
    let hosts = ["host0", "host1"];
    for rows in ["O", "OABhB", "OABhBAx", "é"] {
        let said = refusal(&json!({"hosts": hosts, "rows": rows}));
        assert!(said.contains("the rows are no packed flows"), "{rows}: {said}");
    }
    let said = refusal(&json!({"hosts": hosts, "rows": "OAChBA"}));
    assert!(said.contains("a row has a host that is none of the 2"), "{said}");
    assert!(refusal(&json!([])).starts_with("jobs[0].work.flows: empty"));
    assert!(refusal(&json!(7)).contains("a list of flows, or hosts and rows"));
}
