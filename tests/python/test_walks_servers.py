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
from collections.abc import Callable
from contextlib import nullcontext
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
from incast.live.control import Frame
from incast.live.launch import Child
from incast.live.place import Here
from incast.live.running import Running
from incast.resolve.walk import rules
from incast.scenario.jobs import Walk
from incast.walks import changes, plan
from incast.walks.board import Board
from incast.walks.member import JOURNAL, SAMPLED
from incast.walks.memory import Memory
from incast.walks.read import read
from incast.walks.run import Watch, run
from incast.walks.servers import Servers
from incast.walks.settings import ServerSettings, make
from lives import LONG_S, Lives, held, meanwhile, not_over_before, silent

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
    result = incast.walk(SBM, walks=3000, servers=2, settings={"sample": "2ms"}, out=tmp_path / "out")
    walks, series = result.table("walks"), result.table("walks_series")
    example = Path(__file__).resolve().parents[2] / "examples" / "random-walk.yaml"
    simulated = incast.run(example, tmp_path / "sim")
    for ours, theirs in ((walks, simulated.walks), (series, simulated.walks_series)):
        # Of several choices there are two columns more.
        wanted = {name: kind for name, kind in theirs.schema.items() if name not in ("choice", "seed")}
        assert dict(ours.schema) == wanted
    assert walks["finished"].sum() == 60 * 3000
    assert walks["generated"].sum() == 60 * 3000 + walks["additional"].sum()
    for column in ("finished", "served", "drops_forced"):
        assert series[column].sum() <= walks[column].sum()
    assert int(series["finished"].sum()) > int(walks["finished"].sum()) // 2
    served = result.summary["servers"]
    assert served["finished"] == 60 * 3000
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


class Boarded(Watch):
    """Knows the servers of a run."""

    board: Board

    def begin(self, _: int, board: Board | None) -> None:
        assert board
        self.board = board


def walked_together(out: Path, rows: Any, lives: Lives) -> incast.WalkResult:
    """Walks on two sides, of which one is two servers: these can't finish before a walker has come over to the other."""
    watch, walks = Boarded(), 2000

    def here() -> Here:
        place = Here(lives.start)
        place.patience_s = LONG_S
        return place

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("incast.walks.where.Here", here)
        held(patch, lives, 2, until=lambda: watch.board.servers[0].totals.get("arrived"))
        options: dict[str, Any] = {"servers": 3, "partition": "10,5,5", "restart": 0.05, "walks": walks}
        result = run(two_sides(), out, watch=watch, changes=rows, **options)
    assert result.table("scores")["walks"].sum() == 20 * walks
    assert result.table("walks")["refused_changes"].sum() == 0
    assert result.table("walks")["arrived"][0] > 0
    return result


def test_edges_come_while_walks_run_in_memory() -> None:
    assert crossed(incast.walk(two_sides(), walks=50)) == 0
    for at in ("2000", ""):
        rows = [(at, "add", 3, 13), (at, "add", 4, 14)]
        result = incast.walk(two_sides(), walks=2000, changes=rows, restart=0.05)
        assert result.table("scores")["walks"].sum() == 20 * 2000
        assert crossed(result) > 0
        assert result.summary["changes"] == 1


@pytest.mark.parametrize("at", ["2000", ""], ids=["later", "at-once"])
def test_edges_come_while_servers_walk(tmp_path: Path, at: str) -> None:
    assert crossed(incast.walk(two_sides(), walks=50, servers=2)) == 0
    result = walked_together(tmp_path / "out", [(at, "add", 3, 13), (at, "add", 4, 14)], Lives())
    assert crossed(result) > 0
    assert result.summary["changes"] == 1


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
    result = walked_together(tmp_path / "out", pipe, Lives())
    writing.join(60)
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


