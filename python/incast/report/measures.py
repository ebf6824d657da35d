"""The figures by which runs are compared, computed from the tables. No words, no drawing."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from incast.frames import quantile_of
from incast.incomplete import completion
from incast.kinds import KINDS, judged, traits
from incast.kinds.job import Traits
from incast.report.graph import hosts
from incast.report.parts import Measure
from incast.report.points import wait_quantile
from incast.report.run import Run

DROPS = {
    "drops_tail": "a full queue",
    "drops_early": "early detection (AQM)",
    "drops_pool": "a full shared buffer",
    "drops_mtu": "a packet above the MTU",
    "drops_down": "a link that was down",
    "drops_headroom": "a full PFC headroom on the way in",
    "drops_watchdog": "the PFC watchdog",
    "drops_cell": "a full queue of cells (ATM)",
    "drops_merged": "a packet before it without its last cell (AAL5)",
}


@dataclass(frozen=True)
class Figures:
    """A choice in figures. Times in picoseconds; `None`: not measured, or not finished."""

    name: str
    samples: dict[str, dict[int, float]]
    """Each measure's figures by seed; a seed without the figure is left out."""
    seeds: int
    flows: int
    kinds: frozenset[str]
    group: str
    """What a group of flows is called: `coflow`, `round`, or nothing."""
    incomplete: bool
    """A job of a run failed or did not end: it competes with no other."""

    @property
    def values(self) -> dict[str, float | None]:
        """Each measure's mean over the seeds; a time at which all jobs were done needs all seeds.

        With an incomplete run each measure does: the others alone would say that giving up is fast.
        """
        return {
            key: fmean(found.values()) if found and len(found) >= self._needed(key) else None
            for key, found in self.samples.items()
        }

    def _needed(self, key: str) -> int:
        return self.seeds if self.incomplete or key == "done" else 1


def figures(runs: tuple[Run, ...]) -> Figures:
    """Computes all figures of a choice from its runs, one a seed."""
    each = [(run.seed, _figures(run)) for run in runs]
    samples = {
        key: {seed: value for seed, values in each if (value := values[key]) is not None}
        for key in each[0][1]
    }
    kinds = _kinds(runs[0])
    return Figures(
        runs[0].name,
        samples,
        len(runs),
        timed_flows(runs[0]).height,
        kinds,
        traits(_grouped(kinds)).group,
        any(run.incomplete for run in runs),
    )


def _kinds(run: Run) -> frozenset[str]:
    """The kinds of the jobs that the run is about."""
    return frozenset(foreground(run)["kind"].drop_nulls().to_list())


def _grouped(kinds: frozenset[str]) -> str:
    """The kind of jobs whose groups of flows count: one that is judged by them before others."""
    grouped = [kind for kind in KINDS if kind in kinds and traits(kind).group]
    return min(grouped, key=lambda kind: traits(kind).judged != "groups", default="")


def _figures(run: Run) -> dict[str, float | None]:
    jobs = foreground(run)
    flows = foreground_flows(run)
    timed = timed_flows(run)
    ended = timed.filter(pl.col("fct_ps").is_not_null())["fct_ps"]
    # Flows of incomplete jobs that did not finish count as longer than any.
    fct = pl.col("fct_ps").alias("fct")
    times = timed.select("job", fct).select(completion(sorted(run.incomplete)))["fct"].drop_nulls()
    ports = run.table("ports")
    kind = _grouped(_kinds(run))
    grouped = jobs.filter(pl.col("kind") == kind)["job"]
    counted = pl.col("group").fill_null(0) >= traits(kind).first_group
    of_groups = flows.filter(pl.col("job").is_in(grouped.implode()) & counted)
    return {
        **{key: value for own in KINDS.values() for key, value in own.measured(run).items()},
        "done": _done(jobs),
        "group": _group_mean(of_groups, run.incomplete),
        "fct_p50": quantile_of(times, 0.5),
        "fct_p99": quantile_of(times, 0.99),
        "wait_p99": wait_quantile(switch_waits(run), 0.99),
        "drops": _total(ports, *DROPS),
        "lost": _total(ports, "lost", "corrupted"),
        "marks": _total(ports, "marks"),
        "timeouts": _total(flows, "timeouts"),
        "retransmits": _total(flows, "retransmits"),
        "unfinished": float(timed.height - ended.len()) if timed.height else None,
    }


def measures(runs: list[Figures]) -> list[Measure]:
    """The measures that at least one run has, the one that decides first."""
    group = next((f.group for f in runs if f.group), "group")
    table = [
        *(own for kind in KINDS.values() for own in kind.measures()),
        Measure("done", "All jobs done", "time"),
        Measure("group", f"Mean {group} completion", "time"),
        Measure("fct_p50", "Median flow completion", "time"),
        Measure("fct_p99", "99th-percentile flow completion", "time"),
        Measure("wait_p99", "99th-percentile wait in switch queues", "time"),
        Measure("unfinished", "Unfinished flows", "count"),
        Measure("drops", "Packets dropped", "count"),
        Measure("lost", "Packets lost on links", "count"),
        Measure("retransmits", "Retransmitted packets", "count"),
        Measure("timeouts", "Retransmission timeouts", "count"),
        Measure("marks", "ECN marks", "count", compared=False),
    ]
    quiet = {"lost", "unfinished"}
    table = [
        m
        for m in table
        if any(f.values[m.key] is not None and (f.values[m.key] or m.key not in quiet) for f in runs)
    ]
    first = deciding(runs)
    return sorted(table, key=lambda m: m.key != first)


