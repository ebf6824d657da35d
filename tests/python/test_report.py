"""The report: what it says, what it survives, that it is the same every time, and that names stay text."""

import base64
import gzip
import json
import re
import shutil
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import incast
from incast import text
from incast.cli.app import app
from incast.report import write, write_comparison
from incast.report.load import load
from incast.view.modules import joined
from report_data import (
    COMPRESSION,
    DCTCP,
    DEEP,
    MS,
    SHALLOW,
    Behaviour,
    dumbbell,
    fat_tree,
    leaf_spine,
    ring,
    write_choices,
    write_run,
    write_table,
)

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'\u2028"


def text_of(page: Path) -> str:
    """What a reader sees of the page, without scripts, styles and tags."""
    html = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.S)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.replace("<wbr>", "")))
    return re.sub(r" ([.,:;)])", r"\1", words.replace("( ", "("))


def data_of(page: Path) -> dict[str, list[dict[str, object]]]:
    """The data that the page's script draws charts from."""
    content: dict[str, list[dict[str, object]]] = unpacked(page, "data")
    return content


def unpacked(page: Path, name: str) -> Any:
    """What a page has packed under this name."""
    found = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page.read_text("utf-8"))
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def edit(folder: Path, name: str, *columns: pl.Expr) -> None:
    """Changes columns of a table."""
    file = folder / name / "part-00000.parquet"
    pl.read_parquet(file).with_columns(*columns).write_parquet(file, compression=COMPRESSION)


def leave_unfinished(folder: Path, count: int) -> None:
    """Takes the end from so many flows, and from the jobs."""
    late = pl.col("flow") < count
    outcome = pl.col("outcome").cast(pl.String)
    edit(
        folder,
        "flows",
        pl.when(late).then(None).otherwise("end_ps").alias("end_ps"),
        pl.when(late).then(pl.lit("unfinished")).otherwise(outcome).alias("outcome"),
    )
    edit(folder, "jobs", pl.lit(None, pl.Int64).alias("end_ps"))


def test_the_best_choice_is_named_with_its_lead_and_the_reason(tmp_path: Path) -> None:
    page = text_of(write(write_choices(tmp_path)))
    done = {run.name: run.summary["done_ps"] for run in load(tmp_path).runs}
    behind = done["deep"] / done["shallow-ecn-dctcp"] - 1
    assert "shallow-ecn-dctcp finishes all jobs first, after 14.6 ms" in page
    assert f"With deep it takes {behind * 100:.0f} % longer and with shallow" in page
    assert "What sets shallow apart: 8 flows that waited for the retransmission timer" in page
    assert "What sets deep apart: data waits longer in its switches" in page
    assert "Switches marked" in page
    assert "switches[*].buffer.size" in page


def test_choices_that_do_not_differ_are_called_equal(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, DCTCP)
    page = text_of(write(tmp_path))
    assert "The choices are alike by all jobs done" in page
    assert "apart" not in page


def test_the_better_choice_by_another_measure_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "fast", Behaviour(queue_bytes=30_000_000))
    write_run(tmp_path / "short", Behaviour(queue_bytes=100_000, slower=1.5))
    page = text_of(write(tmp_path))
    assert "fast finishes all jobs first" in page
    assert "Better than fast: short by longest queue (96.8 kB against 29 MB)." in page


def test_a_choice_that_did_not_finish_is_never_best(tmp_path: Path) -> None:
    write_run(tmp_path / "good", DEEP)
    bad = write_run(tmp_path / "bad", DCTCP)
    leave_unfinished(bad, 7)
    page = text_of(write(tmp_path))
    assert "Only good finished: all jobs were done after 16.7 ms" in page
    assert "Not everything finished: bad (7 of 400 flows)" in page
    assert "not done" in page
    assert "Better than good" not in page
    assert "A curve that ends below 100 %" in page


