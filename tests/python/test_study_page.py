"""The page of a study: what it says and draws, before and after its cells were run."""

from __future__ import annotations

import base64
import re
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from testkit.study import NO_TESTS

from incast.study import page
from incast.study.axes import joined
from incast.study.outcome import Outcome, collect
from incast.study.page import pictures
from incast.study.run import run_study
from incast.study.study import Study
from studies import SMALL, refused, study
from test_report import data_of, text_of

EVIL = "</script><script>alert(1)</script>"
DRAWN: dict[str, Any] = {
    **deepcopy(SMALL),
    "base": {**SMALL["base"], "measure": {"interval": "10us", "ports": ["switch0:*"]}},
    "bars": [
        {
            "id": "times",
            "place": "page 4",
            "text": "deep or shallow",
            "cells": ["deep|shallow"],
            "panels": ["rounds"],
            "claims": ["S1"],
        }
    ],
    "pictures": [
        {
            "id": "queue",
            "place": "page 5",
            "text": f"the receiver's queue {EVIL}",
            "cells": ["deep|shallow/two"],
            "ports": ["switch0:host*"],
            "show": ["drops", "queue", "latency", "pause"],
        },
        {"id": "other", "place": "page 6", "cells": ["one"], "ports": ["switch9:*"], "show": ["queue"]},
    ],
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study(tmp_path_factory.mktemp("page") / "study", DRAWN)


@pytest.fixture(scope="module")
def out(found: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cells with two seeds."""
    folder = tmp_path_factory.mktemp("page") / "results"
    run_study(found, folder, cells=found.cells, seeds=[1, 2], jobs=2)
    return folder


@pytest.fixture(scope="module")
def written(found: Study, out: Path) -> Path:
    return page.write(collect(found, out), out)


def panels(file: Path, name: str) -> list[dict[str, Any]]:
    """The charts that have a layer of this name."""
    charts: list[dict[str, Any]] = data_of(file)["charts"]
    return [each for each in charts if name in str(each["spec"])]


def test_ours_stand_beside_the_published_figures(found: Study, out: Path, written: Path) -> None:
    text = text_of(written)
    (row,) = [each for each in collect(found, out).rows if each.cell.name == "deep/two"]
    assert row.difference is not None
    assert (
        f"deep/two 600 µs {found.figures['time'].metric.text(sum(row.figures['time'].values()) / 2)}" in text
    )
    assert f"{row.difference:+.1%}" in text
    assert "were not run" not in text
    for head in ("95 % interval", "Packet-hops", "CPU time", "Memory"):
        assert head in text


def test_claims_stand_beside_what_they_are_read_off(found: Study, out: Path, written: Path) -> None:
    text = text_of(written)
    (verdict,) = [each.verdict for each in collect(found, out).findings if each.claim.id == "S1"]
    title, claim = text.index("deep or shallow"), f"S1 Deep buffers drop less. {verdict}"
    assert text.index(claim) > title
    assert text.count(claim) == 2
    assert 'href="#S1"' in written.read_text("utf-8")


def test_bars_have_both_sides_and_the_interval(found: Study, out: Path, written: Path) -> None:
    one, two = panels(written, "xOffset")
    assert one["columns"]["bars"]["label"] == ["deep", "deep", "shallow", "shallow"]
    assert one["columns"]["bars"]["who"] == ["published", "ours"] * 2
    assert two["columns"]["bars"]["y"][0] == 0.6
    rows = {row.cell.name: row for row in collect(found, out).rows}
    times = rows["shallow/two"].figures["time"].values()
    assert two["columns"]["bars"]["y"][3] == pytest.approx(sum(times) / 2e9, rel=1e-3)
    assert (
        two["columns"]["bars"]["low"][3]
        <= two["columns"]["bars"]["y"][3]
        <= two["columns"]["bars"]["high"][3]
    )
    assert (
        one["spec"]["layer"][0]["encoding"]["y"]["scale"] == two["spec"]["layer"][0]["encoding"]["y"]["scale"]
    )


def test_counts_are_those_of_the_first_seeds_tables(out: Path, written: Path) -> None:
    drops = panels(written, "queue drops")
    assert len(drops) == 2
    scales = [each["spec"]["layer"][0]["encoding"]["y"]["scale"] for each in drops]
    assert scales[0] == scales[1]
    assert set(drops[0]["columns"]["points"]["y"]) == {0}
    per_ms, times = drops[1]["columns"]["points"]["y"], drops[1]["columns"]["points"]["t"]
    title = drops[1]["spec"]["layer"][0]["encoding"]["y"]["title"]
    seconds = {"ms": 1e-3, "µs": 1e-6, "s": 1}
    unit = re.search(r"packets/(\w+)", title)
    time = re.search(r"\((\w+)\)", drops[1]["spec"]["layer"][0]["encoding"]["x"]["title"])
    assert unit
    assert time
    spans = [b - a for a, b in zip([0, *times], times, strict=False)]
    counted = sum(rate * span for rate, span in zip(per_ms, spans, strict=True))
    # The axis ends where the longest run is twice the shortest.
    series = pl.read_parquet(out / "runs/buffer=shallow/rounds=two/seed=1/ports_series/*.parquet")
    shown = pl.col("time_ps") <= times[-1] * seconds[time[1]] * 1e12 * 1.000001
    dropped = series.filter(pl.col("port").str.starts_with("switch0:host"), shown)["drops"].sum()
    assert dropped > 0
    assert counted * seconds[time[1]] / seconds[unit[1]] == pytest.approx(dropped, rel=0.02)


def test_the_longest_queue_is_drawn_with_a_band_under_it(out: Path, written: Path) -> None:
    deep, _ = panels(written, "queue length")
    series = pl.read_parquet(out / "runs/buffer=deep/rounds=two/seed=1/ports_series/*.parquet")
    longest = series.filter(pl.col("port").str.starts_with("switch0:"))["queue_bytes"].max()
    title = deep["spec"]["layer"][1]["encoding"]["y"]["title"]
    scale = {"kB": 1e3, "MB": 1e6, "B": 1}[title.rpartition("(")[2].rstrip(")")]
    assert max(deep["columns"]["points"]["y"]) * scale == pytest.approx(longest, rel=1e-3)
    band = deep["columns"]["band"]
    assert all(low <= high for low, high in zip(band["low"], band["high"], strict=True))
    assert len(band["t"]) <= pictures._BUCKETS + 1


def test_what_can_not_be_drawn_is_said(written: Path) -> None:
    text = text_of(written)
    assert "Zero all the time: PAUSE sent." in text
    assert "No samples of switch9:* in deep/one and shallow/one" in text


def test_claims_are_there_by_place_with_verdicts(written: Path) -> None:
    text = text_of(written)
    for words in ("Page 1", "S1 Deep buffers drop less. holds (2 of 2)", "Page 3", "Nobody knows."):
        assert words in text
    html = written.read_text("utf-8")
    assert re.findall(r'data-verdict="(\w+)"', html) == ["holds", "fails", "untested"]
    assert set(re.findall(r'name="verdict" value="(\w*)"', html)) == {"", "holds", "fails", "untested"}


def test_names_stay_text(written: Path) -> None:
    html = written.read_text("utf-8")
    assert EVIL not in html
    assert "default-src 'none'" in html


def test_the_same_runs_give_the_same_bytes(found: Study, out: Path, written: Path) -> None:
    before = written.read_bytes()
    assert page.write(collect(found, out), out).read_bytes() == before


def test_before_anything_was_run_the_page_says_which_command_runs_it(found: Study, tmp_path: Path) -> None:
    text = text_of(page.write(collect(found, tmp_path), tmp_path))
    run = f"incast study run {found.folder}"
    assert "Nothing was run yet." in text
    assert f"4 of 4 cells were not run. To run what is missing: {run} --out {tmp_path}" in text
    assert (
        f"Not run here: deep/two and shallow/two. To run what is missing: {run} --cells two --seeds 1" in text
    )
    assert f"Not run: {run} --out {tmp_path}" in text


def test_a_part_of_the_cells_is_drawn(found: Study, out: Path, tmp_path: Path) -> None:
    place = tmp_path / "part"
    shutil.copytree(out, place)
    shutil.rmtree(place / "runs/buffer=shallow")
    file = page.write(collect(found, place), place)
    assert "2 of 4 cells were not run" in text_of(file)
    assert "Not run here: shallow/two." in text_of(file)
    assert len(panels(file, "queue length")) == 1


def test_svg(found: Study, out: Path, tmp_path: Path) -> None:
    written = page.write_svg(collect(found, out), out, tmp_path / "svg")
    assert [each.name for each in written] == ["times.svg", "queue.svg"]
    assert "published" in written[0].read_text("utf-8")
    for each in written:
        text = each.read_text("utf-8")
        assert text.startswith("<svg")
        assert "var(" not in text


def test_each_panel_of_an_svg_has_its_own_data(found: Study, out: Path, tmp_path: Path) -> None:
    _, queue = page.write_svg(collect(found, out), out, tmp_path / "svg")
    lines = re.findall(r'<path[^>]* d="([^"]+)"[^>]*stroke="#0072b2"', queue.read_text("utf-8"))
    assert len(lines) == 6

    def heights(path: str) -> set[str]:
        return set(re.findall(r",([\d.]+)", path))

    deep, shallow = lines[:2]
    assert len(heights(deep)) == 1  # drops nothing
    assert len(heights(shallow)) > 5
    assert lines[2] != lines[3]


def test_a_study_without_published_figures(tmp_path: Path) -> None:
    content = {k: v for k, v in deepcopy(DRAWN).items() if k not in ("published", "bars")}
    for values in content["axes"].values():
        for value in values.values():
            value.pop("published", None)
    bare = study(
        tmp_path / "study",
        content,
        'document = "x"\n[[claim]]\nid = "1"\nkind = "question"\nplace = "page 1"\ntext = "?"\nreason = "open"\n',
    )
    text = text_of(page.write(Outcome(bare, [], [], [], []), tmp_path))
    assert "Nothing was run yet." in text
    assert "Published" not in text


@pytest.mark.parametrize(
    ("section", "change", "said"),
    [
        ("bars", {"cells": ["dep"]}, "'dep' is not a value of an axis. Did you mean 'deep'?"),
        ("bars", {"panels": ["round"]}, "'round' is not an axis of the study. Did you mean 'rounds'?"),
        ("bars", {"claims": ["S9"]}, "'S9' is not a claim's id."),
        ("bars", {"id": "queue"}, "'queue' is there twice: ids must differ"),
        ("bars", {"cells": []}, "at least 1"),
        ("pictures", {"show": ["lenght"]}, "queue"),
        ("pictures", {"show": []}, "at least 1"),
        ("pictures", {"ports": []}, "at least 1"),
        ("pictures", {"ports": None}, "either ports or servers"),
        ("pictures", {"servers": ["host0"]}, "either ports or servers"),
        ("pictures", {"ports": None, "servers": ["host0"], "show": ["pause"]}, "'pause' is not known of"),
        ("pictures", {"show": ["sleeps"]}, "'sleeps' is not known of ports"),
        ("pictures", {"colour": "red"}, "'colour' is not a field here"),
    ],
)
def test_what_can_not_be_meant_is_refused(
    tmp_path: Path, section: str, change: dict[str, Any], said: str
) -> None:
    content = deepcopy(DRAWN)
    content[section][0] |= change
    problems = refused(tmp_path, content)
    assert any(said in each.message for each in problems), [str(each) for each in problems]
    assert all(each.line and each.path.startswith(("bars", "pictures")) for each in problems)


def test_bars_need_published_figures(tmp_path: Path) -> None:
    content = deepcopy(DRAWN)
    del content["published"]
    (problem,) = refused(tmp_path, content)
    assert "nothing to compare with" in problem.message


def test_images_are_on_the_page_as_they_are(tmp_path: Path) -> None:
    folder, drawing = (
        tmp_path / "study",
        f"<svg xmlns='http://www.w3.org/2000/svg'><title>{EVIL}</title></svg>",
    )
    folder.mkdir()
    (folder / "trees.svg").write_text(drawing, "utf-8")
    image = {
        "file": "trees.svg",
        "place": "page 7",
        "text": f"trees {EVIL}",
        "command": "incast broadcast plan",
    }
    file = page.write(collect(study(folder, {**DRAWN, "images": [image]}), tmp_path), tmp_path)
    assert "Page 7: trees" in text_of(file)
    assert "Drawn by incast broadcast plan" in text_of(file)
    written = file.read_text("utf-8")
    assert f'src="data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}"' in written
    assert EVIL not in written


@pytest.mark.parametrize("name", ["nowhere.svg", "../trees.svg", "trees.png", "large.svg"])
def test_images_that_can_not_be_shown_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "large.svg").write_bytes(b" " * 2_000_001)
    (problem,) = refused(tmp_path, {**DRAWN, "images": [{"file": name, "place": "page 7"}]})
    assert problem.path == "images[0].file"
    assert problem.line


def test_cells_are_named_by_a_short_selection(found: Study) -> None:
    def named(*selections: str) -> list[str]:
        return joined(found.select(selections, "test"), found.cells, found.axes)

    assert named("deep|shallow") == [""]
    assert named("two") == ["two"]
    assert named("deep/one") == ["deep/one"]
    assert named("deep/one", "shallow/two") == ["deep/one", "shallow/two"]


WALKED: dict[str, Any] = {
    "name": "walked",
    "base": {
        "name": "walked",
        "topology": {"kind": "single-switch", "hosts": 3, "host_link": {"rate": "10Gbps"}},
        "host": {"cores": 2},
        "jobs": [
            {
                "name": "walks",
                "kind": "walk",
                "graph": {"kind": "sbm", "sizes": [20, 20, 20], "inside": 0.3, "between": 0.2},
                "walks": 200,
                "retry": "fresh",
            }
        ],
        "measure": {"interval": "1ms"},
    },
    "axes": {
        "queue": {
            "red": {"set": {"jobs.walks.queue": {"kind": "red"}}},
            "tail": {"set": {"jobs.walks.queue": {"kind": "tail-drop"}}},
        }
    },
    "seeds": 1,
    "metrics": {"drops": {"table": "walks", "column": "drops_early"}},
    "pictures": [
        {
            "id": "walkers",
            "place": "page 1",
            "cells": ["red|tail"],
            "servers": ["host2"],
            "show": ["queue", "drops", "sleeps"],
        }
    ],
}


def test_walk_servers_are_drawn_by_their_queue_and_why_they_dropped(tmp_path: Path) -> None:
    walked = study(tmp_path / "study", WALKED, NO_TESTS)
    out = tmp_path / "results"
    run_study(walked, out, cells=walked.cells, seeds=[1], jobs=1)
    file = page.write(collect(walked, out), out)
    series = pl.read_parquet(out / "runs/queue=red/seed=1/walks_series/*.parquet").filter(
        pl.col("host") == "host2"
    )
    queues = panels(file, "queue of walkers")
    assert len(queues) == 2
    assert max(queues[0]["columns"]["points"]["y"]) == series["queue_max"].max()
    drops = panels(file, "drops (")
    assert len(drops) == 2
    names = set(drops[0]["columns"]["points"]["name"])
    assert "early, by RED's chance" in names
    assert len(panels(file, "sleeps (")) == 2
    assert "Of seed 1, 1 server (host2)." in text_of(file)
    (svg,) = page.write_svg(collect(walked, out), out, tmp_path / "svg")
    assert svg.read_text("utf-8").count("early, by RED") >= 2
