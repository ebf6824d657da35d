"""The timeline of a job: its tasks on their hosts, with the flows that they opened. A figure a run and job.

Bounded: bars that follow each other on a lane and are too short to be told apart are drawn as one, and of
very many hosts those with the most work are drawn. The figure says so.
"""

from dataclasses import dataclass

import polars as pl

from incast import text
from incast.lanes import lanes
from incast.report import gantt
from incast.report.foreground import completed
from incast.report.parts import Columns, Drawn, Figure, Key, Table, listed
from incast.report.run import Run

_BARS_MAX = 2500
_ROWS_MAX = 160
_FINEST = 2000  # the least bar, as a part of the time shown
_LEAD = 3  # the axis leaves out how only the first task ran, where that is more than such a part of the time
_OWN_TIME = 4  # runs whose lengths differ more than this don't share an axis


@dataclass(frozen=True)
class _Job:
    """A job's tasks in one run."""

    d: Drawn
    job: str
    tasks: pl.DataFrame
    begin: int
    end: int


def timelines(drawn: list[Drawn]) -> list[Figure]:
    """Each job's timeline, run by run, on the same axis where their lengths allow it."""
    found = [each for d in drawn for each in _jobs(d.run, d)]
    figures = []
    for job in dict.fromkeys(each.job for each in found):
        runs = [each for each in found if each.job == job]
        kinds = list(
            dict.fromkeys(kind for each in runs for kind in each.tasks["kind"].unique(maintain_order=True))
        )
        begin, end = min(each.begin for each in runs), max(each.end for each in runs)
        shared = end - begin <= _OWN_TIME * min(each.end - each.begin for each in runs)
        for each in runs:
            name = f"Job {job}, {each.d.run.name}" if len(drawn) > 1 else f"Job {job}"
            span = (begin, end) if shared else (each.begin, each.end)
            figures.append(_figure(name, each, kinds, span))
    return figures


def _jobs(run: Run, d: Drawn) -> list[_Job]:
    tasks = run.table("tasks").drop_nulls(["task", "job", "host", "kind", "start_ps"])
    if not tasks.height:
        return []
    late = run.table("jobs").select(pl.max_horizontal("start_ps", "end_ps").max()).item() or 0
    end = max(int(run.summary.get("sim_time_ps") or 0), late, *_ends(tasks))
    found = []
    for part in tasks.sort("start_ps", "task").partition_by("job", maintain_order=True):
        stuck = part["end_ps"].null_count() > 0
        last = end if stuck else _ends(part)[1]
        found.append(_Job(d, part["job"][0], part, _begin(part, last), last))
    return found


def _begin(tasks: pl.DataFrame, end: int) -> int:
    """Where the axis begins: at the first task, or at the second where that is long after."""
    first, second = tasks["start_ps"][0], tasks["start_ps"][min(1, tasks.height - 1)]
    begin: int = second if (second - first) * _LEAD > end - first else first
    return begin


def _ends(tasks: pl.DataFrame) -> tuple[int, int]:
    """When the first began, and when the last began or ended."""
    first, last = tasks["start_ps"].min(), tasks.select(pl.max_horizontal("start_ps", "end_ps").max()).item()
    assert isinstance(first, int)
    return first, max(last, first + 1)


def _figure(title: str, of: _Job, kinds: list[str], span: tuple[int, int]) -> Figure:
    placed = lanes(_with_flows(of), of.end)
    shown, said = _hosts(placed)
    bars, merged = _bars(shown, span)
    chart = gantt.gantt(bars, _places(shown), _phases(of, kinds), kinds, span)
    keys = tuple(Key(kind, index, block=True) for index, kind in enumerate(kinds))
    stuck = of.tasks["end_ps"].null_count()
    notes = [said, merged]
    first = of.tasks.row(0, named=True)
    if first["start_ps"] < span[0]:
        began = f"{first['kind'].capitalize()} {first['number']} began at {text.time(first['start_ps'])}"
        notes.append(f"{began}, long before the others: the axis begins with these.")
    if stuck:
        notes.append(f"{text.plural(stuck, 'task')} did not end: outlined, to the end of the run.")
    notes.append("The strip on top is each kind of task from its first start to its last end.")
    return Figure(title, (("", chart),), keys, " ".join(filter(None, notes)), _stuck(of) if stuck else None)


def _with_flows(of: _Job) -> pl.DataFrame:
    """The tasks with what their flows did: `flows`, `slowest`, `slowest_ps`, `again` (retransmissions)."""
    flows = of.d.run.table("flows").filter(pl.col("job") == of.job)
    took = (
        pl.when(completed())
        .then(pl.col("end_ps") - pl.col("start_ps"))
        .fill_null(of.end - pl.col("start_ps"))
    )
    found = (
        flows.with_columns(took=took)
        .sort("took", "flow", descending=[True, False])
        .group_by("group", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("flows"),
            (pl.col("from").first() + " → " + pl.col("to").first()).alias("slowest"),
            pl.col("took").first().alias("slowest_ps"),
            pl.col("retransmits").sum().alias("again"),
            pl.col("end_ps").null_count().cast(pl.Int64).alias("open"),
        )
    )
    return of.tasks.join(found, left_on="task", right_on="group", how="left")