def deciding(runs: list[Figures]) -> str:
    """The measure that decides: the jobs' time, unless arrivals over time or other traffic determine it."""
    kinds = frozenset[str]().union(*(f.kinds for f in runs))
    own = [KINDS[kind].measures()[0].key for kind in kinds if traits(kind).judged == "own"]
    shared = [key for key, by in (("done", "duration"), ("group", "groups")) if judged(by, kinds)]
    for key in (*sorted(own), *shared):
        if any(f.values[key] is not None for f in runs):
            return key
    has_flows = any(f.values["fct_p99"] is not None for f in runs)
    return "fct_p99" if has_flows else "done"


def foreground(run: Run) -> pl.DataFrame:
    """The jobs that the run is about: all but background traffic, unless there is nothing else."""
    jobs = run.table("jobs")
    asked = jobs.filter(_of(jobs, lambda each: each.awaited))
    return asked if asked.height else jobs


def foreground_flows(run: Run) -> pl.DataFrame:
    """The flows of those jobs, with `fct_ps`: null where the flow did not finish."""
    flows = run.table("flows")
    jobs = foreground(run)["job"]
    if jobs.len():
        flows = flows.filter(pl.col("job").is_in(jobs.implode()))
    finished = pl.col("end_ps") >= pl.col("start_ps")
    return flows.with_columns(
        pl.when(finished & completed()).then(pl.col("end_ps") - pl.col("start_ps")).alias("fct_ps")
    )


def timed_flows(run: Run) -> pl.DataFrame:
    """Those of these flows whose time says something."""
    jobs = run.table("jobs")
    lasting = jobs.filter(_of(jobs, lambda each: each.flows == "lasting"))["job"]
    return foreground_flows(run).filter(~pl.col("job").is_in(lasting.implode()))


def _of(jobs: pl.DataFrame, has: Callable[[Traits], bool]) -> pl.Series:
    """Which jobs are of kinds that have something."""
    return pl.Series([has(traits(kind)) for kind in jobs["kind"]], dtype=pl.Boolean)


def completed() -> pl.Expr:
    """Whether a flow's outcome is that it delivered all its bytes."""
    return pl.col("outcome").is_null() | (pl.col("outcome") == "finished")


def switch_ports(run: Run) -> pl.DataFrame:
    """The ports table without hosts' own ports."""
    ports = run.table("ports")
    ends = hosts(run)
    return ports.filter(~pl.col("node").is_in(sorted(ends)))


def switch_waits(run: Run) -> pl.DataFrame:
    """The wait histogram of switch ports, without empty bins; with `wait_ps`, a bin's middle.

    A bin ends at its port's longest wait at the latest, so that no percentile exceeds that.
    """
    ports = switch_ports(run).select("port", "wait_max_ps")
    waits = run.table("waits").filter((pl.col("packets") > 0) & pl.col("from_ps").is_not_null())
    if ports.height:
        waits = waits.filter(pl.col("port").is_in(ports["port"].implode()))
    end = pl.min_horizontal(pl.col("to_ps").fill_null(pl.col("from_ps")), "wait_max_ps")
    ended = waits.join(ports, on="port", how="left", maintain_order="left").with_columns(
        to_ps=pl.max_horizontal("from_ps", end)
    )
    return ended.drop("wait_max_ps").with_columns(wait_ps=(pl.col("from_ps") + pl.col("to_ps")) // 2)


def waiting_by_port(run: Run) -> pl.DataFrame:
    """Per switch port: `waited_ns` (all packets' waits added up) and its `share` of all waiting."""
    waits = switch_waits(run)
    summed = (
        waits.group_by("port")
        .agg(waited_ns=(pl.col("wait_ps") // 1000 * pl.col("packets")).sum())
        .sort("waited_ns", "port", descending=[True, False])
    )
    total = summed["waited_ns"].sum() if summed.height else 0
    return summed.with_columns(share=pl.col("waited_ns") / max(total, 1))


def _done(jobs: pl.DataFrame) -> float | None:
    """From the first job's start to the last one's end."""
    ended = jobs.filter(pl.col("end_ps") >= pl.col("start_ps"))
    if not jobs.height or ended.height < jobs.height:
        return None
    start, end = jobs["start_ps"].min(), jobs["end_ps"].max()
    assert isinstance(start, int)
    assert isinstance(end, int)
    return float(end - start)


def _group_mean(flows: pl.DataFrame, incomplete: frozenset[str]) -> float | None:
    """Mean time of a group of flows that ended, first start to last end; nothing of incomplete jobs."""
    if not incomplete.isdisjoint(flows["job"].to_list()):
        return None
    groups = (
        flows.group_by("job", "group")
        .agg(
            ended=pl.col("fct_ps").is_not_null().all(),
            took=pl.col("end_ps").max() - pl.col("start_ps").min(),
        )
        .filter("ended")
    )
    return float(int(groups["took"].sum())) / groups.height if groups.height else None


def _total(table: pl.DataFrame, *columns: str) -> float | None:
    if not table.height or all(table[c].null_count() == table.height for c in columns):
        return None
    return float(sum(int(table[c].sum()) for c in columns))
