"""`incast mine --nodes` as a person uses it: the same result, a node that is killed, a run that is interrupted."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import polars as pl
import pytest
from testkit.processes import children, peak_memory

import incast
from helpers import checked, spec, until, warned
from incast import __version__, _core, report
from incast.errors import RunError, ScenarioError
from incast.live import run_jobs
from incast.live.control import connect
from incast.live.launch import Child
from incast.live.place import Here
from incast.live.running import LIVES_MAX, Running
from incast.mining import output
from incast.mining.passes import KEPT_PASSES
from incast.mining.request import make
from incast.mining.result import MineResult
from incast.mining.run import Progress, Watch, run
from incast.mining.tables import collections
from lives import Lives, held, not_over_before

SUPPORT = 0.01
ROWS = [
    sorted({(number * number * step) % modulus for step, modulus in ((3, 31), (5, 17), (7, 13), (11, 41))})
    for number in range(1, 3001)
]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("mine") / "rows.dat"
    file.write_text("".join(" ".join(map(str, row)) + "\n" for row in ROWS))
    return file


def written(result: MineResult, folder: Path) -> bytes:
    output.write(result, folder, "csv")
    return (folder / "itemsets.csv").read_bytes() + (folder / "rules.csv").read_bytes()


@pytest.mark.parametrize(
    ("nodes", "options"),
    [
        (1, {}),
        (3, {}),
        (2, {"algorithm": "npa", "memory": "1KiB"}),
        (2, {"exchange": "plain"}),
        (2, {"exchange": "combined"}),
        (2, {"algorithm": "hpa-eld", "exchange": "plain"}),
    ],
)
def test_nodes_find_what_one_finds_in_the_same_bytes(
    text: Path, tmp_path: Path, nodes: int, options: dict[str, Any]
) -> None:
    alone = incast.mine(text, SUPPORT, 0.5)
    spread = incast.mine(text, SUPPORT, 0.5, nodes=nodes, **options)
    assert written(spread, tmp_path / "nodes") == written(alone, tmp_path / "alone")
    keys = ("pass", "candidates", "large")
    assert [[each[key] for key in keys] for each in spread.passes] == [
        [each[key] for key in keys] for each in alone.passes
    ]
    assert json.loads((tmp_path / "nodes" / "summary.json").read_text())["nodes"]["count"] == nodes
    if "memory" in options:
        assert spread.passes[1]["scans"] > 1


def test_transactions_without_items_count() -> None:
    core = _core.MineTransactions(1 << 20, None)
    collections([["a", "b"], [], ["b"], []], core)
    assert core.transactions() == 4
    spread = incast.mine([["a", "b"], [], ["b"], []], 0.5, nodes=3)
    assert spread.itemsets.to_dicts() == incast.mine([["a", "b"], [], ["b"], []], 0.5).itemsets.to_dicts()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"nodes": 0}, "--nodes"),
        ({"nodes": 2, "threads": 2}, "--threads"),
        ({"nodes": 2, "algorithm": "apriori"}, "--algorithm"),
        ({"exchange": "plain"}, "--nodes"),
        ({"cluster": "mars"}, "--cluster"),
    ],
)
def test_what_can_not_be_is_refused(text: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        incast.mine(text, SUPPORT, **options)
    assert said in str(caught.value)


class Killer(Watch):
    """Kills node 1 when so many passes are over; always, or once."""

    def __init__(self, passes: int, always: bool = False) -> None:
        self.passes, self.always = passes, always
        self.lives = Lives()
        self.killed = 0

    def mining(self, transactions: int, progress: Progress) -> None:
        assert transactions == len(ROWS)
        if len(progress.passes()) >= self.passes and (self.always or not self.killed):
            self.killed += 1
            self.lives.kill(1)


@pytest.fixture
def kill(monkeypatch: pytest.MonkeyPatch) -> Callable[[Killer], Killer]:
    def patch(killer: Killer) -> Killer:
        monkeypatch.setattr("incast.walks.where.Here", lambda: Here(killer.lives.start))
        return killer

    return patch


def test_a_node_that_is_killed_is_started_anew_and_nothing_is_counted_twice(
    text: Path, tmp_path: Path, kill: Callable[[Killer], Killer], monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = kill(Killer(0))
    # Nobody gets far without node 2.
    held(monkeypatch, killer.lives, 2, until=lambda: killer.lives.again(1))
    spread = run(text, make(SUPPORT, 0.5, nodes=3), killer, tmp_path / "kept")
    assert killer.killed == 1
    assert len(killer.lives.of[1]) == 2
    assert spread.spread is not None
    assert spread.spread.crashes[1] == 1
    alone = incast.mine(text, SUPPORT, 0.5)
    assert written(spread, tmp_path / "nodes") == written(alone, tmp_path / "alone")


def test_a_node_that_is_killed_before_it_has_said_anything_is_started_again(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = Lives()

    def start(host: int, address: tuple[str, int], key: bytes) -> Child:
        child = lives.start(host, address, key)
        if host == 1 and len(lives.of[1]) < LIVES_MAX:
            lives.kill(1)
        return child

    monkeypatch.setattr("incast.walks.where.Here", lambda: Here(start))
    spread = run(text, make(SUPPORT, 0.5, nodes=3))
    assert spread.spread is not None
    assert spread.spread.crashes == {1: LIVES_MAX - 1}
    alone = incast.mine(text, SUPPORT, 0.5)
    assert written(spread, tmp_path / "nodes") == written(alone, tmp_path / "alone")


def test_a_connection_of_a_node_that_is_dead_is_not_taken_for_its_next_life(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = Lives()

    def start(host: int, address: tuple[str, int], key: bytes) -> Child:
        if host == 1 and len(lives.of.get(1, [])) == 1:
            # What the first life said arrives when that one has been buried.
            late = connect(address, key)
            late.send({"type": "hello", "host": 1, "version": __version__})
            late.close()
        child = lives.start(host, address, key)
        if host == 1 and not lives.again(1):
            lives.kill(1)
        return child

    monkeypatch.setattr("incast.walks.where.Here", lambda: Here(start))
    spread = run(text, make(SUPPORT, 0.5, nodes=3))
    assert spread.spread is not None
    assert spread.spread.crashes == {1: 1}
    alone = incast.mine(text, SUPPORT, 0.5)
    assert written(spread, tmp_path / "nodes") == written(alone, tmp_path / "alone")


@pytest.mark.parametrize("lost", [[1], [0, 1, 2]])
def test_nodes_that_die_when_all_have_finished_cost_nothing(
    text: Path,
    tmp_path: Path,
    kill: Callable[[Killer], Killer],
    monkeypatch: pytest.MonkeyPatch,
    lost: list[int],
) -> None:
    killer = kill(Killer(99))
    end = Running._end

    def end_without_some(running: Running) -> None:
        for host in lost:
            killer.lives.kill(host)
        end(running)

    monkeypatch.setattr(Running, "_end", end_without_some)
    spread = run(text, make(SUPPORT, 0.5, nodes=3), killer)
    alone = incast.mine(text, SUPPORT, 0.5)
    assert written(spread, tmp_path / "nodes") == written(alone, tmp_path / "alone")
    assert [len(lives) for lives in killer.lives.of.values()] == [1, 1, 1]


def test_nodes_that_are_lost_with_what_they_found_are_named(
    text: Path, kill: Callable[[Killer], Killer], monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = kill(Killer(99))
    take = Here.take

    def take_half(here: Here, host: int, name: str) -> IO[bytes]:
        with take(here, host, name) as file:
            kept = file.read()
        return io.BytesIO(kept[: len(kept) // 2])

    monkeypatch.setattr(Here, "take", take_half)
    with pytest.raises(RunError, match="all nodes are gone with what they found from pass"):
        run(text, make(SUPPORT, nodes=2), killer)


def cut(folder: Path, passes: int) -> None:
    """Leaves of the passes that are kept only the first ones."""
    job, rows, journal = (folder / KEPT_PASSES).read_bytes().split(b"\n", 2)
    end = 0
    for _ in range(passes):
        length, count = struct.unpack_from("<QQ", journal, end)
        end += 16 + count * (4 * length + 8) + 8
    (folder / "journal").write_bytes(journal[:end])
    assert _core.mine_journal_passes(str(folder / "journal")) == passes
    (folder / "journal").unlink()
    rows = json.dumps(json.loads(rows)[:passes]).encode()
    (folder / KEPT_PASSES).write_bytes(b"\n".join([job, rows, journal[:end]]))


@pytest.mark.parametrize("kept", [2, None])
def test_a_run_that_fails_goes_on_from_its_last_finished_pass(
    text: Path,
    tmp_path: Path,
    kill: Callable[[Killer], Killer],
    monkeypatch: pytest.MonkeyPatch,
    kept: int | None,
) -> None:
    folder = tmp_path / "result"
    killer = kill(Killer(2, always=True))
    with monkeypatch.context() as patch:
        # However quick it is: it does not end before it has failed.
        not_over_before(patch, lambda: False)
        with pytest.raises(RunError, match="keeps the passes"):
            run(text, make(SUPPORT, 0.5, nodes=2), killer, folder)
    assert killer.killed > 1
    assert (folder / KEPT_PASSES).exists()
    output.check_free(folder, False)
    if kept:
        cut(folder, kept)
    quiet = kill(Killer(99))
    spread = run(text, make(SUPPORT, 0.5, nodes=3), quiet, folder)
    assert spread.spread is not None
    before = len(spread.spread.board.before)
    assert before >= 2 if kept is None else before == kept
    alone = incast.mine(text, SUPPORT, 0.5)
    assert written(spread, folder) == written(alone, tmp_path / "alone")
    assert not (folder / KEPT_PASSES).exists()
    assert [each["pass"] for each in spread.passes] == list(range(1, len(alone.passes) + 1))


def test_other_passes_are_not_gone_on_with(text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "result"
    folder.mkdir()
    (folder / KEPT_PASSES).write_bytes(b"0" * 16 + b"\n[]\nnonsense")
    spread = run(text, make(SUPPORT, nodes=2), None, folder)
    assert spread.spread is not None
    assert spread.spread.board.before == []


def test_ctrl_c_keeps_what_is_finished(text: Path, tmp_path: Path) -> None:
    class Impatient(Watch):
        asked = False

        def mining(self, transactions: int, progress: Progress) -> None:
            assert transactions == len(ROWS)
            if progress.passes() and not self.asked:
                self.asked = True
                os.kill(os.getpid(), signal.SIGINT)

    folder = tmp_path / "result"
    with pytest.raises(KeyboardInterrupt):
        run(text, make(SUPPORT, nodes=2), Impatient(), folder)
    assert (folder / KEPT_PASSES).exists()
    # A run on one node has passes of its own.
    found = run(text, make(SUPPORT), None, folder)
    assert [each["scans"] for each in found.passes] == [1] * len(found.passes)


def test_ctrl_c_on_one_node_keeps_what_is_finished_too(tmp_path: Path) -> None:
    class Impatient(Watch):
        def mining(self, transactions: int, progress: Progress) -> None:
            if transactions and len(progress.passes()) >= 2:
                raise KeyboardInterrupt

    # All subsets of 14 items are large: with so little memory the passes behind the second take thousands of scans.
    rows = tmp_path / "rows.dat"
    rows.write_text((" ".join(map(str, range(14))) + "\n") * 100_000)
    folder = tmp_path / "result"
    with pytest.raises(KeyboardInterrupt):
        run(rows, make(SUPPORT, memory="256B"), Impatient(), folder)
    output.check_free(folder, False)
    found = run(rows, make(SUPPORT), None, folder)
    scans = [each["scans"] for each in found.passes]
    assert scans[1] > 1
    assert scans[-1] == 1
    assert found.itemsets.to_dicts() == incast.mine(rows, SUPPORT).itemsets.to_dicts()
    output.write(found, folder, "csv")
    assert not (folder / KEPT_PASSES).exists()


SCENARIO: dict[str, Any] = {
    "name": "mining",
    "topology": {"kind": "single-switch", "hosts": 4},
    "jobs": [
        {"name": "mining", "kind": "mine", "transactions": {"kind": "quest", "count": 500}, "support": 0.05}
    ],
}


def simulated(folder: Path, **job: Any) -> Any:
    folder.mkdir(exist_ok=True)
    path = folder / "mining.yaml"
    path.write_text(json.dumps({**SCENARIO, "jobs": [{**SCENARIO["jobs"][0], **job}]}))
    return incast.run(path, folder / "run")


def test_the_job_has_a_task_a_node_and_pass(text: Path, tmp_path: Path) -> None:
    result = simulated(tmp_path, transactions={"kind": "file", "file": str(text)}, support=SUPPORT)
    passes = len(incast.mine(text, SUPPORT).passes)
    tasks = result.tasks
    found = tasks.group_by("kind").len().sort("kind").rows()
    assert found == [("broadcast", 4 * passes), ("pass", 4 * passes)]
    # Each pair of nodes has one stream, and ends it.
    assert result.flows["outcome"].to_list() == ["finished"] * 6


def test_a_run_has_a_table_of_passes(text: Path, tmp_path: Path) -> None:
    result = simulated(tmp_path, transactions={"kind": "file", "file": str(text)}, support=SUPPORT)
    check_passes(result.passes, incast.mine(text, SUPPORT), 4)
    # What a node sends, the others receive.
    by_pass = result.passes.group_by("pass").agg(pl.col("sent_bytes", "received_bytes").sum())
    assert by_pass["sent_bytes"].sum() == by_pass["received_bytes"].sum() > 0
    assert "Passes of mining" in report.write(tmp_path / "run").read_text()


def test_a_live_run_has_it_too(text: Path, tmp_path: Path) -> None:
    job = {**SCENARIO["jobs"][0], "transactions": {"kind": "file", "file": str(text)}, "support": SUPPORT}
    given = spec(tmp_path, {**SCENARIO, "jobs": [job]})
    assert run_jobs(given, checked(given), tmp_path / "run", limit_s=60).finished
    check_passes(pl.read_parquet(tmp_path / "run/passes/*.parquet"), incast.mine(text, SUPPORT), 4)
    assert pl.read_parquet(tmp_path / "run/flows/*.parquet")["outcome"].to_list() == ["finished"] * 6


def check_passes(found: pl.DataFrame, alone: MineResult, nodes: int) -> None:
    """A row a pass and node, which says of the pass what one node says that mines alone."""
    keys = ["pass", "candidates", "large"]
    assert found.height == nodes * len(alone.passes)
    rows = found.select(keys).unique().sort("pass").rows()
    assert rows == [tuple(each[key] for key in keys) for each in alone.passes]
    assert (found["end_ps"] > found["begin_ps"]).all()
    assert (found["scans"] >= 1).all()


def test_a_profile_needs_no_transactions(tmp_path: Path) -> None:
    passes = [
        {"large": 100, "found": 200_000, "entries": 4000},
        {"candidates": 4950, "large": 30, "found": 100_000},
        {"candidates": 10, "large": 0, "found": 50},
    ]
    profile = {"kind": "profile", "count": 20_000, "items": 200_000, "passes": passes}
    result = simulated(tmp_path, transactions=profile, padded=True)
    assert result.tasks.filter(result.tasks["kind"] == "pass").height == 12
    sent = result.flows["sent_bytes"].sum() if "sent_bytes" in result.flows.columns else 0
    assert sent == 0 or sent > 100_000 * 8 * 3 // 4


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"support": 0}, "support"),
        ({"combine": 10}, "combine"),
        ({"duplicated": 10}, "duplicated"),
        ({"block": "1B"}, "block"),
        ({"transactions": {"kind": "file", "file": "nowhere.dat"}}, "transactions.file"),
        ({"transactions": {"kind": "profile", "count": 1, "items": 1, "passes": []}}, "passes"),
    ],
)
def test_a_job_that_can_not_be_is_refused(tmp_path: Path, job: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        simulated(tmp_path, **job)
    assert said in str(caught.value)


def test_a_file_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "rows.dat").write_text("1 2\n3 x\n")
    with pytest.raises(ScenarioError, match="line 2"):
        simulated(tmp_path, transactions={"kind": "file", "file": "rows.dat"})


@pytest.mark.parametrize("request_", [signal.SIGHUP, signal.SIGTERM])
def test_a_terminal_that_is_closed_is_as_ctrl_c(tmp_path: Path, request_: signal.Signals) -> None:
    (tmp_path / "rows.dat").write_text((" ".join(map(str, range(14))) + "\n") * 100_000)
    command = [sys.executable, "-m", "incast", "mine", "rows.dat", "--support", "1%", "--out", "out"]
    command += ["--memory", "256B", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    ticks = os.sysconf("SC_CLK_TCK")
    stat = Path(f"/proc/{process.pid}/stat")
    # It takes thousands of scans; the first two passes take no second of its time.
    until(lambda: int(stat.read_text().rpartition(")")[2].split()[11]) > 2 * ticks)
    process.send_signal(request_)
    said = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 130
    assert (said["ok"], said["interrupted"]) == (False, True)
    kept = "Interrupted: the same command goes on after the finished passes."
    assert said["problems"] == [{"message": kept}]
    assert (tmp_path / "out" / KEPT_PASSES).exists()


def test_itemsets_that_explode_end_all_nodes_within_the_memory(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text(" ".join(map(str, range(60))) + "\n")
    command = [sys.executable, "-m", "incast", "mine", "a.dat", "--support", "100%"]
    command += ["--nodes", "2", "--memory", "64MiB"]
    peaks: dict[int, int] = {}
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            for pid in [process.pid, *children(process.pid)]:
                peaks[pid] = max(peaks.get(pid, 0), peak_memory(pid))
            time.sleep(0.01)
        assert process.stderr is not None
        warning, error = warned(process.stderr.read())
    assert process.returncode == 4
    assert warning.startswith("warning: pass 4 found 487,635 large itemsets, and up to 1.15e+18 longer ones")
    assert "large itemsets of 5 items" in error
    assert "do not fit into --memory (64 MiB) with the 523,685 that were found before" in error
    assert "keeps the passes that were finished" in error
    assert len(peaks) == 3
    assert max(peaks.values()) < (64 + 60) << 10
