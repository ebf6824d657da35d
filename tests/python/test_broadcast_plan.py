"""`incast broadcast plan`: tables, files and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from incast.broadcast.plans import ALGORITHMS
from incast.cli.app import app

STAR = """\
nodes:
  - {id: S, kind: host}
  - {id: switch0, kind: switch}
  - {id: A, kind: host}
  - {id: B, kind: host}
  - {id: C, kind: host}
links:
  - {a: S, b: switch0, rate: 100Mbps}
  - {a: A, b: switch0, rate: 100Mbps}
  - {a: B, b: switch0, rate: 40Mbps}
  - {a: C, b: switch0, rate: 10Mbps}
"""


@pytest.fixture
def star(tmp_path: Path) -> Path:
    file = tmp_path / "star.yaml"
    file.write_text(STAR, encoding="utf-8")
    return file


def called(*words: object) -> Result:
    return CliRunner().invoke(app, ["broadcast", "plan", *map(str, words)], env={"COLUMNS": "120"})


def as_json(*words: object) -> dict[str, Any]:
    result = called(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_all_algorithms_side_by_side(star: Path) -> None:
    found = as_json(star, "--source", "S")
    assert [plan["algorithm"] for plan in found["plans"]] == list(ALGORITHMS)
    assert found["bound_bps"] == 150_000_000
    rates = {plan["algorithm"]: list(plan["rates_bps"].values()) for plan in found["plans"]}
    assert rates["stable"] == rates["highest-aggregate"] == [100_000_000, 40_000_000, 10_000_000]
    assert rates["fpfr"] == [10_000_000] * 3
    assert rates["dijkstra"] == rates["flat"] == [50_000_000, 40_000_000, 10_000_000]
    table = called(star, "--source", "S").stdout
    assert "balanced-multicasting" in table
    assert "150 Mb/s        100.0%" in table


def test_one_algorithm_by_destination_and_its_plan_as_a_file(star: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    result = called(star, "--source", "S", "--to", "A", "--to", "[BC]", "--algorithm", "stable", "--out", out)
    assert result.exit_code == 2  # no such pattern
    result = called(star, "--source", "S", "--to", "A", "--to", "C", "--algorithm", "stable", "--out", out)
    assert result.exit_code == 0, result.output
    assert "100.0%" in result.stdout
    plan = json.loads(out.read_text("utf-8"))
    assert plan["destinations"] == ["A", "C"]
    assert plan["trees"][0] == {"rate": 10_000_000, "hops": [["S", "switch0", "A"], ["A", "switch0", "C"]]}


def test_a_pattern_may_mean_the_source_too(star: Path) -> None:
    assert list(as_json(star, "--source", "S", "--to", "*", "--algorithm", "flat")["alone_bps"]) == [
        "A",
        "B",
        "C",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--source", "X"], "--source X: 'X' is not a host of the topology. Allowed: S, A, B, C"),
        (["--source", "switch0"], "--source switch0: 'switch0' is not a host of the topology"),
        (["--source", "S", "--to", "A", "--to", "A"], "--to A: is there twice: each destination once"),
        (["--source", "S", "--to", "S"], "--to S: is the source: it has the data"),
        (["--source", "S", "--algorithm", "stabel"], "'stabel' is not an algorithm. Did you mean 'stable'?"),
        (["--source", "S", "--out", "p.json"], "--out p.json: is of one plan: say which with --algorithm"),
        (
            ["--source", "S", "--algorithm", "flat", "--picture", "p.png"],
            "unknown kind of picture. Allowed: *.svg, *.html",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(star: Path, words: list[str], message: str) -> None:
    result = called(star, *words)
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", "")


def test_a_chain_that_cannot_be_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "oneway.yaml"
    file.write_text(STAR.replace("b: switch0, rate: 40Mbps", "b: switch0, ba: 40Mbps"), encoding="utf-8")
    found = as_json(file, "--source", "S", "--seed", "1")
    assert {plan["algorithm"] for plan in found["plans"]} | found["without_plan"].keys() == set(ALGORITHMS)
    best = next(plan for plan in found["plans"] if plan["algorithm"] == "highest-aggregate")
    assert best["aggregate_bps"] == 150_000_000
