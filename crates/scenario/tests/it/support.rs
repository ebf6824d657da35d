//! Scenarios as JSON for tests: a base that runs, to be changed where a test needs it.

#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::{Value, json};
use sim::{Pause, Sim};

/// A rule for all hosts: `congestion`, with ECN or without, and a least timeout of `rto_min_ms`.
pub fn hosts(congestion: &str, ecn: bool, rto_min_ms: u64) -> Value {
    let ecn = if ecn { "on" } else { "off" };
    json!([{"pattern": "*", "config": {
        "mtu": 1500, "nic_queue": 64_000, "cores": 4, "disk": 4_000_000_000_u64,
        "tcp": {
            "congestion": congestion, "ecn": ecn, "ecn_fallback": true, "sack": true, "rack": true,
            "tail_loss_probe": true, "limited_transmit": true, "fast_retransmit": 3, "clock_tick": 0,
            "timestamps": true, "initial_window": 10, "hystart": false,
            "rto_initial": {"fixed": 1_000_000_000_000_u64},
            "rto_min": {"fixed": rto_min_ms * 1_000_000_000},
            "rto_max": {"fixed": 120_000_000_000_000_u64},
            "ack_every": 2, "delayed_ack": 1_000_000_000_u64, "receive_buffer": 6_291_456,
            "receive_buffer_max": 6_291_456, "send_buffer": 4_194_304, "dctcp_shift": 4,
            "htcp_rtt_scaling": true
        }
    }}])
}

/// A link of so many Mb/s.
pub fn link(mbps: u64, delay_ns: u64) -> Value {
    json!({"rate": mbps * 1_000_000, "delay": delay_ns * 1000, "mtu": 9000})
}

/// A switch with 256 packets a port, first in first out.
pub fn switch() -> Value {
    json!({"buffer": {"kind": "static", "limit": {"packets": 256}}, "queue": {"kind": "tail-drop"},
        "class_queues": [], "scheduler": {"kind": "fifo"}})
}

/// A scenario of one switch with `hosts` hosts of 1 Gb/s, without jobs.
pub fn base(count: u32) -> Value {
    json!({
        "name": "test", "seed": 1,
        "topology": {"kind": "single-switch", "hosts": count, "host_link": link(1000, 1000)},
        "framing": {"overhead": 38, "min_payload": 46},
        "switches": [{"pattern": "*", "config": switch()}],
        "hosts": hosts("cubic", false, 10),
        "jobs": [], "faults": [],
        "measure": {"interval": null, "ports": [], "flows": false, "capture": []},
        "until": null
    })
}

/// Time in picoseconds of so many microseconds.
pub fn us(n: u64) -> u64 {
    n * 1_000_000
}

/// Runs to the end; why it came back.
pub fn finish(sim: &mut Sim) -> Pause {
    loop {
        match sim.run(1 << 16) {
            Pause::Running => {}
            pause => return pause,
        }
    }
}