def test_a_server_that_is_started_anew_hears_of_changes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives, tell = Lives(), Running._tell

    def tell_one_less(running: Running, told: Frame) -> None:
        """Server 1 is gone when it is said."""
        if not lives.again(1):
            lives.kill(1)
        tell(running, told)

    monkeypatch.setattr(Running, "_tell", tell_one_less)
    result = walked_together(tmp_path / "out", [("", "add", 3, 13)], lives)
    assert len(lives.of[1]) == 2
    # The new server 1 sends walkers over the edge that it was never given in its part.
    assert crossed(result) > 0


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
    walks = {"ppr": "4000000", "node2vec": "400000", "corpus": "400000"}[app_name]
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
    """Ctrl-C after 20,000 walks, once something is true of the servers."""

    def __init__(self, when: Callable[[Board], object] = lambda _: True) -> None:
        self.left, self.when, self.asked = 20_000, when, False

    def begin(self, _: int, board: Board | None) -> None:
        self.board = board

    def more(self, walks: int) -> None:
        self.left -= walks
        if self.left <= 0 and not self.asked and (self.board is None or self.when(self.board)):
            self.asked = True
            os.kill(os.getpid(), signal.SIGINT)


def test_what_an_interrupted_run_walked_anew_is_counted(tmp_path: Path) -> None:
    small = {"queue": {"kind": "tail-drop"}, "limit": 50}
    watch = Stopper(lambda board: board.total("additional"))
    result = run(SBM, tmp_path / "out", walks=1_000_000, servers=2, settings=small, watch=watch)
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
    watch = Stopper(lambda board: all(each.totals.get("finished", 0) > 5000 for each in board.servers))
    served = run(SBM, tmp_path / "served", app="communities", walks=1_000_000, servers=2, watch=watch)
    assert served.interrupted
    assert served.summary["finished"] == served.table("walks")["finished"].sum() < 60 * 1_000_000
    assert served.table("communities")["community"].null_count() == 0
    around = run(SBM, tmp_path / "a", app="communities", starts=[0, 1, 2], walks=20_000, watch=Stopper())
    assert around.top["start"].to_list() == [0]
    assert around.table("members")["start"].unique().to_list() == [0]


def test_a_server_that_hangs_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = Lives()
    stopped: list[int] = []

    def tell(_: int) -> None:
        if not stopped:
            stopped.append(1)
            lives.of[1][0].send_signal(signal.SIGSTOP)

    not_over_before(monkeypatch, lambda: lives.again(1))
    silent(monkeypatch, 1, lambda: stopped and not lives.again(1))
    with Here(lives.start) as place:
        place.patience_s = LONG_S
        walker = servers(place, tell, walks=5000)
        ((_, _, counts),) = walker.ends(np.arange(60, dtype=np.uint32))
    assert counts.sum() == 60 * 5000
    assert len(lives.of[1]) == 2
    assert walker.ran[0].crashes == {1: 1}


