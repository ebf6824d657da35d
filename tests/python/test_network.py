"""Buffers, ECMP ways and pauses of a run: tables on the terminal, OpenMetrics, the Grafana dashboard."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

import incast
from helpers import SMALL, written
from incast.cli import show
from incast.cli.app import app
from incast.cli.exits import Exit
from incast.errors import ResultError
from incast.network import openmetrics
from incast.network.families import CAUSES, FAMILIES, SCALE
from incast.network.ways import evenness
from incast.result import Result

FABRIC: dict[str, Any] = {
    "name": "fabric",
    "topology": {
        "kind": "leaf-spine",
        "leaves": [3, 3],
        "spines": 2,
        "host_link": {"rate": "10Gbps", "delay": "1us"},
        "uplink": {"rate": "10Gbps", "delay": "1us"},
    },
    "switch": {
        "buffer": {"kind": "shared", "size": "1MB", "alpha": 1},
        "scheduler": {"kind": "ets"},
        "pfc": {
            "classes": [3],
            "xoff": {"kind": "dynamic", "alpha": 0.125},
            "xon": "10kB",
            "headroom": "25kB",
        },
    },
    "jobs": [{"name": "burst", "kind": "incast", "receiver": "host0", "size": "1MB", "class": 3}],
    "measure": {"interval": "100us"},
}
_METRIC = re.compile(r"\b(incast_\w+)(?:\{([^}]*)\})?")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = tmp_path_factory.mktemp("network")
    return incast.run(written(folder, FABRIC), folder / "out")


def shown(what: str, run: Result, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any]:
    """What a command prints on 80 columns, and its JSON."""
    for console in (show.out, show.err):
        monkeypatch.setattr(console, "_width", 80)
    text = CliRunner().invoke(app, ["show", what, str(run.path)])
    data = CliRunner().invoke(app, ["show", what, str(run.path), "--json"])
    assert text.exit_code == data.exit_code == Exit.OK, text.output
    assert max(map(len, text.output.splitlines())) <= 80
    return text.output, json.loads(data.output)


@pytest.mark.parametrize(
    ("total", "series", "keys", "column"),
    [
        ("pools", "pools_series", ["switch"], "used_max_bytes"),
        ("pools", "pools_series", ["switch"], "headroom_max_bytes"),
        ("queues", "queues_series", ["port", "class"], "queue_max_bytes"),
        ("ports", "ports_series", ["port"], "queue_max_bytes"),
        ("pauses", "pauses_series", ["port", "class"], "held_max_bytes"),
    ],
)
def test_the_watermark_of_a_run_is_the_greatest_of_its_samples(
    run: Result, total: str, series: str, keys: list[str], column: str
) -> None:
    samples = getattr(run, series).group_by(keys).agg(pl.col(column).max().alias("sampled"))
    both = samples.join(getattr(run, total), on=keys)
    assert both.height
    # What follows the last sample is in the totals only.
    assert (both["sampled"] <= both[column]).all()
    fullest = both.sort(column).row(-1, named=True)
    assert fullest["sampled"] == fullest[column] > 0


def test_buffers_are_shown_by_switch_port_class_and_group(
    run: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, data = shown("buffers", run, monkeypatch)
    assert all(f"{what} watermarks" in text for what in ("Queue", "Priority-group"))
    pools, queues = data["pools"], data["queues"]
    assert {each["switch"] for each in pools} == {"leaf0", "leaf1", "spine0", "spine1"}
    assert pools[0]["used_max"] == max(each["used_max"] for each in pools)
    assert pools[0]["used_max"] == pools[0]["used_max_bytes"] / pools[0]["size_bytes"]
    assert queues[0]["queue_max_bytes"] == run.summary["ports"]["queue_max_bytes"]
    assert [each["class"] for each in queues[0]["classes"]] == [3]
    assert all(each["headroom_max_bytes"] <= each["held_max_bytes"] for each in data["groups"])


@pytest.mark.parametrize(
    ("sent", "jain", "largest"), [([5, 5, 5, 5], 1, 1), ([8, 0, 0, 0], 0.25, 4), ([3, 1], 0.8, 1.5)]
)
def test_evenness(sent: list[int], jain: float, largest: float) -> None:
    found = pl.DataFrame({"sent": sent}).select(evenness("sent")).row(0)
    assert found == pytest.approx((jain, largest))


def test_a_group_that_sent_nothing_has_no_evenness() -> None:
    assert pl.DataFrame({"sent": [0, 0]}).select(evenness("sent")).row(0) == (None, None)


def test_ways_are_shown_with_what_each_sent(run: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    text, data = shown("ways", run, monkeypatch)
    assert "ECMP groups, least even first" in text
    assert [each["ways"] for each in data["groups"]] == [2, 2]
    sent = dict(run.ports.select("port", "sent_bytes").iter_rows())
    for group in data["groups"]:
        ways = [each for each in data["ways"] if each["node"] == group["node"]]
        assert [each["sent_bytes"] for each in ways] == [sent[each["port"]] for each in ways]
        assert sum(each["share"] for each in ways) == pytest.approx(1)
        assert group["largest"] == pytest.approx(2 * max(each["share"] for each in ways))


def test_pauses_are_shown_by_who_asked_and_why(run: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    text, data = shown("pauses", run, monkeypatch)
    assert "leaf0:host0 is congested" in text
    received = {(each["port"], each["class"]): each["xoff_received"] for each in data["paused"]}
    asked: dict[tuple[str, int], int] = {}
    for each in data["causes"]:
        asked[each["paused"], each["class"]] = asked.get((each["paused"], each["class"]), 0) + each["pauses"]
    # A pause that is renewed is one pause and several frames.
    assert asked.keys() == received.keys()
    assert all(0 < asked[port] <= received[port] for port in asked)


def test_a_run_without_all_this_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = incast.run(written(tmp_path, SMALL), tmp_path / "out")
    assert "No ways of ECMP" in shown("ways", bare, monkeypatch)[0]
    assert "No port was paused" in shown("pauses", bare, monkeypatch)[0]
    with pytest.raises(ResultError, match=r"no samples: set measure\.interval"):
        openmetrics.write(bare, tmp_path / "text")
    assert not (tmp_path / "text").exists()


def test_a_table_of_an_earlier_version_is_refused(run: Result, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "old")
    (part,) = (tmp_path / "old" / "ports_series").glob("*.parquet")
    pl.read_parquet(part).drop("queue_max_bytes").write_parquet(part)
    with pytest.raises(ResultError, match=r"no column 'queue_max_bytes': run it again"):
        openmetrics.write(Result.open(tmp_path / "old"), tmp_path / "text")
    assert [each.name for each in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("end", ["yesterday", "2026-11-26", "2026-11-26T09:00:00"])
def test_an_end_without_its_zone_is_refused(run: Result, end: str) -> None:
    told = CliRunner().invoke(app, ["metrics", str(run.path), "--end", end])
    assert told.exit_code == Exit.USAGE
    assert "a time with its zone is allowed" in told.output


def exported(run: Result, target: Path) -> dict[str, Any]:
    """All metrics of the run as the parser of OpenMetrics reads them."""
    command = ["metrics", str(run.path), "-o", str(target), "--end", "2026-11-26T09:00:00Z"]
    assert CliRunner().invoke(app, command).exit_code == Exit.OK
    families = text_string_to_metric_families(target.read_text("utf-8"))  # type: ignore[no-untyped-call]
    return {each.name: each for each in families}


def test_metrics_are_open_metrics(run: Result, tmp_path: Path) -> None:
    found = exported(run, tmp_path / "a")
    assert {each.name for each in (*FAMILIES, *CAUSES)} | {SCALE} == found.keys()
    assert all(re.search(r"_(bytes|seconds|packets|frames|pauses|ratio)$", name) for name in found)
    sent: dict[str, list[tuple[float, float]]] = {}
    for sample in found["incast_port_sent_bytes"].samples:
        sent.setdefault(sample.labels["port"], []).append((float(sample.timestamp), sample.value))
    for port, samples in run.ports_series.group_by("port"):
        times, values = zip(*sent[str(port[0])], strict=True)
        assert times == tuple(times[0] + number for number in range(len(times)))
        assert values[0] == 0
        assert list(values) == sorted(values)
        assert values[-1] == samples["sent_bytes"].sum()
    exported(run, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_names_with_quotes_are_read_back(run: Result, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "named")
    summary = tmp_path / "named" / "summary.json"
    name = 'a "b" \\ c\nd'
    summary.write_text(json.dumps(dict(run.summary) | {"name": name}), "utf-8")
    found = exported(Result.open(tmp_path / "named"), tmp_path / "text")
    assert {sample.labels["run"] for sample in found["incast_pool_size_bytes"].samples} == {f"{name}, seed 1"}


def test_a_rate_of_the_run_is_a_rate_times_the_scale(run: Result, tmp_path: Path) -> None:
    found = exported(run, tmp_path / "text")
    (scale,) = {sample.value for sample in found[SCALE].samples}
    assert scale == 1e4  # samples are 100 µs apart in the run, and 1 s here
    paused = max(sample.value for sample in found["incast_pfc_paused_seconds"].samples)
    summed = run.pauses_series.group_by("port").agg(pl.col("paused_ps").sum())["paused_ps"].to_list()
    assert paused == pytest.approx(max(summed) / 1e12)


def test_the_dashboard_asks_for_what_is_written() -> None:
    told = CliRunner().invoke(app, ["dashboard"])
    board = json.loads(told.output)
    known = {each.metric: {"run", *each.labels, *dict(each.fixed)} for each in (*FAMILIES, *CAUSES)}
    known[SCALE] = {"run"}
    targets = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    asked = [*targets, *(each["definition"] for each in board["templating"]["list"] if "definition" in each)]
    used = set()
    for expression in asked:
        for metric, labels in _METRIC.findall(expression):
            assert metric in known, expression
            assert set(re.findall(r"(\w+)=", labels)) <= known[metric], expression
            used.add(metric)
    for target in (target for panel in board["panels"] for target in panel.get("targets", [])):
        labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        metrics = [metric for metric, _ in _METRIC.findall(target["expr"]) if metric != SCALE]
        assert labels <= set().union(*(known[metric] for metric in metrics)), target
    assert len(used) > 12
