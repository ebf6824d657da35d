"""`incast view` of mining on nodes: what it draws of it, at its end and while it goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from testkit.browsers import violations
from typer.testing import CliRunner

from incast.cli.app import app
from incast.folder import MINE_MARKER
from incast.mining import output
from incast.mining.record import PASSES, SERIES, Record
from incast.mining.request import make
from incast.mining.run import Watch, run
from incast.recording import PROGRESS, Recording
from incast.view.kinds import opened as run_of
from incast.view.places import runs
from incast.view.pyramid import MEASURES
from test_view import served
from view_pages import ask, opened, shows

SECOND = 10**12


def transactions(file: Path, count: int) -> Path:
    """A file of transactions whose large itemsets have up to six items or so."""
    draw = Random(2)
    rows = []
    for _ in range(count):
        base = draw.randrange(40) * 5
        near = {base + draw.randrange(14) for _ in range(12)}
        rows.append(" ".join(map(str, sorted(near | {draw.randrange(300) for _ in range(5)}))))
    file.write_text("\n".join(rows) + "\n")
    return file


def mine(file: Path, folder: Path, *more: str) -> list[str]:
    return ["mine", str(file), "--support", "0.15%", "--out", str(folder), *more]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of two nodes."""
    folder = tmp_path_factory.mktemp("mined")
    done = CliRunner().invoke(
        app, mine(transactions(folder / "t.dat", 3000), folder / "mined", "--nodes", "2")
    )
    assert done.exit_code == 0, done.output
    return folder / "mined"


@pytest.fixture(scope="module")
def address(finished: Path) -> Iterator[str]:
    with served(finished) as found:
        yield found


def said(time_s: float, number: int, done: int, sent: int, *ends: float) -> dict[str, Any]:
    """What a node says in a pass: of 100 transactions, so many are gone over; when earlier passes ended."""
    begins = [0.0, *ends]
    passes = [
        {
            "pass": n + 1, "candidates": 9, "large": 5, "scans": 1, "sent_bytes": sent, "received_bytes": 0,
            "sent_entries": 1, "begin": int(begins[n] * SECOND),
            "end": int(ends[n] * SECOND) if n < len(ends) else 0,
        }
        for n in range(number)
    ]  # fmt: skip
    return {"time_ps": int(time_s * SECOND), "pass": number, "done": done, "of": 100, "passes": passes}