@pytest.mark.parametrize("takes", ["ends", "paths"])
def test_a_server_that_is_killed_takes_up_what_it_had_finished(
    takes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = Lives()
    everywhere = np.arange(60, dtype=np.uint32)
    wanted = (
        plan.make("ppr", walks=10_000) if takes == "ends" else plan.make("corpus", walks=10_000, length=5)
    )
    owners = (everywhere // 20).astype(np.uint16)
    with Here(lives.start) as place:
        place.patience_s = LONG_S
        journal = Path(place.folder(1)) / JOURNAL

        def kill() -> None:
            if not lives.again(1) and has_begun(journal, everywhere[20:40], 10_000, takes == "paths"):
                lives.kill(1)

        # Some walks of server 1 need server 0, so that it can't have finished.
        held(monkeypatch, lives, 0, until=lambda: lives.again(1))
        meanwhile(monkeypatch, kill)
        walker = Servers(graph().core, wanted, everywhere, owners, 3, place, lambda _: None)
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
    lives, out = Lives(), tmp_path / "out"
    with Here(lives.start) as place, pytest.MonkeyPatch.context() as patch:
        journal = Path(place.folder(1)) / JOURNAL
        own = np.arange(30, 60, dtype=np.uint32)

        def kill() -> None:
            """Whenever it is there, once it has noted some walks."""
            if lives.again(1) or has_begun(journal, own, 1_000_000, False):
                lives.kill(1)

        meanwhile(patch, kill)
        patch.setattr("incast.walks.where.Here", lambda: nullcontext(place))
        with pytest.raises(
            RunError, match=rf"server1 (is gone|ended with code -9).*; {out} has the walks that were finished"
        ):
            run(SBM, out, walks=1_000_000, servers=2)
    result = incast.WalkResult.open(out)
    assert result.interrupted
    # It may be killed before or after it has said anything.
    error = next(
        way for way in ("server1 is gone", "server1 ended with code -9") if way in result.summary["error"]
    )
    scores, walks = result.table("scores"), result.table("walks")
    assert 0 < scores["walks"].sum() == result.summary["finished"] < 60 * 1_000_000
    assert walks["finished"].sum() == result.summary["finished"]
    dead = scores.filter(pl.col("start") >= 30)
    assert dead["walks"].sum() == walks["finished"][1] > 0, "the one that is dead has left a journal"
    assert walks["restarts"].to_list() == [0, 3]
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0
    assert f"Walks failed: {error}" in (out / "report.html").read_text("utf-8")


def has_begun(journal: Path, starts: Any, walks: int, paths: bool) -> bool:
    """Whether there are walks in a journal; its first record may be there in part."""
    try:
        return journal.exists() and noted(journal, starts, walks, paths) > 0
    except ValueError:
        return False


def noted(journal: Path, starts: Any, walks: int, paths: bool) -> int:
    """Walks from these nodes that are in a journal."""
    found = _core.walk_journal(str(journal), starts, walks, paths)
    return len(found[0]) // 4 if paths else int(np.frombuffer(found[2], np.uint64).sum())


def test_a_journal_that_is_torn_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    everywhere, own = np.arange(60, dtype=np.uint32), np.arange(30, 60, dtype=np.uint32)
    with Here() as place:
        next(servers(place, walks=10_000).ends(everywhere))
        bytes_ = (Path(place.folder(1)) / JOURNAL).read_bytes()
    journal = tmp_path / "journal"

    def walks(content: bytes) -> int:
        journal.write_bytes(content)
        return noted(journal, own, 10_000, False)

    whole = walks(bytes_)
    assert whole == 30 * 10_000
    assert 0 < walks(bytes_[:-1]) < whole
    assert walks(bytes_ + b"RWE2") == whole
    assert walks(b"") == 0
    for other in (bytes_[1:], b"not a journal"):
        with pytest.raises(ValueError, match="damaged"):
            walks(other)
    journal.write_bytes(bytes_)
    with pytest.raises(ValueError, match="of another job"):
        noted(journal, own, 10, False)


def test_a_server_that_never_answers_is_named_in_bounded_time() -> None:
    mute: list[subprocess.Popen[bytes]] = []

    def start(*_: object) -> Child:
        mute.append(subprocess.Popen(["sleep", "600"]))
        return mute[-1]

    everywhere = np.arange(60, dtype=np.uint32)
    with Here(start) as place:
        place.patience_s = 1.0
        walker = Servers(
            graph().core, plan.make("ppr"), everywhere, np.zeros(60, np.uint16), 1, place, lambda _: None
        )
        with pytest.raises(RunError, match=r"server0 has not answered for 1\.5 s"):
            next(walker.ends(everywhere))
    assert len(mute) == 2, "a second try, and no more"
    assert all(child.poll() is not None for child in mute)


def test_the_command_says_which_server_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["walk", SBM, "--servers", "2", "--out", str(out), "--json"])
    assert done.exit_code == 4
    (said,) = json.loads(done.stdout)["problems"]
    assert "ended with code 1 before it said anything" in said["message"]
    assert said["message"].startswith("server")
    assert not out.exists()