def test_finished_choices_are_compared_without_the_unfinished(tmp_path: Path) -> None:
    for choice, behaviour in (("good", DEEP), ("slow", SHALLOW), ("bad", DCTCP)):
        write_run(tmp_path / choice, behaviour)
    leave_unfinished(tmp_path / "bad", 7)
    page = text_of(write(tmp_path))
    assert "good finishes all jobs first, after 16.7 ms. With slow it takes 12.5 times as long." in page


def test_one_run_says_where_data_waited_and_what_was_lost(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SHALLOW)
    page = text_of(write(folder))
    ports = pl.read_parquet(folder / "ports" / "*.parquet")
    hottest = (
        ports.filter(pl.col("kind").cast(pl.String) == "switch")
        .sort("queue_max_bytes")["port"]
        .to_list()[-3:]
    )
    said = re.search(r"Data waited longest at (\S+): ", page)
    assert said
    assert said[1] in hottest
    dropped = f"{ports['out_discards'].sum():,}".replace(",", " ")
    assert f"{dropped} packets dropped, by a full shared buffer" in page
    assert "Choices" not in page


def test_open_loop_jobs_are_compared_by_their_slow_flows(tmp_path: Path) -> None:
    for name, behaviour in (("a", DEEP), ("b", DCTCP)):
        edit(write_run(tmp_path / name, behaviour), "jobs", pl.lit("load").alias("kind"))
    page = text_of(write(tmp_path))
    assert "b has the shortest FCT p99: 8.49 ms. With a it is 20 % longer." in page


def test_seeds_are_averaged_and_uncertain_leads_are_no_leads(tmp_path: Path) -> None:
    listed = []
    for name, behaviour in (("a", DCTCP), ("b", Behaviour(slower=1.02)), ("c", DEEP)):
        runs = [write_run(tmp_path / name / f"seed-{s}", behaviour, seed=s) for s in (1, 2, 3)]
        listed.append({"name": name, "folder": f"{name}/seed-1", "runs": [f"{name}/{r.name}" for r in runs]})
    for run, extra in zip(("a/seed-1", "a/seed-2", "a/seed-3"), (0, 2 * MS, 0), strict=True):
        edit(tmp_path / run, "jobs", pl.col("end_ps") + extra)
    (tmp_path / "summary.json").write_text(json.dumps({"name": "seeds", "choices": listed}))
    done = [[run.summary["done_ps"] for run in runs] for runs in load(tmp_path).choices]
    means = [geometric_mean(each) for each in done]
    page = text_of(write(tmp_path))
    assert (
        f"b finishes all jobs first, after {text.time(means[1])}, but 3 seeds do not tell a from b." in page
    )
    assert f"With c it takes {100 * means[2] / means[1] - 100:.0f} % longer (95 % interval: " in page
    assert "in 3 of 3 seeds" in page
    assert re.search(r"Some \d+ seeds would \(--seeds \d+\)", page)
    assert f"a {text.time(means[0])} (+{100 * means[0] / means[1] - 100:.1f} %)" in page


def test_one_scenario_with_several_seeds(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / f"seed-{seed}", DEEP, seed=seed).name for seed in (1, 2)]
    listed = [{"name": "", "folder": runs[0], "runs": runs}]
    (tmp_path / "summary.json").write_text(json.dumps({"name": "seeds", "choices": listed}))
    page = text_of(write(tmp_path))
    assert "All jobs were done after 17 ms, the mean of 2 seeds (16.7 ms to 17.3 ms)." in page
    assert "Of the first seed, which is drawn." in page


@pytest.mark.parametrize(
    "links",
    [
        leaf_spine(2, 1, 1),
        leaf_spine(2, 3, 2, parallel=2),
        leaf_spine(8, 16, 4),
        dumbbell(4),
        fat_tree(8),
        ring(6, 3),
    ],
    ids=["four", "parallel", "leaf-spine", "dumbbell", "fat-tree", "ring"],
)
def test_every_link_direction_is_drawn_once_with_its_load(
    tmp_path: Path, links: list[tuple[str, str, int]]
) -> None:
    page = write(write_run(tmp_path, DCTCP, links=links, samples=10))
    (net,) = unpacked(page, "nets")
    names = net["links"]
    nodes = {name for a, b, _ in links for name in (a, b)}
    for picture in net["pictures"]:
        assert [edge["subjects"] for edge in picture["edges"]] == [[n] for n in range(len(names))]
    assert len(net["runs"]["0"]["loads"]) == len(names)
    if len(nodes) <= 200:
        assert len(names) == 2 * len(links)
    else:
        assert "drawn in groups" in text_of(page)


