"""Which program gets which memory: the document's rule, the best against all ways, what is refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import farmem_traces as traces
from incast.cli.app import app
from incast.errors import ScenarioError
from incast.farmem import distance
from incast.farmem.allocate import allocate
from incast.farmem.instance import Instance, Place, Task
from incast.farmem.problem import read
from incast.farmem.traced import Counts

RULE = """
fixed: 1us
programs:
  - {name: hurried, memory: 1GB, faults: 1000, time: 1s, latency: 5us}
  - {name: patient, memory: 1GB, faults: 90000, time: 1s}
nodes:
  - {name: at-401m, memory: 1GB, distance: 401m, bandwidth: 100Gbps}
  - {name: at-400m, memory: 1GB, distance: 400m, bandwidth: 100Gbps}
"""


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "problem.yaml"
    path.write_text(text)
    return path


def test_five_microseconds_reach_400_metres() -> None:
    us = 1_000_000
    assert distance.latency(distance.parse_length("400m"), 0, fixed=us, hop=0) == 5 * us
    assert distance.reach(5 * us, fixed=us) == distance.parse_length("400m")
    # Without anything fixed, 1 km one way: the document's 200 m/µs.
    assert distance.latency(distance.parse_length("1km"), 0, fixed=0, hop=0) == 10 * us
    assert distance.latency(0, 3, fixed=0, hop=us) == 6 * us
    assert distance.reach(us - 1, fixed=us) is None


def test_the_documents_rule_comes_out(tmp_path: Path) -> None:
    best, first, plain = allocate(read(_file(tmp_path, RULE)))
    # The one with many faults would be better off nearer, but the other may not be further.
    assert best.places == (1, 0)
    assert plain.places == (1, 0)
    assert first.places == (None, 1), "the sensitive one took the place that only the other could have"
    assert first.total is None
    nearer = RULE.replace("distance: 401m", "distance: 400.5m").replace("distance: 400m", "distance: 400.1m")
    with pytest.raises(
        ScenarioError, match="no node is good for hurried: at-401m is too far, at-400m is too far"
    ):
        allocate(read(_file(tmp_path, nearer)))


def _places(memory: list[int], latencies: list[int], rate: int = 100_000_000_000) -> tuple[Place, ...]:
    return tuple(
        Place(f"node{j}", size, {None: 0}, {None: latency}, rate)
        for j, (size, latency) in enumerate(zip(memory, latencies, strict=True))
    )


def _best(instance: Instance) -> float | None:
    """By trying all."""
    sums = []
    for places in itertools.product(range(len(instance.places)), repeat=len(instance.tasks)):
        used = np.zeros(len(instance.places))
        load = np.zeros(len(instance.places))
        for i, j in enumerate(places):
            used[j] += instance.tasks[i].memory
            load[j] += instance.load[i, j]
        fits = all(
            used[j] <= place.memory and load[j] <= place.rate for j, place in enumerate(instance.places)
        )
        if fits and all(instance.allowed[i, j] for i, j in enumerate(places)):
            sums.append(sum(instance.cost[i, j] for i, j in enumerate(places)))
    return min(sums, default=None)


_task = st.builds(
    lambda memory, faults, limit, weight: Task(
        "task",
        memory,
        10**12,
        4096,
        Counts(0, 0, faults, faults, faults, faults // 3, faults // 3),
        degradation=limit,
        weight=weight,
    ),
    st.integers(1, 5),
    st.integers(0, 3_000_000),
    st.none() | st.floats(0.01, 60),
    st.sampled_from([0.5, 1.0, 4.0]),
)
_node = st.builds(
    lambda memory, latency, rate: Place("node", memory, {None: 0}, {None: latency * 1000}, rate * 10**9),
    st.integers(1, 12),
    st.integers(100, 30_000),
    st.sampled_from([1, 10, 100]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_task, min_size=1, max_size=5), st.lists(_node, min_size=1, max_size=3))
def test_nothing_is_better_than_the_best(tasks: list[Task], nodes: list[Place]) -> None:
    instance = Instance(tuple(tasks), tuple(nodes))
    known = _best(instance)
    try:
        found = allocate(instance)
    except ScenarioError:
        assert known is None
        return
    best = found[0]
    assert known is not None
    assert best.total == pytest.approx(known, rel=1e-5, abs=1e-9)
    assert best.bound is not None
    assert best.bound <= known * (1 + 1e-5) + 1e-9
    for simple in found[1:]:
        assert simple.total is None or simple.total >= known * (1 - 1e-9)


def test_sensitive_first_comes_near_and_arrival_does_not() -> None:
    random = np.random.default_rng(3)
    tasks = tuple(
        Task(
            f"p{i}",
            int(random.integers(50, 300)) << 20,
            10**12,
            4096,
            Counts(0, 0, faults, faults, faults, 0, 0),
        )
        for i, faults in enumerate(map(int, random.pareto(1.2, 40) * 2000))
    )
    instance = Instance(tasks, _places([2 << 30] * 4, [1_200_000, 3_000_000, 6_000_000, 11_000_000]))
    best, first, plain = (each.total for each in allocate(instance))
    assert best
    assert first
    assert plain
    assert best <= first < 1.02 * best
    assert plain > 1.05 * best


def test_what_just_fits_fits() -> None:
    tasks = tuple(Task(f"p{i}", 3, 10**12, 4096, Counts(0, 0, 100, 100, 100, 0, 0)) for i in range(4))
    assert allocate(Instance(tasks, _places([12, 11], [1000, 2000])))[0].places == (0, 0, 0, 0)
    assert sorted(allocate(Instance(tasks, _places([11, 11], [1000, 2000])))[0].places) == [0, 0, 0, 1]  # type: ignore[type-var]


def test_links_are_shared_and_congested(tmp_path: Path) -> None:
    text = """
