"""Bad scenarios: each names file, line, field, what is wrong and what is allowed, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import SMALL, only, refused, variants, written
from incast.errors import ScenarioError
from incast.variants import make_variants
from incast.written import WrittenScenario

HEAD = """\
name: small
topology: {kind: leaf-spine, leaves: [2, 2], spines: 2}
jobs:
  - {name: answers, kind: incast, receiver: host0, size: 20kB}
"""


@pytest.mark.parametrize(
    ("more", "line", "path", "said"),
    [
        ("sede: 1", 5, "sede", "'sede' is not a field here. Did you mean 'seed'? Allowed: name, description,"),
        ("seed: -1", 5, "seed", "-1 is not allowed: must be greater than or equal to 0"),
        ("seed: 1.5", 5, "seed", "expected a whole number, not 1.5"),
        ("seed: true", 5, "seed", "expected a whole number, not true"),
        ("seed: '256'", 5, "seed", "expected a whole number, not the text '256': write it without quotes"),
        ("seed: many", 5, "seed", "expected a whole number, not many"),
        ("measure: {flows: 'true'}", 5, "measure.flows", "not the text 'true': write it without quotes"),
        ("switch: {buffer: {kind: shared, alpha: '0.5'}}", 5, "switch.buffer.alpha", "a number, not the text '0.5'"),
        ("switch: {buffer: {size: 32}}", 5, "switch.buffer.size", '"32" has no unit'),
        ("switch: {buffer: {size: 32Mbps}}", 5, "switch.buffer.size", "is not a unit of size: allowed are B, kB"),
        ("switch:\n  buffer:\n    alpha: 0", 7, "switch.buffer.alpha", "0 is not allowed: must be greater than 0"),
        ("switch: {buffer: {alpha: .nan}}", 5, "switch.buffer.alpha", "finite"),
        ("switch: {buffer: {kind: deep}}", 5, "switch.buffer", "'deep' is not a kind. Allowed: static, shared, voq"),
        ("switch: {buffer: {kind: voq, alpha: 0}}", 5, "switch.buffer.alpha", "must be greater than 0"),
        ("switch: {buffer: {kind: voq, size: 100MB}}", 5, "switch.buffer.cap", "125MB does not fit into a memory of 100MB"),
        ("switch: {buffer: {kind: voq, cap: 9GB}}", 5, "switch.buffer.cap", "9GB does not fit into a memory of 8GB"),
        ("switch: {buffer: {kind: voq, reserved: 0.9}}", 5, "switch.buffer.multicast", "leave nothing to share"),
        ("switch: {buffer: {kind: voq, reserved: 1}}", 5, "switch.buffer.reserved", "must be less than 1"),
        ("switch: {buffer: {kind: voq, cell: 0B}}", 5, "switch.buffer.cell", "above zero"),
        ("switch: {buffer: {kind: cells, limit: 0}}", 5, "switch.buffer.limit", "greater than or equal to 1"),
        ("switch: {buffer: {kind: cells, threshold: 9}}", 5, "switch.buffer.threshold", "needs discard: early"),
        (
            "switch: {buffer: {kind: cells, limit: 8, discard: early, threshold: 9}}",
            5,
            "switch.buffer.threshold",
            "9 is above the limit of 8 cells",
        ),
        (
            "switch: {buffer: {kind: cells}, queue: {kind: codel}}",
            5,
            "switch.queue",
            "a buffer of cells has one queue a port, and queue is tail-drop: the buffer's discard says more",
        ),
        ("switch: {buffer: {kind: cells}, scheduler: {kind: ets}}", 5, "switch.scheduler", "scheduler is fifo"),
        ("switch: {buffer: {kind: cells}}", 5, "switch.buffer", "its links lead to hosts"),
        ("host: {packet_cost: 2s}", 5, "host.packet_cost", "'2s' is not allowed: it must be at most 1s"),
        ("host: {packet_jitter: 2s}", 5, "host.packet_jitter", "at most 1s"),
        ("host: {time_slice: 2s}", 5, "host.time_slice", "at most 1s"),
        ("host: {kernel: {moderation: 2s}}", 5, "host.kernel.moderation", "at most 1s"),
        ("host: {kernel: {memory: 1MB}}", 5, "host.kernel.memory", "it must be 32MiB to 64GiB"),
        ("host: {time_slice: 5}", 5, "host.time_slice", "has no unit"),
        ("host: {tcp: {fast_retransmit: 0}}", 5, "host.tcp.fast_retransmit", "from 1 to 1000, or off"),
        ("host: {tcp: {fast_retransmit: off}}", 5, "host.tcp.fast_retransmit", "it needs rack: false"),
        ("host: {tcp: {rto_max: min + 5}}", 5, "host.tcp.rto_max", "has no unit"),
        ("host: {tcp: {rto_max: max}}", 5, "host.tcp.rto_max", "like 'min + 100ms'"),
        ("host: {tcp: {clock_tick: 1}}", 5, "host.tcp.clock_tick", "has no unit"),
        ("switch: {queue: {kind: codel, target: 0s}}", 5, "switch.queue.target", "above zero"),
        ("switch: {queue: {kind: codel, target: 1s}}", 5, "switch.queue.interval", "100ms is below target (1s)"),
        ("switch: {queue: {kind: codel, interval: 1ms}}", 5, "switch.queue.interval", "1ms is below target (5ms)"),
        ("switch: {buffer: {kind: static}}", 5, "switch.buffer.limit", "is required"),
        (
            "switch: {queue: {kind: red, min: 3MB, max: 2MB}}",
            5,
            "switch.queue.max",
            "max is 2MB, below min (3MB): max must be at least min",
        ),
        ("switch: {queue: {kind: red, min: 3MB, max: 9 packets}}", 5, "switch.queue.max", "both in packets"),
        ("switch: {class_queues: {8: {kind: tail-drop}}}", 5, "switch.class_queues.8", "allowed are 0 to 7"),
        ("switch: {scheduler: {kind: ets, weights: {1: 0}}}", 5, "switch.scheduler.weights.1", "greater than or equal to 1"),
        ("switch: {scheduler: {kind: ets, strict: [1], weights: {1: 1}}}", 5, "switch.scheduler.weights", "can't be both"),
        ("switch: {scheduler: {kind: ets, strict: [1, 1]}}", 5, "switch.scheduler.strict", "twice"),
        ("switch_overrides: [{match: lef*}]", 5, "switch_overrides[0].match", "matches nothing"),
        ("switch_overrides: [{match: leaf0, bufer: {}}]", 5, "switch_overrides[0].bufer", "Did you mean 'buffer'?"),
        ("switch_overrides:\n - match: leaf0\n   buffer: {alpha: 0}", 7, "switch_overrides[0].buffer.alpha", "greater than 0"),
        ("host: {mtu: 9001B}", 5, "host.mtu", "above the MTU of a link (9kB)"),
        ("host: {mtu: 50B}", 5, "host.mtu", "it must be 100B to 65535B"),
        ("host: {tcp: {ecn: perhaps}}", 5, "host.tcp.ecn", "Allowed: auto, off, on, passive"),
        ("host: {tcp: {congestion: dctcp, ecn: off}}", 5, "host.tcp.ecn", "it needs ecn: on"),
        ("host: {tcp: {sack: no}}", 5, "host.tcp.sack", "expected true or false, not no: write false"),
        ("host: {tcp: {sack: false, rack: true}}", 5, "host.tcp.rack", "rack needs sack"),
        ("host: {tcp: {rto_min: 2s, rto_max: 1s}}", 5, "host.tcp.rto_max", "below rto_min"),
        ("host: {tcp: {receive_buffer: 9MB}}", 5, "host.tcp.receive_buffer_max", "below receive_buffer"),
        ("host_overrides: [{match: 'host[3-1]'}]", 5, "host_overrides[0].match", "has to ascend"),
        ("host_overrides: [{match: host0, mtu: 9001B}]", 5, "host_overrides[0].mtu", "above the MTU of a link"),
        ("faults: [{at: 1ms}]", 5, "faults[0]", "exactly one change is expected, found none. Allowed: crash,"),
        ("faults: [{at: 1ms, crash: host0, restart: host1}]", 5, "faults[0]", "found crash and restart"),
        ("faults: [{at: 1ms, restart: host0, for: 1s}]", 5, "faults[0]", "no meaning with restart"),
        ("faults: [{at: 1ms, crash: leaf0}]", 5, "faults[0].crash", "'leaf0' is not a host"),
        ("faults: [{at: 1ms, link_down: [leaf0, leaf1]}]", 5, "faults[0].link_down", "Allowed: host0, host1, spine0, spine1"),
        ("faults: [{at: 1ms, link_down: [leaf0]}]", 5, "faults[0].link_down", "the two ends of a link"),
        ("faults: [{at: 1ms, loss: {link: [leaf0, spine9], probability: 0.1}}]", 5, "faults[0].loss.link", "Did you mean 'spine"),
        ("faults: [{at: 1ms, loss: {link: [leaf0, spine1], probability: 2}}]", 5, "faults[0].loss.probability", "less than or equal to 1"),
        ("measure: {ports: [leaf7:*]}", 5, "measure.ports[0]", "matches no port"),
        ("measure: {interval: 0s}", 5, "measure.interval", "above zero"),
        ("thresholds: [jobs.answers.durations < 3ms]", 5, "thresholds[0]", "Did you mean 'jobs.answers.duration'?"),
        ("thresholds: [jobs.other.duration < 3ms]", 5, "thresholds[0]", "is not a figure"),
        ("thresholds: [jobs.answers.duration < 3MB]", 5, "thresholds[0]", "'3MB' is not a time like 50ms"),
        ("thresholds: [ports.drops]", 5, "thresholds[0]", "is not a threshold: expected figure, one of < <="),
        ("until: 0s", 5, "until", "above zero"),
        ("choices: {a/b: {}}", 5, "choices.a/b", "is not a name"),
        ("switch: {class_queues: {1: {kind: tail-drop}}}", 5, "switch.class_queues", "needs the scheduler ets"),
        ("thresholds: [done < nan]", 5, "thresholds[0]", "'nan' is not a time"),
        ("thresholds: [ports.drops < inf]", 5, "thresholds[0]", "'inf' is not a number"),
        ("until: 6000h", 5, "until", "at most 5124h is allowed"),
        ("until: 3000h", 5, "until", "at most 106 days"),
        ("faults: [{at: 5000h, crash: host0, for: 200h}]", 5, "faults[0].for", "ends after"),
        ("faults: [{at: 1s, flap: {link: [leaf0, spine0], down: 1h, up: 1h, times: 9999}}]", 5, "faults[0].flap", "ends after"),
        ("choices: {a: {jobs.b.size: 1B}}", 5, "jobs.b", "Allowed: answers"),
        ("choices: {summary.json: {}}", 5, "choices.summary.json", "a choice, which gets a folder there, needs another"),
        ("choices: {" + "a" * 101 + ": {}}", 5, "choices." + "a" * 101, "at most 100"),
        ("choices: {a: {name: b}}", 5, "choices.a.name", "can't change name"),
        ("choices:\n  a: {}\n  b:\n    switch.buffer.alpha: 0", 8, "switch.buffer.alpha", "(choice b)"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, more: str, line: int, path: str, said: str) -> None:
    problem = only(refused(tmp_path, HEAD + more + "\n"))
    assert said in problem.message
    assert (problem.file, problem.line, problem.path) == (str(tmp_path / "scenario.yaml"), line, path)


@pytest.mark.parametrize(
    ("job", "path", "said"),
    [
        ("{name: a, kind: blk}", "jobs[0]", "'blk' is not a kind. Did you mean 'bulk'?"),
        ("{name: a}", "jobs[0]", "kind is required. Allowed:"),
        ("{kind: permutation, size: 1B}", "jobs[0].name", "is required (unique name)"),
        ("{name: 'a b', kind: permutation, size: 1B}", "jobs[0].name", "allowed are letters, digits"),
        ("{name: a, kind: permutation, size: 0B}", "jobs[0].size", "above zero"),
        ("{name: a, kind: permutation, size: 1B, class: 8}", "jobs[0].class", "allowed are 0 to 7"),
        ("{name: a, kind: permutation, size: 1B, hosts: host0}", "jobs[0].hosts", "at least 2 hosts"),
        ("{name: a, kind: permutation, size: 1B, hosts: [host0, hst1]}", "jobs[0].hosts", "Did you mean 'host1'?"),
        ("{name: a, kind: incast, receiver: spine0, size: 1B}", "jobs[0].receiver", "'spine0' is not a host"),
        ("{name: a, kind: incast, receiver: host0, senders: [host0], size: 1B}", "jobs[0].senders", "is the receiver"),
        ("{name: a, kind: bulk, pairs: [[host0, host0]], size: 1B}", "jobs[0].pairs[0]", "sends to itself"),
        ("{name: a, kind: bulk, pairs: [host0], size: 1B}", "jobs[0].pairs", "expected [from, to]"),
        ("{name: a, kind: bulk, pairs: all, size: 1B}", "jobs[0].pairs", "Allowed: random"),
        ("{name: a, kind: load, duration: 1ms, load: 0}", "jobs[0].load", "greater than 0"),
        ("{name: a, kind: load, duration: 1ms, sizes: web}", "jobs[0].sizes", "Allowed: web-search, data-mining"),
        ("{name: a, kind: load, duration: 1ms, sizes: [[1kB, 0.5]]}", "jobs[0].sizes", "it must be 1"),
        ("{name: a, kind: background, rate: 1Mbps, over: tcp, model: fluid}", "jobs[0].model", "nothing slows down"),
        ("{name: a, kind: replay}", "jobs[0]", "either flows or trace is required"),
        ("{name: a, kind: replay, flows: [{from: host0, to: x, size: 1B}]}", "jobs[0].flows[0].to", "'x' is not a host"),
        ("{name: a, kind: replay, time_scale: 1000, flows: [{at: 5000h, from: host0, to: host1, size: 1B}]}",
         "jobs[0].time_scale", "an entry begins after"),
        ("{name: a, kind: replay, start: 5000h, flows: [{at: 5000h, from: host0, to: host1, size: 1B}]}",
         "jobs[0].start", "an entry begins after"),
        ("{name: a, kind: replay, scale: 1000000, flows: [{from: host0, to: host1, size: 10000000TB}]}",
         "jobs[0].scale", "with 1e+06 a size is above"),
        ("{name: a, kind: background, rate: -1Gbps}", "jobs[0].rate", "not negative"),
        ("{name: a, kind: background, rate: 1Gbps}", "until", "no run waits for background jobs"),
        ("{name: a, kind: background, rate: 1Gbps, duration: 1ms}", "until", "no run waits for background jobs"),
    ],
)  # fmt: skip
def test_refused_jobs(tmp_path: Path, job: str, path: str, said: str) -> None:
    text = f"name: small\ntopology: {{kind: leaf-spine, leaves: [2, 2], spines: 2}}\njobs:\n - {job}\n"
    problem = only(refused(tmp_path, text))
    assert said in problem.message
    assert problem.path == path


SORT = {"compute": "host0", "master": "host1", "data": "host[2-3]", "input_replication": 2, "size": "1MB"}


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"input_replication": 3}, "input_replication", "3 copies on 2 data nodes: at most 2"),
        ({"output_replication": 3}, "output_replication", "3 copies on 2 data nodes: at most 2"),
        ({"slots": 0}, "slots", "greater than or equal to 1"),
        ({"parallel_copies": 0}, "parallel_copies", "greater than or equal to 1"),
        ({"reduces": 0}, "reduces", "greater than or equal to 1"),
        ({"slow_start": 1.5}, "slow_start", "less than or equal to 1"),
        ({"slow_start_end": 0.5}, "slow_start_end", "only Tez has it"),
        (
            {"framework": "tez", "slow_start": 0.5, "slow_start_end": 0.4},
            "slow_start_end",
            "below slow_start",
        ),
        ({"framework": "spark"}, "framework", "'spark'"),
        ({"master": "host9"}, "master", "'host9' is not a host"),
        ({"master": "host0"}, "compute", "host0 is the master"),
        ({"data": ["host0", "host3"]}, "data", "host0 is a compute node"),
        ({"log_nodes": "host0"}, "log_nodes", "host0 is a compute node"),
        ({"data": "node*"}, "data", "node*"),
        ({"costs": {"map_rate": "1bps"}}, "costs.map_rate", "at least 1kbps"),
        ({"costs": {"variation": 1.0}}, "costs.variation", "less than 1"),
        ({"costs": {"container_rpcs": -1}}, "costs.container_rpcs", "greater than or equal to 0"),
        ({"costs": {"map_rpcs": 10_001}}, "costs.map_rpcs", "less than or equal to 10000"),
        ({"costs": {"node_expiry": "1s"}}, "costs.node_expiry", "longer than a heartbeat"),
        ({"costs": {"map_speed": "1MB/s"}}, "costs.map_speed", "map_rate"),
    ],
)
def test_refused_shuffles(tmp_path: Path, change: dict[str, object], path: str, said: str) -> None:
    job = json.dumps({"name": "a", "kind": "shuffle", **SORT, **change})
    text = f"name: small\ntopology: {{kind: leaf-spine, leaves: [2, 2], spines: 2}}\njobs:\n - {job}\n"
    problem = only(refused(tmp_path, text))
    assert said in problem.message
    assert problem.path == f"jobs[0].{path}"


@pytest.mark.parametrize(
    ("topology", "path", "said"),
    [
        ("{kind: leaf-spin}", "topology", "Did you mean 'leaf-spine'?"),
        ("{kind: leaf-spine, leaves: [], spines: 1}", "topology.leaves", "at least 1 item"),
        ("{kind: leaf-spine, leaves: [0], spines: 1}", "topology.leaves[0]", "greater than or equal to 1"),
        ("{kind: single-switch, hosts: 2, host_link: {rate: -1Gbps}}", "topology.host_link.rate", "not negative"),
        ("{kind: single-switch, hosts: 2, host_link: {rate: 0Gbps}}", "topology.host_link.rate", "at least 1kbps"),
        ("{kind: single-switch, hosts: 2, host_link: {mtu: 67B}}", "topology.host_link.mtu", "it must be 68B to 65535B"),
        ("{kind: graph, nodes: {}, links: [{ends: [a, b]}]}", "topology.nodes", "at least 2 items are needed, not 0"),
        ("{kind: fat-tree, k: 3}", "topology.k", "3 is odd"),
        ("{kind: fat-tree, k: 128}", "topology", "are too many"),
        ("{kind: graph, nodes: {a: host, b: host}, links: [{ends: [a, c]}]}", "topology.links[0].ends", "'c' is not one"),
        ("{kind: graph, nodes: {a: host, b: switch}, links: [{ends: [b, b]}]}", "topology.links[0].ends", "to itself"),
        ("{kind: graph, nodes: {a: host, b: router}, links: [{ends: [a, b]}]}", "topology.nodes.b", "Allowed: host, switch"),
        ("{kind: graph, nodes: {a: host, b: host, c: switch}, links: [{ends: [a, c]}]}", "topology", '"b" has no link'),
        ("{kind: graph, nodes: {a: switch, b: switch}, links: [{ends: [a, b]}]}", "topology", "no host"),
    ],
)  # fmt: skip
def test_refused_topologies(tmp_path: Path, topology: str, path: str, said: str) -> None:
    text = f"name: small\ntopology: {topology}\njobs:\n - {{name: a, kind: permutation, size: 1B}}\n"
    problem = only(refused(tmp_path, text))
    assert said in problem.message
    assert (problem.path, problem.line) == (path, 2)


def test_a_host_does_not_forward(tmp_path: Path) -> None:
    chain = "{kind: graph, nodes: {a: host, b: host, c: host}, links: [{ends: [a, b]}, {ends: [b, c]}]}"
    text = f"name: small\ntopology: {chain}\njobs:\n - {{name: x, kind: permutation, size: 1B}}\n"
    assert "c is unreachable: no route from a" in only(refused(tmp_path, text)).message


def test_all_problems_are_said_together(tmp_path: Path) -> None:
    shape = HEAD + "seed: x\nswitch: {buffer: {alpha: 0}}\nhosst: {}\n"
    assert [each.path for each in refused(tmp_path, shape)] == ["seed", "switch.buffer.alpha", "hosst"]
    meaning = HEAD + "thresholds: [x < 1]\nfaults: [{at: 1s, crash: x}]\nmeasure: {capture: [y]}\n"
    found = refused(tmp_path, meaning)
    assert {each.path for each in found} == {"thresholds[0]", "faults[0].crash", "measure.capture[0]"}


def test_two_jobs_of_one_name(tmp_path: Path) -> None:
    jobs = [*SMALL["jobs"], *SMALL["jobs"]]
    problem = only(refused(tmp_path, {**SMALL, "jobs": jobs}))
    assert (problem.path, problem.message) == ("jobs", "two jobs are named 'answers': names must differ")


def test_a_job_after_the_end(tmp_path: Path) -> None:
    late = {**SMALL["jobs"][0], "start": "2s"}
    problem = only(refused(tmp_path, {**SMALL, "jobs": [late], "until": "1s"}))
    assert (problem.path, problem.message) == ("jobs[0].start", "2s is not before the run's end (1s)")


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ("switch.buffer.alpha", "", "expected path=value"),
        ("=4", "", "expected path=value"),
        ("switch.bufer.alpha=4", "switch.bufer", "Did you mean 'buffer'?"),
        ("jobs.other.size=1MB", "jobs.other", "Allowed: answers"),
        ("jobs.answers.size=1", "jobs[0].size", "has no unit"),
        ("seed=[", "", "not YAML"),
    ],
)
def test_refused_changes_name_the_option(tmp_path: Path, change: str, path: str, said: str) -> None:
    problem = only(refused(tmp_path, SMALL, change))
    assert said in problem.message
    assert (problem.file, problem.line if path else None, problem.path) == (f"--set {change}", None, path)


def test_unknown_choices(tmp_path: Path) -> None:
    source = WrittenScenario.from_file(written(tmp_path, {**SMALL, "choices": {"deep": {}, "shallow": {}}}))
    with pytest.raises(ScenarioError, match=r"--choice dep: 'dep' is not a choice\. Did you mean 'deep'"):
        make_variants(source, ["dep"])
    with pytest.raises(ScenarioError, match="has no choices"):
        make_variants(WrittenScenario.from_file(written(tmp_path, SMALL)), ["deep"])


def test_a_scenario_is_a_mapping(tmp_path: Path) -> None:
    for text in ("", "[1]", "name"):
        assert "expected a mapping" in only(refused(tmp_path, text)).message


def test_the_small_scenario_itself_is_fine(tmp_path: Path) -> None:
    assert len(variants(tmp_path, SMALL)) == 1
    assert len(variants(tmp_path, HEAD)) == 1


@pytest.mark.parametrize(
    ("rate", "switch", "said"),
    [
        ("30Gbps", "{}", "less is needed"),
        ("1Gbps", "{buffer: {kind: voq}}", "needs one queue a port"),
        ("1Gbps", "{scheduler: {kind: ets}}", "needs one queue a port"),
    ],
)
def test_fluid_that_a_port_cannot_take(tmp_path: Path, rate: str, switch: str, said: str) -> None:
    job = f"{{name: a, kind: background, model: fluid, pairs: [[host0, host1]], rate: {rate}}}"
    text = f"name: small\nuntil: 1ms\ntopology: {{kind: single-switch, hosts: 2}}\nswitch: {switch}\njobs: [{job}]\n"
    problem = only(refused(tmp_path, text))
    assert said in problem.message
    assert problem.path.startswith("jobs[0]")


@pytest.mark.parametrize(
    ("more", "path", "said"),
    [
        (
            "faults: [{at: 1us, rate: {link: [a, s], rate: 1Gbps}}]",
            "faults[0]",
            "links of cells keep their rate",
        ),
        ("", "switch.buffer", "rates of 25Gbps and 1Gbps: cells need one rate on all of them"),
    ],
)
def test_cells_need_one_rate(tmp_path: Path, more: str, path: str, said: str) -> None:
    other = "" if more else ", rate: 1Gbps"
    text = f"""\
name: cells
topology:
  kind: graph
  nodes: {{a: host, b: host, s: switch}}
  links: [{{ends: [a, s]}}, {{ends: [b, s]{other}}}]
switch: {{buffer: {{kind: cells}}}}
jobs: [{{name: c, kind: permutation, size: 1kB}}]
{more}
"""
    problem = only(refused(tmp_path, text))
    assert said in problem.message
    assert problem.path.startswith(path)


def test_a_fluid_needs_a_switch_of_packets(tmp_path: Path) -> None:
    text = """\
name: cells
topology: {kind: single-switch, hosts: 2}
switch: {buffer: {kind: cells}}
jobs: [{name: c, kind: background, rate: 1Mbps, model: fluid, pairs: [[host0, host1]]}]
until: 1ms
"""
    assert "a switch of cells, which needs packets" in only(refused(tmp_path, text)).message