def test_networks_are_drawn_by_the_modules_of_the_view(tmp_path: Path) -> None:
    page = write(write_run(tmp_path, samples=10)).read_text("utf-8")
    assert joined("totals") in page
    assert "class Network {" in page


def test_figures_that_a_summary_lacks_come_from_the_tables(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SHALLOW)
    said = load(folder).runs[0].summary
    flows, ports = (pl.read_parquet(folder / t / "*.parquet") for t in ("flows", "ports"))
    times = flows["end_ps"] - flows["start_ps"]
    assert said["flows"]["fct_p99_ps"] == int(times.quantile(0.99, "linear") or 0)
    assert said["flows"]["fct_p50_ps"] == times.median()
    assert said["flows"]["timeouts"] == flows["timeouts"].sum()
    assert said["ports"]["drops"] == ports["out_discards"].sum()
    assert said["done_ps"] == flows["end_ps"].max()


def test_names_stay_text_wherever_they_come_from(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "x", SHALLOW, links=[(f"h{i}{EVIL}", f"s{EVIL}", 10**10) for i in range(4)], name=EVIL
    )
    edit(folder, "jobs", pl.lit(EVIL).alias("job"))
    edit(folder, "flows", pl.lit(EVIL).alias("job"))
    edit(folder, "events", pl.lit(EVIL).alias("what"))
    (folder / "scenario.yaml").write_text(json.dumps({"description": EVIL}))
    summary = {
        "name": EVIL,
        "error": EVIL,
        "thresholds": [{"text": EVIL, "value": 1, "holds": False}],
        "evil": {EVIL: EVIL},
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    page = write(folder)
    html = page.read_text(encoding="utf-8")
    assert "<img src=x" not in html
    assert "alert(1)</script>" not in html
    assert len(re.findall(r"<script\b", html)) == html.count("</script>") == 6
    for name in ("data", "nets"):
        assert EVIL in json.dumps(unpacked(page, name), ensure_ascii=False).replace('\\"', '"')


def test_the_same_tables_give_the_same_bytes(tmp_path: Path) -> None:
    write_choices(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b" / "a")
    first = write(tmp_path / "a").read_bytes()
    assert write(tmp_path / "a").read_bytes() == first
    assert write(tmp_path / "b" / "a").read_bytes() == first


@pytest.mark.parametrize(
    "missing", ["jobs", "flows", "ports", "waits", "ports_series", "events", "datagrams"]
)
def test_a_missing_table_is_named_and_the_rest_is_there(tmp_path: Path, missing: str) -> None:
    folder = write_run(tmp_path, SHALLOW)
    shutil.rmtree(folder / missing)
    page = text_of(write(folder))
    if missing not in ("events", "datagrams"):
        assert f"Not recorded: {missing}." in page
    assert "Flow completion" in page
    assert "9f3c2a17be55d001" in page


def test_an_interrupted_run_without_a_summary_has_a_report(tmp_path: Path) -> None:
    folder = write_run(tmp_path, SHALLOW)
    (folder / "summary.json").unlink()
    (folder / "flows" / "part-00001.parquet").write_bytes(b"PAR1 cut off")
    page = text_of(write(folder))
    assert "There is no summary.json: the run did not come to its end." in page
    assert "flows/part-00001.parquet could not be read" in page
    assert re.search(r"Totals of the whole run are missing: \S*flows/part-00001.parquet\b", page)
    assert "Half of its 400 flows completed within" in page


def test_choices_of_long_traces_differ_by_a_digest(tmp_path: Path) -> None:
    for name in "ab":
        rows = (f"{at},host{at % 2},host2,{len(name) + at % 7 + ord(name)}" for at in range(1500))
        (tmp_path / f"{name}.csv").write_text("\n".join(["at_us,from,to,bytes", *rows]))
    scenario = {
        "name": "traces",
        "topology": {"kind": "single-switch", "hosts": 3, "host_link": {"rate": "10Gbps"}},
        "jobs": [{"name": "job", "kind": "replay", "trace": "a.csv"}],
        "choices": {"a": {}, "b": {"jobs": [{"name": "job", "kind": "replay", "trace": "b.csv"}]}},
    }
    (tmp_path / "scenario.yaml").write_text(json.dumps(scenario))
    incast.run(tmp_path / "scenario.yaml", out=tmp_path / "out")
    page = text_of(write(tmp_path / "out"))
    assert len(set(re.findall(r"\bdigest [0-9a-f]{8}\b", page))) == 2
    assert not re.search(r"\w{1000}", page)


def test_a_run_without_flows_series_drops_and_marks(tmp_path: Path) -> None:
    folder = write_run(tmp_path, Behaviour(), flows=0, samples=0)
    write_table(folder, "flows", [])
    write_table(folder, "waits", [])
    page = text_of(write(folder))
    assert "No queue over time" in page
    assert "No flow finished." in page
    assert "No waiting times of switch ports were recorded." in page
    assert "No packet was dropped." in page


def test_a_run_in_which_no_flow_finished(tmp_path: Path) -> None:
    folder = write_run(tmp_path, DEEP)
    edit(folder, "flows", pl.lit(None, pl.Int64).alias("end_ps"), pl.lit("unfinished").alias("outcome"))
    edit(folder, "jobs", pl.lit(None, pl.Int64).alias("end_ps"))
    page = text_of(write(folder))
    assert "None of the 400 flows finished." in page
    assert "No flow finished." in page


def test_one_choice_alone_is_reported(tmp_path: Path) -> None:
    write_run(tmp_path / "only", DEEP)
    page = text_of(write(tmp_path))
    assert "All jobs were done after 16.7 ms." in page


def test_results_of_different_runs_are_compared_on_a_page(tmp_path: Path) -> None:
    write_run(tmp_path / "old", DEEP)
    write_choices(tmp_path / "new")
    sides = [str(tmp_path / name) for name in ("old", "new/shallow")]
    page = tmp_path / "page.html"
    said = CliRunner().invoke(app, ["compare", *sides, "--report", str(page)])
    assert said.exit_code == 0
    assert f"Report: {page}" in said.output.replace("\n", "")
    found = text_of(page)
    assert "old finishes all jobs first, after 16.7 ms. With shallow it takes 12.5 times as long." in found
    both = text_of(write_comparison({"old": tmp_path / "old", "new": tmp_path / "new"}, page))
    assert "new/shallow-ecn-dctcp finishes all jobs first" in both
    assert CliRunner().invoke(app, ["compare", *sides, "--report", str(tmp_path / "no" / "x")]).exit_code == 4


def test_many_choices_are_all_in_the_table(tmp_path: Path) -> None:
    for n in range(9):
        write_run(tmp_path / f"alpha{n}", Behaviour(slower=1 + n / 10), flows=60, samples=20)
    page = text_of(write(tmp_path))
    assert "alpha0 finishes all jobs first" in page
    assert all(f"alpha{n}" in page for n in range(9))
    assert "Charts show 6 of 9 choices" in page


def test_thresholds_stand_with_what_was_measured(tmp_path: Path) -> None:
    folder = write_run(tmp_path, DEEP)
    summary = json.loads((folder / "summary.json").read_text())
    summary["thresholds"] = [
        {"text": f"{figure} {bound}", "figure": figure, "value": value, "holds": holds}
        for figure, bound, value, holds in (
            ("jobs.shuffle.duration", "< 50ms", 16_700_000_000, True),
            ("ports.drops", "== 0", 12, False),
        )
    ]
    (folder / "summary.json").write_text(json.dumps(summary))
    page = text_of(write(folder))
    assert "jobs.shuffle.duration &lt; 50ms holds 16.7 ms" in page
    assert "ports.drops == 0 FAILS 12" in page


def test_the_overview_may_not_point_outside_its_folder(tmp_path: Path) -> None:
    write_run(tmp_path / "elsewhere", DEEP)
    folder = write_choices(tmp_path / "choices")
    runs = {"out": "../elsewhere", "deep": "deep"}
    listed = {"choices": [{"name": name, "folder": name, "runs": [run]} for name, run in runs.items()]}
    (folder / "summary.json").write_text(json.dumps(listed))
    report = load(folder)
    assert [run.name for run in report.runs] == ["deep"]
    assert report.notes == ("Choice out has no results.",)


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "absent"])
def test_a_folder_without_a_run_is_refused(tmp_path: Path, empty: bool) -> None:
    with pytest.raises(incast.ResultError):
        write(tmp_path if empty else tmp_path / "absent")


