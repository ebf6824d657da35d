"""Random walks from a scenario to their tables, and bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import incast
from helpers import only, refused, variants, written
from incast.cli.app import app
from test_report import data_of

WALK: dict[str, Any] = {
    "name": "walks",
    "kind": "walk",
    "graph": {"kind": "sbm", "sizes": [20, 20, 20], "inside": 0.3, "between": 0.2},
    "walks": 20,
}
SCENARIO: dict[str, Any] = {
    "name": "walked",
    "topology": {"kind": "single-switch", "hosts": 3, "host_link": {"rate": "10Gbps"}},
    "host": {"cores": 2},
    "jobs": [WALK],
    "measure": {"interval": "1ms"},
}


def scenario(**change: object) -> dict[str, Any]:
    return {**SCENARIO, "jobs": [{**WALK, **change}]}


def work(folder: Path, **change: object) -> dict[str, Any]:
    (plan,) = variants(folder, scenario(**change))
    found: dict[str, Any] = plan.resolved.spec["jobs"][0]["work"]
    return found


def test_defaults_are_the_documents(tmp_path: Path) -> None:
    found = work(tmp_path)
    assert found["queue"] == {
        "kind": "red",
        "min": 5.0,
        "max": 100.0,
        "max_p": 0.1,
        "weight": 1.0,
        "count": False,
        "gentle": False,
    }
    assert found["limit"] == 100
    assert found["generation"]["checks"] == 3
    assert found["steps"] == {"stop": 0.15}
    assert found["datagrams"]["walkers"] == 1
    assert found["partition"] == {"ranges": [20, 20, 20]}


def test_every_walk_is_counted_once_under_loss_and_a_crash(tmp_path: Path) -> None:
    faults = [
        {"at": "0s", "loss": {"link": ["host0", "switch0"], "probability": 0.1}},
        {"at": "3ms", "crash": "host2", "for": "5ms"},
    ]
    content = {**scenario(loss={"initial": "10ms"}, snapshot="1ms"), "faults": faults}
    run = incast.run(written(tmp_path, content), tmp_path / "out")
    walks = run.walks
    assert run.summary["end"] == "finished"
    assert walks["required"].to_list() == walks["finished"].to_list() == [400, 400, 400]
    assert walks["restarts"].to_list() == [0, 0, 1]
    assert walks["lost_timeout"].sum() > 0
    series = run.walks_series
    assert set(series["host"]) == {"host0", "host1", "host2"}
    assert series.filter(pl.col("host") == "host0")["steps"].sum() <= walks["steps"][0]


def test_a_graph_and_its_owners_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "ring.txt").write_text("# a ring\n" + "".join(f"{n}\t{(n + 1) % 9}\n" for n in range(9)))
    (tmp_path / "owners.txt").write_text("".join(f"{n % 3}\n" for n in range(9)))
    graph = {"kind": "edges", "file": "ring.txt", "owners": "owners.txt"}
    run = incast.run(written(tmp_path, scenario(graph=graph, length=4)), tmp_path / "out")
    assert run.walks["nodes"].to_list() == [3, 3, 3]
    assert run.walks["finished"].sum() == 180


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"graph": {"kind": "sbm", "sizes": [2], "inside": 2.0}}, "inside", "less than or equal to 1"),
        ({"graph": {"kind": "sbm", "sizes": [2, 2]}}, "graph", "inside and between are required"),
        ({"partition": [1, 2, 3]}, "partition", "6 nodes in all, but the graph has 60"),
        ({"length": 3, "stop": 0.1}, "length", "either length or stop"),
        ({"costs": [{}, {}]}, "costs", "2 for 3 servers"),
        ({"queue": {"kind": "red", "min": 5, "max": 4}}, "max", "not above min"),
        ({"changes": [{"at": "1ms", "add": [[0, 77]]}]}, "changes", "77"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], field: str, said: str) -> None:
    problem = only(refused(tmp_path, scenario(**change)))
    assert field in str(problem)
    assert said in str(problem)


def test_a_bad_line_is_shown_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("0 1\n1 x\n")
    problem = only(refused(tmp_path, scenario(graph={"kind": "edges", "file": "bad.txt"})))
    assert "bad.txt:2" in str(problem)
    assert "'1 x'" in str(problem)


def test_a_fixed_window_and_what_drops_cost_reach_the_core(tmp_path: Path) -> None:
    found = work(tmp_path, loss={"window": ["2ms", "15ms"]}, costs={"drop": "3us", "datagram": "1us"})
    assert found["loss"]["window"] == [2_000_000_000, 15_000_000_000]
    assert (found["costs"][0]["drop"], found["costs"][0]["datagram"]) == (3_000_000, 1_000_000)
    assert work(tmp_path)["loss"]["window"] is None


@pytest.mark.parametrize("window", [["15ms", "2ms"], ["2ms"], ["0s", "2ms"]])
def test_a_window_that_is_none_is_refused(tmp_path: Path, window: list[str]) -> None:
    problems = refused(tmp_path, scenario(loss={"window": window}))
    assert any(each.path.startswith("jobs[0].loss.window") for each in problems), [str(p) for p in problems]


def test_drops_and_datagrams_take_the_servers_time(tmp_path: Path) -> None:
    """Servers that are always crowded serve less in the same time when other work takes time too."""
    crowded = {
        "graph": {"kind": "sbm", "sizes": [20, 20, 20], "inside": 0.1, "between": 0.9},
        "generation": {"sleep": "never"},
        "costs": {"walker": "10us", "generate": "5us"},
        "limit": 20,
    }

    def served(name: str, **costs: str) -> int:
        change = {**crowded, "costs": {**crowded["costs"], **costs}}  # type: ignore[dict-item]
        folder = tmp_path / name
        folder.mkdir()
        walks = incast.run(written(folder, {**scenario(**change), "until": "20ms"}), folder / "out").walks
        assert walks["drops_full"].min() > 100  # type: ignore[operator]
        return int(walks["served"].sum())

    plain = served("plain")
    assert served("drop", drop="1us") < plain * 0.95
    assert served("datagram", datagram="1us") < plain * 0.95


def test_a_report_of_walks_shows_what_there_is_of_them(tmp_path: Path) -> None:
    slow = {"step": "10us", "walker": "100us"}
    content = scenario(loss={"initial": "50ms"}, costs=slow, queue={"kind": "red", "min": 2, "max": 12})
    file = written(tmp_path, content)
    pages = {}
    for name, options in (("simulated", []), ("live", ["--live"])):
        out = tmp_path / name
        assert CliRunner().invoke(app, ["run", str(file), *options, "--out", str(out)]).exit_code == 0
        assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
        pages[name] = (out / "report.html").read_text("utf-8")
        # RED's thresholds are lines in the pictures of queues.
        assert '"what": ["min_th", "max_th"]' in json.dumps(data_of(out / "report.html"))
    for page in pages.values():
        for part in ("dropped (", "of the drops were where the walker was born", "The longest queue was at"):
            assert part in page
        assert "Dashed: min_th and max_th." in page
        for absent in ("No figures", "Flow completion", "Slowest flows"):
            assert absent not in page
    for of_networks in ("Network and load", "Queues over time", "Waiting in queues", "Hottest ports"):
        assert of_networks in pages["simulated"]
        assert of_networks not in pages["live"]
    assert "No walker was dropped." in _page(tmp_path, scenario(limit=1000, queue={"kind": "tail-drop"}))
    far = _page(tmp_path, scenario(limit=1000, queue={"kind": "red", "min": 1, "max": 900}))
    assert "Far above what is drawn: max_th is 900." in far


def _page(folder: Path, content: dict[str, Any]) -> str:
    """The report of a simulated run."""
    out = folder / "again"
    incast.run(written(folder, content), out, force=True)
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
    return (out / "report.html").read_text("utf-8")
