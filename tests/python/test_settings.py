"""What a scenario means in the core's terms: overrides, selections, choices, faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import SMALL, spec, variants, written
from incast.lab.scenario import Scenario
from incast.lab.select import SelectError, matches, select
from incast.variants import make_variants
from incast.written import WrittenScenario

HOSTS = {f"host{n}": None for n in range(12)}


def job(resolved: dict[str, Any], **expected: Any) -> bool:
    return all(resolved["jobs"][0]["work"][key] == value for key, value in expected.items())


def config(resolved: dict[str, Any], field: str, name: str) -> Any:
    """The core's rule: the last that matches."""
    return next(rule["config"] for rule in reversed(resolved[field]) if matches(rule["pattern"], name))


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("host3", ["host3"]),
        ("host1*", ["host1", "host10", "host11"]),
        ("*", list(HOSTS)),
        ("host[2-4,7]", ["host2", "host3", "host4", "host7"]),
        (["host9", "host[8-9]"], ["host9", "host8"]),
        ("h*t1*", ["host1", "host10", "host11"]),
    ],
)
def test_selectors(selector: str | list[str], found: list[str]) -> None:
    assert select(selector, HOSTS, "a host") == found


@given(st.text(alphabet="host0123*[]-,", max_size=12))
def test_any_selector_finds_known_names_or_is_refused(text: str) -> None:
    try:
        found = select(text, HOSTS, "a host")
    except SelectError as error:
        assert str(error)
        return
    assert found
    assert set(found) <= set(HOSTS)


def test_later_overrides_are_laid_over_earlier_ones(tmp_path: Path) -> None:
    overrides = [
        {"match": "*", "buffer": {"alpha": 1}},
        {"match": "switch0", "buffer": {"size": "1MB"}, "queue": {"kind": "step", "threshold": "9kB"}},
    ]
    found = config(spec(tmp_path, {**SMALL, "switch_overrides": overrides}), "switches", "switch0")
    assert (found["buffer"]["alpha"], found["buffer"]["size"]) == (1.0, 1_000_000)
    assert found["queue"] == {"kind": "step", "threshold": {"bytes": 9_000}}


def test_host_overrides_reach_only_their_hosts(tmp_path: Path) -> None:
    overrides = [{"match": "host[1-2]", "tcp": {"congestion": "dctcp"}}, {"match": "host2", "mtu": "9000B"}]
    resolved = spec(tmp_path, {**SMALL, "host_overrides": overrides})
    found = [config(resolved, "hosts", f"host{n}") for n in range(4)]
    assert [each["tcp"]["congestion"] for each in found] == ["cubic", "dctcp", "dctcp", "cubic"]
    assert [each["tcp"]["ecn"] for each in found] == ["passive", "on", "on", "passive"]
    assert [each["mtu"] for each in found] == [1500, 1500, 9000, 1500]


def test_rack_and_the_probe_follow_sack(tmp_path: Path) -> None:
    tcp = config(spec(tmp_path, SMALL, "host.tcp.sack=false"), "hosts", "host0")["tcp"]
    assert (tcp["sack"], tcp["rack"], tcp["tail_loss_probe"]) == (False, False, False)
    tcp = config(spec(tmp_path, SMALL, "host.tcp.tail_loss_probe=false"), "hosts", "host0")["tcp"]
    assert (tcp["sack"], tcp["rack"], tcp["tail_loss_probe"]) == (True, True, False)


def test_choices_are_laid_over_the_rest(tmp_path: Path) -> None:
    choices = {
        "deep": {"switch": {"buffer": {"size": "4GB"}}},
        "small": {"switch.buffer.size": "1MB", "jobs": {"answers": {"size": "1kB"}}},
        "fixed": {"switch": {"buffer": {"kind": "static", "limit": "10 packets"}}},
    }
    deep, small, fixed = (plan.resolved.spec for plan in variants(tmp_path, {**SMALL, "choices": choices}))
    assert config(deep, "switches", "switch0")["buffer"]["size"] == 4 * 10**9
    assert config(small, "switches", "switch0")["buffer"]["size"] == 10**6
    assert job(small, bytes=1_000)
    assert job(deep, bytes=20_000)
    assert config(fixed, "switches", "switch0")["buffer"] == {"kind": "static", "limit": {"packets": 10}}


def test_only_some_choices_and_several_seeds(tmp_path: Path) -> None:
    source = WrittenScenario.from_file(written(tmp_path, {**SMALL, "choices": {"a": {}, "b": {"seed": 7}}}))
    assert [(plan.choice, plan.scenario.seed) for plan in make_variants(source)] == [("a", 1), ("b", 7)]
    assert [(plan.choice, plan.scenario.seed) for plan in make_variants(source, ["b"], [3, 4])] == [
        ("b", 3),
        ("b", 4),
    ]


