"""`incast walk --servers` as a person uses it: settings, tables, figures."""

from __future__ import annotations

import io
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import incast
from incast.cli.app import app
from incast.cli.walk_view import View
from incast.kinds.walk import Walk
from incast.walks.board import Board
from incast.walks.member import SAMPLED
from incast.walks.run import Watch, run
from incast.walks.settings import ServerSettings, changed, make
from walk_servers import SBM, problem, told


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
        "loss.attempts": 100,
        "generation.under_way": 4096,
    }
    assert set(make(None).base_units()) == set(ours)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--set", "queue.max_p=1.5"],
            "--set queue.max_p=1.5: queue.max_p: 1.5 is not allowed: must be less than or equal to 1",
        ),
        (["--set", "queue.min=20000"], "queue.max: 20000.0 is not above min, which is 20000"),
        (
            ["--set", "queue.weight=0"],
            "--set queue.weight=0: queue.weight: 0 is not allowed: must be greater than 0",
        ),
        (["--set", "limit=0"], "--set limit=0: limit: 0 is not allowed"),
        (
            ["--set", "queue.kind=blue"],
            "--set queue.kind=blue: queue: 'blue' is not a kind. Allowed: tail-drop, red, codel",
        ),
        (
            ["--set", "queue.kind=codel", "--set", "queue.gentle=true"],
            "--set queue.gentle=true: queue.gentle: 'gentle' is not a field here. Allowed: kind, target, interval",
        ),
        (["--set", "queue.target=1ms"], "--set queue.target=1ms: queue.target: 'target' is not a field here"),
        (
            ["--set", "generation.sleep=often"],
            "--set generation.sleep=often: generation.sleep: 'often' is not allowed. "
            "Allowed: never, always, fixed, additive, aimd",
        ),
        (["--set", "loss.initial=10"], '--set loss.initial=10: loss.initial: "10" has no unit'),
        (
            ["--set", "loss.window=[15ms, 2ms]"],
            "--set loss.window=[15ms, 2ms]: loss.window: 15ms is not below 2ms",
        ),
        (
            ["--set", "loss.window=[15ms]"],
            "--set loss.window=[15ms]: loss.window: at least 2 items are needed, not 1",
        ),
        (["--set", "generation.time=20ms"], "generation.max: 10ms is shorter than a sleep, which is 20ms"),
        (["--set", "limit"], "--set limit: expected path=value"),
        (["--set", "attempts=3"], "--set attempts=3: attempts: 'attempts' is not a field here"),
        (["--sample", "1us"], "--sample: sample: 1us is not allowed: it must be at least 1ms"),
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
    "arguments",
    [["--set", "queue.max_p=0.5"], ["--sample", "1ms"], ["--metrics", "[::1]:0"], ["--partition", "30,30"]],
)
def test_what_is_of_servers_needs_servers(arguments: list[str]) -> None:
    code, output = told(arguments)
    assert code == 2
    option = "--set" if arguments[0] == "--sample" else arguments[0]
    assert f"error: {option}: it says" in output
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


def test_what_is_set_is_laid_over_the_defaults(tmp_path: Path) -> None:
    out = tmp_path / "out"
    changes = ["--set", "queue.max_p=0.5", "--set", "loss.window=[5ms, 50ms]", "--sample", "2ms"]
    code, output = told(["--servers", "2", "--walks", "5", "--out", str(out), *changes])
    assert code == 0, output
    said = incast.WalkResult.open(out).summary["servers"]["settings"]
    assert said["queue"] == {**ServerSettings().queue.model_dump(), "max_p": 0.5}
    assert said["loss"] == {**ServerSettings().loss.model_dump(), "window": ["5ms", "50ms"]}
    assert said["sample"] == "2ms"
    assert changed([], None) is None


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
    written = incast.WalkResult.open(tmp_path / "out")
    assert written.table("walks").equals(walks)


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


def test_the_view_shows_a_bar_a_server_on_a_terminal_only() -> None:
    board = Board([30, 30], room=100)
    sample = dict.fromkeys(SAMPLED, 0) | {"time_ps": 10**11, "queue": 7, "served": 5000}
    counters = {
        "finished": 25,
        "required": 50,
        "drops_early": 3,
        "drops_forced": 1200,
        "refused_strangers": 2,
    }
    samples = [[sample[name] for name in SAMPLED]]
    told = {"walks": counters, "counters": {"foreign_datagrams": 5}, "cpu_ps": 1, "samples": samples}
    board.hear(1, told)
    assert board.total("refused_strangers") == 7, "those that the driver refused are strangers too"
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
