"""The figures of a summary, and the way to one by its name."""

from __future__ import annotations

from collections.abc import Mapping

from incast.kinds import KINDS
from incast.metric import Metric

OWN = tuple(metric for kind in KINDS.values() for metric in kind.metrics)
"""Figures that only jobs of one kind have."""

_GROUP_MEAN = Metric("group_mean_ps", "group mean", row="always")
_COMPLETION = (
    Metric("fct_mean_ps", "FCT mean"),
    Metric("fct_p50_ps", "FCT p50", row="always"),
    Metric("fct_p99_ps", "FCT p99", row="always"),
    Metric("fct_max_ps", "FCT max"),
)

JOB = (
    Metric("duration_ps", "duration", row="always"),
    _GROUP_MEAN,
    Metric("group_p99_ps", "group p99"),
    *_COMPLETION,
    Metric("goodput_bps", "goodput", 1, row="always"),
    Metric("bytes", "bytes", 0),
    Metric("flows", "flows", 0),
    Metric("unfinished", "unfinished flows", row="any"),
    Metric("retransmits", "retransmits", row="always"),
    Metric("timeouts", "timeouts", row="always"),
    *OWN,
)
"""Figures of one job. A group is a coflow or a round of an incast; FCT is flow completion time."""

FLOWS = (
    _GROUP_MEAN,
    *_COMPLETION,
    Metric("count", "flows", 0),
    Metric("unfinished", "unfinished flows"),
    Metric("retransmits", "retransmits"),
    Metric("timeouts", "timeouts"),
)
"""Figures of all flows of all jobs but background."""

PORTS = (
    Metric("drops", "drops", row="always"),
    Metric("in_discards", "drops on the way in", row="any"),
    Metric("pauses", "PAUSE frames", row="any"),
    Metric("marks", "marks", 0, row="always"),
    Metric("lost", "lost"),
    Metric("queue_max_bytes", "longest queue", row="always"),
    Metric("wait_p99_ps", "longest wait p99"),
    Metric("utilisation_max", "highest utilisation", 0),
)
"""Figures of all ports of switches; drops are those of hosts' ports too."""

PLAN = (
    Metric("aggregate_bps", "aggregate", 1),
    Metric("stayed_bps", "aggregate without the host that joins", 1),
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
    every = [f"jobs.{job}.{metric.name}" for job in jobs for metric in JOB if metric not in OWN]
    own = [f"jobs.{job}.{metric.name}" for job in jobs for metric in OWN]
    of_all = {section: listed for section, listed in sections.items() if section != "jobs"}
    found = [f"{section}.{m.name}" for section, listed in of_all.items() for m in listed]
    return [*every, DONE.name, *found, *own]
