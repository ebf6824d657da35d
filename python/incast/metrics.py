"""The figures of a summary: what each is called, its unit, and whether more or less of it is better.

A figure's name carries its unit, as columns of the tables do: `_ps`, `_bytes`, `_bps`, and `_percent`. People
leave it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from incast.quantity import parse_bytes, parse_rate, parse_time
from incast.report import text


def _percent(written: str) -> float:
    """What `25%` says, as 25."""
    number, sign, rest = written.partition("%")
    if not sign or rest.strip() or not math.isfinite(value := float(number)):
        raise ValueError(f"{written!r} is not a share")
    return value


_UNITS: dict[str, tuple[str, Callable[[str], float], Callable[[float | None], str]]] = {
    "_ps": ("a time like 50ms", parse_time, text.time),
    "_bytes": ("a size like 32MB", parse_bytes, text.size),
    "_bps": ("a rate like 10Gbps", parse_rate, text.rate),
    "_percent": ("a share like 25%", _percent, lambda n: text.percent(None if n is None else n / 100)),
}
Figure: TypeAlias = "float | int | None"


@dataclass(frozen=True)
class Metric:
    """A figure of a summary."""

    key: str
    """Its name in the summary."""
    label: str
    """Its name in tables."""
    better: int = -1
    """-1: less is better; 1: more is better; 0: neither."""

    @property
    def name(self) -> str:
        """Its name without the unit."""
        return self.key.removesuffix(self.unit)

    @property
    def unit(self) -> str:
        """The suffix that says the unit; empty for a plain number."""
        return next((unit for unit in _UNITS if self.key.endswith(unit)), "")

    @property
    def expected(self) -> str:
        """What a value of it looks like."""
        return _UNITS[self.unit][0] if self.unit else "a number"

    def parse(self, written: str) -> float:
        """A value of it in base units."""
        if self.unit:
            return _UNITS[self.unit][1](written)
        if not math.isfinite(number := float(written)):
            raise ValueError(f"{written!r} is not {self.expected}")
        return number

    def text(self, figure: float | None) -> str:
        """A value of it with its unit, for people."""
        if self.unit:
            return _UNITS[self.unit][2](figure)
        # Parts, and means of few: a whole number would hide them.
        small = figure is not None and abs(figure) < 10 and figure != round(figure)
        return f"{figure:.3g}" if small else text.count(figure)


DEGRADATION = Metric("degradation_percent", "degradation")
"""How much longer a program on remote memory takes than with all memory local."""

REMOTE = (
    DEGRADATION,
    Metric("lost", "programs lost"),
    Metric("stall_ps", "time in faults"),
    Metric("faults", "page faults"),
    Metric("hit_ratio", "hit ratio", 1),
    Metric("fault_latency_mean_ps", "fault mean"),
    Metric("fault_latency_p50_ps", "fault p50"),
    Metric("fault_latency_p90_ps", "fault p90"),
    Metric("fault_latency_p99_ps", "fault p99"),
    Metric("fault_latency_max_ps", "fault max"),
    Metric("fetched_bytes", "pages fetched", 0),
    Metric("written_back_bytes", "pages written back", 0),
)
"""Figures of a job's programs on remote memory, all together or means; a fault is one that fetches."""

JOB = (
    Metric("duration_ps", "duration"),
    Metric("group_mean_ps", "group mean"),
    Metric("group_p99_ps", "group p99"),
    Metric("fct_mean_ps", "FCT mean"),
    Metric("fct_p50_ps", "FCT p50"),
    Metric("fct_p99_ps", "FCT p99"),
    Metric("fct_max_ps", "FCT max"),
    Metric("goodput_bps", "goodput", 1),
    Metric("bytes", "bytes", 0),
    Metric("flows", "flows", 0),
    Metric("unfinished", "unfinished flows"),
    Metric("retransmits", "retransmits"),
    Metric("timeouts", "timeouts"),
    *REMOTE,
)
"""Figures of one job. A group is a coflow or a round of an incast; FCT is flow completion time."""

FLOWS = (
    Metric("group_mean_ps", "group mean"),
    Metric("mean_ps", "mean"),
    Metric("p50_ps", "p50"),
    Metric("p99_ps", "p99"),
    Metric("max_ps", "max"),
    Metric("count", "flows", 0),
    Metric("unfinished", "unfinished flows"),
    Metric("retransmits", "retransmits"),
    Metric("timeouts", "timeouts"),
)
"""Figures of all flows of all jobs but background."""

PORTS = (
    Metric("drops", "drops"),
    Metric("in_discards", "drops on the way in"),
    Metric("pauses", "PAUSE frames"),
    Metric("marks", "marks", 0),
    Metric("lost", "lost"),
    Metric("queue_max_bytes", "longest queue"),
    Metric("wait_p99_ps", "longest wait p99"),
    Metric("utilisation_max", "highest utilisation", 0),
)
"""Figures of all ports of switches; drops are those of hosts' ports too."""

PLAN = (
    Metric("aggregate_bps", "aggregate", 1),
    Metric("stayed_bps", "aggregate without who joins", 1),
    Metric("minimum_bps", "lowest rate", 1),
    Metric("alone_bps", "what each could receive alone, together", 0),
    Metric("of_bound", "part of what each could receive alone", 1),
    Metric("over_flat", "aggregate by that of the flat tree", 1),
    Metric("stable_over", "aggregate of stable by this one's", 0),
    Metric("short_of_fpfr", "part of FPFR's aggregate that is missing"),
    Metric("short_of_stable", "part of the stable plan's aggregate that is missing"),
    Metric("proved_bps", "what no plan exceeds", 0),
    Metric("trees", "trees", 0),
)
"""Figures of a planned broadcast."""

DONE = Metric("done_ps", "all jobs done")
"""When the last job but background had ended."""

SECTIONS = {"jobs": JOB, "flows": FLOWS, "ports": PORTS}
OF_STUDIES = SECTIONS | {"plan": PLAN}
"""With the figures of runs that only studies have."""


def find(
    path: str, sections: Mapping[str, tuple[Metric, ...]] = SECTIONS
) -> tuple[tuple[str, ...], Metric] | None:
    """The way in a summary to the figure that people call `path`, and what it is."""
    section, _, rest = path.partition(".")
    if path in (DONE.name, DONE.key):
        return (DONE.key,), DONE
    job, dot, name = rest.rpartition(".")
    if section not in sections or (section == "jobs") != bool(dot):
        return None
    for metric in sections[section]:
        if name in (metric.name, metric.key):
            return (section, *([job] if dot else []), metric.key), metric
    return None


def names(jobs: list[str], sections: Mapping[str, tuple[Metric, ...]] = SECTIONS) -> list[str]:
    """Every figure that a summary of these jobs has."""
    every = [f"jobs.{job}.{metric.name}" for job in jobs for metric in JOB if metric not in REMOTE]
    remote = [f"jobs.{job}.{metric.name}" for job in jobs for metric in REMOTE]
    of_all = {section: listed for section, listed in sections.items() if section != "jobs"}
    found = [f"{section}.{m.name}" for section, listed in of_all.items() for m in listed]
    return [*every, DONE.name, *found, *remote]