class Made:
    """Two made-up nodes: the second says nothing for long."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.recording = Recording(folder, MINE_MARKER, lambda: self.now)
        self.record = Record(self.recording, 2)

    def see(self, *nodes: dict[str, Any]) -> None:
        self.now += 1.5
        self.record.see(dict(enumerate(nodes)))


def test_what_is_drawn_of_mining(finished: Path) -> None:
    assert sorted(each.name for each in finished.iterdir()) == [
        "incast-mine.json", "itemsets.parquet", "passes", "passes_series", "summary.json",
    ]  # fmt: skip
    facts = ask(finished, "facts")
    assert facts["subjects"]["name"] == ["node0", "node1", "node0 → network", "node1 → network"]
    passes = pl.read_parquet(finished / PASSES)
    count = int(passes["pass"].to_list()[-1])
    assert sorted(set(facts["tasks"]["kind"])) == [f"pass {n}" for n in range(1, count + 1)]
    seen = run_of(runs([finished])[0])
    cells = dict(zip(MEASURES, seen.pyramid.cells(0, 0, 10**6), strict=True))
    assert cells["queue"][-1, :2].tolist() == [count, count]
    series = pl.read_parquet(finished / SERIES)
    assert cells["sent"][:, 2:].sum() == pytest.approx(series["sent_bytes"].sum())
    assert series["sent_bytes"].sum() == passes["sent_bytes"].sum()
    followed = ask(finished, "follow", kind="node", name="node1")
    assert followed["facts"][0] == ["Passes", str(count)]
    assert "Passes done" in {chart["title"] for chart in followed["charts"]}


def test_what_nodes_say_becomes_rows(tmp_path: Path) -> None:
    made = Made(tmp_path / "mined")
    with made.recording:
        made.see(said(1, 1, 40, 300))
        made.see(said(1, 1, 40, 300), said(2, 1, 100, 50))  # The first has said nothing since.
        made.see(said(3, 2, 30, 200, 2.5), said(2, 1, 100, 50))
        place = tmp_path / "mined" / PROGRESS
        rows = pl.read_parquet(place / SERIES).select("host", "pass", "done", "scanned", "sent_bytes")
        assert rows.rows() == [
            ("node0", 1, 40, 40, 300),
            ("node1", 1, 100, 100, 50),
            ("node0", 2, 30, 30, 100),
        ]
        assert pl.read_parquet(place / PASSES)["end_ps"].to_list() == [int(2.5 * SECOND), None, None]
    assert not (tmp_path / "mined").exists()


def test_a_node_that_is_too_busy_for_samples_is_known_by_its_passes(tmp_path: Path) -> None:
    made = Made(tmp_path / "mined")
    with made.recording:
        made.see(said(1, 1, 40, 300), said(1, 1, 10, 0))
        made.see(said(2, 1, 50, 300), said(2, 1, 20, 0))
        made.see(said(9, 3, 50, 300, 4, 6), said(9, 2, 50, 300, 7))
        seen = run_of(runs([tmp_path / "mined"])[0])
        step = seen.pyramid.levels[0].step_ps
        levels = seen.pyramid.cells(0, 0, 10**6)[MEASURES.index("queue")]
        at = {second: levels[-(-second * SECOND // step) - 1, :2].tolist() for second in (4, 8)}
        assert at[4] == pytest.approx([1, 0.2])
        assert at[8] == pytest.approx([2, 1])


def test_mining_in_one_process_says_that_there_are_no_nodes(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "alone"
    file = transactions(tmp_path / "t.dat", 3000)
    assert CliRunner().invoke(app, mine(file, folder, "--nodes", "2")).exit_code == 0
    assert (folder / PASSES).is_dir()
    assert CliRunner().invoke(app, mine(file, folder, "--force")).exit_code == 0
    assert not (folder / PASSES).exists()  # They were of the result before.
    with served(folder) as address:
        page = browser.new_page()
        page.goto(address)
        page.get_by_text("was mined by one process").wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_plays_and_follows_it(browser: Any, address: str, width: int, scheme: str) -> None:
    page, logged = opened(browser, address, width, scheme)
    page.locator("#time").focus()
    page.keyboard.press("End")
    page.locator("#time").focus()
    page.keyboard.press("End")
    shows(page, lambda rows: {row[0] for row in rows}, {"node0", "node1"})
    timeline = page.locator("canvas[tabindex]").nth(1)
    timeline.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(".follows .title:has-text('Pass')").wait_for()
    page.locator("tbody button:has-text('node1')").click()
    page.get_by_text("Node node1", exact=True).wait_for()
    page.wait_for_timeout(300)
    assert violations(page) == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert logged == []


def test_the_page_grows_with_the_mining(browser: Any, tmp_path: Path) -> None:
    made = Made(tmp_path / "mined")
    with served(tmp_path) as address:
        page = browser.new_page()
        with made.recording:
            page.goto(address)
            page.get_by_text("No node has reported yet").wait_for()  # Transactions are read.
            made.see(said(1, 1, 40, 300))
            page.locator("tbody tr:has-text('node0'):has-text('0.4')").wait_for()  # The latest moment.
            made.see(said(4, 2, 50, 300, 2), said(4, 2, 25, 300, 3))
            page.locator("tbody tr:has-text('node1'):has-text('1.25')").wait_for()
            page.locator("tbody tr:has-text('node0'):has-text('1.5')").wait_for()


class Held(Watch):
    """Holds a run once its nodes have said something, until it is released."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def mining(self, *_: Any) -> None:
        self.release.wait(30)


def test_real_mining_is_seen_while_it_goes_on(browser: Any, tmp_path: Path) -> None:
    folder, held = tmp_path / "mined", Held()
    file = transactions(tmp_path / "t.dat", 3000)

    def mine() -> None:
        with Recording(folder, MINE_MARKER) as recording:
            result = run(file, make("0.15%", nodes=2), held, folder, recording)
            output.write(result, folder, "parquet")
            recording.keep(*output.RECORDED)

    mining = threading.Thread(target=mine)
    page = browser.new_page()
    with served(folder) as address:
        page.goto(address)
        page.get_by_text("is not there").wait_for()
        mining.start()
        page.get_by_text("the run is in progress").first.wait_for()
        page.locator("tbody tr:has-text('node')").first.wait_for()
        held.release.set()
        mining.join()
        page.get_by_text("the run is in progress").first.wait_for(state="detached")
        page.locator("#time").focus()
        page.keyboard.press("End")
        passes = pl.read_parquet(folder / PASSES)["pass"].max()
        shows(page, lambda rows: [row[1] for row in rows], [str(passes)] * 2)
    assert not (folder / PROGRESS).exists()