def test_marks_are_no_measure_of_better(tmp_path: Path) -> None:
    page = text_of(write(write_choices(tmp_path)))
    assert re.search(r" marks [\d ]+ 0 ", page)
    assert not re.search(r"Better than [^.]* by marks", page)


def test_a_page_stays_small(tmp_path: Path) -> None:
    folder = write_choices(tmp_path, links=leaf_spine(8, 16, 4), flows=2000, samples=20_000)
    assert write(folder).stat().st_size < 2_000_000


def charts_of(page: Path, name: str) -> list[dict[str, dict[str, list[object]]]]:
    """The data of the charts that have a data set or a mark of this name."""
    found = []
    for chart in data_of(page)["charts"]:
        spec, columns = chart["spec"], chart["columns"]
        assert isinstance(spec, dict)
        assert isinstance(columns, dict)
        names = {layer.get("name") for layer in spec.get("layer", [spec])}
        if name in names or name in columns:
            found.append(columns)
    return found


def test_flows_and_hosts_over_time_are_drawn_where_they_were_sampled(tmp_path: Path) -> None:
    page = write(write_run(tmp_path))
    assert "Congestion window and round-trip time" in text_of(page)
    assert "The 5 slowest of 6 sampled flows." in text_of(page)
    windows, rtts, received, sent = charts_of(page, "lines")[-4:]
    assert len(set(windows["points"]["name"])) == 5
    assert max(map(float, rtts["points"]["y"])) == pytest.approx(90)  # type: ignore[arg-type]
    assert set(received["points"]["y"]) == {2.4}
    assert set(sent["points"]["y"]) == {1.6}


