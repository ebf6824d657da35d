"""`incast walk --servers` as a person uses it: settings, changes, figures, Ctrl-C, a server that is silent."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from rich.console import Console
from typer.testing import CliRunner

import incast
from incast import _core
from incast.cli.app import app
from incast.cli.walk import SETTINGS
from incast.cli.walk_view import View
from incast.errors import RunError, ScenarioError
from incast.live.launch import Child, start_here
from incast.live.place import Here
from incast.resolve.walk import rules
from incast.scenario.jobs import Walk
from incast.walks import changes, plan
from incast.walks.board import Board
from incast.walks.member import SAMPLED
from incast.walks.memory import Memory
from incast.walks.read import read
from incast.walks.run import Watch, run
from incast.walks.servers import Servers
from incast.walks.settings import ServerSettings, make

SBM = "sbm:3,60,0.3,0.05"


def told(arguments: list[str]) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["walk", SBM, *arguments])
    return done.exit_code, done.output


def problem(graph: Any = SBM, **options: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        incast.walk(graph, **options)
    return str(caught.value)


def graph(**options: Any) -> Any:
    return read(SBM, **{"weighted": False, "directed": None, "seed": 1, **options})


def servers(place: Here, tell: Any = lambda _: None, walks: int = 200) -> Servers:
    """Two servers that walk on the block model."""
    everywhere = np.arange(60, dtype=np.uint32)
    owners = (everywhere // 30).astype(np.uint16)
    return Servers(graph().core, plan.make("ppr", walks=walks), everywhere, owners, 2, place, tell)


# Settings


def test_settings_are_those_of_a_job() -> None:
    ours, theirs = ServerSettings().model_dump(), Walk.model_fields
    differ: dict[str, object] = {}
    for name in set(ours) - {"sample"}:
        job = theirs[name].default
        if not isinstance(ours[name], dict):
            differ |= {name: ours[name]} if ours[name] != job else {}
            continue
        assert set(ours[name]) == set(job.model_dump()), name
        inner = {f"{name}.{field}": value for field, value in ours[name].items()}
        differ |= {path: value for path, value in inner.items() if value != getattr(job, path.split(".")[1])}
    # What stands for time, where walkers take a hundredth of it.
    assert differ == {
        "queue.min": 4000,
        "queue.max": 20_000,
        "limit": 20_000,
        "loss.floor": "200ms",
        "generation.under_way": 4096,
    }
    assert set(rules(make(None))) == set(ours) - {"sample"}


def test_every_setting_has_an_option() -> None:
    said = {path.split(".")[0] for path in SETTINGS.values()}
    assert said == set(ServerSettings.model_fields)
    known = ServerSettings().model_dump()
    known["queue"] |= {"target": "1ms", "interval": "20ms"}
    inner = {
        f"{group}.{field}" for group in known if isinstance(known[group], dict) for field in known[group]
    }
    assert {path for path in SETTINGS.values() if "." in path} == inner


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-p", "1.5"], "--max-p: 1.5 is not allowed: must be less than or equal to 1"),
        (["--min-th", "20000"], "--max-th: 20000.0 is not above min, which is 20000.0"),
        (["--w-q", "0"], "--w-q: 0.0 is not allowed: must be greater than 0"),
        (["--limit", "0"], "--limit: 0 is not allowed"),
        (["--queue", "blue"], "--queue: 'blue' is not a kind. Allowed: tail-drop, red, codel"),
        (["--queue", "codel", "--gentle"], "--gentle: only --queue red has it, not codel"),
        (["--target", "1ms"], "--target: only --queue codel has it, not red"),
        (
            ["--sleep", "often"],
            "--sleep: 'often' is not allowed. Allowed: never, always, fixed, additive, aimd",
        ),
        (["--checks", "0"], "--checks: 0 is not allowed"),
        (["--batch", "0"], "--batch: 0 is not allowed"),
        (["--timeout", "10"], '--timeout: "10" has no unit'),
        (["--window", "15ms,2ms"], "--window: 15ms is not below 2ms"),
        (["--window", "15ms"], "--window: "),
        (["--sleep-time", "20ms"], "--sleep-max: 10ms is shorter than a sleep, which is 20ms"),
        (["--walkers", "0"], "--walkers: 0 is not allowed"),
        (["--sample", "1us"], "--sample: 1us is not allowed: it must be at least 1ms"),
        (["--metrics", "9464"], "--metrics: '9464': HOST:PORT is allowed"),
        (["--partition", "30,20"], "--partition: 50 nodes in all, but the graph has 60"),
        (["--partition", "30,20,10"], "--partition: 3 sizes for 2 servers: one for each"),
    ],
)
def test_a_bad_setting_is_refused_before_work(tmp_path: Path, arguments: list[str], said: str) -> None:
    code, output = told(["--servers", "2", "--out", str(tmp_path / "out"), *arguments])
    assert (code, f"error: {said}" in output) == (2, True), output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [["--max-p", "0.5"], ["--metrics", "[::1]:0"], ["--partition", "30,30"]]
)
def test_what_is_of_servers_needs_servers(arguments: list[str]) -> None:
    code, output = told(arguments)
    assert code == 2
    assert f"error: {arguments[0]}: it says" in output
    assert "needs --servers" in output


@pytest.mark.parametrize(
    "settings",
    [
        {"queue": {"kind": "tail-drop"}, "limit": 20, "sample": "1ms"},
        {"queue": {"kind": "red", "weight": 0.002, "count": True, "gentle": True}},
        {"queue": {"kind": "codel", "target": "2ms"}},
        {"datagrams": {"walkers": 16}, "generation": {"batch": 8, "sleep": "aimd"}},
        {"loss": {"window": ["5ms", "50ms"]}},
        {"loss": {"direct": False, "remote": True, "repeated": True}, "generation": {"sleep": "additive"}},
    ],
)
def test_settings_change_how_walks_go_and_not_where_they_end(settings: dict[str, Any]) -> None:
    memory = incast.walk(SBM, walks=50)
    result = incast.walk(SBM, walks=50, servers=2, partition="40,20", settings=settings)
    order = ["start", "node"]
    assert result.table("scores").sort(order).equals(memory.table("scores").sort(order))
    assert result.table("walks")["nodes"].to_list() == [40, 20]
    said = result.summary["servers"]["settings"]
    for group, fields in settings.items():
        assert (
            fields == said[group] if not isinstance(fields, dict) else fields.items() <= said[group].items()
        )
    walked = result.table("walks")
    if settings.get("limit"):
        assert walked["drops_early"].sum() == 0
        # There is no sample of a run that is over before the first.
        assert all(longest <= 20 for longest in result.table("walks_series")["queue_max"])
    if "datagrams" in settings:
        assert int(walked["arrived"].sum()) > int(walked["received_datagrams"].sum()), "they share datagrams"


# Tables, the report


def test_tables_are_those_of_a_simulated_run_and_agree_with_each_other(tmp_path: Path) -> None:
    result = incast.walk(SBM, walks=300, servers=2, settings={"sample": "2ms"}, out=tmp_path / "out")
    walks, series = result.table("walks"), result.table("walks_series")
    example = Path(__file__).resolve().parents[2] / "examples" / "random-walk.yaml"
    simulated = incast.run(example, tmp_path / "sim")
    for ours, theirs in ((walks, simulated.walks), (series, simulated.walks_series)):
        # Of several choices there are two columns more.
        wanted = {name: kind for name, kind in theirs.schema.items() if name not in ("choice", "seed")}
        assert dict(ours.schema) == wanted
    assert walks["finished"].sum() == 60 * 300
    assert walks["generated"].sum() == 60 * 300 + walks["additional"].sum()
    for column in ("finished", "served", "drops_forced"):
        assert series[column].sum() <= walks[column].sum()
    assert int(series["finished"].sum()) > int(walks["finished"].sum()) // 2
    served = result.summary["servers"]
    assert served["finished"] == 60 * 300
    assert served["seconds"] > 0
    written = incast.Result.open(tmp_path / "out")
    assert written.walks.equals(walks)


def test_incast_report_draws_servers(tmp_path: Path) -> None:
    out = tmp_path / "out"
    incast.walk(SBM, walks=300, servers=2, settings={"sample": "2ms"}, out=out)
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "report.html").read_text("utf-8")
    for part in (
        "Personalised PageRank",
        "Queues of servers",
        "Speed of servers",
        "server1",
        "max p",
        "min_th",
    ):
        assert part in page
    incast.walk(SBM, walks=5, out=out, force=True)
    assert not (out / "report.html").exists(), "it was of another result"
    CliRunner().invoke(app, ["report", str(out)])
    assert "in memory" in (out / "report.html").read_text("utf-8")


# Edges that come and go


def two_sides() -> Any:
    """Nodes 0 to 9 and 10 to 19, each side a ring, nothing between."""
    return nx.disjoint_union(nx.cycle_graph(10), nx.cycle_graph(10))


def crossed(result: incast.WalkResult) -> int:
    scores = result.table("scores")
    return int(scores.filter((pl.col("start") < 10) != (pl.col("node") < 10))["walks"].sum())


@pytest.mark.parametrize("options", [{}, {"servers": 2}], ids=["memory", "servers"])
def test_edges_come_while_walks_run(options: dict[str, Any]) -> None:
    assert crossed(incast.walk(two_sides(), walks=50, **options)) == 0
    rows = [("2000", "add", 3, 13), ("2000", "add", 4, 14)]
    # Servers say how far they are a few times a second, and have to walk for so long.
    walks = 500_000 if options else 2000
    result = incast.walk(two_sides(), walks=walks, changes=rows, restart=0.05, **options)
    scores = result.table("scores")
    assert scores["walks"].sum() == 20 * walks
    assert crossed(result) > 0
    assert result.summary["changes"] == 1
    # At once: both sides are one graph from the first walk on, or nearly so.
    more = incast.walk(
        two_sides(), walks=2000, changes=[("", *row[1:]) for row in rows], restart=0.05, **options
    )
    assert crossed(more) > 0
    if options:
        assert result.table("walks")["refused_changes"].sum() == 0
        assert result.table("walks")["arrived"].sum() > 0


def test_edges_go_while_walks_run_and_no_walk_uses_them_afterwards(tmp_path: Path) -> None:
    graph = nx.cycle_graph(6)
    graph.add_edge(0, 3)
    file = tmp_path / "changes.csv"
    file.write_text("at,change,source,target\n600,remove,0,3\n")
    result = incast.walk(graph, app="corpus", walks=200, length=5, changes=file)
    lines = (result.path / "corpus.txt").read_text().splitlines()
    used = [" 0 3 " in f" {line} " or " 3 0 " in f" {line} " for line in lines]
    assert any(used[:600])
    assert not any(used[600:])


def test_edges_come_by_a_pipe_while_walks_run(tmp_path: Path) -> None:
    pipe = tmp_path / "changes"
    os.mkfifo(pipe)
    writing = threading.Thread(
        target=lambda: pipe.write_text("at,change,source,target\n,add,3,13\n,add,3,77\n"), daemon=True
    )
    writing.start()
    result = incast.walk(two_sides(), walks=3000, servers=2, restart=0.05, changes=pipe)
    writing.join(10)
    assert result.summary["changes"] == 1
    assert crossed(result) > 0


def test_weights_change_while_walks_run() -> None:
    graph: Any = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 1), (0, 2, 1)])
    options: dict[str, Any] = {"weighted": True, "starts": [0], "restart": 0.5, "walks": 4000}
    rows = [(0, "add", 0, 2, 1000)]
    scores = incast.walk(graph, changes=rows, **options).table("scores")
    walks = dict(scores.select("node", "walks").iter_rows())
    assert walks[2] > 100 * walks.get(1, 0)
    assert "weight None: a weight is a positive" in problem(graph, changes=[(0, "add", 0, 2)], **options)
    assert "weight '-1': a weight is a positive number" in problem(
        graph, changes=[(0, "add", 0, 2, -1)], **options
    )
    assert "weight '1e39': a weight is a pos" in problem(graph, changes=[(0, "add", 0, 2, "1e39")], **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "c.csv:1: the first line is to be at,change,source,target"),
        ("source,target\n", "c.csv:1: the first line is to be"),
        ("at,change,source,target\n1,add,0\n", "c.csv:2: '1,add,0': at,change,source,target are expected"),
        (
            "at,change,source,target\n5 weeks,add,0,1\n",
            "c.csv:2: '5 weeks,add,0,1': '5 weeks' is neither a time",
        ),
        ("at,change,source,target\n\n1,swap,0,1\n", "c.csv:3: '1,swap,0,1': 'swap' is not a change"),
        ("at,change,source,target\n1,add,0,60\n", "c.csv:2: '1,add,0,60': '60' is not a node of the graph"),
        ("at,change,source,target\n1,add,0,1,2\n", "c.csv:2: '1,add,0,1,2': the graph has no weights"),
        ("at,change,source,target\n1,add,0,x\n1,add,y,0\n", "c.csv:3: '1,add,y,0': 'y' is not a node"),
    ],
)
def test_bad_changes_are_refused_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "c.csv"
    file.write_text(text)
    assert said in problem(changes=file)


def test_changes_that_can_not_be(tmp_path: Path) -> None:
    assert "No such file" in problem(changes=tmp_path / "none.csv")
    assert problem(changes=[("1", "add", 0, 99)]).startswith("changes[0]: '1,add,0,99': '99' is not a node")
    assert problem(app="communities", changes=[(1, "add", 0, 1)]).startswith("--changes: communities")


def test_rows_of_one_time_are_one_batch_and_the_last_of_an_edge_counts() -> None:
    rows = [
        ("1s", "add", 0, 1),
        ("1s", "remove", 1, 0),
        ("5", "add", 2, 3),
        ("1s", "add", 4, 5),
        ("", "add", 6, 7),
    ]
    found = changes.read(rows, graph())
    assert [(b.walks, b.add, b.remove) for b in found.due(0, 0)] == [(0, [(6, 7, None)], [])]
    assert found.walks_until(2) == 3
    assert [b.add for b in found.due(0, 5)] == [[(2, 3, None)]]
    assert found.due(10**12 - 1, 5) == []
    assert [(b.add, b.remove) for b in found.due(10**12, 5)] == [([], [(0, 1)]), ([(4, 5, None)], [])]
    assert found.applied == 4


def test_a_server_that_is_started_anew_hears_of_changes_again() -> None:
    children: list[Any] = []

    def start(host: int, address: tuple[str, int], key: bytes) -> Child:
        children.append(start_here(host, address, key))
        return children[-1]  # type: ignore[no-any-return]

    def tell(_: int) -> None:
        if len(children) == 2 and walker.changes.applied:
            children[1].kill()

    sides = read(two_sides(), weighted=False, directed=None, seed=1)
    everywhere = np.arange(20, dtype=np.uint32)
    wanted = plan.make("ppr", walks=10_000, restart=0.05)
    owners = (everywhere // 10).astype(np.uint16)
    said = changes.read([("", "add", 3, 13)], sides)
    with Here(start) as place:
        walker = Servers(sides.core, wanted, everywhere, owners, 2, place, tell, changes=said)
        ((_, _, counts),) = walker.ends(everywhere)
    assert counts.sum() == 20 * 10_000
    assert len(children) == 3
    # The new server 1 sends walkers over the edge that it was never given in its part.
    assert walker.board.servers[1].totals["sent_datagrams"] > 0
    assert walker.board.servers[0].totals["arrived"] > 0


# Watching


def test_the_view_shows_a_bar_a_server_on_a_terminal_only() -> None:
    board = Board([30, 30], room=100)
    sample = dict.fromkeys(SAMPLED, 0) | {"time_ps": 10**11, "queue": 7, "served": 5000}
    counters = {"finished": 25, "required": 50, "drops_early": 3, "drops_forced": 1200}
    board.hear(1, {"walks": counters, "cpu_ps": 1, "samples": [[sample[name] for name in SAMPLED]]})
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
        with View(console) as view:
            view.begin(100, board)
            view.more(25)
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        assert ("server1" in shown) is terminal
        if terminal:
            assert "1\u202f203" in shown
            assert "50%" in shown
            assert "━" in shown


def test_prometheus_finds_figures_while_walks_run(tmp_path: Path) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    pages: list[str] = []

    class Scraper(Watch):
        address = ""

        def metrics(self, address: str) -> None:
            self.address = address

        def more(self, _: int) -> None:
            with urllib.request.urlopen(self.address, timeout=10) as answer:
                pages.append(answer.read().decode())

    run(SBM, tmp_path / "out", walks=500, servers=2, metrics="127.0.0.1:0", watch=Scraper())
    assert pages
    families = {family.name: family for family in parser.text_string_to_metric_families(pages[-1])}
    finished = {s.labels["server"]: s.value for s in families["incast_walk_finished"].samples}
    assert set(finished) == {"server0", "server1"}
    assert 0 < sum(finished.values()) <= 60 * 500
    causes = {s.labels["cause"] for s in families["incast_walk_drops"].samples}
    assert causes == {"early", "forced", "full", "wait"}
    assert families["incast_walk_queue_walkers"].type == "gauge"
    assert all(family.documentation for family in families.values())
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(Scraper.address or "http://127.0.0.1:9", timeout=2)


def test_a_place_that_is_taken_is_refused() -> None:
    pytest.importorskip("prometheus_client")
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"--metrics: {place}: Address already in use" in problem(servers=2, metrics=place)


# Ctrl-C, and servers that are silent


def members_of(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


@pytest.mark.parametrize("app_name", ["ppr", "node2vec", "corpus"])
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(tmp_path: Path, app_name: str) -> None:
    out = tmp_path / "out"
    walks = {"ppr": "4000000", "node2vec": "40000", "corpus": "40000"}[app_name]
    command = [sys.executable, "-m", "incast", "walk", SBM, "--app", app_name, "--walks", walks]
    command += ["--servers", "2", "--out", str(out), "--metrics", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr
    address = process.stderr.readline().partition(" ")[2].strip()
    for _ in range(600):
        with urllib.request.urlopen(address, timeout=60) as answer:
            page = answer.read().decode()
        if any(
            line.startswith("incast_walk_finished_total") and not line.endswith(" 0.0")
            for line in page.split("\n")
        ):
            break
        time.sleep(0.1)
    members = members_of(process.pid)
    assert len(members) == 2
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Interrupted" in errors
    assert "Traceback" not in errors
    assert not [pid for pid in members if Path(f"/proc/{pid}").exists()]
    result = incast.WalkResult.open(out)
    assert result.interrupted
    finished = result.summary["finished"]
    assert 0 < finished < 60 * int(walks)
    assert f"{finished:,}".replace(",", "\u202f") in shown
    if app_name == "ppr":
        assert result.table("scores")["walks"].sum() == result.table("walks")["finished"].sum()
    if app_name == "corpus":
        assert len((out / "corpus.txt").read_text().splitlines()) == result.table("walks")["finished"].sum()
    if app_name == "node2vec":
        assert len(result.walks) == result.table("walks")["finished"].sum()
        assert (np.asarray(result.walks[:, 0]) < 60).all()


class Stopper(Watch):
    """Ctrl-C after 20,000 walks."""

    left = 20_000

    def more(self, walks: int) -> None:
        before, self.left = self.left, self.left - walks
        if before > 0 >= self.left:
            os.kill(os.getpid(), signal.SIGINT)


def test_what_an_interrupted_run_walked_anew_is_counted(tmp_path: Path) -> None:
    small = {"queue": {"kind": "tail-drop"}, "limit": 50}
    result = run(SBM, tmp_path / "out", walks=100_000, servers=2, settings=small, watch=Stopper())
    assert result.interrupted
    walks = result.table("walks")
    lost = walks["lost_timeout"] + walks["lost_direct"]
    assert 0 < result.summary["servers"]["additional"] == walks["additional"].sum()
    assert (walks["additional"] <= lost).all()
    assert (walks["generated"] < walks["required"]).all()


def test_ctrl_c_in_memory_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incast.walks.memory.CALL_STEPS", 1000)

    class Stopper(Watch):
        def more(self, _: int) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    result = run(SBM, tmp_path / "out", walks=1000, watch=Stopper())
    assert result.interrupted
    assert result.table("scores")["walks"].sum() == result.summary["finished"] < 60_000


def test_communities_of_interrupted_walks_are_those_of_finished_ones(tmp_path: Path) -> None:
    # Every walk around a node is finished, or none.
    memory = run("sbm:3,600,0.3,0.01", tmp_path / "memory", app="communities", walks=20_000, watch=Stopper())
    found = memory.table("communities")
    assert memory.interrupted
    assert found["community"].null_count() > 300, "one community, about"
    assert set(found["community"].drop_nulls()) == set(memory.top["community"]) == {0}
    # Some walks around all nodes, or nearly.
    served = run(SBM, tmp_path / "served", app="communities", walks=100_000, servers=2, watch=Stopper())
    assert served.interrupted
    assert served.summary["finished"] == served.table("walks")["finished"].sum() < 60 * 100_000
    assert served.table("communities")["community"].null_count() == 0
    around = run(SBM, tmp_path / "a", app="communities", starts=[0, 1, 2], walks=20_000, watch=Stopper())
    assert around.top["start"].to_list() == [0]
    assert around.table("members")["start"].unique().to_list() == [0]


def test_a_server_that_hangs_is_started_anew() -> None:
    children: list[Any] = []

    def start(host: int, address: tuple[str, int], key: bytes) -> Child:
        children.append(start_here(host, address, key))
        return children[-1]  # type: ignore[no-any-return]

    def tell(_: int) -> None:
        if len(children) == 2:
            children[1].send_signal(signal.SIGSTOP)

    with Here(start) as place:
        place.patience_s = 5.0
        walker = servers(place, tell, walks=5000)
        ((_, _, counts),) = walker.ends(np.arange(60, dtype=np.uint32))
    assert counts.sum() == 60 * 5000
    assert len(children) == 3
    assert walker.ran[0].crashes == {1: 1}


class Killer:
    """Starts servers, and kills one once, or whenever it is there."""

    def __init__(self, after: int, always: bool = False) -> None:
        self.children: dict[int, list[Child]] = {}
        self.left, self.always = after, always

    def start(self, host: int, address: tuple[str, int], key: bytes) -> Child:
        self.children.setdefault(host, []).append(start_here(host, address, key))
        return self.children[host][-1]

    def tell(self, walks: int) -> None:
        before, self.left = self.left, self.left - walks
        if before > 0 >= self.left or (self.always and self.left <= 0):
            self.children[1][-1].kill()  # SIGKILL


@pytest.mark.parametrize("takes", ["ends", "paths"])
def test_a_server_that_is_killed_takes_up_what_it_had_finished(takes: str) -> None:
    killer = Killer(after=150_000)
    everywhere = np.arange(60, dtype=np.uint32)
    wanted = (
        plan.make("ppr", walks=10_000) if takes == "ends" else plan.make("corpus", walks=10_000, length=5)
    )
    owners = (everywhere // 20).astype(np.uint16)
    with Here(killer.start) as place:
        walker = Servers(graph().core, wanted, everywhere, owners, 3, place, killer.tell)
        memory = Memory(graph().core, wanted, 1, lambda _: None)
        walks: list[tuple[Any, ...]] = []
        for each in (walker, memory):
            found: Any = (
                each.ends(everywhere) if takes == "ends" else (part[:1] for part in each.paths(everywhere))
            )
            walks.append(tuple(map(np.concatenate, zip(*found, strict=True))))
    for ours, theirs in zip(*walks, strict=True):
        assert np.array_equal(ours, theirs)
    assert walker.ran[0].crashes == {1: 1}
    totals = walker.board.servers[1].totals
    assert totals["finished"] == totals["required"] == 200_000
    assert 0 < totals["restored"] < 200_000
    lost = totals["lost_timeout"] + totals["lost_direct"] + totals["lost_remote"]
    # Those of before the crash are not walked again.
    assert totals["generated"] - lost <= totals["required"] - totals["restored"]
    assert walker.board.servers[0].totals["restored"] == 0


def test_a_run_whose_server_dies_for_good_keeps_what_was_finished(tmp_path: Path) -> None:
    killer = Killer(after=20_000, always=True)

    class Watcher(Watch):
        def more(self, walks: int) -> None:
            killer.tell(walks)

    out = tmp_path / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("incast.walks.where.Here", lambda: Here(killer.start))
        with pytest.raises(
            RunError, match=rf"server1 (is gone|ended with code -9).*; {out} has the walks that were finished"
        ):
            run(SBM, out, walks=400_000, servers=2, watch=Watcher())
    result = incast.WalkResult.open(out)
    assert result.interrupted
    # It may be killed before or after it has said anything.
    error = next(
        way for way in ("server1 is gone", "server1 ended with code -9") if way in result.summary["error"]
    )
    scores, walks = result.table("scores"), result.table("walks")
    assert 20_000 <= scores["walks"].sum() == result.summary["finished"] < 60 * 400_000
    assert walks["finished"].sum() == result.summary["finished"]
    dead = scores.filter(pl.col("start") >= 30)
    assert dead["walks"].sum() == walks["finished"][1] > 0, "the one that is dead has left a journal"
    assert walks["restarts"].to_list() == [0, 3]
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0
    assert f"Walks failed: {error}" in (out / "report.html").read_text("utf-8")


def test_a_journal_that_is_torn_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    killer = Killer(after=50_000, always=True)
    everywhere = np.arange(60, dtype=np.uint32)
    with Here(killer.start) as place:
        walker = servers(place, killer.tell, walks=10_000)
        next(walker.ends(everywhere))
        journal = Path(place.folder(1)) / ".journal"
        bytes_ = journal.read_bytes()
    own = everywhere[30:]

    def walks(content: bytes) -> int:
        journal = tmp_path / "journal"
        journal.write_bytes(content)
        return int(np.frombuffer(_core.walk_journal(str(journal), own, 10_000, False)[2], np.uint64).sum())

    whole = walks(bytes_)
    assert whole > 0
    assert 0 < walks(bytes_[:-1]) < whole
    assert walks(bytes_ + b"RWE2") == whole
    assert walks(b"") == 0
    for other in (bytes_[1:], b"not a journal"):
        with pytest.raises(ValueError, match="damaged"):
            walks(other)
    (tmp_path / "journal").write_bytes(bytes_)
    with pytest.raises(ValueError, match="of another job"):
        _core.walk_journal(str(tmp_path / "journal"), own, 10, False)


def test_a_server_that_never_answers_is_named_in_bounded_time() -> None:
    silent: list[subprocess.Popen[bytes]] = []

    def start(host: int, address: tuple[str, int], key: bytes) -> Child:
        if host == 0:
            return start_here(host, address, key)
        silent.append(subprocess.Popen(["sleep", "600"]))
        return silent[-1]

    began = time.monotonic()
    with Here(start) as place:
        place.patience_s = 2.0
        with pytest.raises(RunError, match="server1 has not answered for 3 s"):
            next(servers(place).ends(np.arange(60, dtype=np.uint32)))
    assert time.monotonic() - began < 60
    assert len(silent) == 2, "a second try, and no more"
    assert all(child.poll() is not None for child in silent)


def test_the_command_says_which_server_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["walk", SBM, "--servers", "2", "--out", str(out), "--json"])
    assert done.exit_code == 4
    (said,) = json.loads(done.stdout)["problems"]
    assert "ended with code 1 before it said anything" in said["message"]
    assert said["message"].startswith("server")
    assert not out.exists()
