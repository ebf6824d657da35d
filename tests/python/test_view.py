"""`incast view`: the page in a browser, what it answers, whom it refuses, and what it says of bad folders."""

from __future__ import annotations

import json
import re
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from testkit.browsers import violations
from typer.testing import CliRunner

import incast
from helpers import SMALL, until, written
from incast.cli.app import app
from incast.folder import LEVELS
from report_data import write_run, write_tasks

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
NAME = "</script><script>document.title='broken'</script><b>bold</b>"


@contextmanager
def served(*folders: Path) -> Iterator[str]:
    """The address of a page over these folders."""
    from incast.view.server import ViewServer

    server = ViewServer(folders)
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    try:
        yield server.address
    finally:
        server.stop()
        running.join(10)
    assert not running.is_alive()


def asked(address: str, host: str | None = None) -> tuple[int, bytes]:
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two choices with samples of ports, the second with tasks; a name that tries to be markup."""
    folder = tmp_path_factory.mktemp("view")
    for seed, name in enumerate(("one", "two"), 1):
        write_run(folder / name, seed=seed, name=NAME)
    write_tasks(folder / "two", stuck=1)
    return folder


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    with served(runs) as found:
        yield found


def opened(browser: Any, address: str, state: str = "", **context: Any) -> tuple[Any, list[str]]:
    """The page with a run on it, and what it logged."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}, **context).new_page()
    logged: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.goto(f"{address}#{state}")
    page.locator(".clock").wait_for()
    page.locator("table tbody tr").first.wait_for()
    return page, logged


def test_it_plays_seeks_and_follows(browser: Any, address: str) -> None:
    page, logged = opened(browser, address)
    before = page.locator(".clock").inner_text()
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_timeout(500)
    page.get_by_role("button", name="Pause").click()
    assert page.locator(".clock").inner_text() != before
    page.locator("#time").focus()
    page.keyboard.press("End")
    assert page.locator("#time").get_attribute("aria-valuetext") == page.locator(".clock").inner_text()
    # The table's order is another when the cells of this time have come, so the page says which port it was.
    page.locator("table tbody tr button").first.click()
    page.get_by_text(re.compile(r"^Port \S+:\S+$")).first.wait_for()
    assert page.locator(".follows .chart canvas").count() >= 1
    assert "at most" in page.locator(".follows .chart").first.get_attribute("aria-label")
    page.locator("#kind").select_option("node")
    page.locator("#name").fill("host0")
    page.keyboard.press("Enter")
    page.get_by_text("Host host0", exact=True).wait_for()
    flow = page.locator(".follows tbody tr button").first
    number = flow.inner_text()
    flow.click()
    page.get_by_text(f"Flow {number}:").first.wait_for()
    assert f"flow={number}" in page.url
    assert logged == []


def test_the_address_holds_the_state(browser: Any, address: str) -> None:
    page, _ = opened(
        browser, address, f"run={runs_name(address, 0)}&with={runs_name(address, 1)}&t=5000000000"
    )
    assert page.locator(".panes > *").count() == 2
    assert page.locator(".clock").inner_text() == "5 ms"
    page.locator("#speed").select_option("5")
    again, _ = opened(browser, address, page.url.partition("#")[2])
    assert again.locator(".panes > *").count() == 2
    assert again.locator(".clock").inner_text() == page.locator(".clock").inner_text()


def runs_name(address: str, index: int) -> str:
    listed = json.loads(asked(f"{address}ask/runs")[1])["runs"]
    return str(listed[index]["name"]).replace("/", "%2F")


