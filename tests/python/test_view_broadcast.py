"""`incast view` of broadcasts on hosts: what it draws of them, at their end and while they go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from testkit.browsers import violations

from broadcasts import ended, here, states
from incast.broadcast.record import Record
from incast.broadcast.send import Receipt, Sent
from incast.errors import OutputExistsError
from incast.recording import PROGRESS, Recording
from incast.view.programs.arrange import arrange
from incast.view.programs.broadcast import Broadcast
from incast.view.programs.resample import ROWS, resample
from incast.view.pyramid import MEASURES
from test_view import served
from view_pages import ask, opened, shows

SECOND = 10**12
TOTAL = 1_000_000
STEPS = 20
NAMES = ("near", "far", "</b><b>bold</b>")


def status(time_ps: int, has: int, sent: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "time_ps": time_ps, "bytes": has, "resumed": 0, "received": has, "sent": sent, "damaged": 0, "plans": 1,
        "planned": 8 * TOTAL // STEPS, "completed_ps": None, "failed": None, "named": "no", "parents": {}, **more,
    }  # fmt: skip


class Made:
    """A made-up broadcast: the source sends to `near`, that to `far`, and nothing comes to the third."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.record = Record(folder, "here", NAMES, lambda: self.now)

    def go(self, first: int, last: int) -> None:
        """Steps of a second, one twentieth of the file each; the last receiver is a step behind."""
        for step in range(first, last + 1):
            self.now = float(step)
            time, near, far = step * SECOND, step * TOTAL // STEPS, (step - 1) * TOTAL // STEPS
            self.record.see(
                {
                    0: {**status(time, TOTAL, near), "received": 0},
                    1: status(time, near, far, parents={"0": near}),
                    2: status(time, far, parents={"1": far}),
                }
            )

    def end(self) -> None:
        receipts = [
            Receipt("near", "complete", bytes=TOTAL),
            Receipt("far", "interrupted", bytes=TOTAL - 50_000),
        ]
        self.record.end(Sent(TOTAL, [*receipts, Receipt(NAMES[2], "unreachable", "no route to it")], False))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broadcasts") / "sent"
    made = Made(folder)
    with made.record:
        made.go(1, STEPS)
        made.end()
    return folder


@pytest.fixture(scope="module")
def address(finished: Path) -> Iterator[str]:
    with served(finished) as found:
        yield found


def test_the_folder_has_the_tables_of_a_simulated_broadcast(finished: Path) -> None:
    assert sorted(each.name for each in finished.iterdir()) == [
        "broadcasts", "broadcasts_series", "incast-broadcast.json", "summary.json", "transfers_series",
    ]  # fmt: skip
    hosts = pl.read_parquet(finished / "broadcasts")
    assert hosts["outcome"].to_list() == ["complete", "complete", "unfinished", "gone"]
    series = pl.read_parquet(finished / "broadcasts_series")
    assert series.filter(pl.col("host") == "near")["received_bytes"].sum() == TOTAL
    with pytest.raises(OutputExistsError):
        Record(finished, "here", NAMES)


