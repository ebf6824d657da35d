"""What the report says of a job with tasks: how sure the lead is, where a choice falls behind, what is stuck."""

import json
from pathlib import Path

import polars as pl

from incast.report import write
from report_data import DEEP, MS, write_run, write_table, write_tasks
from test_report import edit, text_of


def job(folder: Path, **options: int | float) -> Path:
    write_run(folder, DEEP)
    write_tasks(folder, **options)  # type: ignore[arg-type]
    return folder


def test_a_choice_falls_behind_in_the_phase_that_is_slower(tmp_path: Path) -> None:
    job(tmp_path / "a")
    late = job(tmp_path / "b")
    # Everything from the reduces on comes 700 ms later; the maps are as in a.
    behind = pl.when(pl.col("kind").cast(pl.String) == "map").then(0).otherwise(700 * MS)
    edit(late, "tasks", pl.col("start_ps") + behind, pl.col("end_ps") + behind)
    edit(late, "jobs", pl.col("end_ps") + 700 * MS)
    page = text_of(write(tmp_path))
    assert "a finishes all jobs first" in page
    assert "b falls behind by 700 ms until its last shuffle ends (" in page
    assert "its last map ended at" in page


def test_choices_as_fast_in_every_phase_do_not_fall_behind(tmp_path: Path) -> None:
    job(tmp_path / "a")
    job(tmp_path / "b")
    assert "falls behind" not in text_of(write(tmp_path))


def test_one_seed_says_nothing_of_certainty(tmp_path: Path) -> None:
    job(tmp_path / "a")
    job(tmp_path / "b", slower=1.5)
    page = text_of(write(tmp_path))
    assert "interval" not in page[page.index("Answer") : page.index("Network and load")]


def test_stuck_tasks_are_in_the_headline(tmp_path: Path) -> None:
    job(tmp_path / "good")
    job(tmp_path / "bad", stuck=1)
    page = text_of(write(tmp_path))
    first = pl.read_parquet(tmp_path / "bad" / "tasks").filter(pl.col("end_ps").is_null()).sort("start_ps")
    host = first["host"].cast(pl.String)[0]
    headline = page[page.index("Answer") : page.index("Network and load")]
    assert "Only good finished" in headline
    assert f"bad did not finish: 2 tasks are stuck, among them shuffle 7 on {host} since" in headline


def test_a_single_run_that_is_stuck_says_so_first(tmp_path: Path) -> None:
    page = text_of(write(job(tmp_path, stuck=1)))
    assert "The run did not finish: 2 tasks are stuck, among them shuffle 7 on" in page


def test_the_flow_of_a_task_with_most_timeouts_is_named(tmp_path: Path) -> None:
    folder = job(tmp_path)
    flow = pl.read_parquet(folder / "flows").filter(pl.col("group") == 5).row(0, named=True)
    hit = pl.col("flow") == flow["flow"]
    edit(folder, "flows", pl.when(hit).then(3).otherwise("timeouts").alias("timeouts"))
    said = f"Hit hardest: {flow['from']} → {flow['to']} (64 MB, for map 4), "
    page = text_of(write(folder))
    assert said in page
    assert " with 3 timeouts" in page[page.index(said) :]


def test_background_lasts_as_long_as_the_run(tmp_path: Path) -> None:
    folder = write_run(tmp_path, DEEP)
    (folder / "summary.json").write_text(json.dumps({"seed": 1, "sim_time_ps": 2_000 * MS}))
    jobs = pl.read_parquet(folder / "jobs").to_dicts()
    row = {
        "job": "other",
        "kind": "background",
        "start_ps": 1_000 * MS,
        "end_ps": None,
        "flows": 0,
        "bytes": 0,
    }
    write_table(folder, "jobs", [*jobs, row])
    pair = {"job": "other", "from": "a", "to": "b", "sent_packets": 9, "received_packets": 9}
    write_table(folder, "datagrams", [pair | {"sent_bytes": 10**9, "received_bytes": 10**9}])
    assert "other background 1 s all the run 0 1 GB 8 Gb/s" in text_of(write(folder))


def test_hosts_that_differ_alike_are_one_row(tmp_path: Path) -> None:
    for name, ecn in (("a", "on"), ("b", "off")):
        folder = write_run(tmp_path / name, DEEP)
        scenario = json.loads((folder / "scenario.json").read_text())
        scenario["hosts"] = [
            {"pattern": f"host{n}", "config": {"tcp": {"ecn": ecn if n < 5 else "on"}}} for n in range(8)
        ]
        (folder / "scenario.json").write_text(json.dumps(scenario))
    page = text_of(write(tmp_path))
    assert "hosts[host0, host1 … host4].tcp.ecn on off" in page
    assert "host7" not in page[page.index("What the choices set") :][:400]
