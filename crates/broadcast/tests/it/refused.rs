//! Topologies, requests and plans that can't be, and what people are told.

use broadcast::algorithm::{Algorithm, plan};
use broadcast::plan::Plan;
use broadcast::plan_data::{PlanData, TreeData, find};

fn refused(nodes: &str, links: &str) -> String {
    let text = format!(r#"{{"nodes": [{nodes}], "links": [{links}]}}"#);
    crate::support::read(&text).expect_err("refused").to_string()
}

const AB: &str = r#"{"id": "a", "kind": "host"}, {"id": "b", "kind": "host"}"#;

#[test]
fn topologies_that_cannot_be() {
    let link =
        |a: &str, b: &str, ab: i64, ba: i64| format!(r#"{{"a": "{a}", "b": "{b}", "ab": {ab}, "ba": {ba}}}"#);
    let good = link("a", "b", 5, 5);
    let cases = [
        (refused("", ""), "at least one host"),
        (refused(&format!("{AB}, {AB}"), &good), r#"node "a" is given twice"#),
        (refused(AB, &link("a", "x", 5, 5)), r#"there is no node "x""#),
        (refused(AB, &link("a", "a", 5, 5)), "two different nodes"),
        (refused(AB, &format!("{good}, {}", link("b", "a", 5, 5))), "given twice"),
        (refused(AB, &link("a", "b", -5, 5)), r#"the rate from "a" is -5 bit/s"#),
        (refused(AB, &link("a", "b", 5, 2_000_000_000_000_000)), r#"the rate from "b" is 2000000000000000"#),
        (refused(AB, &link("a", "b", 0, 0)), "0 both ways"),
        (refused(AB, ""), r#"not connected: no link joins "a" to "b""#),
        (refused(r#"{"id": "s", "kind": "switch"}"#, ""), "at least one host"),
        (refused(r#"{"id": "s", "kind": "switch", "cap": 4}"#, ""), "for hosts only"),
        (refused(r#"{"id": "s", "kind": "host", "cap": 0}"#, ""), "the cap is 0"),
    ];
    for (message, part) in cases {
        assert!(message.contains(part), "{message:?} says {part:?}");
    }
}

#[test]
fn requests_that_cannot_be() {
    let nodes = format!(r#"{AB}, {{"id": "s", "kind": "switch"}}"#);
    let links = r#"{"a": "a", "b": "s", "ab": 5, "ba": 5}, {"a": "b", "b": "s", "ab": 5, "ba": 0}"#;
    let topology =
        crate::support::read(&format!(r#"{{"nodes": [{nodes}], "links": [{links}]}}"#)).expect("sound");
    let [a, b, s] = ["a", "b", "s"].map(|name| find(&topology, name).expect("a node"));
    let told = |source, destinations: &[_]| {
        plan(Algorithm::Stable, &topology, source, destinations, 0).expect_err("refused").to_string()
    };
    assert!(told(a, &[]).contains("at least one destination"));
    assert!(told(a, &[s]).contains(r#""s" is a switch"#));
    assert!(told(a, &[a]).contains(r#""a" is given twice"#));
    assert!(told(b, &[a, a]).contains(r#""a" is given twice"#));
    assert!(told(a, &[b]).contains(r#""b" can't be reached from "a""#));
    assert!(find(&topology, "x").expect_err("refused").to_string().contains(r#"no node "x""#));
}

#[test]
fn plans_that_cannot_be_run() {
    let topology = crate::support::star(&[("S", 100), ("A", 100), ("B", 40)]);
    let told = |trees: &[(u64, &[&[&str]])]| {
        let names = |nodes: &&[&str]| nodes.iter().map(|&node| node.to_owned()).collect();
        let tree = |(rate, hops): &(u64, &[&[&str]])| TreeData {
            rate: *rate,
            hops: hops.iter().map(names).collect(),
        };
        let data = PlanData {
            algorithm: "by hand".into(),
            source: "S".into(),
            destinations: vec!["A".into()],
            trees: trees.iter().map(tree).collect(),
        };
        Plan::from_data(&data, &topology).expect_err("refused").to_string()
    };
    let sa: &[&str] = &["S", "switch", "A"];
    assert!(told(&[(1, &[])]).contains("tree 0 needs at least one hop"));
    assert!(told(&[(0, &[sa])]).contains("tree 0 needs at least one hop"));
    assert!(told(&[(1, &[&["S"]])]).contains("at least two nodes"));
    assert!(told(&[(1, &[&["S", "A"]])]).contains(r#"no link from "S" to "A""#));
    assert!(told(&[(1, &[&["B", "switch", "A"]])]).contains(r#""B" sends to "A" before it receives"#));
    assert!(told(&[(1, &[sa, sa])]).contains(r#""A" receives twice"#));
    assert!(told(&[(1, &[&["S", "switch", "B"]])]).contains(r#""B" is no destination"#));
    assert!(
        told(&[(60_000_000, &[sa]), (60_000_000, &[sa])])
            .contains(r#"120Mbps on the link from "S" to "switch""#)
    );
}