def test_what_is_drawn_of_a_broadcast(finished: Path) -> None:
    said = ask(finished, "facts")
    assert said["subjects"]["name"] == ["here", *NAMES, "here → near", "near → far"]
    assert said["notes"] == [f"{NAMES[2]}: gone: no route to it"]
    assert [said["tasks"]["host"], said["tasks"]["stop_ps"]] == [["far", "near"], [STEPS * SECOND + 1] * 2]
    drawn = ask(finished, "network", width=640)
    tops = [node["box"][1] for node in drawn["nodes"]]
    assert tops[0] < tops[1] == tops[3] < tops[2]  # A host that got it from another is below that one.
    assert all(edge["whole"] for edge in drawn["edges"])
    cells = cells_of(finished)
    share = cells["queue"][STEPS // 2 - 1]
    assert share[:3].tolist() == pytest.approx([1, 0.5, 0.45])
    assert np.isnan(share[3])
    assert cells["sent"].sum(axis=0)[4:].tolist() == pytest.approx([TOTAL, TOTAL * (STEPS - 1) / STEPS])
    assert ask(finished, "follow", kind="node", name="far")["title"] == "Receiver far"
    carried = ask(finished, "follow", kind="port", name="here → near")["charts"][0]
    assert carried["unit"] == "rate"
    assert max(carried["lines"][0]["high"]) == pytest.approx(8 * TOTAL / STEPS, rel=0.01)
    assert ask(finished, "follow", kind="task", name="2")["facts"][0] == ["Host", "far"]


def cells_of(folder: Path) -> dict[str, Any]:
    from incast.view.kinds import opened as run_of
    from incast.view.places import runs

    run = run_of(runs([folder])[0])
    assert isinstance(run, Broadcast)
    return dict(zip(MEASURES, run.pyramid.cells(0, 0, 10**6), strict=True))


def test_rows_become_cells_that_keep_sums_and_hold_levels() -> None:
    rows = [
        (0, None, 5, 1.0, 10.0, 0.0),
        (0, None, 35, 4.0, 30.0, 3.0),  # Late: three steps in one.
        (0, None, 12, 9.0, None, None),  # A level between two samples.
        (1, 20, 30, None, 8.0, None),  # Nothing was counted before.
    ]
    cells = resample(pl.DataFrame(rows, ROWS, orient="row"), 3, 10, 60)
    of = dict(zip(MEASURES, cells, strict=True))
    assert of["queue"][:, 0].tolist() == [1, 9, 9, 4, 4, 4]
    assert of["drops"][:, 0].tolist() == [0, 0, 0, 3, 0, 0]
    assert of["sent"][:, 0].tolist() == pytest.approx([15, 10, 10, 5, 0, 0])
    assert of["sent"][:, 1].tolist() == [0, 0, 8, 0, 0, 0]
    assert np.isnan(of["queue"][:, 2]).all()


@pytest.mark.parametrize("nodes", [1, 2, 30, 1000])
@pytest.mark.parametrize("width", [360, 960])
def test_boxes_lie_in_the_picture_and_apart(nodes: int, width: int) -> None:
    spots = arrange([0] + [1 + node % 3 for node in range(nodes - 1)], width)
    boxes = sorted(spots.boxes)
    for x, y, wide, high in boxes:
        assert wide / 2 <= x <= width - wide / 2
        assert high / 2 <= y <= spots.height - high / 2
    for n, (x, y, wide, high) in enumerate(boxes):
        assert not any(abs(x - a) < wide and abs(y - b) < high for a, b, _, _ in boxes[n + 1 : n + 60])


def test_a_recording_takes_fewer_samples_the_longer_it_lasts(tmp_path: Path) -> None:
    now = [0.0]
    frame = pl.DataFrame({"time_ps": list(range(100))})
    with Recording(tmp_path, "incast-broadcast.json", lambda: now[0]) as recording:
        rows = 0
        for tenth in range(20_000):
            now[0] = tenth / 10
            if recording.due():
                recording.add("broadcasts_series", frame)
                rows += 100
            recording.flush(dict)
        parts = sorted((tmp_path / PROGRESS / "broadcasts_series").iterdir())
        assert rows < 140_000  # At the interval of the beginning there would be two million.
        assert pl.read_parquet(parts).height >= rows - 1000
        assert len(parts) < 30
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_plays_and_follows_it(browser: Any, address: str, width: int, scheme: str) -> None:
    page, logged = opened(browser, address, width, scheme)
    page.locator("#time").focus()
    page.keyboard.press("End")
    shows(page, list, [["far", "95 %", "0 b/s"], ["here", "100 %", "0 b/s"], ["near", "100 %", "0 b/s"]])
    network = page.locator("canvas[tabindex]").first
    network.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("[role=status]").inner_text().startswith("Source here: share there 100 %, receiving")
    page.keyboard.press("Enter")
    page.get_by_text("Source here", exact=True).wait_for()
    page.locator("tbody button:has-text('near')").click()
    page.get_by_text("Receiver near", exact=True).wait_for()
    assert page.locator(".follows .chart canvas").count() == 3
    assert page.locator("b:has-text('bold')").count() == 0
    page.wait_for_timeout(300)
    assert violations(page) == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert logged == []


def test_the_page_grows_with_the_broadcast(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "live"
    made = Made(folder)
    with served(tmp_path) as address:
        page = browser.new_page()
        with made.record:
            page.goto(address)
            page.get_by_text("No host has reported yet").wait_for()
            made.go(1, 5)
            page.get_by_text("the run is in progress").first.wait_for()
            page.locator("tbody tr:has-text('near')").wait_for()
            page.locator("#time").focus()
            page.keyboard.press("End")
            page.locator("tr:has-text('near'):has-text('25 %')").wait_for()
            made.go(6, 10)
            # At the end of what is known, the page stays at its end.
            page.locator("tr:has-text('near'):has-text('50 %')").wait_for()
            made.go(11, STEPS)
            made.end()
        page.get_by_text("the run is in progress").first.wait_for(state="detached")
        page.get_by_text("no route to it").wait_for()


def test_a_real_broadcast_is_seen_while_it_goes_on(browser: Any, place: Path) -> None:
    folder = place / "seen"
    page = browser.new_page()
    with served(folder) as address:
        page.goto(address)
        page.get_by_text("is not there").wait_for()
        with here(place, "--rate", "4Mbps", "--out", str(folder)) as child:
            page.get_by_text("the run is in progress").first.wait_for()
            page.locator("tbody tr:has-text('three')").first.wait_for()
            code, said, err = ended(child)
        assert (code, set(states(said).values()), said["folder"]) == (0, {"complete"}, str(folder)), err
        page.get_by_text("the run is in progress").first.wait_for(state="detached")
        page.locator("#time").focus()
        page.keyboard.press("End")
        shows(page, lambda rows: {row[1] for row in rows}, {"100 %"})
    assert json.loads((folder / "summary.json").read_text())["bytes"] == 3_000_000
    moved = pl.read_parquet(folder / "transfers_series").group_by("to").agg(pl.col("bytes").sum())
    # The last chunks of a parent that is needed no more are not in its host's report.
    assert all(2_000_000 < each <= 3_100_000 for each in moved["bytes"])
