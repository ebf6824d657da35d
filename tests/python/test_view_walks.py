"""`incast view` of walks on servers: what it draws of them, at their end and while they go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from testkit.browsers import violations

import incast
from incast.recording import PROGRESS
from incast.view.kinds import opened as run_of
from incast.view.places import runs
from incast.view.pyramid import MEASURES
from incast.walks.board import Board
from incast.walks.member import SAMPLED
from incast.walks.record import Record, joined
from test_view import served
from view_pages import ask, opened, shows
from walk_servers import SBM

SECOND = 10**12
COUNTERS = ("required", "finished", "finished_ps", "restarts", "refused_strangers")


class Made:
    """Two made-up servers: the first has the longer queue, and drops."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.board = Board([30, 30], 100)
        self.record = Record(folder, self.board, lambda: self.now)

    def go(self, first: int, last: int) -> None:
        """Samples of a second each."""
        for step in range(first, last + 1):
            self.now = float(step)
            for server in (0, 1):
                sample = dict.fromkeys(SAMPLED, 0)
                sample |= {
                    "time_ps": step * SECOND,
                    "queue": step,
                    "queue_max": 40 * (2 - server),
                    "served": 500,
                }
                sample |= {"arrived": 100, "drops_early": 3 * (1 - server)}
                counters = dict.fromkeys(COUNTERS, 0) | {"required": 100, "finished": 5 * step}
                told = {"walks": counters, "cpu_ps": 0, "samples": [list(sample.values())]}
                self.board.hear(server, {**told, "counters": {"foreign_datagrams": 0}})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real walks on two servers."""
    folder = tmp_path_factory.mktemp("walks") / "walked"
    incast.walk(SBM, walks=20_000, servers=2, out=folder)
    return folder


@pytest.fixture(scope="module")
def address(finished: Path) -> Iterator[str]:
    with served(finished) as found:
        yield found


def test_what_is_drawn_of_walks(finished: Path) -> None:
    assert not (finished / PROGRESS).exists()
    said = ask(finished, "facts")
    assert said["subjects"]["name"] == ["server0", "server1", "network → server0", "network → server1"]
    assert said["tasks"]["host"] == ["server0", "server1"]
    run = run_of(runs([finished])[0])
    cells = dict(zip(MEASURES, run.pyramid.cells(0, 0, 10**6), strict=True))
    series = pl.read_parquet(finished / "walks_series").sort("host").partition_by("host", maintain_order=True)
    for server, own in enumerate(series):
        # Before its first sample nothing is known of a server.
        assert np.nanmax(cells["queue"][:, server]) == own["queue_max"].max()
        assert cells["sent"][:, server].sum() == pytest.approx(own["served"].sum())
        assert cells["sent"][:, 2 + server].sum() == pytest.approx(own["arrived"].sum())
    followed = ask(finished, "follow", kind="node", name="server1")
    assert followed["facts"][1] == ["Walks", "600\u202f000 of 600\u202f000"]
    assert {"Queue", "Walkers"} <= {chart["title"] for chart in followed["charts"]}
    assert ask(finished, "follow", kind="node", name="network")["title"] == "Network"
    assert ask(finished, "follow", kind="task", name="0")["title"] == "Walking on server0"


def test_samples_that_are_recorded_together_keep_sums_and_extremes() -> None:
    kinds: dict[str, Any] = {"time_ps": pl.UInt64, "job": pl.String, "host": pl.String}
    kinds |= dict.fromkeys(SAMPLED[1:], pl.UInt64)
    rows = [[time, "walk", "server0", *[time] * (len(SAMPLED) - 1)] for time in (3, 9, 5)]
    (row,) = joined(pl.DataFrame(rows, kinds, orient="row")).to_dicts()
    assert (row["time_ps"], row["queue"], row["queue_max"], row["served"]) == (9, 5, 9, 17)


def test_walks_of_one_process_say_that_there_are_no_servers(browser: Any, tmp_path: Path) -> None:
    incast.walk(SBM, walks=5, out=tmp_path / "alone")
    with served(tmp_path / "alone") as address:
        page = browser.new_page()
        page.goto(address)
        page.get_by_text("only servers (--servers) have queues over time").wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_plays_and_follows_them(browser: Any, address: str, width: int, scheme: str) -> None:
    page, logged = opened(browser, address, width, scheme)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Pause").click()
    # At the moment of the pause one of them may not have been sampled yet.
    page.locator("#time").focus()
    page.keyboard.press("End")
    shows(page, lambda rows: {row[0] for row in rows}, {"server0", "server1"})
    page.locator("#kind").select_option("port")
    page.locator("#name").fill("network → server1")
    page.keyboard.press("Enter")
    page.get_by_text("Connection network → server1", exact=True).wait_for()
    page.locator("tbody button:has-text('server0')").click()
    page.get_by_text("Server server0", exact=True).wait_for()
    page.wait_for_timeout(300)
    assert violations(page) == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert logged == []


def test_the_page_grows_with_the_walks(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "live"
    made = Made(folder)
    with served(tmp_path) as address:
        page = browser.new_page()
        with made.record:
            page.goto(address)
            page.get_by_text("No server has been sampled yet").wait_for()
            made.go(1, 5)
            page.locator("tbody tr:has-text('server0')").wait_for()
            page.locator(".clock:has-text('5.0')").wait_for()
            made.go(6, 9)
            page.locator(".clock:has-text('9.0')").wait_for()
            shows(page, lambda rows: rows[:1], [["server0", "80", "500 /s", "3"]])
            page.locator("tbody button:has-text('server0')").click()
            page.get_by_text("45 of 100").wait_for()
    assert not folder.exists()


def test_real_walks_are_seen_while_they_go_on(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "walked"
    walking = threading.Thread(target=lambda: incast.walk(SBM, walks=60_000, servers=2, out=folder))
    with served(tmp_path) as address:
        page = browser.new_page()
        page.goto(f"{address}#run={tmp_path.name}/walked")
        page.get_by_text("There is no run").wait_for()
        walking.start()
        page.get_by_text("the run is in progress").first.wait_for()
        page.locator("tbody tr:has-text('server1')").wait_for()
        walking.join()
        page.get_by_text("the run is in progress").first.wait_for(state="detached")
        page.locator("tbody button:has-text('server1')").click()
        page.get_by_text("1 800 000 of 1 800 000").wait_for()
    assert not (folder / PROGRESS).exists()


def test_a_result_that_is_overwritten_is_there_until_the_new_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    incast.walk(SBM, walks=50, servers=2, out=out)
    before = (out / "summary.json").read_bytes()
    seen = []

    def stop(*_: Any) -> Any:
        seen.append((out / "summary.json").read_bytes() == before and (out / PROGRESS).is_dir())
        raise KeyboardInterrupt

    monkeypatch.setattr("incast.walks.run.server_tables.write", stop)
    with pytest.raises(KeyboardInterrupt):
        incast.walk(SBM, walks=70, servers=2, out=out, force=True)
    assert seen == [True]
    assert (out / "summary.json").read_bytes() == before
    assert not (out / PROGRESS).exists()
