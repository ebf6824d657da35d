"""What the tasks of a job say in words: what is stuck, and in which phase a choice loses its time.

Only runs whose jobs report tasks have something to say. The picture of the same is `timeline`'s matter.
"""

import polars as pl
from markupsafe import Markup

from incast import text
from incast.report.foreground import foreground_flows
from incast.report.run import Run

_BEHIND = 0.01
"""From this part of the best run's time on, a phase that ends later is told."""


def stuck(run: Run) -> Markup | None:
    """`5 tasks are stuck, the first of them map 3 on host2 since 1.2 s`."""
    under_way = _tasks(run).filter(pl.col("end_ps").is_null()).sort("start_ps", "task")
    if not under_way.height:
        return None
    first = under_way.row(0, named=True)
    # The job's own bar is under way whenever anything else is: it says least.
    inner = under_way.filter(pl.col("kind") != first["kind"])
    if inner.height:
        first = inner.row(0, named=True)
    count = text.plural(under_way.height, "task is stuck", "tasks are stuck")
    which = "" if under_way.height == 1 else "among them "
    return Markup("{}, {}{} {} on <code>{}</code> since {}").format(
        count, which, first["kind"], first["number"], first["host"], text.time(first["start_ps"])
    )


def behind(run: Run, least: Run, called: Markup, best_called: Markup) -> Markup | None:
    """The phase in which a run falls behind the best most."""
    ours, best = _last_ends(run), _last_ends(least)
    kinds = [kind for kind in sorted(best, key=lambda kind: best[kind]) if kind in ours]
    if not kinds:
        return None
    late = {kind: ours[kind] - best[kind] for kind in kinds}
    before = dict(zip(kinds, [0, *late.values()], strict=False))
    worst = max(kinds, key=lambda kind: late[kind] - before[kind])
    lost = late[worst] - before[worst]
    if lost < _BEHIND * max(best.values()):
        return None
    sentence = Markup("{} falls behind by {} until its last {} ends ({}, with {} {})").format(
        called, text.time(lost), worst, text.time(ours[worst]), best_called, text.time(best[worst])
    )
    if place := kinds.index(worst):
        kind = kinds[place - 1]
        sentence += Markup("; its last {} ended at {} ({})").format(
            kind, text.time(ours[kind]), text.time(best[kind])
        )
    return sentence + "."


def hardest_hit(run: Run) -> Markup | None:
    """The flow of a task that had most timeouts, then most retransmissions."""
    tasks = _tasks(run).select("task", "job", task_kind="kind", task_number="number")
    flows = (
        foreground_flows(run)
        .join(tasks, left_on=("group", "job"), right_on=("task", "job"))
        .filter((pl.col("timeouts") > 0) & pl.col("fct_ps").is_not_null())
        .sort("timeouts", "fct_ps", "flow", descending=[True, True, False])
    )
    if not flows.height:
        return None
    row = flows.row(0, named=True)
    again = f" and {text.plural(row['retransmits'], 'retransmission')}" if row["retransmits"] else ""
    return Markup("Hit hardest: <code>{}</code> → <code>{}</code> ({}, for {} {}), {} with {}{}.").format(
        row["from"],
        row["to"],
        text.size(row["bytes"]),
        row["task_kind"],
        row["task_number"],
        text.time(row["fct_ps"]),
        text.plural(row["timeouts"], "timeout"),
        again,
    )


def has_tasks(run: Run) -> bool:
    """Whether its jobs report tasks."""
    return _tasks(run).height > 0


def _tasks(run: Run) -> pl.DataFrame:
    return run.table("tasks").drop_nulls(["task", "job", "host", "kind", "start_ps"])


def _last_ends(run: Run) -> dict[str, int]:
    """Each kind with its last end, where all of it ended."""
    kinds = _tasks(run).group_by("kind").agg(pl.col("end_ps").max(), open=pl.col("end_ps").null_count())
    return {row["kind"]: row["end_ps"] for row in kinds.filter(pl.col("open") == 0).iter_rows(named=True)}
