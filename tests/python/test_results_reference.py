"""The reference of results against reality: tables, columns, types, words, figures, attributes of `Result`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import incast
from helpers import SMALL, written
from incast import folder
from incast.result import Result

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "results.md").read_text("utf-8")
_TABLE = re.compile(r"<!-- generated: table (\w+) -->\n(.*?)<!-- end -->", re.DOTALL)
_FIGURES = re.compile(r"<!-- generated: figures (\w+) -->\n(.*?)<!-- end -->", re.DOTALL)

# A bit of everything: the kinds of jobs that fill the tables, PFC, samples, a fault.
MIXED: dict[str, Any] = {
    "name": "mixed",
    "topology": {"kind": "single-switch", "hosts": 6, "host_link": {"rate": "10Gbps"}},
    "switch": {
        "buffer": {"kind": "shared", "size": "2MB"},
        "pfc": {"classes": [0]},
        "scheduler": {"kind": "ets"},
    },
    "jobs": [
        {"name": "answers", "kind": "incast", "receiver": "host0", "size": "200kB"},
        {"name": "noise", "kind": "background", "rate": "100Mbps", "pairs": [["host1", "host2"]]},
        {"name": "pages", "kind": "rpc", "clients": "host0", "servers": "host[1-3]", "calls": 20},
        {"name": "copy", "kind": "broadcast", "source": "host0", "size": "1MB"},
        {
            "name": "walks",
            "kind": "walk",
            "graph": {"kind": "sbm", "sizes": [20] * 6, "inside": 0.5, "between": 0.05},
        },
        {
            "name": "rules",
            "kind": "mine",
            "transactions": {"kind": "quest", "count": 300},
            "support": 0.05,
        },
    ],
    "faults": [{"at": "1us", "link_down": ["host5", "switch0"], "for": "1us"}],
    "measure": {"interval": "1ms", "flows": True},
}


def described() -> Iterator[tuple[str, list[list[str]]]]:
    """Each documented table with the cells of its rows."""
    for name, body in _TABLE.findall(PAGE):
        rows = [
            re.split(r"(?<!\\) \| ", line.strip("| ")) for line in body.splitlines() if line.startswith("| `")
        ]
        yield name, rows


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    place = tmp_path_factory.mktemp("mixed")
    return incast.run(written(place, MIXED), place / "out")


def test_every_table_is_described_and_an_attribute(result: Result) -> None:
    assert sorted(name for name, _ in described()) == sorted(folder.TABLES)
    assert set(folder.TABLES) <= set(dir(result))
    assert all(isinstance(getattr(result, name), pl.DataFrame) for name in folder.TABLES)
    with pytest.raises(AttributeError, match="a result has no 'flow'; its tables: jobs, "):
        result.flow  # noqa: B018


@pytest.mark.parametrize(("name", "rows"), list(described()), ids=[name for name, _ in described()])
def test_columns_are_as_described(result: Result, name: str, rows: list[list[str]]) -> None:
    table: pl.DataFrame = getattr(result, name)
    assert table.columns == [row[0].strip("`") for row in rows]
    for row in rows:
        column, kind = table[row[0].strip("`")], row[-1]
        if not kind.endswith("or missing"):
            assert column.null_count() == 0, column.name
        said = kind.removesuffix(" or missing")
        if said in ("UInt64", "UInt8", "Float64"):
            assert str(column.dtype) == said, column.name
        else:
            assert column.dtype in (pl.String, pl.Categorical, pl.Enum), column.name
        if said.startswith("`"):
            words = set(re.findall(r"`([\w-]+)`", said))
            assert set(column.drop_nulls().cast(pl.String)) <= words, column.name


def test_the_mixed_run_fills_most_tables(result: Result) -> None:
    empty = {name for name in folder.TABLES if getattr(result, name).height == 0}
    assert empty <= {"commands", "programs", "faults", "tasks", "ways", "pause_causes"}
    assert result.incomplete == []


@pytest.mark.parametrize("section", ["jobs", "flows", "ports"])
def test_figures_are_as_described(result: Result, section: str) -> None:
    body = dict(_FIGURES.findall(PAGE))[section]
    keys = set(re.findall(r"^\| `\w+` \| `(\w+)`", body, re.M))
    found = result.summary[section]
    groups = found.values() if section == "jobs" else [found]
    for figures in groups:
        assert set(figures) - {"kind", "queue_max_port"} <= keys
    if section != "jobs":
        assert keys <= set(found)


def test_facts_of_a_run_are_as_described(result: Result) -> None:
    body = PAGE[PAGE.index("### Of the run") :]
    rows = "".join(re.findall(r"^\| (`.*?) \|", body, re.M))
    known = set(re.findall(r"`(\w+)`", rows)) | {"done_ps", "jobs", "flows", "ports", "description"}
    assert set(result.summary) <= known


def test_one_segment_is_one_packet(tmp_path: Path) -> None:
    jobs = [{"name": "one", "kind": "bulk", "pairs": [["host0", "host1"]], "size": "1kB"}]
    flow = incast.run(written(tmp_path, {**SMALL, "jobs": jobs}), tmp_path / "out").flows.row(0, named=True)
    assert (flow["sent_packets"], flow["sent_bytes"]) == (1, 1000 + 20 + 32)  # IP, TCP with timestamps


def test_a_flow_counts_the_data_packets_of_its_sender(tmp_path: Path) -> None:
    link = {"rate": "10Gbps", "mtu": "1500B"}
    network = {**SMALL["topology"], "host_link": link}
    result = incast.run(written(tmp_path, {**SMALL, "topology": network}), tmp_path / "out")
    for flow in result.flows.iter_rows(named=True):
        assert flow["sent_packets"] - flow["retransmits"] == -(-20_000 // 1448)


@pytest.mark.parametrize(
    ("ports", "hosts"),
    [(["switch0:host0"], {"host0"}), (["host2:switch0"], {"host2"}), (["*"], {f"host{n}" for n in range(4)})],
)
def test_series_of_hosts_follow_the_ports_asked_for(
    tmp_path: Path, ports: list[str], hosts: set[str]
) -> None:
    measure = {"interval": "10us", "ports": ports}
    result = incast.run(written(tmp_path, {**SMALL, "measure": measure}), tmp_path / "out")
    assert set(result.hosts_series["host"].cast(pl.String)) == hosts
    assert result.hosts_series.height == len(hosts) * result.hosts_series["time_ps"].n_unique()


def test_sizes_of_a_load_are_cumulative(tmp_path: Path) -> None:
    sizes = [["1kB", 0.75], ["1kB", 0.75], ["9kB", 0.75], ["9kB", 1]]
    job = {"name": "web", "kind": "load", "sizes": sizes, "load": 0.5, "duration": "10ms"}
    result = incast.run(written(tmp_path, {**SMALL, "jobs": [job]}), tmp_path / "out")
    counted = result.flows["bytes"].value_counts(sort=True)
    assert set(counted["bytes"]) == {1000, 9000}
    small = result.flows.filter(pl.col("bytes") == 1000).height / result.flows.height
    assert small == pytest.approx(0.75, abs=0.03)