programs:
  - {name: a, memory: 1MB, faults: 2000000, time: 1s}
  - {name: b, memory: 1MB, faults: 2000000, time: 1s}
nodes:
  - {name: near, memory: 1GB, distance: 10m, bandwidth: 40Gbps, busy: 25%, delay: 0s}
  - {name: far, memory: 1GB, distance: 100m, bandwidth: 40Gbps}
"""
    instance = read(_file(tmp_path, text))
    assert instance.places[0].rate == 30_000_000_000
    # Each would use 20 of 30 Gb/s and more: they can't share a link.
    best = allocate(instance)[0]
    assert sorted(best.places) == [0, 1]  # type: ignore[type-var]
    delayed = read(_file(tmp_path, text.replace("delay: 0s", "delay: 7us")))
    assert delayed.places[0].latencies[None] == instance.places[0].latencies[None] + 7_000_000


def test_programs_come_from_traces_and_places(tmp_path: Path) -> None:
    traces.write(tmp_path / "scan.trace", traces.scans(1000, 10))
    text = """
fixed: 1us
hop: 500ns
programs:
  - {name: scan, trace: scan.trace, local: 50%, at: cpu0}
  - {name: other, memory: 2MB, faults: 10, fetched: 80, written_back: 20, time: 1s, at: cpu1}
nodes:
  - {name: one, memory: 3MB, distance: {cpu0: 10m, cpu1: 900m}, hops: 1, bandwidth: 40Gbps}
  - {name: two, memory: 3MB, distance: {cpu0: 900m, cpu1: 10m}, hops: 3, bandwidth: 40Gbps}
"""
    instance = read(_file(tmp_path, text))
    scan, other = instance.tasks
    assert (scan.memory, scan.counts.faults, scan.time) == (500 * 4096, 9000, 10**10)
    assert (other.counts.fetched, other.counts.requests, other.counts.sends) == (80, 10, 3)
    assert instance.places[0].latencies == {"cpu0": 2_100_000, "cpu1": 11_000_000}
    assert allocate(instance)[0].places == (0, 1)


def _run(path: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["farmem", "allocate", str(path), *arguments], env={"COLUMNS": "140"})
    return result.exit_code, result.output


def test_the_command_shows_all_ways(tmp_path: Path) -> None:
    code, output = _run(_file(tmp_path, RULE))
    assert code == 0
    assert "at-400m" in output
    assert "sensitivity-first" in output
    assert "5 µs" in output
    code, output = _run(_file(tmp_path, RULE), "--json")
    found = json.loads(output)
    assert code == 0
    assert [each["node"] for each in found["programs"]] == ["at-400m", "at-401m"]
    assert found["methods"][0]["method"] == "optimal"
    assert found["programs"][0]["reach_m"] == 400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("programs: []\nnodes: []", "problem.yaml:1: programs: at least 1 item is needed"),
        (RULE.replace("401m", "401"), "nodes[0].distance"),
        (RULE.replace("distance: 401m", "distance: {cpu: 10m}"), "problem.yaml:7: nodes[0].distance: has no distance"),
        (RULE.replace("faults: 1000, ", ""), "problem.yaml:4: programs[0]: faults is required"),
        (RULE.replace("faults: 1000", "faults: -1"), "problem.yaml:4: programs[0].faults"),
        (RULE.replace("patient", "hurried"), "problem.yaml:5: programs[1].name: 'hurried' is there 2 times"),
        (RULE.replace("faults: 1000", "faults: 1000, fetched: 10"), "programs[0].fetched: a fault fetches"),
        (RULE.replace("memory: 1GB, faults: 1000, time: 1s", "trace: none.trace, local: 50%"), "problem.yaml:4: programs[0].trace: none.trace: can't read it"),
        (RULE.replace("memory: 1GB, faults: 1000", "memory: 2GB, faults: 1000"), "no node is good for hurried"),
        (RULE.replace("memory: 1GB, distance: 401m", "memory: 100MB, distance: 401m"), "need 2000000000 bytes, and all nodes together have 1100000000"),
        (RULE.replace("memory: 1GB, distance", "memory: 1.9GB, distance").replace("at-401m, memory: 1.9GB", "at-401m, memory: 900MB"), "no way gives each a node"),
        (RULE.replace("bandwidth: 100Gbps", "bandwith: 100Gbps"), "Did you mean 'bandwidth'?"),
        (RULE.replace("fixed: 1us", "fixed: 1"), "fixed"),
    ],
)  # fmt: skip
def test_what_cant_be_is_refused(tmp_path: Path, text: str, said: str) -> None:
    code, output = _run(_file(tmp_path, text))
    assert code == 2, output
    assert said in output
