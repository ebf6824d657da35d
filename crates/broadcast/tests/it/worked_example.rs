//! A star with one slow host, by every algorithm: S and A at 100 Mb/s, B at 40, C at 10. Alone each could get
//! as much as its own link carries; what slows hosts down in each algorithm is what document 003 says (slides
//! 3, 4, 15, 19).

use broadcast::algorithm::{Algorithm, plan};
use broadcast::plan::Plan;
use broadcast::topology::Topology;
use units::{Bytes, Time};

fn star() -> Topology {
    crate::support::star(&[("S", 100), ("A", 100), ("B", 40), ("C", 10)])
}

fn made(algorithm: Algorithm) -> Plan {
    let topology = star();
    let (source, destinations) = crate::support::everybody(&topology);
    let plan = plan(algorithm, &topology, source, &destinations, 1).expect("a plan");
    plan.check(&topology).expect("a plan that can be run");
    plan
}

fn mbps(algorithm: Algorithm) -> Vec<u64> {
    made(algorithm).rates().iter().map(|rate| rate.as_bps() / 1_000_000).collect()
}

#[test]
fn stable_makes_three_nested_trees() {
    let plan = made(Algorithm::Stable).to_data(&star());
    let trees: Vec<(u64, Vec<String>)> = plan
        .trees
        .iter()
        .map(|tree| (tree.rate / 1_000_000, tree.hops.iter().map(|hop| hop.join("-")).collect()))
        .collect();
    let (sa, ab, bc) = ("S-switch-A".to_string(), "A-switch-B".to_string(), "B-switch-C".to_string());
    let expected = [(10, vec![sa.clone(), ab.clone(), bc]), (30, vec![sa.clone(), ab]), (60, vec![sa])];
    assert_eq!(trees, expected);
}

#[test]
fn each_algorithm_has_its_rates() {
    assert_eq!(mbps(Algorithm::Stable), [100, 40, 10]);
    assert_eq!(mbps(Algorithm::Fpfr), [10, 10, 10]);
    assert_eq!(mbps(Algorithm::DepthFirst), [10, 10, 10]);
    assert_eq!(mbps(Algorithm::RandomPipeline), [10, 10, 10]);
    assert_eq!(mbps(Algorithm::Flat), [50, 40, 10]);
    assert_eq!(mbps(Algorithm::Dijkstra), [50, 40, 10]);
}

#[test]
fn stages_end_when_a_host_has_everything() {
    let plan = made(Algorithm::Stable);
    // 100 Mb: in units of the example, F = 100.
    let stages = plan.stages(Bytes::new(12_500_000)).expect("nested trees");
    let lengths: Vec<Time> =
        stages.iter().map(|stage| Time::from_ps(stage.end.as_ps() - stage.start.as_ps())).collect();
    assert_eq!(lengths, [1_000, 1_500, 7_500].map(Time::from_ms));
    assert_eq!(stages.iter().map(|stage| stage.trees).collect::<Vec<_>>(), [3, 2, 1]);
    let names: Vec<&str> = stages.iter().map(|stage| star_name(stage.finished[0])).collect();
    assert_eq!(names, ["A", "B", "C"]);
}

fn star_name(node: broadcast::topology::NodeId) -> &'static str {
    ["switch", "S", "A", "B", "C"][node.index()]
}

#[test]
fn a_plan_reads_back_from_its_json() {
    let topology = star();
    let plan = made(Algorithm::Stable);
    let text = serde_json::to_string(&plan.to_data(&topology)).expect("JSON");
    let data = serde_json::from_str(&text).expect("a plan's JSON");
    assert_eq!(Plan::from_data(&data, &topology), Ok(plan));
}

#[test]
fn half_duplex_hosts_get_what_their_cap_allows() {
    let text = r#"{"nodes": [{"id": "S", "kind": "host"}, {"id": "A", "kind": "host", "cap": 100}, {"id": "B", "kind": "host"}],
        "links": [{"a": "S", "b": "A", "ab": 100, "ba": 100}, {"a": "A", "b": "B", "ab": 100, "ba": 100}]}"#;
    let topology = crate::support::read(text).expect("a sound topology");
    let (source, destinations) = crate::support::everybody(&topology);
    let most = |algorithm| {
        let plan = plan(algorithm, &topology, source, &destinations, 1).expect("a plan");
        plan.check(&topology).expect("a plan that can be run");
        plan.rates().iter().map(|rate| rate.as_bps()).max()
    };
    for algorithm in [Algorithm::DepthFirst, Algorithm::Dijkstra, Algorithm::Fpfr, Algorithm::Stable] {
        assert_eq!(most(algorithm), Some(50), "{algorithm}");
    }
    // B's copy passes through A beside A's own.
    assert_eq!(most(Algorithm::Flat), Some(33));
}
