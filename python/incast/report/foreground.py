"""What the report reads of a run's tables: the jobs that it is about, their flows, and the ports of switches.

No words, no drawing.
"""

from collections.abc import Callable
from functools import lru_cache

import polars as pl

from incast.kinds import traits
from incast.kinds.job import Traits
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


def foreground(run: Run) -> pl.DataFrame:
    """The jobs that the run is about: all but background traffic, unless there is nothing else."""
    jobs = run.table("jobs")
    asked = jobs.filter(_of(jobs, lambda each: each.awaited))
    return asked if asked.height else jobs


def foreground_flows(run: Run) -> pl.DataFrame:
    """The flows of those jobs, with `fct_ps`: null where the flow did not finish."""
    flows, jobs = run.table("flows"), foreground(run)["job"]
    if 0 < jobs.len() < run.table("jobs").height:
        flows = flows.filter(pl.col("job").is_in(jobs.implode()))
    finished = pl.col("end_ps") >= pl.col("start_ps")
    return flows.with_columns(
        pl.when(finished & completed()).then(pl.col("end_ps") - pl.col("start_ps")).alias("fct_ps")
    )


def ended_last(flows: pl.DataFrame) -> pl.DataFrame:
    """Those that ended last, by number. There may be millions of flows, so not all are sorted."""
    return flows.filter(pl.col("end_ps") == pl.col("end_ps").max()).sort("flow")


def first(frame: pl.DataFrame, most: int, **falling: bool) -> pl.DataFrame:
    """The first rows, as ordered by columns that fall or rise. There may be many, so not all are sorted."""
    by, falls = list(falling), list(falling.values())
    found = frame.top_k(most, by=by, reverse=[not each for each in falls])
    return found.sort(by, descending=falls, nulls_last=True)


def slowest(flows: pl.DataFrame, most: int) -> pl.DataFrame:
    """Those that did not finish, then those that took longest; at most so many."""
    least = flows["fct_ps"].top_k(most).min()
    found = flows.filter(pl.col("fct_ps").is_null() | (pl.col("fct_ps") >= pl.lit(least, pl.Int64)))
    return found.sort("fct_ps", "flow", descending=[True, False], nulls_last=False).head(most)


def timed_flows(run: Run) -> pl.DataFrame:
    """Those of these flows whose time says something."""
    jobs = run.table("jobs")
    lasting = jobs.filter(_of(jobs, lambda each: each.flows == "lasting"))["job"]
    flows = foreground_flows(run)
    return flows.filter(~pl.col("job").is_in(lasting.implode())) if lasting.len() else flows


def _of(jobs: pl.DataFrame, has: Callable[[Traits], bool]) -> pl.Series:
    """Which jobs are of kinds that have something."""
    return pl.Series([has(traits(kind)) for kind in jobs["kind"]], dtype=pl.Boolean)


def completed() -> pl.Expr:
    """Whether a flow's outcome is that it delivered all its bytes."""
    return pl.col("outcome").is_null() | (pl.col("outcome") == "finished")


def switch_ports(run: Run) -> pl.DataFrame:
    """The ports table without hosts' own ports."""
    return run.table("ports").filter(~pl.col("node").is_in(sorted(run.hosts)))


@lru_cache(maxsize=1)  # Several parts of a report ask for it in turn.
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


def total(table: pl.DataFrame, *columns: str) -> float | None:
    """The sum of columns; nothing where none was recorded."""
    if not table.height or all(table[c].null_count() == table.height for c in columns):
        return None
    return float(sum(int(table[c].sum()) for c in columns))


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