def test_what_was_not_sampled_has_no_section(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    for name in ("flows_series", "hosts_series"):
        shutil.rmtree(folder / name)
    assert "Flows and hosts over time" not in text_of(write(folder))


def test_of_other_seeds_one_at_a_time_is_in_memory_and_what_is_damaged_is_told_once(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_run(tmp_path / "only" / f"seed-{seed}", seed=seed)
    (tmp_path / "only" / "seed-2" / "flows" / "part-00001.parquet").write_bytes(b"PAR1 cut off")
    ((first, second),) = load(tmp_path).choices
    assert first.table("flows") is first.table("flows")
    assert second.table("flows") is not second.table("flows")
    told = "only, seed 2: flows/part-00001.parquet could not be read; its rows are missing here."
    assert text_of(write(tmp_path)).count(told) == 1


def test_several_seeds_are_drawn_as_a_range(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_run(tmp_path / "only" / f"seed-{seed}", seed=seed)
    page = write(tmp_path)
    assert "Of the first seed." in text_of(page)
    assert "bands the range over 3 seeds" in text_of(page)
    flows = charts_of(page, "band")[0]["band"]
    assert all(low <= high for low, high in zip(flows["low"], flows["high"], strict=True))  # type: ignore[operator]
    assert any(low < high for low, high in zip(flows["low"], flows["high"], strict=True))  # type: ignore[operator]
