"""The figures of a run, computed from its tables: one fact, one place.

Times are picoseconds, sizes bytes, rates bits a second, as in the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from incast import text
from incast.folder import scan, scan_parts
from incast.frames import quantile, rows, whole
from incast.incomplete import STUCK, completion
from incast.kinds import KINDS, traits

UNFINISHED_LISTED = 20
"""So many unfinished tasks are in the summary."""

_ENDS = {
    "until": "when the time was over",
    STUCK: "when nothing was left to happen",
    "deadlock": "in a deadlock of PFC",
    "interrupted": "when it was interrupted",
}
_ENGINE: Literal["in-memory"] = "in-memory"
"""Most tables are short, and long ones are read in parts: to stream them would take twice the time."""

_FINISHED = (pl.col("outcome") == "finished") & pl.col("end_ps").is_not_null()
_FCT = pl.when(_FINISHED).then(pl.col("end_ps") - pl.col("start_ps"))


def figures(folder: Path, end: str, end_ps: int) -> dict[str, Any]:
    """All figures of the run in `folder`, which ended at `end_ps`; `end` says how, like `finished`."""
    # At once: to read a table takes longer than to compute from it, as long as it is short.
    jobs, datagrams, open_tasks, ports, hosts = pl.collect_all(
        [
            scan(folder, "jobs").with_columns(pl.col("job", "kind", "outcome").cast(pl.String)),
            scan(folder, "datagrams")
            .group_by(pl.col("job").cast(pl.String))
            .agg(pl.col("received_bytes").sum()),
            scan(folder, "tasks").filter(pl.col("end_ps").is_null()).select(pl.len()),
            scan(folder, "ports"),
            scan(folder, "hosts"),
        ],
        engine=_ENGINE,
    )
    kinds = dict(jobs.select("job", "kind").iter_rows())
    own = {name: found for kind in set(kinds.values()) for name, found in KINDS[kind].figures(folder).items()}
    missed = _incomplete(jobs, folder, end, end_ps)
    failed = [each["job"] for each in missed]
    first_groups = {name: traits(kind).first_group for name, kind in kinds.items() if traits(kind).group}
    flows, groups = _flows_and_groups(folder, list(kinds), first_groups, failed)
    by_group = {row.pop("job"): row for row in _groups_by_job(groups)}
    arrived = dict(datagrams.iter_rows())
    asked = jobs.filter(pl.col("job").is_in([name for name, kind in kinds.items() if traits(kind).awaited]))
    asked = asked if asked.height else jobs
    timed = [name for name in asked["job"] if traits(kinds[name]).flows != "lasting"]
    having = flows["job"].unique().drop_nulls().to_list()
    *of_each, of_timed = _figures(flows, [*([name] for name in having), timed])
    by_job = dict(zip(having, of_each, strict=True))
    return {
        **({"incomplete": missed} if missed else {}),
        "done_ps": None if asked["end_ps"].has_nulls() else asked["end_ps"].max(),
        "jobs": {
            (name := job["job"]): {
                **_job(
                    {**job, "bytes": job["bytes"] + arrived.get(name, 0)},
                    by_job.get(name, {}),
                    by_group.get(name, {}),
                    end_ps,
                ),
                **own.get(name, {}),
            }
            for job in jobs.iter_rows(named=True)
        },
        "flows": _all_flows(of_timed, groups),
        "ports": _ports(ports, hosts),
        **_unfinished(folder, open_tasks.item()),
    }


def _unfinished(folder: Path, count: int) -> dict[str, Any]:
    """The `count` tasks that the run's end found under way, oldest first, each with its oldest open flow."""
    if not count:
        return {}
    tasks = scan(folder, "tasks").filter(pl.col("end_ps").is_null())
    first = tasks.select(
        pl.col("job", "kind").cast(pl.String), "number", pl.col("host").cast(pl.String), "start_ps", "task"
    )
    flows = (
        scan(folder, "flows")
        .filter(pl.col("end_ps").is_null())
        .sort("start_ps", "flow")
        .group_by(pl.col("job").cast(pl.String), task="group")
        .agg(pl.col("from", "to").cast(pl.String).first())
    )
    listed = (
        first.sort("start_ps", "task")
        .head(UNFINISHED_LISTED)
        .join(flows, on=["job", "task"], how="left", maintain_order="left")
        .drop("task")
    )
    return {"unfinished_tasks": {"count": count, "first": rows(listed)}}


_FLOWS = ("fct", "finished", "retransmits", "timeouts")
_FLOW_FIGURES = (
    pl.col("fct").mean().alias("mean"),
    quantile("fct", 0.5).alias("p50"),
    quantile("fct", 0.99).alias("p99"),
    pl.col("fct").max().alias("max"),
    (~pl.col("finished")).sum().alias("unfinished"),
    pl.len().alias("count"),
    pl.col("retransmits").sum(),
    pl.col("timeouts").sum(),
)