def _hosts(placed: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The tasks of as many hosts as there is room for: unfinished ones first, then the most work."""
    hosts = (
        placed.group_by("host")
        .agg(
            pl.col("lane").max().alias("top"),
            pl.col("end_ps").null_count().alias("stuck"),
            (pl.col("stop_ps") - pl.col("start_ps")).sum().alias("work"),
        )
        .sort("stuck", "work", "host", descending=[True, True, False])
        .with_columns(rows=(pl.col("top") + 1).cum_sum())
    )
    kept = hosts.filter((pl.col("rows") <= _ROWS_MAX) | (pl.col("rows") == pl.col("rows").first()))["host"]
    names = sorted(kept.to_list(), key=text.natural_key)
    types = {"host": pl.Categorical, "place": pl.Int64}
    order = pl.DataFrame({"host": names, "place": range(len(names))}, schema_overrides=types)
    shown = placed.join(order, on="host").sort("place", "lane", "start_ps", "stop_ps", "task")
    left = hosts.height - len(names)
    return shown, f"{text.plural(left, 'host')} with less work left out." if left else ""


def _bars(shown: pl.DataFrame, span: tuple[int, int]) -> tuple[pl.DataFrame, str]:
    """Few enough bars: what is shorter than a step and follows its like within one is drawn with it."""
    if shown.height <= _BARS_MAX:
        return shown.with_columns(tasks=pl.lit(1, pl.Int64)), ""
    step = max(1, (span[1] - span[0]) // _FINEST)
    while (bars := _merged(shown, step)).height > _BARS_MAX and step < span[1] - span[0]:
        step *= 2
    said = f"Tasks shorter than {text.time(step)} that follow their like on a lane are drawn as one."
    return bars, said if bars.height < shown.height else ""


def _merged(shown: pl.DataFrame, step: int) -> pl.DataFrame:
    place = ["place", "lane"]
    shown = shown.sort("place", "lane", "depth", "start_ps", "stop_ps", "task")
    short = (pl.col("stop_ps") - pl.col("start_ps") < step) & pl.col("end_ps").is_not_null()
    alike = (
        (pl.col("kind") == pl.col("kind").shift())
        & (pl.col("depth") == pl.col("depth").shift())
        & short
        & short.shift()
        & (pl.col("start_ps") - pl.col("stop_ps").shift() < step)
        & (pl.col("start_ps") // (8 * step) == pl.col("start_ps").shift() // (8 * step))
    )
    run = (~alike.over(place).fill_null(value=False)).cum_sum()
    return (
        shown.with_columns(run=run)
        .group_by("run", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("tasks"),
            pl.col("place", "lane", "depth", "host", "kind", "number", "start_ps", "outcome").first(),
            pl.col("stop_ps").max(),
            pl.col("end_ps").last(),
            pl.col("bytes", "flows", "again", "open").sum(),
            pl.col("slowest", "slowest_ps").sort_by("slowest_ps", nulls_last=False).last(),
        )
    )


def _places(shown: pl.DataFrame) -> pl.DataFrame:
    """Each host drawn, from top to bottom: `host`, `place`, `rows`."""
    return shown.group_by("place", maintain_order=True).agg(
        pl.col("host").first(), (pl.col("lane").max() + 1).alias("rows")
    )


def _phases(of: _Job, kinds: list[str]) -> pl.DataFrame:
    """Each kind from its first start to its last end, in the order of `kinds`."""
    until = pl.col("end_ps").fill_null(of.end).max()
    phases = of.tasks.group_by("kind").agg(
        pl.col("start_ps").min(), until.alias("stop_ps"), pl.len().cast(pl.Int64).alias("tasks")
    )
    return pl.DataFrame({"kind": kinds}, schema_overrides={"kind": pl.Categorical}).join(
        phases, on="kind", maintain_order="left"
    )


def _stuck(of: _Job) -> Table:
    """Tasks that did not end, those that began first at the top."""
    tasks = _with_flows(of).filter(pl.col("end_ps").is_null()).sort("start_ps", "task")
    columns: Columns = {
        "Task": lambda row: f"{row['kind']} {row['number']}",
        "Host": lambda row: row["host"],
        "Since": lambda row: text.time(row["start_ps"]),
        "For": lambda row: text.time(of.end - row["start_ps"]),
        "Flows": lambda row: text.count(row["flows"] or 0),
        "Of these not done": lambda row: text.count(row["open"] or 0),
        "The longest": lambda row: row["slowest"] if row["open"] else text.NONE,
    }
    return listed("Tasks that did not end", tasks, columns, "task", frozenset({"Host", "The longest"}))