def test_two_folders_are_shown_in_step_and_one_may_go_and_come_back(
    browser: Any, runs: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        shutil.copytree(runs / name, tmp_path / name)
    with served(tmp_path / "one", tmp_path / "two") as address:
        page, _ = opened(browser, address)
        assert page.locator(".panes > *").count() == 2
        page.locator("#time").focus()
        page.keyboard.press("End")
        at = page.locator(".clock").inner_text()
        (tmp_path / "two").rename(tmp_path / "away")
        page.get_by_text("it was moved or removed").first.wait_for()
        (tmp_path / "away").rename(tmp_path / "two")
        page.get_by_text("it was moved or removed").first.wait_for(state="detached", timeout=10_000)
        assert page.locator(".clock").inner_text() == at
    # A run that was never there is named too.
    with served(tmp_path / "one") as address:
        page = browser.new_page()
        page.goto(f"{address}#run=nobody")
        page.get_by_text("There is no run nobody").first.wait_for()


def test_the_network_and_the_timeline_are_followed_by_keyboard(browser: Any, address: str) -> None:
    page, _ = opened(browser, address, f"run={runs_name(address, 1)}")
    for canvas in page.locator("canvas[tabindex]").all()[:2]:
        canvas.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.locator(".follows .title").wait_for()
        page.get_by_role("button", name="Follow nothing").click()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_is_accessible_and_fits(browser: Any, address: str, width: int, scheme: str) -> None:
    page, logged = opened(browser, address, color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("table tbody tr button").first.click()
    page.locator(".follows .title").wait_for()
    page.wait_for_timeout(300)
    assert violations(page) == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert logged == []


def test_names_stay_text(browser: Any, address: str) -> None:
    page, _ = opened(browser, address)
    assert page.locator("b:has-text('bold')").count() == 0
    assert "broken" not in page.title()


def test_strangers_are_refused(address: str) -> None:
    root = address.rsplit("/", 2)[0]
    assert asked(address)[0] == 200
    assert asked(f"{root}/")[0] == 404
    assert asked(f"{root}/guess/ask/runs")[0] == 404
    assert asked(address, "attacker.example")[0] == 400
    status, said = asked(f"{address}ask/cells?run=nobody&level=-1")
    assert status in (400, 404)
    assert b"Traceback" not in said
    assert asked(f"{address}static/../server.py")[0] == 404
    assert asked(f"{address}ask/runs?{'x' * 5000}")[0] == 414


@pytest.mark.parametrize("what", ["facts", "network", "samples", "cells", "follow", "nonsense"])
def test_questions_that_make_no_sense_are_answered_in_words(address: str, what: str) -> None:
    run = runs_name(address, 0)
    for said in (
        f"run={run}",
        f"run={run}&kind=port&name=x",
        f"run={run}&level=99&first=0&count=1",
        "run=%00",
    ):
        status, answer = asked(f"{address}ask/{what}?{said}&width=7")
        assert status in (200, 400, 404), answer


def test_bad_folders_say_so_in_words(browser: Any, tmp_path: Path) -> None:
    good = write_run(tmp_path / "good")
    torn = write_run(tmp_path / "torn")
    next(torn.glob("flows/*.parquet")).write_bytes(b"PAR1 cut off")
    (torn / "summary.json").unlink()
    bare = write_run(tmp_path / "bare", flows=0, samples=0)
    shutil.rmtree(bare / "flows")
    other = tmp_path / "other"
    other.mkdir()
    newer = write_run(tmp_path / "newer")
    (newer / "incast-run.json").write_text('{"format": 99}')
    walks = tmp_path / "walks"
    walks.mkdir()
    (walks / "incast-walk.json").write_text('{"format": 1}')
    (walks / "summary.json").write_text("{}")
    grid = tmp_path / "grid"
    grid.mkdir()
    (grid / "incast-farmem.json").write_text('{"format": 1}')
    failed = write_run(tmp_path / "failed")
    summary = json.loads((failed / "summary.json").read_text())
    (failed / "summary.json").write_text(json.dumps({**summary, "error": f"no room {NAME}"}))
    said = {
        good: "",
        torn: "could not be read",
        bare: "The run has no flows.",
        other: "is not a result",
        newer: "format",
        walks: "has walks of one process",
        grid: "a result of incast farmem grid: its picture and tables are in the folder",
        failed: f"The run failed: no room {NAME}",
    }
    with served(*said) as address:
        page = browser.new_context().new_page()
        for folder, text in said.items():
            page.goto(f"{address}#run={folder.name}")
            page.reload()
            if text:
                page.get_by_text(text).first.wait_for()
            else:
                page.locator("table tbody tr").first.wait_for()
        shutil.rmtree(good)
        page.goto(f"{address}#run=good")
        page.reload()
        page.get_by_text("it was moved or removed").first.wait_for()


def test_a_run_in_progress_grows_on_the_page(browser: Any, tmp_path: Path) -> None:
    whole = write_run(tmp_path / "whole")
    folder = tmp_path / "live" / "run"
    folder.parent.mkdir()
    shutil.copytree(whole, folder)
    (folder / "summary.json").rename(tmp_path / "summary.json")
    (folder / "incast-run.json").write_text('{"format": 1}')
    shutil.rmtree(folder / "jobs")
    with served(folder) as address:
        page = browser.new_context().new_page()
        page.goto(address)
        page.get_by_text("the run is in progress").first.wait_for()
        shutil.copytree(whole / "jobs", folder / "jobs")
        (tmp_path / "summary.json").rename(folder / "summary.json")
        page.get_by_text("the run is in progress").first.wait_for(state="detached", timeout=10_000)


HOLDS = """([what, fails]) => {
  const ask = window.fetch;
  const held = new Promise((resolve) => { window.release = resolve; });
  window.fetch = async (...said) => {
    if (String(said[0]).includes(what)) {
      window.holding = true;
      await held;
      if (fails) {
        window.fetch = ask;
        throw new Error("no connection");
      }
    }
    return ask(...said);
  };
}"""


@pytest.mark.parametrize(("what", "fails"), [("facts", False), ("samples", True)])
def test_the_end_is_shown_of_a_run_that_ends_while_it_is_loaded(
    browser: Any, tmp_path: Path, what: str, fails: bool
) -> None:
    """To whoever goes there meanwhile, and to whoever was there when an answer was lost."""
    long = incast.run(written(tmp_path, {**SMALL, "measure": {"interval": "1us"}}), tmp_path / "long").path
    folder = tmp_path / "live" / "run"
    shutil.copytree(long, folder)
    for gone in ("jobs", LEVELS):
        shutil.rmtree(folder / gone)
    (folder / "summary.json").unlink()
    (folder / "incast-run.json").write_text('{"format": 1}')
    series = pl.read_parquet(folder / "ports_series")
    (part,) = (folder / "ports_series").iterdir()
    series.filter(pl.col("time_ps") < pl.max("time_ps") // 2).write_parquet(part)
    with served(folder) as address:
        page = browser.new_context().new_page()
        page.goto(address)
        page.get_by_text("the run is in progress").first.wait_for()
        time = page.locator("#time")

        def shows_end() -> bool:
            return bool(time.evaluate("(time) => time.value === time.max"))

        until(shows_end)
        shown = time.get_attribute("aria-valuetext")
        if not fails:
            time.press("Home")
        page.evaluate(HOLDS, [what, fails])
        shutil.copytree(long, folder, dirs_exist_ok=True)
        until(lambda: page.evaluate("window.holding"))
        if not fails:
            time.press("End")
        page.evaluate("release()")
        page.get_by_text("the run is in progress").first.wait_for(state="detached")
        until(lambda: shows_end() and time.get_attribute("aria-valuetext") != shown, limit_s=30)


def test_the_command_refuses_what_is_no_folder(tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["view", str(tmp_path / "none")])
    assert said.exit_code == 2
    assert "does not exist" in said.output


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> incast.Result:
    """A run with several hundred samples of each port."""
    folder = tmp_path_factory.mktemp("sampled")
    jobs = [{**SMALL["jobs"][0], "size": "200kB"}]
    scenario = {**SMALL, "jobs": jobs, "measure": {"interval": "200ns"}}
    return incast.run(written(folder, scenario), folder / "out")


@pytest.mark.parametrize("computed", [False, True], ids=["written", "computed"])
def test_a_pyramid_has_the_extremes_and_sums_of_the_samples(
    sampled: incast.Result, tmp_path: Path, computed: bool
) -> None:
    from incast.view.pyramid import MEASURES, Stored

    folder = shutil.copytree(sampled.path, tmp_path / "out")
    if computed:
        shutil.rmtree(folder / LEVELS)
    pyramid = Stored.of(folder)
    assert len(pyramid.levels) > 2
    assert pyramid.levels[0].step_ps == 200_000
    series = sampled.ports_series.filter(pl.col("class").is_null())
    port = str(series.sort("queue_bytes", descending=True)["port"][0])
    own = series.filter(pl.col("port") == port)
    at = pyramid.ports.index(port)
    for level, of in enumerate(pyramid.levels):
        cells = dict(zip(MEASURES, pyramid.cells(level, 0, of.steps)[:, :, at], strict=True))
        steps = own.group_by((pl.col("time_ps").cast(pl.Int64) - 1) // of.step_ps).agg(
            pl.min("queue_bytes").alias("least"), pl.max("queue_bytes").alias("most"), pl.sum("sent_bytes")
        )
        for step, least, most, sent in steps.rows():
            assert (cells["queue_min"][step], cells["queue"][step]) == (least, most)
            assert cells["sent"][step] == pytest.approx(sent)
        assert cells["drops"].sum() == own["drops"].sum()
    assert pyramid.notes == []


def test_levels_that_are_missing_are_those_that_the_core_writes(sampled: incast.Result) -> None:
    from incast.view.sampled import levels

    for file in (sampled.path / "ports_series").iterdir():
        assert levels(file, (0, 0), 200_000) == (sampled.path / LEVELS / file.name).read_bytes()


def test_the_first_picture_of_a_run_needs_none_of_its_samples(sampled: incast.Result, tmp_path: Path) -> None:
    folder = shutil.copytree(sampled.path, tmp_path / "out")
    for file in (folder / "ports_series").iterdir():
        file.write_bytes(b"these are not read")
    with served(folder) as address:
        run = runs_name(address, 0)
        said = json.loads(asked(f"{address}ask/samples?run={run}")[1])
        coarsest = len(said["levels"]) - 1
        status, cells = asked(f"{address}ask/cells?run={run}&level={coarsest}&first=0&count=128")
        assert (status, said["notes"]) == (200, [])
        queues = np.frombuffer(cells, "<f4").reshape(5, -1, said["count"])[0]
        assert queues.max() == sampled.ports_series["queue_bytes"].max()
        # Its samples themselves are asked for later, and missed then.
        assert asked(f"{address}ask/cells?run={run}&level=0&first=0&count=9")[0] == 200
        assert "could not be read" in str(json.loads(asked(f"{address}ask/samples?run={run}")[1])["notes"])


def test_parts_without_levels_are_seen_too(sampled: incast.Result, tmp_path: Path) -> None:
    """A run in progress whose last part has no levels yet, and one with levels that are damaged."""
    from incast.view.pyramid import Stored

    folder = shutil.copytree(sampled.path, tmp_path / "out")
    (part,) = (folder / "ports_series").iterdir()
    rows = pl.read_parquet(part)
    half = rows["time_ps"].unique().sort()[rows["time_ps"].n_unique() // 2]
    rows.filter(pl.col("time_ps") <= half).write_parquet(part)
    rows.filter(pl.col("time_ps") > half).write_parquet(part.with_name("part-00001.parquet"))
    (folder / LEVELS / part.name).write_bytes(b"PAR1 cut off")
    pyramid = Stored.of(folder)
    whole = Stored.of(sampled.path)
    assert (pyramid.levels, set(pyramid.ports)) == (whole.levels, set(whole.ports))
    order = [pyramid.ports.index(port) for port in whole.ports]
    for level, of in enumerate(whole.levels):
        np.testing.assert_array_equal(
            pyramid.cells(level, 0, of.steps)[:, :, order], whole.cells(level, 0, of.steps)
        )


def test_a_result_plays_itself_back_in_a_notebook(browser: Any, runs: Path) -> None:
    """The module that a notebook loads, with the notebook's channel between it and Python."""
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    from incast.view.widget import View

    bundle = incast.Result(str(runs / "one"))._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in (bundle[0] if isinstance(bundle, tuple) else bundle)
    view = View([runs])
    answers: list[Any] = []
    view.send = lambda content, buffers=(): answers.append([content, [list(b) for b in buffers]])

    def ask(content: dict[str, Any]) -> Any:
        view._asked(view, content, [])
        return answers.pop()

    page = browser.new_page()
    page.expose_function("ask", ask)
    page.set_content(f"<style>{view._css}</style><div id='cell'></div><div id='next'></div>")
    page.evaluate(
        """async (text) => {
          const module = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
          for (const el of document.querySelectorAll("div")) {
            let hear;
            const model = {
              on: (_, call) => { hear = call; },
              send: async (content) => {
                const [reply, buffers] = await ask(content);
                hear(reply, buffers.map((each) => new DataView(Uint8Array.from(each).buffer)));
              },
            };
            module.default.render({ model, el });
          }
        }""",
        str(view._esm),
    )
    cell = page.locator("#cell")
    cell.locator("table tbody tr button").first.click()
    cell.locator(".follows .chart canvas").first.wait_for()
    cell.get_by_role("button", name="Play", exact=True).click()
    cell.get_by_role("button", name="Pause").wait_for()
    page.locator("#next table tbody tr button").first.wait_for()
    ids = page.evaluate("[...document.querySelectorAll('.incast-view [id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids)) > 10


def test_hosts_are_known_before_a_run_ends_whatever_is_sampled(tmp_path: Path) -> None:
    from incast.view.places import Place
    from incast.view.simulated import Simulated

    measured = {**SMALL, "measure": {"interval": "10us", "ports": ["switch0:host*"]}}
    out = tmp_path / "out"
    words = ["run", str(written(tmp_path, measured)), "--out", str(out), "--no-report"]
    assert CliRunner().invoke(app, words).exit_code == 0
    whole = Simulated(Place("out", out)).graph
    shutil.rmtree(out / "ports")
    before = Simulated(Place("out", out)).graph
    assert {name for name, tier in whole.tiers.items() if tier == 0} == {f"host{n}" for n in range(4)}
    assert before.tiers == whole.tiers
    assert len(before.ports) == len(whole.ports) / 2
