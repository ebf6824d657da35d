//! Jobs that can't run are refused, with the field.

use super::support::job;
use crate::{Framework, Job};
use process::HostId;
use units::{Rate, Time};

fn refused(change: impl FnOnce(&mut Job)) -> (String, String) {
    let mut job = job(Framework::Tez, 2, 3, 1 << 20);
    assert_eq!(job.check(6), Ok(()));
    change(&mut job);
    let error = job.check(6).expect_err("it can't run");
    (error.path.to_string(), error.message)
}

#[test]
fn each_with_its_field_and_what_is_allowed() {
    let (field, message) = refused(|job| job.output_replication = 4);
    assert_eq!(field, "output_replication");
    assert_eq!(message, "4: 1 to 3 are allowed, as there are 3 data nodes");
    assert_eq!(refused(|job| job.input_replication = 4).0, "input_replication");
    assert_eq!(refused(|job| job.input_replication = 0).0, "input_replication");
    assert_eq!(refused(|job| job.slots = 0).0, "slots");
    assert_eq!(refused(|job| job.reduces = 0).0, "reduces");
    assert_eq!(refused(|job| job.parallel_copies = 0).0, "parallel_copies");
    assert_eq!(refused(|job| job.data.clear()).0, "data");
    assert_eq!(refused(|job| job.compute.clear()).0, "compute");
    assert_eq!(refused(|job| job.slow_start = (0.5, 1.1)).0, "slow_start");
    assert_eq!(refused(|job| job.slow_start = (0.5, 0.4)).0, "slow_start");
    assert_eq!(refused(|job| job.slow_start = (f64::NAN, 1.0)).0, "slow_start");
    assert_eq!(refused(|job| job.merge_at = 0.0).0, "merge_at");
    assert_eq!(refused(|job| job.block = 0).0, "block");
    assert_eq!(refused(|job| job.costs.map_rate = Rate::from_bps(0)).0, "costs.map_rate");
    assert_eq!(refused(|job| job.costs.heartbeat = Time::ZERO).0, "costs.heartbeat");
    assert_eq!(refused(|job| job.costs.master_heartbeat = Time::from_us(1)).0, "costs.master_heartbeat");
    assert_eq!(refused(|job| job.costs.node_expiry = Time::ZERO).0, "costs.node_expiry");
    assert_eq!(refused(|job| job.costs.container_rpcs = 10_001).0, "costs.container_rpcs");
    assert_eq!(refused(|job| job.costs.master_rpcs = 10_001).0, "costs.master_rpcs");
    assert_eq!(refused(|job| job.costs.localisation_rpcs = 10_001).0, "costs.localisation_rpcs");
    assert_eq!(refused(|job| job.costs.commit_rpcs = 10_001).0, "costs.commit_rpcs");
    assert_eq!(refused(|job| job.costs.reduce_rpcs = 10_001).0, "costs.reduce_rpcs");
    assert_eq!(refused(|job| job.costs.map_rpcs = 10_001).1, "10001: at most 10000");
    assert_eq!(refused(|job| job.costs.variation = 1.0).0, "costs.variation");
    assert_eq!(refused(|job| job.log_nodes.clear()).0, "log_nodes");
}

#[test]
fn a_host_has_one_role() {
    let (field, message) = refused(|job| job.data[0] = HostId(1));
    assert_eq!((field.as_str(), message.contains("host number 1")), ("data", true));
    assert_eq!(refused(|job| job.master = HostId(0)).0, "compute");
    assert_eq!(refused(|job| job.log_nodes = vec![HostId(0)]).0, "log_nodes");
    assert_eq!(refused(|job| job.compute.push(HostId(0))).0, "compute");
    assert_eq!(refused(|job| job.data[0] = HostId(9)).0, "compute");
}