def _flows_and_groups(
    folder: Path, jobs: list[str], first: Mapping[str, int], failed: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What figures need of each flow and of each group; read part by part, as there may be millions."""
    parts = (
        pl.collect_all([_flows(part, jobs, failed), _grouped(part, first)], engine=_ENGINE)
        for part in scan_parts(folder, "flows")
    )
    flows, grouped = (pl.concat(each) for each in zip(*parts, strict=True))
    return flows, _groups(grouped, failed)


def _flows(part: pl.LazyFrame, jobs: list[str], failed: list[str]) -> pl.LazyFrame:
    """What figures need of each flow."""
    known = part.with_columns(pl.col("job").cast(pl.String), fct=_FCT, finished=_FINISHED)
    return known.with_columns(completion(failed)).select(
        pl.col("job").cast(pl.Enum(jobs), strict=False), *_FLOWS
    )


def _figures(flows: pl.DataFrame, jobs: Sequence[list[str]]) -> list[dict[str, Any]]:
    """The figures of the flows of each list's jobs. Grouping by the job would copy all columns."""
    asked = [flows.lazy().filter(pl.col("job").is_in(each)).select(*_FLOW_FIGURES) for each in jobs]
    return [found.row(0, named=True) for found in pl.collect_all(asked, engine=_ENGINE)]


def _grouped(part: pl.LazyFrame, first: Mapping[str, int]) -> pl.LazyFrame:
    """The flows that belong to groups (a coflow, a round, a receiver): a job's begin with its `first`."""
    least = pl.col("job").replace_strict(
        list(first), list(first.values()), default=None, return_dtype=pl.UInt64
    )
    return part.select(
        pl.col("job").cast(pl.String), "group", "start_ps", "end_ps", finished=_FINISHED
    ).filter(pl.col("group").fill_null(0) >= least)


def _groups(flows: pl.DataFrame, failed: list[str]) -> pl.DataFrame:
    """How long groups took whose flows all finished. Of jobs that `failed`, the others count as endless."""
    span = (pl.col("end_ps").max() - pl.col("start_ps").min()).cast(pl.Float64)
    known = flows.lazy().group_by("job", "group").agg(span=pl.when(pl.col("finished").all()).then(span))
    endless = pl.when(pl.col("job").is_in(failed)).then(float("inf"))
    return known.with_columns(pl.col("span").fill_null(endless)).drop_nulls("span").collect(engine=_ENGINE)


def _groups_by_job(groups: pl.DataFrame) -> list[dict[str, Any]]:
    """The figures of each job's groups."""
    return (
        groups.group_by("job")
        .agg(pl.col("span").mean().alias("group_mean_ps"), quantile("span", 0.99).alias("group_p99_ps"))
        .rows(named=True)
    )


def _job(job: dict[str, Any], flows: dict[str, Any], groups: dict[str, Any], end_ps: int) -> dict[str, Any]:
    # What the run does not wait for lasts as long as the run.
    end = job["end_ps"] if traits(job["kind"]).awaited else None
    lasted = (end if end is not None else end_ps) - job["start_ps"]
    # What an emulated host's kernel sends is no flow of ours.
    ours = not traits(job["kind"]).linux
    return {
        "kind": job["kind"],
        "duration_ps": None if end is None else end - job["start_ps"],
        "group_mean_ps": whole(groups.get("group_mean_ps")),
        "group_p99_ps": whole(groups.get("group_p99_ps")),
        **_completion({} if traits(job["kind"]).flows == "lasting" else flows),
        "goodput_bps": job["bytes"] * 8 * 10**12 // lasted if ours and lasted > 0 else None,
        "bytes": job["bytes"] if ours else None,
        "flows": job["flows"] if ours else None,
        **{key: flows.get(key, 0) if ours else None for key in ("unfinished", "retransmits", "timeouts")},
    }


def _completion(flows: dict[str, Any]) -> dict[str, Any]:
    return {f"fct_{key}_ps": whole(flows.get(key)) for key in ("mean", "p50", "p99", "max")}


def _all_flows(row: dict[str, Any], groups: pl.DataFrame) -> dict[str, Any]:
    rest = {key: row[key] for key in ("unfinished", "count", "retransmits", "timeouts")}
    return {"group_mean_ps": whole(groups["span"].mean()), **_completion(row), **rest}


def _ports(ports: pl.DataFrame, hosts: pl.DataFrame) -> dict[str, Any]:
    switches = ports.filter(pl.col("kind") == "switch")
    longest = switches.sort("queue_max_bytes", "port", descending=[True, False]).head(1)
    # Damaged packets are counted on the way in too, but the link lost them, not a switch.
    inbound = int(ports["in_discards"].sum()) - int(ports["corrupted"].sum())
    # A host's loopback is none of the ports. Runs of earlier versions have no column for it.
    loopback = hosts.get_column("drops_loopback", default=pl.Series([0]))
    return {
        "drops": int(ports["out_discards"].sum()) + inbound + int(loopback.sum()),
        "in_discards": inbound,
        "pauses": int(ports["pause_sent"].sum()),
        "marks": int(ports["marks"].sum()),
        "lost": int(ports["lost"].sum()) + int(ports["corrupted"].sum()),
        "queue_max_bytes": int(longest["queue_max_bytes"].sum()),
        "queue_max_port": longest["port"].cast(pl.String).item() if longest.height else None,
        "wait_p99_ps": whole(switches["wait_p99_ps"].max()),
        "utilisation_max": switches["utilisation"].max(),
    }


def _incomplete(jobs: pl.DataFrame, folder: Path, end: str, end_ps: int) -> list[dict[str, str]]:
    """The incomplete jobs of the table `jobs`: name, outcome, and what is missing of their work.

    `folder` is the run's, which ended at `end_ps`; `end` is how.
    """
    listed = [
        (job, kind, outcome)
        for job, kind, outcome in jobs.select("job", "kind", "outcome").iter_rows()
        if outcome == "failed"
        or (outcome == "unfinished" and not (end == "until" and KINDS[kind].traits.cut))
    ]
    missing: dict[str, str] = {}
    for each in {kind for _, kind, _ in listed}:
        missing |= KINDS[each].missing(folder, [job for job, kind, _ in listed if kind == each])
    found = []
    for job, _, outcome in listed:
        why = missing.get(job, "")
        if outcome == "unfinished":
            when = f"the run ended {_ENDS.get(end, end)}, at {text.time(end_ps)}"
            why = f"{when}: {why}" if why else when
        found.append({"job": job, "outcome": outcome, "why": why})
    return found