def test_changes_are_applied_in_order(tmp_path: Path) -> None:
    changes = ["switch.queue.kind=red", "switch.queue={min: 1kB, max: 2kB}", "jobs.0.rounds=3", "name='x y'"]
    resolved = spec(tmp_path, SMALL, *changes[:-1])
    assert config(resolved, "switches", "switch0")["queue"]["max"] == {"bytes": 2_000}
    assert job(resolved, rounds=3)


def test_random_pairs_come_from_the_seed_alone(tmp_path: Path) -> None:
    jobs = [{"name": "bg", "kind": "background", "rate": "1Mbps"}, *SMALL["jobs"]]
    found = [
        spec(tmp_path, {**SMALL, "jobs": jobs}, f"seed={n}")["jobs"][0]["work"]["pairs"] for n in (1, 1, 2, 3)
    ]
    assert found[0] == found[1]
    assert len({str(each) for each in found}) > 1
    for pairs in found:
        sources, sinks = zip(*pairs, strict=True)
        assert sorted(sources) == sorted(sinks) == ["host0", "host1", "host2", "host3"]
        assert all(a != b for a, b in pairs)


def test_pairs_by_pattern_are_every_one_to_every_one(tmp_path: Path) -> None:
    bulk = {"name": "b", "kind": "bulk", "pairs": [["host[0-1]", "host[1-2]"]], "size": "1B"}
    pairs = [["host0", "host1"], ["host0", "host2"], ["host1", "host2"]]
    assert job(spec(tmp_path, {**SMALL, "jobs": [bulk]}), pairs=pairs)


def test_the_receiver_of_an_incast_is_no_sender(tmp_path: Path) -> None:
    assert job(spec(tmp_path, SMALL), senders=["host1", "host2", "host3"])


def change(at_us: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"at": at_us * 10**6, "change": {"kind": kind, **more}}


LINK = {"a": "switch0", "b": "host1"}


@pytest.mark.parametrize(
    ("fault", "changes"),
    [
        ({"crash": "host1"}, [change(1, "crash", host="host1")]),
        (
            {"crash": "host1", "for": "2us"},
            [change(1, "crash", host="host1"), change(3, "restart", host="host1")],
        ),
        (
            {"slow": {"host": "host1", "speed": 0.5}, "for": "2us"},
            [change(1, "slow", host="host1", speed=0.5), change(3, "slow", host="host1", speed=1.0)],
        ),
        (
            {"link_down": ["switch0", "host1"], "for": "2us"},
            [change(1, "link-down", **LINK), change(3, "link-up", **LINK)],
        ),
        (
            {"loss": {"link": ["switch0", "host1"], "probability": 0.1}, "for": "2us"},
            [change(1, "loss", **LINK, probability=0.1), change(3, "loss", **LINK, probability=0.0)],
        ),
        (
            {"rate": {"link": ["switch0", "host1"], "rate": "1Gbps"}, "for": "2us"},
            [change(1, "rate", **LINK, rate=10**9), change(3, "rate", **LINK, rate=10**10)],
        ),
        (
            {"flap": {"link": ["switch0", "host1"], "down": "1us", "up": "2us", "times": 2}},
            [
                change(1, "link-down", **LINK),
                change(2, "link-up", **LINK),
                change(4, "link-down", **LINK),
                change(5, "link-up", **LINK),
            ],
        ),
    ],
)
def test_faults(tmp_path: Path, fault: dict[str, Any], changes: list[dict[str, Any]]) -> None:
    assert spec(tmp_path, {**SMALL, "faults": [{"at": "1us", **fault}]})["faults"] == changes


def test_a_scenario_made_in_python_is_the_one_from_yaml(tmp_path: Path) -> None:
    from_yaml = Scenario.from_yaml(written(tmp_path, SMALL))
    made = Scenario.model_validate(SMALL)
    assert made.model_dump() == from_yaml.model_dump()
    (one,), (other,) = (make_variants(each.written()) for each in (made, from_yaml))
    assert one.resolved.spec == other.resolved.spec


def test_a_changed_copy_runs_as_changed(tmp_path: Path) -> None:
    scenario = Scenario.from_yaml(written(tmp_path, SMALL)).model_copy(update={"seed": 9})
    (plan,) = make_variants(scenario.written())
    assert plan.resolved.spec["seed"] == 9


def test_what_a_python_scenario_writes_reads_back(tmp_path: Path) -> None:
    wide = {
        **SMALL,
        "switch": {"buffer": {"kind": "static", "limit": "1MB"}},
        "faults": [{"at": "1us", "crash": "host1", "for": "1us"}],
        "choices": {"a": {"seed": 3}},
    }
    source = Scenario.model_validate(wide).written()
    again = WrittenScenario.from_file(written(tmp_path, source.text))
    assert [plan.resolved.spec for plan in make_variants(again)] == [
        plan.resolved.spec for plan in make_variants(source)
    ]
