"""Plans of a broadcast through the core: the worked example, and what people are told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from incast import _core

STAR: dict[str, list[dict[str, Any]]] = {
    "nodes": [{"id": "switch", "kind": "switch"}, *({"id": name, "kind": "host"} for name in "SABC")],
    "links": [
        {"a": "switch", "b": name, "ab": rate, "ba": rate}
        for name, rate in {"S": 100, "A": 100, "B": 40, "C": 10}.items()
    ],
}


def test_the_stable_plan_gives_everybody_its_most() -> None:
    text = json.dumps(STAR)
    plan = json.loads(_core.broadcast_plan(text, "S", ["A", "B", "C"], "stable", 1))
    assert [(tree["rate"], len(tree["hops"])) for tree in plan["trees"]] == [(10, 3), (30, 2), (60, 1)]
    assert plan["trees"][0]["hops"] == [["S", "switch", "A"], ["A", "switch", "B"], ["B", "switch", "C"]]
    assert _core.broadcast_bound(text, "S", ["A", "B", "C"]) == [100, 40, 10]
    _core.broadcast_check(text, json.dumps(plan))
    plan["trees"][0]["rate"] = 20
    with pytest.raises(ValueError, match="on the link from"):
        _core.broadcast_check(text, json.dumps(plan))


@pytest.mark.parametrize(
    ("source", "destinations", "algorithm", "told"),
    [
        ("X", ["A"], "stable", 'no node "X"'),
        ("S", ["A", "A"], "stable", '"A" is given twice'),
        ("S", ["switch"], "stable", '"switch" is a switch'),
        ("S", [], "stable", "at least one destination"),
        ("S", ["A"], "best", "allowed are flat, random-pipeline, depth-first, dijkstra, fpfr, stable, near"),
    ],
)
def test_requests_that_cannot_be(source: str, destinations: list[str], algorithm: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        _core.broadcast_plan(json.dumps(STAR), source, destinations, algorithm, 1)


def test_topologies_that_cannot_be() -> None:
    for changed, told in [
        ({"links": STAR["links"][1:]}, "not connected"),
        (
            {"links": [*STAR["links"][1:], {"a": "S", "b": "switch", "ab": -1, "ba": 1}]},
            "the rate from .* is -1",
        ),
        ({"nodes": [*STAR["nodes"], STAR["nodes"][0]]}, "given twice"),
    ]:
        with pytest.raises(ValueError, match=told):
            _core.broadcast_bound(json.dumps(STAR | changed), "S", ["A"])
