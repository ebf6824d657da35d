"""Settings, changes and YAML that cannot work are refused before anything runs, and it is said where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers import SMALL, only, refused, written
from incast.errors import Problem, ScenarioError
from incast.written import WrittenScenario
from typed import call

INCAST = {"name": "i", "kind": "incast", "receiver": "host0", "size": "1kB"}
REPLAY = {"name": "r", "kind": "replay"}
FLOW = {"at": "0s", "from": "host0", "to": "host1", "size": "1kB"}
SLOW = {"topology": {"kind": "single-switch", "hosts": 3, "host_link": {"rate": "1Mbps"}}}
RPC = {
    "name": "r",
    "kind": "rpc",
    "clients": "host0",
    "servers": "host[1-2]",
    "arrivals": {"kind": "closed"},
    "reply": "1MB",
}
SHUFFLE = {
    "name": "s",
    "kind": "shuffle",
    "master": "host0",
    "compute": ["host1"],
    "data": ["host2"],
    "input_replication": 1,
}
BULK = {"name": "b", "kind": "bulk", "pairs": [["host0", "host1"]], "size": "1kB"}


@pytest.mark.parametrize(
    ("more", "path", "said"),
    [
        ({"switch": {"buffer": {"kind": "shared", "size": "1kB"}}}, "switch.buffer", "does not fit"),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "30kB"},
                    "queue": {"kind": "step", "threshold": "40kB"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "shared", "size": "30kB"},
                    "queue": {"kind": "red", "min": "40kB", "max": "90kB"},
                }
            },
            "switch.queue.min",
            "above the buffer",
        ),
        (
            {"switch": {"buffer": {"kind": "shared", "size": "100kB", "cell": "1MB"}}},
            "switch.buffer",
            "takes 1000000 B",
        ),
        (
            {"switch": {"buffer": {"kind": "shared", "size": "100kB", "alpha": 0.001}}},
            "switch.buffer",
            "an empty queue may hold 100 B at most",
        ),
        ({"switch": {"buffer": {"kind": "cells", "limit": 3}}}, "switch.buffer.limit", "is 32 cells"),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "100kB"},
                    "queue": {"kind": "red", "min": "40kB", "max": "190kB"},
                }
            },
            "switch.queue.max",
            "above the buffer",
        ),
        ({"jobs": [{**INCAST, "start": "5000h"}]}, "jobs[0].start", "beyond the longest run (106 days)"),
        (
            {"faults": [{"at": "5000h", "crash": "host1"}]},
            "faults[0].at",
            "beyond the longest run (106 days)",
        ),
        (
            {"jobs": [{**REPLAY, "flows": [{**FLOW, "at": "9999999s"}]}]},
            "jobs[0].flows[0].at",
            "beyond the longest run (106 days)",
        ),
        (
            {"jobs": [{**REPLAY, "start": "2000h", "flows": [FLOW, {**FLOW, "at": "2000h"}]}]},
            "jobs[0].flows[1].at",
            "beyond the longest run (106 days)",
        ),
        (
            {**SLOW, "jobs": [{**INCAST, "size": "1GB", "rounds": 100_000}]},
            "jobs[0]",
            "bytes at host0 take longer",
        ),
        (
            {**SLOW, "jobs": [{"name": "b", "kind": "broadcast", "source": "host0", "size": "2TB"}]},
            "jobs[0]",
            "2000000000000 bytes at host0 take longer than the longest run (106 days) at 1Mbps: send less",
        ),
        ({**SLOW, "jobs": [{**RPC, "calls": 10_000_000}]}, "jobs[0]", "than the longest run (106 days)"),
        ({**SLOW, "jobs": [{**SHUFFLE, "size": "4TB"}]}, "jobs[0]", "at host1 take longer than the longest"),
        ({"switch": {"buffer": {"kind": "static", "limit": "500B"}}}, "switch.buffer", "does not fit"),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "100 packets"},
                    "queue": {"kind": "step", "threshold": "2MB"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "static", "limit": "30kB"},
                    "queue": {"kind": "step", "threshold": "3000 packets"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "shared", "size": "1MB", "alpha": 0.1},
                    "queue": {"kind": "step", "threshold": "200kB"},
                }
            },
            "switch.queue.threshold",
            "above the buffer",
        ),
        (
            {
                "switch": {
                    "buffer": {"kind": "shared", "size": "10MB"},
                    "scheduler": {"kind": "ets"},
                    "pfc": {"headroom": "100kB", "xoff": {"kind": "static", "limit": "9.9MB"}},
                }
            },
            "switch.pfc.xoff.limit",
            "no pause would come in time",
        ),
        (
            {
                "topology": {"kind": "single-switch", "hosts": 4, "host_link": {"rate": "1Mbps"}},
                "jobs": [{**BULK, "size": "2TB"}],
            },
            "jobs[0]",
            "longer than the longest run",
        ),
        ({"measure": {"interval": "1ps"}}, "measure.interval", "at least 10ns"),
        ({"thresholds": ["ports.drops < -5"]}, "thresholds[0]", "never below 0"),
        ({"thresholds": ["done < 0s"]}, "thresholds[0]", "never below 0"),
        ({"jobs": [{**BULK, "pairs": [["host0", "host0"]]}]}, "jobs[0].pairs[0]", "sends to itself"),
        (
            {
                "jobs": [
                    {
                        "name": "r",
                        "kind": "replay",
                        "flows": [{"from": "host1", "to": "host1", "size": "1kB"}],
                    }
                ]
            },
            "jobs[0].flows[0]",
            "host1 sends to itself",
        ),
        (
            {"jobs": [{**SMALL["jobs"][0], "senders": ["host1", "host1", "host1"]}]},
            "jobs[0].senders",
            "listed 3 times",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(
    tmp_path: Path, more: dict[str, Any], path: str, said: str
) -> None:
    problem = only(refused_by_the_core(tmp_path, {**SMALL, **more}))
    assert said in problem.message
    assert problem.path == path


def refused_by_the_core(folder: Path, content: dict[str, Any]) -> list[Any]:
    """Python refuses, or the core when it builds."""
    file = written(folder, content)
    found = call("run", file, "--out", folder / "out", "--no-report", "--json")
    assert found.returncode == 2, found.stdout + found.stderr
    assert not (folder / "out").exists() or not any((folder / "out").glob("jobs"))
    listed = json.loads(found.stdout)["problems"]
    return [Problem(each["message"], each.get("path") or "") for each in listed]


@pytest.mark.parametrize(
    "tag", ["!secret 5", "!!python/object:os.system 5", "!!binary aGk=", "!include x.yaml"]
)
def test_tags_of_yaml_are_refused(tmp_path: Path, tag: str) -> None:
    problem = only(refused(tmp_path, f"name: small\nseed: {tag}\n"))
    assert "is a tag, which means nothing here" in problem.message
    assert problem.line == 2


def test_a_path_of_thousands_of_fields_is_refused(tmp_path: Path) -> None:
    problem = only(refused(tmp_path, SMALL, ".".join(["a"] * 5001) + "=1"))
    assert problem.message == "a path of 5001 fields: at most 40 are allowed"


def test_a_long_change_is_shortened(tmp_path: Path) -> None:
    problem = only(refused(tmp_path, SMALL, ".".join(["a"] * 5001) + "=1"))
    assert len(str(problem)) < 200


def test_bytes_of_an_argument_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="not UTF-8 text"):
        WrittenScenario.from_file(written(tmp_path, SMALL), ["name=\udcff"])
